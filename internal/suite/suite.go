package suite

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/config"
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/setting"
	"github.com/plumb-eval/plumb/internal/suite/cases"
	"github.com/plumb-eval/plumb/internal/suite/lib"
)

// Suite makes a suite of the bundle. It parses the file, or executes it if it is code. Code runs
// until [Bundle.Close], and its assertions are calls of it. Suite finds all problems of the file
// at once. If one of them makes the suite unusable, the error is [doc.Problems] and lists all that
// are not warnings. The warnings are returned in both cases. If Suite is called again for code,
// only the last suite can judge.
func (b *Bundle) Suite(ctx context.Context, h lib.Host) (*plumb.Suite, []doc.Problem, error) {
	p := b.read(ctx, h, true)
	if err := p.Problems.Err(); err != nil {
		if closeErr := b.Close(); closeErr != nil {
			err = errors.Join(err, closeErr)
		}
		return nil, p.Problems.Warnings(), err
	}
	return &plumb.Suite{
		Name: b.Name, Path: b.Path, Version: b.Version, Tier: b.Tier, Hash: b.hash, Cases: p.Cases,
		Workspace: p.Workspace, Skills: p.Skills,
	}, p.Problems.Warnings(), nil
}

// read parses or executes the bundle.
func (b *Bundle) read(ctx context.Context, h lib.Host, keep bool) parsed {
	if keep {
		if err := b.load(); err != nil {
			return b.failed(err)
		}
	}
	if b.Code() {
		return b.codeIn(ctx, h)
	}
	b.checksIn(h)
	return b.parse(ctx, keep)
}

// parse reads a suite without code.
func (b *Bundle) parse(ctx context.Context, keep bool) (all parsed) {
	f := cases.File{
		Path: b.Path, Data: b.data, Strict: b.Version != "", CountOnly: !keep, Hash: b.hash, Compile: b.checkCode.compile,
	}
	if cases.IsYAML(b.Path) {
		if b.files == nil {
			b.files = &included{dir: filepath.Dir(b.origin), opened: b.opened}
		}
		f.Match, f.ReadFile = b.files.match, b.files.read
		f.Sections = func(suite doc.Value, keys []setting.Field) (problems doc.Problems) {
			all.Sections, problems = config.ReadSections(b.Path, filepath.Dir(b.origin), suite, keys)
			if len(problems) == 0 {
				problems = b.directories(all.Sections)
			}
			return problems
		}
	}
	stream, err := b.stream()
	if err != nil {
		return b.failed(err)
	}
	if stream != nil {
		defer func() { _ = stream.Close() }() // it was only read
		f.Stream = stream
	}
	all.Content = cases.Read(ctx, f)
	b.hash = all.Hash
	if b.hash == "" && f.Stream != nil && len(all.Problems.Errors()) == 0 { // the hash needs the whole text
		if err := b.hashWhole(); err != nil {
			all.Problems = append(all.Problems, b.failed(err).Problems...)
		}
	}
	return all
}

// failed is the content of a file that cannot be read.
func (b *Bundle) failed(err error) parsed {
	return unusable(doc.Problems{
		{Pos: doc.Place{Line: 1, Column: 1}.In(b.Path), Message: err.Error(), Hint: plumb.Hint(err)},
	})
}

// unusable is the content of a suite that could not be parsed or loaded.
func unusable(problems doc.Problems) (none parsed) {
	none.Problems = problems
	return none
}

// Validate does what [Bundle.Suite] does without keeping the cases, and returns all problems,
// including warnings.
func (b *Bundle) Validate(ctx context.Context, h lib.Host) (cases.Summary, []doc.Problem) {
	p := b.read(ctx, h, false)
	if err := b.Close(); err != nil {
		p.Problems = append(p.Problems, doc.Problem{
			Pos: plumb.Position{File: b.Path}, Message: err.Error(), Warning: true,
		})
	}
	s := p.Summary
	s.Name, s.Path, s.Version, s.Tier, s.Hash = b.Name, b.Path, b.Version, b.Tier, b.hash
	return s, p.Problems
}

// parsed is the content of a suite file.
type parsed struct {
	cases.Content
	config.Sections
}
