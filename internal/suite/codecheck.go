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
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/script"
	"github.com/plumb-eval/plumb/internal/suite/lib"
	"github.com/plumb-eval/plumb/internal/text"
)

// codeCheck is the assert function of a case in code.
type codeCheck struct {
	suite           *codeSuite
	id              string
	source          plumb.Position
	judge, embedder bool
}

var _ plumb.Assertion = (*codeCheck)(nil)

// Needs reports whether the code of the suite seems to ask a judge model or to compare embeddings.
// It does not know which cases do.
func (k *codeCheck) Needs() (judge, embedder bool) { return k.judge, k.embedder }

// asks reports whether the code of a bundle has calls that need a judge or an embedder.
func asks(code []byte) (judge, embedder bool) {
	return regexp.MustCompile(`\.judge\b`).Match(code), regexp.MustCompile(`\.similar\b`).Match(code)
}

// outcome is the result of one call of an assert function; see lib/PROTOCOL.md.
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

// Assert calls the function. Each check that failed is a verdict; each check that broke is a verdict
// with an error. The error is not nil when the function could not be called or did not finish.
func (k *codeCheck) Assert(ctx context.Context, ev plumb.Evidence) ([]plumb.Verdict, error) {
	if ev.Report == nil {
		return nil, plumb.Failuref(plumb.OriginAssertHook, "there is no session report to judge")
	}
	outline := *ev.Report
	outline.Events = nil // the script requests them when it needs them
	report, err := reportJSON(&outline)
	if err != nil {
		return nil, plumb.Failuref(plumb.OriginAssertHook, "write the session report: %w", err)
	}
	s := &codeSession{ev: ev, report: len(report)}
	var out outcome
	evidence := map[string]any{"workspace": ev.Workspace, "lazy": true}
	if err := k.suite.call(ctx, &out, "assert", k.id, s, report, evidence); err != nil {
		return k.broke(ctx, s, err)
	}
	return k.verdicts(s, &out), nil
}

// reportJSON renders a report for scripts, in which lists are never null.
func reportJSON(r *plumb.SessionReport) (json.RawMessage, error) {
	c := *r
	c.Events, c.DetectedSkills = doc.Array(c.Events), doc.Array(c.DetectedSkills)
	c.Files.ObservedReads, c.Files.ObservedSkillReads = doc.Array(c.Files.ObservedReads), doc.Array(c.Files.ObservedSkillReads)
	return json.Marshal(&c)
}

// weight estimates the size of an event as JSON, in bytes.
func weight(e *plumb.SessionEvent) int {
	return 128 + len(e.Text) + len(e.Output) + len(e.Args) + len(e.Command) + len(e.Path)
}

// answer returns a host function for the module plumb. Its arguments are texts.
func (s *codeSession) answer(f func(context.Context, []string) (any, error)) script.HostFunc {
	return func(ctx context.Context, args []json.RawMessage) (any, error) {
		texts := make([]string, len(args))
		for i, arg := range args {
			if json.Unmarshal(arg, &texts[i]) != nil {
				return nil, errArguments
			}
		}
		if len(texts) == 0 {
			return nil, errArguments
		}
		return f(ctx, texts)
	}
}

var errArguments = errors.New("a host function was called with unexpected arguments")

// events returns the events of the session, of one type or all, from an index on. The module plumb
// requests them when the code uses them. The result is a portion of the events and the index where
// the next portion begins, -1 after the last.
func (s *codeSession) events(_ context.Context, args []string) (any, error) {
	const most = 256 << 10 // bytes, because several copies of a portion exist during the transfer
	next, err := strconv.Atoi(args[len(args)-1])
	if err != nil || next < 0 {
		return nil, errArguments
	}
	kind, all := plumb.SessionEventType(args[0]), s.ev.Report.Events
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

// leaks performs assert.leaksNoSecret of the module plumb. Code learns the names of secrets, and
// never their values.
func (s *codeSession) leaks(ctx context.Context, args []string) (any, error) {
	var places []string
	if json.Unmarshal([]byte(args[0]), &places) != nil {
		return nil, errArguments
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
	return map[string]any{"pass": v.Pass, "reason": v.Reason}, nil
}

// broke returns the verdicts and the failure of a function that did not finish.
func (k *codeCheck) broke(ctx context.Context, s *codeSession, err error) ([]plumb.Verdict, error) {
	if ctx.Err() != nil && !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return nil, context.Cause(ctx)
	}
	f := plumb.Failuref(plumb.OriginAssertHook, "the assert could not be called: %w", err)
	f.Source = &k.source
	e, thrown := errors.AsType[*script.Error](err)
	if broken(f, err, "the assert", "an assert", k.suite.host.JudgeLimit()) || !thrown {
		return s.rest(nil), f
	}
	f.Name, f.Message, f.Stack = e.Name, s.bounded(e.Message), s.bounded(e.Stack)
	if len(e.Frames) > 0 {
		f.Source = k.suite.places.Source(&e.Frames[0])
	}
	if e.Unhandled && e.IsAssertion { // this ends the process in Node, but the result of the check is known
		return append(s.rest(nil), plumb.Verdict{
			Name: f.Name, Reason: f.Message + " (in code that nothing waited for: is an await missing?)",
			Stack: f.Stack, Source: f.Source,
		}), nil
	}
	if e.Unhandled {
		f.Hint = noAwait
	}
	return s.rest(nil), f
}

const noAwait = "nothing waited for the code that threw this: is an await missing?"

// broken describes the failure of code that could not finish, or that left something behind, and
// reports whether err says so. It calls the code by two names.
func broken(f *plumb.Failure, err error, the, a string, limit time.Duration) bool {
	switch {
	case lib.TimedOut(err):
		f.Name, f.Message = "TimeoutError", fmt.Sprintf("%s did not end within %s", the, text.Duration(limit))
		f.Hint = "does it loop, or wait for something that never happens?"
	case errors.Is(err, script.ErrMemory):
		f.Name, f.Message = "MemoryError", the+" ran out of memory"
	case errors.Is(err, script.ErrNeverSettled):
		f.Name, f.Message = "TimeoutError", the+" waits for a promise that nothing will settle"
		f.Hint = "is a resolve never called?"
	case errors.Is(err, script.ErrShared):
		f.Name, f.Message = "SharedStateError", a+" cannot "+err.Error()
		f.Hint = "each session is judged alone: keep values in variables that are declared with const or let"
	case errors.Is(err, script.ErrLeft):
		f.Name, f.Message = "UnfinishedError", a+" left a timer running that never stops"
		f.Hint = "stop it with clearInterval or clearTimeout, and await what it does"
	default:
		return false
	}
	return true
}

// verdicts returns the verdicts of a function that finished.
func (k *codeCheck) verdicts(s *codeSession, out *outcome) []plumb.Verdict {
	verdicts := make([]plumb.Verdict, 0, len(out.Failures)+1)
	for i := range out.Failures {
		verdicts = append(verdicts, k.verdict(s, &out.Failures[i]))
	}
	if len(verdicts) == 0 {
		reason := "the assert holds"
		if out.Checks > 0 {
			reason = text.Plural(out.Checks, "check holds", "checks hold")
		}
		verdicts = append(verdicts, plumb.Verdict{Name: "assert", Pass: true, Score: 1, Reason: reason})
	} else if out.Error != nil && (len(out.Failures) > 1 || out.Error.Message != out.Failures[0].Message) {
		// The documented results contain the common message of all failures.
		verdicts[0].Details = details(&out.Failures[0], out.Error.Message)
	}
	return s.rest(verdicts)
}

func (k *codeCheck) verdict(s *codeSession, f *codeFailure) plumb.Verdict {
	v := plumb.Verdict{
		Name: cmp.Or(f.Check, f.Name), Reason: s.bounded(f.Message),
		Expected: f.Expected, Got: f.Actual, Class: f.Class, Stack: s.bounded(f.Stack),
		Source: cmp.Or(k.suite.places.Source(f.Source), &k.source), Details: details(f, ""),
	}
	asked := s.take(f)
	if asked != nil {
		v.Asked = asked.Asked
	}
	for _, q := range f.Questions {
		v.Questions = append(v.Questions, plumb.Question{
			Question: q.Question, Source: k.suite.places.Position(&q.Source),
		})
	}
	if f.Origin != plumb.OriginAssertion {
		v.Error = plumb.Failuref(f.Origin, "%s", v.Reason)
		if asked != nil && asked.Error != nil { // the judge's own error has more detail
			v.Error = asked.Error
		}
		v.Error.Name, v.Error.Stack, v.Error.Source = f.Name, v.Stack, v.Source
		v.Error.Hint = cmp.Or(v.Error.Hint, f.Hint)
		if f.Class != nil {
			v.Error.Class = *f.Class
		}
		v.Reason = "could not be checked: " + v.Reason
	}
	return v
}

// textLimit is the maximum length of a message or a stack, in bytes: a failure may contain the whole
// output of a session, and the stack of an endless recursion has thousands of lines.
const textLimit = 16 << 10

func (s *codeSession) bounded(text string) string {
	if len(text) > textLimit && s.ev.Redact != nil {
		text = s.ev.Redact(text) // before the cut, because a part of a secret would not be found
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

// details are the properties of an error of Node's assert besides its message. aggregate is the
// common message of all failures.
func details(f *codeFailure, aggregate string) json.RawMessage {
	text, _ := json.Marshal(struct { //nolint:errchkjson // strings
		Name      string `json:"name"`
		Code      string `json:"code,omitempty"`
		Operator  string `json:"operator,omitempty"`
		Soft      bool   `json:"soft,omitempty"`
		Aggregate string `json:"aggregate,omitempty"`
	}{f.Name, f.Code, f.Operator, f.Soft, aggregate})
	return text
}

// codeSession is a session that is being judged by code: its evidence, and the answers of the judge
// and the embedder that the code asked.
type codeSession struct {
	ev plumb.Evidence
	// report is the size of the report as JSON without its events, in bytes.
	report int

	mu    sync.Mutex
	asked []plumb.Verdict
}

// size estimates the size of the whole report as JSON, in bytes.
func (s *codeSession) size() int {
	size := s.report
	for i := range s.ev.Report.Events {
		size += weight(&s.ev.Report.Events[i])
	}
	return size
}

// take removes and returns the answer that made a check fail, or nil.
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

// rest adds a verdict for each answer that no verdict contains yet, so that its cost is counted.
// These verdicts pass: the answer was positive, or the code did not treat it as a failure.
func (s *codeSession) rest(verdicts []plumb.Verdict) []plumb.Verdict {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, v := range s.asked {
		if v.Error != nil || !v.Pass {
			v.Reason += " (and the suite continued)"
		}
		v.Pass, v.Score, v.Error = true, 1, nil
		verdicts = append(verdicts, v)
	}
	s.asked = nil
	return verdicts
}

// question is a request of the code to a judge or an embedder.
type question struct {
	Output        string  `json:"output"`
	Question      string  `json:"question"`
	Expect        string  `json:"expect"`
	Votes         int     `json:"votes"`
	IncludePrompt *bool   `json:"includePrompt"`
	Text          string  `json:"text"`
	Threshold     float64 `json:"threshold"`
}

// judge performs assert.judge of the module plumb.
func (s *codeSession) judge(ctx context.Context, args []string) (any, error) {
	return s.ask(ctx, "judge", args, func(q *question) *check.Check {
		k := check.LLMJudge(q.Question, q.Votes)
		if q.Expect == "no" {
			k = k.Not()
		}
		return k
	})
}

// similar performs assert.similar of the module plumb.
func (s *codeSession) similar(ctx context.Context, args []string) (any, error) {
	return s.ask(ctx, "similar", args, func(q *question) *check.Check {
		return check.SemanticSimilarity([]string{q.Text}, q.Threshold)
	})
}

func (s *codeSession) ask(ctx context.Context, name string, args []string,
	of func(*question) *check.Check,
) (any, error) {
	var q question
	if json.Unmarshal([]byte(args[0]), &q) != nil {
		return nil, errArguments
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
	v.Name = name
	s.asked = append(s.asked, v)
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

// classify calls the function with the documented result of the session. After an error the class
// remains as it was.
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
	if err := k.suite.call(ctx, &answer, "classify", k.id, nil, result); err != nil {
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
		Error: failure{Name: "Error"},
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
