package cli

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/agent"
	"github.com/plumb-eval/plumb/internal/config"
	"github.com/plumb-eval/plumb/internal/project"
	"github.com/plumb-eval/plumb/internal/runner/modelapi"
)

// runnerConfigs returns the runners that the flags describe, or else all runners of the config.
func (c *runCmd) runnerConfigs(p *project.Project) ([]plumb.RunnerConfig, error) {
	configs, err := c.configs(p)
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
		r := &configs[i]
		c.setParameters(r)
		if r.Replay != "" && !filepath.IsAbs(r.Replay) {
			if r.Replay, err = p.ReplayDir(r.Replay); err != nil {
				return nil, err
			}
		}
		id := cmp.Or(r.ID, r.Model)
		if id != "" && seen[id] {
			return nil, fmt.Errorf("runner %q is given twice", id)
		}
		seen[id] = true
	}
	return configs, nil
}

// configs returns the runners that the settings describe.
func (c *runCmd) configs(p *project.Project) (configs []plumb.RunnerConfig, err error) {
	want := &c.want
	for _, id := range want.RunnerIDs {
		r, err := configRunner(p.Config, id)
		if err != nil {
			return nil, err
		}
		configs = append(configs, *r)
	}
	for _, name := range want.Models {
		r, err := modelConfig(name, want)
		if err != nil {
			return nil, err
		}
		configs = append(configs, r)
	}
	for _, name := range want.Agents {
		kind, model, _ := strings.Cut(name, ":")
		if err := checkWord("agent", kind, agent.Types()); err != nil {
			return nil, err
		}
		if model == "" {
			return nil, plumb.WithHint(fmt.Errorf("--agent %s has no model", name),
				"--agent "+kind+":MODEL, with the agent's own name for the model")
		}
		configs = append(configs, plumb.RunnerConfig{
			ID: name, TimeoutMs: int64(want.RequestTimeoutMs), Agent: &plumb.AgentConfig{
				Type: kind, Model: model, InheritConfig: want.InheritConfig,
				BaseURL: want.BaseURL, APIKeyEnv: want.APIKeyEnv,
			},
		})
	}
	if want.Command != "" {
		configs = append(configs, plumb.RunnerConfig{Command: shellCommand(want.Command, c.commandDir)})
	}
	if want.Replay != "" {
		replays, err := p.Replays(want.Replay)
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
func modelConfig(name string, want *config.Settings) (plumb.RunnerConfig, error) {
	c := plumb.RunnerConfig{
		Model: name, TimeoutMs: int64(want.RequestTimeoutMs),
		BaseURL: want.BaseURL, API: want.API, APIKeyEnv: want.APIKeyEnv,
	}
	if strings.Contains(name, ",") {
		return c, plumb.WithHint(fmt.Errorf("--model %q is not a model name", name),
			"give each model its own flag: --model "+strings.ReplaceAll(name, ",", " --model "))
	}
	for _, h := range want.Headers {
		key, value, ok := strings.Cut(h, "=")
		if !ok {
			return c, plumb.WithHint(fmt.Errorf("--header %q has no value", h), "name=value")
		}
		if c.Headers == nil {
			c.Headers = map[string]string{}
		}
		c.Headers[key] = value
	}
	if _, err := modelapi.Resolve(name); err != nil && want.BaseURL != "" && !strings.Contains(name, ":") {
		c.Model = modelapi.Custom + ":" + name // the address identifies the server; the name is its own
	}
	return c, nil
}

// setParameters sets the sampling parameters that a runner does not set itself.
func (c *runCmd) setParameters(r *plumb.RunnerConfig) {
	if r.Replay != "" || r.Agent != nil {
		return
	}
	want := &c.want
	if r.Temperature == nil && !r.NoTemperature {
		r.Temperature, r.NoTemperature = want.Temperature.Value, want.Temperature.None
	}
	if r.Seed == nil && !r.NoSeed {
		r.Seed, r.NoSeed = want.Seed.Value, want.Seed.None
	}
	if r.MaxOutputTokens == nil && want.MaxOutputTokens > 0 {
		r.MaxOutputTokens = &want.MaxOutputTokens
	}
	if r.ReasoningEffort == nil && want.ReasoningEffort != "" {
		r.ReasoningEffort = &want.ReasoningEffort
	}
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
