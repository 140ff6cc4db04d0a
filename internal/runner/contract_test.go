//go:build unix

package runner_test

import (
	"os"
	"testing"
	"time"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/runner"
	"github.com/plumb-eval/plumb/plumbtest"
)

// TestContracts holds the command and the replay runner to what plumb.Runner promises; package
// modelapi does the same for models.
func TestContracts(t *testing.T) {
	request := func(text string) plumb.Request {
		return plumb.Request{CaseID: "a-1", Messages: []plumb.Message{{Role: plumb.RoleUser, Content: text}}, Repetition: 1, Session: 1}
	}
	t.Run("command", func(t *testing.T) {
		r, err := runner.New(t.Context(), plumb.RunnerConfig{
			Command: []string{"sh", "-c", `read prompt; case "$prompt" in *slowly*) sleep 60;; esac; echo hello`},
		}, runner.Env{Environ: os.Environ})
		if err != nil {
			t.Fatal(err)
		}
		plumbtest.TestRunner(t, r, plumbtest.RunnerOptions{Request: request("hi"), Slow: request("slowly"), CancelAfter: 100 * time.Millisecond})
	})
	t.Run("replay", func(t *testing.T) {
		of := plumb.RunnerInfo{ID: "m", Kind: plumb.RunnerModel, Agent: plumb.AgentInfo{Type: "openai", Model: "m"}}
		at := time.Now().Add(-time.Minute)
		events := []plumb.Event{{Type: plumb.EventRunStarted, Info: &plumb.RunInfo{Runners: []plumb.RunnerInfo{of}}}}
		for id, ms := range map[string]int64{"a-1": 1, "slow": 60_000} {
			ended := at.Add(time.Duration(ms) * time.Millisecond)
			for repetition := range 8 {
				events = append(events, plumb.Event{
					Type: plumb.EventSessionFinished, Case: id, Runner: "m", Repetition: repetition + 1, Session: 1,
					Report: &plumb.SessionReport{Runner: of, Prompt: "hi", FinalOutput: "hello", DurationMs: ms, StartedAt: &at, EndedAt: &ended},
				})
			}
		}
		r, err := runner.NewReplay(runner.ReplayOptions{MaxDelay: time.Minute}, func(fn func(plumb.Event) error) error {
			for _, ev := range events {
				if err := fn(ev); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		slow := request("hi")
		slow.CaseID = "slow"
		plumbtest.TestRunner(t, r, plumbtest.RunnerOptions{Request: request("hi"), Slow: slow})
	})
}
