package plumbtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/plumb-eval/plumb"
)

// TestReporter checks that the reporters of newReporter fulfill the contract of [plumb.Reporter],
// with the synthetic run of [Events]: they accept every event, a run that broke off anywhere, and a
// run that another process began; they neither change nor keep the state of the run; the same
// events give the same output; and texts of models and providers cannot control a terminal.
//
// newReporter is called many times. A reporter that uses a clock needs a fixed one here.
func TestReporter(tb testing.TB, newReporter func(w io.Writer) (plumb.Reporter, error)) {
	tb.Helper()
	c := &reporterTest{TB: tb, new: newReporter}
	output, ok := c.report("", Events(), 0, false)
	if !ok {
		return
	}
	c.checkOutput(output)
	if again, ok := c.report("a second time: ", Events(), 0, false); ok && !bytes.Equal(again, output) {
		tb.Errorf("the same events gave different output: %s", difference(output, again))
	}
	if again, ok := c.report("", Events(), 0, true); ok && !bytes.Equal(again, output) {
		tb.Errorf("the reporter keeps the state of the run after Report returned: %s", difference(output, again))
	}
	all := Events()
	for n := 0; n < len(all); n += 1 + n/4 {
		c.report(fmt.Sprintf("of a run that broke off after %d events: ", n), Events()[:n], 0, false)
	}
	resumed := slices.IndexFunc(all, func(ev plumb.Event) bool { return ev.Type == plumb.EventRunResumed })
	if output, ok := c.report("of a run that another process had begun: ", Events(), resumed, false); ok {
		c.checkOutput(output)
	}
}

type reporterTest struct {
	testing.TB
	new func(w io.Writer) (plumb.Reporter, error)
}

// report passes events, from the one with the index first, to a new reporter, and returns its
// output. It omits the ends of a run that is resumed later: a reporter sees at most one end. With
// spoil, it changes the state of the run as soon as Report has returned, which exposes a reporter
// that kept it.
func (c *reporterTest) report(when string, events []plumb.Event, first int, spoil bool) (output []byte, ok bool) {
	c.Helper()
	var b bytes.Buffer
	r, err := c.new(&b)
	if err != nil {
		c.Errorf("make the reporter: %v", err)
		return nil, false
	}
	run := &plumb.Run{}
	for i, ev := range events {
		if spoil {
			run, err = Fold(events[:i+1])
		} else {
			err = run.Apply(ev)
		}
		if err != nil {
			c.Errorf("apply event %d: %v", i+1, err)
			return nil, false
		}
		if i < first || ev.Type == plumb.EventRunFinished && i < len(events)-1 {
			continue
		}
		before, beforeEvent := state(run), state(ev)
		if err := r.Report(ev, run); err != nil {
			c.Errorf("%sevent %d, %s: Report returned an error: %v", when, i+1, ev.Type, err)
			return nil, false
		}
		if !bytes.Equal(before, state(run)) {
			c.Errorf("%sevent %d, %s: Report changed the state of the run", when, i+1, ev.Type)
			return nil, false
		}
		if !bytes.Equal(beforeEvent, state(ev)) {
			c.Errorf("%sevent %d, %s: Report changed the event", when, i+1, ev.Type)
			return nil, false
		}
		if spoil {
			clear(run.Cases)
			clear(run.Executions)
			clear(run.Notes)
			*run = plumb.Run{}
		}
	}
	if err := r.Close(); err != nil {
		c.Errorf("%sClose returned an error: %v", when, err)
		return nil, false
	}
	return b.Bytes(), true
}

func (c *reporterTest) checkOutput(output []byte) {
	c.Helper()
	if !utf8.Valid(output) {
		c.Errorf("the output is not valid UTF-8")
	}
	for _, control := range controlSequences() {
		if at := bytes.Index(output, []byte(control)); at >= 0 {
			c.Errorf("the output contains %q, as a model wrote it: %q", control, around(output, at))
		}
	}
}

// state returns v in a comparable form.
func state(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		return []byte(err.Error())
	}
	return text
}

// difference shows where two outputs begin to differ.
func difference(a, b []byte) string {
	at := 0
	for at < len(a) && at < len(b) && a[at] == b[at] {
		at++
	}
	return strings.Join([]string{around(a, at), around(b, at)}, "\n--- and ---\n")
}

// around returns the text near a place.
func around(text []byte, at int) string {
	return string(bytes.ToValidUTF8(text[max(0, at-60):min(len(text), at+60)], nil))
}
