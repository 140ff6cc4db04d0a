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
	"github.com/plumb-eval/plumb/internal/load"
	"github.com/plumb-eval/plumb/internal/report"
	"github.com/plumb-eval/plumb/internal/run"
	"github.com/plumb-eval/plumb/internal/runner"
)

type flag = pflag.Flag

// runFlags are the flags of plumb run. Each that describes the run is also a key of run in the config file, with the same
// meaning; see fromConfig.
type runFlags struct {
	config string
	plan   bool

	tier             string
	models, runners  []string
	command, replay  string
	agents           []string
	inheritConfig    bool
	cwd              string
	workspace        string
	template         string
	workspaces       string
	keepWorkspaces   bool
	maxSteps         int
	allRepetitions   bool
	snapshots        string
	updateSnapshots  bool
	commandDir       string // where a command of the command line runs, if not beside the config
	baseURL, api     string
	keyEnv, effort   string
	headers          []string
	judge, embedder  string
	judgeVotes       int
	temperature      optional
	seed             optional
	maxOutputTokens  int64
	requestTimeout   time.Duration
	filter           run.Filter
	schedule         string
	parallel, repeat int
	retry            int
	timeout          time.Duration
	maxFailures      int
	maxCost          float64
	maxTokens        int64
	maxDuration      time.Duration
	allowUnmetered   bool
	cache            string
	reports          []string
	output           string
	outputDir        string
}

// optional is a number that may also be "none", which leaves it to the provider.
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

// words are the values of a repeatable flag. One may hold several with commas between them.
type words []string

func (w *words) String() string { return strings.Join(*w, ",") }
func (w *words) Type() string   { return "strings" }

func (w *words) Set(s string) error {
	for word := range strings.SplitSeq(s, ",") {
		if word = strings.TrimSpace(word); word == "" {
			return fmt.Errorf("%q has an empty value: non-empty values with commas between them are needed", s)
		}
		*w = append(*w, word)
	}
	return nil
}

// unset is the number of a flag that nobody gave.
const unset = -1

// defaultParallel is how many sessions are in flight unless the user says otherwise.
const defaultParallel = 16

func (f *runFlags) register(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.SortFlags = false
	f.seed.whole = true
	fs.StringVar(&f.config, "config", "", "config `file` (default: plumb.yaml, plumb.config.* or skillgym.config.* beside the suite or above)")
	fs.BoolVar(&f.plan, "plan", false, "show what would run, its tokens, cost and time, and spend nothing")

	fs.StringVar(&f.tier, "tier", "", "tier of a published suite: cheap, moderate or comprehensive")
	fs.StringArrayVarP(&f.models, "model", "m", nil, "model to test: `provider:model`, an alias, or a known name; repeatable")
	fs.StringArrayVar(&f.runners, "runner", nil, "`id` of a runner in the config; repeatable")
	fs.StringArrayVar(&f.agents, "agent", nil, "coding agent to test: `type:model`, such as codex:gpt-5.5 or claude-code:sonnet; repeatable")
	fs.StringVar(&f.command, "command", "", "`program` that answers prompts, run by the shell")
	fs.StringVar(&f.replay, "replay", "", "earlier `run` whose recorded sessions are played again")

	fs.StringVar(&f.baseURL, "base-url", "", "address of an OpenAI-compatible server, or instead of the provider's own")
	fs.StringVar(&f.api, "api", "", "interface of openai to use: chat or responses")
	fs.StringVar(&f.keyEnv, "api-key-env", "", "environment `variable` that holds the key")
	fs.StringArrayVar(&f.headers, "header", nil, "`name=value` header to send with each request; ${NAME} is expanded; repeatable")
	fs.Var(&f.temperature, "temperature", "sampling temperature, or none to leave it to the provider (default 0)")
	fs.Var(&f.seed, "seed", "sampling seed, or none to send none (default 42)")
	fs.Int64Var(&f.maxOutputTokens, "max-output-tokens", 0, "cap on the tokens of an answer, reasoning included")
	fs.StringVar(&f.effort, "reasoning-effort", "", "how much to reason, in the provider's words, such as low or high")
	fs.DurationVar(&f.requestTimeout, "request-timeout", 0, "time limit of one request")

	fs.StringVar(&f.cwd, "cwd", "", "`directory` that agents work in, where no workspace is made for them")
	fs.StringVar(&f.workspace, "workspace", "", "none, shared or isolated, where the suite does not say (default: isolated; none for suites in code)")
	fs.StringVar(&f.template, "template", "", "`directory` to copy into each workspace, where the suite names none")
	fs.StringVar(&f.workspaces, "workspaces", "", "`directory` to make workspaces in, outside any project (default: the system's for temporary files)")
	fs.BoolVar(&f.keepWorkspaces, "keep-workspaces", false, "keep the workspaces of sessions that went well, too")
	fs.IntVar(&f.maxSteps, "max-steps", 0, "stop an agent that takes more steps")
	fs.BoolVar(&f.allRepetitions, "all-repetitions", false, "make all --repeat samples of an agent, also after one that failed")
	fs.BoolVar(&f.inheritConfig, "inherit-config", false, "let agents see the configuration, skills and memory of the user")
	fs.StringVar(&f.snapshots, "snapshots", "", "`file` of token baselines, where the config has snapshots")
	fs.BoolVar(&f.updateSnapshots, "update-snapshots", false, "make what is measured the new token baselines")

	fs.StringVar(&f.judge, "judge", "", "`model` or runner id that answers llm_judge (default: each model judges itself)")
	fs.IntVar(&f.judgeVotes, "judge-votes", 0, "answers taken of the judge, an odd number; the majority counts (default 1)")
	fs.StringVar(&f.embedder, "embedder", "", "embedding `model` for semantic_similarity, such as openai:text-embedding-3-small")

	fs.StringArrayVar(&f.filter.IDs, "case", nil, "run only the case with this `id`; repeatable")
	fs.Var((*words)(&f.filter.Tags), "tag", "run only cases with one of these tags; repeatable")
	fs.Var((*words)(&f.filter.Categories), "category", "run only cases of these categories; repeatable")
	fs.Var((*words)(&f.filter.Difficulties), "difficulty", "run only cases of these difficulties; repeatable")
	fs.IntVar(&f.filter.Limit, "limit", 0, "run only the first `n` of the selected cases")

	fs.StringVar(&f.schedule, "schedule", "", "serial, parallel or isolated-by-runner (default parallel; serial for agents)")
	fs.IntVarP(&f.parallel, "parallel", "j", unset, fmt.Sprintf("sessions in flight at most (default %d; for agents the number of processors)", defaultParallel))
	fs.IntVar(&f.repeat, "repeat", 1, "samples of each case")
	fs.IntVar(&f.retry, "retry", 0, "how often a failed sample is tried again")
	fs.DurationVar(&f.timeout, "timeout", run.DefaultTimeout, "working time of one session at most, waits for rate limits left out")

	fs.IntVar(&f.maxFailures, "max-failures", 0, "stop after `n` executions that are not green")
	fs.Float64Var(&f.maxCost, "max-cost", 0, "stop before spending more than so many US `dollars`")
	fs.Int64Var(&f.maxTokens, "max-tokens", 0, "stop before using more than so many `tokens`")
	fs.DurationVar(&f.maxDuration, "max-duration", 0, "start no session after this time")
	fs.BoolVar(&f.allowUnmetered, "allow-unmetered", false, "go on though a budget cannot be held, since what is used is not reported")

	fs.StringVar(&f.cache, "cache", string(runner.CacheOff), "answers of earlier runs: off, on or only")
	fs.StringArrayVar(&f.reports, "report", nil, "`name[:path]` of a report: "+strings.Join(report.Names(), ", ")+"; or a module in TypeScript; repeatable")
	fs.StringVar(&f.output, "output", "", "also append a block in the results.json list format to this `file`")
	fs.StringVar(&f.outputDir, "output-dir", "", "`directory` of runs and cache (default .plumb)")

	fs.Lookup("parallel").DefValue = "0" // which help does not show
	for _, alias := range flagAliases() {
		fs.Var(fs.Lookup(alias[1]).Value, alias[0], "the same as --"+alias[1])
		fs.Lookup(alias[0]).Hidden = true
	}
	for name, values := range map[string][]string{
		"workspace": workspaceModes(), "agent": agent.Types(),
		"schedule": run.Schedules(), "cache": {"off", "on", "only"}, "report": report.Names(), "api": {"chat", "responses"},
		"category": load.Categories(), "tier": {"cheap", "moderate", "comprehensive"}, "difficulty": {"easy", "medium", "hard"},
	} {
		err := cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
		if err != nil {
			panic(err) // a flag that is not defined above
		}
	}
}

// flagAliases are names that other tools have for flags.
func flagAliases() [][2]string {
	return [][2]string{{"max-parallel", "parallel"}, {"repeat-failure", "retry"}, {"retry-failed", "retry"}, {"reporter", "report"}}
}

func workspaceModes() []string {
	return []string{string(plumb.WorkspaceNone), string(plumb.WorkspaceShared), string(plumb.WorkspaceIsolated)}
}

// changed reports whether a flag is on the command line, under any of its names.
func changed(fs *pflag.FlagSet, name string) bool {
	for _, alias := range flagAliases() {
		if alias[1] == name && fs.Changed(alias[0]) {
			return true
		}
	}
	return fs.Changed(name)
}

// fromConfig gives each flag that is not on the command line the value that the config has for it.
func (f *runFlags) fromConfig(fs *pflag.FlagSet, c *load.Config) error {
	values := configValues(&c.Run)
	values["cwd"], values["max-steps"] = word(c.Cwd), number(c.MaxSteps)
	for name, values := range values {
		if changed(fs, name) {
			continue
		}
		if w, ok := fs.Lookup(name).Value.(*words); ok { // as they are written there
			*w = append(*w, values...)
			continue
		}
		for _, v := range values {
			switch name {
			case "output":
				v = c.Resolve(v)
			case "report":
				if report, path, toFile := strings.Cut(v, ":"); isModule(v) {
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

// configValues returns what a config says of each flag, as one would write it on the command line. Absent values are
// empty lists.
func configValues(c *load.RunConfig) map[string][]string {
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
		"workspaces":      word(c.Workspaces), "keep-workspaces": yes(c.KeepWorkspaces), "all-repetitions": yes(c.AllRepetitions),
		"cache": word(c.Cache), "report": c.Report, "output": word(c.Output), "output-dir": word(c.OutputDir),
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

// check finds values that no run can have.
func (f *runFlags) check() error {
	if f.parallel < 1 && f.parallel != unset {
		return errors.New("--parallel must be at least 1")
	}
	for _, n := range []struct {
		flag  string
		value float64
		least float64
	}{
		{"max-steps", float64(f.maxSteps), 0},
		{"repeat", float64(f.repeat), 1},
		{"retry", float64(f.retry), 0},
		{"limit", float64(f.filter.Limit), 0},
		{"max-failures", float64(f.maxFailures), 0},
		{"max-cost", f.maxCost, 0},
		{"max-tokens", float64(f.maxTokens), 0},
		{"max-duration", float64(f.maxDuration), 0},
		{"timeout", float64(f.timeout), 0},
		{"max-output-tokens", float64(f.maxOutputTokens), 0},
		{"request-timeout", float64(f.requestTimeout), 0},
		{"judge-votes", float64(f.judgeVotes), 0},
	} {
		if math.IsNaN(n.value) || math.IsInf(n.value, 0) {
			return fmt.Errorf("--%s must be a finite number", n.flag)
		}
		if n.value < n.least {
			return fmt.Errorf("--%s must be at least %g", n.flag, n.least)
		}
	}
	for _, n := range []struct {
		flag  string
		value time.Duration
	}{{"timeout", f.timeout}, {"request-timeout", f.requestTimeout}, {"max-duration", f.maxDuration}} {
		if n.value > 0 && n.value < time.Millisecond {
			return fmt.Errorf("--%s must be at least 1ms", n.flag)
		}
	}
	if f.judgeVotes > 0 && f.judgeVotes%2 == 0 {
		return plumb.WithHint(fmt.Errorf("--judge-votes %d can end in a tie", f.judgeVotes), "an odd number")
	}
	if f.workspace != "" {
		if err := known("workspace mode", f.workspace, workspaceModes()); err != nil {
			return err
		}
	}
	if f.schedule != "" && !slices.Contains(run.Schedules(), f.schedule) {
		return unknownWord("schedule", f.schedule, run.Schedules())
	}
	if _, err := runner.ParseCacheMode(f.cache); err != nil {
		return err
	}
	return nil
}

func unknownWord(what, word string, known []string) error {
	err := fmt.Errorf("unknown %s %q", what, word)
	if near := plumb.Nearest(word, known); near != "" {
		return plumb.WithHint(err, "did you mean "+near+"?")
	}
	return plumb.WithHint(err, "one of "+strings.Join(known, ", "))
}
