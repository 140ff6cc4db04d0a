package drift_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/check"
	"github.com/plumb-eval/plumb/internal/drift"
	"github.com/plumb-eval/plumb/internal/run"
	"github.com/plumb-eval/plumb/internal/runlog"
)

// fake is a model whose answers depend on the day.
type fake struct {
	provider, config string
	calls            int
	changed          bool // with a change of the provider
	other            bool // with a change of the setup
}

func (f *fake) Info() plumb.RunnerInfo {
	return plumb.RunnerInfo{
		ID: f.provider + ":m", Kind: plumb.RunnerModel, Agent: plumb.AgentInfo{Type: f.provider, Model: "m"},
		Config: f.config,
	}
}

func (f *fake) Run(context.Context, plumb.Request) (*plumb.SessionReport, error) {
	f.calls++
	text, model := fmt.Sprintf("yes, %d", f.calls%3), "m-1"
	if f.changed {
		text, model = fmt.Sprintf("no, sorry: %d", f.calls%3), "m-2"
	}
	if f.other {
		text = fmt.Sprintf("no, sorry: %d", f.calls%3)
	}
	return &plumb.SessionReport{FinalOutput: text, Model: model}, nil
}

// TestLocal checks the panels of local runs: a model that changes, one that does not, one that was
// asked on few days, one whose setup changes, and a run that cannot be read.
func TestLocal(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	const days, change, setup = 40, 30, 17
	synctest.Test(t, func(t *testing.T) {
		moving, steady, rare := &fake{provider: "a"}, &fake{provider: "b"}, &fake{provider: "c"}
		own := &fake{provider: "d", config: "1"}
		suite := &plumb.Suite{Name: "s", Hash: "h"}
		for i := range 4 {
			suite.Cases = append(suite.Cases, plumb.Case{
				ID: fmt.Sprint("case", i), Messages: []plumb.Message{{Role: "user", Content: "?"}},
				Assertions: []plumb.Assertion{check.Contains("yes", nil)},
			})
		}
		for day := range days {
			moving.changed = day >= change
			if own.other = day >= setup; own.other {
				own.config = "2"
			}
			o := run.Input{Suite: suite, Runners: []plumb.Runner{moving, steady, own}}
			if day < 5 {
				o.Runners = append(o.Runners, rare)
			}
			var err error
			if o.Dir, err = runlog.Create(root, time.Now()); err != nil {
				t.Fatal(err)
			}
			o.Info.ID, o.Info.SuiteName, o.Info.SuiteHash = o.Dir.ID, suite.Name, suite.Hash
			if err := o.Dir.WriteSpec(map[string]string{}); err != nil {
				t.Fatal(err)
			}
			if _, err := run.Suite(t.Context(), o); err != nil {
				t.Fatal(err)
			}
			if err := o.Dir.Close(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(24 * time.Hour)
		}
	})
	if err := os.MkdirAll(filepath.Join(root, "zz"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "zz", runlog.SpecFile), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	var damaged []string
	warn := func(id string, _ error) { damaged = append(damaged, id) }
	panels, err := drift.Local(root, "", drift.Rules{}, warn)
	if err != nil {
		t.Fatal(err)
	}
	if len(panels) != 4 || strings.Join(damaged, " ") != "zz" {
		t.Fatalf("%d panels, damaged %v", len(panels), damaged)
	}
	a, b, d, c := panels[0], panels[1], panels[2], panels[3]
	if !a.Changed() || a.Name != "a:m, s" || !a.Tested {
		t.Errorf("%q: %+v", a.Name, a.Alarms)
	}
	if events := a.Events(); len(events) == 0 {
		t.Error("no event")
	} else if e := events[len(events)-1]; e.Alarm.Cause.Cause != drift.CauseProvider ||
		len(e.Alarm.Cause.Facts) != 1 || e.Alarm.Cause.Facts[0].Name != "served model" {
		t.Errorf("cause %+v", e.Alarm.Cause)
	}
	if b.Changed() || !b.Tested || b.Status.State != drift.StateStable {
		t.Errorf("%s: %+v, %+v", b.Name, b.Alarms, b.Status)
	}
	if events := d.Events(); !slices.ContainsFunc(events, func(e drift.Event) bool {
		return e.Alarm.Kind == drift.KindConfirmed && e.Alarm.Cause.Cause == drift.CauseSetup
	}) {
		t.Errorf("%s: events %+v, want the cause %q: the other panels are quiet", d.Name, events, drift.CauseSetup)
	}
	if c.Tested || c.Changed() {
		t.Errorf("%s: %+v", c.Name, c.Status)
	}
	if one, err := drift.Local(root, "b:m", drift.Rules{}, warn); err != nil || len(one) != 1 {
		t.Errorf("%d panels, %v", len(one), err)
	}
	if _, err := drift.Local(root, "b:n", drift.Rules{}, warn); plumb.Hint(err) != "did you mean b:m?" {
		t.Errorf("%v: %s", err, plumb.Hint(err))
	}
	a.Since(drift.DayOf(time.Now()))
	if a.Changed() {
		t.Error("an old change is reported")
	}
}
