package convert

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"

	"github.com/plumb-eval/plumb/internal/doc"
)

// Rows describes a file with one question a row, judging by its first row.
type Rows struct {
	// Columns are the names of the columns.
	Columns []string
	// Prompt is the column with the question, and Ideal the one with the right answer; "" if no
	// name says so.
	Prompt, Ideal string
	// Checked is set if a column has the checks of its row.
	Checked bool
	// cases is set if the rows look like cases that lack a check.
	cases bool
}

// Data returns what is in a file of data: CSV, or JSON lines with objects that are neither cases
// nor records of another tool. It is nil for any other file.
func Data(path string, data []byte) *Rows {
	var d Rows
	line, _, _ := bytes.Cut(bytes.TrimLeft(bytes.TrimPrefix(data, []byte("\uFEFF")), " \t\r\n"), []byte("\n"))
	if len(line) > 64<<10 {
		return nil // no list of questions
	}
	var row doc.Value
	switch strings.ToLower(filepath.Ext(path)) {
	case ".csv":
		columns, problems := doc.Columns(path, line)
		if len(problems) > 0 {
			return nil
		}
		for _, c := range columns {
			row.Members = append(row.Members, doc.Member{Key: c.Text(), Value: c})
		}
	case ".jsonl", ".ndjson":
		v, _, ok := (&doc.JSON{File: path}).Parse(line, 1)
		if !ok || v.Kind != doc.Map || detectRow(&v) != nil ||
			v.Get("assertion") != nil || v.Get("assertions") != nil || v.Get("category") != nil {
			return nil
		}
		row = v
		d.cases = v.Get("id") != nil && v.Get("input") != nil
	}
	find := func(names []string, kinds ...doc.Kind) string {
		for _, name := range names {
			for _, m := range row.Members {
				if strings.EqualFold(m.Key, name) && slices.Contains(kinds, m.Value.Kind) {
					return m.Key
				}
			}
		}
		return ""
	}
	d.Prompt, d.Ideal = find(promptColumns(), doc.String), find(idealColumns(), doc.String, doc.Number, doc.Bool)
	for _, m := range row.Members {
		d.Columns = append(d.Columns, m.Key)
		d.Checked = d.Checked || strings.HasPrefix(m.Key, "__expected")
	}
	if len(d.Columns) == 0 {
		return nil
	}
	return &d
}

// promptColumns are the names of columns with a question, idealColumns those with the right answer.
func promptColumns() []string { return []string{"input", "prompt", "question"} }

func idealColumns() []string { return []string{"ideal", "target", "expected", "answer", "output"} }
