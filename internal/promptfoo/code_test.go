package promptfoo_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/plumb-eval/plumb/internal/convert"
)

// TestF4_ValuesAreNoCode: a value that a template would paste into JavaScript is carried over if it
// is a word or a number, and else the test is left out, with the reason.
func TestF4_ValuesAreNoCode(t *testing.T) {
	for value, want := range map[string]int{
		"Paris": 1, "42": 1, "São Paulo": 1, `right" || true || "`: 0, "a'b": 0, "`${1}`": 0, `\`: 0, "a\nb": 0, "1) || (1": 0, "x;y": 0, "/*": 0,
	} {
		quoted, _ := json.Marshal(value)
		config := `{"prompts": ["Q {{ y }}"], "providers": ["echo"], "tests": [{"vars": {"y": ` + string(quoted) +
			`}, "assert": [{"type": "javascript", "value": "output === \"{{ y }}\""}]}]}`
		file := filepath.Join(t.TempDir(), "promptfooconfig.json")
		if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := convert.File(t.Context(), file, convert.Tools{})
		if err != nil || r.Cases != want {
			t.Errorf("%q: %+v, %v", value, r, err)
		}
	}
}
