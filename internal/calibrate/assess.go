package calibrate

import (
	"cmp"
	"slices"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/analyze"
)

// DefaultMinKappa is the smallest kappa of a judge whose verdicts need no warning: agreement that
// is called substantial by convention.
const DefaultMinKappa = 0.6

// Judging is what the calibrations say about the verdicts of the judges of a run. The calibration
// of another judge, model, question or number of votes says nothing.
type Judging struct {
	MinKappa float64 `json:"minKappa"`
	// Uncalibrated counts the questions that were put to a judge without a calibration. Others
	// means that the judge has calibrations, but none that applies.
	Uncalibrated int  `json:"uncalibrated"`
	Others       bool `json:"otherCalibrations,omitempty"`
	// Judge names the judge of an uncalibrated question.
	Judge string `json:"judge,omitempty"`
	// Calibrated has one entry for each runner and calibrated question.
	Calibrated []Assessed `json:"calibrated"`
	// Noise has the cases whose judge contradicts itself; see [NoiseOf].
	Noise []Noise `json:"noise,omitempty"`
}

// Assessed is the verdicts of a calibrated judge on one question about the outputs of one runner.
type Assessed struct {
	Runner   string   `json:"runner"`
	Identity Identity `json:"judge"`
	Question string   `json:"question"`
	// Items is the number of gold items, and Kappa the agreement on them.
	Items    int    `json:"items"`
	Kappa    Figure `json:"kappa"`
	BelowMin bool   `json:"belowMinKappa"`
	// Rate is the share of the executions whose output the judge passed.
	Rate Figure `json:"rate"`
	// Corrected is the estimated share without the errors of the judge; nil if Reason says why
	// there is none. Sampled means that the gold items are outputs of this run. Otherwise the
	// estimate assumes that the judge errs on them as it did on the gold items.
	Corrected *Figure `json:"corrected"`
	Sampled   bool    `json:"sampled,omitempty"`
	Reason    string  `json:"reason,omitempty"`
}

// judged is one group of verdicts of a run.
type judged struct {
	runner int
	Identity
	// executions has the decisions of each execution.
	executions []decided
}

type decided struct {
	caseID    string
	decisions []plumb.Judged
}

// Assess finds the calibrations of the judges of a run. It returns nil if no judge decided in it.
func Assess(run *plumb.Run, stored []*Calibration) *Judging {
	groups := groupsOf(run)
	if len(groups) == 0 {
		return nil
	}
	j := &Judging{MinKappa: cmp.Or(run.Info.MinKappa, DefaultMinKappa), Calibrated: []Assessed{}, Noise: NoiseOf(run)}
	missing := map[string]bool{}
	for _, g := range groups {
		i := slices.IndexFunc(stored, func(c *Calibration) bool { return c.covers(&g.Identity) })
		if i < 0 {
			missing[g.Question] = true
			j.Judge = g.Judge
			j.Others = j.Others || slices.ContainsFunc(stored, func(c *Calibration) bool {
				return sameHash(c.Identity.Config, g.Config)
			})
			continue
		}
		c := stored[i]
		a := Assessed{
			Runner: run.Info.Runners[g.runner].ID, Identity: c.Identity, Question: c.QuestionText,
			Items: c.Items, Kappa: c.Kappa, BelowMin: c.Kappa.Value == nil || *c.Kappa.Value < j.MinKappa,
			Rate: g.rate(),
		}
		a.correct(g, c, c.sampledFrom(groups))
		j.Calibrated = append(j.Calibrated, a)
	}
	j.Uncalibrated = len(missing)
	return j
}

// covers reports whether the calibration is one of the judge that id describes.
func (c *Calibration) covers(id *Identity) bool {
	return c.Identity.Model == id.Model && c.Identity.Question == id.Question && c.Identity.Votes == id.Votes &&
		sameHash(c.Identity.Config, id.Config)
}

// groupsOf returns the decisions of the judges of a run by runner, question, model and votes. Those
// about copies of a case are of one execution, because they are not independent.
func groupsOf(run *plumb.Run) []*judged {
	type key struct {
		runner, votes   int
		question, model string
	}
	type place struct {
		g  *judged
		at int
	}
	copies := analyze.Copies(len(run.Cases), func(i int) string { return run.Cases[i].Hash })
	executions := map[place]int{}
	index := map[key]*judged{}
	var groups []*judged
	for i := range run.Executions {
		for _, d := range run.Executions[i].Judged {
			runner := i % len(run.Info.Runners)
			k := key{runner, d.Votes, d.Question, d.Model}
			g := index[k]
			if g == nil {
				g = &judged{runner: runner, Identity: judgeOf(run, runner)}
				g.Model, g.Question, g.Votes = d.Model, d.Question, d.Votes
				index[k] = g
				groups = append(groups, g)
			}
			at := i / len(run.Info.Runners)
			if first, copied := copies[at]; copied {
				at = first
			}
			n, known := executions[place{g, at}]
			if !known {
				n = len(g.executions)
				executions[place{g, at}] = n
				g.executions = append(g.executions, decided{caseID: run.Cases[at].ID})
			}
			x := &g.executions[n]
			x.decisions = append(x.decisions, d)
		}
	}
	return groups
}

// judgeOf returns the judge of the outputs of a runner, with its configuration.
func judgeOf(run *plumb.Run, runner int) Identity {
	info := &run.Info
	if info.SelfJudged {
		return Identity{Judge: info.Runners[runner].ID, Config: info.Runners[runner].Config}
	}
	id := Identity{Judge: info.Judge}
	if info.Setup != nil && info.Setup.Judge != nil {
		id.Config = info.Setup.Judge.Config
	}
	return id
}

// passed reports whether the judge passed an output.
func passed(d *plumb.Judged) bool { return d.Yes > d.No }

// rate returns the share of the outputs that the judge passed. With repetitions it is the mean over
// the executions.
func (g *judged) rate() Figure {
	var rates []float64
	outputs := 0
	yes := 0
	for _, x := range g.executions {
		k := 0
		for i := range x.decisions {
			if passed(&x.decisions[i]) {
				k++
			}
		}
		yes, outputs = yes+k, outputs+len(x.decisions)
		rates = append(rates, float64(k)/float64(len(x.decisions)))
	}
	f := Figure{K: yes, N: outputs}
	if outputs == len(rates) {
		lo, hi := analyze.Wilson(yes, outputs, confidence)
		f.Value, f.Low, f.High, f.Method = new(float64(yes)/float64(outputs)), &lo, &hi, "Wilson"
		return f
	}
	e := analyze.ClusteredWilson(rates, outputs, nil, confidence)
	f.Value, f.Method = &e.Value, e.Method
	if e.OK {
		f.Low, f.High = &e.Lo, &e.Hi
	}
	return f
}

// sampledFrom reports whether all items of a calibration are outputs of the run.
func (c *Calibration) sampledFrom(groups []*judged) bool {
	known := map[[2]string]bool{}
	for _, g := range groups {
		if !c.covers(&g.Identity) {
			continue
		}
		for _, x := range g.executions {
			for i := range x.decisions {
				known[[2]string{x.caseID, x.decisions[i].Output}] = true
			}
		}
	}
	return !slices.ContainsFunc(c.Records, func(r Record) bool { return !known[[2]string{r.Case, r.Output}] })
}

// correct sets the corrected rate, or the reason why there is none.
func (a *Assessed) correct(g *judged, c *Calibration, sampled bool) {
	if sampled && a.Rate.N == len(g.executions) {
		if e := g.fromSample(c); e.OK {
			a.set(e)
			a.Sampled = true
			return
		}
	}
	switch specificity, sensitivity := c.FalsePass.Value, c.FalseFail.Value; {
	case c.Few:
		a.Reason = "the calibration has fewer than 20 items of a label"
	case specificity == nil || sensitivity == nil || a.Rate.Value == nil:
		a.Reason = "a rate is not known"
	default:
		e := analyze.CorrectedRate(*a.Rate.Value, len(g.executions), 1-*specificity, c.Fails, 1-*sensitivity, c.Passes,
			confidence)
		if !e.OK {
			a.Reason = "this judge cannot tell pass from fail"
			return
		}
		a.set(e)
	}
}

func (a *Assessed) set(e analyze.Estimate) {
	value, lo, hi := unit(e.Value), unit(e.Lo), unit(e.Hi)
	a.Corrected = &Figure{Value: &value, Low: &lo, High: &hi, Method: e.Method}
}

// unit limits a share to the range from 0 to 1.
func unit(x float64) float64 { return min(1, max(0, x)) }

// fromSample corrects the rate with the labels of a random sample of the outputs.
func (g *judged) fromSample(c *Calibration) analyze.Estimate {
	labels := map[[2]string]float64{}
	for _, r := range c.Records {
		labels[[2]string{r.Case, r.Output}] = binary(r.Label >= passing)
	}
	var labelled, judgedOnes, rest []float64
	for _, x := range g.executions {
		d := &x.decisions[0]
		label, ok := labels[[2]string{x.caseID, d.Output}]
		if !ok {
			rest = append(rest, binary(passed(d)))
			continue
		}
		labelled, judgedOnes = append(labelled, label), append(judgedOnes, binary(passed(d)))
	}
	return analyze.PPIMean(labelled, judgedOnes, rest, confidence)
}

func binary(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
