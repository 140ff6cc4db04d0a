// Package results has the documented shapes of what a run found: results.json, and the blocks of
// results that scripts of pramana read. It renders them from the log, and copies what it need not
// decode.
package results

import (
	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/analyze"
	"github.com/plumb-eval/plumb/internal/calibrate"
)

// The documented shapes. Keys are never renamed. docs/results.md lists the keys that Plumb adds.

// Error is the documented form of an error.
type Error struct {
	Name    string `json:"name"`
	Message string `json:"message"`
	Stack   string `json:"stack,omitempty"`
	Hint    string `json:"hint,omitempty"`
}

// Trouble is why a session or an execution did not pass, as documented.
type Trouble struct {
	Error   *Error              `json:"error,omitempty"`
	Origin  plumb.Origin        `json:"failureOrigin,omitempty"`
	Class   *plumb.FailureClass `json:"failureClass,omitempty"`
	LogPath string              `json:"failureLogPath,omitempty"`
}

type sessionResult struct {
	// Runner is omitted when sessions have no artifacts.
	Runner               any           `json:"runner,omitempty"`
	Passed               bool          `json:"passed"`
	Status               plumb.Status  `json:"status"`
	Outcome              plumb.Outcome `json:"outcome"`
	Score                *float64      `json:"score"`
	Session              int           `json:"session"`
	DurationMs           int64         `json:"durationMs"`
	ExecutionArtifactDir string        `json:"executionArtifactDir,omitempty"`
	ArtifactDir          string        `json:"artifactDir,omitempty"`
	Trouble
	Verdicts any          `json:"verdicts,omitempty"`
	Usage    *plumb.Usage `json:"usage,omitempty"`
	Report   any          `json:"report,omitempty"`
}

type repetitionResult struct {
	Repetition int `json:"repetition"`
	sessionResult
	RetryCount int             `json:"retryCount"`
	Sessions   []sessionResult `json:"sessions,omitempty"`
}

// RunnerResult is the documented result of an execution.
type RunnerResult struct {
	Runner                any           `json:"runner"`
	Passed                bool          `json:"passed"`
	Status                plumb.Status  `json:"status"`
	Outcome               plumb.Outcome `json:"outcome"`
	Score                 *float64      `json:"score"`
	Session               int           `json:"session,omitempty"`
	RepeatTarget          int           `json:"repeatTarget"`
	CompletedRepetitions  int           `json:"completedRepetitions"`
	SuccessfulRepetitions int           `json:"successfulRepetitions"`
	StoppedAtRepetition   int           `json:"stoppedAtRepetition,omitempty"`
	RetryCount            int           `json:"retryCount"`
	// Samples and Label are absent if fewer than two repetitions were measured, or if the execution
	// stopped early. Sure is absent if the label is undetermined.
	Samples      *analyze.CaseSampleFigures `json:"samples,omitempty"`
	Label        analyze.Label              `json:"label,omitempty"`
	Sure         *float64                   `json:"sure,omitempty"`
	Cached       int                        `json:"cached,omitempty"`
	DurationMs   int64                      `json:"durationMs"`
	LatencyMs    int64                      `json:"latencyMs,omitempty"`
	Steps        int32                      `json:"steps,omitempty"`
	CostUSD      *float64                   `json:"costUsd,omitempty"`
	JudgeCostUSD float64                    `json:"judgeCostUsd,omitempty"`
	// Snapshot is the comparison with the samples of the token baseline.
	Snapshot             *plumb.SnapshotCheck `json:"snapshot,omitempty"`
	ExecutionArtifactDir string               `json:"executionArtifactDir,omitempty"`
	ArtifactDir          string               `json:"artifactDir,omitempty"`
	Trouble
	Verdicts    any                `json:"verdicts,omitempty"`
	Usage       *plumb.Usage       `json:"usage,omitempty"`
	Report      any                `json:"report,omitempty"`
	Sessions    []sessionResult    `json:"sessions,omitempty"`
	Repetitions []repetitionResult `json:"repetitions,omitempty"`
}

type caseResult struct {
	CaseID       string   `json:"caseId"`
	Tags         []string `json:"tags"`
	Passed       bool     `json:"passed"`
	CaseHash     string   `json:"caseHash,omitempty"`
	Category     string   `json:"category,omitempty"`
	Difficulty   string   `json:"difficulty,omitempty"`
	ExpectedFail bool     `json:"expectedFail,omitempty"`
	// Prompt is the label of the prompt, and Item the id without the prompt; "" without prompts.
	Prompt string `json:"prompt,omitempty"`
	Item   string `json:"item,omitempty"`
	// Source is the place where the case is written.
	Source        plumb.Position `json:"source,omitzero"`
	RunnerResults []RunnerResult `json:"runnerResults"`
}

// suiteResult is the documented SuiteRunResult without its cases, which are streamed. The keys
// after runners are Plumb's own.
type suiteResult struct {
	SuitePath           string   `json:"suitePath"`
	StartedAt           string   `json:"startedAt"`
	EndedAt             string   `json:"endedAt"`
	DurationMs          int64    `json:"durationMs"`
	SuiteRunArtifactDir string   `json:"suiteRunArtifactDir"`
	DeclaredTags        []string `json:"declaredTags"`
	SelectedTags        []string `json:"selectedTags"`
}

// provenance is what Plumb adds to the documented shape: the outcome of the run and what produced
// it.
type provenance struct {
	Schema int `json:"schema"`
	// Outcome is error when something could not be measured and nothing failed, and skipped when
	// something did not run.
	Outcome  plumb.Outcome       `json:"outcome"`
	Verdict  string              `json:"verdict"`
	Recorded bool                `json:"recorded"`
	Rate     analyze.RateFigures `json:"rate"`
	analyze.GroupFigures
	// Gates are the results of the conditions that the run must meet.
	Gates        []analyze.GateOutcome `json:"gates,omitempty"`
	Prompts      []namedRate           `json:"prompts,omitempty"`
	Columns      []columnRate          `json:"columns,omitempty"`
	Categories   []namedRate           `json:"categories"`
	Difficulties []namedRate           `json:"difficulties"`
	Tags         []namedRate           `json:"tags"`
	Spent        spending              `json:"spent"`
	Decision     *plumb.Decision       `json:"decision,omitempty"`
	// Lifts are those of an ablation.
	Lifts    any              `json:"lifts,omitempty"`
	Stop     plumb.StopReason `json:"stop,omitempty"`
	Complete bool             `json:"complete"`
	Notes    []plumb.Note     `json:"notes"`
	// Snapshots compares each runner with the samples of its token baselines.
	Snapshots []analyze.SnapshotSuite `json:"snapshots,omitempty"`
	// Judging says how well the judges of the run judge.
	Judging *calibrate.Judging `json:"judging,omitempty"`

	RunID        string `json:"runId"`
	PlumbVersion string `json:"plumbVersion"`
	SuiteName    string `json:"suiteName"`
	SuiteVersion string `json:"suiteVersion,omitempty"`
	Tier         string `json:"tier,omitempty"`
	SuiteHash    string `json:"suiteHash"`
	SuiteCases   int    `json:"suiteCases"`
	Judge        string `json:"judge,omitempty"`
	SelfJudged   bool   `json:"selfJudged"`
	Embedder     string `json:"embedder,omitempty"`
	Schedule     string `json:"schedule"`
	Parallel     int    `json:"parallel"`
	Repeat       int    `json:"repeat"`
	Retry        int    `json:"retry"`
	ScoredFrom   string `json:"scoredFrom,omitempty"`
}

// columnRate is the rate of a prompt on a runner, with those of the tags.
type columnRate struct {
	Prompt string `json:"prompt,omitempty"`
	Runner string `json:"runner"`
	analyze.RateFigures
	Tags []tagRate `json:"tags"`
}

type tagRate struct {
	Name string `json:"name"`
	analyze.RateFigures
}

type namedRate struct {
	Name string `json:"name"`
	analyze.RateFigures
	analyze.GroupFigures
}

type spending struct {
	InputTokens     int64 `json:"inputTokens"`
	OutputTokens    int64 `json:"outputTokens"`
	ReasoningTokens int64 `json:"reasoningTokens"`
	CacheTokens     int64 `json:"cacheTokens"`
	TotalTokens     int64 `json:"totalTokens"`
	// CostUSD is null when no cost is known.
	CostUSD      *float64 `json:"costUsd"`
	JudgeCostUSD float64  `json:"judgeCostUsd"`
	Unpriced     int      `json:"unpriced"`
	Sessions     int      `json:"sessions"`
	Cached       int      `json:"cached"`
}

// runnerSummary is the documented summary of a runner, extended with the figures of agents.
type runnerSummary struct {
	analyze.RunnerSummary
	// The averages are over sessions. An average is absent when no session reported the figure.
	AverageSteps   *float64 `json:"averageSteps,omitempty"`
	AverageCostUSD *float64 `json:"averageCostUsd,omitempty"`
}
