package check

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/text"
)

// Code is what an author wrote to judge sessions. One of Expr, File and Run is set.
type Code struct {
	// Expr is a JavaScript expression, or the body of a function with return.
	Expr string
	// File is a JavaScript or TypeScript file whose default export is a function.
	File string
	// Run is a program with its arguments.
	Run []string
	// Timeout limits one call; 0 means the default.
	Timeout time.Duration
}

// Compiled is code that is ready to run.
type Compiled struct {
	// Hash identifies the content of the files that the code names; "" if it names none.
	Hash string
	// Run judges a session and returns JSON: a boolean, a number, or an object with pass, score and
	// reason. vars are the variables of the case as JSON, or nil. An error means that the code broke.
	Run func(ctx context.Context, ev plumb.Evidence, vars json.RawMessage) (json.RawMessage, error)
}

// Env is what a spec may need of its suite. The zero value is that of a spec outside of a suite.
type Env struct {
	// Compile prepares the code of js and command. Without it, these checks are errors.
	Compile func(Code) (Compiled, error)
	// Vars are the variables of the case, as a JSON object; nil if it has none.
	Vars json.RawMessage
}

func timeoutKey(value string) Key {
	return Key{
		Name: "timeout_ms", Type: "integer", Positive: true, Default: value,
		Doc: "the time limit of one call in milliseconds; a call that takes longer is an error",
	}
}

func scoreKey() Key {
	return Key{
		Name: "threshold", Type: "number",
		Doc: "the least number that passes, if the result is a number; without it, a number above 0 passes",
	}
}

const codeDetails = "`result`, as the code returned it"

func jsKind() Kind {
	return Kind{
		Name: "js", Doc: "a JavaScript expression or function accepts the session", Reads: "code",
		Keys: []Key{
			{Name: "expr", Type: "string", NotEmpty: true, Doc: "an expression, or the body of a function with `return`"},
			{
				Name: "file", Type: "string", NotEmpty: true,
				Doc: "instead of `expr`: a .js or .ts file that exports a function; the path starts at the suite's directory",
			},
			scoreKey(), timeoutKey("30000"),
		},
		Details: codeDetails, parse: (*spec).codeMatcher,
	}
}

func commandKind() Kind {
	return Kind{
		Name: "command", Doc: "a program accepts the session", Reads: "code",
		Keys: []Key{
			{
				Name: "run", Type: "strings", Required: true, NotEmpty: true,
				Doc: "the program and its arguments; it runs in the suite's directory, without a shell",
			},
			scoreKey(), timeoutKey("30000"),
		},
		Details: codeDetails, parse: (*spec).codeMatcher,
	}
}

// codeMatcher is js and command.
type codeMatcher struct {
	offline
	code      Code
	compiled  Compiled
	threshold *float64
	vars      json.RawMessage
}

func (s *spec) codeMatcher() matcher {
	m := &codeMatcher{
		code: Code{
			Expr: s.textOr("expr"), File: s.textOr("file"), Run: s.strings("run"),
			Timeout: time.Duration(s.number("timeout_ms")) * time.Millisecond,
		},
		vars: s.env.Vars,
	}
	if s.Get("threshold") != nil {
		m.threshold = new(s.number("threshold"))
	}
	key := map[bool]string{true: "run", false: "expr"}[s.kind.Name == "command"]
	switch {
	case s.kind.Name == "command" && strip(m.code.Run[0]) == "":
		s.bad("run", "the name of the program is empty")
		return m
	case s.kind.Name == "command":
	case m.code.Expr == "" && m.code.File == "":
		s.bad("", `js needs "expr" or "file"`)
		return m
	case m.code.Expr != "" && m.code.File != "":
		s.bad("file", `give only one of "expr" and "file"`)
		return m
	case m.code.File != "":
		key = "file"
	}
	if s.env.Compile != nil {
		var err error
		if m.compiled, err = s.env.Compile(m.code); err != nil {
			s.hint(key, plumb.Hint(err), "%s", err)
		}
	}
	return m
}

func (m *codeMatcher) describe(o options) {
	switch {
	case m.code.Expr != "":
		o["expr"] = m.code.Expr
	case m.code.File != "" && m.compiled.Hash == "":
		o["file"] = m.code.File
	case len(m.code.Run) > 0:
		o["run"] = m.code.Run
	}
	if m.compiled.Hash != "" {
		o["files"] = m.compiled.Hash
	}
	if m.threshold != nil {
		o["threshold"] = *m.threshold
	}
	if m.code.Timeout > 0 {
		o["timeout_ms"] = int(m.code.Timeout.Milliseconds())
	}
	if m.vars != nil {
		if vars, err := canonicalJSON(m.vars); err == nil {
			o["vars"] = vars
		}
	}
}

func (m *codeMatcher) match(ctx context.Context, ev *plumb.Evidence) plumb.Verdict {
	switch {
	case m.compiled.Run == nil:
		return unmeasured(plumb.Failuref(plumb.OriginAssertHook, "code of a check runs only in a suite that is a file"))
	case len(ev.Report.Redacted) > 0:
		return unmeasured(ev.Report.RemovedFailure())
	case slices.Contains(ev.Report.Incomplete, "finalOutput"):
		return unmeasured(plumb.Failuref(plumb.OriginAssertHook, "the final output is cut off"))
	}
	raw, err := m.compiled.Run(ctx, *ev, m.vars)
	if err != nil {
		return unmeasured(broken(err))
	}
	v, err := m.verdict(raw)
	if err != nil {
		return unmeasured(plumb.Failed(plumb.OriginAssertHook, plumb.WithHint(
			fmt.Errorf("the result is %s: %w", text.Shorten(shown(ev, string(raw)), quoteLimit), err),
			"return true or false, a number, or {pass, score, reason}")))
	}
	v.Reason = text.Shorten(shown(ev, v.Reason), shownLimit)
	v.Got = text.Shorten(shown(ev, ev.Report.FinalOutput), shownLimit)
	if len(raw) <= shownLimit {
		v.Details = details("result", raw)
	}
	return v
}

// broken is the failure of code that broke.
func broken(err error) *plumb.Failure {
	if f, ok := errors.AsType[*plumb.Failure](err); ok {
		return f
	}
	return plumb.Failed(plumb.OriginAssertHook, err)
}

// verdict reads the result of code: a boolean, a number, or an object with pass, score and reason.
// The score of a number is the number, within 0 and 1. The error says why it is none of them.
func (m *codeMatcher) verdict(raw json.RawMessage) (plumb.Verdict, error) {
	v, err := parseJSON(raw)
	if err != nil {
		return plumb.Verdict{}, err
	}
	switch v.Kind { //nolint:exhaustive // the others end in the error below
	case doc.Bool:
		pass := v.Text() == "true"
		return decided(pass, "the result is "+v.Text()), nil
	case doc.Number:
		n, ok := lenientNumber(&v)
		if !ok || math.IsInf(n, 0) {
			return plumb.Verdict{}, errors.New("the number is not finite")
		}
		pass, want := n > 0, "more than 0"
		if m.threshold != nil {
			pass, want = n >= *m.threshold, fmt.Sprintf("at least %g", *m.threshold)
		}
		out := decided(pass, fmt.Sprintf("the result is %g, want %s", n, want))
		out.Score = min(max(n, 0), 1)
		return out, nil
	case doc.Map:
		return verdictOf(&v)
	}
	return plumb.Verdict{}, fmt.Errorf("want a boolean, a number or an object, not %s", v.Kind.JSON())
}

// verdictOf reads an object with pass, score and reason. Other keys have no meaning.
func verdictOf(v *doc.Value) (plumb.Verdict, error) {
	pass, score, reason := v.Get("pass"), v.Get("score"), v.Get("reason")
	null := func(v *doc.Value) bool { return v == nil || v.Kind == doc.Null }
	if null(pass) || pass.Kind != doc.Bool {
		return plumb.Verdict{}, errors.New("an object needs pass, which is true or false")
	}
	out := decided(pass.Text() == "true", "the result is "+map[bool]string{true: "a pass", false: "a fail"}[pass.Text() == "true"])
	if !null(score) {
		n, ok := lenientNumber(score)
		if score.Kind != doc.Number || !ok {
			return plumb.Verdict{}, errors.New("score must be a number")
		}
		out.Score = min(max(n, 0), 1)
	}
	if !null(reason) {
		if reason.Kind != doc.String {
			return plumb.Verdict{}, errors.New("reason must be a string")
		}
		if text := strip(strings.ToValidUTF8(reason.Text(), "\uFFFD")); text != "" {
			out.Reason = text
		}
	}
	return out, nil
}
