package suite

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/script"
	"github.com/plumb-eval/plumb/internal/suite/lib"
)

// TestEventsOfReport: the events of a report are fetched when something looks at them, which no script can tell.
func TestEventsOfReport(t *testing.T) {
	const events = `[{ type: "message", at: "2026-11-20T12:00:00Z", role: "user", text: "go" },
		{ type: "command", command: "go test", exitCode: 0 }, { type: "toolResult", tool: "Bash", output: "ok" }]`
	imports := `import { assert as a } from "plumb"; import { inspect } from "node:util"; const events = ` + events + ";\n"
	bodies := []string{
		// What is fetched follows each body: the types, "" being all.
		"none", `a.match(report.finalOutput, /done/); a.ok(Array.isArray(report.events)); a.equal(Object.keys(report).includes("events"), true)`, "",
		"command", `a.commands.includes(report, "go test"); a.commands.count(report, "go test", 1); a.commands.notIncludes(report, "rm")`, "command",
		"several", `a.commands.includes(report, /go/); a.toolResults.includes(report, "ok")`, "command toolResult",
		"length", `a.equal(report.events.length, 3); a.commands.includes(report, "go test"); for (const e of report.events) a.ok(e.type)`, "*",
		"json", `a.deepEqual(JSON.parse(JSON.stringify({ report })).report.events, events)`, "*",
		"deep", `a.deepEqual(report.events, events); a.deepEqual({ ...report }, { ...report, events })`, "*",
		"unequal", `a.throws(() => a.deepEqual(report, {}), (e: Error) => !/Getter|Proxy/.test(e.message) && /type: 'toolResult'/.test(e.message))`, "*",
		"shown", `a.equal(inspect(report.events), inspect(events)); a.match(inspect({ report }, { depth: 9 }), /command: 'go test'/)`, "*",
		"cloned", `a.deepEqual(structuredClone(report).events, events)`, "*",
		"changed", `report.events.push({ type: "command", command: "more" } as any); a.commands.includes(report, "more"); a.equal(report.events.at(-1)!.type, "command")`, "*",
		"sorted", `report.events.reverse(); a.equal(report.events[0].type, "toolResult"); delete (report.events as any)[0]; a.ok(!(0 in report.events))`, "*",
		"frozen", `Object.freeze(report.events); a.equal(report.events.length, 3); a.throws(() => report.events.push(report.events[0]), TypeError)`, "*",
		"replaced", `report.events = []; a.commands.notIncludes(report, "go test"); a.equal(report.events.length, 0)`, "",
		"later", `setTimeout(() => { a.equal(report.events.length, 3); a.commands.includes(report, "go test") }, 20)`, "*",
		"awaits", `await new Promise((r) => setTimeout(r, 5)); a.commands.includes(report, "go test")`, "command",
	}
	var pairs []string
	for i := 0; i < len(bodies); i += 3 {
		pairs = append(pairs, bodies[i], bodies[i+1])
	}
	_, byID := loaded(t, suiteIn(t, map[string]string{"a.ts": imports + codeCases(pairs...)}), lib.Host{})
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for i := 0; i < len(bodies); i += 3 {
		c := byID[bodies[i]]
		k := c.Assertions[0].(*codeCheck)
		session := &codeSession{ev: plumb.Evidence{Case: c, Report: &plumb.SessionReport{Events: []plumb.SessionEvent{
			{Type: plumb.SessionMessage, At: &at, Role: "user", Text: "go"},
			{Type: plumb.SessionCommand, Command: "go test", ExitCode: new(0)},
			{Type: plumb.SessionToolResult, Tool: "Bash", Output: "ok"},
		}}}}
		report, err := reportJSON(&plumb.SessionReport{FinalOutput: "done"})
		if err != nil {
			t.Fatal(err)
		}
		var fetched []string
		options := k.suite.options
		options.Host = map[string]script.HostFunc{"events": func(ctx context.Context, args []json.RawMessage) (any, error) {
			var kind string
			_ = json.Unmarshal(args[0], &kind)
			fetched = append(fetched, cmp.Or(kind, "*"))
			return session.answer(session.events)(ctx, args)
		}}
		var out outcome
		err = k.suite.module.Judge(t.Context(), &out, lib.Judging{
			Options: options, Limit: time.Minute, Entry: "assert", Args: []any{c.ID, report, map[string]any{"lazy": true}},
		})
		if err != nil {
			t.Errorf("%s: %v", c.ID, err)
		}
		for _, v := range k.verdicts(session, &out) {
			if !v.Pass {
				t.Errorf("%s: %s", c.ID, v.Reason)
			}
		}
		if got := strings.Join(fetched, " "); got != bodies[i+2] {
			t.Errorf("%s fetched %q, want %q", c.ID, got, bodies[i+2])
		}
	}
}

// TestManyEventsOfReport: many events come in portions, none twice and none lost.
func TestManyEventsOfReport(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes long with the race detector, and all of it is one goroutine")
	}
	const n = 9_000
	_, byID := loaded(t, suiteIn(t, map[string]string{"a.ts": `import { assert } from "plumb";` + "\n" + codeCases(
		"type", fmt.Sprintf(`assert.toolResults.count(report, /^result/, %d); assert.toolResults.includes(report, "result %d ")`, n, n-1),
		"all", fmt.Sprintf(`assert.equal(report.events.length, %d); report.events.forEach((e, i) => { if (i %% 2) assert.equal((e as any).output.split(" ")[1], String((i - 1) / 2)); })`, 2*n),
	)}), lib.Host{})
	report := &plumb.SessionReport{FinalOutput: "done"}
	for i := range n {
		report.Events = append(report.Events, plumb.SessionEvent{Type: plumb.SessionToolCall, Tool: "Bash"},
			plumb.SessionEvent{Type: plumb.SessionToolResult, Tool: "Bash", Output: fmt.Sprintf("result %d ", i) + strings.Repeat("x", 100)})
	}
	for id, c := range byID {
		verdicts, err := c.Assertions[0].Assert(t.Context(), plumb.Evidence{Case: c, Report: report})
		if err != nil || !verdicts[0].Pass {
			t.Errorf("%s: %+v, %v", id, verdicts, err)
		}
	}
}
