package cli_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/plumb-eval/plumb/internal/fakemodel"
)

// TestKilledCommandsPayOnce kills each command that spends with SIGKILL at random moments, and repeats
// it, or resumes its run if it makes one (another plumb run is another measurement). In the end the provider got the requests of an undisturbed execution, and at
// most those in flight at a kill in addition. A further repetition asks nothing.
func TestKilledCommandsPayOnce(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it is long, and made whole elsewhere")
	}
	const parallel = 3
	judged := suiteOf(12, `{"type":"llm_judge","judge_prompt":"Is it right?"}`)
	plain := suiteOf(12, `{"type":"contains"}`)
	run := []string{"run", "suite.jsonl", "--model", "gpt-5"}
	with := func(args []string, more ...string) []string { return slices.Concat(args, more) }
	resume := []string{"resume"}
	for name, test := range map[string]struct {
		suite string
		// before are commands that run undisturbed, and args the command that is killed. again continues
		// it; nil means that the same command does.
		before      [][]string
		args, again []string
		// drawn means that the id of the run decides what it asks, so the logs say how much that is.
		drawn bool
	}{
		"compare --confirm": {
			suite:  plain,
			before: [][]string{with(run, "--repeat", "4"), {"run", "suite.jsonl", "--model", "gpt-5-mini", "--repeat", "4"}},
			args:   []string{"compare", "prev", "last", "--confirm"},
		},
		"judge calibrate": {
			suite: plain, args: []string{"judge", "calibrate", "gold.jsonl", "--judge", "openai:gpt-5", "--judge-votes", "3"},
		},
		"run": {suite: judged, args: with(run, "--judge", "openai:gpt-5-nano", "--repeat", "2"), again: resume},
		"score": {
			suite: judged, before: [][]string{with(run, "--judge", "openai:gpt-5-nano", "--repeat", "2")},
			args: []string{"score", "FIRST", "--judge", "openai:gpt-5-mini"}, again: resume,
		},
		"score --judge-repeat": {
			suite: judged, before: [][]string{with(run, "--judge", "openai:gpt-5-nano", "--repeat", "2")},
			args: []string{"score", "FIRST", "--judge", "openai:gpt-5-mini", "--judge-repeat", "3"}, again: resume,
		},
		"aa":              {suite: plain, args: []string{"aa", "suite.jsonl", "--model", "gpt-5"}, again: resume},
		"resume --repeat": {suite: plain, before: [][]string{run}, args: []string{"resume", "--repeat", "4"}},
		"run --until-decided": {
			suite: plain, before: [][]string{with(run, "--repeat", "2")},
			args: []string{
				"run", "suite.jsonl", "--model", "gpt-5-mini", "--until-decided", "--against", "FIRST", "--vary", "model", "--repeat", "4",
			},
			again: resume, drawn: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			world := func() (*world, *fakemodel.Server, []string) {
				w := newWorld(t)
				s := w.serve(fakemodel.Behavior{
					Answers: suspectAnswers(12), Latency: 20 * time.Millisecond, LatencyJitter: 20 * time.Millisecond,
				})
				w.write("suite.jsonl", test.suite)
				w.write("gold.jsonl", goldItems(20))
				for _, args := range test.before {
					w.plumb(args...)
				}
				args := slices.Clone(test.args)
				if at := slices.Index(args, "FIRST"); at >= 0 {
					args[at] = filepath.Base(w.runDir())
				}
				return w, s, args
			}
			// A session that was answered is in flight until it is durable, while the next one begins.
			inFlight, flags := 2*parallel, []string{"-j", fmt.Sprint(parallel)}
			if test.args[0] == "compare" {
				inFlight, flags = 2*16, nil // as the run that it confirms
			}
			w, server, args := world()
			before := requests(server)
			code, _, stderr := w.plumb(slices.Concat(args, flags)...)
			if code == 2 || code > 3 {
				t.Fatalf("exit code %d: %s", code, stderr)
			}
			undisturbed := requests(server) - before
			if undisturbed < 10 {
				t.Fatalf("only %d requests: %s", undisturbed, stderr)
			}
			rounds := 2
			if os.Getenv("PLUMB_CI") != "" {
				rounds = 10
			}
			random := rand.New(rand.NewPCG(5, uint64(len(name))))
			for range rounds {
				w, server, args := world()
				before, kills := requests(server), 0
				for ended := false; !ended; {
					patience := time.Duration(40+random.Int64N(400)) * time.Millisecond
					if kills > 8 {
						patience = time.Minute
					}
					asked := requests(server)
					ended = w.killed(patience, slices.Concat(args, flags)...)
					if !ended {
						kills++
					}
					if test.again != nil && (ended || requests(server) > asked) {
						args = test.again
					}
				}
				got := requests(server) - before
				if test.drawn {
					undisturbed = w.sessionsInLogs() - before
				}
				most := undisturbed + int64(kills*inFlight)
				if got > most || got < undisturbed {
					t.Errorf("%d requests with %d kills, %d undisturbed", got, kills, undisturbed)
				}
				w.plumb(slices.Concat(args, flags)...)
				if more := requests(server) - before - got; more != 0 {
					t.Errorf("the next repetition makes %d requests", more)
				}
				t.Logf("%d requests with %d kills, %d undisturbed", got, kills, undisturbed)
			}
		})
	}
}

// killed runs plumb as a process and kills it after a while; it returns whether the process ended by
// itself.
func (w *world) killed(patience time.Duration, args ...string) (ended bool) {
	w.t.Helper()
	cmd := exec.Command("plumb", args...)
	cmd.Dir, cmd.Env = w.dir, w.environ()
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	timer := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	_ = cmd.Wait() // its exit code says more
	timer.Stop()
	code := cmd.ProcessState.ExitCode()
	if code == 2 {
		w.t.Fatalf("plumb %s: %s", strings.Join(args, " "), stderr.String())
	}
	return code >= 0
}

// sessionsInLogs counts the finished sessions of all runs and confirmations.
func (w *world) sessionsInLogs() (n int64) {
	w.t.Helper()
	logs, err := filepath.Glob(filepath.Join(w.dir, ".plumb", "*", "*", "events.jsonl"))
	if err != nil {
		w.t.Fatal(err)
	}
	for _, log := range logs {
		data, err := os.ReadFile(log)
		if err != nil {
			w.t.Fatal(err)
		}
		n += int64(strings.Count(string(data), `"type":"session-finished"`))
	}
	return n
}

// goldItems returns n gold items.
func goldItems(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `{"input":"t","output":"Line %d.","judge_prompt":"Is it good?","label":%q}`+"\n", i,
			[]string{"pass", "fail"}[i%2])
	}
	return b.String()
}

// suspectAnswers are right, but those of gpt-5-mini to the first two questions, and every second one of
// gpt-5 to the last ones.
func suspectAnswers(n int) (all []fakemodel.Answer) {
	for i := range n {
		prompt := fmt.Sprintf("Question %d?", i)
		if i < 2 {
			all = append(all, fakemodel.Answer{Prompt: prompt, Model: "gpt-5-mini", Answer: "wrong"})
		}
		if i > 5 {
			all = append(all, fakemodel.Answer{Prompt: prompt, Model: "gpt-5", Answers: []string{"right", fakemodel.JudgeNo}})
		}
		all = append(all, fakemodel.Answer{Prompt: prompt, Answer: "right"})
	}
	return all
}

func suiteOf(n int, assertion string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `{"id":"q%02d","category":"reasoning","input":"Question %[1]d?","ideal":"right","assertion":%s}`+"\n", i, assertion)
	}
	return b.String()
}
