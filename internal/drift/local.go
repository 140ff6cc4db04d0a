package drift

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/analyze"
	"github.com/plumb-eval/plumb/internal/runlog"
)

// Panel is one runner with its parameters over one suite and one judge, in local runs.
type Panel struct {
	*Stream
	Provider, Model, Suite string

	history []Run // all runs, in order of time
}

// local is the submitter of all local runs.
const local = "local"

// localRun is one runner in one run.
type localRun struct {
	key                              string
	provider, model, suite, settings string
	start                            time.Time
	run                              Run
}

// Local reads the runs below a directory and replays them: one person made them all, so that nobody
// can lie. With a model, only runners with this model count, named as "model" or "provider:model".
// warn is called with each run that cannot be read.
func Local(root, model string, rules Rules, warn func(id string, err error)) ([]*Panel, error) {
	ids, err := runlog.List(root)
	if err != nil {
		return nil, err
	}
	var all []localRun
	var models []string
	for _, id := range ids {
		runs, err := readRun(filepath.Join(root, id))
		if err != nil {
			warn(id, err)
			continue
		}
		for i := range runs {
			name := runs[i].provider + ":" + runs[i].model
			if !slices.Contains(models, name) {
				models = append(models, name, runs[i].model)
			}
			if model == "" || model == name || model == runs[i].model {
				all = append(all, runs[i])
			}
		}
	}
	if model != "" && len(all) == 0 {
		hint := "plumb runs lists the runs and their runners"
		if near := plumb.Nearest(model, models); near != "" {
			hint = "did you mean " + near + "?"
		}
		return nil, plumb.WithHint(fmt.Errorf("no run has answers of the model %q", model), hint)
	}
	slices.SortStableFunc(all, func(a, b localRun) int { return a.start.Compare(b.start) })
	rules.Own = true
	panels := replayLocal(all, rules)
	if len(panels) > 1 {
		rules.Precise = true
		panels = replayLocal(all, rules)
		screen(panels)
		blameSetup(panels)
		control(panels)
	}
	return panels, nil
}

func replayLocal(all []localRun, rules Rules) []*Panel {
	byKey := map[string]*Panel{}
	var panels []*Panel
	for i := range all {
		r := &all[i]
		p := byKey[r.key]
		if p == nil {
			name := r.provider + ":" + r.model + ", " + r.suite
			if r.settings != "" {
				name += ", " + r.settings
			}
			p = &Panel{
				Stream: newStream(name, r.run.Day, rules), Provider: r.provider, Model: r.model, Suite: r.suite,
			}
			byKey[r.key] = p
			panels = append(panels, p)
		}
		if r.run.Day > p.day {
			p.advance(r.run.Day)
		}
		p.runs[runKey{local, r.run.ID}] = &openRun{Run: r.run}
		p.changed = append(p.changed, p.runs[runKey{local, r.run.ID}])
		p.history = append(p.history, r.run)
	}
	for _, p := range panels {
		p.finish()
	}
	return panels
}

// readRun returns the measured answers of each runner of a run. Answers from the cache and replays
// are not measured again, so they do not count.
func readRun(path string) ([]localRun, error) {
	state := &plumb.Run{}
	type sample struct {
		report    *plumb.SessionReport
		judgement *plumb.Judgement
	}
	type key struct {
		runner, prompt string
		repetition     int
	}
	samples := map[key]*sample{}
	var order []key
	err := runlog.At(path).Read(func(ev plumb.Event) error {
		k := key{ev.Runner, ev.Case, ev.Repetition}
		switch ev.Type {
		case plumb.EventSessionFinished:
			if samples[k] == nil {
				samples[k] = &sample{}
				order = append(order, k)
			}
			*samples[k] = sample{report: ev.Report} // the last session of a repetition decides
		case plumb.EventSessionJudged:
			if s := samples[k]; s != nil {
				s.judgement = ev.Judgement
			}
		default: // the fold needs the other events
		}
		ev.Report, ev.Judgement = nil, nil
		return state.Apply(ev)
	})
	if err != nil {
		return nil, err
	}
	info := &state.Info
	if info.ScoredFrom != "" {
		return nil, nil
	}
	runs := make([]localRun, len(info.Runners))
	index := map[string]int{}
	for i := range info.Runners {
		index[info.Runners[i].ID] = i
		runs[i] = describe(info, &info.Runners[i], state.StartedAt)
	}
	facts := make([]facts, len(runs))
	for _, k := range order {
		s, i := samples[k], index[k.runner]
		if s.report == nil || s.judgement == nil || s.report.Cached || s.report.Recorded ||
			s.judgement.Outcome != plumb.OutcomePass && s.judgement.Outcome != plumb.OutcomeFail {
			continue
		}
		runs[i].run.Answers = append(runs[i].run.Answers, Answer{
			Prompt: k.prompt, Text: s.report.FinalOutput, HasText: true, Score: s.judgement.Score,
		})
		facts[i].add(s.report)
	}
	var measured []localRun
	for i := range runs {
		if len(runs[i].run.Answers) > 0 && info.Runners[i].Kind != plumb.RunnerReplay {
			facts[i].write(&runs[i].run)
			measured = append(measured, runs[i])
		}
	}
	return measured, nil
}

// describe names the panel of a runner and the facts about its setup.
func describe(info *plumb.RunInfo, r *plumb.RunnerInfo, start time.Time) localRun {
	parameters := words(r.Parameters)
	l := localRun{
		provider: r.Agent.Type, model: r.Agent.Model, suite: info.SuiteName, start: start,
		run: Run{
			ID: info.ID, Submitter: local, Day: DayOf(start), Provider: map[string]string{},
			Client: map[string]string{"plumb version": info.PlumbVersion, "runner config": r.Config},
		},
	}
	if !r.Parameters.IsZero() {
		l.settings = parameters
	}
	if r.BaseURL != "" {
		l.settings = strings.TrimPrefix(l.settings+", at "+r.BaseURL, ", ")
	}
	l.key = strings.Join([]string{
		string(r.Kind), r.Agent.Type, r.Agent.Model, r.BaseURL, parameters, info.SuiteHash, info.Judge,
		fmt.Sprint(info.SelfJudged),
	}, "\x00")
	return l
}

// words describes parameters, as "temperature 0, seed 42".
func words(p plumb.Parameters) string {
	text, err := json.Marshal(p)
	if err != nil { // a number that JSON cannot represent
		return fmt.Sprint(err)
	}
	return strings.NewReplacer(`"`, "", "{", "", "}", "", ":", " ", ",", ", ").Replace(string(text))
}

// facts collects what the sessions of a run report.
type facts struct{ client, provider map[string][]string }

func (f *facts) add(r *plumb.SessionReport) {
	if f.client == nil {
		f.client, f.provider = map[string][]string{}, map[string][]string{}
	}
	note := func(to map[string][]string, name, value string) {
		if value != "" && !slices.Contains(to[name], value) {
			to[name] = append(to[name], value)
		}
	}
	note(f.client, "agent version", r.AgentVersion)
	if !r.Effective.IsZero() {
		note(f.client, "effective parameters", words(r.Effective))
	}
	note(f.provider, "served model", r.Model)
	note(f.provider, "fingerprint", r.Fingerprint)
}

func (f *facts) write(r *Run) {
	join := func(to map[string]string, from map[string][]string) {
		for name, values := range from {
			slices.Sort(values)
			to[name] = strings.Join(values, ", ")
		}
	}
	join(r.Client, f.client)
	join(r.Provider, f.provider)
}

// screen marks the panels that changed, but not surely enough for one of so many. The panels of one
// model are merged by Simes (1986), and the models are screened for a false discovery rate of 0.1
// over the probability that a year without a change has such an alarm.
func screen(panels []*Panel) {
	const tests, rate = 826, 0.1
	byModel := map[string][]float64{}
	var models []string
	for _, p := range panels {
		name := p.Provider + ":" + p.Model
		if byModel[name] == nil {
			models = append(models, name)
		}
		least := 1.0
		for i := range p.Alarms {
			if a := &p.Alarms[i]; a.Kind == KindConfirmed {
				least = min(least, a.YearP)
			}
		}
		byModel[name] = append(byModel[name], math.Min(1, tests*float64(p.Status.Statistics)*least))
	}
	merged := make([]float64, len(models))
	for i, name := range models {
		merged[i] = simes(byModel[name])
	}
	adjusted := analyze.BH(merged)
	for _, p := range panels {
		if adjusted[slices.Index(models, p.Provider+":"+p.Model)] > rate {
			p.possible = true
		}
	}
}

// blameSetup finds the changes that panels of several providers have in common: if no provider
// reports a change, the setup that they share changed.
func blameSetup(panels []*Panel) {
	const tolerance = 2
	for _, p := range panels {
		for i := range p.Alarms {
			a := &p.Alarms[i]
			if a.Kind != KindConfirmed || a.Cause.Cause != CauseUnknown {
				continue
			}
			for _, other := range panels {
				if other.Provider == p.Provider {
					continue
				}
				for k := range other.Alarms {
					b := &other.Alarms[k]
					if b.Kind == KindConfirmed && b.Cause.Cause != CauseProvider &&
						b.OnsetLow <= a.OnsetHigh+tolerance && a.OnsetLow <= b.OnsetHigh+tolerance {
						a.Cause.Cause = CauseSetup
					}
				}
			}
		}
	}
}

// control finds the changes that came with a change of the setup of their panel, while the panels
// whose setup did not change are quiet: then the setup made the change.
func control(panels []*Panel) {
	for _, p := range panels {
		for i := range p.Alarms {
			a := &p.Alarms[i]
			if a.Kind != KindConfirmed || a.Cause.Cause != CauseUnknown ||
				!slices.ContainsFunc(a.Cause.Facts, func(f Fact) bool { return !f.Provider }) {
				continue
			}
			controls, quiet := 0, true
			for _, other := range panels {
				if before, after, steady := other.around(a); other != p && steady {
					if p, ok := comparePeriods(before, after); ok {
						controls++
						quiet = quiet && p > DeletionAlpha
					}
				}
			}
			if controls > 0 && quiet {
				a.Cause.Cause = CauseSetup
			}
		}
	}
}

// around returns the runs of the panel before and after the onset of an alarm of another panel, at
// most as many days as that test used. steady reports whether their setup is the same.
func (p *Panel) around(a *Alarm) (before, after []Run, steady bool) {
	for _, r := range p.history {
		switch {
		case r.Day < a.Onset-comparedDays || r.Day > a.Day:
		case r.Day < a.Onset:
			before = append(before, r)
		default:
			after = append(after, r)
		}
	}
	steady = len(before) > 0
	for i := range after {
		steady = steady && len(changedFacts(before[len(before)-1].Client, after[i].Client)) == 0
	}
	return before, after, steady
}

// simes merges p-values: the smallest of m p_(i) / i.
func simes(p []float64) float64 {
	sorted := slices.SortedFunc(slices.Values(p), cmp.Compare[float64])
	least := 1.0
	for i, v := range sorted {
		least = min(least, float64(len(p))*v/float64(i+1))
	}
	return least
}
