package assert_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plumb-eval/plumb/internal/script"
)

// result is what became of one line of table.js.
type result struct {
	Check            string `json:"check"`
	Passed           bool   `json:"passed,omitempty"`
	Name             string `json:"name,omitempty"`
	Code             string `json:"code,omitempty"`
	Operator         string `json:"operator,omitempty"`
	GeneratedMessage *bool  `json:"generatedMessage,omitempty"`
	Message          string `json:"message,omitempty"`
	Text             string `json:"text,omitempty"`
}

// differs lists the assertions whose errors are not those of Node to the letter, and why.
func differs() map[string]string {
	return map[string]string{
		`assert.deepStrictEqual(new Error("a"), { message: "a" })`: "the message shows the stack of the error, and the frames are ours",
	}
}

// The golden file is what Node 22.23.3 says to the same table: UPDATE=1 asks the node on the PATH, which must be a Node 22.
func TestErrorsAreThoseOfNode(t *testing.T) {
	const golden = "testdata/table.golden.json"
	if os.Getenv("UPDATE") != "" {
		version, err := exec.CommandContext(t.Context(), "node", "--version").Output()
		if err != nil || !strings.HasPrefix(string(version), "v22.") {
			t.Fatalf("this wants a Node 22, and node --version says %q (%v)", version, err)
		}
		data, err := exec.CommandContext(t.Context(), "node", "testdata/node.cjs").Output()
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(golden, data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	var want []result
	if err := json.Unmarshal(data, &want); err != nil {
		t.Fatal(err)
	}
	got := ours(t)
	if len(got) != len(want) || len(got) < 150 {
		t.Fatalf("%d assertions here, %d in Node", len(got), len(want))
	}
	reasons, same := differs(), 0
	for i := range got {
		got[i].Check = want[i].Check // the bundler writes the same in other words
		diff := cmp.Diff(want[i], got[i])
		reason := reasons[want[i].Check]
		switch {
		case got[i].Passed:
			t.Errorf("%s does not fail", want[i].Check)
		case diff == "" && reason != "":
			t.Errorf("%s is like Node's now; take it off the list", want[i].Check)
		case diff != "" && reason == "":
			t.Errorf("%s (-Node +Plumb):\n%s", want[i].Check, diff)
		}
		if diff == "" {
			same++
		}
		delete(reasons, want[i].Check)
	}
	for check := range reasons {
		t.Errorf("%s is listed as different, and not in the table", check)
	}
	t.Logf("%d of %d are identical to Node's", same, len(want))
}

// ours runs the table in the engine.
func ours(t *testing.T) []result {
	t.Helper()
	entry, err := filepath.Abs("testdata/suite.js")
	if err != nil {
		t.Fatal(err)
	}
	program, err := script.Build(script.BuildOptions{Entry: entry, Modules: map[string]bool{"run": true}})
	if err != nil {
		t.Fatal(err)
	}
	vm, err := script.Start(t.Context(), program, script.Environment{Modules: map[string]string{
		"run": `__entry.run = () => runAssertTable(require("node:assert"))`,
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer vm.Close()
	raw, err := vm.Call(t.Context(), "run")
	if err != nil {
		t.Fatal(err)
	}
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		t.Fatal(err)
	}
	var results []result
	if err := json.Unmarshal([]byte(text), &results); err != nil {
		t.Fatal(err)
	}
	return results
}
