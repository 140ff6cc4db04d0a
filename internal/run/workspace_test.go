package run_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/redact"
	"github.com/plumb-eval/plumb/internal/run"
	"github.com/plumb-eval/plumb/internal/runlog"
)

// agent returns a fake runner whose sessions work in a directory.
func agent(id string, work func(ctx context.Context, req plumb.Request) (*plumb.SessionReport, error)) *agentFake {
	return &agentFake{fake{id: id, run: work}}
}

type agentFake struct{ fake }

func (f *agentFake) Info() plumb.RunnerInfo {
	info := f.fake.Info()
	info.Kind, info.Agent = plumb.RunnerAgent, plumb.AgentInfo{Type: "codex", Model: "m"}
	return info
}

func (f *agentFake) Run(ctx context.Context, req plumb.Request) (*plumb.SessionReport, error) {
	r, err := f.fake.Run(ctx, req)
	if r != nil {
		r.Runner = f.Info()
	}
	return r, err
}

func write(t *testing.T, dir string, files map[string]string) string {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o700); err != nil { //nolint:gosec // some are programs
			t.Fatal(err)
		}
	}
	return dir
}

func isolated(t *testing.T, c plumb.WorkspaceConfig) run.Workspaces {
	t.Helper()
	c.Mode = plumb.WorkspaceIsolated
	return run.Workspaces{Config: c, Root: t.TempDir(), Environ: os.Environ, Reach: []string{"AGENTS.md"}}
}

func TestIsolatedWorkspaces(t *testing.T) {
	template := write(
		t, t.TempDir(),
		map[string]string{"README.md": "hello\n", ".hidden": "x", "sub/b.txt": "b\n", "bin/tool": "#!/bin/sh\n"},
	)
	if err := os.Symlink("README.md", filepath.Join(template, "link.md")); err != nil {
		t.Fatal(err)
	}
	outside := write(t, t.TempDir(), map[string]string{"secret.txt": "mine"})
	if err := os.Symlink(filepath.Join(outside, "secret.txt"), filepath.Join(template, "out.txt")); err != nil {
		t.Fatal(err)
	}
	places := isolated(t, plumb.WorkspaceConfig{TemplateDir: template})
	var seen []string
	work := agent("a", func(_ context.Context, req plumb.Request) (*plumb.SessionReport, error) {
		seen = append(seen, req.Workspace)
		if req.Marker == "" || req.ArtifactDir == "" {
			t.Errorf("request %+v lacks directories", req)
		}
		for _, file := range [][2]string{
			{"README.md", "changed\n"},
			{"new.txt", "new\n"},
			{"out.txt", "overwritten"},
			{"link.md", "through the link\n"},
		} {
			if err := os.WriteFile(filepath.Join(req.Workspace, file[0]), []byte(file[1]), 0o600); err != nil {
				t.Error(err)
			}
		}
		if err := os.Remove(filepath.Join(req.Workspace, "sub/b.txt")); err != nil {
			t.Error(err)
		}
		return report("echo"), nil
	})
	s := suite(2)
	s.Cases[1].Assertions = []plumb.Assertion{contains("not there")}
	var sessions []*plumb.SessionReport
	var markers []string
	dir := newDir(t)
	do(t, run.Input{
		Dir: dir, Suite: s, Runners: []plumb.Runner{work}, Workspaces: places,
		Settings: run.Settings{Parallel: 4}, Emit: func(
			ev plumb.Event, _ *plumb.Run,
		) error {
			if ev.Report != nil {
				sessions = append(sessions, ev.Report)
			}
			if ev.Type == plumb.EventSessionStarted {
				markers = append(markers, ev.Marker)
			}
			return nil
		},
	})
	if len(sessions) != 2 || len(markers) != 2 || markers[0] == markers[1] || strings.Contains(markers[0], dir.ID) {
		t.Fatalf("%d sessions, markers %q", len(sessions), markers)
	}
	var changes []string
	for _, c := range sessions[0].Files.Changed {
		rel, err := filepath.Rel(seen[0], c.Path)
		if err != nil {
			t.Fatal(err)
		}
		changes = append(changes, c.Kind+" "+rel)
	}
	if want := []string{
		"update README.md", "add new.txt", "update out.txt", "delete sub/b.txt",
	}; !slices.Equal(changes, want) {
		t.Errorf("changes %q, want %q", changes, want)
	}
	if d := sessions[0].Files.Changed[0].Diff; !strings.Contains(d, "-hello") ||
		!strings.Contains(d, "+through the link") {
		t.Errorf("diff %q", d)
	}
	for path, want := range map[string]string{
		filepath.Join(template, "README.md"): "hello\n", filepath.Join(outside, "secret.txt"): "mine",
	} {
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("%s is %q now, %v", path, got, err)
		}
	}
	if _, err := os.Stat(seen[0]); !errors.Is(err, os.ErrNotExist) {
		t.Error("the workspace of a session that passed is still there")
	}
	if _, err := os.Stat(filepath.Join(seen[1], "new.txt")); err != nil {
		t.Error("the workspace of a session that failed is gone")
	}
	artifacts := filepath.Join(dir.Path, "case-001", plumb.PathKey("a"), "repeat-1")
	for _, name := range []string{"report.json", "error.json", "workspace.json"} {
		if _, err := os.Stat(filepath.Join(artifacts, name)); err != nil {
			t.Error(err)
		}
	}
	var record struct {
		Mode, Cwd string
		Preserved bool
	}
	data, err := os.ReadFile(filepath.Join(artifacts, "workspace.json"))
	if err != nil || json.Unmarshal(data, &record) != nil || !record.Preserved || record.Mode != "isolated" ||
		record.Cwd != seen[1] {
		t.Errorf("workspace.json: %s, %v", data, err)
	}
}

func TestBootstrap(t *testing.T) {
	bin := write(t, t.TempDir(), map[string]string{
		"ok":    "#!/bin/sh\nenv | grep -E '^(PLUMB|SKILLGYM)_' | sort > vars.txt\necho said; echo $EXTRA $1 > extra.txt\n",
		"fails": "#!/bin/sh\necho broken >&2\nexit 7\n",
		"hangs": "#!/bin/sh\nsleep 60 & sleep 60\n",
	})
	for _, test := range []struct {
		name  string
		b     plumb.Bootstrap
		fails string
	}{
		{
			"ok",
			plumb.Bootstrap{
				Command: filepath.Join(bin, "ok"), Args: []string{"arg"}, Env: map[string]string{"EXTRA": "more"},
			},
			"",
		},
		{"fails", plumb.Bootstrap{Command: filepath.Join(bin, "fails"), Args: []string{"x"}}, "fails x (exit 7)"},
		{"missing", plumb.Bootstrap{Command: "no-such-program-here"}, "no-such-program-here"},
		{
			"hangs",
			plumb.Bootstrap{Command: filepath.Join(bin, "hangs"), TimeoutMs: 50},
			"exit null, not finished within 50ms",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, mode := range []plumb.WorkspaceMode{plumb.WorkspaceIsolated, plumb.WorkspaceShared} {
				dir := newDir(t)
				places := run.Workspaces{
					Config: plumb.WorkspaceConfig{Mode: mode, Bootstrap: &test.b}, Root: t.TempDir(),
					Environ: os.Environ,
				}
				asked := 0
				answer := func(_ context.Context, req plumb.Request) (*plumb.SessionReport, error) {
					asked++
					vars, err := os.ReadFile(filepath.Join(req.Workspace, "vars.txt"))
					if err != nil {
						t.Error(err)
					}
					for _, want := range []string{
						"PLUMB_WORKSPACE=" + req.Workspace, "SKILLGYM_OUTPUT_DIR=" + dir.Path, "SKILLGYM_ARTIFACT_DIR=",
					} {
						if !strings.Contains(string(vars), want) {
							t.Errorf("variables %s lack %s", vars, want)
						}
					}
					if got := strings.Contains(
						string(vars), "SKILLGYM_CASE_ID=case-",
					); got != (mode == plumb.WorkspaceIsolated) {
						t.Errorf("case id among the variables: %t", got)
					}
					return report("echo"), nil
				}
				r := do(t, run.Input{
					Dir: dir, Suite: suite(2), Workspaces: places, Runners: []plumb.Runner{agent("a", answer)},
				})
				x := r.Executions[0]
				switch {
				case test.fails == "":
					if x.Outcome != plumb.OutcomePass || asked != 2 {
						t.Errorf("%s: %+v", mode, x)
					}
				case x.Outcome != plumb.OutcomeError || x.Origin != plumb.OriginWorkspaceBootstrap || asked != 0 ||
					!strings.Contains(x.Reason, "Workspace bootstrap failed: ") ||
					!strings.Contains(x.Reason, test.fails) && len(x.Reason) < 160:
					t.Errorf("%s: %+v, asked %d", mode, x, asked)
				}
				if r.Totals.Errored != 0 && r.Totals.Errored != 2 {
					t.Errorf("%d of 2 could not be measured", r.Totals.Errored)
				}
			}
		})
	}
}

// TestBootstrapLeavesNoSecrets runs a bootstrap program that leaves secrets in names, texts and
// links among the artifacts.
func TestBootstrapLeavesNoSecrets(t *testing.T) {
	const secret = "sk-very-secret-0123"
	bin := write(t, t.TempDir(), map[string]string{"leaks": `#!/bin/sh
cd "$PLUMB_ARTIFACT_DIR"
mkdir -p "d-$KEY/empty-$KEY"
echo "the key is $KEY" >"d-$KEY/f-$KEY.txt"
echo other >"d-$KEY/f-redacted-KEY.txt"
printf '\0%s' "$KEY" >binary
printf '\0fine' >fine
ln -s "/nowhere/$KEY" link
mkfifo pipe
echo fine >plain; chmod 700 plain
`})
	for _, mode := range []plumb.WorkspaceMode{plumb.WorkspaceIsolated, plumb.WorkspaceShared} {
		dir := newDir(t)
		b := plumb.Bootstrap{Command: filepath.Join(bin, "leaks"), Env: map[string]string{"KEY": secret}}
		places := run.Workspaces{
			Config: plumb.WorkspaceConfig{Mode: mode, Bootstrap: &b}, Root: t.TempDir(), Environ: os.Environ,
		}
		r := do(t, run.Input{
			Dir: dir, Suite: suite(1), Workspaces: places, Runners: []plumb.Runner{agent("a", echo)},
			Redact: redact.New([]redact.Secret{{Name: "KEY", Value: secret}}),
		})
		if x := r.Executions[0]; x.Outcome != plumb.OutcomePass {
			t.Errorf("%s: %+v", mode, x)
		}
		found := map[string]string{}
		if err := filepath.WalkDir(dir.Path, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			text, _ := os.Readlink(path)
			if d.Type().IsRegular() {
				data, err := os.ReadFile(path)
				if text = string(data); err != nil {
					return err
				}
			}
			if strings.Contains(path+text, secret) {
				t.Errorf("%s: %s has the secret: %s", mode, path, text)
			}
			found[filepath.Base(path)] = text
			return nil
		}); err != nil {
			t.Error(err)
		}
		for name, want := range map[string]string{
			"plain": "fine\n", "fine": "\x00fine", "link": "/nowhere/redacted-KEY", "f-redacted-KEY.txt": "other\n",
			"f-redacted-KEY.txt~": "the key is [redacted:KEY]\n", "empty-redacted-KEY": "",
		} {
			if got, ok := found[name]; !ok || got != want {
				t.Errorf("%s: %s: %q, %t", mode, name, got, ok)
			}
		}
		if _, ok := found["pipe"]; ok {
			t.Errorf("%s: the pipe is kept", mode)
		}
	}
}

func TestTemplates(t *testing.T) {
	circle := write(t, t.TempDir(), map[string]string{"a/b.txt": "x"})
	if err := os.Symlink("..", filepath.Join(circle, "a", "up")); err != nil {
		t.Fatal(err)
	}
	above := write(t, t.TempDir(), map[string]string{"t/a.txt": "x"})
	if err := os.Symlink(above, filepath.Join(above, "t", "all")); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(write(t, t.TempDir(), map[string]string{"f": "x"}), "f")
	for _, test := range []struct{ name, dir, fails string }{
		{"missing", filepath.Join(circle, "none"), "Workspace template directory does not exist: "},
		{"file", file, "Workspace template path is not a directory: "},
		{"a link to a directory of the template is kept", circle, ""},
		{
			"a link to a directory around the template", filepath.Join(above, "t"),
			"leads to a parent directory of the template",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := do(t, run.Input{
				Suite: suite(1), Workspaces: isolated(t, plumb.WorkspaceConfig{TemplateDir: test.dir}),
				Runners: []plumb.Runner{agent("a", echo)},
			})
			x := r.Executions[0]
			if test.fails == "" && x.Outcome != plumb.OutcomePass ||
				test.fails != "" && (x.Origin != plumb.OriginWorkspace || !strings.Contains(x.Reason, test.fails)) {
				t.Errorf("%+v", x)
			}
		})
	}
}

func TestWorkspacesAreOutsideProjects(t *testing.T) {
	project := write(t, t.TempDir(), map[string]string{"AGENTS.md": "be nice"})
	places := isolated(t, plumb.WorkspaceConfig{})
	places.Root = filepath.Join(project, "sub")
	r := do(t, run.Input{Suite: suite(1), Workspaces: places, Runners: []plumb.Runner{agent("a", echo)}})
	if x := r.Executions[0]; x.Origin != plumb.OriginWorkspace ||
		!strings.Contains(x.Reason, "cannot create workspaces in") {
		t.Errorf("%+v", x)
	}
}

func TestAgentRepetitionsEndWithTheFirstFailure(t *testing.T) {
	for _, test := range []struct {
		all  bool
		want string
	}{
		{false, "case-000/1/1 case-000/2/1 case-000/2/2"},
		{true, "case-000/1/1 case-000/2/1 case-000/2/2 case-000/3/1"},
	} {
		a := agent("a", func(_ context.Context, req plumb.Request) (*plumb.SessionReport, error) {
			if req.Repetition == 2 {
				return report("bad"), nil
			}
			return report("echo"), nil
		})
		r := do(t, run.Input{
			Suite:    suite(1),
			Settings: run.Settings{Repeat: 3, Retry: 1, AllRepetitions: test.all}, Runners: []plumb.Runner{a},
			Workspaces: run.Workspaces{Cwd: t.TempDir()},
		})
		if got := strings.Join(a.calls, " "); got != test.want {
			t.Errorf("sessions %q, want %q", got, test.want)
		}
		if x := r.Executions[0]; x.Outcome != plumb.OutcomeFail || x.Failed != 1 {
			t.Errorf("%+v", x)
		}
	}
}

func TestCanary(t *testing.T) {
	rejected := agent("rejected", func(context.Context, plumb.Request) (*plumb.SessionReport, error) {
		return nil, plumb.Failuref(plumb.OriginModelRejected, "no such model")
	})
	good := agent("good", echo)
	r := do(t, run.Input{
		Suite:    suite(10),
		Settings: run.Settings{Parallel: 8, Schedule: run.Parallel}, Runners: []plumb.Runner{rejected, good},
		Workspaces: run.Workspaces{Cwd: t.TempDir()},
	})
	if len(rejected.calls) != 1 || len(good.calls) != 10 || r.Totals.Errored != 10 || r.Totals.Passed != 10 {
		t.Errorf("rejected was asked %d times; %+v", len(rejected.calls), r.Totals)
	}
	if x := r.Executions[2]; x.Origin != plumb.OriginModelRejected || x.Class.ID != "model-rejected" {
		t.Errorf("%+v", x)
	}
}

func TestClassify(t *testing.T) {
	s := suite(2, contains("no"))
	s.Cases[0].Classify = func(_ context.Context, f plumb.FailedSession) (*plumb.FailureClass, error) {
		return &plumb.FailureClass{ID: "mine", Label: f.Judgement.Failure.Class.ID}, nil
	}
	s.Cases[1].Classify = func(context.Context, plumb.FailedSession) (*plumb.FailureClass, error) {
		return nil, errors.New("boom")
	}
	r := do(t, run.Input{Suite: s, Runners: []plumb.Runner{&fake{id: "m", run: echo}}})
	if c := r.Executions[0].Class; c.ID != "mine" || c.Label != "assertion" {
		t.Errorf("class %+v", c)
	}
	if c := r.Executions[1].Class; c.ID != "assertion" {
		t.Errorf("class %+v", c)
	}
}

func TestVerify(t *testing.T) {
	looked := 0
	r := do(t, run.Input{
		Suite: suite(2), Settings: run.Settings{Repeat: 3}, Runners: []plumb.Runner{&fake{id: "m", run: echo}},
		Verify: func(c *plumb.Case, _ plumb.RunnerInfo, sessions []*plumb.SessionReport) (
			*plumb.SnapshotCheck, *plumb.Failure,
		) {
			looked += len(sessions)
			check := &plumb.SnapshotCheck{Metric: "totalTokens", Samples: 3}
			if c.ID == "case-000" {
				return check, nil
			}
			return check, plumb.Failuref(plumb.OriginSnapshot, "too many tokens")
		},
	})
	if looked != 6 || r.Executions[0].Status != plumb.StatusPassed || r.Executions[0].Snapshot.Samples != 3 {
		t.Errorf("looked at %d sessions; %+v", looked, r.Executions[0])
	}
	if x := r.Executions[1]; x.Outcome != plumb.OutcomeFail || x.Origin != plumb.OriginSnapshot ||
		x.Class.ID != "snapshot" {
		t.Errorf("%+v", x)
	}
}

// TestChangesAreComparedWhereTheyCanBe checks that the report of a session in a concurrently shared
// directory lists no changes, and says that it is incomplete.
func TestChangesAreComparedWhereTheyCanBe(t *testing.T) {
	for _, test := range []struct {
		parallel int
		compared bool
	}{{1, true}, {4, false}} {
		dir := write(t, t.TempDir(), map[string]string{"a.txt": "a\n"})
		work := agent("a", func(_ context.Context, req plumb.Request) (*plumb.SessionReport, error) {
			return report("echo"), os.WriteFile(filepath.Join(req.Workspace, "made-by-"+req.CaseID), []byte("x"), 0o600)
		})
		do(t, run.Input{
			Suite: suite(2), Runners: []plumb.Runner{work}, Settings: run.Settings{Parallel: test.parallel},
			Workspaces: run.Workspaces{Cwd: dir},
			Emit: func(ev plumb.Event, _ *plumb.Run) error {
				if r := ev.Report; r != nil {
					told := slices.Contains(r.Incomplete, string(plumb.SessionFileChange))
					if told == test.compared || (len(r.Files.Changed) == 1) != test.compared {
						t.Errorf("%d at once: incomplete %q, changes %v", test.parallel, r.Incomplete, r.Files.Changed)
					}
				}
				return nil
			},
		})
	}
}

// TestPlumbsOwnFilesAreNoChanges checks that Plumb's own files do not count as changes, because a
// session may work in the directory that holds the runs.
func TestPlumbsOwnFilesAreNoChanges(t *testing.T) {
	dir := write(t, t.TempDir(), map[string]string{"a.txt": "a\n"})
	d, err := runlog.Create(filepath.Join(dir, "results"), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	work := agent("a", func(_ context.Context, _ plumb.Request) (*plumb.SessionReport, error) {
		write(t, d.Path, map[string]string{"a/stdout.log": "x"})
		write(t, dir, map[string]string{".plumb/cache/x": "x", "mine": "x"})
		return report("echo"), nil
	})
	do(t, run.Input{
		Dir: d, Suite: suite(1), Runners: []plumb.Runner{work}, Workspaces: run.Workspaces{Cwd: dir},
		Emit: func(ev plumb.Event, _ *plumb.Run) error {
			if r := ev.Report; r != nil &&
				(len(r.Files.Changed) != 1 || filepath.Base(r.Files.Changed[0].Path) != "mine") {
				t.Errorf("changes %v", r.Files.Changed)
			}
			return nil
		},
	})
}
