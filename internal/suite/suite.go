package suite

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/check"
	"github.com/plumb-eval/plumb/internal/config"
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/suite/lib"
)

// Summary tells what is in a suite.
type Summary struct {
	Name    string `json:"name"`
	Path    string `json:"path,omitempty"`
	Version string `json:"version,omitempty"`
	Tier    string `json:"tier,omitempty"`
	// Hash is the suite hash; "" when the file has problems.
	Hash  string `json:"hash,omitempty"`
	Cases int    `json:"cases"`
	// TokensEstimate is the sum of the cases' tokens_est.
	TokensEstimate int64 `json:"tokensEstimate"`
	// Categories and Difficulties count cases, Types checks by assertion type, those within others
	// included.
	Categories   map[string]int `json:"categories"`
	Difficulties map[string]int `json:"difficulties"`
	Types        map[string]int `json:"types"`
	// NeedsJudge and NeedsEmbedder count the cases with a check that asks a judge model or compares
	// embeddings.
	NeedsJudge    int `json:"needsJudge"`
	NeedsEmbedder int `json:"needsEmbedder"`
}

// Suite is [Bundle.SuiteIn] without limits or a world: a suite in code sees no environment and
// prints nothing.
func (b *Bundle) Suite() (*plumb.Suite, []doc.Problem, error) {
	return b.SuiteIn(context.Background(), lib.Host{})
}

// SuiteIn makes a suite of the bundle: it parses the file, or executes it where it is code, which
// goes on running until [Bundle.Close] and whose assertions are calls of it. All problems of the
// file are found in one go. Where one of them makes the suite unusable the error is [Problems] and
// lists all that are not warnings; the warnings are returned in either case. Of a suite in code
// only the last one made can judge.
func (b *Bundle) SuiteIn(ctx context.Context, h lib.Host) (*plumb.Suite, []doc.Problem, error) {
	p := b.read(ctx, h, true)
	if err := p.problems.Err(); err != nil {
		if closeErr := b.Close(); closeErr != nil {
			err = errors.Join(err, closeErr)
		}
		return nil, p.problems.Warnings(), err
	}
	return &plumb.Suite{
		Name: b.Name, Path: b.Path, Version: b.Version, Tier: b.Tier, Hash: b.hash, Cases: p.cases,
		Workspace: p.Workspace, Skills: p.Skills,
	}, p.problems.Warnings(), nil
}

// read parses or executes the bundle.
func (b *Bundle) read(ctx context.Context, h lib.Host, keep bool) parsed {
	if keep {
		if err := b.load(); err != nil {
			return parsed{problems: doc.Problems{b.problem(err.Error())}}
		}
	}
	switch {
	case b.Code():
		return b.codeIn(ctx, h)
	case isYAML(b.Path):
		return b.parseYAML(keep)
	default:
		return b.parseLines(keep)
	}
}

// Validate is [Bundle.ValidateIn] without limits or a world.
func (b *Bundle) Validate() (Summary, []doc.Problem) {
	return b.ValidateIn(context.Background(), lib.Host{})
}

// ValidateIn does what [Bundle.SuiteIn] does without keeping the cases, and returns all problems,
// warnings included.
func (b *Bundle) ValidateIn(ctx context.Context, h lib.Host) (Summary, []doc.Problem) {
	p := b.read(ctx, h, false)
	if err := b.Close(); err != nil {
		p.problems = append(p.problems, doc.Problem{Pos: plumb.Position{File: b.Path}, Message: err.Error(), Warning: true})
	}
	s := Summary{
		Name: b.Name, Path: b.Path, Version: b.Version, Tier: b.Tier, Hash: b.hash, Cases: p.summary.cases,
		TokensEstimate: p.summary.tokens, Categories: p.summary.categories, Difficulties: p.summary.difficulties,
		Types: p.summary.types, NeedsJudge: p.summary.judge, NeedsEmbedder: p.summary.embedder,
	}
	return s, p.problems
}

// parsed is what a suite file holds.
type parsed struct {
	config.Sections
	cases    []plumb.Case
	problems doc.Problems
	summary  tally
}

// tally counts what a suite holds.
type tally struct {
	cases, judge, embedder          int
	tokens                          int64
	categories, difficulties, types map[string]int
}

func (t *tally) add(c *plumb.Case, checks []*check.Check) {
	if t.categories == nil {
		t.categories, t.difficulties, t.types = map[string]int{}, map[string]int{}, map[string]int{}
	}
	t.cases++
	t.tokens += int64(c.TokensEstimate)
	if c.Category != "" {
		t.categories[c.Category]++
	}
	if c.Difficulty != "" {
		t.difficulties[c.Difficulty]++
	}
	needsJudge, needsEmbedder := false, false
	for _, k := range checks {
		t.types[k.Type()]++
		if kind := k.Type(); kind == "all_of" || kind == "any_of" {
			t.inner(k.Canonical())
		}
		judge, embedder := k.Needs()
		needsJudge, needsEmbedder = needsJudge || judge, needsEmbedder || embedder
	}
	if needsJudge {
		t.judge++
	}
	if needsEmbedder {
		t.embedder++
	}
}

// inner counts the types within an all_of or any_of.
func (t *tally) inner(canonical json.RawMessage) {
	var spec struct {
		Assertions []json.RawMessage `json:"assertions"`
	}
	if json.Unmarshal(canonical, &spec) != nil {
		return
	}
	for _, raw := range spec.Assertions {
		var member struct {
			Type string `json:"type"`
		}
		if json.Unmarshal(raw, &member) == nil {
			t.types[member.Type]++
			t.inner(raw)
		}
	}
}

func (t *tally) merge(o tally) {
	t.cases += o.cases
	t.judge += o.judge
	t.embedder += o.embedder
	t.tokens += o.tokens
	for _, m := range []struct {
		to   *map[string]int
		from map[string]int
	}{{&t.categories, o.categories}, {&t.difficulties, o.difficulties}, {&t.types, o.types}} {
		if *m.to == nil {
			*m.to = map[string]int{}
		}
		for k, n := range m.from {
			(*m.to)[k] += n
		}
	}
}

// cutLine returns the first line of text, without its end (LF, CRLF or CR), and what follows it.
func cutLine(text []byte) (line, rest []byte) {
	end := bytes.IndexByte(text, '\n')
	after := end + 1
	if end < 0 {
		end, after = len(text), len(text)
	}
	if r := bytes.IndexByte(text[:end], '\r'); r >= 0 {
		if r+1 == end && after > end { // CRLF
			return text[:r], text[after:]
		}
		return text[:r], text[r+1:]
	}
	return text[:end], text[after:]
}

func blank(line []byte) bool {
	return len(line) == 0 || line[0] != '{' && len(bytes.TrimLeftFunc(line, isPythonSpace)) == 0
}

// names returns the keys of a count in order.
func names(m map[string]int) []string { return slices.Sorted(maps.Keys(m)) }
