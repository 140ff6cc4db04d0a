package drift_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/plumb-eval/plumb/internal/drift"
)

// stream returns a stream with one confirmed alarm, as it could come from a store.
func stream(provider string, yearP float64, cause string, facts ...drift.Fact) *drift.Stream {
	return &drift.Stream{
		Provider: provider, Model: "m", Status: drift.Status{Statistics: 1},
		Alarms: []drift.Alarm{{
			Day: 63, Kind: drift.KindConfirmed, Onset: 60, OnsetLow: 59, OnsetHigh: 61, YearP: yearP,
			Cause: drift.Cause{Cause: cause, Facts: facts},
		}},
		Runs: sourceOf(nil),
	}
}

// TestScreen checks what other streams tell about a change, with streams that no scan made.
func TestScreen(t *testing.T) {
	t.Parallel()
	const sure, unsure = 1e-9, 1e-3
	updated := drift.Fact{Name: "agent version", Before: "1", After: "2", Submitters: []string{"a"}}
	quiet := func(changed bool) *drift.Stream { // another stream, whose answers can change on day 60
		s := &drift.Stream{Provider: "q", Model: "m", Status: drift.Status{Statistics: 1}}
		var runs []drift.Run
		for day := range 70 {
			for submitter := range 3 {
				text := fmt.Sprint("answer ", (day*7+submitter*5)%4)
				if changed && day >= 60 {
					text += " and more"
				}
				runs = append(runs, drift.Run{
					ID: fmt.Sprint(day), Submitter: fmt.Sprint(submitter), Day: day,
					Answers: []drift.Answer{{Prompt: "p", Text: text, HasText: true, Score: 1}},
					Client:  map[string]string{"agent version": fmt.Sprint(submitter)}, // each keeps its own
				})
			}
		}
		s.Runs = sourceOf(runs)
		return s
	}
	for name, test := range map[string]struct {
		streams  []*drift.Stream
		possible bool
		cause    string
	}{
		"alone":             {[]*drift.Stream{stream("a", unsure, drift.CauseUnknown)}, false, drift.CauseUnknown},
		"sure":              {[]*drift.Stream{stream("a", sure, drift.CauseUnknown), quiet(false)}, false, drift.CauseUnknown},
		"not sure enough":   {[]*drift.Stream{stream("a", unsure, drift.CauseUnknown), quiet(false)}, true, drift.CauseUnknown},
		"of one provider":   {[]*drift.Stream{stream("a", sure, drift.CauseUnknown), stream("a", sure, drift.CauseUnknown)}, false, drift.CauseUnknown},
		"of two providers":  {[]*drift.Stream{stream("a", sure, drift.CauseUnknown), stream("b", sure, drift.CauseUnknown)}, false, drift.CauseSetup},
		"told by the other": {[]*drift.Stream{stream("a", sure, drift.CauseUnknown), stream("b", sure, drift.CauseProvider)}, false, drift.CauseUnknown},
		"with an update, the other is quiet": {
			[]*drift.Stream{stream("a", sure, drift.CauseUnknown, updated), quiet(false)}, false, drift.CauseSetup,
		},
		"with an update, the other changed": {
			[]*drift.Stream{stream("a", sure, drift.CauseUnknown, updated), quiet(true)}, false, drift.CauseUnknown,
		},
	} {
		if err := drift.Screen(drift.Rules{}, test.streams); err != nil {
			t.Fatal(err)
		}
		s := test.streams[0]
		if s.Possible != test.possible || s.Alarms[0].Cause.Cause != test.cause || s.Changed() == test.possible {
			t.Errorf("%s: possible %v, cause %q; want %v, %q", name, s.Possible, s.Alarms[0].Cause.Cause, test.possible, test.cause)
		}
	}
	broken := errors.New("no connection")
	other := &drift.Stream{Runs: func(int, int) ([]drift.Run, error) { return nil, broken }}
	if err := drift.Screen(drift.Rules{}, []*drift.Stream{stream("a", sure, drift.CauseUnknown, updated), other}); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}
