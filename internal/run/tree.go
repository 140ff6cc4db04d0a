package run

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/plumb-eval/plumb/internal/files"
)

// Home is the name of the directory of a project in which Plumb keeps its runs by default. A template
// is copied without it: an agent must not see the answers of earlier runs.
const Home = ".plumb"

// copyTree copies a template into a workspace, with modes and times, so that tools see unchanged
// files. It clones files if the file system can. It never makes hard links: a change by the agent
// must not reach the template. A symbolic link within the template is kept; one that leads out of
// it becomes a copy of its target.
func copyTree(from, to string) error {
	info, err := os.Stat(from)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("Workspace template directory does not exist: %s", from) //nolint:staticcheck // documented
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("Workspace template path is not a directory: %s", from) //nolint:staticcheck // documented
	}
	root, err := filepath.EvalSymlinks(from)
	if err != nil {
		return err
	}
	if real, err := filepath.EvalSymlinks(to); err == nil && files.Within(real, root) {
		return fmt.Errorf("the workspace %s is inside its template %s", to, from)
	}
	return treeCopy{root}.dir(root, to, nil)
}

// treeCopy is one copy of a template.
type treeCopy struct{ root string }

// dir copies a directory. outside holds the directories outside the template on the path to it, to
// detect a cycle.
func (c treeCopy) dir(from, to string, outside []string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(to, 0o700); err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() == Home && e.IsDir() {
			continue
		}
		if err := c.entry(filepath.Join(from, e.Name()), filepath.Join(to, e.Name()), e.Type(), outside); err != nil {
			return err
		}
	}
	if err := os.Chmod(to, info.Mode().Perm()|0o700); err != nil {
		return err
	}
	return os.Chtimes(to, time.Time{}, info.ModTime())
}

func (c treeCopy) entry(from, to string, kind fs.FileMode, outside []string) error {
	switch {
	case kind.IsDir():
		return c.dir(from, to, outside)
	case kind&fs.ModeSymlink != 0:
		return c.link(from, to, outside)
	case kind.IsRegular():
		return copyFile(from, to)
	default:
		return fmt.Errorf("copy %s: it is not a file, a directory or a symbolic link", from)
	}
}

func (c treeCopy) link(from, to string, outside []string) error {
	target, err := os.Readlink(from)
	if err != nil {
		return err
	}
	real, err := filepath.EvalSymlinks(from)
	if err != nil {
		if !filepath.IsAbs(target) && files.Within(filepath.Join(filepath.Dir(from), target), c.root) {
			return os.Symlink(target, to) // its target does not exist, and is inside the template
		}
		return fmt.Errorf("copy the symbolic link %s: %w", from, err)
	}
	if files.Within(real, c.root) {
		rel, err := filepath.Rel(filepath.Dir(from), real)
		if err != nil {
			return err
		}
		if !filepath.IsAbs(target) {
			rel = target
		}
		if len(outside) == 0 {
			return os.Symlink(rel, to)
		}
	}
	info, err := os.Stat(real)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return c.entry(real, to, info.Mode().Type(), outside)
	}
	for _, dir := range outside {
		if files.Within(dir, real) {
			return fmt.Errorf("copy the symbolic link %s: it is part of a cycle", from)
		}
	}
	if files.Within(c.root, real) {
		return fmt.Errorf("copy the symbolic link %s: it leads to a parent directory of the template", from)
	}
	return c.dir(real, to, append(outside, real))
}

func copyFile(from, to string) (err error) {
	in, err := files.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, info.Mode().Perm()|0o600)
	if err != nil {
		return err
	}
	if !clone(out, in) {
		_, err = io.Copy(out, in)
	}
	if cerr := out.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("copy %s: %w", from, err)
	}
	return os.Chtimes(to, time.Time{}, info.ModTime())
}
