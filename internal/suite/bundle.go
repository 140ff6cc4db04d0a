package suite

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/digest"
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/suite/cases"
	"github.com/plumb-eval/plumb/internal/suite/lib"
)

// The files of a bundle's directory. The suite file keeps its extension.
const (
	bundleFile  = "bundle.json"
	suiteFile   = "suite"
	programFile = "program.json"
	checksFile  = "checks.json"
	filesFile   = "files.json"
)

// bundleFormat is the version of the directory's format.
const bundleFormat = 1

// bundleFacts is the content of bundle.json.
type bundleFacts struct {
	Format int `json:"format"`
	Facts
	// Content is the hash of the bytes of the suite file, which is not the suite hash.
	Content string `json:"content"`
	// Origin is where the suite file was, for suites with paths in them.
	Origin string `json:"origin,omitempty"`
	// Dir is the working directory of a suite in code.
	Dir string `json:"dir,omitempty"`
	// Hash is the suite hash of a suite in code, and Program the hash of the file with the bundled
	// code.
	Hash    string `json:"hash,omitempty"`
	Program string `json:"program,omitempty"`
	// Checks is the hash of the file with the files that checks name.
	Checks string `json:"checks,omitempty"`
	// Files is the hash of the file with the prompt and data files; "" if the suite has none.
	Files string `json:"files,omitempty"`
	// Templates are the hashes of the suite's template directories, by their paths; see treeHash.
	Templates map[string]string `json:"templates,omitempty"`
}

// file returns the name of the suite file in the bundle's directory.
func (f *bundleFacts) file() string {
	if lib.IsCode(f.Path) || cases.IsYAML(f.Path) {
		return suiteFile + strings.ToLower(filepath.Ext(f.Path))
	}
	return suiteFile + ".jsonl"
}

// Write stores the bundle in a directory, which it creates if necessary; [Open] reads it. A
// directory with bundle.json is complete, because Write writes it last. Only the owner can read the
// files.
func (b *Bundle) Write(ctx context.Context, dir string) error {
	if err := b.write(ctx, dir); err != nil {
		return fmt.Errorf("write bundle %s: %w", dir, err)
	}
	return nil
}

func (b *Bundle) write(ctx context.Context, dir string) error {
	if len(b.broken) > 0 {
		return b.broken
	}
	if err := b.load(); err != nil {
		return err
	}
	if !b.Code() && b.checkCode == nil && !b.opened { // reading the cases finds the files that they name
		if all, _ := b.look(ctx); all.Problems.Err() != nil {
			return all.Problems.Err()
		}
	}
	facts := bundleFacts{
		Format: bundleFormat, Facts: b.Facts, Content: digest.Bytes(b.data), Origin: b.origin, Dir: b.dir,
		Templates: map[string]string{},
	}
	type file struct {
		name string
		data []byte
	}
	files := []file{{facts.file(), b.data}}
	if b.program != nil {
		program, err := json.Marshal(b.program)
		if err != nil {
			return err
		}
		facts.Hash, facts.Program = b.hash, digest.Bytes(program)
		files = append(files, file{programFile, program})
	}
	if len(b.checks) > 0 {
		checks, err := json.Marshal(b.checks)
		if err != nil {
			return err
		}
		facts.Checks = digest.Bytes(checks)
		files = append(files, file{checksFile, checks})
	}
	if b.files != nil && len(b.files.Files) > 0 {
		included, err := json.Marshal(b.files)
		if err != nil {
			return err
		}
		facts.Files = digest.Bytes(included)
		files = append(files, file{filesFile, included})
	}
	for template, hash := range b.templates {
		if hash == "" {
			var err error
			if hash, err = treeHash(template); err != nil {
				return err
			}
		}
		facts.Templates[template] = hash
	}
	text, err := json.MarshalIndent(facts, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for _, f := range append(files, file{bundleFile, append(text, '\n')}) {
		if err := replaceFile(filepath.Join(dir, f.name), f.data, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// Sources returns the paths of the files of the suite: its own, and those that it includes.
func (b *Bundle) Sources() []string {
	sources := []string{b.origin, b.file}
	if b.files != nil {
		for name := range b.files.Files {
			sources = append(sources, b.files.path(name))
		}
	}
	if b.program != nil {
		sources = append(sources, b.program.Inputs...)
	}
	for name, f := range b.checks {
		if !filepath.IsAbs(name) {
			name = filepath.Join(filepath.Dir(b.origin), filepath.FromSlash(name))
		}
		sources = append(sources, name)
		if f.Program != nil {
			sources = append(sources, f.Program.Inputs...)
		}
	}
	return sources
}

// Open reads a bundle that [Bundle.Write] stored. A bundle that has changed since then is an error.
func Open(dir string) (*Bundle, error) {
	b, err := open(dir)
	if err != nil {
		return nil, fmt.Errorf("open bundle %s: %w", dir, err)
	}
	return b, nil
}

func open(dir string) (*Bundle, error) {
	text, err := doc.Read(filepath.Join(dir, bundleFile), doc.StateBytes)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", bundleFile, doc.Cause(err))
	}
	var facts bundleFacts
	if err := doc.Decode(bundleFile, 1, text, &facts); err != nil {
		return nil, err
	}
	if facts.Format != bundleFormat {
		return nil, plumb.WithHint(fmt.Errorf("unknown format %d", facts.Format),
			"another version of plumb wrote it")
	}
	b := &Bundle{
		Facts: facts.Facts, origin: facts.Origin, dir: facts.Dir, opened: true, templates: facts.Templates,
		hash: facts.Hash,
	}
	if b.data, err = readPart(dir, facts.file(), facts.Content); err != nil {
		return nil, err
	}
	if facts.Checks != "" {
		checks, err := readPart(dir, checksFile, facts.Checks)
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(checks, &b.checks); err != nil {
			return nil, fmt.Errorf("%s: %w", checksFile, err)
		}
	}
	if facts.Files != "" {
		text, err := readPart(dir, filesFile, facts.Files)
		if err != nil {
			return nil, err
		}
		b.files = &included{opened: true}
		if err := json.Unmarshal(text, b.files); err != nil {
			return nil, fmt.Errorf("%s: %w", filesFile, err)
		}
	}
	if facts.Program == "" {
		return b, nil
	}
	program, err := readPart(dir, programFile, facts.Program)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(program, &b.program); err != nil {
		return nil, fmt.Errorf("%s: %w", programFile, err)
	}
	return b, nil
}

// readPart reads a file of a bundle, which must have the given hash.
func readPart(dir, name, hash string) ([]byte, error) {
	data, err := doc.Read(filepath.Join(dir, name), doc.SuiteBytes)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, doc.Cause(err))
	}
	if digest.Bytes(data) != hash {
		return nil, fmt.Errorf("%s has changed since it was written", name)
	}
	return data, nil
}
