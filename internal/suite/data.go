package suite

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/doc"
)

// rows reads a data file: a CSV file with a line of column names, JSON lines, or a list in JSON or YAML. Each row is a
// mapping. Its lines count from the start of the file.
func rows(name, text string) ([]doc.Value, doc.Problems) {
	switch ext := strings.ToLower(filepath.Ext(name)); ext {
	case ".csv":
		return csvRows(name, text, ',')
	case ".tsv":
		return csvRows(name, text, '\t')
	case ".jsonl", ".ndjson":
		return jsonlRows(name, text)
	case ".json":
		v, problem := doc.ParseJSON(name, []byte(text))
		return listRows(name, v, problem)
	case ".yaml", ".yml":
		v, problem := doc.ParseYAML(name, []byte(text), doc.YAMLValues)
		return listRows(name, v, problem)
	default:
		return nil, doc.Problems{{
			Pos: plumb.Position{File: name}, Message: fmt.Sprintf("%q is not the extension of a data file", ext),
			Hint: "known: .csv, .tsv, .jsonl, .json, .yaml",
		}}
	}
}

func csvRows(name, text string, comma rune) (found []doc.Value, problems doc.Problems) {
	fail := func(line, column int, message, hint string) ([]doc.Value, doc.Problems) {
		return nil, append(problems, doc.Problem{
			Pos: plumb.Position{File: name, Line: line, Column: column}, Message: message, Hint: hint,
		})
	}
	r := csv.NewReader(strings.NewReader(text))
	r.Comma = comma
	columns, err := r.Read()
	switch {
	case errors.Is(err, io.EOF):
		return fail(1, 1, "the file is empty", "the first line has the names of the columns")
	case err != nil:
		return fail(csvProblem(err))
	}
	first := map[string]int{}
	header := make([]doc.Place, len(columns))
	for i, c := range columns {
		columns[i], header[i] = strings.TrimSpace(c), csvPlace(r, i)
		line, column := r.FieldPos(i)
		switch other, twice := first[columns[i]]; {
		case columns[i] == "":
			_, problems = fail(line, column, fmt.Sprintf("column %d has no name", i+1), "")
		case twice:
			_, problems = fail(line, column, fmt.Sprintf("column %q is there twice", columns[i]),
				fmt.Sprintf("columns %d and %d", other+1, i+1))
		}
		first[columns[i]] = i
	}
	if len(columns) == 1 && strings.ContainsAny(columns[0], ";\t") {
		return fail(1, 1, fmt.Sprintf("the file has one column with the name %q", columns[0]),
			"separate columns with commas, or use a .tsv file for tabs")
	}
	for {
		cells, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fail(csvProblem(err))
		}
		row := doc.Value{Kind: doc.Map, Place: csvPlace(r, 0)}
		for i, cell := range cells {
			at := csvPlace(r, i)
			row.Members = append(row.Members, doc.Member{Key: columns[i], Place: header[i], Value: doc.NewString(cell, at)})
		}
		found = append(found, row)
	}
	if len(found) == 0 {
		return fail(1, 1, "the file has no rows", "each line after the names of the columns is one case")
	}
	return found, problems
}

func csvPlace(r *csv.Reader, field int) doc.Place {
	line, column := r.FieldPos(field)
	return doc.Place{Line: int32(line), Column: int32(column)}
}

// csvProblem returns the place, the message and the hint of an error of the CSV reader.
func csvProblem(err error) (line, column int, message, hint string) {
	e, ok := errors.AsType[*csv.ParseError](err)
	if !ok {
		return 1, 1, err.Error(), ""
	}
	switch {
	case errors.Is(e.Err, csv.ErrFieldCount):
		return e.Line, 1, "the row does not have as many cells as there are columns",
			`put a cell that contains a comma into quotes, and write a quote in it as ""`
	case errors.Is(e.Err, csv.ErrQuote), errors.Is(e.Err, csv.ErrBareQuote):
		return e.Line, e.Column, "invalid quotes in the cell", `put the whole cell into quotes, and write a quote in it as ""`
	}
	return e.Line, e.Column, "invalid CSV: " + e.Err.Error(), ""
}

func jsonlRows(name, text string) (found []doc.Value, problems doc.Problems) {
	for rest, line := []byte(text), 1; len(rest) > 0; line++ {
		var row []byte
		row, rest = cutLine(rest)
		if blank(row) {
			continue
		}
		parser := doc.JSON{File: name, Values: doc.CaseValues, What: "the row"}
		v, more, ok := parser.Parse(row, line)
		problems = append(problems, more...)
		if ok {
			found = append(found, v)
		}
	}
	return checkRows(name, found, problems)
}

func listRows(name string, v doc.Value, problem *doc.Problem) ([]doc.Value, doc.Problems) {
	switch {
	case problem != nil:
		return nil, doc.Problems{*problem}
	case v.Kind != doc.List:
		return nil, doc.Problems{{
			Pos: v.In(name), Message: "the file must be a list of rows, not " + v.Kind.String(),
			Hint: "each row is a mapping of variables",
		}}
	}
	return checkRows(name, v.List, nil)
}

// checkRows reports rows that are not mappings, and a file without rows.
func checkRows(name string, found []doc.Value, problems doc.Problems) ([]doc.Value, doc.Problems) {
	for i := range found {
		if v := &found[i]; v.Kind != doc.Map {
			problems = append(problems, doc.Problem{
				Pos: v.In(name), Message: "a row must be a mapping of variables, not " + v.Kind.String(),
			})
		}
		for _, n := range found[i].Infinite() {
			problems = append(problems, doc.Problem{Pos: n.In(name), Message: "a number must be finite"})
		}
	}
	if len(found) == 0 && len(problems) == 0 {
		problems = doc.Problems{{Pos: plumb.Position{File: name, Line: 1, Column: 1}, Message: "the file has no rows"}}
	}
	return found, problems
}
