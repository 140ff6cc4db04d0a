package suite

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/digest"
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/suite/lib"
)

// The files of a bundle's directory. The suite file has the extension that it had.
const (
	bundleFile  = "bundle.json"
	suiteFile   = "suite"
	programFile = "program.json"
)

// bundleFormat is the version of the directory's format.
const bundleFormat = 1

// bundleFacts is the content of bundle.json.
type bundleFacts struct {
	Format           int     `json:"format"`
	Name             string  `json:"name"`
	Path             string  `json:"path,omitempty"`
	Version          string  `json:"version,omitempty"`
	Tier             string  `json:"tier,omitempty"`
	Description      string  `json:"description,omitempty"`
	EstimatedCostUSD float64 `json:"estimatedCostUsd,omitempty"`
	EstimatedTokens  int64   `json:"estimatedTokens,omitempty"`
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
	// Templates are the hashes of the template directories that the suite names, by their paths; see
	// treeHash.
	Templates map[string]string `json:"templates,omitempty"`
}

// file returns the name of the suite file in the bundle's directory.
func (f *bundleFacts) file() string {
	if lib.IsCode(f.Path) || isYAML(f.Path) {
		return suiteFile + strings.ToLower(filepath.Ext(f.Path))
	}
	return suiteFile + ".jsonl"
}

// Write stores the bundle in directory dir, which is made if need be, so that [Open] gives it back.
// bundle.json is written last: a directory that has it is complete. The files are for the owner
// only.
func (b *Bundle) Write(dir string) error {
	if len(b.broken) > 0 {
		return fmt.Errorf("write bundle %s: %w", dir, b.broken)
	}
	if err := b.load(); err != nil {
		return fmt.Errorf("write bundle %s: %w", dir, err)
	}
	facts := bundleFacts{
		Format: bundleFormat, Name: b.Name, Path: b.Path, Version: b.Version, Tier: b.Tier, Description: b.Description,
		EstimatedCostUSD: b.EstimatedCostUSD, EstimatedTokens: b.EstimatedTokens,
		Content: digest.Bytes(b.data), Origin: b.origin, Dir: b.dir,
	}
	type file struct {
		name string
		data []byte
	}
	files := []file{{facts.file(), b.data}}
	if b.program != nil {
		program, err := json.Marshal(b.program)
		if err != nil {
			return fmt.Errorf("write bundle %s: %w", dir, err)
		}
		facts.Hash, facts.Program = b.hash, digest.Bytes(program)
		files = append(files, file{programFile, program})
	}
	for template, hash := range b.templates {
		if hash == "" {
			var err error
			if hash, err = treeHash(template); err != nil {
				return fmt.Errorf("write bundle %s: %w", dir, err)
			}
		}
		if facts.Templates == nil {
			facts.Templates = map[string]string{}
		}
		facts.Templates[template] = hash
	}
	text, err := json.MarshalIndent(facts, "", "  ")
	if err != nil {
		return fmt.Errorf("write bundle %s: %w", dir, err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("write bundle: %w", err)
	}
	for _, f := range append(files, file{bundleFile, append(text, '\n')}) {
		if err := replaceFile(filepath.Join(dir, f.name), f.data, 0o600); err != nil {
			return fmt.Errorf("write bundle: %w", err)
		}
	}
	return nil
}

// Open reads a bundle that [Bundle.Write] stored. A bundle that has changed since is an error.
func Open(dir string) (*Bundle, error) {
	text, err := doc.Read(filepath.Join(dir, bundleFile), doc.StateBytes)
	if err != nil {
		return nil, fmt.Errorf("open bundle %s: %s: %w", dir, bundleFile, doc.Cause(err))
	}
	var facts bundleFacts
	if err := json.Unmarshal(text, &facts); err != nil {
		return nil, fmt.Errorf("open bundle %s: %s: %w", dir, bundleFile, err)
	}
	if facts.Format != bundleFormat {
		return nil, plumb.WithHint(fmt.Errorf("open bundle %s: format %d is not known", dir, facts.Format),
			"it was written by another version of plumb")
	}
	b := &Bundle{
		Name: facts.Name, Path: facts.Path, Version: facts.Version, Tier: facts.Tier, Description: facts.Description,
		EstimatedCostUSD: facts.EstimatedCostUSD, EstimatedTokens: facts.EstimatedTokens,
		origin: facts.Origin, dir: facts.Dir, opened: true, templates: facts.Templates, hash: facts.Hash,
	}
	if b.data, err = readPart(dir, facts.file(), facts.Content); err != nil {
		return nil, err
	}
	if facts.Program == "" {
		return b, nil
	}
	program, err := readPart(dir, programFile, facts.Program)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(program, &b.program); err != nil {
		return nil, fmt.Errorf("open bundle %s: %s: %w", dir, programFile, err)
	}
	return b, nil
}

// readPart reads a file of a bundle, which has the given hash unless somebody changed it.
func readPart(dir, name, hash string) ([]byte, error) {
	data, err := doc.Read(filepath.Join(dir, name), doc.SuiteBytes)
	if err != nil {
		return nil, fmt.Errorf("open bundle: %s: %w", name, doc.Cause(err))
	}
	if found := digest.Bytes(data); found != hash {
		return nil, fmt.Errorf("open bundle %s: %s has changed since it was written", dir, name)
	}
	return data, nil
}
