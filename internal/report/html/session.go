package html

import (
	"reflect"
	"strconv"
	"strings"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/report"
	"github.com/plumb-eval/plumb/internal/results"
	"github.com/plumb-eval/plumb/internal/text"
)

// The limits of what a page shows of one session beside its timeline.
const (
	textBytes  = 64 << 10 // bytes of one text
	listLength = 500      // entries of any list
)

// sessionHead is what a page shows of one session beside its timeline. The page gets most of it as
// recorded; see [tidier].
type sessionHead struct {
	Report    *plumb.SessionReport `json:"report,omitempty"` // without its events
	Failure   *plumb.Failure       `json:"failure,omitempty"`
	Score     *float64             `json:"score,omitempty"`
	Verdicts  []verdict            `json:"verdicts"`
	Facts     [][2]string          `json:"facts"`
	Subagents []string             `json:"subagents,omitempty"` // their ids, in the order of their numbers
	Omitted   int                  `json:"omitted,omitempty"`   // entries of lists that are too long

	// Explain is the command that asks the agent why, and Explained its stored answers.
	Explain   string             `json:"explain,omitempty"`
	Explained []report.Explained `json:"explained,omitempty"`

	ArtifactDir string         `json:"artifactDir,omitempty"`
	Show        string         `json:"show,omitempty"`
	Steps       int            `json:"steps"`
	Kinds       map[string]int `json:"kinds,omitempty"` // of steps; see kindsOf
	Blocks      []blockSpan    `json:"blocks,omitempty"`
}

type verdict struct {
	plumb.Verdict
	Diff []string `json:"diff,omitempty"`
}

// headOf returns the facts of a session.
func headOf(s *results.Session) *sessionHead {
	h := &sessionHead{Facts: [][2]string{}, Verdicts: []verdict{}}
	t := &tidier{}
	h.Failure = tidy(t, s.Trouble())
	if j := s.Judgement; j != nil {
		if j.Outcome.Measured() {
			h.Score = &j.Score
		}
		for _, v := range tidy(t, j.Verdicts) {
			v.Details = nil
			x := verdict{Verdict: v}
			if !v.Pass && v.Error == nil && report.Diffable(v.Expected, v.Got) {
				x.Diff = report.DiffOf(v.Expected, v.Got, listLength)
			}
			h.Verdicts = append(h.Verdicts, x)
		}
	}
	if s.Report != nil {
		h.session(s.Report)
		r := *s.Report
		r.Events = nil
		r.Runner, r.Requested, r.Sent, r.Effective = plumb.RunnerInfo{}, plumb.Parameters{}, plumb.Parameters{},
			plumb.Parameters{} // the page has them elsewhere
		h.Report = tidy(t, &r)
	}
	h.Omitted = t.omitted
	return h
}

// tidier copies values for a page. It cleans and limits texts, limits lists, and counts what it
// omits from lists.
type tidier struct{ omitted int }

func tidy[T any](t *tidier, v T) (out T) {
	reflect.ValueOf(&out).Elem().Set(t.copy(reflect.ValueOf(&v).Elem()))
	return out
}

func (t *tidier) copy(v reflect.Value) reflect.Value {
	if at, ok := reflect.TypeAssert[plumb.Position](v); ok {
		at.File = text.OneLine(report.PlainPath(at.File))
		return reflect.ValueOf(at)
	}
	out := reflect.New(v.Type()).Elem()
	switch {
	case v.Kind() == reflect.String:
		text, _ := clip(v.String(), textBytes)
		out.SetString(text)
	case v.Kind() == reflect.Pointer && !v.IsNil():
		out.Set(reflect.New(v.Type().Elem()))
		out.Elem().Set(t.copy(v.Elem()))
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() != reflect.Uint8:
		n := min(v.Len(), listLength)
		t.omitted += v.Len() - n
		for i := range n {
			out = reflect.Append(out, t.copy(v.Index(i)))
		}
	case v.Kind() == reflect.Struct:
		out.Set(v)
		for i := range v.NumField() {
			if out.Field(i).CanSet() {
				out.Field(i).Set(t.copy(v.Field(i)))
			}
		}
	default:
		out.Set(v)
	}
	return out
}

// session adds the facts of a session report.
func (h *sessionHead) session(r *plumb.SessionReport) {
	fact := func(name, value string) {
		if value = text.OneLine(value); value != "" {
			h.Facts = append(h.Facts, [2]string{name, value})
		}
	}
	fact("model", r.Model)
	fact("agent version", r.AgentVersion)
	fact("session", r.SessionID)
	fact("finish reason", string(r.FinishReason))
	if r.DurationMs > 0 {
		fact("duration", text.Millis(r.DurationMs))
	}
	if r.LatencyMs > 0 && r.LatencyMs != r.DurationMs {
		fact("latency", text.Millis(r.LatencyMs))
	}
	if r.Steps > 0 {
		fact("steps", text.Count(r.Steps))
	}
	if r.Requests > 0 {
		fact("requests", text.Count(r.Requests))
	}
	if r.CostUSD != nil {
		fact("cost", text.Money(*r.CostUSD))
	}
	if r.ExitCode != nil {
		fact("exit code", strconv.Itoa(*r.ExitCode))
	}
	fact("fingerprint", r.Fingerprint)
	fact("request", r.RequestID)
	fact("requested", parameterWords(r.Requested))
	fact("effective", parameterWords(r.Effective))
	for _, name := range r.Refused {
		fact("refused", name)
	}
	if r.TakenFrom != "" {
		fact("taken from", "run "+r.TakenFrom)
	} else if r.Cached {
		fact("cached", "answered from the local cache")
	}
	if r.Recorded {
		fact("recorded", "a replay of an earlier session")
	}
	if r.StartedAt != nil {
		fact("started", results.Stamp(*r.StartedAt))
	}
	fact("workspace", r.Workspace)
}

// kindsOf counts the steps of a timeline by the kinds that a reader can filter. It counts user
// messages also separately.
func kindsOf(steps []step) map[string]int {
	kinds := map[string]int{}
	for i := range steps {
		switch kind := steps[i].Kind; kind {
		case "message", "thinking", "command", "read":
			kinds[kind]++
		default:
			kinds["call"]++
		}
		if steps[i].Role == "user" {
			kinds["user"]++
		}
	}
	return kinds
}

// parameterWords renders sampling parameters on one line.
func parameterWords(p plumb.Parameters) string {
	var words []string
	if p.Temperature != nil {
		words = append(words, "temperature "+strconv.FormatFloat(*p.Temperature, 'g', -1, 64))
	}
	if p.TopP != nil {
		words = append(words, "top-p "+strconv.FormatFloat(*p.TopP, 'g', -1, 64))
	}
	if p.Seed != nil {
		words = append(words, "seed "+strconv.FormatInt(*p.Seed, 10))
	}
	if p.MaxOutputTokens != nil {
		words = append(words, "at most "+text.Count(*p.MaxOutputTokens)+" tokens")
	}
	if p.ReasoningEffort != nil {
		words = append(words, "effort "+*p.ReasoningEffort)
	}
	return strings.Join(words, ", ")
}
