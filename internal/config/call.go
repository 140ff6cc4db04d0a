package config

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/setting"
	"github.com/plumb-eval/plumb/internal/suite/lib"
)

// parseCall is parseConfig of the module plumb. It returns a valid config unchanged.
func parseCall(_ context.Context, args []json.RawMessage) (any, error) {
	var text string
	if len(args) != 1 || json.Unmarshal(args[0], &text) != nil {
		return nil, errors.New("parseConfig takes one config")
	}
	tree, problem := parseExport("config", []byte(text))
	if problem != nil {
		return nil, errors.New(problem.Message)
	}
	return text, complete("", tree)
}

// complete checks a config for a script, and returns an error with one line for each problem. Such
// a config must have runners.
func complete(file string, tree value) error {
	_, problems := fromValue(file, tree, true)
	if tree.Kind == doc.Null {
		problems = doc.Problems{{Message: setting.NotAMapping + ", not " + tree.Kind.String()}}
	} else if runners := tree.Get("runners"); tree.Kind == doc.Map &&
		(runners == nil || runners.Kind == doc.Map && len(runners.Members) == 0) {
		problems = append(problems, doc.Problem{Message: "runners must have a runner"})
	}
	if problems.Err() == nil {
		return nil
	}
	return invalid(problems)
}

// invalid renders the problems of a config in the documented form for scripts, one in each line:
// "Unknown config key: run.foo" or "Invalid config at run.repeat: must be at least 1, not 0".
func invalid(problems doc.Problems) error {
	var lines []string
	for _, p := range problems.Errors() {
		line := "Invalid config: " + p.Message
		key, rest, _ := strings.Cut(p.Message, " ")
		if unknown, ok := strings.CutPrefix(p.Message, "unknown key "); ok {
			line = "Unknown config key: " + strings.Trim(unknown, `"`)
		} else if section, _, _ := strings.Cut(key, "."); setting.Known((&reader{}).topFields(&Config{}), section) {
			line = "Invalid config at " + strings.TrimSuffix(key, ":") + ": " + rest
		}
		if p.Hint != "" {
			line += " (" + p.Hint + ")"
		}
		lines = append(lines, line)
	}
	return errors.New(strings.Join(lines, "\n"))
}

// caller has the functions that code calls, with the environment of that code.
type caller struct{ host lib.Host }

// loadCall is loadConfig of the module plumb. It finds, reads and checks the config of a suite, and
// returns its path and its content with absolute paths.
func (c caller) loadCall(ctx context.Context, args []json.RawMessage) (any, error) {
	var text string
	var q struct{ SuitePath, ConfigPath string }
	if len(args) != 1 || json.Unmarshal(args[0], &text) != nil || json.Unmarshal([]byte(text), &q) != nil ||
		q.SuitePath+q.ConfigPath == "" {
		return nil, errors.New("loadConfig takes an object with suitePath, and configPath if it is known")
	}
	file := c.absolute(q.ConfigPath)
	if q.ConfigPath == "" {
		var err error
		file, err = Find(filepath.Dir(c.absolute(q.SuitePath)))
		if several, ok := errors.AsType[*severalConfigs](err); ok {
			slices.Sort(several.names)
			names := strings.Join(several.names, ", ")
			//nolint:staticcheck // documented
			return nil, fmt.Errorf("Multiple config files found in %s: %s", several.dir, names)
		}
		if err != nil {
			return nil, err
		}
	}
	if file == "" {
		//nolint:revive,staticcheck // the documented words
		return nil, errors.New("No skillgym config found. Create skillgym.config.ts with a non-empty runners map.")
	}
	tree, problems, err := readValue(ctx, file, c.host)
	switch {
	case err != nil:
		return nil, fmt.Errorf("load the config: %w", err)
	case problems.Err() != nil:
		return nil, invalid(problems)
	}
	if err := complete(file, *tree); err != nil {
		return nil, err
	}
	resolvePaths(tree, filepath.Dir(file))
	answer, err := json.Marshal(struct {
		FilePath string          `json:"filePath"`
		Config   json.RawMessage `json:"config"`
	}{file, tree.AppendJSON(nil)})
	return string(answer), err
}

// absolute makes a path of the script absolute.
func (c caller) absolute(name string) string {
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(c.host.Dir, name)
}

// resolvePaths makes the same paths of a config absolute as [Read] does.
func resolvePaths(tree *value, dir string) {
	r := newReader("", dir)
	read := func(as func(v value, path string) string) func(v *value) {
		return func(v *value) {
			if v.Kind == doc.String {
				v.SetText(as(*v, ""))
			}
		}
	}
	report := func(v value, _ string) string { return r.report(v.Text()) }
	for _, s := range new(Settings).List() {
		for _, key := range s.Keys() {
			if s.Format == setting.Path {
				each(tree, []string{"run", key}, read(r.path))
			}
			if s.Format == Report {
				each(tree, []string{"run", key}, read(report))
				each(tree, []string{"run", key, "*"}, read(report))
			}
		}
	}
	for _, places := range []struct {
		as    func(v value, path string) string
		paths []string
	}{
		{r.path, []string{
			"run workspace cwd", "run workspace templateDir", "snapshots path",
			"runners * agent skills", "runners * agent skills *",
		}},
		{r.program, []string{
			"runners * agent command", "runners * agent commandArgs", "runners * agent commandArgs *",
			"runners * agent args", "runners * agent args *",
			"runners * agent mcpServers * command", "runners * agent mcpServers * args",
			"runners * agent mcpServers * args *",
			"run workspace bootstrap command", "run workspace bootstrap args", "run workspace bootstrap args *",
		}},
	} {
		for _, place := range places.paths {
			each(tree, strings.Fields(place), read(places.as))
		}
	}
}

// each calls f with each value at a path in v; * is any member or element.
func each(v *value, path []string, f func(v *value)) {
	if len(path) == 0 {
		f(v)
		return
	}
	for i := range v.Members {
		if path[0] == "*" || path[0] == v.Members[i].Key {
			each(&v.Members[i].Value, path[1:], f)
		}
	}
	for i := range v.List {
		if path[0] == "*" {
			each(&v.List[i], path[1:], f)
		}
	}
}
