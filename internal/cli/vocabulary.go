package cli

import (
	"iter"
	"reflect"
	"slices"
	"strings"

	"github.com/plumb-eval/plumb"
)

// vocabulary lists the words that mean something in what Plumb writes: the keys of the log, and the values of its
// enumerations. A secret with such a value cannot be told from them, and is named to the user instead of being hidden.
func vocabulary() []string {
	words := []string{
		string(plumb.OutcomePass), string(plumb.OutcomeFail), string(plumb.OutcomeError), string(plumb.OutcomeSkipped),
		string(plumb.StatusPassed), string(plumb.StatusFailed), string(plumb.StatusExpectedFailed), string(plumb.StatusUnexpectedPassed),
		string(plumb.EventRunStarted), string(plumb.EventPlanned), string(plumb.EventRunResumed), string(plumb.EventSessionStarted),
		string(plumb.EventSessionFinished), string(plumb.EventSessionJudged), string(plumb.EventExecutionFinished),
		string(plumb.EventNote), string(plumb.EventRunFinished),
		string(plumb.SessionMessage), string(plumb.SessionToolCall), string(plumb.SessionToolResult), string(plumb.SessionCommand),
		string(plumb.SessionFileRead), string(plumb.SessionSkill), string(plumb.SessionFileChange), string(plumb.SessionDenial),
		string(plumb.FinishStop), string(plumb.FinishTruncated), string(plumb.FinishRefused), string(plumb.FinishToolCalls),
		string(plumb.FinishTimeout), string(plumb.FinishOther),
		string(plumb.RunnerModel), string(plumb.RunnerAgent), string(plumb.RunnerCommand), string(plumb.RunnerReplay),
		string(plumb.StopInterrupted), string(plumb.StopFailFast), string(plumb.StopCost), string(plumb.StopTokens), string(plumb.StopDuration),
		plumb.RoleSystem, plumb.RoleDeveloper, plumb.RoleUser, plumb.RoleAssistant,
	}
	for _, o := range []plumb.Origin{
		plumb.OriginAssertion, plumb.OriginAssertHook, plumb.OriginMaxSteps, plumb.OriginTimeout, plumb.OriginJudge, plumb.OriginRunner,
		plumb.OriginModelRejected, plumb.OriginWorkspace, plumb.OriginWorkspaceBootstrap, plumb.OriginCollection,
		plumb.OriginNormalization, plumb.OriginSnapshot,
	} {
		words = append(words, string(o), o.Class().ID, o.ErrorName())
	}
	seen := map[reflect.Type]bool{}
	var keys func(t reflect.Type)
	keys = func(t reflect.Type) {
		switch t.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map:
			keys(t.Elem())
		case reflect.Struct:
			if seen[t] {
				return
			}
			seen[t] = true
			for f := range t.Fields() {
				if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
					words = append(words, name)
					keys(f.Type)
				}
			}
		default: // has no keys
		}
	}
	keys(reflect.TypeFor[plumb.Event]())
	return words
}

// words yields what a run names in what it writes: its suite, cases, tags, runners and models.
func (s *spec) words(suite *plumb.Suite) iter.Seq[string] {
	words := append([]string{suite.Name, suite.Version, suite.Tier}, suite.Tags()...)
	runners := slices.Clone(s.Runners)
	for _, r := range []*runnerSpec{s.Judge, s.Embedder} {
		if r != nil {
			runners = append(runners, *r)
		}
	}
	for _, r := range runners {
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
			if !yield(c.ID) || !yield(c.Category) || !yield(c.Difficulty) {
				return
			}
		}
	}
}
