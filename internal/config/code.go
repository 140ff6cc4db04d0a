package config

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/script"
	"github.com/plumb-eval/plumb/internal/suite/lib"
)

// Calls returns the Go functions that the module plumb calls: those of host return at once, and
// those of async later. The relative paths of the code start at dir.
func Calls(h lib.Host, dir string) (host, async map[string]script.HostFunc) {
	h.Dir = dir
	return map[string]script.HostFunc{"parseConfig": parseCall},
		map[string]script.HostFunc{"loadConfig": caller{h}.loadCall}
}

// Options is [lib.Host.Options] with the functions that [Calls] returns.
func Options(h lib.Host, dir string) script.Environment {
	o := h.Options(dir)
	o.Host, o.Async = Calls(h, dir)
	return o
}

// readExport runs a config in code and returns what it exports, without places. The code also sees
// the variables of the .env file beside it.
func readExport(ctx context.Context, path string, h lib.Host) (value, doc.Problems) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return value{}, doc.Problems{{Pos: plumb.Position{File: path}, Message: err.Error()}}
	}
	at := lib.Places{Origin: abs, Named: path}
	program, err := lib.Build(abs)
	if err != nil {
		return value{}, at.Problems(err)
	}
	options := Options(h, cmp.Or(h.Dir, filepath.Dir(abs)))
	vars, err := DotEnv(filepath.Dir(abs), variable(options.Env))
	if err != nil {
		return value{}, at.Problems(err)
	}
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		options.Env = append(options.Env, name+"="+vars[name])
	}
	vm, err := h.Start(ctx, program, options)
	if err != nil {
		return value{}, at.Problems(err)
	}
	defer func() { _ = vm.Close() }()
	var export struct {
		Config   json.RawMessage `json:"config"`
		Problems []lib.Problem   `json:"problems"`
	}
	if err := lib.Describe(ctx, vm, &export, "readConfig"); err != nil {
		return value{}, at.Problems(err)
	}
	var problems doc.Problems
	for _, p := range export.Problems {
		problems = append(problems, p.In(at))
	}
	tree, problem := parseExport(path, export.Config)
	if problem != nil {
		problems = append(problems, *problem)
	}
	return tree, problems
}

// parseExport parses the JSON of a config in code. Its problem has no place.
func parseExport(file string, text []byte) (value, *doc.Problem) {
	if len(text) > doc.ConfigBytes {
		return value{}, &doc.Problem{Pos: plumb.Position{File: file}, Message: tooLarge(len(text))}
	}
	tree, problem := doc.ParseJSON(file, text)
	if problem != nil {
		problem.Pos.Line, problem.Pos.Column = 0, 0
	}
	return tree, problem
}

// variable looks up a variable in an environment.
func variable(env []string) func(string) string {
	return func(name string) string {
		for _, pair := range slices.Backward(env) {
			if value, ok := strings.CutPrefix(pair, name+"="); ok {
				return value
			}
		}
		return ""
	}
}
