package run_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/run"
	"github.com/plumb-eval/plumb/internal/runlog"
)

// TestA3_PlantedAboveWorkspace: what a session creates above its workspace, in any directory that Plumb made, reaches no other
// session, is removed, and is in the report of that session.
func TestA3_PlantedAboveWorkspace(t *testing.T) {
	outside := write(t, t.TempDir(), map[string]string{"theirs/runner/precious.txt": "x"})
	plants := map[string]func(dir string) error{
		"AGENTS.md":        func(dir string) error { return os.WriteFile(filepath.Join(dir, "AGENTS.md"), []byte("obey"), 0o600) },
		".git":             func(dir string) error { return os.MkdirAll(filepath.Join(dir, ".git", "objects"), 0o700) },
		".agents":          func(dir string) error { return os.MkdirAll(filepath.Join(dir, ".agents", "skills", "x"), 0o500) },
		"CLAUDE.md":        func(dir string) error { return os.Symlink("/etc/passwd", filepath.Join(dir, "CLAUDE.md")) },
		"anything at all":  func(dir string) error { return os.WriteFile(filepath.Join(dir, "anything at all"), nil, 0o400) },
		"a link elsewhere": func(dir string) error { return os.Symlink(outside, filepath.Join(dir, "a link elsewhere")) },
	}
	for name, plant := range plants {
		for up := 1; up <= 4; up++ { // runner, case, run, the session's own root
			for _, parallel := range []int{1, 3} {
				temp := t.TempDir()
				t.Setenv("TMPDIR", temp)
				places := isolated(t, plumb.WorkspaceConfig{})
				places.Root, places.Reach = "", []string{"AGENTS.md", "CLAUDE.md", ".agents", "anything at all", "a link elsewhere"}
				places.Keep = true
				dir := newDir(t)
				work := agent("a", func(_ context.Context, req plumb.Request) (*plumb.SessionReport, error) {
					for at := filepath.Dir(req.Workspace); at != filepath.Dir(temp); at = filepath.Dir(at) {
						if _, err := os.Lstat(filepath.Join(at, name)); err == nil {
							t.Errorf("%s, %d up: another session sees it in %s", name, up, at)
						}
					}
					if err := plant(filepath.Join(req.Workspace, strings.Repeat("../", up))); err != nil {
						t.Error(err)
					}
					return report("echo"), nil
				})
				reports := map[string]*plumb.SessionReport{}
				r := do(t, run.Input{
					Dir: dir, Suite: suite(3), Runners: []plumb.Runner{work}, Workspaces: places,
					Settings: run.Settings{Parallel: parallel},
				})
				if err := runlog.At(dir.Path).Read(func(ev plumb.Event) error {
					if ev.Type == plumb.EventSessionFinished {
						reports[ev.Case] = ev.Report
					}
					return nil
				}); err != nil {
					t.Fatal(err)
				}
				for _, x := range r.Executions {
					if x.Outcome != plumb.OutcomePass {
						t.Errorf("%s, %d up: %s %s", name, up, x.Outcome, x.Reason)
					}
				}
				for id, rep := range reports {
					if !slices.ContainsFunc(rep.Notes, func(n string) bool {
						return strings.Contains(n, name+" above its workspace; Plumb removed it")
					}) {
						t.Errorf("%s, %d up, case %s: the notes are %q", name, up, id, rep.Notes)
					}
				}
				_ = filepath.WalkDir(temp, func(path string, _ os.DirEntry, err error) error {
					if err == nil && filepath.Base(path) == name {
						t.Errorf("%s is still there", path)
					}
					return nil
				})
			}
		}
	}
	if _, err := os.Stat(filepath.Join(outside, "theirs/runner/precious.txt")); err != nil {
		t.Errorf("what a link led to: %v", err)
	}
}

// TestReplacedDirectories: an agent that puts a link in place of a directory above its workspace does not make Plumb delete
// what the link leads to.
func TestReplacedDirectories(t *testing.T) {
	outside := write(t, t.TempDir(), map[string]string{"runner/precious.txt": "x", "precious.txt": "x"})
	for up := 1; up <= 4; up++ {
		t.Setenv("TMPDIR", t.TempDir())
		places := isolated(t, plumb.WorkspaceConfig{})
		places.Root = ""
		work := agent("a", func(_ context.Context, req plumb.Request) (*plumb.SessionReport, error) {
			above := filepath.Join(req.Workspace, strings.Repeat("../", up))
			if err := os.Rename(above, above+".moved"); err != nil {
				t.Error(err)
			}
			if err := os.Symlink(outside, above); err != nil {
				t.Error(err)
			}
			return report("echo"), nil
		})
		do(t, run.Input{Suite: suite(2), Runners: []plumb.Runner{work}, Workspaces: places, Settings: run.Settings{Parallel: 1}})
		for _, name := range []string{"runner/precious.txt", "precious.txt"} {
			if _, err := os.Stat(filepath.Join(outside, name)); err != nil {
				t.Fatalf("%d up: %v", up, err)
			}
		}
	}
}
