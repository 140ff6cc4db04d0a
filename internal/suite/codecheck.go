package suite

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/check"
	"github.com/plumb-eval/plumb/internal/script"
	"github.com/plumb-eval/plumb/internal/suite/lib"
)

// codeCheck is the assert function of a case in code.
type codeCheck struct {
	suite           *codeSuite
	id              string
	source          plumb.Position
	judge, embedder bool
}

var _ plumb.Assertion = (*codeCheck)(nil)

// Needs reports whether the suite's code looks as if it asked a judge model or compared embeddings:
// for which of its cases cannot be told.
func (k *codeCheck) Needs() (judge, embedder bool) { return k.judge, k.embedder }

// asks looks into the code of a bundle for calls that need a judge or an embedder.
func asks(code []byte) (judge, embedder bool) {
	return regexp.MustCompile(`\.judge\b`).Match(code), regexp.MustCompile(`\.similar\b`).Match(code)
}

// outcome is what the module plumb says of one call of an assert function; see lib/PROTOCOL.md.
type outcome struct {
	Failures []codeFailure `json:"failures"`
	Error    *struct {
		Message string `json:"message"`
	} `json:"error"`
	Checks int `json:"checks"`
}

type codeFailure struct {
	Origin    plumb.Origin        `json:"origin"`
	Name      string              `json:"name"`
	Message   string              `json:"message"`
	Code      string              `json:"code"`
	Operator  string              `json:"operator"`
	Check     string              `json:"check"`
	Soft      bool                `json:"soft"`
	Actual    string              `json:"actual"`
	Expected  string              `json:"expected"`
	Stack     string              `json:"stack"`
	Source    *script.Position    `json:"source"`
	Class     *plumb.FailureClass `json:"class"`
	Questions []struct {
		Question string          `json:"question"`
		Source   script.Position `json:"source"`
	} `json:"questions"`
	Hint string `json:"hint"`
}

// Assert calls the function. Each check of it that did not hold is a verdict; one that broke is a
// verdict with an error. The error is not nil when the function could not be called or did not come
// to an end.
func (k *codeCheck) Assert(ctx context.Context, ev plumb.Evidence) ([]plumb.Verdict, error) {
	if ev.Report == nil {
		return nil, plumb.Failuref(plumb.OriginAssertHook, "there is no session report to judge")
	}
	outline := *ev.Report
	outline.Events = nil // the engine fetches them when they are looked at
	report, err := reportJSON(&outline)
	if err != nil {
		return nil, plumb.Failuref(plumb.OriginAssertHook, "write the session report: %w", err)
	}
	size := len(report)
	for i := range ev.Report.Events {
		size += weight(&ev.Report.Events[i])
	}
	leave, err := k.suite.enter(ctx, size)
	if err != nil {
		return nil, err
	}
	defer leave()
	s, name := k.suite.begin(ev)
	defer k.suite.end(name)
	evidence, err := json.Marshal(struct {
		Run       string `json:"run"`
		Workspace string `json:"workspace"`
		CaseID    string `json:"caseId"`
		Lazy      bool   `json:"lazy"`
	}{name, ev.Workspace, k.id, true})
	if err != nil {
		return nil, plumb.Failuref(plumb.OriginAssertHook, "write the evidence: %w", err)
	}
	limit := cmp.Or(k.suite.host.AssertTimeout, lib.DefaultAssertTimeout)
	var out outcome
	if err := k.suite.call(ctx, limit, &out, "assert", k.id, report, json.RawMessage(evidence)); err != nil {
		return k.broke(ctx, s, limit, err)
	}
	return k.verdicts(s, &out), nil
}

// reportJSON renders a report as scripts see it: lists are never null.
func reportJSON(r *plumb.SessionReport) (json.RawMessage, error) {
	c := *r
	c.Events, c.DetectedSkills = list(c.Events), list(c.DetectedSkills)
	c.Files.ObservedReads, c.Files.ObservedSkillReads = list(c.Files.ObservedReads), list(c.Files.ObservedSkillReads)
	return json.Marshal(&c)
}

// weight is about how many bytes the JSON of an event has.
func weight(e *plumb.SessionEvent) int {
	return 128 + len(e.Text) + len(e.Output) + len(e.Args) + len(e.Command) + len(e.Path)
}

// events answers the module plumb, which asks for the events of a session when something looks at
// them: for those of one type, or for all, from an index on. It gets a portion, and the index where
// the next one begins, -1 after the last.
func (c *codeSuite) events(_ context.Context, args []json.RawMessage) (any, error) {
	const most = 256 << 10 // bytes, since the texts of a portion exist several times on their way
	var run, from string
	var kind plumb.SessionEventType
	if len(args) != 3 || json.Unmarshal(args[0], &run) != nil || json.Unmarshal(args[1], &kind) != nil ||
		json.Unmarshal(args[2], &from) != nil {
		return nil, errors.New("events was called in a way that is not known")
	}
	next, err := strconv.Atoi(from)
	if err != nil || next < 0 {
		return nil, errors.New("events was called in a way that is not known")
	}
	s := c.session(run)
	if s == nil {
		return nil, errors.New("the session has been judged, and its events are gone")
	}
	all := s.ev.Report.Events
	portion := struct {
		Events []*plumb.SessionEvent `json:"events"`
		Next   int                   `json:"next"`
	}{[]*plumb.SessionEvent{}, -1}
	for size := 0; next < len(all); next++ {
		e := &all[next]
		if kind != "" && e.Type != kind {
			continue
		}
		if size > most {
			portion.Next = next
			break
		}
		portion.Events = append(portion.Events, e)
		size += weight(e)
	}
	return portion, nil
}

// leaks answers assert.leaksNoSecret of the module plumb. Code gets to know the names of secrets,
// and never their values.
func (c *codeSuite) leaks(ctx context.Context, args []json.RawMessage) (any, error) {
	var run, text string
	var places []string
	if len(args) != 2 || json.Unmarshal(args[0], &run) != nil || json.Unmarshal(args[1], &text) != nil ||
		json.Unmarshal([]byte(text), &places) != nil {
		return nil, errors.New("leaks was called in a way that is not known")
	}
	s := c.session(run)
	if s == nil {
		return nil, errors.New("leaks is asked of a session that has been judged")
	}
	k, err := check.LeaksNoSecret(places...)
	if err != nil {
		return nil, err
	}
	verdicts, err := k.Assert(ctx, s.ev)
	if err != nil {
		return nil, err
	}
	v := verdicts[0]
	if v.Error != nil {
		message := "assert.leaksNoSecret: " + v.Error.Message
		if v.Error.Hint != "" {
			message += "; " + v.Error.Hint
		}
		return nil, errors.New(message)
	}
	return struct {
		Pass   bool   `json:"pass"`
		Reason string `json:"reason"`
	}{v.Pass, v.Reason}, nil
}

func list[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

// broke says why the function did not come to its end.
func (k *codeCheck) broke(ctx context.Context, s *codeSession, limit time.Duration, err error) ([]plumb.Verdict,
	error,
) {
	if ctx.Err() != nil && !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return nil, context.Cause(ctx)
	}
	f := plumb.Failuref(plumb.OriginAssertHook, "the assert could not be called: %w", err)
	f.Source = &k.source
	switch e, thrown := errors.AsType[*script.Error](err); {
	case errors.Is(err, script.ErrTimeout), errors.Is(err, script.ErrInterrupted), errors.Is(err, script.ErrDead):
		f.Name, f.Message = "TimeoutError", fmt.Sprintf("the assert did not end within %v", limit)
		f.Hint = "does it loop, or wait for something that never happens?"
	case errors.Is(err, script.ErrMemory):
		f.Name, f.Message = "MemoryError", "the assert ran out of memory"
	case errors.Is(err, script.ErrNeverSettled):
		f.Name, f.Message = "TimeoutError", "the assert waits for a promise that nothing will settle"
		f.Hint = "is a resolve never called?"
	case thrown && e.Unhandled && e.IsAssertion:
		// In Node this ends the process. It is known that the check did not hold.
		v := plumb.Verdict{
			Name:   e.Name,
			Reason: s.bounded(e.Message) + " (in a promise that nothing waited for: is an await missing?)",
			Stack:  s.bounded(e.Stack), Source: &k.source,
		}
		if len(e.Frames) > 0 {
			v.Source = k.suite.places.Source(&e.Frames[0])
		}
		return append(s.rest(nil), v), nil
	case thrown:
		f.Name, f.Message, f.Stack = e.Name, s.bounded(e.Message), s.bounded(e.Stack)
		if e.Unhandled {
			f.Hint = "a promise was rejected that nothing waited for: is an await missing?"
		}
		if len(e.Frames) > 0 {
			f.Source = k.suite.places.Source(&e.Frames[0])
		}
	}
	return s.rest(nil), f
}

// verdicts says what became of the checks.
func (k *codeCheck) verdicts(s *codeSession, out *outcome) []plumb.Verdict {
	verdicts := make([]plumb.Verdict, 0, len(out.Failures)+1)
	for i := range out.Failures {
		verdicts = append(verdicts, k.verdict(s, &out.Failures[i]))
	}
	if len(verdicts) == 0 {
		reason := "the assert holds"
		if out.Checks > 0 {
			reason = plural(out.Checks, "check holds", "checks hold")
		}
		verdicts = append(verdicts, plumb.Verdict{Name: "assert", Pass: true, Score: 1, Reason: reason})
	} else if out.Error != nil && (len(out.Failures) > 1 || out.Error.Message != out.Failures[0].Message) {
		// What the whole of the failures is called in the documented results.
		verdicts[0].Details = details(&out.Failures[0], out.Error.Message)
	}
	return s.rest(verdicts)
}

func (k *codeCheck) verdict(s *codeSession, f *codeFailure) plumb.Verdict {
	v := plumb.Verdict{
		Name: cmp.Or(f.Check, f.Name), Reason: s.bounded(f.Message),
		Expected: f.Expected, Got: f.Actual, Class: f.Class, Stack: s.bounded(f.Stack),
		Source: k.suite.places.Source(f.Source), Details: details(f, ""),
	}
	asked := s.take(f)
	if asked != nil {
		v.Asked = asked.Asked
	}
	if v.Source == nil {
		v.Source = &k.source
	}
	for _, q := range f.Questions {
		v.Questions = append(v.Questions, plumb.Question{Question: q.Question, Source: k.suite.places.Position(&q.Source)})
	}
	if f.Origin != plumb.OriginAssertion {
		v.Error = plumb.Failuref(f.Origin, "%s", v.Reason)
		if asked != nil && asked.Error != nil { // the judge's own trouble says more
			v.Error = asked.Error
		}
		v.Error.Name, v.Error.Stack, v.Error.Source, v.Error.Hint = f.Name, v.Stack, v.Source, cmp.Or(v.Error.Hint, f.Hint)
		if f.Class != nil {
			v.Error.Class = *f.Class
		}
		v.Reason = "could not be checked: " + v.Reason
	}
	return v
}

// textLimit is how much of a message or a stack is kept, in bytes: a failure may show all that a
// session printed, and the stack of an endless recursion has thousands of lines.
const textLimit = 16 << 10

func (s *codeSession) bounded(text string) string {
	if len(text) > textLimit && s.ev.Redact != nil {
		text = s.ev.Redact(text) // a part of a secret could not be found any more
	}
	if len(text) <= textLimit {
		return text
	}
	cut := text[:textLimit]
	if i := strings.LastIndexByte(cut, '\n'); i > textLimit/2 {
		cut = cut[:i]
	}
	return fmt.Sprintf("%s… (%d bytes more)", strings.ToValidUTF8(cut, ""), len(text)-len(cut))
}

// details are what an error of Node's assert has beside its message. aggregate is the message of
// all failures together.
func details(f *codeFailure, aggregate string) json.RawMessage {
	text, err := json.Marshal(struct {
		Name      string `json:"name"`
		Code      string `json:"code,omitempty"`
		Operator  string `json:"operator,omitempty"`
		Soft      bool   `json:"soft,omitempty"`
		Aggregate string `json:"aggregate,omitempty"`
	}{f.Name, f.Code, f.Operator, f.Soft, aggregate})
	if err != nil {
		return nil
	}
	return text
}

// codeSession is a session while it is being judged by code: what the code may ask about it, and
// what it asked.
type codeSession struct {
	ev plumb.Evidence

	mu    sync.Mutex
	asked []plumb.Verdict
}

// begin makes a session known to the functions that the code may call, until end.
func (c *codeSuite) begin(ev plumb.Evidence) (*codeSession, string) {
	c.judging.Lock()
	defer c.judging.Unlock()
	if c.judging.sessions == nil {
		c.judging.sessions = map[string]*codeSession{}
	}
	c.judging.counter++
	s, name := &codeSession{ev: ev}, strconv.Itoa(c.judging.counter)
	c.judging.sessions[name] = s
	return s, name
}

func (c *codeSuite) end(name string) {
	c.judging.Lock()
	defer c.judging.Unlock()
	delete(c.judging.sessions, name)
}

func (c *codeSuite) session(name string) *codeSession {
	c.judging.Lock()
	defer c.judging.Unlock()
	return c.judging.sessions[name]
}

// take returns what was asked for a check that did not hold, or nil.
func (s *codeSession) take(f *codeFailure) *plumb.Verdict {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, v := range s.asked {
		if v.Name == f.Check && (v.Error != nil || !v.Pass) {
			s.asked = slices.Delete(s.asked, i, i+1)
			return &v
		}
	}
	return nil
}

// rest adds a verdict for each question that is in none yet, so that what it cost is not lost. It
// holds: either the answer was the right one, or the code took it for something else than a
// failure.
func (s *codeSession) rest(verdicts []plumb.Verdict) []plumb.Verdict {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, v := range s.asked {
		if v.Error != nil || !v.Pass {
			v.Reason += " (and the suite went on)"
		}
		v.Pass, v.Score, v.Error = true, 1, nil
		verdicts = append(verdicts, v)
	}
	s.asked = nil
	return verdicts
}

// question is what the code asks of a judge or an embedder.
type question struct {
	Output        string  `json:"output"`
	Question      string  `json:"question"`
	Expect        string  `json:"expect"`
	Votes         int     `json:"votes"`
	IncludePrompt *bool   `json:"includePrompt"`
	Text          string  `json:"text"`
	Threshold     float64 `json:"threshold"`
}

// judge answers assert.judge of the module plumb.
func (c *codeSuite) judge(ctx context.Context, args []json.RawMessage) (any, error) {
	return c.ask(ctx, "judge", args, func(q *question) *check.Check {
		k := check.LLMJudge(q.Question, q.Votes)
		if q.Expect == "no" {
			k = k.Not()
		}
		return k
	})
}

// similar answers assert.similar of the module plumb.
func (c *codeSuite) similar(ctx context.Context, args []json.RawMessage) (any, error) {
	return c.ask(ctx, "similar", args, func(q *question) *check.Check {
		return check.SemanticSimilarity([]string{q.Text}, q.Threshold)
	})
}

func (c *codeSuite) ask(ctx context.Context, name string, args []json.RawMessage,
	of func(*question) *check.Check,
) (any, error) {
	var run, text string
	var q question
	if len(args) != 2 || json.Unmarshal(args[0], &run) != nil || json.Unmarshal(args[1], &text) != nil {
		return nil, fmt.Errorf("%s was called in a way that is not known", name)
	}
	if err := json.Unmarshal([]byte(text), &q); err != nil {
		return nil, fmt.Errorf("%s was called in a way that is not known: %w", name, err)
	}
	s := c.session(run)
	if s == nil {
		return nil, fmt.Errorf("%s is asked of a session that has been judged", name)
	}
	ev, report := s.ev, *s.ev.Report
	report.FinalOutput = q.Output
	ev.Report = &report
	if q.IncludePrompt != nil && !*q.IncludePrompt {
		report.Prompt, ev.Case = "", nil
	}
	verdicts, err := of(&q).Assert(ctx, ev)
	if err != nil {
		return nil, err
	}
	v := verdicts[0]
	s.mu.Lock()
	asked := v
	asked.Name = name
	s.asked = append(s.asked, asked)
	s.mu.Unlock()
	if v.Error != nil {
		return nil, &script.Error{Name: "JudgeError", Message: v.Error.Message, Code: "ERR_JUDGE"}
	}
	answer, err := json.Marshal(map[string]any{"pass": v.Pass, "score": v.Score, "reason": v.Reason})
	return string(answer), err
}

// codeClassifier is the classifyFailure function of a case in code.
type codeClassifier struct {
	suite *codeSuite
	id    string
}

// classify calls the function with the documented result of the session. An error says that it gave
// no class that can be used: then the class stays what it was.
func (k *codeClassifier) classify(ctx context.Context, s plumb.FailedSession) (*plumb.FailureClass, error) {
	result, err := resultJSON(s)
	if err != nil {
		return nil, fmt.Errorf("classify the failure of %s: %w", k.id, err)
	}
	var answer struct {
		Class   *plumb.FailureClass `json:"class"`
		Problem *struct {
			Name    string           `json:"name"`
			Message string           `json:"message"`
			Source  *script.Position `json:"source"`
		} `json:"problem"`
	}
	limit := cmp.Or(k.suite.host.AssertTimeout, lib.DefaultAssertTimeout)
	if err := k.suite.call(ctx, limit, &answer, "classify", k.id, result); err != nil {
		return nil, fmt.Errorf("classify the failure of %s: %w", k.id, err)
	}
	if p := answer.Problem; p != nil {
		return nil, fmt.Errorf("classifyFailure of %s: %s: %s: %s", k.id, k.suite.places.Position(p.Source), p.Name,
			p.Message)
	}
	return answer.Class, nil
}

// resultJSON renders a session that did not pass in the documented shape.
func resultJSON(s plumb.FailedSession) (string, error) {
	type failure struct {
		Name    string `json:"name"`
		Message string `json:"message"`
		Stack   string `json:"stack,omitempty"`
	}
	result := struct {
		Runner               plumb.RunnerInfo    `json:"runner"`
		Passed               bool                `json:"passed"`
		Status               plumb.Status        `json:"status"`
		Outcome              plumb.Outcome       `json:"outcome"`
		DurationMs           int64               `json:"durationMs"`
		ExecutionArtifactDir string              `json:"executionArtifactDir"`
		ArtifactDir          string              `json:"artifactDir"`
		Report               json.RawMessage     `json:"report"`
		Error                failure             `json:"error"`
		Origin               plumb.Origin        `json:"failureOrigin"`
		Class                *plumb.FailureClass `json:"failureClass,omitempty"`
		LogPath              string              `json:"failureLogPath,omitempty"`
	}{
		Status: plumb.StatusFailed, ExecutionArtifactDir: s.ExecutionArtifactDir, ArtifactDir: s.ArtifactDir,
		Report: json.RawMessage("null"), Error: failure{Name: "Error"},
	}
	if r := s.Evidence.Report; r != nil {
		text, err := reportJSON(r)
		if err != nil {
			return "", err
		}
		result.Runner, result.DurationMs, result.Report = r.Runner, r.DurationMs, text
	}
	if j := s.Judgement; j != nil {
		result.Outcome = j.Outcome
		if f := j.Failure; f != nil {
			result.Error = failure{cmp.Or(f.Name, "Error"), f.Message, f.Stack}
			result.Origin, result.Class, result.LogPath = f.Origin, &f.Class, f.LogPath
		}
	}
	text, err := json.Marshal(result)
	return string(text), err
}
