package cli_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/fakemodel"
	"github.com/plumb-eval/plumb/internal/runlog"
)

// TestStorm runs cases over each protocol against a server that breaks 30 % of the replies in every
// way it knows, including connections, and always breaks some prompts. Each case must end exactly
// once, with the right verdict or a correct error, and no broken connection interrupts the run.
// PLUMB_CI sets 3,000 cases for each protocol.
func TestStorm(t *testing.T) {
	if testing.Short() {
		t.Skip("slow; CI runs it in full")
	}
	t.Parallel()
	cases := 100
	if os.Getenv("PLUMB_CI") != "" {
		cases = 3000
	}
	var all sync.WaitGroup // more run at once than there are processors, because they mostly wait
	for _, p := range fakemodel.Protocols() {
		all.Go(func() {
			t.Run(string(p), func(t *testing.T) {
				if p != fakemodel.HTTP && (runtime.GOOS == "windows" || runtime.GOOS == "darwin") {
					t.Skip("the system decides which certificates are trusted")
				}
				storm(t, p, cases)
			})
		})
	}
	all.Wait()
}

func storm(t *testing.T, p fakemodel.Protocol, cases int) {
	t.Helper()
	w := newWorld(t)
	suite, answers := mixedSuite(cases)
	options := fakemodel.Behavior{
		Answers: answers, Seed: 7, Latency: 2 * time.Millisecond, LatencyJitter: 5 * time.Millisecond, RetryAfter: 50 * time.Millisecond,
		MaxConcurrent: 48, MaxStreams: 8,
		Faults: fakemodel.Faults{
			Rate: 0.3, MaxConsecutive: 2, Permanent: 0.02, HangFor: 400 * time.Millisecond, SlowFor: 50 * time.Millisecond,
		},
	}
	if p == fakemodel.HTTP2 { // dates have whole seconds, and all requests would wait for them
		options.Faults.Kinds = slices.DeleteFunc(fakemodel.AllFaults(), func(f fakemodel.Fault) bool { return f == fakemodel.FaultRateDate })
	}
	server := w.listen(p, options)
	w.write("suite.jsonl", suite)
	began := time.Now()
	code, stdout, stderr := w.process("run", "suite.jsonl", "--model", "openai:gpt-4o", "--parallel", "64", "--request-timeout", "1s", "--json")
	took := time.Since(began)
	if code != 1 {
		t.Fatalf("exit code %d, want 1\n%s\n%s", code, stdout, stderr)
	}
	dir := w.runDir()
	exactlyOnce(t, dir, cases, cases)
	state, err := runlog.At(dir).Fold(nil)
	if err != nil {
		t.Fatal(err)
	}
	broken, wrong := 0, 0
	for i, e := range state.Executions {
		id, _ := state.At(i)
		truth := options.Faults.Truth(options.Seed, answers[i].Prompt)
		want := plumb.OutcomePass
		switch {
		case truth.Broken != "":
			want = plumb.OutcomeError
			broken++
		case i%10 == 3 || i%10 == 7:
			want = plumb.OutcomeFail
		}
		if e.Outcome != want {
			wrong++
			if wrong <= 20 {
				t.Errorf("%s: %s (%s), want %s; the server: %+v", id, e.Outcome, e.Reason, want, truth)
			}
		}
		if e.Outcome == plumb.OutcomeError && e.Reason == "" {
			t.Errorf("%s: an error that does not say why", id)
		}
	}
	if broken == 0 {
		t.Error("no prompt was broken for good; the test does not test what it says")
	}
	stats := server.Stats()
	for _, kind := range fakemodel.AllFaults() {
		if options.Faults.Kinds != nil && !slices.Contains(options.Faults.Kinds, kind) {
			continue
		}
		if stats.Faults[kind] == 0 && cases >= 3000 {
			t.Errorf("no request met the fault %s", kind)
		}
	}
	t.Logf("%d cases, %d requests, %d broken for good, %d wrong, %.1f s", cases, stats.Total(), broken, wrong, took.Seconds())
}

// listen starts a fake model server of the given protocol, and lets the providers use and trust it.
func (w *world) listen(p fakemodel.Protocol, o fakemodel.Behavior) *fakemodel.Server {
	w.t.Helper()
	s := fakemodel.New(o)
	l, err := s.Listen(w.t.Context(), "127.0.0.1:0", p, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		s.Release()
		l.Close()
	})
	w.point(l.URL)
	if l.Certificate != nil {
		w.write("certificate.pem", string(l.Certificate))
		w.env["SSL_CERT_FILE"] = filepath.Join(w.dir, "certificate.pem")
	}
	return s
}

// process runs a command line in a process of its own.
func (w *world) process(args ...string) (code int, stdout, stderr string) {
	w.t.Helper()
	cmd := exec.Command("plumb", args...)
	cmd.Dir, cmd.Env = w.dir, w.environ()
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		w.t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}
