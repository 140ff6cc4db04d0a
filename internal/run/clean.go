package run

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/plumb-eval/plumb/internal/files"
	"github.com/plumb-eval/plumb/internal/redact"
	"github.com/plumb-eval/plumb/internal/runlog"
)

// cleanTree removes secrets from the files of a program in an artifact directory: from their texts,
// the names of files and directories, and the targets of links. It deletes a binary file that
// contains a secret, because redaction would corrupt it, and a file that cannot be read.
func cleanTree(dir string, r *redact.Redactor) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var all error
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		switch {
		case e.IsDir():
			err = cleanTree(path, r)
		case e.Type().IsRegular():
			err = cleanFile(path, r)
		case e.Type()&fs.ModeSymlink != 0:
			err = cleanLink(path, r)
		default:
			err = os.Remove(path) // a pipe or a socket whose other end is gone
		}
		if clean := r.FileName(e.Name()); err == nil && clean != e.Name() {
			err = rename(path, filepath.Join(dir, clean))
		}
		all = errors.Join(all, err)
	}
	return all
}

// rename renames a file to a name without a secret, or to a similar one if that name exists.
func rename(from, to string) error {
	for files.Exists(to) {
		to += "~"
	}
	if files.Exists(from) {
		return os.Rename(from, to)
	}
	return nil // it was deleted
}

func cleanLink(path string, r *redact.Redactor) error {
	target, err := os.Readlink(path)
	if err != nil || r.String(target) == target {
		return err
	}
	if err := os.Remove(path); err != nil {
		return err
	}
	return os.Symlink(r.FileName(target), path)
}

func cleanFile(path string, r *redact.Redactor) error {
	found, err := r.InFile(path)
	if errors.Is(err, fs.ErrPermission) {
		return os.Remove(path)
	}
	if err != nil || !found {
		return err
	}
	err = runlog.WriteTo(path, func(to io.Writer) error { return r.CopyFile(to, path) })
	if errors.Is(err, redact.ErrBinary) {
		return os.Remove(path)
	}
	return err
}
