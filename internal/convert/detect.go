package convert

import (
	"bytes"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/promptfoo"
	"github.com/plumb-eval/plumb/internal/suite/lib"
)

// Format is a foreign format.
type Format struct {
	// Name is what the format is, such as "a promptfoo config".
	Name string
	// Do is what to do with it, if plumb convert cannot read it.
	Do string

	convert func(w *work, data []byte) error
}

// The formats.
//
//nolint:gochecknoglobals // never changed
var (
	promptfooFormat = Format{Name: "a promptfoo config"}
	evalsFormat     = Format{Name: "an evals.json of skill-creator"}
	openaiFormat    = Format{Name: "a data set of OpenAI evals"}
	inspectFormat   = Format{Name: "a dataset of Inspect"}
	csvFormat       = Format{Name: "a CSV file"}
	skillgymFormat  = Format{Name: "a skillgym config", Do: "plumb reads it as it is: plumb run SUITE.ts"}
)

func known() string {
	return "a promptfoo config, evals.json of skill-creator, data of OpenAI evals (JSON lines), datasets of Inspect " +
		"(JSON, JSON lines), and CSV"
}

func with(f Format, convert func(*work, []byte) error) *Format {
	f.convert = convert
	return &f
}

// Suggest returns the name of the foreign format of a file and what to do with it. It is false for
// a file in no known foreign format.
func Suggest(path string, data []byte) (name, do string, ok bool) {
	f := Detect(path, data)
	if f == nil || f.Name == csvFormat.Name {
		if d := Data(path, data); d != nil && d.Prompt != "" && !d.cases {
			return "data: questions without checks", "plumb init writes a suite that asks each row of it", true
		}
		return "", "", false
	}
	if f.Do != "" {
		return f.Name, f.Do, true
	}
	return f.Name, "convert it: plumb convert " + path, true
}

// Detect returns the format of a file, judging by its name and its content; nil for no known one.
func Detect(path string, data []byte) *Format {
	base := strings.ToLower(filepath.Base(path))
	ext := filepath.Ext(base)
	switch {
	case strings.HasPrefix(base, "skillgym.config."):
		return &skillgymFormat
	case lib.IsCode(base):
		if strings.HasPrefix(base, "promptfoo") {
			return with(promptfooFormat, fromPromptfoo)
		}
		return nil
	case ext == ".csv":
		return with(csvFormat, csvSuite)
	}
	data = bytes.TrimPrefix(data, []byte("\uFEFF"))
	switch ext {
	case ".yaml", ".yml":
		if promptfoo.IsConfig(base, yamlKeys(data)) {
			return with(promptfooFormat, fromPromptfoo)
		}
	case ".json":
		return detectJSON(base, data)
	case ".jsonl", ".ndjson":
		line, _, _ := bytes.Cut(bytes.TrimLeft(data, " \t\r\n"), []byte("\n"))
		if v, _, ok := (&doc.JSON{File: base}).Parse(line, 1); ok { // the conversion reports duplicate keys
			return detectRow(&v)
		}
	}
	return nil
}

func detectJSON(base string, data []byte) *Format {
	v, _, ok := (&doc.JSON{File: base}).Parse(data, 1)
	switch {
	case !ok:
	case v.Kind == doc.List && len(v.List) > 0:
		if f := detectRow(&v.List[0]); f != nil && f.Name == inspectFormat.Name {
			return f
		}
	case v.Kind == doc.Map:
		var keys []string
		for _, m := range v.Members {
			keys = append(keys, m.Key)
		}
		if evals := v.Get("evals"); evals != nil && evals.Kind == doc.List && v.Get("skill_name") != nil {
			return with(evalsFormat, skillEvals)
		}
		if promptfoo.IsConfig(base, keys) {
			return with(promptfooFormat, fromPromptfoo)
		}
	}
	return nil
}

// detectRow detects the format of a line or an element.
func detectRow(v *doc.Value) *Format {
	input := v.Get("input")
	switch {
	case v.Kind != doc.Map, input == nil, v.Get("category") != nil, v.Get("assertion") != nil, v.Get("assertions") != nil:
	case v.Get("target") != nil || v.Get("choices") != nil:
		return with(inspectFormat, inspect)
	case v.Get("ideal") != nil && input.Kind == doc.List:
		return with(openaiFormat, openaiEvals)
	}
	return nil
}

var topKey = regexp.MustCompile(`(?m)^["']?([A-Za-z$]\w*)["']?[ \t]*:`)

// yamlKeys returns the keys at the top of a YAML file, also of one that is not valid.
func yamlKeys(data []byte) (keys []string) {
	for _, m := range topKey.FindAllSubmatch(data, -1) {
		keys = append(keys, string(m[1]))
	}
	return keys
}
