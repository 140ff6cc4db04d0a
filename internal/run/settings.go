package run

import "github.com/plumb-eval/plumb/internal/setting"

// Settings are the settings of a run that run.json records, with its keys. Package config has the
// list of all settings, with their flags, checks and texts.
type Settings struct {
	Filter Filter `json:"filter" redact:"-"`
	// JudgeVotes is the number of answers to each question to the judge; 0 means 1.
	JudgeVotes int `json:"judgeVotes,omitempty"`
	// MinKappa is the smallest kappa of a judge whose verdicts need no warning.
	MinKappa float64 `json:"minKappa,omitempty"`

	// Cwd, WorkspaceRoot and KeepWorkspaces are explained in [Workspaces].
	Cwd            string `json:"cwd,omitempty" redact:"-"`
	WorkspaceRoot  string `json:"workspaceRoot,omitempty" redact:"-"`
	KeepWorkspaces bool   `json:"keepWorkspaces,omitempty"`

	Schedule Schedule `json:"schedule"`
	// Parallel limits sessions in flight; 0 means 1.
	Parallel int `json:"parallel"`
	// Repeat is the number of planned samples of a case that does not set one; 0 means 1.
	Repeat int `json:"repeat"`
	// Retry is the number of retries of a failed repetition.
	Retry int `json:"retry"`
	// AllRepetitions makes an agent perform all planned repetitions. Otherwise the first one that
	// is not green is the last.
	AllRepetitions bool `json:"allRepetitions,omitempty"`
	// TimeoutMs limits the working time of a session whose case sets no limit; 0 means
	// DefaultTimeout.
	TimeoutMs setting.Milliseconds `json:"timeoutMs"`
	// MaxSteps stops an agent that takes more steps; 0 means no limit.
	MaxSteps int `json:"maxSteps,omitempty"`

	// MinPassRate and MinCoverage are the gates of the run.
	MinPassRate Gates `json:"minPassRate,omitempty" redact:"-"`
	MinCoverage Gates `json:"minCoverage,omitempty" redact:"-"`

	// MaxFailures stops the run after this number of executions that are not green; 0 means no
	// limit.
	MaxFailures int `json:"maxFailures,omitempty"`
	// MaxCostUSD, MaxTokens and MaxDurationMs are the budgets of the run; 0 means no limit. Sessions
	// that did not start because of a budget are skipped.
	//
	// A session starts if its expected usage fits beside the spent usage and the caps of the other
	// sessions in flight. So a run exceeds its budget by at most the cap of one session, if caps are
	// known and usage is reported.
	MaxCostUSD    float64              `json:"maxCostUsd,omitempty"`
	MaxTokens     int64                `json:"maxTokens,omitempty"`
	MaxDurationMs setting.Milliseconds `json:"maxDurationMs,omitempty"`
	// AllowUnmetered lets the run continue when a runner, judge or embedder does not report its
	// usage, or when a price is unknown.
	AllowUnmetered bool `json:"allowUnmetered,omitempty"`

	// Cache is the cache mode of the runners, and Output the file to which a block of results is
	// appended. The engine ignores both.
	Cache  string `json:"cache" redact:"-"`
	Output string `json:"output,omitempty" redact:"-"`
}
