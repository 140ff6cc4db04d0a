package runner

import (
	"slices"
	"testing"

	"github.com/plumb-eval/plumb"
)

// TestRecordingsSayWhatWasRemoved: also those of earlier versions, which list no names, and those
// of a prompt that held a secret itself.
func TestRecordingsSayWhatWasRemoved(t *testing.T) {
	old := &plumb.SessionReport{Prompt: "use [redacted:A_KEY] now", FinalOutput: "it is [redacted:A_KEY]"}
	r, err := NewReplay(ReplayOptions{}, func(fn func(plumb.Event) error) error {
		info := &plumb.RunInfo{Runners: []plumb.RunnerInfo{{ID: "m"}}}
		if err := fn(plumb.Event{Type: plumb.EventRunStarted, Info: info}); err != nil {
			return err
		}
		return fn(plumb.Event{Type: plumb.EventSessionFinished, Case: "a", Runner: "m", Repetition: 1, Session: 1, Report: old})
	})
	if err != nil {
		t.Fatal(err)
	}
	ask := func(prompt string) (*plumb.SessionReport, error) {
		return r.Run(t.Context(), plumb.Request{
			CaseID: "a", Repetition: 1, Session: 1, Messages: []plumb.Message{{Role: plumb.RoleUser, Content: prompt}},
		})
	}
	report, err := ask("use sk-canary-4711 now")
	if err != nil {
		t.Fatal(err)
	}
	want := "secrets were removed from this record before it was stored: A_KEY"
	if !slices.Equal(report.Redacted, []string{"A_KEY"}) || !slices.Contains(report.Notes, want) {
		t.Errorf("removed %q, notes %q", report.Redacted, report.Notes)
	}
	if _, err := ask("do something else"); err == nil {
		t.Error("the recording is played for another prompt")
	}
}
