package suite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/doc"
)

// included are the prompt and data files of a suite. The names of files and patterns are those that the suite uses.
type included struct {
	// dir is the base of relative names. shown is the base of names in messages.
	dir, shown string
	// opened is set if the files are in the bundle, and the disk is not read.
	opened bool

	Files map[string]string   `json:"files"`
	Globs map[string][]string `json:"globs,omitempty"`
}

// match returns the names of the files that a name or a pattern means, sorted.
func (f *included) match(name string) ([]string, error) {
	name = strings.TrimPrefix(name, "file://")
	if !strings.ContainsAny(name, "*?[") {
		return []string{name}, nil
	}
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

// read returns the text of a file.
func (f *included) read(name string) (string, error) {
	if text, ok := f.Files[name]; ok {
		return text, nil
	}
	if f.opened {
		return "", fmt.Errorf("the bundle does not contain %s", name)
	}
	data, err := doc.Read(f.path(name), doc.DataBytes)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", plumb.WithHint(fmt.Errorf("there is no file %s", name), f.near(name))
	case err != nil:
		return "", fmt.Errorf("%s: %w", name, doc.Cause(err))
	}
	text := strings.TrimPrefix(string(data), byteOrderMark)
	if problem := doc.InvalidUTF8(f.in(name), []byte(text)); problem != nil {
		return "", doc.Problems{*problem}
	}
	if f.Files == nil {
		f.Files = map[string]string{}
	}
	f.Files[name] = text
	return text, nil
}

// in returns the name of a file in messages.
func (f *included) in(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(f.shown, name)
}

func (f *included) path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(f.dir, filepath.FromSlash(name))
}

// near returns the hint for a name without a file: a similar name in its directory, or where names start.
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

// sources are the suite file and its included files, one after the other. The line of a [doc.Place] counts the lines
// of all earlier files, so that values of several files can be in one case.
type sources struct {
	names  []string
	starts []int32 // the lines before each file
}

func oneSource(name string) *sources { return &sources{names: []string{name}, starts: []int32{0}} }

// add adds a file and returns the number of lines before it. lines is the number of lines of the file before it.
func (s *sources) add(name string, lines int) int32 {
	start := s.starts[len(s.starts)-1] + int32(lines)
	s.names, s.starts = append(s.names, name), append(s.starts, start)
	return start
}

// in returns the position of a place.
func (s *sources) in(p doc.Place) plumb.Position {
	i := len(s.starts) - 1
	for i > 0 && p.Line <= s.starts[i] {
		i--
	}
	p.Line -= s.starts[i]
	return p.In(s.names[i])
}
