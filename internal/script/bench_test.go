package script_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plumb-eval/plumb/internal/script"
)

const benchSuite = `import assert from "node:assert/strict";
import path from "node:path";
import { define } from "plumb";
define("small", (n: number) => { assert.equal(n, 1); return path.join("a", "b"); });
define("report", (report: { events: { text: string }[] }) => { assert.ok(report.events.some((e) => /event 4999$/.test(e.text))); return report.events.length; });
define("asserts", () => { for (let i = 0; i < 1000; i++) { assert.equal(i, i); assert.match("some text", /text/); assert.deepEqual({ a: [i] }, { a: [i] }); } });
`

func benchProgram(b *testing.B) *script.Program {
	b.Helper()
	path := filepath.Join(b.TempDir(), "suite.ts")
	if err := os.WriteFile(path, []byte(benchSuite), 0o644); err != nil {
		b.Fatal(err)
	}
	p, err := script.Build(script.BuildOptions{Entry: path, Modules: map[string]bool{"plumb": true}})
	if err != nil {
		b.Fatal(err)
	}
	return p
}

func benchVM(b *testing.B) *script.VM {
	b.Helper()
	vm, err := script.Start(b.Context(), benchProgram(b),
		script.Environment{Modules: map[string]string{"plumb": plumbModule}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = vm.Close() })
	return vm
}

func BenchmarkBuild(b *testing.B) {
	entry := benchProgram(b).Entry
	for b.Loop() {
		if _, err := script.Build(script.BuildOptions{
			Entry:   entry,
			Modules: map[string]bool{"plumb": true},
		}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkStart(b *testing.B) {
	p := benchProgram(b)
	for b.Loop() {
		vm, err := script.Start(b.Context(), p, script.Environment{Modules: map[string]string{"plumb": plumbModule}})
		if err != nil {
			b.Fatal(err)
		}
		if err := vm.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCall(b *testing.B) {
	vm := benchVM(b)
	type event struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	report := struct {
		Events []event `json:"events"`
	}{}
	for range 5000 {
		report.Events = append(report.Events, event{
			"assistant",
			strings.Repeat("some words of an answer\n", 80) + "event 4999",
		})
	}
	large, err := json.Marshal(report)
	if err != nil {
		b.Fatal(err)
	}
	for name, arg := range map[string]any{"small": 1, "report": json.RawMessage(large), "asserts": nil} {
		b.Run(name, func(b *testing.B) {
			if name == "report" {
				b.SetBytes(int64(len(large)))
			}
			for b.Loop() {
				if _, err := vm.Call(b.Context(), name, arg); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
