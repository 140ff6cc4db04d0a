package promptfoo_test

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/plumb-eval/plumb/internal/cli"
	"github.com/plumb-eval/plumb/internal/convert"
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/promptfoo"
)

// TestP1OneFileOneVerdict makes a CSV file from generated cells of __expected and answers. Read as
// data of a suite and converted from promptfoo, each row has the same verdict.
func TestP1OneFileOneVerdict(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(echo))
	t.Cleanup(server.Close)
	words := []string{
		"equals", "contains", "icontains", "contains-any", "contains-all", "icontains-any", "icontains-all", "starts-with",
		"regex", "word-count", "is-json", "contains-json", "island", "Note", "latency(100000)",
		"is-blue", "human", "not-fn",
	}
	values := []string{
		"Paris", " Paris ", "paris", "Pa,lo", "Paris, lon", ",", "", "2", "^P", `\d+`, `P\w+s$`, "(?<=P)a", "a{2}", "{", `"Paris"`,
		`{type: object, required: [a]}`, `{"type":"object","properties":{"a":{"type":"string"}}}`, "true", "0.4", "say: so",
	}
	scripts := []string{
		"output.length", "output === 'Paris'", "output.length > 3", "JSON.parse(output).a === 1", "0.4", "true", "output",
		"({pass: true, score: 1, reason: ''})", "const n = 1\nreturn output.length > n", "const x = 1",
	}
	answers := []string{
		"Paris", " Paris ", "paris", "PARIS, London", `{"a":1}`, `{"a":"x"} and more text`, ` {"a": 1} `, "[1, 2]", "two words", "Paris ",
		"42", "{word}", "a {b", "true", "\"Paris\"", "Note: Paris", "island:Paris", "line\nParis",
	}
	r := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // a test that can be repeated
	one := func(of []string) string { return of[r.IntN(len(of))] }
	cell := func() string {
		text := one(words)
		if r.IntN(4) == 0 {
			text = "not-" + text
		}
		if r.IntN(6) > 0 {
			text += ":" + one(values)
		}
		switch r.IntN(6) {
		case 0:
			text = one(values)
		case 1:
			text = " " + text + " "
		case 2:
			text = one([]string{"javascript", "fn", "eval", "not-javascript"}) + ":" + one(scripts)
		}
		return text
	}
	fixed := []string{"is-json", "equals:Paris", "contains-json", "starts-with: P", "Paris", "contains-all:Paris, lon"}
	rows := [][]string{{"a", "__expected", "__expected2", "__threshold"}}
	var refused [][]string
	for i := range 700 {
		row := []string{one(answers), cell(), "", ""}
		if i < len(fixed)*len(answers) {
			row = []string{answers[i/len(fixed)], fixed[i%len(fixed)], "", ""}
		} else if r.IntN(5) == 0 {
			row[2], row[3] = cell(), one([]string{"", "0.5", "1"})
		}
		if strings.TrimSpace(row[1]+row[2]) == "" { // a suite refuses a case without a check
			row[1] = "Paris"
		}
		if slices.ContainsFunc(row[1:3], func(text string) bool {
			_, why, _ := promptfoo.Check(text, doc.Place{}, row[3] != "")
			return text != "" && why != ""
		}) {
			refused = append(refused, row)
			continue
		}
		rows = append(rows, row)
	}
	if len(rows) < 250 || len(refused) < 50 {
		t.Fatalf("%d rows, %d refused", len(rows), len(refused))
	}
	native := run(t, server.URL, []byte("prompts: ['{{a}}']\ndata: tests.csv\n"), file{"tests.csv", table(t, rows)})
	left, suite := converted(t, rows)
	got := run(t, server.URL, suite)
	compared := 0
	for i, row := range rows[1:] {
		converted, ok := got[fmt.Sprintf("test-%d", i+1)]
		if !ok {
			if !slices.Contains(left, fmt.Sprintf("test-%d", i+1)) {
				t.Errorf("row %q: the converted suite does not have it", row)
			}
			continue
		}
		compared++
		if mine := native[fmt.Sprintf("case-%d", i+1)]; mine != converted {
			t.Errorf("row %q: %s as data of a suite, %s converted", row, mine, converted)
		}
	}
	t.Logf("%d rows, %d compared, %d refused", len(rows)-1, compared, len(refused))
	if compared < len(rows)*3/4 {
		t.Errorf("%d of %d rows compared", compared, len(rows)-1)
	}
	left, _ = converted(t, append([][]string{rows[0], {"x", "contains:x", "", ""}}, refused...))
	if len(left) != len(refused) {
		t.Errorf("%d of %d rows that the suite refuses are left out", len(left), len(refused))
	}
}

// file is a file beside a suite.
type file struct {
	name string
	text []byte
}

// table returns rows as CSV.
func table(t *testing.T, rows [][]string) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := csv.NewWriter(&b).WriteAll(rows); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// converted converts a configuration of promptfoo with rows as its tests.
func converted(t *testing.T, rows [][]string) (left []string, suite []byte) {
	t.Helper()
	dir := t.TempDir()
	for _, f := range []file{
		{"tests.csv", table(t, rows)},
		{"promptfooconfig.yaml", []byte("prompts: ['{{a}}']\nproviders: [echo]\ntests: file://tests.csv\n")},
	} {
		if err := os.WriteFile(filepath.Join(dir, f.name), f.text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	result, err := convert.File(t.Context(), filepath.Join(dir, "promptfooconfig.yaml"), convert.Tools{Check: cli.Rejected})
	if err != nil {
		t.Fatal(strings.TrimSpace(err.Error()))
	}
	return result.LeftOut, result.Suite
}
