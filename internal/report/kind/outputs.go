package kind

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/files"
	"github.com/plumb-eval/plumb/internal/results"
)

// Outputs checks the files that a command is going to write, before it does anything. An output never
// replaces a file that the command reads, nor a file with another content than the output has.
type Outputs struct {
	// Reads are the files that the command reads.
	Reads []string
	// Comparison is set if the reports are those of a comparison.
	Comparison bool

	taken []string
}

// head is the number of bytes by which an earlier output is recognized.
const head = 1 << 20

// form returns what the files of a report look like, or nil.
func (o *Outputs) form(name string) *regexp.Regexp {
	k := find(name)
	switch {
	case k == nil:
		return nil
	case o.Comparison && k.comparisonForm != "":
		return regexp.MustCompile(k.comparisonForm)
	}
	return regexp.MustCompile(k.form)
}

// Report checks the file of a report. shown is its path as the user wrote it.
func (o *Outputs) Report(name, path, shown string) error {
	return o.check("report "+name+": "+shown, path, func(f *os.File) error {
		// A report of a long run has its last words at the end.
		text := make([]byte, 2*head)
		n, err := f.ReadAt(text[:head], 0)
		if info, statErr := f.Stat(); n == head && statErr == nil {
			rest := min(head, info.Size()-head)
			m, _ := f.ReadAt(text[head:head+rest], info.Size()-rest)
			n += m
		}
		form := o.form(name)
		if n == 0 || form == nil || form.Match(bytes.TrimPrefix(text[:n], []byte("\xEF\xBB\xBF"))) {
			return nil
		}
		if err != nil && n == 0 {
			return err
		}
		return plumb.WithHint(fmt.Errorf("the file is not a %s report", name), "remove it, or name another file")
	})
}

// Blocks checks the file of --output. shown is its path as the user wrote it.
func (o *Outputs) Blocks(path, shown string) error {
	if err := o.check("--output "+shown, path, nil); err != nil {
		return err
	}
	return results.CheckBlockFile(path)
}

// converted is what the files of a conversion look like: a suite, and a config.
var converted = regexp.MustCompile(
	`(?m)^# (?:Converted from .* by plumb convert\.|yaml-language-server: .*/plumb\.config\.schema\.json$)`)

// Converted checks a file of a conversion. It must be the file of an earlier one, or none.
func (o *Outputs) Converted(path string) error {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		return plumb.WithHint(fmt.Errorf("write %s: it is not a regular file", path), "name another directory")
	}
	return o.check("write "+path, path, func(f *os.File) error {
		text, err := io.ReadAll(io.LimitReader(f, head))
		if err != nil || len(text) == 0 || converted.Match(text) {
			return err
		}
		return plumb.WithHint(errors.New("plumb convert did not write this file"),
			"remove it, or write to another directory with -o")
	})
}

// check returns the error of the file at path. ours returns why its content is not that of the output.
func (o *Outputs) check(what, path string, ours func(*os.File) error) error {
	wrap := func(err error) error { return plumb.WithHint(fmt.Errorf("%s: %w", what, err), plumb.Hint(err)) }
	for _, other := range o.taken {
		if sameFile(other, path) {
			return wrap(plumb.WithHint(errors.New("another output of the command is the same file"), "name another file"))
		}
	}
	o.taken = append(o.taken, path)
	for _, in := range o.Reads {
		if in != "" && sameFile(in, path) {
			return wrap(plumb.WithHint(errors.New("the command reads this file"), "name another file"))
		}
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err == nil && !info.IsDir() && !info.Mode().IsRegular(): // a pipe or a terminal
		return nil
	case err == nil:
		err = doc.Regular(path, math.MaxInt64)
	}
	if err != nil || ours == nil {
		if err != nil {
			err = wrap(err)
		}
		return err
	}
	f, err := files.Open(path)
	if err != nil {
		return wrap(err)
	}
	defer f.Close()
	if err := ours(f); err != nil {
		return wrap(err)
	}
	return nil
}

// sameFile reports whether two paths lead to one file, also through links. A file that does not exist
// yet is known by its directory and its name.
func sameFile(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	switch {
	case errX == nil && errY == nil:
		return os.SameFile(x, y) && x.Mode().IsRegular()
	case errX == nil || errY == nil:
		return false
	}
	return target(a) == target(b)
}

// target returns the path of the file that writing to path would create.
func target(path string) string {
	if to, err := filepath.EvalSymlinks(path); err == nil {
		path = to
	}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		path = filepath.Join(dir, filepath.Base(path))
	}
	return strings.TrimSuffix(filepath.Clean(path), string(filepath.Separator))
}
