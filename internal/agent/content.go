package agent

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/plumb-eval/plumb/internal/agent/transcript"
)

// contents knows the files of a workspace at the beginning of a session and after its end, so that
// the transcript can be compared with them.
type contents struct {
	dirs  []string // the paths of the workspace
	root  *os.Root
	begun map[string]begun
	// whole means that begun has all files.
	whole bool
}

// begun is a file at the beginning of a session.
type begun struct {
	size    int64
	changed time.Time
	content string
	kept    bool
}

// These bound what is read of a workspace.
const (
	maxKeptFile  = 64 << 10 // bytes of a file that is kept at the beginning
	maxKept      = 1 << 20  // bytes of all of them
	maxListed    = 20_000   // files
	maxReadAfter = 1 << 20  // bytes of a file that is read after the session
)

// readContents lists the files of a workspace, and keeps the content of small ones: skills first,
// because an agent may delete them.
func readContents(workspace string) (*contents, error) {
	root, err := os.OpenRoot(workspace)
	if err != nil {
		return nil, err
	}
	c := &contents{dirs: []string{workspace}, root: root, begun: map[string]begun{}, whole: true}
	if real, err := filepath.EvalSymlinks(workspace); err == nil && real != workspace {
		c.dirs = append(c.dirs, real)
	}
	var files []string
	err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			c.whole = false
			return nil //nolint:nilerr // what cannot be listed is not known
		case d.IsDir() && unlisted(name):
			return fs.SkipDir
		case len(c.begun) >= maxListed:
			c.whole = false
			return fs.SkipAll
		case d.Type().IsRegular():
			if info, err := d.Info(); err == nil {
				c.begun[name] = begun{size: info.Size(), changed: info.ModTime()}
				files = append(files, name)
			}
		case !d.IsDir():
			c.whole = false // a link may lead to anything
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	left := int64(maxKept)
	for _, skills := range []bool{true, false} {
		for _, name := range files {
			b := c.begun[name]
			if strings.HasSuffix(name, "SKILL.md") != skills || b.size > min(left, maxKeptFile) {
				continue
			}
			if b.content, b.kept = c.read(name); b.kept {
				left -= b.size
				c.begun[name] = b
			}
		}
	}
	return c, nil
}

// unlisted reports whether a directory has files that no case is about, among them the results of
// earlier sessions.
func unlisted(name string) bool {
	switch filepath.Base(name) {
	case ".git", "node_modules", ".plumb", ".skillgym-results":
		return true
	}
	return false
}

// read reads the beginning of a regular file. ok means that it has no more.
func (c *contents) read(name string) (content string, ok bool) {
	f, err := c.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe does not block
	if err != nil {
		return "", false
	}
	defer func() { _ = f.Close() }() // only read
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return "", false
	}
	data, err := io.ReadAll(io.LimitReader(f, maxReadAfter))
	return string(data), err == nil && len(data) < maxReadAfter
}

// of returns what is known of a file now that the session has ended.
func (c *contents) of(path string) transcript.Content {
	for _, dir := range c.dirs {
		name, err := filepath.Rel(dir, path)
		if err != nil || !filepath.IsLocal(name) {
			continue
		}
		name = filepath.ToSlash(name)
		for dir := name; dir != "."; dir = filepath.ToSlash(filepath.Dir(dir)) {
			if unlisted(dir) {
				return transcript.Content{}
			}
		}
		return c.during(name)
	}
	return transcript.Content{}
}

// during returns what is known of the file name during the session.
func (c *contents) during(name string) transcript.Content {
	before, was := c.begun[name]
	info, err := c.root.Stat(name)
	if err != nil || !info.Mode().IsRegular() {
		known := transcript.Content{Sure: !was && c.whole && err != nil}
		if before.kept {
			known.Versions = []string{before.content}
		}
		return known
	}
	now, all := c.read(name)
	known := transcript.Content{Versions: []string{now}}
	switch {
	case was && before.kept && before.content != now:
		known.Versions = []string{before.content, now}
	case was && all:
		known.Sure = before.size == info.Size() && before.changed.Equal(info.ModTime())
	}
	return known
}

func (c *contents) close() { _ = c.root.Close() } // only read
