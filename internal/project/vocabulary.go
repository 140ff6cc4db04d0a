package project

import (
	"reflect"
	"strings"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/compare"
)

// vocabulary returns the keys of the log and the values of its enumerations. A secret with such a
// value cannot be distinguished from them: it is not hidden, and a warning names it.
func vocabulary() []string {
	words := []string{
		string(plumb.OutcomePass), string(plumb.OutcomeFail), string(plumb.OutcomeError), string(plumb.OutcomeSkipped),
		string(plumb.StatusPassed), string(plumb.StatusFailed), string(plumb.StatusExpectedFailed),
		string(plumb.StatusUnexpectedPassed),
		string(plumb.EventRunStarted), string(plumb.EventPlanned), string(plumb.EventRunResumed),
		string(plumb.EventSessionStarted), string(plumb.EventSessionFinished), string(plumb.EventSessionJudged),
		string(plumb.EventExecutionFinished),
		string(plumb.EventNote), string(plumb.EventRunFinished),
		string(plumb.SessionMessage), string(plumb.SessionToolCall), string(plumb.SessionToolResult),
		string(plumb.SessionCommand), string(plumb.SessionFileRead), string(plumb.SessionSkill),
		string(plumb.SessionFileChange), string(plumb.SessionDenial),
		string(plumb.FinishStop), string(plumb.FinishTruncated), string(plumb.FinishRefused),
		string(plumb.FinishToolCalls), string(plumb.FinishTimeout), string(plumb.FinishOther),
		string(plumb.RunnerModel), string(plumb.RunnerAgent), string(plumb.RunnerCommand), string(plumb.RunnerReplay),
		string(plumb.StopInterrupted), string(plumb.StopFailFast), string(plumb.StopCost), string(plumb.StopTokens),
		string(plumb.StopDuration), string(plumb.StopDecided),
		string(compare.Better), string(compare.Worse), string(compare.Equivalent), string(compare.NotDecisive),
		string(compare.Holds), string(compare.Violated), string(compare.Unproven),
		plumb.RoleSystem, plumb.RoleDeveloper, plumb.RoleUser, plumb.RoleAssistant,
	}
	for _, o := range []plumb.Origin{
		plumb.OriginAssertion, plumb.OriginAssertHook, plumb.OriginMaxSteps, plumb.OriginTimeout, plumb.OriginJudge,
		plumb.OriginRunner,
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
