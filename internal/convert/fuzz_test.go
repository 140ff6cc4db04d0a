package convert_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/plumb-eval/plumb/internal/convert"
)

// FuzzConvert converts any document: it may be refused, but not crash, and a suite that is written
// has a case.
func FuzzConvert(f *testing.F) {
	f.Add("promptfooconfig.yaml", "prompts: ['{{a}}']\nproviders: [echo]\ntests: [{vars: {a: [x, y]}, assert: [{type: contains, value: x}]}]\n")
	f.Add("evals.json", `{"skill_name":"s","evals":[{"id":1,"prompt":"p","expectations":["e"]}]}`)
	f.Add("a.jsonl", `{"input":[{"role":"user","content":"2+2?"}],"ideal":"4"}`)
	f.Add("a.json", `[{"input":"2+2?","target":"4"}]`)
	f.Add("a.csv", "q,__expected\nhi,contains:h\n")
	f.Fuzz(func(t *testing.T, name, text string) {
		switch filepath.Ext(name) {
		case ".yaml", ".json", ".jsonl", ".csv": // code would run for its time limit
		default:
			return
		}
		file := filepath.Join(t.TempDir(), filepath.Base(name))
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Skip() // not a name of a file
		}
		_ = convert.Data(name, []byte(text))
		_, _, _ = convert.Suggest(name, []byte(text))
		if r, err := convert.File(t.Context(), file, convert.Tools{}); err == nil && r.Suite != nil && r.Cases == 0 {
			t.Errorf("a suite without cases:\n%s", r.Suite)
		}
	})
}
