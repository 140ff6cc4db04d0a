// Package files has what several packages do with files and that the standard library does not.
package files

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Within reports whether path is in the directory dir, or is dir itself. It looks at the names
// only.
func Within(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// RemoveAll is [os.RemoveAll] that also removes directories that nobody may write to, such as those
// of Go's module cache.
func RemoveAll(path string) error {
	if os.RemoveAll(path) == nil {
		return nil
	}
	_ = filepath.WalkDir(path, func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			_ = os.Chmod(name, 0o700) //nolint:gosec // a directory needs it; RemoveAll reports errors
		}
		return nil
	})
	return os.RemoveAll(path)
}

// Resolved resolves the symbolic links in a path, because the system reports the directories of
// processes without links. A path that does not exist is returned as it is.
func Resolved(path string) string {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		return target
	}
	return path
}

// Exists reports whether there is a file or directory at path.
func Exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
