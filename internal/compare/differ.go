package compare

import (
	"bytes"
	"cmp"
	"strings"
	"unicode/utf8"

	"github.com/plumb-eval/plumb"
)

// Sessions calls yield for each session-finished and session-judged event of one execution, in the
// order of the log.
type Sessions func(caseID, runnerID string, yield func(plumb.Event) error) error

// told is a session with its outcome.
type told struct {
	repetition, session int
	report              *plumb.SessionReport
	outcome             plumb.Outcome
}

// FindDifference sets the first event at which two sessions of a case differ: one that passed and
// one that failed, each the first of its side.
func FindDifference(c *CaseResult, base, cand Sessions) error {
	lost := c.Baseline.Passed*c.Candidate.Measured > c.Candidate.Passed*c.Baseline.Measured
	baseOutcome, candOutcome := plumb.OutcomePass, plumb.OutcomeFail
	if !lost {
		baseOutcome, candOutcome = candOutcome, baseOutcome
	}
	b, err := firstSession(base, cmp.Or(c.BaselineCase, c.Case), cmp.Or(c.BaselineRunner, c.Runner), baseOutcome)
	if err != nil || b == nil {
		return err
	}
	o, err := firstSession(cand, c.Case, c.Runner, candOutcome)
	if err != nil || o == nil {
		return err
	}
	c.Difference = &SessionDifference{
		BaselineRepetition: b.repetition, BaselineSession: b.session,
		CandidateRepetition: o.repetition, CandidateSession: o.session,
	}
	c.Difference.find(b.report, o.report)
	return nil
}

// firstSession returns the deciding session of the first repetition with an outcome, or nil.
func firstSession(sessions Sessions, caseID, runnerID string, want plumb.Outcome) (*told, error) {
	last := map[int]*told{} // the deciding session of each repetition
	err := sessions(caseID, runnerID, func(ev plumb.Event) error {
		switch t := last[ev.Repetition]; {
		case ev.Type == plumb.EventSessionFinished && (t == nil || ev.Session >= t.session):
			last[ev.Repetition] = &told{repetition: ev.Repetition, session: ev.Session, report: ev.Report}
		case ev.Type == plumb.EventSessionJudged && t != nil && ev.Session == t.session && ev.Judgement != nil:
			t.outcome = ev.Judgement.Outcome
		}
		return nil
	})
	var first *told
	for _, t := range last {
		if t.outcome == want && t.report != nil && (first == nil || t.repetition < first.repetition) {
			first = t
		}
	}
	return first, err
}

// find looks for the first event that differs. The order of the events is that of the reports; their
// times and call ids are not compared.
func (d *SessionDifference) find(base, cand *plumb.SessionReport) {
	x, y := toldEvents(base), toldEvents(cand)
	for i := range max(len(x), len(y)) {
		var b, c string
		if i < len(x) {
			b = x[i]
		}
		if i < len(y) {
			c = y[i]
		}
		if b != c {
			d.Event = i + 1
			d.Baseline, d.Candidate = excerpts(b, c)
			return
		}
	}
}

// toldEvents describes the events of a session, without those that repeat the prompt. A session
// without events has its answer.
func toldEvents(r *plumb.SessionReport) []string {
	var out []string
	for i := range r.Events {
		e := &r.Events[i]
		if e.Type == plumb.SessionMessage && e.Role == plumb.RoleUser {
			continue
		}
		out = append(out, describeEvent(e, r.Workspace))
	}
	if len(out) == 0 && r.FinalOutput != "" {
		out = append(out, `answer "`+r.FinalOutput+`"`)
	}
	return out
}

func describeEvent(e *plumb.SessionEvent, workspace string) string {
	var text string
	switch e.Type {
	case plumb.SessionMessage:
		name := "message"
		if e.Phase == "final" || e.Phase == "" && e.Role == plumb.RoleAssistant {
			name = "answer"
		} else if e.Phase != "" {
			name = e.Phase
		}
		text = name + ` "` + e.Text + `"`
	case plumb.SessionToolCall:
		text = "calls " + e.Tool + " " + string(bytes.TrimSpace(e.Args))
	case plumb.SessionToolResult:
		text = `result "` + e.Output + `"`
		if e.IsError {
			text = "error " + text
		}
	case plumb.SessionCommand:
		text = "runs " + e.Command
	case plumb.SessionFileRead:
		text = "reads " + e.Path
	case plumb.SessionFileChange:
		text = strings.TrimSpace(e.Change + "s " + e.Path)
	case plumb.SessionSkill:
		text = "uses skill " + e.Skill
	case plumb.SessionDenial:
		text = "is denied " + cmp.Or(e.Tool, e.Command, e.Path)
	default:
		text = string(e.Type) + " " + cmp.Or(e.Text, e.Output)
	}
	if workspace != "" {
		text = strings.ReplaceAll(text, workspace, "WORKSPACE")
	}
	return text
}

// excerpts returns short parts of two texts around the place where they begin to differ.
func excerpts(x, y string) (string, string) {
	const before, most = 24, 120
	same := 0
	for same < len(x) && same < len(y) && x[same] == y[same] {
		same++
	}
	cut := func(s string) string {
		if s == "" {
			return ""
		}
		kind, _, _ := strings.Cut(s, " ")
		from := max(0, same-before)
		if from <= len(kind)+1 {
			from = 0
		}
		to := min(len(s), from+most)
		for from > 0 && from < len(s) && !utf8.RuneStart(s[from]) {
			from--
		}
		for to < len(s) && !utf8.RuneStart(s[to]) {
			to--
		}
		out := s[from:to]
		if from > 0 {
			out = kind + " …" + out
		}
		if to < len(s) {
			out += "…"
		}
		return out
	}
	return cut(x), cut(y)
}
