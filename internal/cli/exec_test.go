package cli

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestExecCommand(t *testing.T) {
	dir := t.TempDir()
	script := `import { parseCommand } from "plumb/testing";
console.log(parseCommand("pnpm test").executable, process.argv.slice(2).join(","), process.cwd() === import.meta.dirname);
if (process.argv.includes("--fail")) throw new Error("it failed");`
	if err := os.WriteFile(filepath.Join(dir, "a.ts"), []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, errs strings.Builder
	a := &app{Env: Env{Dir: dir, Stdout: &out, Stderr: &errs, Environ: func() []string { return nil }}}
	run := func(args ...string) error {
		out.Reset()
		errs.Reset()
		cmd := execCommand(a)
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		cmd.SetArgs(args)
		return cmd.ExecuteContext(t.Context())
	}
	if err := run("a.ts", "--fast", "x"); err != nil || out.String() != "pnpm --fast,x true\n" || errs.String() != "" {
		t.Errorf("got %v\n%s\n%s", err, out.String(), errs.String())
	}
	err := run("a.ts", "--fail")
	if code, ok := errors.AsType[exitError](err); !ok || code.code != 1 || !strings.Contains(errs.String(), "it failed") || !strings.Contains(errs.String(), "a.ts:3:") {
		t.Errorf("got %v\n%s", err, errs.String())
	}
	if err := run("missing.ts"); err == nil || !strings.Contains(err.Error(), "missing.ts") {
		t.Errorf("got %v", err)
	}
}
