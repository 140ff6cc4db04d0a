//go:build unix

package runlog_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/runlog"
)

// TestPrivate checks which directories are made private, which are left as they are, and which are
// refused because another user can change or, with strict, read them.
func TestPrivate(t *testing.T) {
	const sticky = fs.ModeSticky
	for _, test := range []struct {
		name         string
		mode         fs.FileMode // of the directory before; 0 if there is none
		uid          int         // of its owner; 0 means this user
		link, strict bool
		want         fs.FileMode // after
		refused      string      // a part of the error
	}{
		{name: "new", strict: true, want: 0o700},
		{name: "new, named", want: 0o700},
		{name: "private", mode: 0o700, strict: true, want: 0o700},
		{name: "readable", mode: 0o755, strict: true, want: 0o700},
		{name: "readable, named", mode: 0o755, want: 0o755},
		{name: "open", mode: 0o777, strict: true, want: 0o700},
		{name: "open, named", mode: 0o777, want: 0o755},
		{name: "open to a group, named", mode: 0o770, want: 0o750},
		{name: "common", mode: 0o777 | sticky, strict: true, want: 0o700},
		{name: "common, named", mode: 0o777 | sticky, want: 0o777 | sticky},
		{name: "link", mode: 0o700, link: true, strict: true, refused: "is not a directory"},
		{name: "link, named", mode: 0o777, link: true, want: 0o755},
		{name: "foreign", mode: 0o700, uid: 12345, strict: true, refused: "belongs to another user"},
		{name: "foreign, named", mode: 0o700, uid: 12345, refused: "belongs to another user"},
		{name: "foreign and common, named", mode: 0o777 | sticky, uid: 12345, want: 0o777 | sticky},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "dir")
			if test.mode != 0 {
				real := dir
				if test.link {
					real = filepath.Join(t.TempDir(), "real")
					if err := os.Symlink(real, dir); err != nil {
						t.Fatal(err)
					}
				}
				if err := os.Mkdir(real, 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.Chmod(real, test.mode); err != nil {
					t.Fatal(err)
				}
			}
			if test.uid != 0 {
				if os.Geteuid() != 0 {
					t.Skip("only root can give directories away")
				}
				if err := os.Chown(dir, test.uid, -1); err != nil {
					t.Fatal(err)
				}
			}
			err := runlog.Private(dir, test.strict)
			if test.refused != "" {
				if err == nil || !strings.Contains(err.Error(), dir+" "+test.refused) || plumb.Hint(err) == "" {
					t.Errorf("got %v", err)
				}
				return
			}
			info, statErr := os.Stat(dir)
			if err != nil || statErr != nil || info.Mode()&^fs.ModeDir&^test.want&^fs.ModeSticky != 0 ||
				info.Mode().Perm() != test.want.Perm() {
				t.Errorf("got %v, %v", info.Mode(), err)
			}
		})
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, strict := range []bool{false, true} {
		if err := runlog.Private(file, strict); err == nil {
			t.Error("a file is a directory")
		}
	}
}

// TestOpenClaims checks that claims that other users can read are made private, and that those of
// another user are refused.
func TestOpenClaims(t *testing.T) {
	temp := temporary(t)
	c, err := runlog.NewClaim("/a/run")
	if err != nil {
		t.Fatal(err)
	}
	dirs, err := filepath.Glob(filepath.Join(temp, "plumb-runs-*"))
	if err != nil || len(dirs) != 1 {
		t.Fatal(dirs, err)
	}
	if err := os.Chmod(dirs[0], 0o755); err != nil {
		t.Fatal(err)
	}
	claims, err := runlog.Claims()
	if info, _ := os.Stat(dirs[0]); err != nil || claims[c.ID] != c || info.Mode().Perm() != 0o700 {
		t.Errorf("got %v, %v", claims, err)
	}
	if os.Geteuid() != 0 {
		t.Skip("only root can give directories away")
	}
	if err := os.Chown(dirs[0], 12345, -1); err != nil {
		t.Fatal(err)
	}
	if claims, err := runlog.Claims(); err == nil {
		t.Errorf("claims of another user: %v", claims)
	}
	if c, err := runlog.NewClaim("/a/run"); err == nil {
		t.Errorf("a claim among those of another user: %v", c)
	}
}

// TestMadeHere checks that a run counts as one of this user only if it is in the directory of runs
// itself, with files that belong to this user and are no links.
func TestMadeHere(t *testing.T) {
	elsewhere := written(t, t.TempDir(), 1, 1, "f").Path
	for _, test := range []struct {
		name string
		// change changes the run at path below root, and returns the path to ask about.
		change func(root, path string) (string, error)
		want   bool
	}{
		{"whole", func(_, path string) (string, error) { return path, nil }, true},
		{"relative", func(root, path string) (string, error) {
			t.Chdir(root)
			return filepath.Base(path), nil
		}, true},
		{"the working directory", func(_, path string) (string, error) {
			t.Chdir(path)
			return ".", nil
		}, true},
		{"without a log", func(_, path string) (string, error) {
			return path, os.Remove(filepath.Join(path, runlog.EventsFile))
		}, true},
		{"not there", func(root, _ string) (string, error) { return filepath.Join(root, "no"), nil }, false},
		{"elsewhere", func(string, string) (string, error) { return elsewhere, nil }, false},
		{"deeper", func(_, path string) (string, error) {
			return filepath.Join(path, "deeper"), os.Mkdir(filepath.Join(path, "deeper"), 0o700)
		}, false},
		{"a link to a run elsewhere", func(root, _ string) (string, error) {
			return filepath.Join(root, "link"), os.Symlink(elsewhere, filepath.Join(root, "link"))
		}, false},
		{"a link as its bundle", func(_, path string) (string, error) {
			return path, os.Symlink(t.TempDir(), filepath.Join(path, runlog.BundleDir))
		}, false},
		{"a log of another user", func(_, path string) (string, error) {
			if os.Geteuid() != 0 {
				return elsewhere, nil
			}
			return path, os.Chown(filepath.Join(path, runlog.EventsFile), 12345, -1)
		}, false},
		{"a directory of another user", func(_, path string) (string, error) {
			if os.Geteuid() != 0 {
				return elsewhere, nil
			}
			return path, os.Chown(path, 12345, -1)
		}, false},
	} {
		root := t.TempDir()
		path, err := test.change(root, written(t, root, 1, 1, "f").Path)
		if err != nil {
			t.Fatal(err)
		}
		if got := runlog.MadeHere(root, path); got != test.want {
			t.Errorf("%s: got %t", test.name, got)
		}
	}
	if runlog.MadeHere(filepath.Join(t.TempDir(), "no"), elsewhere) {
		t.Error("a run is below a directory that does not exist")
	}
}
