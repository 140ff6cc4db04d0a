package convert

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/suite/lib"
)

// TestF11_ConfigEnds: a config in code that does not end, or that fills the memory, is an error
// that names the file, and leaves no temporary directory.
func TestF11_ConfigEnds(t *testing.T) {
	for text, want := range map[string]string{
		`while (true) {}`: "did not finish loading within 2s",
		`module.exports = () => { while (true) {} }`:                      "the function that it exports did not end within 2s",
		`module.exports = () => new Promise(() => {})`:                    "promise never settled",
		`module.exports = () => new Promise((r) => setTimeout(r, 60000))`: "did not end within 2s",
		`const all = []; for (;;) all.push("x".repeat(1e6) + all.length)`: "out of memory",
		`module.exports = () => { throw new Error("no") }`:                "no",
	} {
		dir := t.TempDir()
		t.Setenv("TMPDIR", dir)
		file := filepath.Join(dir, "promptfooconfig.js")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		_, err := File(t.Context(), file, Tools{Host: lib.Host{LoadTimeout: 2 * time.Second, MemoryLimit: 32 << 20}})
		problems, ok := err.(doc.Problems) //nolint:errorlint // as the command sees it
		if !ok || !strings.Contains(err.Error(), want) || problems[0].Pos.File != file {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
		if took := time.Since(began); took > 30*time.Second {
			t.Errorf("%s took %v", text, took)
		}
		if left, err := filepath.Glob(filepath.Join(dir, "plumb-*")); err != nil || len(left) > 0 {
			t.Errorf("%s left %v", text, left)
		}
	}
}
