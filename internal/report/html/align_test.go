package html

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"

	"github.com/plumb-eval/plumb/internal/script"
)

// alignEntry makes the alignment of the page callable from Go.
const alignEntry = `__entry.align = (a, b, wording) => globalThis.__main.align(a, b, wording);`

type alignment struct {
	List []struct {
		Kind string
		A, B int
	}
	First  int
	GaveUp bool
}

// alignVM runs the part of the page's script that aligns two sessions.
func alignVM(t *testing.T) *script.VM {
	t.Helper()
	file := filepath.Join(t.TempDir(), "align.mjs")
	if err := os.WriteFile(file, []byte(pageFile("compare.js")+"\nexport { align };\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	program, err := script.Build(script.BuildOptions{
		Entry: file, Modules: map[string]bool{"align": true},
		Preload: []string{"align"},
	})
	if err != nil {
		t.Fatal(err)
	}
	vm, err := script.Start(t.Context(), program, script.Environment{Modules: map[string]string{"align": alignEntry}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := vm.Close(); err != nil {
			t.Error(err)
		}
	})
	return vm
}

func align(t rapidOrTest, vm *script.VM, a, b []step, wording bool) alignment {
	text, err := vm.Call(t.Context(), "align", a, b, wording)
	if err != nil {
		t.Fatal(err)
	}
	var got alignment
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	return got
}

// TestAlignProperties: an alignment has every step of both sides once and in order, and pairs as
// many equal ones as can be.
func TestAlignProperties(t *testing.T) {
	vm := alignVM(t)
	commands := []string{"ls", "cat a", "go test ./..."}
	draw := func(r *rapid.T, name string) []step {
		return rapid.SliceOfN(rapid.Custom(func(r *rapid.T) step {
			if rapid.Bool().Draw(r, "message") {
				return step{Kind: "message", Role: "assistant", Text: rapid.SampledFrom(commands).Draw(r, "text")}
			}
			return step{Kind: "command", Lines: []shellLine{{Line: rapid.SampledFrom(commands).Draw(r, "line")}}}
		}), 0, 12).Draw(r, name)
	}
	rapid.Check(t, func(r *rapid.T) {
		a, b := draw(r, "a"), draw(r, "b")
		got := align(r, vm, a, b, true)
		nextA, nextB, same := 0, 0, 0
		for i, row := range got.List {
			if row.Kind != "same" && (got.First < 0 || got.First > i) {
				r.Fatalf("row %d differs, the first is said to be %d", i, got.First)
			}
			if row.A >= 0 {
				if row.A != nextA {
					r.Fatalf("row %d has step %d of a, want %d", i, row.A, nextA)
				}
				nextA++
			}
			if row.B >= 0 {
				if row.B != nextB {
					r.Fatalf("row %d has step %d of b, want %d", i, row.B, nextB)
				}
				nextB++
			}
			if row.Kind == "same" {
				same++
				if equal := a[row.A].Text == b[row.B].Text && a[row.A].Kind == b[row.B].Kind; !equal {
					r.Fatalf("row %d pairs %+v and %+v", i, a[row.A], b[row.B])
				}
			}
			if (row.A < 0) == (row.B < 0) && row.Kind == "only" {
				r.Fatalf("row %d is on both sides or on none", i)
			}
		}
		if nextA != len(a) || nextB != len(b) {
			r.Fatalf("%d of %d and %d of %d steps", nextA, len(a), nextB, len(b))
		}
		if want := common(a, b); same != want {
			r.Fatalf("%d are paired, %d could be", same, want)
		}
	})
}

// common is the length of the longest common subsequence.
func common(a, b []step) int {
	key := func(s step) string {
		text, _ := json.Marshal(s)
		return string(text)
	}
	row := make([]int, len(b)+1)
	for i := range a {
		diagonal := 0
		for j := range b {
			above := row[j+1]
			if key(a[i]) == key(b[j]) {
				row[j+1] = diagonal + 1
			} else {
				row[j+1] = max(row[j+1], row[j])
			}
			diagonal = above
		}
	}
	return row[len(b)]
}

// TestAlignIgnoresTheAccidental: workspaces, times and ids differ in any two sessions; what was
// said counts when asked.
func TestAlignIgnoresTheAccidental(t *testing.T) {
	vm := alignVM(t)
	run := func(line, text string) []step {
		return []step{
			{Kind: "message", Role: "assistant", Text: text},
			{Kind: "command", Lines: []shellLine{{Line: line, Exit: new(0)}}, Answered: true, Output: "took 1.3s"},
		}
	}
	a := run("cat /tmp/plumb-ws-1/a/src/main.go --at 2026-03-01T09:00:00Z 5b1e0f7c-0d5b-4c62-9a53-2f7c7c0e9d11",
		"I look.")
	b := run("cat /tmp/plumb-ws-2/b/src/main.go --at 2026-03-02T10:00:00Z 0d5b5b1e-0d5b-4c62-9a53-2f7c7c0e9d12",
		"I shall look.")
	if got := align(t, vm, a, b, false); got.First != -1 {
		t.Errorf("what they did: %+v", got)
	}
	if got := align(t, vm, a, b, true); got.First != 0 || got.List[0].Kind != "near" {
		t.Errorf("what they said: %+v", got)
	}
	b[1].Lines[0].Exit = new(1)
	if got := align(t, vm, a, b, false); got.First != 1 {
		t.Errorf("an exit code: %+v", got)
	}
}

// TestAlignGivesUp: sessions that have nothing in common are shown side by side, in time.
func TestAlignGivesUp(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes long with the race detector, and all of it is one goroutine")
	}
	vm := alignVM(t)
	side := func(name string, n int) []step {
		steps := make([]step, n)
		for i := range steps {
			steps[i] = step{Kind: "command", Lines: []shellLine{{Line: name + " " + string(rune('a'+i%26)) + " x"}}}
		}
		return steps
	}
	got := align(t, vm, side("left", 800), side("right", 700), false)
	if !got.GaveUp || got.First != 0 || len(got.List) != 800 {
		t.Errorf("%d rows, first %d, gave up %v", len(got.List), got.First, got.GaveUp)
	}
}

// rapidOrTest is what helpers need of *testing.T and *rapid.T.
type rapidOrTest interface {
	Context() context.Context
	Fatal(args ...any)
}
