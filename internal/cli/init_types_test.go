package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/plumb-eval/plumb/internal/suite"
)

func TestWriteTypes(t *testing.T) {
	dir := t.TempDir()
	a, forced := &initCmd{app: &app{Env: Env{Dir: dir}}}, &initCmd{app: &app{Env: Env{Dir: dir}}, force: true}
	files, err := a.writeTypes()
	if err != nil || !slices.Equal(files, []string{typesFile, tsconfigFile}) {
		t.Fatalf("wrote %v, %v", files, err)
	}
	put := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	get := func(name string) string {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}

	// A tsconfig is the user's own, types of an earlier version are not.
	head, _, _ := strings.Cut(suite.Types(), "\n")
	put(tsconfigFile, "{}")
	put(typesFile, head+"\nexport {};\n")
	if files, err = a.writeTypes(); err != nil || !slices.Equal(files, []string{typesFile}) {
		t.Fatalf("wrote %v, %v", files, err)
	}
	if get(tsconfigFile) != "{}" || get(typesFile) != suite.Types() {
		t.Error("the wrong file was replaced")
	}

	put(typesFile, "// mine\n")
	if _, err = a.writeTypes(); err == nil || get(typesFile) != "// mine\n" {
		t.Errorf("somebody else's file was replaced: %v", err)
	}
	if _, err = forced.writeTypes(); err != nil || get(typesFile) != suite.Types() {
		t.Errorf("force: %v", err)
	}
}
