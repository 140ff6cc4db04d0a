package project

import (
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/compare"
	"github.com/plumb-eval/plumb/internal/run"
	"github.com/plumb-eval/plumb/internal/snapshot"
)

// Spec is the content of run.json: together with the bundle, all that a later process needs to
// continue a run.
type Spec struct {
	PlumbVersion string               `json:"plumbVersion" redact:"-"`
	CreatedAt    time.Time            `json:"createdAt"`
	Dir          string               `json:"dir" redact:"-"`
	Suite        string               `json:"suite" redact:"-"`
	Runners      []plumb.RunnerConfig `json:"runners"`
	// Selected are the ids of the runners that the user chose by name.
	Selected []string            `json:"selectedRunners,omitempty" redact:"-"`
	Judge    *plumb.RunnerConfig `json:"judge,omitempty"`
	Embedder *plumb.RunnerConfig `json:"embedder,omitempty"`
	// ScoredFrom is the id of the run whose stored sessions are judged.
	ScoredFrom string `json:"scoredFrom,omitempty" redact:"-"`
	// BaselineFrom is the directory of the run whose repetitions are taken over.
	BaselineFrom string `json:"baselineFrom,omitempty" redact:"-"`
	// JudgeRepeat is the number of times that each stored session of ScoredFrom is judged; 0 means
	// once.
	JudgeRepeat int `json:"judgeRepeat,omitempty"`
	// Sessions describes stored sessions that no run made, and that this run only judges.
	Sessions *SessionsSpec `json:"sessions,omitempty" redact:"-"`
	// ParallelGiven reports that the user chose how many sessions run at once.
	ParallelGiven bool `json:"parallelGiven,omitempty"`
	// Demo marks a run whose sessions come from the built-in recording.
	Demo bool `json:"demo,omitempty"`
	// Distrusted lists the runners that were not measured because plumb doctor --agents had found
	// that their adapter misreports.
	Distrusted []Distrusted `json:"distrusted,omitempty"`

	// Confirms is the RUN#RUNNER of which this run repeats suspect cases.
	Confirms string `json:"confirms,omitempty" redact:"-"`

	// Decide is the question of a run until a decision; nil for every other run.
	Decide *compare.Question `json:"decide,omitempty"`

	run.Settings
	// Workspace is the effective configuration; nil for runs in which no session works in a
	// directory.
	Workspace *plumb.WorkspaceConfig `json:"workspace,omitempty"`
	Snapshots *snapshot.Settings     `json:"snapshots,omitempty" redact:"-"`
}

// NewSpec returns the spec of a run of source that begins now.
func (p *Project) NewSpec(source *Source, settings run.Settings) Spec {
	return Spec{
		PlumbVersion: Version(), CreatedAt: p.Env.Now().UTC().Truncate(time.Millisecond),
		Dir: p.Config.Dir, Suite: source.Suite.Name, Settings: settings,
	}
}

// all returns the runners of a run with its judge and its embedder.
func (s *Spec) all() []*plumb.RunnerConfig {
	var all []*plumb.RunnerConfig
	for i := range s.Runners {
		all = append(all, &s.Runners[i])
	}
	return slices.DeleteFunc(append(all, s.Judge, s.Embedder), func(r *plumb.RunnerConfig) bool { return r == nil })
}

// SessionsSpec is the part of run.json about stored sessions that no run made.
type SessionsSpec struct {
	Dir string `json:"dir"`
	// Agent is the type of the agent whose transcripts have to be normalized; "" for session
	// reports.
	Agent string `json:"agent,omitempty"`
}

// Words yields the names that a run writes: those of its suite, cases, tags, runners and models.
func (s *Spec) Words(suite *plumb.Suite) iter.Seq[string] {
	words := append([]string{suite.Name, suite.Version, suite.Tier}, suite.Tags()...)
	for _, r := range s.all() {
		_, model, _ := strings.Cut(r.Model, ":")
		words = append(words, r.ID, r.Model, model)
		if r.Agent != nil {
			words = append(words, r.Agent.Type, r.Agent.Model)
		}
	}
	return func(yield func(string) bool) {
		for _, word := range words {
			if !yield(word) {
				return
			}
		}
		for i := range suite.Cases {
			c := &suite.Cases[i]
			if !yield(c.ID) || !yield(c.PromptName) || !yield(c.Category) || !yield(c.Difficulty) {
				return
			}
		}
	}
}

// TwinID returns the id of the runner that is measured without a kind of offer.
func TwinID(id, kind string) string { return id + "~without-" + kind }
