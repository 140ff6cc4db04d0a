package suite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/doc"
)

// included are the prompt and data files of a suite. The names of files and patterns are those that
// the suite uses.
type included struct {
	// dir is the base of relative names.
	dir string
	// opened is set if the files are in the bundle, and the disk is not read.
	opened bool

	Files map[string]string   `json:"files"`
	Globs map[string][]string `json:"globs,omitempty"`
}

// match returns the names of the files that a pattern means, sorted.
func (f *included) match(name string) ([]string, error) {
	if found, ok := f.Globs[name]; ok || f.opened {
		return found, nil
	}
	found, err := filepath.Glob(f.path(name))
	if err != nil {
		return nil, plumb.WithHint(fmt.Errorf("%q is not a pattern: %w", name, err), "such as prompts/*.txt")
	}
	names := make([]string, len(found))
	for i, path := range found {
		names[i] = path
		if rel, err := filepath.Rel(f.dir, path); err == nil && !filepath.IsAbs(name) {
			names[i] = filepath.ToSlash(rel)
		}
	}
	if len(names) == 0 {
		return nil, plumb.WithHint(fmt.Errorf("no file matches %q", name), f.near(name))
	}
	slices.Sort(names)
	if f.Globs == nil {
		f.Globs = map[string][]string{}
	}
	f.Globs[name] = names
	return names, nil
}

// read returns the content of a file.
func (f *included) read(name string) ([]byte, error) {
	if text, ok := f.Files[name]; ok {
		return []byte(text), nil
	}
	if f.opened {
		return nil, fmt.Errorf("the bundle does not contain %s", name)
	}
	data, err := doc.Read(f.path(name), doc.DataBytes)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, plumb.WithHint(fmt.Errorf("there is no file %s", name), f.near(name))
	case err != nil:
		return nil, fmt.Errorf("%s: %w", name, doc.Cause(err))
	}
	if f.Files == nil {
		f.Files = map[string]string{}
	}
	f.Files[name] = string(data)
	return data, nil
}

func (f *included) path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(f.dir, filepath.FromSlash(name))
}

// near returns the hint for a name without a file: a similar name in its directory, or where names
// start.
func (f *included) near(name string) string {
	var names []string
	if entries, err := os.ReadDir(filepath.Dir(f.path(name))); err == nil {
		for _, e := range entries {
			names = append(names, e.Name())
		}
	}
	if best := plumb.Nearest(filepath.Base(name), names); best != "" {
		return fmt.Sprintf("did you mean %q?", filepath.ToSlash(filepath.Join(filepath.Dir(name), best)))
	}
	return "relative paths start at the directory of the suite"
}
