package run

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/files"
)

const (
	// mostFiles limits the number of watched files in a workspace.
	mostFiles = 100_000
	// mostChanges limits the number of reported changes.
	mostChanges = 1000
	// The other limits are in bytes. diffFile limits the size of a file that is compared by
	// content, diffAll all diffs of a session together, and keptAll the contents kept of a
	// workspace for the comparison.
	diffFile = 256 << 10
	diffAll  = 1 << 20
	keptAll  = 8 << 20
)

// stamp is the state of a file; it differs if the file has changed.
type stamp struct {
	size     int64
	modified int64
	mode     fs.FileMode
}

// inventory is the content of a workspace at one moment. It omits files of version control,
// installed packages and Plumb's own files, because sessions may work in a directory that also
// holds runs.
type inventory struct {
	root string
	// run is the directory of the run.
	run   string
	files map[string]stamp
	// texts are the contents of small text files, up to keptAll.
	texts map[string][]byte
	kept  int
	full  bool // there are more than mostFiles files
}

var errEnough = errors.New("enough")

// takeInventory lists a workspace. With texts it also keeps the contents of small text files.
func takeInventory(root, run string, texts bool) (*inventory, error) {
	v := &inventory{root: root, run: run, files: map[string]stamp{}, texts: map[string][]byte{}}
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil && name == root:
			return err
		case err != nil:
			return nil //nolint:nilerr // a file that vanished or cannot be read is ignored
		case d.IsDir() && (ignored(d.Name()) || name == run) && name != root:
			return fs.SkipDir
		case d.IsDir():
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return nil //nolint:nilerr // the file vanished
		}
		if len(v.files) >= mostFiles {
			v.full = true
			return errEnough
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		v.files[rel] = stamp{info.Size(), info.ModTime().UnixNano(), info.Mode()}
		if texts && v.kept < keptAll {
			if data, ok := readText(name, info); ok {
				v.texts[rel] = data
				v.kept += len(data)
			}
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return nil, fmt.Errorf("list the workspace: %w", err)
	}
	return v, nil
}

func ignored(dir string) bool {
	return dir == ".git" || dir == "node_modules" || dir == ".hg" || dir == ".svn" || dir == ".plumb"
}

// readText returns the content of a small regular text file.
func readText(name string, info fs.FileInfo) ([]byte, bool) {
	if !info.Mode().IsRegular() || info.Size() > diffFile {
		return nil, false
	}
	if info.Size() == 0 { // as for the files of /proc
		return []byte{}, true
	}
	f, err := files.Open(name)
	if err != nil {
		return nil, false
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, diffFile+1)) // the file may grow
	if err != nil || len(data) > diffFile || !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0 {
		return nil, false
	}
	return data, true
}

// changes returns the changes since the inventory, sorted by path. note describes the omitted ones,
// or is "".
func (v *inventory) changes() (changed []plumb.FileChange, note string, err error) {
	now, err := takeInventory(v.root, v.run, false)
	if err != nil {
		return nil, "", err
	}
	for rel, s := range now.files {
		was, there := v.files[rel]
		switch {
		case !there && !v.full:
			changed = append(changed, plumb.FileChange{Path: rel, Kind: "add"})
		case there && was != s:
			changed = append(changed, plumb.FileChange{Path: rel, Kind: "update"})
		}
	}
	for rel := range v.files {
		if _, there := now.files[rel]; !there && !now.full {
			changed = append(changed, plumb.FileChange{Path: rel, Kind: "delete"})
		}
	}
	slices.SortFunc(changed, func(a, b plumb.FileChange) int { return strings.Compare(a.Path, b.Path) })
	if v.full || now.full {
		note = fmt.Sprintf(
			"the workspace has more than %d files; changes in the other files were not checked", mostFiles,
		)
	}
	if n := len(changed); n > mostChanges {
		note = fmt.Sprintf("%d files in the workspace changed; the first %d are listed", n, mostChanges)
		changed = changed[:mostChanges]
	}
	room := diffAll
	kept := changed[:0]
	for _, c := range changed {
		same := v.diff(&c, &room)
		c.Path = filepath.Join(v.root, c.Path)
		if !same {
			kept = append(kept, c)
		}
	}
	return kept, note, nil
}

// diff adds a diff to a change, if there is room. It returns true if the file has the same content
// and mode as before: writing the same content is not a change.
func (v *inventory) diff(c *plumb.FileChange, room *int) (same bool) {
	before, known := v.texts[c.Path]
	if c.Kind == "add" {
		before, known = nil, true
	}
	if !known {
		return false
	}
	var after []byte
	if c.Kind != "delete" {
		name := filepath.Join(v.root, c.Path)
		info, err := os.Lstat(name)
		if err != nil {
			return false
		}
		var text bool
		if after, text = readText(name, info); !text {
			return false
		}
		if c.Kind == "update" && bytes.Equal(before, after) {
			return info.Mode() == v.files[c.Path].mode
		}
	}
	if *room <= 0 {
		return false
	}
	d := udiff.Unified("a/"+filepath.ToSlash(c.Path), "b/"+filepath.ToSlash(c.Path), string(before), string(after))
	if len(d) > *room {
		return false
	}
	*room -= len(d)
	c.Diff = d
	return false
}
