package module

import (
	"cmp"
	"encoding/json"
	"time"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/results"
)

// hookContext is the documented ReporterContext.
type hookContext struct {
	IsInteractive          bool     `json:"isInteractive"`
	Cwd                    string   `json:"cwd"`
	WorkspaceMode          string   `json:"workspaceMode"`
	SuitePath              string   `json:"suitePath"`
	SuiteRunArtifactDir    string   `json:"suiteRunArtifactDir"`
	SelectedCaseCount      int      `json:"selectedCaseCount"`
	SelectedRunnerCount    int      `json:"selectedRunnerCount"`
	SelectedExecutionCount int      `json:"selectedExecutionCount"`
	Repeat                 int      `json:"repeat"`
	ScheduleMode           string   `json:"scheduleMode"`
	MaxParallel            int      `json:"maxParallel"`
	CaseFilter             any      `json:"caseFilter,omitempty"`
	RunnerFilter           any      `json:"runnerFilter,omitempty"`
	TagFilter              []string `json:"tagFilter,omitempty"`
	DeclaredTags           []string `json:"declaredTags"`
}

// hookEvent is the argument of a hook. The hook decides which members are set.
type hookEvent struct {
	Context    *hookContext       `json:"context"`
	Cases      []json.RawMessage  `json:"cases,omitempty" redact:"values"`
	Runners    []plumb.RunnerInfo `json:"runners,omitempty"`
	StartedAt  string             `json:"startedAt,omitempty"`
	Case       json.RawMessage    `json:"case,omitempty" redact:"values"`
	Runner     *plumb.RunnerInfo  `json:"runner,omitempty"`
	CaseIndex  int                `json:"caseIndex,omitempty"` // from 1
	TotalCases int                `json:"totalCases,omitempty"`
	Result     any                `json:"result,omitempty" redact:"values"`
	Error      *results.Error     `json:"error,omitempty"`
}

// caseInfo is the case that hooks receive: the case as in its suite, without functions. The
// author's own keys follow.
type caseInfo struct {
	ID              string          `json:"id"`
	Prompt          string          `json:"prompt,omitempty"`
	System          string          `json:"system,omitempty"`
	Messages        []plumb.Message `json:"messages,omitempty"` // before the prompt
	Tags            []string        `json:"tags"`
	TimeoutMs       float64         `json:"timeoutMs,omitempty"`
	ExpectedFail    bool            `json:"expectedFail,omitempty"`
	Repeat          int             `json:"repeat,omitempty"`
	MaxOutputTokens int             `json:"maxOutputTokens,omitempty"`
	MaxSteps        int             `json:"maxSteps,omitempty"`
	Category        string          `json:"category,omitempty"`
	Difficulty      string          `json:"difficulty,omitempty"`
}

// context returns what all hooks receive about a run.
func (o *Environment) context(run *plumb.Run) hookContext {
	info := &run.Info
	return hookContext{
		IsInteractive: o.Terminal, Cwd: cmp.Or(o.Cwd, info.ArtifactDir),
		WorkspaceMode: cmp.Or(o.WorkspaceMode, string(plumb.WorkspaceNone)),
		SuitePath:     info.SuitePath, SuiteRunArtifactDir: info.ArtifactDir,
		SelectedCaseCount: len(run.Cases), SelectedRunnerCount: len(info.Runners),
		SelectedExecutionCount: len(run.Executions),
		Repeat:                 max(1, info.Repeat), ScheduleMode: info.Schedule, MaxParallel: max(1, info.Parallel),
		CaseFilter: chosen(o.CaseFilter), RunnerFilter: chosen(o.RunnerFilter), TagFilter: info.SelectedTags,
		DeclaredTags: doc.Array(info.DeclaredTags),
	}
}

// info returns what hooks receive about a case.
func (o *Environment) info(c *plumb.CaseInfo) (json.RawMessage, error) {
	x := caseInfo{
		ID: c.ID, Tags: doc.Array(c.Tags), Category: c.Category, Difficulty: c.Difficulty, ExpectedFail: c.ExpectedFail,
	}
	var own json.RawMessage
	if known := o.known(c.ID); known != nil {
		x.TimeoutMs = float64(known.Timeout) / float64(time.Millisecond)
		x.Repeat, x.MaxOutputTokens, x.MaxSteps, own = known.Repeat, known.MaxOutputTokens, known.MaxSteps, known.Own
		if before := known.Messages; len(before) > 0 {
			last := len(before) - 1
			x.Prompt, before = before[last].Content, before[:last]
			if len(before) > 0 && before[0].Role == plumb.RoleSystem {
				x.System, before = before[0].Content, before[1:]
			}
			x.Messages = before
		}
	}
	text, err := json.Marshal(x)
	if err != nil || len(own) <= len("{}") {
		return text, err
	}
	return append(append(text[:len(text)-1], ','), own[1:]...), nil // the author's own keys differ from the other keys
}

// known returns a case as in its suite, or nil.
func (o *Environment) known(id string) *plumb.Case {
	if o.Case == nil {
		return nil
	}
	return o.Case(id)
}

// chosen returns a filter as documented: a single value, a list of several, or nil for none.
func chosen(values []string) any {
	switch len(values) {
	case 0:
		return nil
	case 1:
		return values[0]
	default:
		return values
	}
}
