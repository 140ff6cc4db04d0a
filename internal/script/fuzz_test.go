package script_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/plumb-eval/plumb/internal/script"
)

// FuzzBuild: no source makes Build panic, and what builds can be started and stopped.
func FuzzBuild(f *testing.F) {
	for _, seed := range []string{
		"export default [{id: 'a'}]", "import x from 'node:fs'; x.readFileSync(import.meta.url)",
		"await import('./' + name)",
		"const re = /[/]\\/`/g; `a${`b${1}`}c`; __dirname", "import('x'", "`${", "/*", "'\\", "}}}", "import.meta",
		"#!/usr/bin/env node\nlet a", "a = b / c / `${d}`",
		"throw new Error('x')", "\xff\xfe", "@d class A { @e #f }", "using x = null", "enum A { B = `c` }",
		"export = 1", "return 1", "let \u2028 x", "<div/>", "new (class extends Error {})",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		path := filepath.Join(t.TempDir(), "a.ts")
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		p, err := script.Build(script.BuildOptions{Entry: path})
		if err != nil {
			return
		}
		ctx, cancel := timeout(t, 200*time.Millisecond)
		defer cancel()
		vm, err := script.Start(ctx, p, script.Environment{
			MemoryLimit: 64 << 20,
			Policy:      script.Policy{ReadOnly: true, NoExec: true},
		})
		if err == nil {
			_ = vm.Close()
		}
	})
}
