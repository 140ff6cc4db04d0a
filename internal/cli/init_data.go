package cli

import (
	"bytes"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/plumb-eval/plumb/internal/convert"
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/schema"
)

// variable matches the names that a template can use.
var variable = regexp.MustCompile(`^[A-Za-z_]\w*$`)

// dataSuite returns a suite that asks each row of the first data file of the folder, what the user has
// to do before it can run, and the name of the file; "" if the folder has none.
func (c *initCmd) dataSuite() (text []byte, todo, name string) {
	for _, pattern := range []string{"*.csv", "*.jsonl"} {
		files, _ := filepath.Glob(filepath.Join(c.Dir, pattern))
		for _, file := range files {
			data, err := doc.Read(file, doc.DataBytes)
			if err != nil {
				continue
			}
			name := filepath.Base(file)
			if d := convert.Data(name, data); d != nil {
				text, todo := dataSuite(name, d)
				return text, todo, name
			}
		}
	}
	return nil, "", ""
}

func dataSuite(name string, d *convert.Rows) (text []byte, todo string) {
	use := func(column string) string {
		if variable.MatchString(column) {
			return "{{ " + column + " }}"
		}
		return ""
	}
	prompt := use(d.Prompt)
	if prompt == "" {
		todo = "write the prompt into suite.yaml"
		var columns []string
		for _, column := range d.Columns {
			if column = use(column); column != "" {
				columns = append(columns, column)
			}
		}
		if len(columns) == 0 {
			todo = "give the columns of " + name + " names of letters and digits, and " + todo
		}
		prompt = "Write your prompt here. Each row has: " + strings.Join(columns, ", ")
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "# yaml-language-server: $schema=%s\n\n", schema.SuiteURL)
	fmt.Fprintf(&b, "# Each row of the data is a case. {{ name }} is a column of it. Add prompts to compare them.\n")
	fmt.Fprintf(&b, "prompts:\n  - %q\ndata: %q\n", prompt, name)
	ideal := use(d.Ideal)
	switch {
	case d.Checked:
	case ideal != "":
		fmt.Fprintf(&b, "\n# The answer must contain the column %s. plumb help checks lists all checks.\n", d.Ideal)
		fmt.Fprintf(&b, "defaults:\n  assertions: [{type: contains, ideal: %q, case_sensitive: false}]\n", ideal)
	default:
		b.WriteString("\n# The data has no right answers, so any answer with a word passes. plumb help checks lists all checks.\n")
		b.WriteString("defaults:\n  assertions: [{type: word_count, min: 1}]\n")
	}
	return b.Bytes(), todo
}
