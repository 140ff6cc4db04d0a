package convert_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plumb-eval/plumb/internal/convert"
	"github.com/plumb-eval/plumb/internal/doc"
)

// TestCSVColumns: the columns of promptfoo have their meaning in a CSV file with questions too, and
// its rows are read as those of data of a suite: a row with too many cells is an error.
func TestCSVColumns(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "q.csv")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("\uFEFFid,question,__prefix,__suffix,__metadata:topic,__threshold,__expected\n" +
		"a,Capital?,Please: , Thanks,cities,0.5,\"contains-all:a,b\"\n" +
		"b,Capital?,,,,,levenshtein(3):x\n")
	r, err := convert.File(t.Context(), file, convert.Tools{})
	if err != nil {
		t.Fatal(err)
	}
	suite, problem := doc.ParseYAML("suite.yaml", r.Suite, doc.YAMLValues)
	if problem != nil {
		t.Fatal(problem)
	}
	// The score of contains_all is a share, and that of promptfoo is 0 or 1: with a threshold the
	// check is JavaScript.
	want := `{"cases":[{"id":"a","input":"Please: Capital? Thanks","min_score":0.5,"metadata":{"topic":"cities"},` +
		`"assertions":[{"type":"js","expr":"[\"a\",\"b\"].every((s) => output.includes(s))"}]}]}`
	if got := string(suite.JSON()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if len(r.LeftOut) != 1 || !strings.Contains(string(r.Suite), "#   - {id: b") && !strings.Contains(string(r.Suite), "#   - id: b") {
		t.Errorf("left out %v:\n%s", r.LeftOut, r.Suite)
	}
	write("question,__expected\nA, or b?,x\n")
	_, err = convert.File(t.Context(), file, convert.Tools{})
	if err == nil || !strings.Contains(err.Error(), "q.csv:2:1: the row does not have as many cells as there are columns") {
		t.Error(err)
	}
}
