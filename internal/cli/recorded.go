package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"

	"github.com/plumb-eval/plumb"
)

// removed is what stands in run.json where a secret was.
var removed = regexp.MustCompile(`\[redacted:[^\]]*\]`)

// withSecrets completes a recorded runner from the runner of the config with its id.
func (p *project) withSecrets(s *runnerSpec) error {
	var now any
	if c := p.config.Runner(s.ID); c != nil {
		now = specOf(*c)
	}
	return p.restore(s, now, "runner "+cmp.Or(s.ID, s.Model, "command"))
}

// restore completes recorded settings: run.json does not hold the secrets that a config wrote out, or a config in code took
// from the environment. They are taken from the same place of the settings that are there now, if what stands there is the
// same but for secrets. recorded is a pointer; what names it to the user.
func (p *project) restore(recorded, now any, what string) error {
	was, err := plain(recorded)
	if err != nil {
		return err
	}
	is, err := plain(now)
	if err != nil {
		return err
	}
	m := secretsOf{redact: p.redactor(nil).String}
	full := m.complete(was, is, "")
	switch {
	case m.missing != "":
		return plumb.WithHint(fmt.Errorf("%s of the %s was a secret; run.json does not hold secrets, and the config does not have this one", m.missing, what),
			"name the config of the run with --config; or refer to an environment variable as ${NAME} in plumb.yaml, and start a new run")
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

// restoreWorkspace completes the recorded workspace from the suite or the config, wherever it came from.
func (p *project) restoreWorkspace(s *spec, suite *plumb.Suite) error {
	if s.Workspace == nil {
		return nil
	}
	now := p.config.Workspace
	if suite.Workspace != nil {
		now = suite.Workspace
	}
	return p.restore(s.Workspace, now, "workspace")
}

// plain returns a value as JSON has it.
func plain(v any) (any, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("read recorded settings: %w", err)
	}
	var out any
	return out, json.Unmarshal(data, &out)
}

// secretsOf puts secrets back.
type secretsOf struct {
	redact  func(string) string
	found   int
	missing string // the first place whose secret is not there
}

func (m *secretsOf) complete(recorded, now any, at string) any {
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

// complete puts the secrets back into all runners of a run.
func (p *project) complete(s *spec) error {
	for i := range s.Runners {
		if err := p.withSecrets(&s.Runners[i]); err != nil {
			return err
		}
	}
	for _, r := range []*runnerSpec{s.Judge, s.Embedder} {
		if r == nil {
			continue
		}
		if err := p.withSecrets(r); err != nil {
			return err
		}
	}
	return nil
}
