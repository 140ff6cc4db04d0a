package doc

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/plumb-eval/plumb"
)

// ParseData parses a data file, by the extension of its name: CSV with a line of column names, also
// with tabs, JSON lines, JSON, or YAML, which parseYAML parses. CSV and JSON lines become a list
// with a mapping or a value for each row. Rows without a problem are there in spite of the problems
// of others.
func ParseData(
	file string, data []byte, parseYAML func(file string, data []byte, most int) (Value, *Problem),
) (Value, Problems) {
	data = bytes.TrimPrefix(data, []byte("\uFEFF"))
	if problem := InvalidUTF8(file, data); problem != nil {
		return Value{}, Problems{*problem}
	}
	v, problem := Value{Kind: List, Place: Place{1, 1}}, (*Problem)(nil)
	var problems Problems
	switch ext := strings.ToLower(filepath.Ext(file)); ext {
	case ".csv":
		v.List, problems = csvRows(file, data, ',')
	case ".tsv":
		v.List, problems = csvRows(file, data, '\t')
	case ".jsonl", ".ndjson":
		var row []byte
		for line := 1; len(data) > 0; line++ {
			if row, data = CutLine(data); len(bytes.TrimSpace(row)) == 0 {
				continue
			}
			parser := JSON{File: file, Values: CaseValues, What: "the row"}
			r, more, ok := parser.Parse(row, line)
			problems = append(problems, more...)
			if ok {
				v.List = append(v.List, r)
			}
		}
	case ".json":
		v, problem = ParseJSON(file, data)
	case ".yaml", ".yml":
		v, problem = parseYAML(file, data, YAMLValues)
	default:
		problem = &Problem{
			Pos: plumb.Position{File: file}, Message: fmt.Sprintf("%q is not the extension of a data file", ext),
			Hint: "known: .csv, .tsv, .jsonl, .json, .yaml",
		}
	}
	if problem != nil {
		problems = append(problems, *problem)
	}
	return v, problems
}

// Columns returns the names of the columns of a CSV file as texts with their places.
func Columns(file string, data []byte) ([]Value, Problems) {
	return csvHeader(file, csv.NewReader(bytes.NewReader(bytes.TrimPrefix(data, []byte("\uFEFF")))))
}

func csvHeader(file string, r *csv.Reader) (columns []Value, problems Problems) {
	names, err := r.Read()
	switch {
	case errors.Is(err, io.EOF):
		return nil, Problems{{
			Pos: Place{1, 1}.In(file), Message: "the file is empty", Hint: "the first line has the names of the columns",
		}}
	case err != nil:
		return nil, Problems{csvProblem(file, err)}
	}
	for i, name := range names {
		names[i] = strings.TrimSpace(name)
		at := csvPlace(r, i)
		if other := slices.Index(names[:i], names[i]); other >= 0 {
			problems = append(problems, Problem{
				Pos: at.In(file), Message: fmt.Sprintf("column %q is there twice", names[i]),
				Hint: fmt.Sprintf("columns %d and %d", other+1, i+1),
			})
		}
		columns = append(columns, NewString(names[i], at))
	}
	return columns, problems
}

func csvRows(file string, data []byte, comma rune) (found []Value, problems Problems) {
	r := csv.NewReader(bytes.NewReader(data))
	r.Comma = comma
	columns, problems := csvHeader(file, r)
	for len(columns) > 0 {
		cells, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, append(problems, csvProblem(file, err))
		}
		row := Value{Kind: Map, Place: csvPlace(r, 0)}
		for i, cell := range cells {
			row.Members = append(row.Members, Member{columns[i].Text(), columns[i].Place, NewString(cell, csvPlace(r, i))})
		}
		found = append(found, row)
	}
	return found, problems
}

func csvPlace(r *csv.Reader, field int) Place {
	line, column := r.FieldPos(field)
	return Place{int32(line), int32(column)}
}

// csvProblem returns the problem of an error of the CSV reader.
func csvProblem(file string, err error) Problem {
	e, ok := errors.AsType[*csv.ParseError](err)
	if !ok {
		return Problem{Pos: Place{1, 1}.In(file), Message: err.Error()}
	}
	p := Problem{Pos: plumb.Position{File: file, Line: e.Line, Column: e.Column}, Message: "invalid CSV: " + e.Err.Error()}
	switch {
	case errors.Is(e.Err, csv.ErrFieldCount):
		p.Pos.Column, p.Message = 1, "the row does not have as many cells as there are columns"
		p.Hint = `put a cell that contains a comma into quotes, and write a quote in it as ""`
	case errors.Is(e.Err, csv.ErrQuote), errors.Is(e.Err, csv.ErrBareQuote):
		p.Message, p.Hint = "invalid quotes in the cell", `put the whole cell into quotes, and write a quote in it as ""`
	}
	return p
}

// CutLine returns the first line of text, without its end (LF, CRLF or CR), and the rest.
func CutLine(text []byte) (line, rest []byte) {
	end := bytes.IndexByte(text, '\n')
	after := end + 1
	if end < 0 {
		end, after = len(text), len(text)
	}
	if r := bytes.IndexByte(text[:end], '\r'); r >= 0 {
		if r+1 == end && after > end { // CRLF
			return text[:r], text[after:]
		}
		return text[:r], text[r+1:]
	}
	return text[:end], text[after:]
}
