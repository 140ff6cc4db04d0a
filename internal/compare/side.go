// Package compare opens runs and result files of other tools, decides whether two of them can be
// compared, and pairs their cases.
//
// The baseline is the run compared against, and the candidate is the run compared. A pair is one
// case on one runner, on both sides.
package compare

import (
	"time"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/analyze"
)

// SourceKind is the kind of input that a side was read from.
type SourceKind string

// The kinds of inputs: a run directory, a file of plumb baseline, results.json of a run, a file of
// --output, and result files of skillgym and promptfoo.
const (
	SourceRun       SourceKind = "run"
	SourceBaseline  SourceKind = "baseline"
	SourceResults   SourceKind = "results"
	SourceBlocks    SourceKind = "blocks"
	SourceSkillgym  SourceKind = "skillgym"
	SourcePromptfoo SourceKind = "promptfoo"
)

// Side is one side of a comparison: a run, or what another file says about one.
type Side struct {
	// Name is what the user wrote. ID is the id of the run; "" if the input has none.
	Name, ID string
	Kind     SourceKind
	// Path is the run directory or the file.
	Path string
	// Started and Ended are zero if they are not known.
	Started, Ended time.Time
	Suite          string
	// Cases are the cases. A hash is "", and Repeat is 0, if it is not known.
	Cases   []plumb.CaseInfo
	Runners []Runner
	// Samples are in case-major order: case c on runner r is at c*len(Runners)+r.
	Samples [][]analyze.Sample
	// Facts describe the whole run. Those of a runner are in Runners.
	Facts []Fact
	// History means that the samples come from several runs, so that their repetitions have no
	// planned number.
	History bool
	// Run is the state of the run; nil for every kind but SourceRun.
	Run *plumb.Run
	// prompt is the label of the only prompt that [Side.OfPrompt] kept; "" for all of them.
	prompt string
	// runs are the ids of the runs of Samples, in the same order; nil if all are of one run.
	runs [][]string
}

// At returns the samples of the case at index c on the runner at index r.
func (s *Side) At(c, r int) []analyze.Sample { return s.Samples[c*len(s.Runners)+r] }

// Runner is a runner of a side. The kind and the agent are "" if they are not known.
type Runner struct {
	ID    string
	Kind  plumb.RunnerKind
	Agent plumb.AgentInfo
	// Config is the hash of the configuration; "" if it is not known.
	Config string
	// Facts describe the runner.
	Facts []Fact
}

// Kind is a kind of difference: a word of --vary.
type Kind string

// The kinds of differences.
const (
	VaryModel        Kind = "model"
	VaryParameters   Kind = "parameters"
	VaryPrompt       Kind = "prompt"
	VaryChecks       Kind = "checks"
	VarySkill        Kind = "skill"
	VaryInstructions Kind = "instructions"
	VaryMCP          Kind = "mcp"
	VaryAgent        Kind = "agent"
	VaryAgentVersion Kind = "agent-version"
	VaryWorkspace    Kind = "workspace"
	VaryJudge        Kind = "judge"
	VaryLimits       Kind = "limits"
	VaryPlumb        Kind = "plumb"
	// VaryAny is not a difference. As a word of --vary it allows all of them.
	VaryAny Kind = "any"
)

// Fact is one property of a run or a runner that must be equal on both sides of a comparison.
type Fact struct {
	// Kind is the word of --vary that allows the property to differ.
	Kind Kind `json:"kind"`
	// Name is the property, such as "temperature", and Value its value for a reader.
	Name  string `json:"name"`
	Value string `json:"value"`
	// Known is false if the run did not record the property.
	Known bool `json:"known"`
	// Warn means that the provider reported the property: a difference is a warning.
	Warn bool `json:"warn,omitzero"`
	// Configured means that equal hashes of the configuration imply equal values.
	Configured bool `json:"configured,omitzero"`
}

// Difference is a property that differs between the two sides, or is not known on one of them.
type Difference struct {
	Kind Kind   `json:"kind"`
	Name string `json:"name"`
	// Runner and Case name what the property belongs to; both are "" for a property of the run.
	Runner string `json:"runner,omitempty"`
	Case   string `json:"case,omitempty"`
	// Base and Cand are the values. A value that is not known is "unknown".
	Base string `json:"baseline"`
	Cand string `json:"candidate"`
}

// Matching is the result of [Match]: two sides that can be compared, with their pairs.
type Matching struct {
	Base, Cand *Side
	Runners    []RunnerPair
	// OnlyBase and OnlyCand are the ids of the cases that exist on one side only. Of the runners,
	// OnlyBaseRunners and OnlyCandRunners are those without a partner.
	OnlyBase, OnlyCand               []string
	OnlyBaseRunners, OnlyCandRunners []string
	// Varied are the differences that --vary allows, or that were taken as the declared variable.
	// Unknown are the properties that a side did not record.
	Varied, Unknown []Difference
	// VariedKinds are the kinds of Varied, sorted. VaryAny means that the user allowed any.
	VariedKinds []Kind
	// Declared is false if the only kind of difference was taken as the declared variable.
	Declared bool
	Warnings []string
	// Clustered means that the user named clusters.
	Clustered bool
	// ByID means that cases are paired by their ids, because the case hash is unknown on one side,
	// or because prompts or checks vary.
	ByID bool
}

// RunnerPair is a runner of each side, with the pairs of cases.
type RunnerPair struct {
	// Base and Cand are the ids of the runners; BaseIndex and CandIndex are their indexes in
	// Side.Runners.
	Base, Cand           string
	BaseIndex, CandIndex int
	Pairs                []Pair
}

// Pair is one case on one pair of runners.
type Pair struct {
	// Case is the case of the candidate. BaseCase and CandCase are the ids of the case on each
	// side.
	Case               *plumb.CaseInfo
	BaseCase, CandCase string
	// BaseIndex and CandIndex are the indexes of the case in Side.Cases.
	BaseIndex, CandIndex int
	// Base and Cand are the samples, in order of repetition, without those that hold the same
	// recorded answer as a sample of the other side.
	Base, Cand []analyze.Sample
	// Same counts the samples that were left out because both sides hold the same recorded answer.
	// SameAnswer means that for this reason a side has no measured sample left.
	Same       int
	SameAnswer bool
	// Cluster is the cluster of the case; cases with the same name form one. Without clusters it is
	// the case itself.
	Cluster string
	// EarlyStop means that a side ended its repetitions at the first one that was not green, so
	// that the share of passed samples is biased. BasePlanned and CandPlanned are the planned
	// repetitions; 0 means unknown.
	EarlyStop                bool
	BasePlanned, CandPlanned int
}

// Planned returns the number of repetitions that both sides planned, or 0 if the numbers differ or
// are not known.
func (p *Pair) Planned() int {
	if p.BasePlanned != p.CandPlanned {
		return 0
	}
	return p.CandPlanned
}

// Measured reports whether both sides have a measured sample.
func (p *Pair) Measured() bool { return anyMeasured(p.Base) && anyMeasured(p.Cand) }

func anyMeasured(samples []analyze.Sample) bool {
	for i := range samples {
		if samples[i].Measured() {
			return true
		}
	}
	return false
}

// Refused is the error of [Match] if the sides differ in a way that --vary does not allow.
type Refused struct {
	// Differences are all differences that are not allowed, with both values.
	Differences []Difference
	// Kinds are the kinds of all differences, those that are allowed included. --vary with these
	// kinds would compare.
	Kinds []Kind
}
