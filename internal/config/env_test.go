package config

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plumb-eval/plumb/internal/doc"
)

func TestDotEnv(t *testing.T) {
	dir := t.TempDir()
	getenv := func(name string) string { return map[string]string{"SHELL_WINS": "shell"}[name] }
	if vars, err := DotEnv(dir, getenv); err != nil || len(vars) > 0 {
		t.Errorf("no file: %v, %v", vars, err)
	}
	file := filepath.Join(dir, ".env")
	write(t, file, "\xEF\xBB\xBFA=1\r\n# note\r\nexport B=\"two words\"\r\nSHELL_WINS=file\r\nC='a#b' # note\r\nD=\"x\\ny\"\r\n")
	vars, err := DotEnv(dir, getenv)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"A": "1", "B": "two words", "C": "a#b", "D": "x\ny"}, vars); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for text, line := range map[string]int{
		"A=1\n\nwhat is this\nB=2\n": 3, "sk-secret-value!": 1, "A=\"multi\nline\"\nB=\"open\nC=3\n": 3,
	} {
		write(t, file, text)
		_, err := DotEnv(dir, getenv)
		found, ok := errors.AsType[doc.Problems](err)
		if !ok || found[0].Pos.Line != line || found[0].Pos.File != file || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q gives %v, want line %d", text, err, line)
		}
	}
}
