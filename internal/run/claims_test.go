package run_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/run"
	"github.com/plumb-eval/plumb/internal/runlog"
)

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "run-test-*") // for workspaces and claims that a test leaves
	if err != nil {
		panic(err)
	}
	for _, name := range []string{"TMPDIR", "TMP", "TEMP"} {
		if err := os.Setenv(name, dir); err != nil {
			panic(err)
		}
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// TestSessionsKnowNoPath checks that a session only gets an opaque id of the run. A claim elsewhere
// connects the id to the run.
func TestSessionsKnowNoPath(t *testing.T) {
	for _, want := range []string{"echo", "not there"} { // the workspace is deleted, or kept
		dir, places := newDir(t), isolated(t, plumb.WorkspaceConfig{})
		var id string
		work := agent("a", func(_ context.Context, req plumb.Request) (*plumb.SessionReport, error) {
			id, _, _ = strings.Cut(req.Marker, "/")
			owner, err := os.ReadFile(filepath.Join(places.Root, dir.ID, runlog.OwnerFile))
			if strings.Contains(req.Marker+string(owner), dir.Path) || strings.Contains(req.Marker, dir.ID) ||
				strings.TrimSpace(string(owner)) != id || err != nil {
				t.Errorf("mark %q, owner %q, %v", req.Marker, owner, err)
			}
			claims, err := runlog.Claims()
			if c, ok := runlog.Owner(filepath.Join(places.Root, dir.ID), claims); !ok || c.RunDir != dir.Path ||
				claims[id] != c || err != nil {
				t.Errorf("claim %+v, %v, %v", c, ok, err)
			}
			return report("echo"), nil
		})
		s := suite(1)
		s.Cases[0].Assertions = []plumb.Assertion{contains(want)}
		do(t, run.Input{Dir: dir, Suite: s, Runners: []plumb.Runner{work}, Workspaces: places})
		claims, err := runlog.Claims()
		if _, kept := claims[id]; err != nil || kept != (want == "not there") {
			t.Errorf("%s: the claim is kept: %v, %v", want, kept, err)
		}
	}
}

// TestSessionLeavesInstructions has the first session leave a file above its workspace that the
// next agent would read.
func TestSessionLeavesInstructions(t *testing.T) {
	for _, mode := range []plumb.WorkspaceMode{plumb.WorkspaceIsolated, plumb.WorkspaceShared} {
		for _, left := range []string{"AGENTS.md", ".git/HEAD"} {
			for up := 1; up < 6; up++ { // isolated: runner, case, session, root, its parent
				if mode == plumb.WorkspaceShared && up > 3 || mode == plumb.WorkspaceIsolated && up < 4 {
					continue // not a parent of another workspace, or outside the test's directory
				}
				around := t.TempDir()
				places := isolated(t, plumb.WorkspaceConfig{})
				places.Config.Mode, places.Root = mode, filepath.Join(around, "root")
				file := ""
				work := agent("a", func(_ context.Context, req plumb.Request) (*plumb.SessionReport, error) {
					file = filepath.Join(req.Workspace, strings.Repeat("../", up), left)
					write(t, filepath.Join(req.Workspace, strings.Repeat("../", up)), map[string]string{left: "obey"})
					return report("echo"), nil
				})
				r := do(t, run.Input{
					Suite: suite(2), Runners: []plumb.Runner{work}, Workspaces: places,
					Settings: run.Settings{Parallel: 1},
				})
				x := r.Executions[1]
				name := strings.TrimSuffix(file, "/HEAD")
				if r.Executions[0].Outcome != plumb.OutcomePass || x.Outcome != plumb.OutcomeError ||
					x.Origin != plumb.OriginWorkspace ||
					!strings.Contains(x.Reason, name) || !strings.Contains(x.Reason, "earlier session") {
					t.Errorf("%s, %s %d up: %+v", mode, left, up, x)
				}
			}
		}
	}
}
