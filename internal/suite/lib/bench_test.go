package lib

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plumb-eval/plumb/internal/script"
)

// BenchmarkChecks times checks that hold, on a report with 500 events: a million of them in a suite must not matter.
func BenchmarkChecks(b *testing.B) {
	for name, code := range map[string]string{
		"text":       `assert.commands.includes(r, "step 249 ")`,
		"regexp":     `assert.commands.includes(r, /step 249\b/)`,
		"structured": `assert.commands.includes(r, { executable: "run", positionals: ["249"] })`,
		"equal":      `assert.equal(r.events.length, 500)`,
	} {
		b.Run(name, func(b *testing.B) {
			file := b.TempDir() + "/a.ts"
			if err := os.WriteFile(file, fmt.Appendf(nil, `import { assert } from "plumb";
export default [{ id: "a", prompt: "x", assert(r) { for (let i = 0; i < r.times; i++) %s; } }];`, code), 0o666); err != nil {
				b.Fatal(err)
			}
			v := vm(b, file, script.Environment{})
			var events []string
			for i := range 250 {
				events = append(events,
					fmt.Sprintf(`{"type":"command","command":"bash -lc \"run step %d --verbose --out=/tmp/x\""}`, i),
					`{"type":"message","role":"assistant","text":"on it"}`)
			}
			report := json.RawMessage(fmt.Sprintf(`{"times":%d,"events":[%s]}`, b.N, strings.Join(events, ",")))
			b.ResetTimer()
			if got := call[judged](b, v, "assert", "a", report, evidence("")); len(got.Failures) > 0 {
				b.Fatal(got.Failures)
			}
		})
	}
}

// BenchmarkStart times a VM with the modules, up to the description of a suite.
func BenchmarkStart(b *testing.B) {
	entry, err := filepath.Abs(suites + "/basics.suite.ts")
	if err != nil {
		b.Fatal(err)
	}
	program, err := script.Build(script.BuildOptions{Entry: entry, Modules: names(Modules()), Preload: []string{entryName}})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		v, err := script.Start(b.Context(), program, script.Environment{Modules: Modules()})
		if err != nil {
			b.Fatal(err)
		}
		call[description](b, v, "describe")
		if err := v.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
