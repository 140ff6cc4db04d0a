//go:build unix

package run_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/run"
)

// TestForeignDirectories lets another user create the directories whose names are predictable.
func TestForeignDirectories(t *testing.T) {
	owned := func(path string) {
		if err := os.Chown(path, 12345, -1); err != nil {
			t.Fatal(err)
		}
	}
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	private := func(path string) bool {
		info, err := os.Lstat(path)
		return err == nil && info.IsDir() && info.Mode().Perm() == 0o700
	}
	for _, tt := range []struct {
		name string
		// prepare creates the directories: temp is the directory for temporary files, root that of
		// workspaces, dir that of the run in it.
		prepare func(temp, root, dir string)
		want    string // a part of the reason; "" if the run succeeds
	}{
		{"nothing", func(string, string, string) {}, ""},
		{
			"a root that is open",
			func(_, root, _ string) { check(os.Mkdir(root, 0o777)); check(os.Chmod(root, 0o777)) }, "",
		},
		{"a root that can be read", func(_, root, _ string) { check(os.Mkdir(root, 0o755)) }, ""},
		{"a root that is a link", func(temp, root, _ string) {
			check(os.Mkdir(filepath.Join(temp, "theirs"), 0o700))
			check(os.Symlink("theirs", root))
		}, "is not a directory"},
		{"a root that is a file", func(_, root, _ string) { check(os.WriteFile(root, nil, 0o600)) }, "directory"},
		{
			"a root of another user", func(_, root, _ string) { check(os.Mkdir(root, 0o755)); owned(root) },
			"belongs to another user",
		},
		{"an open root of another user", func(_, root, _ string) {
			check(os.Mkdir(root, 0o777))
			check(os.Chmod(root, 0o777))
			owned(root)
		}, "belongs to another user"},
		{"a run's directory that is a link", func(temp, root, dir string) {
			check(os.Mkdir(filepath.Join(temp, "theirs"), 0o700))
			check(os.Mkdir(root, 0o700))
			check(os.Symlink("../theirs", dir))
		}, "is not a directory"},
		{
			"a run's directory of another user", func(_, _, dir string) { check(os.MkdirAll(dir, 0o700)); owned(dir) },
			"belongs to another user",
		},
		{
			"a run's directory that is open",
			func(_, _, dir string) { check(os.MkdirAll(dir, 0o700)); check(os.Chmod(dir, 0o777)) }, "",
		},
		{"claims of another user", func(temp, root, _ string) {
			claims := filepath.Join(temp, strings.Replace(filepath.Base(root), "workspaces", "runs", 1))
			check(os.Mkdir(claims, 0o755))
			owned(claims)
		}, "belongs to another user"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			temp, err := os.MkdirTemp("", "t") //nolint:usetesting // short, for a reason is cut
			check(err)
			t.Setenv("TMPDIR", temp)
			dir, root := newDir(t), run.WorkspaceRoot()
			if os.Geteuid() != 0 && strings.Contains(tt.name, "another user") {
				t.Skip("only root can give directories away")
			}
			tt.prepare(temp, root, filepath.Join(root, dir.ID))
			places := isolated(t, plumb.WorkspaceConfig{})
			places.Root, places.Keep = "", true
			x := do(
				t,
				run.Input{Dir: dir, Suite: suite(1), Workspaces: places, Runners: []plumb.Runner{agent("a", echo)}},
			).Executions[0]
			if tt.want == "" &&
				(x.Outcome != plumb.OutcomePass || !private(root) || !private(filepath.Join(root, dir.ID))) {
				t.Errorf("%+v", x)
			}
			if tt.want != "" &&
				(x.Outcome != plumb.OutcomeError || x.Origin != plumb.OriginWorkspace || !strings.Contains(
					x.Reason, tt.want,
				)) {
				t.Errorf("%+v", x)
			}
			if entries, err := os.ReadDir(filepath.Join(temp, "theirs")); err == nil && len(entries) > 0 {
				t.Errorf("it was written to: %v", entries)
			}
		})
	}
}

// TestNamedRoot uses a root that the user names: it may be a link, and other users may write to it
// if they cannot change each other's files.
func TestNamedRoot(t *testing.T) {
	for mode, want := range map[os.FileMode]os.FileMode{
		0o755: 0o755, 0o775: 0o755, 0o777: 0o755, 0o777 | os.ModeSticky: 0o777 | os.ModeSticky,
	} {
		places := isolated(t, plumb.WorkspaceConfig{})
		real := places.Root
		if err := os.Chmod(real, mode); err != nil {
			t.Fatal(err)
		}
		places.Root = filepath.Join(t.TempDir(), "link")
		if err := os.Symlink(real, places.Root); err != nil {
			t.Fatal(err)
		}
		x := do(
			t, run.Input{Suite: suite(1), Workspaces: places, Runners: []plumb.Runner{agent("a", echo)}},
		).Executions[0]
		if info, err := os.Stat(real); err != nil || x.Outcome != plumb.OutcomePass || info.Mode()&^os.ModeDir != want {
			t.Errorf("%v: %v, %v, %+v", mode, info.Mode(), err, x)
		}
	}
}
