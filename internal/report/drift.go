package report

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/plumb-eval/plumb/internal/analyze"
	"github.com/plumb-eval/plumb/internal/drift"
	"github.com/plumb-eval/plumb/internal/text"
)

// StateWords describes the state of a stream after its last day. own is set if the stream has the
// runs of one project, and not those of several submitters.
func StateWords(s *drift.Stream, own bool) string {
	st := s.Status
	on := " (last data " + drift.Date(st.Latest).Format(time.DateOnly) + ")"
	switch st.State {
	case drift.StateLearning:
		if st.Days >= 14 {
			return fmt.Sprintf("learning: %s with 8 runs, %d needed", text.Plural(st.Experienced, "submitter"), st.Needed) + on
		}
		return fmt.Sprintf("learning: %d of 14 days", max(0, st.Days)) + on
	case drift.StateThin:
		if own {
			return "thin: too few runs in these weeks to test; a run a day is enough" + on
		}
		return "thin: too few submitters or runs to test; at least 3 submitters are needed" + on
	case drift.StateGap:
		return "gap: no data for " + text.Plural(st.Day-st.Latest, "day") + on
	case drift.StateSuspect:
		return "suspect: possible change since " + drift.Date(st.Since).Format("2 January") + on
	case drift.StateChanged:
		return "changed since " + drift.Date(st.Since).Format("2 January") + on
	case drift.StateLocal:
		return "local: " + localWords(s.Alarms) + ", the others agree that nothing changed" + on
	case drift.StateFormat:
		return "format: only white space or the form of characters changed" + on
	case drift.StateMixed:
		return "mixed fleet: days differ more than the runs of one day, as with different hardware" + on
	default:
		words := "stable: no change seen for " + text.Plural(st.Days, "day")
		if drop := st.Detectable(14); drop > 0 {
			words += fmt.Sprintf("; a drop of the score by %.1f pp would be seen within 14 days", drop)
		}
		return words + on
	}
}

// localWords counts the submitters that differ in the latest alarm that blames some.
func localWords(alarms []drift.Alarm) string {
	for i := len(alarms) - 1; i >= 0; i-- {
		if a := &alarms[i]; len(a.Blamed) > 0 {
			return fmt.Sprintf("%d of %s differ", len(a.Blamed), text.Plural(a.Submitters, "submitter"))
		}
	}
	return "some submitters differ"
}

// RegimeWords tells how much the answers to the prompts vary, or "".
func RegimeWords(r drift.Regimes) string {
	var words []string
	for _, kind := range []struct {
		n    int
		name string
	}{{r.Deterministic, "deterministic"}, {r.Border, "border"}, {r.Free, "free text"}} {
		if kind.n > 0 {
			words = append(words, fmt.Sprintf("%d %s", kind.n, kind.name))
		}
	}
	if words != nil {
		words[0] = "prompts: " + words[0]
	}
	if r.ScoresOnly {
		words = append(words, "scores only")
	}
	if r.Logprobs {
		words = append(words, "log-probabilities")
	}
	return strings.Join(words, ", ")
}

// EventLines describes a drift event: when, how much, for whom, and why.
func EventLines(s *drift.Stream, e drift.Event, own bool) []string {
	a := e.Alarm
	word := kindWord(a.Kind)
	if a.Kind == drift.KindConfirmed && s.Possible {
		word = kindWord(drift.KindSuspect)
	}
	first := fmt.Sprintf("%s around %s", word, drift.Date(e.Onset).Format("2 January 2006"))
	if e.Low != e.High {
		first += fmt.Sprintf(" (%s to %s)", drift.Date(e.Low).Format("2 January"), drift.Date(e.High).Format("2 January"))
	}
	if f := a.Effect; !math.IsNaN(f.LostSimilarity) {
		first += fmt.Sprintf(": old and new answers are %.1f %% less alike than answers of one time",
			100*f.LostSimilarity)
		switch {
		case f.Alike > 0.01:
			first += fmt.Sprintf("; they vary less than before (%+.0f %%)", -100*f.Alike)
		case f.Alike < -0.01:
			first += fmt.Sprintf("; they vary more than before (%+.0f %%)", -100*f.Alike)
		}
	}
	lines := []string{first, scoreWords(a.Effect)}
	if !own {
		if len(a.Blamed) > 0 {
			lines = append(lines, localWords([]drift.Alarm{*a})+": "+strings.Join(a.Blamed, ", "))
		} else {
			lines = append(lines, fmt.Sprintf("%d of %s agree", a.Agreeing, text.Plural(a.Submitters, "submitter")))
		}
	}
	if e.Back != nil {
		lines = append(lines, fmt.Sprintf("back to the state before %s, from which it is not distinguishable (%s)",
			drift.Date(e.Back.Before).Format("2 January 2006"), analyze.PWords(e.Back.P)))
	}
	if a.Kind == drift.KindConfirmed {
		lines = append(lines, causeWords(a, own)...)
		for _, w := range a.Where {
			lines = append(lines, fmt.Sprintf("prompt %s: before %q, after %q", w.Prompt, text.Line(w.Before, 60),
				text.Line(w.After, 60)))
		}
		if s.Possible {
			lines = append(lines, "this is not sure enough for one of several panels (false discovery rate 0.1)")
		}
	}
	names := strings.Join(e.Statistics, ", ")
	return append(lines, fmt.Sprintf("found on %s by %s, %s against at most 30, %s",
		drift.Date(a.Day).Format(time.DateOnly), names, text.Plural(a.Window, "day"), analyze.PWords(a.P)))
}

// kindWord describes the kind of an alarm.
func kindWord(kind string) string {
	switch kind {
	case drift.KindSuspect:
		return "possible change"
	case drift.KindLocal:
		return "some submitters differ"
	case drift.KindFormat:
		return "the format changed"
	case drift.KindTrace:
		return "a change too small to matter"
	default:
		return "changed"
	}
}

// scoreWords tells whether scores are worse. That is another statement than whether answers changed.
func scoreWords(e drift.Effect) string {
	if math.IsNaN(e.Score) {
		return "there are no scores to tell whether it is better or worse"
	}
	figures := fmt.Sprintf("scores %+.1f pp, 95 %% between %+.1f and %+.1f", e.Score, e.ScoreLow, e.ScoreHigh)
	switch {
	case e.ScoreHigh < 0:
		return "worse: " + figures
	case e.ScoreLow > 0:
		return "better: " + figures
	default:
		return figures + ": not distinguishable from none"
	}
}

// causeWords names the cause, the recorded facts that changed, and what would tell the cause.
func causeWords(a *drift.Alarm, own bool) []string {
	var lines []string
	switch a.Cause.Cause {
	case drift.CauseUnknown:
		line := "cannot tell whether the provider changed; a control panel on another provider or a pinned model would tell"
		if own {
			line = "cannot tell whether the provider changed; runs of a second person, a control panel on another provider or " +
				"a pinned model would tell"
		}
		lines = append(lines, line)
	default:
		lines = append(lines, a.Cause.Cause)
	}
	for _, f := range a.Cause.Facts {
		side := "setup"
		if f.Provider {
			side = "provider"
		}
		lines = append(lines, fmt.Sprintf("%s: %s %s → %s (%s)", side, f.Name, f.Before, f.After,
			strings.Join(f.Submitters, ", ")))
	}
	return lines
}
