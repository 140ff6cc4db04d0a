// Package submit is what leaves a desk for a server: the run log, reduced to the fields that its
// author agreed to share, its upload, the credentials for servers, and the record of what was sent.
package submit

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"unicode/utf8"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/drift"
	"github.com/plumb-eval/plumb/internal/redact"
	"github.com/plumb-eval/plumb/internal/runlog"
	"github.com/plumb-eval/plumb/internal/text"
)

// LineBytes is the largest line of a log below the level sessions.
const LineBytes = 64 << 10

// Reduced describes a reduced log.
type Reduced struct {
	// Digest is "sha256:" and the SHA-256 of the log in hex digits.
	Digest string `json:"digest"`
	// Bytes is the size of the log, and Parts its lines by the type of their events.
	Bytes int64  `json:"bytes"`
	Parts []Part `json:"parts"`
	// Cut counts answers that were cut, because a line has at most [LineBytes].
	Cut int `json:"cutAnswers,omitempty"`
}

// Part counts the lines with events of one type.
type Part struct {
	Type  plumb.EventType `json:"type"`
	Lines int             `json:"lines"`
	Bytes int64           `json:"bytes"`
}

// Reduce writes the log of a run, reduced to a level. The same log and level give the same bytes,
// whatever the machine. It removes the secrets that r knows, which a log of an earlier version may
// hold.
func Reduce(log *runlog.Log, share plumb.Share, r *redact.Redactor, to io.Writer) (Reduced, error) {
	sum := sha256.New()
	x := &reducer{share: share, out: runlog.NewEncoder(io.MultiWriter(to, sum))}
	if !share.Whole() {
		x.strip = newStrip(share)
	}
	err := log.Read(func(ev plumb.Event) error {
		clean, _ := redact.Clean(r, &ev)
		return x.event(clean)
	})
	if err != nil {
		return x.Reduced, fmt.Errorf("reduce the run log: %w", err)
	}
	x.Digest = "sha256:" + hex.EncodeToString(sum.Sum(nil))
	return x.Reduced, nil
}

// reducer reduces one log.
type reducer struct {
	Reduced

	share plumb.Share
	strip strip // nil at the level sessions
	out   *runlog.Encoder
}

// event writes what stays of an event, which it changes.
func (x *reducer) event(ev *plumb.Event) error {
	if ev.Info != nil {
		if ev.Info.Share != "" {
			return plumb.WithHint(errors.New("the log is already reduced"), "submit the run that it was made of")
		}
		ev.Info.Share = x.share
		for i := range ev.Info.Runners {
			ev.Info.Runners[i].BaseURL = plumb.AddressHash(ev.Info.Runners[i].BaseURL)
		}
	}
	if ev.Report != nil {
		ev.Report.Runner.BaseURL = plumb.AddressHash(ev.Report.Runner.BaseURL)
	}
	if x.strip == nil {
		return x.write(ev)
	}
	switch ev.Type {
	case plumb.EventSessionStarted, plumb.EventNote:
		return nil // nothing of them stays
	default:
	}
	if s := ev.Report; s != nil && (ev.Failure == nil || s.FinalOutput != "") {
		s.AnswerHash = drift.AnswerHash(s.FinalOutput)
	}
	x.strip.value(reflect.ValueOf(ev).Elem())
	return x.write(ev)
}

// write writes an event. Below the level sessions it divides or cuts what is longer than a line.
func (x *reducer) write(ev *plumb.Event) error {
	line, err := x.out.Line(ev)
	if err != nil {
		return err
	}
	if more := runlog.SealedLength(line) - LineBytes; x.strip != nil && more > 0 {
		return x.shorten(ev, more)
	}
	at := slices.IndexFunc(x.Parts, func(p Part) bool { return p.Type == ev.Type })
	if at < 0 {
		at, x.Parts = len(x.Parts), append(x.Parts, Part{Type: ev.Type})
	}
	size := int64(runlog.SealedLength(line) + len("\n"))
	x.Parts[at].Lines, x.Parts[at].Bytes, x.Bytes = x.Parts[at].Lines+1, x.Parts[at].Bytes+size, x.Bytes+size
	return x.out.Write(line)
}

// shorten writes an event whose line has too many bytes.
func (x *reducer) shorten(ev *plumb.Event, more int) error {
	const finalOutput = "finalOutput"
	switch r := ev.Report; {
	case len(ev.Cases) > 1:
		first, rest := *ev, *ev
		half := len(ev.Cases) / 2
		first.Cases, rest.Cases = ev.Cases[:half], ev.Cases[half:]
		if err := x.write(&first); err != nil {
			return err
		}
		return x.write(&rest)
	case r != nil && r.FinalOutput != "":
		if !slices.Contains(r.Incomplete, finalOutput) {
			r.Incomplete = append(r.Incomplete, finalOutput)
			x.Cut++
		}
		// Each byte that goes is at least one byte of the line.
		at := max(0, len(r.FinalOutput)-more-len(`"incomplete":["finalOutput"],`))
		for at > 0 && !utf8.RuneStart(r.FinalOutput[at]) {
			at--
		}
		r.FinalOutput = r.FinalOutput[:at]
		return x.write(ev)
	case ev.Judgement != nil && len(ev.Judgement.Verdicts) > 0 && ev.Judgement.Verdicts[0].Reason != "":
		for i := range ev.Judgement.Verdicts {
			ev.Judgement.Verdicts[i].Reason = ""
		}
		return x.write(ev)
	}
	return fmt.Errorf("event %s of case %q has more than the %s of a line", ev.Type, ev.Case, text.Size(LineBytes))
}

// refuse returns why a run cannot be submitted, or nil. demo marks a run of the built-in recording,
// going one that another process performs, and partial allows a run that has not ended.
func refuse(run *plumb.Run, demo, going, partial bool) error {
	info, t := &run.Info, &run.Totals
	replayed := ""
	for i := range info.Runners {
		if info.Runners[i].Kind == plumb.RunnerReplay {
			replayed = info.Runners[i].ID
		}
	}
	unfinished := run.End == nil || t.Finished < t.Planned && run.End.Stop != plumb.StopDecided
	switch {
	case demo:
		return errors.New("the answers of a demo are a recording")
	case info.ScoredFrom != "":
		return plumb.WithHint(errors.New("the run only judged the sessions of another run"), "submit run "+info.ScoredFrom)
	case replayed != "":
		return fmt.Errorf("the answers of runner %s are replayed: nothing was measured now", replayed)
	case going && !partial:
		return plumb.WithHint(errors.New("the run is going on"), "wait for its end, or give --partial")
	case unfinished && !partial:
		return plumb.WithHint(
			fmt.Errorf("the run is not complete: %d of %s have a result", t.Finished, text.Plural(t.Planned, "execution")),
			"plumb resume "+info.ID+" finishes it; --partial submits what there is")
	case t.Measured() == 0:
		return errors.New("nothing was measured")
	}
	return nil
}
