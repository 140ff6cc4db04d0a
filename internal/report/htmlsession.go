package report

import (
	"cmp"
	"strconv"

	"github.com/plumb-eval/plumb"
)

// The limits of what a page shows of one session beside its timeline.
const (
	htmlText     = 64 << 10 // bytes of a prompt, an answer, a stack
	htmlDiff     = 64 << 10 // bytes of one diff
	htmlList     = 500      // entries of any list
	htmlVerdicts = 200
)

// htmlHead is what a page shows of one session beside its timeline.
type htmlHead struct {
	Score       *float64       `json:"score,omitempty"`
	Prompt      string         `json:"prompt,omitempty"`
	Answer      string         `json:"answer,omitempty"`
	Facts       [][2]string    `json:"facts"`
	Failure     *htmlFailure   `json:"failure,omitempty"`
	Verdicts    []htmlVerdict  `json:"verdicts"`
	Tokens      []htmlTokens   `json:"tokens,omitempty"` // one row for the total, then one per request
	Skills      []htmlSkill    `json:"skills,omitempty"`
	Offered     []plumb.Offer  `json:"offered,omitempty"`
	Denials     [][2]string    `json:"denials,omitempty"` // tool, message
	Subagents   []htmlSubagent `json:"subagents,omitempty"`
	Changed     []htmlChange   `json:"changed,omitempty"`
	Reads       []string       `json:"reads,omitempty"`
	Notes       []string       `json:"notes,omitempty"`
	Files       [][2]string    `json:"files,omitempty"`
	ArtifactDir string         `json:"artifactDir,omitempty"`
	Show        string         `json:"show,omitempty"`
	Explain     bool           `json:"explain,omitempty"`
	Workspace   string         `json:"workspace,omitempty"`
	Steps       int            `json:"steps"`
	Kinds       map[string]int `json:"kinds,omitempty"` // of steps; see kindsOf
	Blocks      []htmlBlock    `json:"blocks,omitempty"`
	Requests    int            `json:"requests,omitempty"` // rows of Tokens that were left out
}

type htmlFailure struct {
	Origin  string `json:"origin"`
	Class   string `json:"class"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
	At      string `json:"at,omitempty"`
	Stack   string `json:"stack,omitempty"`
	Log     string `json:"log,omitempty"`
	Detail  string `json:"detail,omitempty"`
}

type htmlVerdict struct {
	Name      string   `json:"name"`
	Outcome   string   `json:"outcome" redact:"-"` // pass, fail or error
	Score     float64  `json:"score"`
	Reason    string   `json:"reason,omitempty"`
	Expected  string   `json:"expected,omitempty"`
	Got       string   `json:"got,omitempty"`
	Diff      []string `json:"diff,omitempty"`
	Class     string   `json:"class,omitempty"`
	At        string   `json:"at,omitempty"`
	Stack     string   `json:"stack,omitempty"`
	Questions []string `json:"questions,omitempty"`
	Judge     string   `json:"judge,omitempty"`
	Replies   []string `json:"replies,omitempty"`
}

// htmlTokens is a row of token counts. A figure that was not reported is null.
type htmlTokens struct {
	Of    string `json:"of,omitempty"`
	In    *int64 `json:"in"`
	Out   *int64 `json:"out"`
	Think *int64 `json:"reasoning"`
	Cache *int64 `json:"cache"`
	Write *int64 `json:"cacheWrite"`
	Total *int64 `json:"billable,omitempty"`
}

type htmlSkill struct {
	Skill      string   `json:"skill"`
	Confidence string   `json:"confidence" redact:"-"`
	Evidence   []string `json:"evidence,omitempty"`
}

type htmlSubagent struct {
	Name   string      `json:"name"`
	Tokens *htmlTokens `json:"tokens,omitempty"`
}

type htmlChange struct {
	Path string `json:"path"`
	Kind string `json:"kind" redact:"-"`
	Diff string `json:"diff,omitempty"`
	Cut  int    `json:"cut,omitempty"`
}

// long cleans a text and limits its length.
func long(s string) string {
	s, _ = clip(s, htmlText)
	return s
}

// longs applies long to the first texts of a list.
func longs(texts []string) []string {
	out := make([]string, 0, min(len(texts), htmlList))
	for i, t := range texts {
		if i == htmlList {
			return append(out, "and "+count(len(texts)-i)+" more")
		}
		out = append(out, long(t))
	}
	return out
}

// headOf returns the facts of a session.
func headOf(s *session) *htmlHead {
	h := &htmlHead{Facts: [][2]string{}, Verdicts: []htmlVerdict{}}
	if f := s.trouble(); f != nil {
		h.Failure = htmlFailureOf(f)
	}
	if j := s.judgement; j != nil {
		if j.Outcome.Measured() {
			h.Score = &j.Score
		}
		for i := range j.Verdicts {
			if i == htmlVerdicts {
				h.Notes = append(h.Notes, plural(len(j.Verdicts)-i, "more check")+" not shown")
				break
			}
			h.Verdicts = append(h.Verdicts, htmlVerdictOf(&j.Verdicts[i]))
			h.Explain = h.Explain || len(j.Verdicts[i].Questions) > 0
		}
	}
	if r := s.report; r != nil {
		h.session(r)
	}
	return h
}

func htmlFailureOf(f *plumb.Failure) *htmlFailure {
	x := &htmlFailure{
		Origin: oneLine(string(f.Origin)), Class: classLabel(&f.Class, f.Origin), Message: long(f.Message),
		Hint: long(f.Hint),
		At:   place(f.Source), Stack: long(f.Stack), Log: clean(f.LogPath),
	}
	if f.Provider != "" {
		x.Detail = oneLine(f.Provider)
		if f.HTTPStatus != 0 {
			x.Detail += " answered " + strconv.Itoa(f.HTTPStatus)
		}
		if f.RequestID != "" {
			x.Detail += ", request " + oneLine(f.RequestID)
		}
	}
	if f.Attempts > 1 {
		x.Detail += " after " + plural(f.Attempts, "attempt")
	}
	return x
}

func htmlVerdictOf(v *plumb.Verdict) htmlVerdict {
	x := htmlVerdict{
		Name: oneLine(v.Name), Outcome: "fail", Score: v.Score, Reason: long(v.Reason), Expected: long(v.Expected),
		Got: long(v.Got),
		At:  cmp.Or(place(v.Source), place(v.At)), Stack: long(v.Stack),
	}
	switch {
	case v.Error != nil:
		x.Outcome, x.Reason = "error", long(v.Error.Message)
		if v.Error.Hint != "" {
			x.Reason += "\nhint: " + long(v.Error.Hint)
		}
	case v.Pass:
		x.Outcome = "pass"
	case diffable(x.Expected, x.Got):
		x.Diff = diffOf(x.Expected, x.Got, htmlList)
	}
	if v.Class != nil {
		x.Class = classLabel(v.Class, "")
	}
	for _, q := range v.Questions {
		x.Questions = append(x.Questions, long(q.Question))
	}
	if a := v.Asked; a != nil {
		x.Judge = oneLine(a.Model)
		if a.Self {
			x.Judge += " (the model under test)"
		}
		if a.Yes+a.No > 1 {
			x.Judge += ", " + count(a.Yes) + " yes, " + count(a.No) + " no"
		}
		x.Replies = longs(a.Replies)
	}
	return x
}

// session adds the facts of a session report.
func (h *htmlHead) session(r *plumb.SessionReport) {
	h.Prompt, h.Answer, h.Workspace = long(r.Prompt), long(r.FinalOutput), clean(r.Workspace)
	fact := func(name, value string) {
		if value = oneLine(value); value != "" {
			h.Facts = append(h.Facts, [2]string{name, value})
		}
	}
	fact("model", r.Model)
	fact("agent version", r.AgentVersion)
	fact("session", r.SessionID)
	fact("finish reason", string(r.FinishReason))
	if r.DurationMs > 0 {
		fact("duration", duration(r.DurationMs))
	}
	if r.LatencyMs > 0 && r.LatencyMs != r.DurationMs {
		fact("latency", duration(r.LatencyMs))
	}
	if r.Steps > 0 {
		fact("steps", count(r.Steps))
	}
	if r.Requests > 0 {
		fact("requests", count(r.Requests))
	}
	if r.CostUSD != nil {
		fact("cost", money(*r.CostUSD))
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
	if r.Cached {
		fact("cached", "answered from the local cache")
	}
	if r.Recorded {
		fact("recorded", "a replay of an earlier session")
	}
	if r.StartedAt != nil {
		fact("started", stamp(*r.StartedAt))
	}
	fact("workspace", r.Workspace)
	h.tokens(r)
	for i, s := range r.DetectedSkills {
		if i == htmlList {
			break
		}
		h.Skills = append(h.Skills, htmlSkill{oneLine(s.Skill), oneLine(s.Confidence), longs(s.Evidence)})
	}
	for i, x := range r.Offered {
		if i == htmlList {
			break
		}
		h.Offered = append(h.Offered, plumb.Offer{
			Kind: plumb.OfferKind(oneLine(string(x.Kind))), Name: oneLine(x.Name), Path: clean(x.Path),
			Source: oneLine(x.Source), Undeclared: x.Undeclared,
		})
	}
	for i, d := range r.PermissionDenials {
		if i == htmlList {
			break
		}
		h.Denials = append(h.Denials, [2]string{oneLine(d.Tool), long(d.Message)})
	}
	for i, c := range r.Files.Changed {
		if i == htmlList {
			h.Notes = append(h.Notes, plural(len(r.Files.Changed)-i, "more changed file")+" not shown")
			break
		}
		diff, missing := shorten(c.Diff, htmlDiff)
		h.Changed = append(h.Changed, htmlChange{clean(c.Path), oneLine(c.Kind), clean(diff), missing})
	}
	h.Reads, h.Notes = longs(r.Files.ObservedReads), append(h.Notes, longs(r.Notes)...)
	for _, f := range [][2]string{
		{"stdout", r.RawArtifacts.StdoutPath},
		{"stderr", r.RawArtifacts.StderrPath},
		{"session", r.RawArtifacts.SessionPath},
		{"export", r.RawArtifacts.ExportPath},
		{"telemetry", r.RawArtifacts.TelemetryPath},
	} {
		if f[1] != "" {
			h.Files = append(h.Files, [2]string{f[0], clean(f[1])})
		}
	}
}

// tokens adds what the session used, in total and per request.
func (h *htmlHead) tokens(r *plumb.SessionReport) {
	u := &r.Usage
	if u.InputTokens == nil && u.OutputTokens == nil && len(r.RequestUsage) == 0 {
		return
	}
	h.Tokens = append(h.Tokens, tokensOf("", u))
	for i, q := range r.RequestUsage {
		if i == htmlList {
			h.Requests = len(r.RequestUsage) - i
			break
		}
		of := oneLine(q.Subagent)
		if q.Model != "" && q.Model != r.Model {
			of = oneLine(q.Model + " " + q.Subagent)
		}
		h.Tokens = append(h.Tokens, htmlTokens{
			Of: of, In: q.InputTokens, Out: q.OutputTokens, Think: q.ReasoningTokens, Cache: q.CacheTokens,
			Write: q.CacheWriteTokens,
		})
	}
}

func tokensOf(of string, u *plumb.Usage) htmlTokens {
	return htmlTokens{
		of, u.InputTokens, u.OutputTokens, u.ReasoningTokens, u.CacheTokens, u.CacheWriteTokens,
		u.TotalTokens,
	}
}

// subagentsOf lists the subagents in the order of their numbers in the timeline.
func subagentsOf(r *plumb.SessionReport, ids []string) []htmlSubagent {
	var out []htmlSubagent
	for i, id := range ids {
		if i == htmlList {
			break
		}
		x := htmlSubagent{Name: id}
		for j := range r.Subagents {
			s := &r.Subagents[j]
			if oneLine(s.ID) != id {
				continue
			}
			if s.Type != "" {
				x.Name = oneLine(s.Type) + " " + id
			}
			if s.Usage != nil {
				x.Tokens = new(tokensOf(x.Name, s.Usage))
			}
		}
		out = append(out, x)
	}
	return out
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
	words := ""
	add := func(name, value string) {
		if words != "" {
			words += ", "
		}
		words += name + " " + value
	}
	if p.Temperature != nil {
		add("temperature", strconv.FormatFloat(*p.Temperature, 'g', -1, 64))
	}
	if p.TopP != nil {
		add("top-p", strconv.FormatFloat(*p.TopP, 'g', -1, 64))
	}
	if p.Seed != nil {
		add("seed", strconv.FormatInt(*p.Seed, 10))
	}
	if p.MaxOutputTokens != nil {
		add("at most", count(*p.MaxOutputTokens)+" tokens")
	}
	if p.ReasoningEffort != nil {
		add("effort", *p.ReasoningEffort)
	}
	return words
}
