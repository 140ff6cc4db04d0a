package packaging_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// job is a fake job of GitHub Actions for .github/action/run.sh.
type job struct {
	t   *testing.T
	dir string
	env []string
}

func newJob(t *testing.T) *job {
	t.Helper()
	posix(t)
	j := &job{t: t, dir: t.TempDir()}
	for _, name := range []string{"temp", "work"} {
		if err := os.Mkdir(filepath.Join(j.dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	j.env = []string{"RUNNER_OS=Linux", "RUNNER_ARCH=X64"}
	for name, path := range map[string]string{
		"GITHUB_OUTPUT": "output", "GITHUB_STEP_SUMMARY": "summary", "GITHUB_PATH": "path", "RUNNER_TEMP": "temp",
		"IN_WORKING_DIRECTORY": "work", "PROGRAM": "plumb", "CALLS": "calls",
	} {
		j.env = append(j.env, name+"="+j.path(path))
	}
	// The program records its arguments, one on each line, and ends as the environment says.
	j.executable("plumb", `#!/bin/sh
for argument; do printf '%s\n' "$argument" >>"$CALLS"; done
if [ "$1 $2" = "suite hash" ]; then
	[ -e "$4" ] || exit 2
	echo "sha256:$(cat "$4")  $4"
	exit 0
fi
exit "${STATUS:-0}"
`)
	return j
}

func (j *job) path(name string) string { return filepath.Join(j.dir, name) }

func (j *job) executable(name, text string) {
	j.t.Helper()
	if err := os.WriteFile(j.path(name), []byte(text), 0o700); err != nil { //nolint:gosec // it is a program
		j.t.Fatal(err)
	}
}

// step runs one step in a new state and returns its output and exit code.
func (j *job) step(name string, env ...string) (output string, code int) {
	j.t.Helper()
	for _, file := range []string{"output", "summary", "path", "calls"} {
		if err := os.WriteFile(j.path(file), nil, 0o600); err != nil {
			j.t.Fatal(err)
		}
	}
	return script(j.t, append(j.env, env...), ".github/action/run.sh", name)
}

func (j *job) file(name string) string {
	j.t.Helper()
	data, err := os.ReadFile(j.path(name))
	if err != nil {
		j.t.Fatal(err)
	}
	return string(data)
}

// outputs returns the outputs that a step set.
func (j *job) outputs() map[string]string {
	found := map[string]string{}
	for line := range strings.Lines(j.file("output")) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		found[name] = value
	}
	return found
}

// hostile is an input that becomes a command where inputs become shell code.
const hostile = "$(touch pwned)\n`touch pwned`\n\"; touch pwned; \"\n'; touch pwned; '\n* ? ~\n--flag=a b"

func TestActionRun(t *testing.T) {
	j := newJob(t)
	out, code := j.step("run", "IN_SUITES="+hostile, "IN_ARGS=  --repeat\r\n\n  2\n", "STATUS=1")
	if code != 0 || j.outputs()["exit-code"] != "1" {
		t.Fatalf("exit code %d, outputs %v\n%s", code, j.outputs(), out)
	}
	reports := j.path("temp/plumb-reports")
	want := strings.Join([]string{
		"run", "--report", "terminal", "--report", "github-actions", "--report", "junit:" + reports + "/{suite}.junit.xml",
		"--report", "html:" + reports + "/{suite}.html", "--cache", "on", "--repeat", "2", "--", hostile,
	}, "\n") + "\n"
	if got := j.file("calls"); got != want {
		t.Errorf("plumb got the arguments\n%s\nwant\n%s", got, want)
	}
	if j.outputs()["reports"] != reports {
		t.Errorf("outputs %v", j.outputs())
	}
	if files, err := filepath.Glob(j.path("work/*")); err != nil || len(files) != 0 {
		t.Errorf("an input was executed: %v %v", files, err)
	}
	if j.step("run", "IN_CACHE=false"); strings.Contains(j.file("calls"), "--cache") ||
		!strings.HasSuffix(j.file("calls"), "\n--\n") {
		t.Errorf("without cache and suites, plumb got\n%s", j.file("calls"))
	}
	for status, wantSummary := range map[string]bool{"0": false, "2": true, "3": false} {
		if j.step("run", "STATUS="+status); (j.file("summary") != "") != wantSummary ||
			j.outputs()["exit-code"] != status {
			t.Errorf("exit code %s: summary %q, outputs %v", status, j.file("summary"), j.outputs())
		}
	}
	if out, code := j.step("run", "IN_WORKING_DIRECTORY="+j.path("none")); code != 2 ||
		!strings.Contains(out, "::error") {
		t.Errorf("without the directory: exit code %d\n%s", code, out)
	}
}

func TestActionFinish(t *testing.T) {
	j := newJob(t)
	for _, c := range []struct {
		code, strict string
		want         int
		says         string
	}{
		{"0", "false", 0, ""},
		{"1", "false", 1, ""},
		{"2", "false", 2, ""},
		{"3", "false", 0, "::warning"},
		{"3", "true", 3, ""},
		{"130", "false", 130, ""},
		{"", "false", 2, "::error"},
		{"0; exit 0", "false", 2, "::error"},
	} {
		out, code := j.step("finish", "EXIT_CODE="+c.code, "IN_FAIL_ON_UNMEASURED="+c.strict)
		if code != c.want || c.says == "" && out != "" || !strings.Contains(out, c.says) {
			t.Errorf("%q, strict %s: exit code %d\n%s", c.code, c.strict, code, out)
		}
	}
}

// The key follows the content of the suites, and not their names or the order of the cases.
func TestActionKey(t *testing.T) {
	j := newJob(t)
	key := func(suites string) string {
		t.Helper()
		out, code := j.step("key", "IN_SUITES="+suites)
		found := j.outputs()["key"]
		if code != 0 || !regexp.MustCompile(`^plumb-answers-[0-9a-f]{32}$`).MatchString(found) {
			t.Fatalf("exit code %d, key %q\n%s", code, found, out)
		}
		return found
	}
	put := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(j.path("work/"+name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("a.jsonl", "1")
	put("plumb.yaml", "suites: [a.jsonl]")
	keys := map[string]string{}
	for _, suites := range []string{"", "a.jsonl", "v1.0/cheap", "v1.0/moderate", "a.jsonl\nv1.0/cheap", hostile} {
		k := key(suites)
		if other, ok := keys[k]; ok {
			t.Errorf("%q and %q have one key", suites, other)
		}
		keys[k] = suites
		if key(suites) != k {
			t.Errorf("%q has two keys", suites)
		}
	}
	before := key("a.jsonl")
	put("a.jsonl", "2")
	if key("a.jsonl") == before {
		t.Error("a changed suite has the old key")
	}
	if _, err := os.Stat(j.path("work/pwned")); err == nil {
		t.Error("an input was executed")
	}
}

func TestActionInstall(t *testing.T) {
	j := newJob(t)
	program(t, "curl")
	release := j.path("release/download/v1.2.3")
	if err := os.MkdirAll(release, 0o700); err != nil {
		t.Fatal(err)
	}
	const name = "plumb_1.2.3_linux_amd64.tar.gz"
	command(t, j.dir, "tar", "-czf", filepath.Join(release, name), "plumb")
	data, err := os.ReadFile(filepath.Join(release, name))
	if err != nil {
		t.Fatal(err)
	}
	sums := func(text string) {
		t.Helper()
		write(t, release, "checksums.txt", text)
	}
	good := fmt.Sprintf("%064d  plumb_1.2.3_linux_arm64.tar.gz\n%x  %s\n", 0, sha256.Sum256(data), name)
	sums(good)
	releases := "PLUMB_RELEASES=file://" + j.path("release")
	for _, version := range []string{"1.2.3", "v1.2.3"} {
		out, code := j.step("install", releases, "IN_VERSION="+version)
		home := j.path("temp/plumb-1.2.3")
		if code != 0 || j.file("path") != home+"\n" || j.outputs()["program"] != home+"/plumb" {
			t.Fatalf("exit code %d, outputs %v\n%s", code, j.outputs(), out)
		}
		if info, err := os.Stat(home + "/plumb"); err != nil || info.Mode()&0o100 == 0 {
			t.Errorf("the program: %v %v", info, err)
		}
	}
	fails := func(says string, env ...string) {
		t.Helper()
		out, code := j.step("install", append([]string{releases, "IN_VERSION=1.2.3"}, env...)...)
		if code != 2 || !strings.Contains(out, "::error") || !strings.Contains(out, says) || j.file("path") != "" ||
			j.file("output") != "" {
			t.Errorf("exit code %d, want an error with %q\n%s", code, says, out)
		}
	}
	fails("cannot download", "IN_VERSION=1.2.4")
	fails("the input version", "IN_VERSION=1.2.3/../../x")
	fails("the input version", "IN_VERSION=$(touch pwned)")
	fails("the system", "RUNNER_OS=Plan9")
	fails("the architecture", "RUNNER_ARCH=ARM")
	fails("is not a program", "IN_PROGRAM=/no/such\n::set-output name=x::y")
	sums(strings.Replace(good, name, "other.tar.gz", 1))
	fails("does not list")
	sums(fmt.Sprintf("%064d  %s\n", 0, name))
	fails("the SHA-256")
	if out, code := j.step("install", "IN_PROGRAM="+j.path("plumb")); code != 0 ||
		j.outputs()["program"] != j.path("plumb") {
		t.Errorf("exit code %d, outputs %v\n%s", code, j.outputs(), out)
	}
}

// No input or context of a workflow is a part of shell code, and actions of others are pinned.
func TestActionsAreSafe(t *testing.T) {
	type step struct {
		Uses, Run string
		Env       map[string]string
	}
	var action struct {
		Inputs map[string]struct{ Description string }
		Runs   struct{ Steps []step }
	}
	readYAML(t, "action.yml", &action)
	var release struct {
		Jobs map[string]struct{ Steps []step }
	}
	readYAML(t, ".github/workflows/release.yml", &release)
	steps := action.Runs.Steps
	for _, job := range release.Jobs {
		steps = append(steps, job.Steps...)
	}
	pinned := regexp.MustCompile(`^[\w-]+/[\w/-]+@[0-9a-f]{40}$`)
	for _, s := range steps {
		if strings.Contains(s.Run, "${{") {
			t.Errorf("an expression in shell code: %s", s.Run)
		}
		if s.Uses != "" && !pinned.MatchString(s.Uses) {
			t.Errorf("%s is not pinned", s.Uses)
		}
	}
	text := read(t, "action.yml")
	docs := read(t, "docs/ci.md")
	for name := range action.Inputs {
		if !strings.Contains(text, "inputs."+name) {
			t.Errorf("the input %s is not used", name)
		}
		if !strings.Contains(docs, "| `"+name+"` |") {
			t.Errorf("docs/ci.md does not describe the input %s", name)
		}
	}
	sh := read(t, ".github/action/run.sh")
	for _, s := range action.Runs.Steps {
		for name := range s.Env {
			if !strings.Contains(sh, name) {
				t.Errorf("run.sh does not read %s", name)
			}
		}
	}
}
