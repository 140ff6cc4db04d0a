package config

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/agent"
	"github.com/plumb-eval/plumb/internal/report"
	"github.com/plumb-eval/plumb/internal/run"
)

// Settings are the settings of plumb run. [List] describes each of them. The zero value means that
// the user did not choose.
type Settings struct {
	run.Settings

	Config, OutputDir string
	Plan              bool
	Tier              string

	Models, RunnerIDs, Agents []string
	Command, Replay           string
	BaseURL, API, APIKeyEnv   string
	Headers                   []string
	Temperature               Optional[float64]
	Seed                      Optional[int64]
	MaxOutputTokens           int64
	ReasoningEffort           string
	RequestTimeoutMs          run.Milliseconds

	WorkspaceMode plumb.WorkspaceMode
	Template      string
	// Workspace is the workspace of the config. Its paths are absolute.
	Workspace       *plumb.WorkspaceConfig
	InheritConfig   bool
	Baselines       string
	UpdateBaselines bool

	Judge, Embedder string
	Reports         []string
	// Redact names environment variables whose values are secrets.
	Redact []string
}

// Defaults returns the settings of a run for which the user chose nothing.
func Defaults() Settings {
	return Settings{Settings: run.Settings{
		Repeat: 1, TimeoutMs: run.Milliseconds(run.DefaultTimeout.Milliseconds()), Cache: "off",
	}}
}

// DefaultParallel is the default number of sessions in flight, except for agents.
const DefaultParallel = 16

// Optional is a number or none, which leaves the choice to the provider. It is also the value of a
// flag.
type Optional[T int64 | float64] struct {
	Value *T
	None  bool
}

// Type returns the name of the type for the help of flags.
func (o *Optional[T]) Type() string { return "number|none" }

func (o *Optional[T]) String() string {
	switch {
	case o.None:
		return "none"
	case o.Value == nil:
		return ""
	default:
		return fmt.Sprint(*o.Value)
	}
}

// Set parses a number or none.
func (o *Optional[T]) Set(s string) error {
	if s == "none" {
		*o = Optional[T]{None: true}
		return nil
	}
	number, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return fmt.Errorf("%q is neither a number nor none", s)
	}
	*o = Optional[T]{Value: new(T(number))}
	if whole, ok := any(o.Value).(*int64); ok {
		if *whole, err = strconv.ParseInt(s, 10, 64); err != nil {
			return fmt.Errorf("%q is not a whole number", s)
		}
	}
	return nil
}

// A Setting describes one setting of plumb run: a flag, a key of run in the config, or both.
type Setting struct {
	// Key is "" for a setting without a key, Flag for one without a flag. Short is a flag with one
	// letter. The other names are those of other tools.
	Key, Flag, Short      string
	OtherKeys, OtherFlags []string
	// At returns a pointer to the setting. The type of the pointer decides the type of the setting.
	At func(*Settings) any
	// Format restricts a text.
	Format Format
	// Values are the only allowed values. Known are suggested to the shell, beside others.
	Values, Known []string
	// Min is the smallest allowed number. With NoLimit the flag can also be 0, which has no effect.
	Min     int
	NoLimit bool
	// Odd demands an odd number.
	Odd bool
	// Commas lets one value of the flag hold several, separated by commas.
	Commas bool
	// Help describes the setting, with the name of the flag's value in backquotes. Doc replaces it in
	// the description of the key.
	Help, Doc string
	// Resume and Score are the help of the flag in plumb resume and plumb score; "" if these
	// commands do not have it.
	Resume, Score string
}

// Format is the form of a text.
type Format string

// The formats. A relative path in the config starts at the folder of the config. A variable is the
// name of an environment variable.
const (
	Path     Format = "path"
	URL      Format = "URL"
	Variable Format = "variable name"
	Report   Format = "`name` or `name:path`"
)

// A Group is a list of settings with a heading in the help.
type Group struct {
	Title    string
	Settings []Setting
}

// Groups returns all settings, in the order of the help and of the documentation.
func Groups() []Group {
	const (
		fileHelp    = "config `file`"
		outputHelp  = "also append a block in the results.json list format to this `file`"
		outDirHelp  = "`directory` of runs and cache (default .plumb)"
		unpriceHelp = "run although a budget cannot be enforced, because a price or the usage is unknown"
		resumed     = " (default: as in the run); 0 is no limit"
	)
	return []Group{
		{"What to test", []Setting{
			{
				Key: "tier", Flag: "tier", At: func(s *Settings) any { return &s.Tier },
				Known: []string{"cheap", "moderate", "comprehensive"},
				Help:  "tier of a published suite: cheap, moderate or comprehensive",
				Score: "tier of the suite, if it has several",
			},
			{
				Key: "model", Flag: "model", Short: "m", At: func(s *Settings) any { return &s.Models },
				Help: "model to test: `provider:model`, an alias, or a known name",
				Doc:  "models to test: provider:model, an alias, or a known name",
			},
			{
				Key: "runner", Flag: "runner", At: func(s *Settings) any { return &s.RunnerIDs },
				Help: "`id` of a runner in the config", Doc: "ids of the runners to use; all by default",
			},
			{
				Flag: "agent", At: func(s *Settings) any { return &s.Agents }, Known: agent.Types(),
				Help: "coding agent to test: `type:model`, such as codex:gpt-5.5 or claude-code:sonnet",
			},
			{
				Key: "command", Flag: "command", At: func(s *Settings) any { return &s.Command },
				Help: "`program` that answers prompts, run by the shell",
			},
			{
				Key: "replay", Flag: "replay", At: func(s *Settings) any { return &s.Replay },
				Help: "earlier `run` whose recorded sessions are replayed",
			},
		}},
		{"Cases", []Setting{
			{
				Key: "case", Flag: "case", At: func(s *Settings) any { return &s.Filter.IDs },
				Help: "run only the case with this `id`", Doc: "run only the cases with these ids",
			},
			{
				Key: "tag", Flag: "tag", OtherKeys: []string{"tags"}, At: func(s *Settings) any { return &s.Filter.Tags },
				Commas: true, Help: "run only cases with one of these tags",
			},
			{
				Key: "category", Flag: "category", At: func(s *Settings) any { return &s.Filter.Categories },
				Commas: true, Values: Categories(), Help: "run only cases of these categories",
			},
			{
				Key: "difficulty", Flag: "difficulty", At: func(s *Settings) any { return &s.Filter.Difficulties },
				Commas: true, Values: Difficulties(), Help: "run only cases of these difficulties",
			},
			{
				Key: "limit", Flag: "limit", At: func(s *Settings) any { return &s.Filter.Limit }, Min: 1, NoLimit: true,
				Help: "run only the first `n` of the selected cases",
			},
		}},
		{"Sessions", []Setting{
			{
				Key: "schedule", Flag: "schedule", At: func(s *Settings) any { return (*string)(&s.Schedule) },
				Values: run.Schedules(), Help: "serial, parallel or isolated-by-runner (default parallel; serial for agents)",
				Doc: "which sessions may overlap (default parallel; serial for agents)",
			},
			{
				Key: "parallel", Flag: "parallel", Short: "j", OtherKeys: []string{"maxParallel"},
				OtherFlags: []string{"max-parallel"}, At: func(s *Settings) any { return &s.Parallel }, Min: 1,
				Help: fmt.Sprintf("largest number of sessions in flight (default %d; for agents the number of processors)",
					DefaultParallel),
				Resume: "largest number of sessions in flight (default: as in the run)",
				Score:  fmt.Sprintf("sessions judged at the same time (default %d)", DefaultParallel),
			},
			{
				Key: "repeat", Flag: "repeat", At: func(s *Settings) any { return &s.Repeat }, Min: 1,
				Help: "samples of each case",
			},
			{
				Key: "retry", Flag: "retry", OtherKeys: []string{"repeatFailure", "retryFailed"},
				OtherFlags: []string{"repeat-failure", "retry-failed"}, At: func(s *Settings) any { return &s.Retry },
				Help: "how often to repeat a failed sample",
			},
			{
				Key: "allRepetitions", Flag: "all-repetitions", At: func(s *Settings) any { return &s.AllRepetitions },
				Help: "run every --repeat sample for agents, even after a failure",
				Doc:  "run every sample of repeat for agents, even after a failure",
			},
			{
				Key: "timeoutMs", Flag: "timeout", At: func(s *Settings) any { return &s.TimeoutMs },
				Help: "longest working time of one session, without waits for rate limits",
			},
			{
				Key: "cache", Flag: "cache", At: func(s *Settings) any { return &s.Cache },
				Values: []string{"off", "on", "only"}, Help: "use stored answers of earlier runs: off, on or only",
				Doc:   "whether to use stored answers of earlier runs, or nothing else",
				Score: "use stored answers of earlier runs for the embedder: off, on or only",
			},
		}},
		{"Limits of the run", []Setting{
			{
				Key: "maxFailures", Flag: "max-failures", At: func(s *Settings) any { return &s.MaxFailures },
				Min: 1, NoLimit: true, Help: "stop after `n` failed or unmeasured cases",
			},
			{
				Key: "maxCostUSD", Flag: "max-cost", At: func(s *Settings) any { return &s.MaxCostUSD }, NoLimit: true,
				Help:   "stop before spending more than this number of US `dollars`",
				Resume: "budget in US `dollars` for the whole run" + resumed,
			},
			{
				Key: "maxTokens", Flag: "max-tokens", At: func(s *Settings) any { return &s.MaxTokens }, Min: 1, NoLimit: true,
				Help:   "stop before using more than this number of `tokens`",
				Resume: "budget in `tokens` for the whole run" + resumed,
			},
			{
				Key: "maxDurationMs", Flag: "max-duration", At: func(s *Settings) any { return &s.MaxDurationMs },
				Help: "start no session after this time", Resume: "time for the whole run" + resumed,
			},
			{
				Key: "allowUnmetered", Flag: "allow-unmetered", At: func(s *Settings) any { return &s.AllowUnmetered },
				Help: unpriceHelp, Resume: unpriceHelp,
			},
		}},
		{"Judging", []Setting{
			{
				Key: "judge", Flag: "judge", At: func(s *Settings) any { return &s.Judge },
				Help:  "`model` or runner id that answers llm_judge (default: each model judges itself)",
				Doc:   "model or runner id that answers llm_judge, instead of the judge at the top level",
				Score: "`model` or runner id that answers llm_judge (default: as in the run)",
			},
			{
				Key: "judgeVotes", Flag: "judge-votes", At: func(s *Settings) any { return &s.JudgeVotes },
				Min: 1, NoLimit: true, Odd: true,
				Help:  "answers per question to the judge, an odd number; the majority counts (default 1)",
				Score: "answers per question to the judge, an odd number",
			},
			{
				Key: "embedder", Flag: "embedder", At: func(s *Settings) any { return &s.Embedder },
				Help:  "embedding `model` for semantic_similarity, such as openai:text-embedding-3-small",
				Doc:   "embedding model for semantic_similarity, instead of the embedder at the top level",
				Score: "embedding `model` for semantic_similarity",
			},
		}},
		{"Requests to models", []Setting{
			{
				Key: "baseURL", Flag: "base-url", At: func(s *Settings) any { return &s.BaseURL }, Format: URL,
				Help: "address of an OpenAI-compatible server, or a replacement for the provider's own address",
			},
			{
				Key: "api", Flag: "api", At: func(s *Settings) any { return &s.API }, Values: apis(),
				Help: "interface of openai to use: chat or responses", Doc: "interface of openai to use",
			},
			{
				Key: "apiKeyEnv", Flag: "api-key-env", At: func(s *Settings) any { return &s.APIKeyEnv }, Format: Variable,
				Help: "environment `variable` that holds the key",
			},
			{
				Key: "header", Flag: "header", At: func(s *Settings) any { return &s.Headers },
				Help: "`name=value` header to send with each request; ${NAME} is expanded",
				Doc:  "headers to send with each request, as name=value; ${NAME} is expanded",
			},
			{
				Key: "temperature", Flag: "temperature", At: func(s *Settings) any { return &s.Temperature },
				Help: "sampling temperature, or none for the provider's default (default 0)",
				Doc:  "sampling temperature; 0 by default; null sends none; for runners that do not set it",
			},
			{
				Key: "seed", Flag: "seed", At: func(s *Settings) any { return &s.Seed },
				Help: "sampling seed, or none to send no seed (default 42)",
				Doc:  "sampling seed; 42 by default; null sends none; for runners that do not set it",
			},
			{
				Key: "maxOutputTokens", Flag: "max-output-tokens", At: func(s *Settings) any { return &s.MaxOutputTokens },
				Min: 1, NoLimit: true, Help: "limit on the tokens of an answer, including reasoning",
				Doc: "limit on the tokens of an answer, including reasoning; for runners that do not set it",
			},
			{
				Key: "reasoningEffort", Flag: "reasoning-effort", At: func(s *Settings) any { return &s.ReasoningEffort },
				Help: "reasoning effort in the provider's words, such as low or high",
				Doc:  "reasoning effort in the provider's words, such as low or high; for runners that do not set it",
			},
			{
				Key: "requestTimeoutMs", Flag: "request-timeout", At: func(s *Settings) any { return &s.RequestTimeoutMs },
				Help: "time limit of one request",
			},
		}},
		{"Agents and workspaces", []Setting{
			{
				Key: "cwd", Flag: "cwd", At: func(s *Settings) any { return &s.Cwd }, Format: Path,
				Help: "`directory` that agents work in, if Plumb makes no workspace for them",
			},
			{
				Key: "workspace", At: func(s *Settings) any { return &s.Workspace },
				Help: "where sessions work, if the suite does not set it",
			},
			{
				Flag: "workspace", At: func(s *Settings) any { return (*string)(&s.WorkspaceMode) }, Values: workspaceModes(),
				Help: "none, shared or isolated, if the suite does not set it (default: isolated; none for suites in code)",
			},
			{
				Flag: "template", At: func(s *Settings) any { return &s.Template },
				Help: "`directory` to copy into each workspace, if the suite sets none",
			},
			{
				Key: "workspaces", Flag: "workspaces", At: func(s *Settings) any { return &s.WorkspaceRoot }, Format: Path,
				Help: "`directory` to make workspaces in, outside any project " +
					"(default: the system's directory for temporary files)",
			},
			{
				Key: "keepWorkspaces", Flag: "keep-workspaces", At: func(s *Settings) any { return &s.KeepWorkspaces },
				Help: "also keep the workspaces of sessions that passed",
			},
			{
				Key: "maxSteps", Flag: "max-steps", At: func(s *Settings) any { return &s.MaxSteps }, Min: 1, NoLimit: true,
				Help: "stop an agent that takes more steps",
			},
			{
				Flag: "inherit-config", At: func(s *Settings) any { return &s.InheritConfig },
				Help: "let agents use your own configuration, skills and memory",
			},
			{
				Flag: "snapshots", At: func(s *Settings) any { return &s.Baselines },
				Help: "`file` of token baselines, if the config has snapshots",
			},
			{
				Flag: "update-snapshots", At: func(s *Settings) any { return &s.UpdateBaselines },
				Help: "save the measured tokens as the new baselines",
			},
		}},
		{"Output", []Setting{
			{
				Flag: "plan", At: func(s *Settings) any { return &s.Plan },
				Help: "show what would run, with its tokens, cost and time, and spend nothing",
			},
			{
				Key: "report", Flag: "report", OtherKeys: []string{"reporter"}, OtherFlags: []string{"reporter"},
				At: func(s *Settings) any { return &s.Reports }, Format: Report, Known: report.Names(),
				Help:   "`name[:path]` of a report: " + strings.Join(report.Names(), ", ") + "; or a TypeScript module",
				Doc:    "reports to write: " + strings.Join(report.Names(), ", ") + "; or a TypeScript module",
				Resume: "`name[:path]` of a report", Score: "`name[:path]` of a report",
			},
			{
				Key: "output", Flag: "output", At: func(s *Settings) any { return &s.Output }, Format: Path,
				Help: outputHelp, Score: outputHelp,
			},
		}},
		{"Project", []Setting{
			{
				Flag: "config", At: func(s *Settings) any { return &s.Config }, Resume: fileHelp, Score: fileHelp,
				Help: fileHelp + " (default: plumb.yaml, plumb.config.* or skillgym.config.* beside the suite or above)",
			},
			{
				Key: "outputDir", Flag: "output-dir", At: func(s *Settings) any { return &s.OutputDir }, Format: Path,
				Help: outDirHelp, Resume: outDirHelp, Score: outDirHelp,
			},
			{
				Key: "redact", At: func(s *Settings) any { return &s.Redact }, Format: Variable,
				Help: "environment variables whose values are removed from everything that is written, " +
					"beside those that Plumb knows to be secret",
			},
		}},
	}
}

// List returns the settings of all groups.
func List() []Setting {
	var all []Setting
	for _, g := range Groups() {
		all = append(all, g.Settings...)
	}
	return all
}

// Keys returns the names of the setting in the config.
func (s *Setting) Keys() []string {
	if s.Key == "" {
		return nil
	}
	return append([]string{s.Key}, s.OtherKeys...)
}

// Check checks the value that the flag of a setting has in all.
func (s *Setting) Check(all *Settings) error {
	var value float64
	switch v := s.At(all).(type) {
	case *string:
		if len(s.Values) > 0 && !slices.Contains(s.Values, *v) {
			return plumb.WithHint(fmt.Errorf("unknown --%s %q", s.Flag, *v), DidYouMean(*v, s.Values))
		}
		return nil
	case *int:
		value = float64(*v)
	case *int64:
		value = float64(*v)
	case *float64:
		value = *v
	case *run.Milliseconds:
		value = float64(*v)
	}
	least := s.Min
	if s.NoLimit {
		least = 0
	}
	switch {
	case math.IsNaN(value) || math.IsInf(value, 0):
		return fmt.Errorf("--%s must be a finite number", s.Flag)
	case value < float64(least):
		return fmt.Errorf("--%s must be at least %d", s.Flag, least)
	case s.Odd && value > 0 && math.Mod(value, 2) == 0:
		return plumb.WithHint(fmt.Errorf("--%s %v can end in a tie", s.Flag, value), "use an odd number")
	}
	return nil
}

// DidYouMean names the known value nearest to value, or all of them.
func DidYouMean(value string, known []string) string {
	if near := plumb.Nearest(value, known); near != "" {
		return "did you mean " + near + "?"
	}
	return "one of " + strings.Join(known, ", ")
}

// Copy copies the wanted settings.
func Copy(to, from *Settings, wanted func(*Setting) bool) {
	for _, s := range List() {
		if wanted(&s) {
			reflect.ValueOf(s.At(to)).Elem().Set(reflect.ValueOf(s.At(from)).Elem())
		}
	}
}

// IsSet reports whether a setting is not the zero value.
func (s *Setting) IsSet(in *Settings) bool { return !reflect.ValueOf(s.At(in)).Elem().IsZero() }

// runFields returns the readers of the keys of run.
func (r *reader) runFields(to *Settings) []field {
	var fields []field
	for _, s := range List() {
		// The first name counts, so it is read last.
		for i, key := range slices.Backward(s.Keys()) {
			fields = append(fields, field{key, func(v value, path string) { r.setting(v, path, &s, s.At(to), i > 0) }})
		}
	}
	return fields
}

// setting reads the value of a setting. alias says that its key is a name of another tool.
func (r *reader) setting(v value, path string, s *Setting, at any, alias bool) {
	switch to := at.(type) {
	case *bool:
		*to = r.yes(v, path)
	case *int:
		if *to = int(r.whole(v, path, int64(s.Min))); s.Odd {
			r.odd(v, path, *to)
		}
	case *int64:
		*to = r.whole(v, path, int64(s.Min))
	case *float64:
		*to = r.budget(v, path)
	case *run.Milliseconds:
		*to = run.Milliseconds(r.duration(v, path))
	case *Optional[float64]:
		to.Value, to.None = r.optional(v, path)
	case *Optional[int64]:
		to.Value, to.None = r.seed(v, path)
	case **plumb.WorkspaceConfig:
		*to = r.workspace(v, path)
	case *string:
		*to = r.word(v, path, s)
	case *[]string:
		switch {
		case len(s.Values) > 0:
			*to = r.choices(v, path, s.Values)
		case s.Format == Variable:
			*to = r.variables(v, path)
		case s.Format == Report:
			*to = r.reports(v, path)
		case alias: // documented: an empty list of tags is no filter
			*to = r.each(v, path, r.text)
		default:
			*to = r.words(v, path)
		}
	default:
		panic(fmt.Sprintf("setting %s has a type that no config has: %T", path, at))
	}
}

// word reads the text of a setting.
func (r *reader) word(v value, path string, s *Setting) string {
	switch {
	case len(s.Values) > 0:
		return r.choice(v, path, s.Values)
	case s.Format == Path:
		return r.path(v, path)
	case s.Format == URL:
		return r.address(v, path)
	case s.Format == Variable:
		return r.variable(v, path)
	default:
		return r.text(v, path)
	}
}

// reports reads the reports of a run, and makes their paths absolute. The terminal report has
// another name in the configs of skillgym.
func (r *reader) reports(v value, path string) []string {
	reports := r.words(v, path)
	for i, spec := range reports {
		name, file, toFile := strings.Cut(spec, ":")
		switch {
		case spec == "standard":
			reports[i] = report.Terminal
		case IsModule(spec):
			reports[i] = r.absolute(spec)
		case toFile:
			reports[i] = name + ":" + r.absolute(file)
		}
	}
	return reports
}

// IsModule reports whether a report is a module that the user wrote, and not a built-in reporter.
func IsModule(spec string) bool {
	switch strings.ToLower(filepath.Ext(spec)) {
	case ".ts", ".mts", ".cts", ".js", ".mjs", ".cjs":
		name, _, toFile := strings.Cut(spec, ":")
		return !toFile || !slices.Contains(report.Names(), name)
	}
	return strings.HasPrefix(spec, "./") || strings.HasPrefix(spec, "../") || filepath.IsAbs(spec)
}

// Text returns the description of a key: a phrase without backquotes.
func (s *Setting) Text() string { return strings.ReplaceAll(cmp.Or(s.Doc, s.Help), "`", "") }
