package config

import (
	"fmt"
	"strings"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/agent"
	"github.com/plumb-eval/plumb/internal/calibrate"
	"github.com/plumb-eval/plumb/internal/compare"
	"github.com/plumb-eval/plumb/internal/report/kind"
	"github.com/plumb-eval/plumb/internal/run"
	"github.com/plumb-eval/plumb/internal/setting"
	"github.com/plumb-eval/plumb/internal/suite/cases"
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
	Temperature               setting.Optional[float64]
	Seed                      setting.Optional[int64]
	MaxOutputTokens           int64
	ReasoningEffort           string
	RequestTimeoutMs          setting.Milliseconds

	WorkspaceMode plumb.WorkspaceMode
	Template      string
	// Workspace is the workspace of the config. Its paths are absolute.
	Workspace       *plumb.WorkspaceConfig
	InheritConfig   bool
	Baselines       string
	UpdateBaselines bool
	// ResetBaselines saves the measured tokens without the earlier samples.
	ResetBaselines bool

	Judge, Embedder string
	// Ablate is what each agent is also measured without.
	Ablate string
	// BaselineFrom names the run whose repetitions are taken over.
	BaselineFrom string
	Reports      []string

	// UntilDecided ends the run when the question of Against and Gate is decided. Alpha and Margin
	// are its level and its margin.
	UntilDecided          bool
	Against, Gate, Margin string
	Vary                  []string
	Alpha                 float64

	// Submit submits the run when it has ended: "yes", or "required".
	Submit string

	// Redact names environment variables whose values are secrets.
	Redact []string
}

// Defaults returns the settings of a run for which the user chose nothing.
func Defaults() Settings {
	return Settings{Settings: run.Settings{
		Repeat: 1, TimeoutMs: setting.Milliseconds(run.DefaultTimeout.Milliseconds()), Cache: "off",
		MinKappa: calibrate.DefaultMinKappa,
	}}
}

// DefaultParallel is the default number of sessions in flight, except for agents.
const DefaultParallel = 16

// Report is the format of a report.
const Report setting.Format = "`name` or `name:path`"

// Groups describes all settings, in the order of the help and of the documentation.
func (s *Settings) Groups() []setting.Group {
	const (
		fileHelp    = "config `file`"
		outputHelp  = "also append a block in the results.json list format to this `file`"
		outDirHelp  = "`directory` of runs and cache (default .plumb)"
		unpriceHelp = "run although a budget cannot be enforced, because a price or the usage is unknown"
		resumed     = " (default: as in the run); 0 is no limit"
	)
	return []setting.Group{
		{Title: "What to test", Settings: []setting.Setting{
			{
				Key: "tier", Flag: "tier", At: &s.Tier, Known: []string{"cheap", "moderate", "comprehensive"},
				Help:  "tier of a published suite: cheap, moderate or comprehensive",
				Score: "tier of the suite, if it has several",
			},
			{
				Key: "model", Flag: "model", Short: "m", At: &s.Models,
				Help: "model to test: `provider:model`, an alias, or a known name",
				Doc:  "models to test: provider:model, an alias, or a known name",
			},
			{
				Key: "runner", Flag: "runner", At: &s.RunnerIDs,
				Help: "`id` of a runner in the config",
				Doc:  "ids of the runners to use; all by default",
			},
			{
				Flag: "agent", At: &s.Agents, Known: agent.Types(),
				Help: "coding agent to test: `type:model`, such as codex:gpt-5.5 or claude-code:sonnet",
			},
			{Key: "command", Flag: "command", At: &s.Command, Help: "`program` that answers prompts, run by the shell"},
			{Key: "replay", Flag: "replay", At: &s.Replay, Help: "earlier `run` whose recorded sessions are replayed"},
		}},
		{Title: "Cases", Settings: []setting.Setting{
			{
				Key: "case", Flag: "case", At: &s.Filter.IDs,
				Help: "run only the case with this `id`",
				Doc:  "run only the cases with these ids",
			},
			{
				Key: "prompt", Flag: "prompt", OtherKeys: []string{"prompts"}, At: &s.Filter.Prompts, Commas: true,
				Help: "run only cases with one of these prompts, by `label`",
				Doc:  "run only cases with one of these prompts, by label",
			},
			{
				Key: "tag", Flag: "tag", OtherKeys: []string{"tags"}, At: &s.Filter.Tags, Commas: true,
				Help: "run only cases with one of these tags",
			},
			{
				Key: "category", Flag: "category", At: &s.Filter.Categories, Commas: true, Known: cases.Categories(),
				Help: "run only cases of these categories",
			},
			{
				Key: "difficulty", Flag: "difficulty", At: &s.Filter.Difficulties, Commas: true,
				Known: cases.Difficulties(),
				Help:  "run only cases of these difficulties",
			},
			{
				Key: "limit", Flag: "limit", At: &s.Filter.Limit, Min: 1,
				Help: "run only the first `n` of the selected cases",
			},
		}},
		{Title: "Sessions", Settings: []setting.Setting{
			{
				Key: "schedule", Flag: "schedule", At: (*string)(&s.Schedule), Values: run.Schedules(),
				Help: "serial, parallel or isolated-by-runner (default parallel; serial for agents)",
				Doc:  "which sessions may overlap (default parallel; serial for agents)",
			},
			{
				Key: "parallel", Flag: "parallel", Short: "j", OtherKeys: []string{"maxParallel"},
				OtherFlags: []string{"max-parallel"}, At: &s.Parallel, Min: 1,
				Help: fmt.Sprintf("largest number of sessions in flight "+
					"(default %d; for agents the number of processors)", DefaultParallel),
				Resume: "largest number of sessions in flight (default: as in the run)",
				Score:  fmt.Sprintf("sessions judged at the same time (default %d)", DefaultParallel),
			},
			{
				Key: "repeat", Flag: "repeat", At: &s.Repeat, Min: 1,
				Help:   "samples of each case",
				Resume: "raise the samples of each case to at least `n`, and make those that are missing",
			},
			{
				Key: "retry", Flag: "retry", OtherKeys: []string{"repeatFailure", "retryFailed"},
				OtherFlags: []string{"repeat-failure", "retry-failed"}, At: &s.Retry,
				Help: "how often to repeat a failed sample",
			},
			{
				Key: "allRepetitions", Flag: "all-repetitions", At: &s.AllRepetitions,
				Help: "run every --repeat sample for agents, even after a failure",
				Doc:  "run every sample of repeat for agents, even after a failure",
			},
			{
				Key: "timeoutMs", Flag: "timeout", At: &s.TimeoutMs,
				Help: "longest working time of one session, without waits for rate limits",
			},
			{
				Key: "cache", Flag: "cache", At: &s.Cache, Values: []string{"off", "on", "only"},
				Help:  "use stored answers of earlier runs: off, on or only",
				Doc:   "whether to use stored answers of earlier runs, or nothing else",
				Score: "use stored answers of earlier runs for the embedder: off, on or only",
			},
			{
				Flag: "baseline-from", At: &s.BaselineFrom,
				Help: "earlier `run` whose repetitions are taken over where nothing differs; the rest is measured",
			},
		}},
		{Title: "Limits of the run", Settings: []setting.Setting{
			{
				Key: "maxFailures", Flag: "max-failures", At: &s.MaxFailures, Min: 1,
				Help: "stop after `n` failed or unmeasured cases",
			},
			{
				Key: "maxCostUSD", Flag: "max-cost", At: &s.MaxCostUSD, NoLimit: true,
				Help:   "stop before spending more than this number of US `dollars`",
				Resume: "budget in US `dollars` for the whole run" + resumed,
			},
			{
				Key: "maxTokens", Flag: "max-tokens", At: &s.MaxTokens, Min: 1, NoLimit: true,
				Help:   "stop before using more than this number of `tokens`",
				Resume: "budget in `tokens` for the whole run" + resumed,
			},
			{
				Key: "maxDurationMs", Flag: "max-duration", At: &s.MaxDurationMs, NoLimit: true,
				Help:   "start no session after this time",
				Resume: "time for the whole run" + resumed,
			},
			{
				Key: "allowUnmetered", Flag: "allow-unmetered", At: &s.AllowUnmetered,
				Help:   unpriceHelp,
				Resume: unpriceHelp,
			},
		}},
		{Title: "What the run must reach", Settings: []setting.Setting{
			{
				Key: "minPassRate", Flag: "min-pass-rate", At: &s.MinPassRate,
				Help: "smallest pass rate of each runner and prompt, such as 0.9, low:0.85 or tag:billing=0.8; " +
					"failures are then allowed; repeatable",
				Doc: "smallest pass rates of each runner and prompt, such as 0.9, low:0.85 or tag:billing=0.8; " +
					"failures are then allowed",
				Score: "smallest pass rate of each runner and prompt, such as 0.9, low:0.85 or tag:billing=0.8; repeatable",
			},
			{
				Key: "minCoverage", Flag: "min-coverage", At: &s.MinCoverage,
				Help: "smallest measured share of the cases of each runner and prompt, such as 0.95; " +
					"cases without a result are then allowed; repeatable",
				Doc: "smallest measured shares of the cases of each runner and prompt, such as 0.95; " +
					"cases without a result are then allowed",
				Score: "smallest measured share of the cases of each runner and prompt, such as 0.95; repeatable",
			},
		}},
		{Title: "A run until a decision", Settings: []setting.Setting{
			{
				Flag: "until-decided", At: &s.UntilDecided,
				Help: "draw cases until --against or --gate is decided, at most --repeat samples a case (default 20)",
			},
			{
				Flag: "against", At: &s.Against,
				Help: "`baseline` to compare with: a run, last, prev, or a name of plumb baseline",
			},
			{Flag: "gate", At: &s.Gate, Help: "`condition` to decide, such as \"pass_rate >= 85%\""},
			{
				Flag: "vary", At: &s.Vary, Commas: true, Known: vary(),
				Help: "`kinds` of differences from the baseline that are wanted, such as model or prompt",
			},
			{
				Flag: "margin", At: &s.Margin,
				Help: "largest `difference` of pass rates that does not matter (default 5pp)",
			},
			{Flag: "alpha", At: &s.Alpha, Help: "probability of a wrong `conclusion` (default 0.05)"},
		}},
		{Title: "Judging", Settings: []setting.Setting{
			{
				Key: "judge", Flag: "judge", At: &s.Judge,
				Help:  "`model` or runner id that answers llm_judge (default: each model judges itself)",
				Doc:   "model or runner id that answers llm_judge, instead of the judge at the top level",
				Score: "`model` or runner id that answers llm_judge (default: as in the run)",
			},
			{
				Key: "judgeVotes", Flag: "judge-votes", At: &s.JudgeVotes, Min: 1, Odd: true,
				Help:  "answers per question to the judge, an odd number; the majority counts (default 1)",
				Score: "answers per question to the judge, an odd number",
			},
			{
				Key: "minKappa", Flag: "min-kappa", At: &s.MinKappa,
				Help:  "warn if Cohen's kappa of the judge with its gold labels is lower; see plumb judge calibrate",
				Doc:   "warn if Cohen's kappa of the judge with its gold labels is lower; 0.6 by default",
				Score: "warn if Cohen's kappa of the judge with its gold labels is lower",
			},
			{
				Key: "embedder", Flag: "embedder", At: &s.Embedder,
				Help:  "embedding `model` for semantic_similarity, such as openai:text-embedding-3-small",
				Doc:   "embedding model for semantic_similarity, instead of the embedder at the top level",
				Score: "embedding `model` for semantic_similarity",
			},
		}},
		{Title: "Requests to models", Settings: []setting.Setting{
			{
				Key: "baseURL", Flag: "base-url", At: &s.BaseURL, Format: setting.URL, NewRunner: true,
				Help: "address of an OpenAI-compatible server, or a replacement for the provider's own address",
			},
			{
				Key: "api", Flag: "api", At: &s.API, Values: apis(), NewRunner: true,
				Help: "interface of openai to use: chat or responses",
				Doc:  "interface of openai to use",
			},
			{
				Key: "apiKeyEnv", Flag: "api-key-env", At: &s.APIKeyEnv, Format: setting.Variable, NewRunner: true,
				Help: "environment `variable` that holds the key",
			},
			{
				Key: "header", Flag: "header", At: &s.Headers, NewRunner: true,
				Help: "`name=value` header to send with each request; ${NAME} is expanded",
				Doc:  "headers to send with each request, as name=value; ${NAME} is expanded",
			},
			{
				Key: "temperature", Flag: "temperature", At: &s.Temperature,
				Help: "sampling temperature, or none for the provider's default (default 0)",
				Doc:  "sampling temperature; 0 by default; null sends none; for runners that do not set it",
			},
			{
				Key: "seed", Flag: "seed", At: &s.Seed,
				Help: "sampling seed, or none to send no seed (default 42)",
				Doc:  "sampling seed; 42 by default; null sends none; for runners that do not set it",
			},
			{
				Key: "maxOutputTokens", Flag: "max-output-tokens", At: &s.MaxOutputTokens, Min: 1,
				Help: "limit on the tokens of an answer, including reasoning",
				Doc:  "limit on the tokens of an answer, including reasoning; for runners that do not set it",
			},
			{
				Key: "reasoningEffort", Flag: "reasoning-effort", At: &s.ReasoningEffort,
				Help: "reasoning effort in the provider's words, such as low or high",
				Doc:  "reasoning effort in the provider's words, such as low or high; for runners that do not set it",
			},
			{
				Key: "requestTimeoutMs", Flag: "request-timeout", At: &s.RequestTimeoutMs, NewRunner: true,
				Help: "time limit of one request",
			},
		}},
		{Title: "Agents and workspaces", Settings: []setting.Setting{
			{
				Key: "cwd", Flag: "cwd", At: &s.Cwd, Format: setting.Path,
				Help: "`directory` that agents work in, if Plumb makes no workspace for them",
			},
			{Key: "workspace", At: &s.Workspace, Help: "where sessions work, if the suite does not set it"},
			{
				Flag: "workspace", At: (*string)(&s.WorkspaceMode), Values: workspaceModes(),
				Help: "none, shared or isolated, if the suite does not set it " +
					"(default: isolated; none for suites in code)",
			},
			{
				Flag: "template", At: &s.Template,
				Help: "`directory` to copy into each workspace, if the suite sets none",
			},
			{
				Key: "workspaces", Flag: "workspaces", At: &s.WorkspaceRoot, Format: setting.Path,
				Help: "`directory` to make workspaces in, outside any project " +
					"(default: the system's directory for temporary files)",
			},
			{
				Key: "keepWorkspaces", Flag: "keep-workspaces", At: &s.KeepWorkspaces,
				Help: "also keep the workspaces of sessions that passed",
			},
			{
				Key: "maxSteps", Flag: "max-steps", At: &s.MaxSteps, Min: 1,
				Help: "stop an agent that takes more steps",
			},
			{
				Flag: "inherit-config", At: &s.InheritConfig, NewRunner: true,
				Help: "let agents use your own configuration, skills and memory",
			},
			{
				Flag: "ablate", At: &s.Ablate,
				Help: "also measure each agent without an `offer`: skill, instructions, mcp, skill=NAME or mcp=NAME",
			},
			{Flag: "snapshots", At: &s.Baselines, Help: "`file` of token baselines, if the config has snapshots"},
			{
				Flag: "update-snapshots", At: &s.UpdateBaselines,
				Help: "save the measured tokens as the new baselines, or add them to the samples (tolerance: auto)",
			},
			{
				Flag: "reset-snapshots", At: &s.ResetBaselines,
				Help: "save the measured tokens as the new baselines, without the earlier samples",
			},
		}},
		{Title: "Output", Settings: []setting.Setting{
			{Flag: "plan", At: &s.Plan, Help: "show what would run, with its tokens, cost and time, and spend nothing"},
			{
				Key: "report", Flag: "report", OtherKeys: []string{"reporter"}, OtherFlags: []string{"reporter"},
				At: &s.Reports, Format: Report, Known: kind.Names(),
				Help: ReportHelp(), Doc: "reports to write: " + reports(), Resume: ReportHelp(), Score: ReportHelp(),
			},
			{
				Flag: "submit", At: &s.Submit, Values: []string{"yes", "required"}, Bare: "yes",
				Help: "submit the run to the server of plumb login or the config; required fails without it",
			},
			{Key: "output", Flag: "output", At: &s.Output, Format: setting.Path, Help: outputHelp, Score: outputHelp},
		}},
		{Title: "Project", Settings: []setting.Setting{
			{
				Flag: "config", At: &s.Config,
				Resume: fileHelp,
				Score:  fileHelp,
				Help: fileHelp +
					" (default: plumb.yaml, plumb.config.* or skillgym.config.* beside the suite or above)",
			},
			{
				Key: "outputDir", Flag: "output-dir", At: &s.OutputDir, Format: setting.Path,
				Help:   outDirHelp,
				Resume: outDirHelp,
				Score:  outDirHelp,
			},
			{
				Key: "redact", At: &s.Redact, Format: setting.Variable,
				Help: "environment variables whose values are removed from everything that is written, " +
					"beside those that Plumb knows to be secret",
			},
		}},
	}
}

// List returns the settings of all groups.
func (s *Settings) List() []setting.Setting {
	var all []setting.Setting
	for _, g := range s.Groups() {
		all = append(all, g.Settings...)
	}
	return all
}

// vary returns the kinds of differences between two runs.
func vary() []string {
	var words []string
	for _, k := range compare.Kinds() {
		words = append(words, string(k))
	}
	return words
}

// ReportHelp is the help of the flags that name reports.
func ReportHelp() string { return "`name[:path]` of a report: " + reports() }

func reports() string { return strings.Join(kind.Names(), ", ") + "; or a TypeScript module" }
