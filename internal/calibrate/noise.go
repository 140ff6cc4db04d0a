package calibrate

import (
	"fmt"

	"github.com/plumb-eval/plumb"
)

// judgeShare is the part of the flips of a case from which the judge is named as a cause.
const judgeShare = 0.25

// Noise splits the flips of a judged case into those of the judge and those of the output.
type Noise struct {
	CaseID   string `json:"caseId"`
	Runner   string `json:"runner"`
	Question string `json:"question"`
	// Outputs counts the outputs that the judge saw, and Verdicts its verdicts on them.
	Outputs  int `json:"outputs"`
	Verdicts int `json:"verdicts"`
	// JudgeFlipRate is the chance that two verdicts on one output differ, and CaseFlipRate that two
	// verdicts on outputs of two repetitions differ; nil if there are no such verdicts.
	JudgeFlipRate *float64 `json:"judgeFlipRate"`
	CaseFlipRate  *float64 `json:"caseFlipRate"`
	// FromJudge means that the flip rate of the judge is above a quarter of that of the case.
	FromJudge bool `json:"fromJudge"`
}

// pairs counts pairs of verdicts, and those that differ.
type pairs struct{ all, differ int }

func (p *pairs) add(yes, n int) { p.all, p.differ = p.all+n*(n-1)/2, p.differ+yes*(n-yes) }

func (p pairs) rate() *float64 {
	if p.all == 0 {
		return nil
	}
	return new(float64(p.differ) / float64(p.all))
}

// NoiseOf returns the noise of the cases with several verdicts on one output: the result of plumb
// score --judge-repeat, or of repetitions with equal outputs. Without --judge-repeat, cases whose
// judge never contradicts itself are left out.
func NoiseOf(run *plumb.Run) []Noise {
	times := run.Info.JudgeRepeat
	var all []Noise
	for i := range run.Executions {
		questions := map[string][]plumb.Judged{}
		var order []string
		for _, d := range run.Executions[i].Judged {
			key := fmt.Sprint(d.Question, " ", d.Model, " ", d.Votes)
			if questions[key] == nil {
				order = append(order, key)
			}
			questions[key] = append(questions[key], d)
		}
		for _, key := range order {
			n := noise(questions[key], max(times, 1))
			if n.JudgeFlipRate == nil || times < 2 && *n.JudgeFlipRate == 0 {
				continue
			}
			n.CaseID, n.Runner = run.At(i)
			all = append(all, n)
		}
	}
	return all
}

// noise compares the verdicts on one question. times is the number of verdicts on each stored
// output.
func noise(decisions []plumb.Judged, times int) Noise {
	type group struct{ yes, n int }
	outputs, repetitions := map[string]*group{}, map[int]*group{}
	count := func(g *group, yes bool) *group {
		if g == nil {
			g = &group{}
		}
		if g.n++; yes {
			g.yes++
		}
		return g
	}
	yes := 0
	for i := range decisions {
		d := &decisions[i]
		if passed(d) {
			yes++
		}
		outputs[d.Output] = count(outputs[d.Output], passed(d))
		stored := (d.Repetition - 1) / times
		repetitions[stored] = count(repetitions[stored], passed(d))
	}
	n := Noise{Question: decisions[0].Question, Outputs: len(outputs), Verdicts: len(decisions)}
	var same, different, within pairs
	for _, g := range outputs {
		same.add(g.yes, g.n)
	}
	for _, g := range repetitions {
		within.add(g.yes, g.n)
	}
	different.add(yes, len(decisions))
	different.all -= within.all
	different.differ -= within.differ
	n.JudgeFlipRate, n.CaseFlipRate = same.rate(), different.rate()
	if j, c := n.JudgeFlipRate, n.CaseFlipRate; j != nil {
		n.FromJudge = *j > 0 && (c == nil || *j > judgeShare**c)
	}
	return n
}
