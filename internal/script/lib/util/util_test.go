package util_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plumb-eval/plumb/internal/script"
)

// differs lists the calls whose results are not those of Node to the letter, and why.
func differs() map[string]string {
	return map[string]string{
		`i(Promise.resolve(1))`: "the engine does not tell what a promise came to",
	}
}

// The golden file is what Node 22.23.3 says to the same table: UPDATE=1 asks the node on the PATH, which must be a Node 22.
func TestResultsAreThoseOfNode(t *testing.T) {
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
	var want []struct{ Call, Result string }
	if err := json.Unmarshal(data, &want); err != nil {
		t.Fatal(err)
	}
	got := ours(t)
	if len(got) != len(want) {
		t.Fatalf("%d calls here, %d in Node", len(got), len(want))
	}
	reasons, same := differs(), 0
	for i, w := range want {
		reason := reasons[w.Call]
		switch {
		case got[i] == w.Result && reason != "":
			t.Errorf("%s is like Node's now; take it off the list", w.Call)
		case got[i] != w.Result && reason == "":
			t.Errorf("%s\n  Node:  %q\n  Plumb: %q", w.Call, w.Result, got[i])
		}
		if got[i] == w.Result {
			same++
		}
		delete(reasons, w.Call)
	}
	for call := range reasons {
		t.Errorf("%s is listed as different, and not in the table", call)
	}
	t.Logf("%d of %d are identical to Node's", same, len(want))
}

// ours runs the table in the engine.
func ours(t *testing.T) []string {
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
		"run": `__entry.run = () => runUtilTable(require("node:util"))`,
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer vm.Close()
	raw, err := vm.Call(t.Context(), "run")
	if err != nil {
		t.Fatal(err)
	}
	var results []string
	if err := json.Unmarshal(raw, &results); err != nil {
		t.Fatal(err)
	}
	return results
}
