package load

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/digest"
)

// The files of a bundle's directory.
const (
	bundleFile = "bundle.json"
	suiteFile  = "suite.jsonl"
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
}

// Write stores the bundle in directory dir, which is made if need be, so that [Open] gives it back. bundle.json is
// written last: a directory that has it is complete. The files are for the owner only.
func (b *Bundle) Write(dir string) error {
	facts, err := json.MarshalIndent(bundleFacts{
		Format: bundleFormat, Name: b.Name, Path: b.Path, Version: b.Version, Tier: b.Tier, Description: b.Description,
		EstimatedCostUSD: b.EstimatedCostUSD, EstimatedTokens: b.EstimatedTokens, Content: digest.Bytes(b.data),
	}, "", "  ")
	if err != nil {
		return fmt.Errorf("write bundle %s: %w", dir, err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("write bundle: %w", err)
	}
	for _, f := range []struct {
		name string
		data []byte
	}{{suiteFile, b.data}, {bundleFile, append(facts, '\n')}} {
		if err := replaceFile(filepath.Join(dir, f.name), f.data, 0o600); err != nil {
			return fmt.Errorf("write bundle: %w", err)
		}
	}
	return nil
}

// Open reads a bundle that [Bundle.Write] stored. A bundle that has changed since is an error.
func Open(dir string) (*Bundle, error) {
	text, err := os.ReadFile(filepath.Join(dir, bundleFile))
	if err != nil {
		return nil, fmt.Errorf("open bundle: %w", err)
	}
	var facts bundleFacts
	if err := json.Unmarshal(text, &facts); err != nil {
		return nil, fmt.Errorf("open bundle %s: %s: %w", dir, bundleFile, err)
	}
	if facts.Format != bundleFormat {
		return nil, plumb.WithHint(fmt.Errorf("open bundle %s: format %d is not known", dir, facts.Format),
			"it was written by another version of plumb")
	}
	data, err := os.ReadFile(filepath.Join(dir, suiteFile))
	if err != nil {
		return nil, fmt.Errorf("open bundle: %w", err)
	}
	if found := digest.Bytes(data); found != facts.Content {
		return nil, fmt.Errorf("open bundle %s: %s has changed since it was written", dir, suiteFile)
	}
	return &Bundle{
		Name: facts.Name, Path: facts.Path, Version: facts.Version, Tier: facts.Tier, Description: facts.Description,
		EstimatedCostUSD: facts.EstimatedCostUSD, EstimatedTokens: facts.EstimatedTokens, data: data,
	}, nil
}
