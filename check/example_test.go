package check_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/check"
)

// judge prints the verdict of a check on a session.
func judge(c *check.Check, report plumb.SessionReport) {
	verdicts, err := c.Assert(context.Background(), plumb.Evidence{Report: &report})
	if err != nil {
		fmt.Println(err)
		return
	}
	v := verdicts[0]
	fmt.Println(v.Pass, v.Name+":", v.Reason)
}

func ExampleContains() {
	c := check.Contains("paris", &check.Text{IgnoreCase: true})
	judge(c, plumb.SessionReport{FinalOutput: "It is Paris."})
	judge(c.Not(), plumb.SessionReport{FinalOutput: "It is Paris."})
	// Output:
	// true contains: the output contains "paris"
	// false contains: want the opposite: the output contains "paris"
}

func ExampleAllOf() {
	c := check.AllOf(
		check.StartsWith([]string{"Yes"}, nil),
		check.Contains("AI", nil).Not().Named("no preamble"),
	)
	judge(c, plumb.SessionReport{FinalOutput: "Yes, it does."})
	judge(c, plumb.SessionReport{FinalOutput: "Yes, I am an AI."})
	// Output:
	// true all_of: passed 2 of 2 checks
	// false all_of: no preamble: want the opposite: the output contains "AI"
}

func ExampleNumeric() {
	c, err := check.Numeric(3.14159, check.Tolerance{Absolute: 0.005})
	if err != nil {
		fmt.Println(err)
		return
	}
	judge(c, plumb.SessionReport{FinalOutput: "Pi is 3.14, roughly."})
	judge(c, plumb.SessionReport{FinalOutput: "Pi is 3."})
	// Output:
	// true numeric: the last number is 3.14, want 3.14159 ± 0.005
	// false numeric: the last number is 3, want 3.14159 ± 0.005
}

func ExampleRanCommand() {
	pushes, err := check.RanCommand(check.Seen{
		Command: check.CommandLine{Executable: "git", Positionals: []string{"push"}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	judge(pushes, plumb.SessionReport{Events: []plumb.SessionEvent{
		{Type: plumb.SessionCommand, Command: "make"},
		{Type: plumb.SessionCommand, Command: "git push"},
	}})
	judge(pushes, plumb.SessionReport{})
	// Output:
	// true ran_command: matched 1 command, want at least 1; observed commands: make | git push
	// false ran_command: matched 0 commands, want at least 1; observed commands: (none)
}

func ExampleMaxTokens() {
	judge(check.MaxTokens(200), plumb.SessionReport{Usage: plumb.Usage{OutputTokens: new(int64(250))}})
	judge(check.MaxTokens(200), plumb.SessionReport{})
	// Output:
	// false max_tokens: the answer took 250 output tokens, want at most 200
	// false max_tokens: could not be checked: the number of output tokens is unknown
}

func ExampleParse() {
	c, problems := check.Parse(json.RawMessage(`{"type": "contains", "case_sensitiv": false}`), check.Ideal{})
	fmt.Println(c == nil)
	for _, p := range problems {
		fmt.Printf("%q: %s; %s\n", p.Pointer, p.Message, p.Hint)
	}
	// Output:
	// true
	// "/case_sensitiv": unknown key "case_sensitiv"; did you mean "case_sensitive"?
	// "": contains needs an "ideal";
}

func ExampleKinds() {
	for _, kind := range check.Kinds()[:2] {
		fmt.Printf("%s passes if %s.\n", kind.Name, kind.Doc)
	}
	// Output:
	// exact_match passes if the output equals the ideal; white space around both is ignored.
	// equals_any passes if the output equals one of the ideals; white space around both is ignored.
}

func ExampleParseCommand() {
	c := check.ParseCommand(`bash -lc "git commit -m 'fix it' --amend"`)
	fmt.Println(c.Executable, c.Positionals, c.Options["-m"][0].Value, c.Options["--amend"][0].Flag, c.FromShell)
	// Output: git [commit] fix it true true
}
