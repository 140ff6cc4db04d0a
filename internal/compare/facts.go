package compare

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/analyze"
	"github.com/plumb-eval/plumb/internal/text"
)

// unknown is the value of a property that an input did not record.
const unknown = "unknown"

// none is the value of a property that a run does not have.
const none = "none"

// The names of the parameters that the provider reports, and of an address that is not its own.
const (
	effectiveParameters = "effective parameters"
	baseURL             = "base URL"
)

// The values of two properties without a value.
const (
	selfJudged = "each runner judges its own answers"
	ownAddress = "the provider's own"
)

func modelName(r *plumb.RunnerInfo) string {
	return cmp.Or(strings.Trim(r.Agent.Type+":"+r.Agent.Model, ":"), none)
}

// facts collects the properties of a run or of a runner.
type facts []Fact

func (f *facts) add(kind Kind, name, value string, known bool) {
	if !known {
		value = unknown
	}
	*f = append(*f, Fact{Kind: kind, Name: name, Value: value, Known: known})
}

// configured adds a property that the hash of a runner's configuration covers.
func (f *facts) configured(kind Kind, name, value string, known bool) {
	f.add(kind, name, value, known)
	(*f)[len(*f)-1].Configured = true
}

// reported adds a property that the provider reports. Without a value it is not known.
func (f *facts) reported(kind Kind, name string, values []string) {
	f.add(kind, name, joined(values), len(values) > 0)
	(*f)[len(*f)-1].Warn = true
}

// joined returns values in a fixed order as one text.
func joined(values []string) string {
	return strings.Join(slices.Sorted(slices.Values(values)), ", ")
}

// runFacts returns the properties of a whole run.
func runFacts(info *plumb.RunInfo) []Fact {
	var f facts
	s := info.Setup
	recorded := s != nil
	if !recorded {
		s = &plumb.Setup{}
	}
	judge := cmp.Or(info.Judge, none)
	if info.SelfJudged {
		judge = selfJudged
	}
	f.add(VaryJudge, "judge", judge, true)
	if judge != none {
		j := s.Judge
		known := j != nil
		if !known {
			j = &plumb.JudgeSetup{}
		}
		f.add(VaryJudge, "judge votes", strconv.Itoa(j.Votes), known)
		f.add(VaryJudge, "judge question", j.Question, known)
		f.add(VaryJudge, "judge configuration", cmp.Or(j.Config, none), known)
	}
	f.add(VaryJudge, "embedder", cmp.Or(info.Embedder, none), true)
	if info.Embedder != "" {
		f.add(VaryJudge, "embedder configuration", s.Embedder, recorded && s.Embedder != "")
	}
	f.workspace(info, s, recorded)
	f.add(VaryLimits, "steps", limit(int64(info.MaxSteps)), true)
	f.add(VaryLimits, "time limit", milliseconds(s.TimeoutMs), recorded)
	f.add(VaryLimits, "retry", strconv.Itoa(info.Retry), true)
	f.add(VaryPlumb, "scoring version", strconv.Itoa(s.Scoring), recorded)
	return f
}

func (f *facts) workspace(info *plumb.RunInfo, s *plumb.Setup, recorded bool) {
	w := info.Workspace
	if w == nil {
		working := func(r plumb.RunnerInfo) bool { return r.Kind != plumb.RunnerModel }
		f.add(VaryWorkspace, "workspace", none, info.Share.Whole() || !slices.ContainsFunc(info.Runners, working))
		return
	}
	f.add(VaryWorkspace, "workspace", cmp.Or(string(w.Mode), string(plumb.WorkspaceNone)), true)
	template := w.TemplateDir != ""
	f.add(VaryWorkspace, "template", cmp.Or(s.Template, none), !template || recorded && s.Template != unknown)
	bootstrap := none
	if b := w.Bootstrap; b != nil {
		bootstrap = strings.Join(append([]string{b.Command}, b.Args...), " ")
		if len(b.Env) > 0 {
			if text, err := json.Marshal(b.Env); err == nil { // the keys are sorted
				bootstrap += " " + string(text)
			}
		}
	}
	f.add(VaryWorkspace, "bootstrap", bootstrap, true)
}

func limit(n int64) string {
	if n <= 0 {
		return none
	}
	return strconv.FormatInt(n, 10)
}

func milliseconds(n int64) string {
	if n <= 0 {
		return none
	}
	return text.Exact(time.Duration(n) * time.Millisecond)
}

// runnerFacts returns the properties of the runner at index i of a run.
func runnerFacts(info *plumb.RunInfo, i int, o analyze.Observed) []Fact {
	var f facts
	r := &info.Runners[i]
	agent := r.Kind == plumb.RunnerAgent || r.Kind == plumb.RunnerReplay && o.AgentVersions != nil
	if r.Kind != plumb.RunnerReplay { // a replay has the recorded answers of any kind
		f.add(VaryAgent, "kind", string(r.Kind), r.Kind != "")
	}
	if agent {
		f.add(VaryAgent, "agent", r.Agent.Type, true)
		f.add(VaryModel, "model", r.Agent.Model, true)
	} else {
		f.add(VaryModel, "model", modelName(r), true)
	}
	f.configured(VaryModel, baseURL, cmp.Or(r.BaseURL, ownAddress), r.Kind != plumb.RunnerReplay)
	f.parameters(&r.Parameters)
	if len(o.Parameters) > 0 { // few providers report them
		f.add(VaryParameters, effectiveParameters, joined(o.Parameters), true)
	}
	if agent {
		f.add(VaryAgentVersion, "agent version", joined(o.AgentVersions), len(o.AgentVersions) > 0)
	}
	f.setup(info, i)
	f.reported(VaryModel, "reported model", o.Models)
	f.reported(VaryModel, "fingerprint", o.Fingerprints)
	if agent {
		f.add(VaryAgent, "undeclared", cmp.Or(joined(o.Undeclared), none), info.Share.Whole())
		f[len(f)-1].Warn = true
	}
	return f
}

func (f *facts) parameters(p *plumb.Parameters) {
	for _, one := range []struct {
		name  string
		value string
	}{
		{"temperature", number(p.Temperature)},
		{"topP", number(p.TopP)},
		{"seed", number(p.Seed)},
		{"maxOutputTokens", number(p.MaxOutputTokens)},
		{"reasoningEffort", number(p.ReasoningEffort)},
	} {
		f.configured(VaryParameters, one.name, one.value, true)
	}
}

func number[T any](p *T) string {
	if p == nil {
		return "not set"
	}
	return fmt.Sprint(*p)
}

// setup adds what the setup of a run says about the runner at index i.
func (f *facts) setup(info *plumb.RunInfo, i int) {
	r := &info.Runners[i]
	var s plumb.RunnerSetup
	recorded := info.Setup != nil && i < len(info.Setup.Runners)
	if recorded {
		s = info.Setup.Runners[i]
	}
	f.configured(VaryModel, "API", cmp.Or(s.API, "the usual one"), recorded)
	f.configured(VaryAgent, "program and arguments", cmp.Or(s.Program, none), recorded)
	f.configured(VaryLimits, "time limit of a request", milliseconds(s.TimeoutMs), recorded)
	if r.Kind == plumb.RunnerModel {
		return
	}
	f.configured(VaryAgent, "permissions", cmp.Or(s.Permissions, none), recorded)
	f.configured(VaryAgent, "inherited configuration", strconv.FormatBool(s.InheritConfig), recorded)
	recorded = recorded && info.Share.Whole()
	f.add(VarySkill, "skills", contents(s.Skills), recorded)
	f.add(VaryInstructions, "instructions", contents(s.Instructions), recorded)
	f.add(VaryMCP, "MCP servers", contents(s.MCPServers), recorded)
}

func contents(all []plumb.Content) string {
	if len(all) == 0 {
		return none
	}
	var words []string
	for _, c := range all {
		words = append(words, c.Name+" ("+c.Hash[:min(len(c.Hash), 8)]+")")
	}
	return strings.Join(words, ", ")
}
