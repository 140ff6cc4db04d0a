package load

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
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
		return nil, problems.err()
	}
	return text, nil
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
	if err = errors.Join(err, problems.err()); err != nil {
		return nil, fmt.Errorf("load the config: %w", err)
	}
	w := &lineWriter{}
	w.value(tree)
	answer, err := json.Marshal(map[string]any{"filePath": path, "config": json.RawMessage(w.text)})
	return string(answer), err
}
