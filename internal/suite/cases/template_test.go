package cases

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/plumb-eval/plumb/internal/doc"
)

func FuzzCSV(f *testing.F) {
	for _, s := range []string{"a,b\n1,2\n", "a\n\"x\ny\"\n", "a;b\n1;2\n", "a\n", "", "a,a\n1,2", "id,__expected\nx,contains:y"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		x := &expander{file: &File{}}
		found := x.rows("a.csv", text)
		problems := x.problems
		if len(found) == 0 && problems.Err() == nil {
			t.Error("neither rows nor problems")
		}
		lines := strings.Count(text, "\n") + strings.Count(text, "\r") + 1
		for _, p := range problems {
			if p.Pos.Line < 1 || p.Pos.Line > lines+1 {
				t.Errorf("problem outside of the file: %v", p)
			}
		}
		for _, r := range found {
			if len(r.Members) == 0 || r.Duplicates() != nil && problems.Err() == nil {
				t.Errorf("row %s", r.JSON())
			}
		}
	})
}

// TestExpansionProperties: the expansion of a suite is the same each time, its ids are unique and safe, and the hash of a
// rendered case is that of the same question written by hand.
func TestExpansionProperties(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs no concurrent code of its own: too slow with the race detector")
	}
	drawn := rapid.Custom(func(r *rapid.T) string {
		word := rapid.StringMatching(`[a-zA-Z0-9 é.,/-]{1,12}`)
		prompts := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z][a-z ./]{0,6}[a-z]`), 1, 4, safeID).Draw(r, "labels")
		var text strings.Builder
		text.WriteString("prompts:\n")
		for _, p := range prompts {
			text.WriteString("- {label: " + quoted(p) + ", text: " + quoted(p+": {{ x }} {{ y }}") + "}\n")
		}
		text.WriteString("cases:\n")
		cases := rapid.IntRange(1, 4).Draw(r, "cases")
		for range cases {
			x, y := rapid.SliceOfN(word, 1, 3).Draw(r, "x"), word.Draw(r, "y")
			list, _ := json.Marshal(x)
			text.WriteString("- {vars: {x: " + string(list) + ", y: " + quoted(y) + "}, ideal: z, assertion: {type: contains}}\n")
		}
		return text.String()
	})
	for seed := range 15 {
		text := drawn.Example(seed)
		load := func() ([]string, []string) {
			suite := Read(t.Context(), File{Path: "a.yaml", Data: []byte(text)})
			if err := suite.Problems.Err(); err != nil {
				t.Fatalf("%s\n%v", text, err)
			}
			var ids, hashes []string
			for _, c := range suite.Cases {
				ids, hashes = append(ids, c.ID), append(hashes, c.Hash)
				line := `{"id": "a", "input": ` + quoted(c.Messages[0].Content) + `, "ideal": "z", "assertion": {"type": "contains"}}`
				byHand := Read(t.Context(), File{Path: "a.jsonl", Data: []byte(line)})
				if err := byHand.Problems.Err(); err != nil || byHand.Cases[0].Hash != c.Hash {
					t.Fatalf("%s has another hash: %v", line, err)
				}
				if UnsafeID(c.ID) != "" {
					t.Fatalf("id %q", c.ID)
				}
			}
			return ids, append(hashes, suite.Hash)
		}
		ids, hashes := load()
		again, same := load()
		if diff := cmp.Diff(ids, again) + cmp.Diff(hashes, same); diff != "" {
			t.Fatal(diff)
		}
	}
}

func quoted(s string) string {
	v := doc.NewString(s, doc.Place{})
	return string(v.JSON())
}
