package cli

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/agent"
	"github.com/plumb-eval/plumb/internal/config"
	"github.com/plumb-eval/plumb/internal/job"
	"github.com/plumb-eval/plumb/internal/runner/modelapi"
)

// runnerConfigs returns the runners that the flags describe, or else all runners of the config.
func (f *runFlags) runnerConfigs(p *job.Project) ([]plumb.RunnerConfig, error) {
	configs, err := f.model.configs(p)
	if err != nil {
		return nil, err
	}
	if len(configs) == 0 {
		configs = append(configs, p.Config.Runners...)
	}
	if len(configs) == 0 {
		missing := "nothing to test: give --model, --agent or --command"
		if p.Config.Path != "" {
			missing += ", or add runners to " + filepath.Base(p.Config.Path)
		}
		return nil, plumb.WithHint(errors.New(missing),
			"plumb run --model gpt-5, or --agent codex:gpt-5.5; plumb models lists models; plumb demo needs no key")
	}
	seen := map[string]bool{}
	for i := range configs {
		c := &configs[i]
		if err := f.model.setParameters(c); err != nil {
			return nil, err
		}
		if c.Replay != "" && !filepath.IsAbs(c.Replay) {
			if c.Replay, err = p.ReplayDir(c.Replay); err != nil {
				return nil, err
			}
		}
		id := cmp.Or(c.ID, c.Model)
		if id != "" && seen[id] {
			return nil, fmt.Errorf("runner %q is given twice", id)
		}
		seen[id] = true
	}
	return configs, nil
}

// configs returns the runners that the flags describe.
func (m *modelFlags) configs(p *job.Project) (configs []plumb.RunnerConfig, err error) {
	for _, id := range m.runners {
		c, err := configRunner(p.Config, id)
		if err != nil {
			return nil, err
		}
		configs = append(configs, *c)
	}
	for _, name := range m.models {
		c, err := m.modelConfig(name)
		if err != nil {
			return nil, err
		}
		configs = append(configs, c)
	}
	for _, name := range m.agents {
		kind, model, _ := strings.Cut(name, ":")
		if err := checkWord("agent", kind, agent.Types()); err != nil {
			return nil, err
		}
		if model == "" {
			return nil, plumb.WithHint(fmt.Errorf("--agent %s has no model", name),
				"--agent "+kind+":MODEL, with the agent's own name for the model")
		}
		configs = append(configs, plumb.RunnerConfig{ID: name, TimeoutMs: m.timeoutMs, Agent: &plumb.AgentConfig{
			Type: kind, Model: model, BaseURL: m.baseURL, APIKeyEnv: m.keyEnv, InheritConfig: m.inheritConfig,
		}})
	}
	if m.command != "" {
		configs = append(configs, plumb.RunnerConfig{Command: shellCommand(m.command, m.commandDir)})
	}
	if m.replay != "" {
		replays, err := p.Replays(m.replay)
		if err != nil {
			return nil, err
		}
		configs = append(configs, replays...)
	}
	return configs, nil
}

// configRunner returns the runner of the config with the given id.
func configRunner(config *config.Config, id string) (*plumb.RunnerConfig, error) {
	if c := config.Runner(id); c != nil {
		return c, nil
	}
	var known []string
	for i := range config.Runners {
		known = append(known, config.Runners[i].ID)
	}
	if len(known) == 0 {
		return nil, plumb.WithHint(fmt.Errorf("no runner %q: the config has no runners", id),
			"use --model, or create a plumb.yaml (plumb init)")
	}
	return nil, unknownWord("runner", id, known)
}

// modelConfig returns the runner for a value of --model.
func (m *modelFlags) modelConfig(name string) (plumb.RunnerConfig, error) {
	c := plumb.RunnerConfig{
		Model: name, BaseURL: m.baseURL, API: m.api, APIKeyEnv: m.keyEnv, TimeoutMs: m.timeoutMs,
	}
	if strings.Contains(name, ",") {
		return c, plumb.WithHint(fmt.Errorf("--model %q is not a model name", name),
			"give each model its own flag: --model "+strings.ReplaceAll(name, ",", " --model "))
	}
	for _, h := range m.headers {
		key, value, ok := strings.Cut(h, "=")
		if !ok {
			return c, plumb.WithHint(fmt.Errorf("--header %q has no value", h), "name=value")
		}
		if c.Headers == nil {
			c.Headers = map[string]string{}
		}
		c.Headers[key] = value
	}
	if _, err := modelapi.Resolve(name); err != nil && m.baseURL != "" && !strings.Contains(name, ":") {
		c.Model = modelapi.Custom + ":" + name // the address identifies the server; the name is its own
	}
	return c, nil
}

// setParameters sets the sampling parameters of the flags that the runner does not set itself.
func (m *modelFlags) setParameters(c *plumb.RunnerConfig) error {
	if c.Replay != "" || c.Agent != nil {
		return nil
	}
	if c.Temperature == nil && !c.NoTemperature && m.temperature.text != "" {
		if c.NoTemperature = m.temperature.text == "none"; !c.NoTemperature {
			t, err := strconv.ParseFloat(m.temperature.text, 64)
			if err != nil {
				return fmt.Errorf("--temperature: %w", err)
			}
			c.Temperature = &t
		}
	}
	if c.Seed == nil && !c.NoSeed && m.seed.text != "" {
		if c.NoSeed = m.seed.text == "none"; !c.NoSeed {
			s, err := strconv.ParseInt(m.seed.text, 10, 64)
			if err != nil {
				return fmt.Errorf("--seed: %w", err)
			}
			c.Seed = &s
		}
	}
	if c.MaxOutputTokens == nil && m.maxOutputTokens > 0 {
		c.MaxOutputTokens = &m.maxOutputTokens
	}
	if c.ReasoningEffort == nil && m.effort != "" {
		c.ReasoningEffort = &m.effort
	}
	return nil
}

// shellCommand returns the arguments that let the system's shell run a command line, in dir unless
// that is "".
func shellCommand(line, dir string) []string {
	switch {
	case runtime.GOOS == "windows" && dir != "":
		return []string{"cmd", "/c", `cd /d "` + dir + `" && ` + line}
	case runtime.GOOS == "windows":
		return []string{"cmd", "/c", line}
	case dir != "":
		return []string{"sh", "-c", `cd "$0" || exit` + "\n" + line, dir}
	default:
		return []string{"sh", "-c", line}
	}
}
