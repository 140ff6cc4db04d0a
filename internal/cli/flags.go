package cli

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/agent"
	"github.com/plumb-eval/plumb/internal/config"
	"github.com/plumb-eval/plumb/internal/job"
	"github.com/plumb-eval/plumb/internal/report"
	"github.com/plumb-eval/plumb/internal/run"
	"github.com/plumb-eval/plumb/internal/runner"
)

type flag = pflag.Flag

// runFlags are the flags of plumb run. Most write into the request for a job. Each flag that
// describes the run is also a key of run in the config file, with the same meaning; see fromConfig.
type runFlags struct {
	projectFlags
	tier    string
	want    job.Request
	model   modelFlags
	reports []string
}

func newRunFlags() runFlags { return runFlags{want: job.Request{Spec: job.Defaults()}} }

// modelFlags are the flags that describe runners.
type modelFlags struct {
	models, runners, agents []string
	command, replay         string
	// commandDir is the directory of a command, or "" for the folder of the config.
	commandDir        string
	inheritConfig     bool
	baseURL, api      string
	keyEnv, effort    string
	headers           []string
	temperature, seed optional
	maxOutputTokens   int64
	timeoutMs         int64
}

// milliseconds is a flag for a time, which it stores in milliseconds.
type milliseconds int64

func (m *milliseconds) Type() string { return "duration" }
func (m *milliseconds) String() string {
	if *m == 0 {
		return "0"
	}
	return (time.Duration(*m) * time.Millisecond).String()
}

var errTooShort = errors.New("must be at least 1ms")

func (m *milliseconds) Set(s string) error {
	d, err := time.ParseDuration(s)
	if err != nil {
		return err
	}
	if d > 0 && d < time.Millisecond {
		return errTooShort
	}
	*m = milliseconds(d.Milliseconds())
	return nil
}

// optional is a flag for a number or "none", which leaves the choice to the provider.
type optional struct {
	text  string
	whole bool
}

func (o *optional) String() string { return o.text }
func (o *optional) Type() string   { return "number|none" }

func (o *optional) Set(s string) error {
	if s != "none" {
		if _, err := strconv.ParseFloat(s, 64); err != nil {
			return fmt.Errorf("%q is neither a number nor none", s)
		}
		if _, err := strconv.ParseInt(s, 10, 64); o.whole && err != nil {
			return fmt.Errorf("%q is not a whole number", s)
		}
	}
	o.text = s
	return nil
}

// words is a repeatable flag. A value may hold several words, separated by commas.
type words []string

func (w *words) String() string { return strings.Join(*w, ",") }
func (w *words) Type() string   { return "strings" }

func (w *words) Set(s string) error {
	for word := range strings.SplitSeq(s, ",") {
		if word = strings.TrimSpace(word); word == "" {
			return fmt.Errorf("%q contains an empty value; separate non-empty values by commas", s)
		}
		*w = append(*w, word)
	}
	return nil
}

// Help texts of flags that several commands have.
const (
	allowUnmeteredHelp = "run although a budget cannot be enforced, because a price or the usage is unknown"
	outputHelp         = "also append a block in the results.json list format to this `file`"
	reportHelp         = "`name[:path]` of a report; repeatable"
	trustHelp          = "start what the run names, although it was not made in this project"
)

func (f *runFlags) register(cmd *cobra.Command) {
	fs, m, want := cmd.Flags(), &f.model, &f.want
	fs.SortFlags = false
	m.seed.whole = true
	fs.StringVar(&f.config, "config", "",
		"config `file` (default: plumb.yaml, plumb.config.* or skillgym.config.* beside the suite or above)")
	fs.BoolVar(&want.Plan, "plan", false, "show what would run, with its tokens, cost and time, and spend nothing")

	fs.StringVar(&f.tier, "tier", "", "tier of a published suite: cheap, moderate or comprehensive")
	fs.StringArrayVarP(&m.models, "model", "m", nil,
		"model to test: `provider:model`, an alias, or a known name; repeatable")
	fs.StringArrayVar(&m.runners, "runner", nil, "`id` of a runner in the config; repeatable")
	fs.StringArrayVar(&m.agents, "agent", nil,
		"coding agent to test: `type:model`, such as codex:gpt-5.5 or claude-code:sonnet; repeatable")
	fs.StringVar(&m.command, "command", "", "`program` that answers prompts, run by the shell")
	fs.StringVar(&m.replay, "replay", "", "earlier `run` whose recorded sessions are replayed")

	fs.StringVar(&m.baseURL, "base-url", "",
		"address of an OpenAI-compatible server, or a replacement for the provider's own address")
	fs.StringVar(&m.api, "api", "", "interface of openai to use: chat or responses")
	fs.StringVar(&m.keyEnv, "api-key-env", "", "environment `variable` that holds the key")
	fs.StringArrayVar(&m.headers, "header", nil,
		"`name=value` header to send with each request; ${NAME} is expanded; repeatable")
	fs.Var(&m.temperature, "temperature", "sampling temperature, or none for the provider's default (default 0)")
	fs.Var(&m.seed, "seed", "sampling seed, or none to send no seed (default 42)")
	fs.Int64Var(&m.maxOutputTokens, "max-output-tokens", 0, "limit on the tokens of an answer, including reasoning")
	fs.StringVar(&m.effort, "reasoning-effort", "", "reasoning effort in the provider's words, such as low or high")
	fs.Var((*milliseconds)(&m.timeoutMs), "request-timeout", "time limit of one request")

	fs.StringVar(&want.Cwd, "cwd", "", "`directory` that agents work in, if Plumb makes no workspace for them")
	fs.StringVar((*string)(&want.WorkspaceMode), "workspace", "",
		"none, shared or isolated, if the suite does not set it (default: isolated; none for suites in code)")
	fs.StringVar(&want.Template, "template", "", "`directory` to copy into each workspace, if the suite sets none")
	fs.StringVar(&want.WorkspaceRoot, "workspaces", "",
		"`directory` to make workspaces in, outside any project (default: the system's directory for temporary files)")
	fs.BoolVar(&want.KeepWorkspaces, "keep-workspaces", false, "also keep the workspaces of sessions that passed")
	fs.IntVar(&want.MaxSteps, "max-steps", 0, "stop an agent that takes more steps")
	fs.BoolVar(&want.AllRepetitions, "all-repetitions", false,
		"run every --repeat sample for agents, even after a failure")
	fs.BoolVar(&m.inheritConfig, "inherit-config", false,
		"let agents use your own configuration, skills and memory")
	fs.StringVar(&want.Baselines, "snapshots", "", "`file` of token baselines, if the config has snapshots")
	fs.BoolVar(&want.UpdateBaselines, "update-snapshots", false, "save the measured tokens as the new baselines")

	fs.StringVar(&want.JudgeName, "judge", "",
		"`model` or runner id that answers llm_judge (default: each model judges itself)")
	fs.IntVar(&want.JudgeVotes, "judge-votes", 0,
		"answers per question to the judge, an odd number; the majority counts (default 1)")
	fs.StringVar(&want.EmbedderName, "embedder", "",
		"embedding `model` for semantic_similarity, such as openai:text-embedding-3-small")

	fs.StringArrayVar(&want.Filter.IDs, "case", nil, "run only the case with this `id`; repeatable")
	fs.Var((*words)(&want.Filter.Tags), "tag", "run only cases with one of these tags; repeatable")
	fs.Var((*words)(&want.Filter.Categories), "category", "run only cases of these categories; repeatable")
	fs.Var((*words)(&want.Filter.Difficulties), "difficulty", "run only cases of these difficulties; repeatable")
	fs.IntVar(&want.Filter.Limit, "limit", 0, "run only the first `n` of the selected cases")

	fs.StringVar((*string)(&want.Schedule), "schedule", "",
		"serial, parallel or isolated-by-runner (default parallel; serial for agents)")
	fs.IntVarP(&want.Parallel, "parallel", "j", job.Unset, fmt.Sprintf(
		"largest number of sessions in flight (default %d; for agents the number of processors)", job.DefaultParallel))
	fs.IntVar(&want.Repeat, "repeat", 1, "samples of each case")
	fs.IntVar(&want.Retry, "retry", 0, "how often to repeat a failed sample")
	fs.Var((*milliseconds)(&want.TimeoutMs), "timeout",
		"longest working time of one session, without waits for rate limits")

	fs.IntVar(&want.MaxFailures, "max-failures", 0, "stop after `n` failed or unmeasured cases")
	fs.Float64Var(&want.MaxCostUSD, "max-cost", 0, "stop before spending more than this number of US `dollars`")
	fs.Int64Var(&want.MaxTokens, "max-tokens", 0, "stop before using more than this number of `tokens`")
	fs.Var((*milliseconds)(&want.MaxDurationMs), "max-duration", "start no session after this time")
	fs.BoolVar(&want.AllowUnmetered, "allow-unmetered", false, allowUnmeteredHelp)

	fs.StringVar(&want.Cache, "cache", want.Cache, "use stored answers of earlier runs: off, on or only")
	fs.StringArrayVar(&f.reports, "report", nil, "`name[:path]` of a report: "+strings.Join(report.Names(), ", ")+
		"; or a TypeScript module; repeatable")
	fs.StringVar(&want.Output, "output", "", outputHelp)
	f.registerOutputDir(fs)

	fs.Lookup("parallel").DefValue = "0" // help does not show this value
	for _, alias := range flagAliases() {
		fs.Var(fs.Lookup(alias[1]).Value, alias[0], "same as --"+alias[1])
		fs.Lookup(alias[0]).Hidden = true
	}
	for name, values := range map[string][]string{
		"workspace": workspaceModes(), "agent": agent.Types(),
		"schedule": run.Schedules(), "cache": {"off", "on", "only"}, "report": report.Names(), "api": {"chat", "responses"},
		"category": config.Categories(), "tier": {"cheap", "moderate", "comprehensive"},
		"difficulty": {"easy", "medium", "hard"},
	} {
		err := cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
		if err != nil {
			panic(err) // the flag is not defined above
		}
	}
}

// flagAliases returns the names of flags in other tools.
func flagAliases() [][2]string {
	return [][2]string{
		{"max-parallel", "parallel"}, {"repeat-failure", "retry"}, {"retry-failed", "retry"}, {"reporter", "report"},
	}
}

func workspaceModes() []string {
	return []string{string(plumb.WorkspaceNone), string(plumb.WorkspaceShared), string(plumb.WorkspaceIsolated)}
}

// changed reports whether a flag is on the command line, by any of its names.
func changed(fs *pflag.FlagSet, name string) bool {
	for _, alias := range flagAliases() {
		if alias[1] == name && fs.Changed(alias[0]) {
			return true
		}
	}
	return fs.Changed(name)
}

// fromConfig sets each flag that is not on the command line to its value in the config.
func (f *runFlags) fromConfig(fs *pflag.FlagSet, c *config.Config) error {
	values := configValues(&c.Run)
	values["cwd"], values["max-steps"] = word(c.Cwd), number(c.MaxSteps)
	for name, values := range values {
		if changed(fs, name) {
			continue
		}
		if w, ok := fs.Lookup(name).Value.(*words); ok { // a comma in a list of the config is part of a word
			*w = append(*w, values...)
			continue
		}
		for _, v := range values {
			switch name {
			case "output":
				v = c.Resolve(v)
			case "report":
				if report, path, toFile := strings.Cut(v, ":"); job.IsModule(v) {
					v = c.Resolve(v)
				} else if toFile {
					v = report + ":" + c.Resolve(path)
				}
			}
			if err := fs.Set(name, v); err != nil {
				return fmt.Errorf("config %s: run: %s: %w", c.Path, name, err)
			}
		}
	}
	return nil
}

// configValues returns the values of each flag in a config, in the form of the command line. A flag
// that the config does not set has an empty list.
func configValues(c *config.RunConfig) map[string][]string {
	return map[string][]string{
		"tier": word(c.Tier), "model": c.Model, "runner": c.Runner, "command": word(c.Command), "replay": word(c.Replay),
		"base-url": word(c.BaseURL), "api": word(c.API), "api-key-env": word(c.APIKeyEnv), "header": c.Header,
		"temperature":       orNone(c.Temperature, c.NoTemperature),
		"seed":              orNone(c.Seed, c.NoSeed),
		"max-output-tokens": number(c.MaxOutputTokens), "reasoning-effort": word(c.ReasoningEffort),
		"request-timeout": duration(c.RequestTimeoutMs),
		"judge":           word(c.Judge), "judge-votes": number(c.JudgeVotes), "embedder": word(c.Embedder),
		"case": c.Case, "tag": c.Tag, "category": c.Category, "difficulty": c.Difficulty, "limit": number(c.Limit),
		"schedule": word(c.Schedule), "parallel": number(c.Parallel), "repeat": number(c.Repeat), "retry": pointer(c.Retry),
		"timeout": duration(c.TimeoutMs), "max-failures": number(c.MaxFailures), "max-cost": pointer(c.MaxCostUSD),
		"max-tokens": number(c.MaxTokens), "max-duration": duration(c.MaxDurationMs),
		"allow-unmetered": yes(c.AllowUnmetered),
		"workspaces":      word(c.Workspaces), "keep-workspaces": yes(c.KeepWorkspaces),
		"all-repetitions": yes(c.AllRepetitions),
		"cache":           word(c.Cache), "report": c.Report, "output": word(c.Output), "output-dir": word(c.OutputDir),
	}
}

func yes(on bool) []string {
	if !on {
		return nil
	}
	return []string{"true"}
}

func word(s string) []string {
	if s == "" {
		return nil
	}
	return []string{s}
}

func number[T int | int64](n T) []string {
	if n == 0 {
		return nil
	}
	return []string{fmt.Sprint(n)}
}

func pointer[T int | int64 | float64](p *T) []string {
	if p == nil {
		return nil
	}
	return []string{fmt.Sprint(*p)}
}

func orNone[T int64 | float64](p *T, none bool) []string {
	if none {
		return []string{"none"}
	}
	return pointer(p)
}

func duration(ms int64) []string {
	if ms == 0 {
		return nil
	}
	return []string{(time.Duration(ms) * time.Millisecond).String()}
}

// check finds values that are invalid for every run.
func (f *runFlags) check() error {
	want := &f.want
	if want.Parallel < 1 && want.Parallel != job.Unset {
		return errors.New("--parallel must be at least 1")
	}
	for _, n := range []struct {
		flag  string
		value float64
		least float64
	}{
		{"max-steps", float64(want.MaxSteps), 0},
		{"repeat", float64(want.Repeat), 1},
		{"retry", float64(want.Retry), 0},
		{"limit", float64(want.Filter.Limit), 0},
		{"max-failures", float64(want.MaxFailures), 0},
		{"max-cost", want.MaxCostUSD, 0},
		{"max-tokens", float64(want.MaxTokens), 0},
		{"max-duration", float64(want.MaxDurationMs), 0},
		{"timeout", float64(want.TimeoutMs), 0},
		{"max-output-tokens", float64(f.model.maxOutputTokens), 0},
		{"request-timeout", float64(f.model.timeoutMs), 0},
		{"judge-votes", float64(want.JudgeVotes), 0},
	} {
		if math.IsNaN(n.value) || math.IsInf(n.value, 0) {
			return fmt.Errorf("--%s must be a finite number", n.flag)
		}
		if n.value < n.least {
			return fmt.Errorf("--%s must be at least %g", n.flag, n.least)
		}
	}
	if want.JudgeVotes > 0 && want.JudgeVotes%2 == 0 {
		return plumb.WithHint(fmt.Errorf("--judge-votes %d can end in a tie", want.JudgeVotes), "use an odd number")
	}
	if mode := string(want.WorkspaceMode); mode != "" {
		if err := checkWord("workspace mode", mode, workspaceModes()); err != nil {
			return err
		}
	}
	if schedule := string(want.Schedule); schedule != "" {
		if err := checkWord("schedule", schedule, run.Schedules()); err != nil {
			return err
		}
	}
	_, err := runner.ParseCacheMode(want.Cache)
	return err
}

// checkWord returns an error with the nearest known word if word is not one of them.
func checkWord(what, word string, known []string) error {
	if slices.Contains(known, word) {
		return nil
	}
	return unknownWord(what, word, known)
}

func unknownWord(what, word string, known []string) error {
	err := fmt.Errorf("unknown %s %q", what, word)
	if near := plumb.Nearest(word, known); near != "" {
		return plumb.WithHint(err, "did you mean "+near+"?")
	}
	return plumb.WithHint(err, "one of "+strings.Join(known, ", "))
}
