package cli_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/fakemodel"
	"github.com/plumb-eval/plumb/internal/runlog"
)

type replacement struct {
	pattern *regexp.Regexp
	with    string
}

// varying returns the patterns of texts that differ between two runs of the same suite.
func varying() []replacement {
	return []replacement{
		{regexp.MustCompile(`\d{8}-\d{6}-[a-z2-7]{6}`), "RUN"},
		{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`), "TIME"},
		{regexp.MustCompile(`req_[0-9a-z]+`), "REQUEST"},
		{regexp.MustCompile(`\b\d+(\.\d+)? ?(ms|s)\b`), "DURATION"},
		{regexp.MustCompile(`127\.0\.0\.1:\d+`), "HOST"},
		{regexp.MustCompile(`held together by .*`), "held together by MEANS"},
		{regexp.MustCompile(`(?m)^slowest .*\n`), ""},
	}
}

// mixedSuite returns n cases: some pass, some fail, and some are expected to fail.
func mixedSuite(n int) (suite string, answers []fakemodel.Answer) {
	var b strings.Builder
	for i := range n {
		prompt := fmt.Sprintf("Question number %d of the mixed suite, please answer.", i)
		answer := fmt.Sprintf("the answer is %d", i*7)
		c := map[string]any{
			"id": fmt.Sprintf("reasoning-%04d", i), "category": "reasoning", "input": prompt, "ideal": fmt.Sprint(i * 7),
			"assertion": map[string]any{"type": "numeric"},
			"metadata":  map[string]any{"difficulty": "easy", "tokens_est": 30, "tags": []string{"mixed"}},
		}
		switch i % 10 {
		case 3:
			answer = "no idea"
		case 7:
			answer, c["expected_fail"] = "no idea", true
		}
		line, err := json.Marshal(c)
		if err != nil {
			panic(err)
		}
		b.Write(line)
		b.WriteByte('\n')
		answers = append(answers, fakemodel.Answer{Prompt: prompt, Answer: answer})
	}
	return b.String(), answers
}

// summary is what must be the same however often a run was killed.
func summary(t *testing.T, dir string) map[string]string {
	t.Helper()
	state, err := runlog.At(dir).Fold(nil)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for i, e := range state.Executions {
		c, r := state.At(i)
		reason := e.Reason
		for _, v := range varying() {
			reason = v.pattern.ReplaceAllString(reason, v.with)
		}
		got[c+" "+r] = fmt.Sprint(e.Outcome, " ", e.Status, " ", e.Passed, "/", e.Failed, "/", e.Errored, " ", e.Sessions, " ", reason)
	}
	return got
}

// TestKilledRunsLoseNothing kills runs with SIGKILL at random moments and resumes them, sometimes
// to be killed again. In the end each execution is in the log exactly once, and the results are
// those of an undisturbed run.
func TestKilledRunsLoseNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("it is long, and made whole elsewhere")
	}
	t.Parallel()
	runs := 10
	if os.Getenv("PLUMB_CI") != "" {
		runs = 100
	}
	w := newWorld(t)
	suite, answers := mixedSuite(60)
	server := w.serve(fakemodel.Behavior{
		Answers: answers, Latency: 15 * time.Millisecond, LatencyJitter: 20 * time.Millisecond, RetryAfter: time.Millisecond,
		Faults: fakemodel.Faults{Rate: 0.05, Kinds: []fakemodel.Fault{fakemodel.FaultReset, fakemodel.FaultTruncated}},
	})
	w.write("suite.jsonl", suite)
	args := []string{"run", "suite.jsonl", "--model", "openai:gpt-4o", "--parallel", "8", "--repeat", "2", "--json"}
	w.must(1, args...)
	undisturbed := summary(t, w.runDir())

	random := rand.New(rand.NewPCG(1, 2))
	killed, kills := 0, 0
	for n := range runs {
		root := filepath.Join(t.TempDir(), "out")
		before := requests(server)
		ended := w.killedAfter(time.Duration(random.Int64N(int64(500*time.Millisecond))), append(args, "--output-dir", root)...)
		for range 40 {
			ids, err := runlog.List(filepath.Join(root, "runs"))
			if err != nil {
				t.Fatal(err)
			}
			if len(ids) == 0 { // killed before anything was asked: there is nothing to resume
				ended = w.killedAfter(time.Minute, append(args, "--output-dir", root)...)
				continue
			}
			if ended {
				break
			}
			kills++
			patience := time.Duration(random.Int64N(int64(500 * time.Millisecond)))
			if random.IntN(2) == 0 {
				patience = time.Minute
			}
			ended = w.killedAfter(patience, "resume", "--output-dir", root, "--json")
		}
		if !ended {
			t.Fatalf("run %d did not come to an end", n)
		}
		ids, err := runlog.List(filepath.Join(root, "runs"))
		if err != nil || len(ids) != 1 {
			t.Fatalf("run %d: %d run directories, %v", n, len(ids), err)
		}
		dir := filepath.Join(root, "runs", ids[0])
		if diff := cmp.Diff(undisturbed, summary(t, dir)); diff != "" {
			t.Fatalf("run %d (-undisturbed +killed):\n%s", n, diff)
		}
		exactlyOnce(t, dir, 60, 120)
		if _, err := os.Stat(filepath.Join(dir, runlog.ResultsFile)); err != nil {
			t.Errorf("run %d: %v", n, err)
		}
		if requests(server)-before > 120 {
			killed++
		}
	}
	if kills < runs/2 {
		t.Errorf("only %d of %d runs were killed in the middle; the test does not test what it says", kills, runs)
	}
	t.Logf("%d runs, %d kills, in %d runs requests in flight were lost and made again", runs, kills, killed)
}

// TestKilledRaiseLosesNothing raises the repetitions of a finished run, kills plumb with SIGKILL at
// random moments, and resumes without --repeat. The log has the raised number from the first moment
// on, so that the result is that of a run that planned it from the start.
func TestKilledRaiseLosesNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("it is long, and made whole elsewhere")
	}
	t.Parallel()
	runs := 3
	if os.Getenv("PLUMB_CI") != "" {
		runs = 30
	}
	w := newWorld(t)
	suite, answers := mixedSuite(20)
	w.serve(fakemodel.Behavior{Answers: answers, Latency: 25 * time.Millisecond, LatencyJitter: 10 * time.Millisecond})
	w.write("suite.jsonl", suite)
	args := []string{"run", "suite.jsonl", "--model", "openai:gpt-4o", "--parallel", "4", "--json"}
	w.must(1, append(args, "--repeat", "4")...)
	undisturbed := summary(t, w.runDir())

	random := rand.New(rand.NewPCG(3, 4))
	kills := 0
	for n := range runs {
		root := filepath.Join(t.TempDir(), "out")
		w.must(1, append(args, "--repeat", "2", "--output-dir", root)...)
		ids, err := runlog.List(filepath.Join(root, "runs"))
		if err != nil || len(ids) != 1 {
			t.Fatalf("%v, %v", ids, err)
		}
		dir := filepath.Join(root, "runs", ids[0])
		raised, ended := false, false
		for range 40 {
			resume := []string{"resume", "--output-dir", root, "--json"}
			if !raised {
				resume = append(resume, "--repeat", "4")
			}
			ended = w.killedAfter(time.Duration(40+random.Int64N(200))*time.Millisecond, resume...)
			log, err := os.ReadFile(filepath.Join(dir, runlog.EventsFile))
			if err != nil {
				t.Fatal(err)
			}
			if raised = strings.Contains(string(log), `"repeat":4`); ended {
				break
			}
			kills++
		}
		if !ended {
			w.must(1, "resume", "--output-dir", root, "--json")
		}
		if diff := cmp.Diff(undisturbed, summary(t, dir)); diff != "" {
			t.Fatalf("run %d (-undisturbed +killed):\n%s", n, diff)
		}
		if sessions := finishedSessions(t, dir); sessions != 80 {
			t.Errorf("run %d: the log has %d sessions, want each of the 80 once", n, sessions)
		}
		spec, err := os.ReadFile(filepath.Join(dir, runlog.SpecFile))
		if err != nil || !strings.Contains(string(spec), `"repeat": 4`) {
			t.Errorf("run %d: run.json does not have the raised number: %v", n, err)
		}
	}
	if kills == 0 {
		t.Error("no run was killed in the middle; the test does not test what it says")
	}
	t.Logf("%d runs, %d kills", runs, kills)
}

// finishedSessions counts the finished sessions of a log, and reports those that are there twice.
func finishedSessions(t *testing.T, dir string) int {
	t.Helper()
	seen := map[string]bool{}
	if err := runlog.At(dir).Read(func(ev plumb.Event) error {
		if ev.Type == plumb.EventSessionFinished {
			key := fmt.Sprint(ev.Case, " ", ev.Repetition, " ", ev.Session)
			if seen[key] {
				t.Errorf("%s is in the log twice", key)
			}
			seen[key] = true
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return len(seen)
}

// killedAfter runs plumb as a process and kills it after a while; it returns whether the process
// ended by itself.
func (w *world) killedAfter(patience time.Duration, args ...string) (ended bool) {
	w.t.Helper()
	cmd := exec.Command("plumb", args...)
	cmd.Dir, cmd.Env = w.dir, w.environ()
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	timer := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	err := cmd.Wait()
	timer.Stop()
	code := cmd.ProcessState.ExitCode()
	if code == 2 || code == 3 {
		w.t.Fatalf("plumb %s: %v", strings.Join(args, " "), err)
	}
	return code >= 0
}

// exactlyOnce checks that a log has each execution and each session once.
func exactlyOnce(t *testing.T, dir string, executions, sessions int) {
	t.Helper()
	seen := map[string]int{}
	counts := map[plumb.EventType]int{}
	if err := runlog.At(dir).Read(func(ev plumb.Event) error {
		counts[ev.Type]++
		switch ev.Type {
		case plumb.EventSessionFinished, plumb.EventSessionJudged, plumb.EventExecutionFinished:
			key := fmt.Sprint(ev.Type, " ", ev.Case, " ", ev.Runner, " ", ev.Repetition, " ", ev.Session)
			if seen[key]++; seen[key] > 1 {
				t.Errorf("%s is in the log %d times", key, seen[key])
			}
		default:
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if counts[plumb.EventExecutionFinished] != executions || counts[plumb.EventSessionFinished] != sessions || counts[plumb.EventSessionJudged] != sessions {
		t.Errorf("%d executions, %d sessions and %d judgements are in the log, want %d, %d and %d", counts[plumb.EventExecutionFinished],
			counts[plumb.EventSessionFinished], counts[plumb.EventSessionJudged], executions, sessions, sessions)
	}
}

func requests(s *fakemodel.Server) int64 {
	stats := s.Stats()
	return stats.Total()
}
