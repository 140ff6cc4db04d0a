package load

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/plumb-eval/plumb/internal/agent"
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
	if err := complete("", tree); err != nil {
		return nil, err
	}
	return text, nil
}

// complete finds what is wrong with a config that a script asks for. One without runners is none there.
func complete(file string, tree value) error {
	_, problems := readConfigTree(file, tree, true)
	switch tree.kind {
	case kindNull: // which is an empty file, and no config of a script
		return errors.New("Invalid config: expected plain object") //nolint:staticcheck // documented
	case kindMap:
		switch i := slices.IndexFunc(tree.members, func(m valueMember) bool { return m.key == "runners" }); {
		case i < 0:
			problems = append(problems, Problem{Message: "runners is missing"})
		case tree.members[i].value.kind == kindMap && len(tree.members[i].value.members) == 0:
			return errors.New("Invalid config at runners: expected non-empty object") //nolint:staticcheck // documented
		}
	default:
	}
	if problems.err() == nil {
		return nil
	}
	return documented(problems)
}

// expectations are the documented words for what the values of a config must be, by their keys.
func expectations() [][2]string {
	const (
		text, words, object, positive = "expected non-empty string", "expected array of non-empty strings", "expected plain object", "expected integer >= 1"
		workspace, ofAgent            = "run.workspace", "runners.*.agent"
	)
	return [][2]string{
		{"run", object},
		{"defaults", object},
		{"runners", object},
		{"runners.*", object},
		{"snapshots", object},
		{"run.cwd", text},
		{"run.outputDir", text},
		{"run.reporter", text},
		{"run.schedule", "expected one of: " + strings.Join(schedules(), ", ")},
		{"run.maxSteps", positive},
		{"run.maxParallel", positive},
		{"run.repeat", positive},
		{"run.repeatFailure", "expected integer >= 0"},
		{"run.retryFailed", "expected integer >= 0"},
		{"run.tags", words},
		{"run.tags[*]", text},
		{workspace, object},
		{workspace + ".mode", `expected "none", "shared", or "isolated"`},
		{workspace + ".cwd", text},
		{workspace + ".templateDir", text},
		{workspace + ".bootstrap", object},
		{workspace + ".bootstrap.command", text},
		{workspace + ".bootstrap.args", words},
		{workspace + ".bootstrap.args[*]", text},
		{workspace + ".bootstrap.timeoutMs", positive},
		{workspace + ".bootstrap.env", object},
		{workspace + ".bootstrap.env.*", "expected string"},
		{"defaults.timeoutMs", positive},
		{ofAgent, object},
		{ofAgent + ".type", "expected " + oneOf(agent.Types())},
		{ofAgent + ".model", text},
		{ofAgent + ".command", text},
		{ofAgent + ".commandArgs", words},
		{ofAgent + ".commandArgs[*]", text},
		{ofAgent + ".env", object},
		{ofAgent + ".env.*", "expected string"},
		{"snapshots.path", text},
		{"snapshots.metric", "expected one of: " + strings.Join(snapshotMetrics(), ", ")},
		{"snapshots.tolerance", "expected at least one of absolute or percent"},
		{"snapshots.tolerance.absolute", "expected number >= 0"},
		{"snapshots.tolerance.percent", "expected number >= 0"},
	}
}

// oneOf lists words in quotes: "a", "b", or "c".
func oneOf(words []string) string {
	last := len(words) - 1
	return `"` + strings.Join(words[:last], `", "`) + `", or "` + words[last] + `"`
}

// expectation is the documented word for what the value at a key must be, or "".
func expectation(key string) string {
	slashes := strings.NewReplacer(".", "/", "[*]", "/#", "[", "/#", "]", "")
	for _, e := range expectations() {
		if ok, err := path.Match(strings.ReplaceAll(slashes.Replace(e[0]), "#", "#*"), slashes.Replace(key)); ok && err == nil {
			return e[1]
		}
	}
	return ""
}

// documented renders problems of a config with the words that scripts know, where there are any: "Unknown config key: run.foo"
// and "Invalid config at run.repeat: expected integer >= 1", one a line.
func documented(problems Problems) error {
	var lines []string
	for _, p := range problems.Errors() {
		line, hint := "Invalid config: "+p.Message, p.Hint
		first, rest, _ := strings.Cut(p.Message, " ")
		first = strings.TrimSuffix(first, ":")
		_, section, left := strings.Cut(p.Message, leftOut)
		known := ""
		if !strings.HasPrefix(rest, "and ") { // which is about two keys
			known = expectation(first)
		}
		key, unknown := strings.CutPrefix(p.Message, "unknown key ")
		switch {
		case unknown:
			line = "Unknown config key: " + strings.Trim(key, `"`)
			if strings.HasPrefix(hint, "known: ") {
				hint = ""
			}
		case strings.HasPrefix(p.Message, notAMapping):
			line = "Invalid config: expected plain object"
		case left:
			line, hint = "Invalid config at "+first+": expected this key to be omitted when workspace mode is "+section, ""
		case known != "":
			line, hint = "Invalid config at "+first+": "+known, ""
		case strings.ContainsAny(first, ".["):
			line = "Invalid config at " + first + ": " + rest
		}
		if hint != "" {
			line += " (" + hint + ")"
		}
		lines = append(lines, line)
	}
	return errors.New(strings.Join(lines, "\n"))
}

// loadConfigCall is loadConfig of the module plumb: it finds and reads the config of a suite, and gives its path and what it
// says, once that is in order, with absolute paths.
func (h Host) loadConfigCall(ctx context.Context, args []json.RawMessage) (any, error) {
	var text string
	var q struct{ SuitePath, ConfigPath string }
	if len(args) != 1 || json.Unmarshal(args[0], &text) != nil || json.Unmarshal([]byte(text), &q) != nil || q.SuitePath+q.ConfigPath == "" {
		return nil, errors.New("loadConfig takes an object with suitePath, and configPath if it is known")
	}
	file := h.absolute(q.ConfigPath)
	if q.ConfigPath == "" {
		var err error
		file, err = FindConfig(filepath.Dir(h.absolute(q.SuitePath)))
		if several, ok := errors.AsType[*severalConfigs](err); ok {
			slices.Sort(several.names)
			return nil, fmt.Errorf("Multiple config files found in %s: %s", several.dir, strings.Join(several.names, ", ")) //nolint:staticcheck // documented
		}
		if err != nil {
			return nil, err
		}
	}
	if file == "" {
		return nil, errors.New("No skillgym config found. Create skillgym.config.ts with a non-empty runners map.") //nolint:revive,staticcheck // the documented words
	}
	tree, problems, err := configTree(ctx, file, h)
	switch {
	case err != nil:
		return nil, fmt.Errorf("load the config: %w", err)
	case problems.err() != nil:
		return nil, documented(problems)
	}
	if err := complete(file, tree); err != nil {
		return nil, err
	}
	resolvePaths(&tree, filepath.Dir(file))
	w := &lineWriter{}
	w.value(tree)
	answer, err := json.Marshal(struct {
		FilePath string          `json:"filePath"`
		Config   json.RawMessage `json:"config"`
	}{file, w.text})
	return string(answer), err
}

// absolute is a path as the script means it.
func (h Host) absolute(name string) string {
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(h.Dir, name)
}

// resolvePaths makes the paths of a config absolute that begin at its directory, as those who read it do.
func resolvePaths(tree *value, dir string) {
	r := &configReader{dir: dir}
	read := func(as func(v value, path string) string) func(v *value) {
		return func(v *value) {
			if v.kind == kindString {
				v.text = as(*v, "")
			}
		}
	}
	reporter := func(v value, _ string) string {
		if isCode(v.text) || strings.HasPrefix(v.text, "./") || strings.HasPrefix(v.text, "../") {
			return r.path(v, "")
		}
		return v.text
	}
	for _, places := range []struct {
		as    func(v value, path string) string
		paths []string
	}{
		{r.path, []string{
			"run cwd", "run outputDir", "run output", "run workspaces", "run workspace cwd", "run workspace templateDir", "snapshots path",
			"runners * agent skills", "runners * agent skills *",
		}},
		{r.program, []string{
			"runners * agent command", "runners * agent commandArgs", "runners * agent commandArgs *", "runners * agent args", "runners * agent args *",
			"runners * agent mcpServers * command", "runners * agent mcpServers * args", "runners * agent mcpServers * args *",
			"run workspace bootstrap command", "run workspace bootstrap args", "run workspace bootstrap args *",
		}},
		{reporter, []string{"run reporter", "run report", "run report *"}},
	} {
		for _, place := range places.paths {
			tree.at(strings.Fields(place), read(places.as))
		}
	}
}

// at calls f with what stands at a path in v; * is any member or element.
func (v *value) at(path []string, f func(v *value)) {
	if len(path) == 0 {
		f(v)
		return
	}
	for i := range v.members {
		if path[0] == "*" || path[0] == v.members[i].key {
			v.members[i].value.at(path[1:], f)
		}
	}
	for i := range v.list {
		if path[0] == "*" {
			v.list[i].at(path[1:], f)
		}
	}
}
