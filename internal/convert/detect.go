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

// format is a foreign format.
type format struct {
	// name is what the format is, and do what to do with it if plumb convert cannot read it.
	name, do string
	convert  func(w *work, data []byte) error
}

// The formats.
//
//nolint:gochecknoglobals // never changed
var (
	promptfooFormat = format{name: "a promptfoo config", convert: fromPromptfoo}
	evalsFormat     = format{name: "an evals.json of skill-creator", convert: skillEvals}
	openaiFormat    = format{name: "a data set of OpenAI evals", convert: openaiEvals}
	inspectFormat   = format{name: "a dataset of Inspect", convert: inspect}
	csvFormat       = format{name: "a CSV file", convert: csvSuite}
	skillgymFormat  = format{name: "a skillgym config", do: "plumb reads it as it is: plumb run SUITE.ts"}
)

const known = "known are a promptfoo config, evals.json of skill-creator, data of OpenAI evals (JSON lines), datasets " +
	"of Inspect (JSON, JSON lines), and CSV"

// Suggest returns the name of the foreign format of a file and what to do with it. It is false for
// a file in no known foreign format.
func Suggest(path string, data []byte) (name, do string, ok bool) {
	f := detect(path, data)
	if f == nil || f == &csvFormat {
		if d := Data(path, data); d != nil && d.Prompt != "" && !d.cases {
			return "data: questions without checks", "plumb init writes a suite that asks each row of it", true
		}
		return "", "", false
	}
	if f.do != "" {
		return f.name, f.do, true
	}
	return f.name, "convert it: plumb convert " + path, true
}

// detect returns the format of a file, judging by its name and its content; nil for no known one.
func detect(path string, data []byte) *format {
	base := strings.ToLower(filepath.Base(path))
	ext := filepath.Ext(base)
	switch {
	case strings.HasPrefix(base, "skillgym.config."):
		return &skillgymFormat
	case lib.IsCode(base):
		if strings.HasPrefix(base, "promptfoo") {
			return &promptfooFormat
		}
		return nil
	case ext == ".csv":
		return &csvFormat
	}
	data = bytes.TrimPrefix(data, []byte("\uFEFF"))
	switch ext {
	case ".yaml", ".yml":
		if promptfoo.IsConfig(base, yamlKeys(data)) {
			return &promptfooFormat
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

func detectJSON(base string, data []byte) *format {
	v, _, ok := (&doc.JSON{File: base}).Parse(data, 1)
	switch {
	case !ok:
	case v.Kind == doc.List && len(v.List) > 0:
		if f := detectRow(&v.List[0]); f == &inspectFormat {
			return f
		}
	case v.Kind == doc.Map:
		var keys []string
		for _, m := range v.Members {
			keys = append(keys, m.Key)
		}
		if evals := v.Get("evals"); evals != nil && evals.Kind == doc.List && v.Get("skill_name") != nil {
			return &evalsFormat
		}
		if promptfoo.IsConfig(base, keys) {
			return &promptfooFormat
		}
	}
	return nil
}

// detectRow detects the format of a line or an element.
func detectRow(v *doc.Value) *format {
	input := v.Get("input")
	switch {
	case v.Kind != doc.Map, input == nil, v.Get("category") != nil, v.Get("assertion") != nil, v.Get("assertions") != nil:
	case v.Get("target") != nil || v.Get("choices") != nil:
		return &inspectFormat
	case v.Get("ideal") != nil && input.Kind == doc.List:
		return &openaiFormat
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
