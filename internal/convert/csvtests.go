package convert

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/promptfoo"
)

// table is a CSV file: its columns, and its rows with their lines.
type table struct {
	columns []string
	header  []doc.Place // of the columns
	rows    [][]string
	lines   []int
}

func readTable(name string, data []byte) (*table, error) {
	r := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(data, []byte("\uFEFF"))))
	r.FieldsPerRecord = -1
	t := &table{}
	for {
		row, err := r.Read()
		if err != nil {
			if row == nil && err.Error() == "EOF" {
				break
			}
			line := 1
			if parse, ok := err.(*csv.ParseError); ok { //nolint:errorlint // the reader wraps nothing
				line = parse.Line
			}
			return nil, doc.Problems{{Pos: doc.Place{Line: int32(line), Column: 1}.In(name), Message: "invalid CSV: " + err.Error()}} //nolint:gosec // a line
		}
		line, _ := r.FieldPos(0)
		if t.columns == nil {
			for i, c := range row {
				line, column := r.FieldPos(i)
				c = strings.TrimSpace(c)
				place := doc.Place{Line: int32(line), Column: int32(column)}
				if first := slices.Index(t.columns, c); first >= 0 {
					return nil, doc.Problems{{
						Pos: place.In(name), Message: fmt.Sprintf("column %q is there twice", c),
						Hint: fmt.Sprintf("columns %d and %d", first+1, i+1),
					}}
				}
				t.columns, t.header = append(t.columns, c), append(t.header, place)
			}
			continue
		}
		t.rows, t.lines = append(t.rows, row), append(t.lines, line)
	}
	if t.columns == nil {
		return nil, doc.Problems{{Pos: doc.Place{Line: 1, Column: 1}.In(name), Message: "the file has no columns"}}
	}
	return t, nil
}

// tests reads the rows of a CSV file as tests: each becomes the mapping that it stands for.
func (p *foo) csvTests(name string, data []byte) error {
	t, err := readTable(name, data)
	if err != nil {
		return err
	}
	wrong := false // one mistake of the header is one problem
	for i, column := range t.columns {
		if why := refusedColumn(column); why != "" {
			p.lose(name, t.header[i], why, "")
			wrong = true
		}
	}
	for i, row := range t.rows {
		if wrong {
			p.count++
			p.unread = append(p.unread, fmt.Sprintf("test-%d", p.count))
			continue
		}
		test, why := csvTest(t.columns, row)
		at := doc.Place{Line: int32(t.lines[i]), Column: 1} //nolint:gosec // a line
		if len(row) != len(t.columns) {
			why = fmt.Sprintf("a row with %d columns under a header with %d: promptfoo refuses the file", len(row), len(t.columns))
			p.whole = append(p.whole, why)
		}
		if why != "" {
			p.lose(name, at, why, "")
			p.count++
			p.unread = append(p.unread, fmt.Sprintf("test-%d", p.count))
			continue
		}
		v, problem := doc.ParseJSON(name, []byte(quoteJSON(test)))
		if problem != nil {
			return doc.Problems{*problem}
		}
		v.MoveTo(at)
		p.test(node{&source{name: name}, &v}, node{})
	}
	return nil
}

// refusedColumn returns why a column with a name of promptfoo cannot be carried over, or "".
func refusedColumn(column string) string {
	name, special := strings.CutPrefix(column, "__")
	number, expected := strings.CutPrefix(name, "expected")
	key, isMeta := strings.CutPrefix(name, "metadata:")
	_, err := strconv.Atoi(number)
	if !special || expected && (number == "" || err == nil) || isMeta && !strings.HasSuffix(key, "[]") ||
		slices.Contains([]string{"prefix", "suffix", "description", "metric", "threshold"}, name) {
		return ""
	}
	return "the column " + column + " cannot be carried over"
}

// csvTest returns the test of a row, or why it cannot be carried over.
func csvTest(columns, row []string) (test object, why string) {
	vars, options, meta := object{}, object{}, object{}
	var asserts []any
	metric := ""
	for i, column := range columns {
		value := ""
		if i < len(row) {
			value = row[i]
		}
		name, special := strings.CutPrefix(column, "__")
		number, expected := strings.CutPrefix(name, "expected")
		key, isMeta := strings.CutPrefix(name, "metadata:")
		switch _, err := strconv.Atoi(number); {
		case !special:
			vars.set(column, value)
		case expected && (number == "" || err == nil):
			if strings.TrimSpace(value) == "" {
				continue
			}
			assert, why := csvAssert(value)
			if why != "" {
				return nil, why
			}
			asserts = append(asserts, assert)
		case name == "prefix", name == "suffix":
			options.set(name, value)
		case name == "description":
			if value != "" {
				test.set("description", value)
			}
		case name == "metric":
			metric = value
		case name == "threshold":
			if value == "" {
				continue
			}
			if _, err := doc.ParseNumber(strings.TrimSpace(value)); err != nil {
				return nil, "a __threshold that is no number"
			}
			test.set("threshold", number2(value))
		case isMeta && !strings.HasSuffix(key, "[]"):
			if value != "" {
				meta.set(key, value)
			}
		default:
			return nil, refusedColumn(column)
		}
	}
	if metric != "" {
		for i, a := range asserts {
			asserts[i] = asObject(a).with("metric", metric)
		}
	}
	test.set("vars", vars)
	for _, part := range []member{{"options", options}, {"metadata", meta}} {
		if len(asObject(part.value)) > 0 {
			test.set(part.key, part.value)
		}
	}
	if len(asserts) > 0 {
		test.set("assert", asserts)
	}
	return test, ""
}

func number2(s string) any { return number(strings.TrimSpace(s)) }

// csvAssert returns the assertion of a cell in shorthand.
func csvAssert(text string) (assert object, why string) {
	a, why := promptfoo.ParseShorthand(text)
	switch {
	case why != "":
		return nil, why
	case a.Kind == "similar", a.Kind == "llm-rubric": // a question to a model that promptfoo chooses
		return nil, fmt.Sprintf("the expectation %q cannot be carried over", strings.TrimSpace(text))
	}
	kind := a.Kind
	if a.Not {
		kind = "not-" + kind
	}
	assert = object{{"type", kind}}
	switch {
	case a.Words != nil:
		words := make([]any, len(a.Words))
		for i, w := range a.Words {
			words[i] = w
		}
		assert.set("value", words)
	case a.Valued:
		assert.set("value", a.Value)
	}
	if a.Threshold != "" {
		assert.set("threshold", number2(a.Threshold))
	}
	return assert, ""
}
