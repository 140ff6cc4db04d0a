package compare

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/golden"
)

// TestBaselineFiles compares baselines, and what is wrong with damaged ones, with a file.
func TestBaselineFiles(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	dir := t.TempDir()
	say := func(format string, args ...any) {
		fmt.Fprintf(&b, strings.ReplaceAll(format, "\n", "\n\t")+"\n", args...)
	}
	run := func(id string, days int) *recorded {
		x := newRecorded(id, "r", "q")
		x.at = x.at.Add(time.Duration(days) * 24 * time.Hour)
		x.info.Repeat = 2
		for i := range x.cases {
			x.cases[i].Repeat, x.cases[i].ExpectedFail = 2, i == 2
		}
		x.outcome = func(c, r, n int) byte { return "pfeppf"[(c+r+n)%6] }
		return x
	}
	changed, other := run("c", 2), run("d", 3)
	changed.cases[0].Hash, changed.cases = "sha256:n", changed.cases[:2]
	other.info.Retry = 4
	for _, sides := range [][]*Side{
		{run("b", 1).side(t), run("a", 0).side(t), run("a", 0).side(t)},
		{run("b", 1).side(t)},
		{changed.side(t)},
		{other.side(t)},
	} {
		notes, err := SetBaseline(t.Context(), dir, "main", sides)
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(BaselinePath(dir, "main"))
		if err != nil {
			t.Fatal(err)
		}
		side, err := openBaseline(dir, "main")
		if err != nil {
			t.Fatal(err)
		}
		all, err := Baselines(dir)
		if err != nil || len(all) != 1 {
			t.Fatalf("%+v, %v", all, err)
		}
		all[0].Path = ""
		say("notes: %q\n%+v\n%s%s", notes, all[0], strings.ReplaceAll(string(text), "\n", "\n\t"), table(side))
	}
	text, err := os.ReadFile(BaselinePath(dir, "main"))
	if err != nil {
		t.Fatal(err)
	}
	header, cases, _ := strings.Cut(string(text), "\n")
	first, _, _ := strings.Cut(cases, "\n")
	for _, damaged := range []string{
		"", "\n\n", "x", "{}", `{"schema":0}`, `{"schema":9}`, `{"schema":1}`, `{"schema":1,"runners":[]}`,
		`{"schema":1,"runners":[{"id":""}]}`,
		`{"schema":1,"runners":[{"id":"a"},{"id":"a"}]}`, header + "\n\nx", header + "\n{}",
		header + "\n" + first + "\n" + first,
		header + "\n" + strings.ReplaceAll(first, `"runner":"r"`, `"runner":"z"`),
		header + "\n" + strings.ReplaceAll(first, `"pass"`, `"passed"`),
		header + "\n" + strings.ReplaceAll(first, `"score":1`, `"score":2`),
		header + "\n" + strings.ReplaceAll(first, `"cost":0.25`, `"cost":-1`),
		header + "\n" + strings.ReplaceAll(first, `"score":1`, `"score":-0.1`),
	} {
		_, err := parseBaseline("b.jsonl", []byte(damaged))
		say("%.400q: %v", strings.TrimPrefix(damaged, header), err)
	}
	for _, name := range []string{
		"", "a/b", "..", "-x", "main", "a.b", strings.Repeat("x", 100), strings.Repeat("x", 101), "last", "prev", "a#b",
	} {
		say("name %q: %v", name, validName(name))
	}
	for _, name := range []string{"mian", "zzzzzzz"} {
		err := noBaseline(dir, name)
		say("%v; %s", strings.ReplaceAll(err.Error(), dir, "DIR"), plumb.Hint(err))
	}
	golden.Equal(t, "testdata/baselines.txt", b.String())
}
