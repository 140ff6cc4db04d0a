package load

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// parseConfigCall is parseConfig of the module plumb: it gives back a config that is in order.
func parseConfigCall(_ context.Context, args []json.RawMessage) (any, error) {
	var text string
	if len(args) != 1 || json.Unmarshal(args[0], &text) != nil {
		return nil, errors.New("parseConfig takes one config")
	}
	tree, problem := parseJSONTree("config", []byte(text))
	if problem != nil {
		return nil, errors.New(problem.Message)
	}
	if _, problems := readConfigTree("", tree, true); problems.err() != nil {
		return nil, documented(problems)
	}
	return text, nil
}

// documented renders problems of a config with the beginnings that scripts know: "Unknown config key: run.foo" and "Invalid
// config at run.repeat: ...", one a line.
func documented(problems Problems) error {
	var lines []string
	for _, p := range problems.Errors() {
		line := "Invalid config: " + p.Message
		first, rest, _ := strings.Cut(p.Message, " ")
		if key, ok := strings.CutPrefix(p.Message, "unknown key "); ok {
			line = "Unknown config key: " + strings.Trim(key, `"`)
		} else if strings.ContainsAny(first, ".[") || slices.Contains([]string{"run", "runners", "defaults", "snapshots"}, first) {
			line = "Invalid config at " + strings.TrimSuffix(first, ":") + ": " + rest
		}
		if p.Hint != "" {
			line += " (" + p.Hint + ")"
		}
		lines = append(lines, line)
	}
	return errors.New(strings.Join(lines, "\n"))
}

// loadConfigCall is loadConfig of the module plumb: it finds and reads the config of a suite, and gives its path and what it
// says, once that is in order. Paths are as they are written.
func (h Host) loadConfigCall(ctx context.Context, args []json.RawMessage) (any, error) {
	var text string
	var q struct{ SuitePath, ConfigPath string }
	if len(args) != 1 || json.Unmarshal(args[0], &text) != nil || json.Unmarshal([]byte(text), &q) != nil {
		return nil, errors.New("loadConfig takes an object with suitePath, and configPath if it is known")
	}
	path := q.ConfigPath
	if path == "" {
		var err error
		if path, err = FindConfig(filepath.Dir(q.SuitePath)); err != nil {
			return nil, err
		}
	}
	if path == "" {
		return nil, errors.New("No skillgym config found. Create skillgym.config.ts with a non-empty runners map.") //nolint:revive,staticcheck // the documented words
	}
	tree, problems, err := configTree(ctx, path, h)
	if err == nil && problems.err() == nil {
		_, problems = readConfigTree(path, tree, isCode(path))
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("load the config: %w", err)
	case problems.err() != nil:
		return nil, documented(problems)
	}
	w := &lineWriter{}
	w.value(tree)
	answer, err := json.Marshal(map[string]any{"filePath": path, "config": json.RawMessage(w.text)})
	return string(answer), err
}
