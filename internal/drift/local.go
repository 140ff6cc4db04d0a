package drift

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/runlog"
)

// local is the submitter of all local runs.
const local = "local"

// localRun is one runner in one run.
type localRun struct {
	key                              string
	provider, model, suite, settings string
	start                            time.Time
	hidden                           bool // its answers are not shared
	run                              Run
}

// Local reads the runs below a directory and replays them; see [Logs].
func Local(root, model string, rules Rules, warn func(id string, err error)) ([]*Stream, error) {
	ids, err := runlog.List(root)
	if err != nil {
		return nil, err
	}
	for i := range ids {
		ids[i] = filepath.Join(root, ids[i])
	}
	return Logs(ids, model, rules, warn)
}

// Logs reads runs, which are run directories or logs, and replays them: one person made them all, so
// that nobody can lie. With a model, only runners with this model count, named as "model" or
// "provider:model". warn is called with each run that cannot be read.
func Logs(paths []string, model string, rules Rules, warn func(id string, err error)) ([]*Stream, error) {
	var all []localRun
	var models []string
	for _, path := range paths {
		runs, err := readRun(path)
		if err != nil {
			warn(filepath.Base(path), err)
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
	return scanLocal(all, rules)
}

// scanLocal makes a stream of the runs of each panel.
func scanLocal(all []localRun, rules Rules) ([]*Stream, error) {
	byKey, hidden := map[string][]Run{}, map[string]int{}
	var panels []*localRun // the first run of each
	for i := range all {
		r := &all[i]
		if byKey[r.key] == nil {
			panels = append(panels, r)
		}
		byKey[r.key] = append(byKey[r.key], r.run)
		if r.hidden {
			hidden[r.key]++
		}
	}
	rules.Own, rules.Precise = true, len(panels) > 1
	var streams []*Stream
	for _, p := range panels {
		runs := byKey[p.key]
		s, err := Scan(rules, Checkpoint{}, runs[len(runs)-1].Day, inMemory(runs))
		if err != nil {
			return nil, err
		}
		s.Hidden = hidden[p.key]
		s.Name, s.Provider, s.Model = p.provider+":"+p.model+", "+p.suite, p.provider, p.model
		if p.settings != "" {
			s.Name += ", " + p.settings
		}
		streams = append(streams, s)
	}
	return streams, Screen(rules, streams)
}

// inMemory returns the source of runs in order of time.
func inMemory(runs []Run) Source {
	return func(first, last int) ([]Run, error) {
		byDay := func(r Run, day int) int { return cmp.Compare(r.Day, day) }
		from, _ := slices.BinarySearchFunc(runs, first, byDay)
		to, _ := slices.BinarySearchFunc(runs, last, func(r Run, day int) int { return cmp.Compare(r.Day, day+1) })
		return runs[from:max(from, to)], nil
	}
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
		a := Answer{Prompt: k.prompt, Text: s.report.FinalOutput, HasText: true, Score: s.judgement.Score}
		if runs[i].hidden {
			a.Text, a.HasText, a.Hash = "", false, s.report.AnswerHash
		}
		runs[i].run.Answers = append(runs[i].run.Answers, a)
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
	l := localRun{
		provider: r.Agent.Type, model: r.Agent.Model, suite: info.SuiteName, start: start,
		hidden: info.Share == plumb.ShareScores,
		run: Run{
			ID: info.ID, Submitter: local, Day: DayOf(start), Provider: map[string]string{},
			Client: map[string]string{"plumb version": info.PlumbVersion, "runner config": r.Config},
		},
	}
	if !r.Parameters.IsZero() {
		l.settings = words(r.Parameters)
	}
	if r.BaseURL != "" {
		l.settings = strings.TrimPrefix(l.settings+", at "+r.BaseURL, ", ")
	}
	l.key = PanelKey(info, r)
	return l
}

// PanelKey returns what the results of a panel have in common: those of one runner of a run belong to
// the same panel as all results with the same key.
func PanelKey(info *plumb.RunInfo, r *plumb.RunnerInfo) string {
	return strings.Join([]string{
		string(r.Kind), r.Agent.Type, r.Agent.Model, plumb.AddressHash(r.BaseURL), words(r.Parameters), info.SuiteHash,
		info.Judge, fmt.Sprint(info.SelfJudged),
	}, "\x00")
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
