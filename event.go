package plumb

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"time"
)

// EventType is the type of a line of the run log.
type EventType string

// The event types, in the order in which a run emits them. The sessions of one execution follow
// each other; those of different executions interleave.
const (
	// EventRunStarted opens the log; Info is set.
	EventRunStarted EventType = "run-started"
	// EventPlanned lists cases of the run, in suite order. A run has as many of these events as it
	// needs. Cases is set.
	EventPlanned EventType = "planned"
	// EventRunResumed means that a later process continues the run. If Repeat is set, the process
	// raises the planned repetitions of each case to at least this number.
	EventRunResumed EventType = "run-resumed"
	// EventSessionStarted means that a session is about to begin. For an agent, the event is in the
	// log before the agent starts, with Marker set. For other runners it is only emitted, for live
	// views.
	EventSessionStarted EventType = "session-started"
	// EventSessionFinished holds the result of the runner. Report or Failure is set, or both.
	EventSessionFinished EventType = "session-finished"
	// EventSessionJudged holds the result of the assertions. Judgement is set.
	EventSessionJudged EventType = "session-judged"
	// EventExecutionFinished ends an execution; Result is set.
	EventExecutionFinished EventType = "execution-finished"
	// EventNote informs the user of something that is neither a result nor fatal. Note is set.
	EventNote EventType = "note"
	// EventRunFinished ends the work of one process on the run. End is set. A stopped run can be
	// resumed after it.
	EventRunFinished EventType = "run-finished"
)

// Event is one line of the run log. Type decides which fields are set. Case, Runner, Repetition and
// Session name the subject of the event.
type Event struct {
	Type       EventType `json:"type"`
	At         time.Time `json:"at"`
	Case       string    `json:"case,omitempty" redact:"-"`
	Runner     string    `json:"runner,omitempty" redact:"-"`
	Repetition int       `json:"repetition,omitempty"`
	Session    int       `json:"session,omitempty"`

	// Marker identifies the processes of a session; see [MarkerEnv].
	Marker string `json:"marker,omitempty" redact:"-"`

	Info   *RunInfo   `json:"info,omitempty"`
	Repeat int        `json:"repeat,omitempty"`
	Cases  []CaseInfo `json:"cases,omitempty"`
	// Report is the record of the session. On disk, Blob replaces a large one: the name of a file
	// beside the log.
	Report    *SessionReport   `json:"report,omitempty"`
	Blob      string           `json:"blob,omitempty" redact:"-"`
	Failure   *Failure         `json:"failure,omitempty"`
	Judgement *Judgement       `json:"judgement,omitempty"`
	Result    *ExecutionResult `json:"result,omitempty"`
	Note      *Note            `json:"note,omitempty"`
	End       *RunEnd          `json:"end,omitempty"`
	// Decision is the state of the question of a run until a decision, in execution-finished and
	// run-finished.
	Decision *Decision `json:"decision,omitempty"`
}

// RunInfo describes the plan of a run and the versions that made it.
type RunInfo struct {
	ID           string `json:"id" redact:"-"`
	PlumbVersion string `json:"plumbVersion" redact:"-"`
	// Share is how much of the run the log holds; "" means all, because the log did not leave its
	// machine.
	Share Share `json:"share,omitempty" redact:"-"`

	SuiteName string `json:"suiteName" redact:"-"`
	SuitePath string `json:"suitePath,omitempty" redact:"-"`
	// SuiteVersion and Tier are set for published suites.
	SuiteVersion string       `json:"suiteVersion,omitempty" redact:"-"`
	Tier         string       `json:"tier,omitempty" redact:"-"`
	SuiteHash    string       `json:"suiteHash" redact:"-"`
	DeclaredTags []string     `json:"declaredTags,omitempty" redact:"-"`
	SelectedTags []string     `json:"selectedTags,omitempty" redact:"-"`
	Runners      []RunnerInfo `json:"runners"`
	// Cases is the number of selected cases, out of SuiteCases.
	Cases      int `json:"cases"`
	SuiteCases int `json:"suiteCases"`
	// Judge and Embedder name the models that judge, as "provider:model". SelfJudged means that
	// each runner judges its own answers.
	Judge      string `json:"judge,omitempty" redact:"-"`
	SelfJudged bool   `json:"selfJudged,omitempty"`
	Embedder   string `json:"embedder,omitempty" redact:"-"`

	Schedule string `json:"schedule" redact:"-"`
	Parallel int    `json:"parallel"`
	Repeat   int    `json:"repeat"`
	Retry    int    `json:"retry"`
	MaxSteps int    `json:"maxSteps,omitempty"`
	// Workspace is where agents worked; nil if the run has no agents.
	Workspace *WorkspaceConfig `json:"workspace,omitempty"`
	// ArtifactDir is the run directory.
	ArtifactDir string `json:"artifactDir,omitempty" redact:"-"`
	// ScoredFrom is the id of the run whose sessions this run judged again.
	ScoredFrom string `json:"scoredFrom,omitempty" redact:"-"`
	// JudgeRepeat is the number of times that a run with ScoredFrom judged each stored output; 0
	// means once.
	JudgeRepeat int `json:"judgeRepeat,omitempty"`
	// MinKappa is the smallest kappa of a judge whose verdicts need no warning; 0 in runs of
	// earlier versions.
	MinKappa float64 `json:"minKappa,omitempty"`
	// Gates are the conditions that the run must meet.
	Gates []Gate `json:"gates,omitempty"`
	// Setup records the rest of what a comparison needs; nil in runs of earlier versions.
	Setup *Setup `json:"setup,omitempty"`
}

// CaseInfo is the part of a case that reports need.
type CaseInfo struct {
	ID   string `json:"id" redact:"-"`
	Hash string `json:"hash,omitempty" redact:"-"`
	// Prompt is the label of the prompt, and Item the id without the prompt; see [Case].
	Prompt       string   `json:"prompt,omitempty" redact:"-"`
	Item         string   `json:"item,omitempty" redact:"-"`
	Category     string   `json:"category,omitempty" redact:"-"`
	Difficulty   string   `json:"difficulty,omitempty" redact:"-"`
	Tags         []string `json:"tags,omitempty" redact:"-"`
	Repeat       int      `json:"repeat,omitempty"`
	ExpectedFail bool     `json:"expectedFail,omitempty"`
	// PromptHash and ChecksHash are the two parts of Hash; see [Case].
	PromptHash string `json:"promptHash,omitempty" redact:"-"`
	ChecksHash string `json:"checksHash,omitempty" redact:"-"`
	// TimeoutMs and MaxSteps are the limits that the case sets.
	TimeoutMs int64 `json:"timeoutMs,omitempty"`
	MaxSteps  int   `json:"maxSteps,omitempty"`
	// Metadata are the author's own keys of the case with a text, a number or a boolean.
	Metadata map[string]string `json:"metadata,omitempty"`
	// Source is the place where the case is written. Its file is relative to the folder of the
	// project if it is below it.
	Source Position `json:"source,omitzero"`
}

// ItemID returns the id of the case without its prompt.
func (c *CaseInfo) ItemID() string { return cmp.Or(c.Item, c.ID) }

// Gate is a condition that a run must meet: the smallest share of a part of it. Each runner meets
// it alone, with each prompt.
type Gate struct {
	// Text is the condition as the user wrote it.
	Text   string     `json:"text" redact:"-"`
	Metric GateMetric `json:"metric" redact:"-"`
	// Kind and Name are the part of the run; both are "" for the whole.
	Kind GateKind `json:"kind,omitempty" redact:"-"`
	Name string   `json:"name,omitempty" redact:"-"`
	// Least is the smallest share. Low means that it is about the lower limit of the interval.
	Least float64 `json:"least"`
	Low   bool    `json:"low,omitempty"`
}

// GateMetric is the share that a gate is about.
type GateMetric string

// The metrics: passed of measured executions, and measured of planned ones.
const (
	GatePassRate GateMetric = "pass_rate"
	GateCoverage GateMetric = "coverage"
)

// GateKind is what the name of a gate names.
type GateKind string

// The kinds. A user who writes none means a runner.
const (
	GateRunner   GateKind = "runner"
	GateTag      GateKind = "tag"
	GatePrompt   GateKind = "prompt"
	GateCategory GateKind = "category"
)

// GateKinds returns all kinds.
func GateKinds() []GateKind { return []GateKind{GateRunner, GateTag, GatePrompt, GateCategory} }

// Covers reports whether a gate is about the executions of a case on a runner.
func (g *Gate) Covers(c *CaseInfo, runnerID string) bool {
	switch g.Kind {
	case GateRunner:
		return runnerID == g.Name
	case GateTag:
		return slices.Contains(c.Tags, g.Name)
	case GatePrompt:
		return c.Prompt == g.Name
	case GateCategory:
		return c.Category == g.Name
	default:
		return true
	}
}

// Judgement is the result of all assertions on one session.
type Judgement struct {
	Outcome Outcome `json:"outcome"`
	Status  Status  `json:"status"`
	// Score is the weighted mean of the verdicts' scores, from 0 to 1; it means nothing when
	// Outcome is an error.
	Score    float64   `json:"score"`
	Verdicts []Verdict `json:"verdicts"`
	// Failure is set when the outcome is a fail or an error.
	Failure *Failure `json:"failure,omitempty"`
}

// ExecutionResult sums up one execution.
type ExecutionResult struct {
	Outcome Outcome `json:"outcome"`
	Status  Status  `json:"status"`
	// Score is the mean of the measured repetitions' scores.
	Score float64 `json:"score"`
	// Origin, Class and Reason are set when the outcome is a fail or an error.
	Origin Origin        `json:"failureOrigin,omitempty"`
	Class  *FailureClass `json:"failureClass,omitempty"`
	Reason string        `json:"reason,omitempty"`
	// Passed, Failed and Errored count repetitions; Sessions counts all sessions, retries included.
	Passed   int `json:"passed"`
	Failed   int `json:"failed"`
	Errored  int `json:"errored"`
	Sessions int `json:"sessions"`
	// NotAsked means that the runner was not called, because it had already failed for good.
	NotAsked bool `json:"notAsked,omitempty"`
	// Cached counts sessions answered from the cache.
	Cached int `json:"cached,omitempty"`
	// Steps is the sum over all sessions. Each agent defines what a step is.
	Steps int `json:"steps,omitempty"`
	// DurationMs and LatencyMs are means over the repetitions.
	DurationMs int64 `json:"durationMs"`
	LatencyMs  int64 `json:"latencyMs,omitempty"`
	// Usage and CostUSD are sums over all sessions. Judges and embedders are only included in
	// JudgeUsage and JudgeCostUSD. Answers from the cache cost nothing.
	Usage        Usage    `json:"usage"`
	CostUSD      *float64 `json:"costUsd,omitempty"`
	JudgeUsage   Usage    `json:"judgeUsage,omitzero"`
	JudgeCostUSD *float64 `json:"judgeCostUsd,omitempty"`
	// Snapshot is the comparison with the samples of the baseline, if the tolerance is auto.
	Snapshot *SnapshotCheck `json:"snapshot,omitempty"`
	// Judged are the decisions of the judge about the sessions that decided the repetitions.
	Judged []Judged `json:"judged,omitempty"`
}

// Judged is the decision of a judge about one question and one output. Logs of earlier versions
// have none.
type Judged struct {
	Repetition int `json:"repetition"`
	// Question is [Asked.PromptHash], and Model the name of the judge as it was reported.
	Question string `json:"question" redact:"-"`
	Model    string `json:"model" redact:"-"`
	// Votes is the number of planned votes. Yes and No are those it gave.
	Votes int `json:"votes"`
	Yes   int `json:"yes"`
	No    int `json:"no"`
	// Output is the [OutputHash] of the output.
	Output string `json:"output" redact:"-"`
}

// OutputHash returns the beginning of the SHA-256 of an output.
func OutputHash(output string) string {
	sum := sha256.Sum256([]byte(output))
	return hex.EncodeToString(sum[:8])
}

// The metrics of snapshots that are not token counts.
const (
	MetricCostUSD   = "costUsd"
	MetricLatencyMs = "latencyMs"
)

// SnapshotCheck compares the repetitions of a green execution with the samples of its baseline.
type SnapshotCheck struct {
	Metric string `json:"metric" redact:"-"`
	// Samples is the number of samples of the baseline, and Repetitions that of this execution.
	Samples     int `json:"samples"`
	Repetitions int `json:"repetitions"`
	// Ratio is the geometric mean of the repetitions divided by that of the samples, 0 without
	// samples. Mean, Low and High are the geometric mean and the range of the samples.
	Ratio float64 `json:"ratio,omitempty"`
	Mean  float64 `json:"mean,omitempty"`
	Low   float64 `json:"low,omitempty"`
	High  float64 `json:"high,omitempty"`
	// P is the p-value of an increase; nil means that nothing was tested. Needs is then the number
	// of samples that are missing for a test.
	P     *float64 `json:"p,omitempty"`
	Needs int      `json:"needs,omitempty"`
	// Failed means that the execution used more than its samples.
	Failed bool `json:"failed,omitempty"`
}

// Note is information for the user that is neither a result nor fatal. A run emits each note once.
type Note struct {
	// Level is "info" or "warning".
	Level string `json:"level" redact:"-"`
	Text  string `json:"text"`
	Hint  string `json:"hint,omitempty"`
	// Live marks a note that only matters during the run. The log and the run do not record it.
	Live bool `json:"-"`
}

// StopReason is the reason why a run ended before all planned work was done.
type StopReason string

// The stop reasons; "" means that the run is complete.
const (
	StopInterrupted StopReason = "interrupted"
	StopFailFast    StopReason = "max-failures"
	StopCost        StopReason = "max-cost"
	StopTokens      StopReason = "max-tokens"
	StopDuration    StopReason = "max-duration"
	// StopUnmetered means that the usage of sessions is not reported, so that the budget cannot be
	// enforced.
	StopUnmetered StopReason = "unmetered"
	// StopDecided means that the question of the run was decided before each case had a result.
	StopDecided StopReason = "decided"
	// StopBaseline means that the repetitions of the baseline that a question needs could not be made.
	// Only logs of earlier versions have it.
	StopBaseline StopReason = "baseline"
)

// RunEnd describes how one process left the run.
type RunEnd struct {
	Stop StopReason `json:"stop,omitempty"`
	// Remaining counts unfinished executions.
	Remaining  int   `json:"remaining"`
	DurationMs int64 `json:"durationMs"`
}
