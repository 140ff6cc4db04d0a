package job

import (
	"fmt"
	"strings"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/agent"
	"github.com/plumb-eval/plumb/internal/compare"
	"github.com/plumb-eval/plumb/internal/project"
	"github.com/plumb-eval/plumb/internal/report"
	"github.com/plumb-eval/plumb/internal/runlog"
)

// screened is the p-value of a case at which its difference counts.
const screened = 0.05

// Lift is what an offer, such as a skill, does for the results of an agent: with it minus without
// it.
type Lift struct {
	// Runner has the offer, and Without is the runner that lacks it. What is the value of --ablate.
	Runner, Without, What string
	Kind                  compare.Kind
	// Comparison has the runner without the offer as its baseline.
	Comparison *compare.Comparison
	// Used counts the sessions that used the offer, of Sessions that had it. Countable is false for
	// instructions, which every session reads.
	Used, Sessions int
	Countable      bool
	// Needs and Hurts are the cases that differ. Same counts the others.
	Needs, Hurts []compare.CaseResult
	Same         int
}

// Lifts returns the lifts of the job's run, which is at path. There are none without --ablate.
func (j *Job) Lifts(path string) ([]Lift, error) {
	var lifts []Lift
	for i := range j.Spec.Runners {
		c := j.Spec.Runners[i]
		if c.Agent == nil || c.Agent.Without == "" {
			continue
		}
		w, err := agent.ParseWithheld(c.Agent.Without)
		if err != nil {
			return nil, err
		}
		without := j.runners[i].Info().ID
		l := Lift{
			Runner: strings.TrimSuffix(without, project.TwinID("", w.Kind)), Without: without, What: c.Agent.Without,
			Kind: compare.Kind(w.Kind), Countable: w.Kind != agent.WithholdInstructions,
		}
		if err := l.compare(j, path); err != nil {
			return nil, fmt.Errorf("the lift of %s: %w", l.What, err)
		}
		if l.Used, l.Sessions, err = usedIn(path, l.Runner, w); err != nil {
			return nil, err
		}
		lifts = append(lifts, l)
	}
	return lifts, nil
}

// reportedLifts returns the lifts for the results of the run at path; none if they cannot be
// computed.
func (j *Job) reportedLifts(path string) (out []report.Lift) {
	lifts, err := j.Lifts(path)
	if err != nil {
		return nil
	}
	for i := range lifts {
		l, c := &lifts[i], lifts[i].Comparison
		r := report.Lift{
			Runner: l.Runner, Without: l.Without, What: l.What, Kind: l.Kind, Conclusion: c.Conclusion, Effect: c.Effect, P: c.P,
			Sessions: l.Sessions, Needs: l.Needs, Hurts: l.Hurts, Same: l.Same,
		}
		if l.Countable {
			r.Used = &l.Used
		}
		out = append(out, r)
	}
	return out
}

func (l *Lift) compare(j *Job, path string) error {
	l.Needs, l.Hurts = []compare.CaseResult{}, []compare.CaseResult{}
	o := compare.OpenOptions{Runs: j.project.Runs(), RedactorOf: j.project.RedactorOf}
	base, err := compare.Open(path+"#"+l.Without, o)
	if err != nil {
		return err
	}
	cand, err := compare.Open(path+"#"+l.Runner, o)
	if err != nil {
		return err
	}
	m, err := compare.Match(base, cand, compare.MatchOptions{Vary: []compare.Kind{l.Kind}})
	if err != nil {
		return err
	}
	l.Comparison = compare.Analyze(m, compare.DefaultChoices())
	for _, c := range l.Comparison.Cases.Fixed {
		if c.P <= screened {
			l.Needs = append(l.Needs, c)
		}
	}
	for _, c := range l.Comparison.Cases.Regressed {
		if c.P <= screened {
			l.Hurts = append(l.Hurts, c)
		}
	}
	l.Same = l.Comparison.Pairs.Measured - len(l.Needs) - len(l.Hurts)
	return nil
}

// usedIn counts the sessions of a runner, and those that used what another runner lacks: that
// loaded the skill, or called a tool of the server.
func usedIn(path, runner string, w agent.Withheld) (used, sessions int, err error) {
	err = runlog.At(path).Read(func(ev plumb.Event) error {
		if ev.Type != plumb.EventSessionFinished || ev.Runner != runner || ev.Report == nil {
			return nil
		}
		if sessions++; uses(ev.Report, w) {
			used++
		}
		return nil
	})
	return used, sessions, err
}

func uses(r *plumb.SessionReport, w agent.Withheld) bool {
	if w.Kind == agent.WithholdSkill {
		for _, d := range r.DetectedSkills {
			if w.Has(w.Kind, d.Skill) {
				return true
			}
		}
		return false
	}
	var servers []string
	for _, o := range r.Offered {
		if o.Kind == plumb.OfferMCPServer && w.Has(agent.WithholdMCP, o.Name) {
			servers = append(servers, o.Name)
		}
	}
	for i := range r.Events {
		for _, name := range servers {
			if e := &r.Events[i]; e.Type == plumb.SessionToolCall && strings.Contains(e.Tool, name) {
				return true
			}
		}
	}
	return false
}
