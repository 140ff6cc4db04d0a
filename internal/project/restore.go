package project

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/plumb-eval/plumb"
)

// removed matches the marks that replace secrets in run.json.
var removed = regexp.MustCompile(`\[redacted:[^\]]*\]`)

// RestoreRunner restores the secrets of a recorded runner from the runner with its id in the
// config.
func (p *Project) RestoreRunner(s *plumb.RunnerConfig) error {
	var now any
	id, _, _ := strings.Cut(s.ID, TwinID("", "")) // of --ablate: it has the secrets of the runner
	if c := p.Config.Runner(id); c != nil {
		now = c
	}
	return p.restore(s, now, "runner "+cmp.Or(s.ID, s.Model, "command"))
}

// restore puts secrets back into recorded settings. run.json does not contain the secrets that a
// config spells out, or that a config in code reads from the environment. restore takes them from
// the same place in the present settings, if the value there is the same except for secrets.
// recorded is a pointer; what is its name in errors.
func (p *Project) restore(recorded, now any, what string) error {
	was, err := jsonValue(recorded)
	if err != nil {
		return err
	}
	is, err := jsonValue(now)
	if err != nil {
		return err
	}
	m := restorer{redact: p.redact.String}
	full := m.complete(was, is, "")
	switch {
	case m.missing != "":
		err := fmt.Errorf("%s of the %s was a secret: run.json does not contain secrets, and the config does not have "+
			"this one", m.missing, what)
		return plumb.WithHint(err, "pass the config of the run with --config; "+
			"or write ${NAME} in plumb.yaml for an environment variable, and start a new run")
	case m.found == 0:
		return nil
	}
	data, err := json.Marshal(full)
	if err == nil {
		err = json.Unmarshal(data, recorded)
	}
	if err != nil {
		return fmt.Errorf("complete the %s: %w", what, err)
	}
	return nil
}

// RestoreWorkspace restores the secrets of the recorded workspace from the suite or the config.
func (p *Project) RestoreWorkspace(s *Spec, suite *plumb.Suite) error {
	if s.Workspace == nil {
		return nil
	}
	now := p.Config.Run.Workspace
	if suite.Workspace != nil {
		now = suite.Workspace
	}
	return p.restore(s.Workspace, now, "workspace")
}

// jsonValue returns v decoded from its JSON form.
func jsonValue(v any) (any, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("read recorded settings: %w", err)
	}
	var out any
	return out, json.Unmarshal(data, &out)
}

// restorer puts secrets back into JSON values.
type restorer struct {
	redact  func(string) string
	found   int
	missing string // the first place whose secret was not found
}

func (m *restorer) complete(recorded, now any, at string) any {
	switch recorded := recorded.(type) {
	case map[string]any:
		from, _ := now.(map[string]any)
		for key, value := range recorded {
			recorded[key] = m.complete(value, from[key], join(at, key))
		}
	case []any:
		from, _ := now.([]any)
		for i, value := range recorded {
			var v any
			if i < len(from) {
				v = from[i]
			}
			recorded[i] = m.complete(value, v, join(at, strconv.Itoa(i)))
		}
	case string:
		if !removed.MatchString(recorded) {
			return recorded
		}
		value, ok := now.(string)
		if !ok || removed.ReplaceAllString(m.redact(value), "") != removed.ReplaceAllString(recorded, "") {
			m.missing = at
			return recorded
		}
		m.found++
		return value
	}
	return recorded
}

func join(at, key string) string {
	if at == "" {
		return key
	}
	return at + "." + key
}

// RestoreRunners restores the secrets of all runners of a run.
func (p *Project) RestoreRunners(s *Spec) error {
	for _, r := range s.all() {
		if err := p.RestoreRunner(r); err != nil {
			return err
		}
	}
	return nil
}
