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
)

const (
	// mostFiles bounds what of a workspace is watched for changes.
	mostFiles = 100_000
	// mostChanges bounds the changes that are reported.
	mostChanges = 1000
	// diffFile and diffAll bound, in bytes, the files that are compared by content and all diffs of a session together;
	// keptAll what is kept of a workspace to compare with.
	diffFile = 256 << 10
	diffAll  = 1 << 20
	keptAll  = 8 << 20
)

// stamp tells whether a file has changed.
type stamp struct {
	size     int64
	modified int64
	mode     fs.FileMode
}

// inventory is what a workspace held at one moment. Version control's own files are left out, and so are what package
// managers install and Plumb's own files: sessions may work where runs are kept.
type inventory struct {
	root string
	// run is the directory of the run.
	run   string
	files map[string]stamp
	// texts are contents of small text files, as far as they are kept.
	texts map[string][]byte
	kept  int
	full  bool // there are more files than are watched
}

var errEnough = errors.New("enough")

// takeInventory looks at a workspace. With texts it keeps what small text files hold.
func takeInventory(root, run string, texts bool) (*inventory, error) {
	v := &inventory{root: root, run: run, files: map[string]stamp{}, texts: map[string][]byte{}}
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil && name == root:
			return err
		case err != nil:
			return nil //nolint:nilerr // what vanished or cannot be read is not there
		case d.IsDir() && (ignored(d.Name()) || name == run) && name != root:
			return fs.SkipDir
		case d.IsDir():
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return nil //nolint:nilerr // it vanished meanwhile
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
		return nil, fmt.Errorf("look at the workspace: %w", err)
	}
	return v, nil
}

func ignored(dir string) bool {
	return dir == ".git" || dir == "node_modules" || dir == ".hg" || dir == ".svn" || dir == ".plumb"
}

// readText returns the content of a small regular file that is text.
func readText(name string, info fs.FileInfo) ([]byte, bool) {
	if !info.Mode().IsRegular() || info.Size() > diffFile {
		return nil, false
	}
	if info.Size() == 0 { // as the files of /proc, whatever they hold
		return []byte{}, true
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, false
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, diffFile+1)) // it may grow
	if err != nil || len(data) > diffFile || !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0 {
		return nil, false
	}
	return data, true
}

// changes returns what is different now, by path. note says what was left out, or "".
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
		note = fmt.Sprintf("the workspace has more than %d files; changes beyond them were not looked for", mostFiles)
	}
	if n := len(changed); n > mostChanges {
		note = fmt.Sprintf("%d files of the workspace changed; %d are listed", n, mostChanges)
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

// diff completes a change by a diff, as long as there is room. It reports whether the file holds what it held: that it was
// only written again is no change.
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
