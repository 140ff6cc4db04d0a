package check_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/check"
	"github.com/plumb-eval/plumb/internal/doc"
)

// code parses a check in code, whose compiled form is c.
func code(t *testing.T, spec string, vars string, c check.Compiled, err error) (*check.Check, []check.Problem) {
	t.Helper()
	v, problem := doc.ParseJSON("", []byte(spec))
	if problem != nil {
		t.Fatal(problem)
	}
	env := check.Env{Compile: func(check.Code) (check.Compiled, error) { return c, err }}
	if vars != "" {
		env.Vars = json.RawMessage(vars)
	}
	return check.ParseIn(&v, check.Ideal{}, env)
}

// TestResultsOfCode checks what the result of a function or a program means.
func TestResultsOfCode(t *testing.T) {
	const advice = "return true or false, a number, or {pass, score, reason}"
	for _, test := range []struct {
		result, spec string // the spec may be "" for one without a threshold
		pass         bool
		score        float64
		reason       string // or that of the error, if it is not a pass or a fail
		broken       bool
	}{
		{result: `true`, pass: true, score: 1, reason: "the result is true"},
		{result: `false`, reason: "the result is false"},
		{result: `0.25`, pass: true, score: 0.25, reason: "the result is 0.25, want more than 0"},
		{result: `7`, pass: true, score: 1, reason: "the result is 7, want more than 0"},
		{result: `0`, reason: "the result is 0, want more than 0"},
		{result: `-1`, reason: "the result is -1, want more than 0"},
		{result: `3`, spec: `"threshold":3`, pass: true, score: 1, reason: "the result is 3, want at least 3"},
		{result: `0.5`, spec: `"threshold":0.75`, score: 0.5, reason: "the result is 0.5, want at least 0.75"},
		{result: `0`, spec: `"threshold":0`, pass: true, reason: "the result is 0, want at least 0"},
		{result: `{"pass":true}`, pass: true, score: 1, reason: "the result is a pass"},
		{result: `{"pass":false,"score":null,"reason":null}`, reason: "the result is a fail"},
		{result: `{"pass":true,"score":0.5,"reason":" fine "}`, pass: true, score: 0.5, reason: "fine"},
		{result: `{"pass":false,"score":3,"reason":" "}`, score: 1, reason: "the result is a fail"},
		{result: `{"pass":true,"score":-3}`, pass: true, reason: "the result is a pass"},

		{result: `1e999`, broken: true, reason: "the result is 1e999: the number is not finite"},
		{result: `"yes"`, broken: true, reason: `the result is "yes": want a boolean, a number or an object, not a string`},
		{result: `null`, broken: true, reason: "the result is null: want a boolean, a number or an object, not null"},
		{result: `{}`, broken: true, reason: "the result is {}: an object needs pass, which is true or false"},
		{result: `{"pass":1}`, broken: true, reason: `the result is {"pass":1}: an object needs pass, which is true or false`},
		{
			result: `{"pass":true,"score":"1"}`, broken: true,
			reason: `the result is {"pass":true,"score":"1"}: score must be a number`,
		},
		{
			result: `{"pass":true,"reason":1}`, broken: true,
			reason: `the result is {"pass":true,"reason":1}: reason must be a string`,
		},
	} {
		c, problems := code(t, `{"type":"js","expr":"f()"`+strings.TrimSuffix(","+test.spec, ",")+`}`, "", check.Compiled{
			Run: func(context.Context, plumb.Evidence, json.RawMessage) (json.RawMessage, error) {
				return json.RawMessage(test.result), nil
			},
		}, nil)
		if c == nil {
			t.Fatal(problems)
		}
		verdicts, err := c.Assert(t.Context(), plumb.Evidence{Report: &plumb.SessionReport{FinalOutput: "an answer"}})
		if err != nil || len(verdicts) != 1 {
			t.Fatal(verdicts, err)
		}
		v := verdicts[0]
		if test.broken {
			if v.Error == nil || v.Error.Message != test.reason || v.Error.Hint != advice ||
				v.Error.Origin != plumb.OriginAssertHook {
				t.Errorf("%s: got %+v, %+v", test.result, v, v.Error)
			}
			continue
		}
		if v.Error != nil || v.Pass != test.pass || v.Score != test.score || v.Reason != test.reason ||
			v.Got != "an answer" || string(v.Details) != `{"result":`+test.result+`}` {
			t.Errorf("%s: got %+v, details %s", test.result, v, v.Details)
		}
	}
}

// TestCodeThatCannotRun checks which sessions code cannot judge, and that the failure of code that
// broke keeps its origin.
func TestCodeThatCannotRun(t *testing.T) {
	returns := func(err error) check.Compiled {
		return check.Compiled{Run: func(context.Context, plumb.Evidence, json.RawMessage) (json.RawMessage, error) {
			return json.RawMessage(`true`), err
		}}
	}
	for _, test := range []struct {
		name     string
		compiled check.Compiled
		report   plumb.SessionReport
		origin   plumb.Origin
		message  string
	}{
		{
			"outside of a suite",
			check.Compiled{},
			plumb.SessionReport{},
			plumb.OriginAssertHook, "code of a check runs only in a suite that is a file",
		},
		{
			"redacted", returns(nil),
			plumb.SessionReport{Redacted: []string{"A_KEY"}},
			plumb.OriginAssertHook, "secrets were removed",
		},
		{
			"cut off", returns(nil),
			plumb.SessionReport{Incomplete: []string{"finalOutput"}},
			plumb.OriginAssertHook, "the final output is cut off",
		},
		{"an error", returns(errors.New("no file")), plumb.SessionReport{}, plumb.OriginAssertHook, "no file"},
		{
			"a failure", returns(plumb.Failuref(plumb.OriginJudge, "silent")),
			plumb.SessionReport{},
			plumb.OriginJudge, "silent",
		},
	} {
		c, problems := code(t, `{"type":"command","run":["f"]}`, "", test.compiled, nil)
		if c == nil {
			t.Fatal(problems)
		}
		verdicts, err := c.Assert(t.Context(), plumb.Evidence{Report: &test.report})
		if err != nil || len(verdicts) != 1 || verdicts[0].Error == nil {
			t.Fatal(verdicts, err)
		}
		if f := verdicts[0].Error; f.Origin != test.origin || !strings.Contains(f.Message, test.message) {
			t.Errorf("%s: got %+v", test.name, f)
		}
	}
}

// TestSpecsOfCode checks the canonical form of checks in code, and the problems of those that say too
// little or too much.
func TestSpecsOfCode(t *testing.T) {
	for _, test := range []struct {
		spec, vars, hash string
		err              error
		want             string // the canonical form, or the first problem
	}{
		{spec: `{"type":"js","expr":"true"}`, want: `{"expr":"true","not":false,"type":"js","weight":1}`},
		{
			spec: `{"type":"js","expr":"true","threshold":2,"timeout_ms":5}`, vars: `{"b":1, "a":[2]}`,
			want: `{"expr":"true","not":false,"threshold":2,"timeout_ms":5,"type":"js","vars":{"a":[2],"b":1},"weight":1}`,
		},
		{spec: `{"type":"js","file":"f.js"}`, want: `{"file":"f.js","not":false,"type":"js","weight":1}`},
		{spec: `{"type":"js","file":"f.js"}`, hash: "h", want: `{"files":"h","not":false,"type":"js","weight":1}`},
		{
			spec: `{"type":"command","run":["f","-x"]}`, hash: "h",
			want: `{"files":"h","not":false,"run":["f","-x"],"type":"command","weight":1}`,
		},
		{spec: `{"type":"command","run":[" "]}`, want: "the name of the program is empty"},
		{spec: `{"type":"js"}`, want: `js needs "expr" or "file"`},
		{spec: `{"type":"js","expr":"true","file":"f.js"}`, want: `give only one of "expr" and "file"`},
		{spec: `{"type":"js","expr":"tru e"}`, err: errors.New("unexpected e"), want: "unexpected e"},
	} {
		c, problems := code(t, test.spec, test.vars, check.Compiled{Hash: test.hash}, test.err)
		got := ""
		if c != nil {
			got = string(c.Canonical())
		} else if i := slices.IndexFunc(problems, func(p check.Problem) bool { return !p.Warning }); i >= 0 {
			got = problems[i].Message
		}
		if !strings.Contains(got, test.want) || c != nil && got != test.want {
			t.Errorf("%s: got %s, want %s", test.spec, got, test.want)
		}
	}
}
