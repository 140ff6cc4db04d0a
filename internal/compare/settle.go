package compare

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/plumb-eval/plumb/internal/analyze"
)

// mostRepeats is the largest number of repetitions that a plan proposes. A suite that needs more is
// too small.
const mostRepeats = 100

// equivalencePower is the probability with which a plan to show that there is no effect succeeds.
const equivalencePower = 0.9

// settle says what would make the comparison decisive, and what --confirm would cost; nil if there
// is nothing to say. How many repetitions see an effect follows from the power of the test. With V
// the variance of the effect for one repetition of each case on each side, that there is no effect
// beyond a margin is seen after (z_{1-alpha} + z_.9)^2 V / (margin - |d|)^2.
func (a *analysis) settle() *Settle {
	s := &Settle{Confirm: a.confirmPlan()}
	if a.out.Conclusion != NotDecisive {
		if s.Confirm == nil {
			return nil
		}
		return s
	}
	if a.out.Deciding < 0 {
		s.Why = "there is no runner on both sides"
		return s
	}
	f := &a.out.Runners[a.out.Deciding].Figure
	pairs := &a.out.Runners[a.out.Deciding].Pairs
	switch {
	case !(float64(a.out.Coverage) >= a.o.MinCoverage) || f.Pairs == 0:
		s.Why = "measure the missing pairs first"
		return s
	case pairs.Clusters > 0 && pairs.Clusters < fewestClusters:
		s.Why = "more repetitions do not help; the suite needs more sources"
		return s
	case pairs.EarlyStop > 0:
		s.Why = "repetitions ended at the first failure; make both runs with --all-repetitions"
		return s
	case !f.Effect.OK():
		s.Why = "there are too few values for an interval"
		return s
	}
	alpha := a.o.Alpha
	n := 2 / (1/float64(f.BaselineRepeats) + 1/float64(f.CandidateRepeats))
	single := f.BaselineRepeats == 1 && f.CandidateRepeats == 1
	passes := a.passes[a.out.Deciding]
	e := passes.estimate(1 - alpha)
	se := (e.Hi - e.Lo) / 2 / upper(alpha/2)
	variance := se * se * n
	effect := math.Abs(float64(f.Effect.Value))
	if effect > 0 {
		level := alpha / float64(max(1, f.Family.Size))
		z := upper(level/2) + upper(1-power)
		repeats := z * z * variance / (effect * effect)
		if d, _, ok := passes.designs(level); ok {
			repeats = float64(d.RepeatsFor(effect))
		}
		s.IfReal = a.plan(repeats, single, effect, f, variance)
	}
	if room := f.Margin - effect; room > 0 {
		z := upper(alpha) + upper(1-equivalencePower)
		s.IfNone = a.plan(z*z*variance/(room*room), single, f.Margin, f, variance)
	}
	return s
}

// plan returns the plan for a number of repetitions on each side. If the number is too large, it
// returns the number of cases with which a suite would see an effect of the given size.
func (a *analysis) plan(repeats float64, single bool, size float64, f *Figure, variance float64) *Plan {
	p := &Plan{AtMost: single, CostUSD: missing(), DurationMs: missing()}
	if repeats > mostRepeats {
		level := a.o.Alpha / float64(max(1, f.Family.Size))
		if d, _, ok := f.series.designs(level); ok {
			d.Cases = []analyze.Repeats{{Base: 1, Cand: 1, Cases: 1}}
			if cases := d.CasesFor(size); cases < math.MaxInt32 {
				p.Cases = cases
			}
			return p
		}
		one := analyze.PairedDesign{Between: variance * float64(f.Pairs), RepeatsBase: 1, RepeatsCand: 1}
		if cases := analyze.PairedSampleSize(one, size, level, power); cases < math.MaxInt32 {
			p.Cases = int(math.Ceil(cases))
		}
		return p
	}
	p.Repeats = max(1, int(math.Ceil(repeats-1e-9)))
	base, cand := a.targets(p.Repeats, f)
	if base < 0 || cand < 0 { // no command can make these repetitions
		return p
	}
	var commands []string
	p.CostUSD, p.DurationMs = 0, 0
	for _, x := range []struct {
		side *Side
		to   int
	}{{a.m.Base, base}, {a.m.Cand, cand}} {
		sessions := x.side.missingSessions(x.to)
		if sessions == 0 {
			continue
		}
		p.Sessions += sessions
		cost, ms := x.side.perSession()
		p.CostUSD, p.DurationMs = p.CostUSD+Number(cost*float64(sessions)), p.DurationMs+Number(ms*float64(sessions))
		commands = append(commands, a.command(fmt.Sprintf("plumb resume %s --repeat %d", x.side.ID, x.to)))
	}
	p.Command = strings.Join(slices.Compact(commands), " && ") // two prompts of one run need it once
	return p
}

// command adds the flags of the project to a command.
func (a *analysis) command(text string) string {
	return strings.TrimSpace(text + " " + a.o.Flags)
}

// targets returns the repetitions that each side needs for the variance of r repetitions on both. A
// side that cannot be extended keeps what it has, and the other makes up for it; -1 means that it
// cannot.
func (a *analysis) targets(r int, f *Figure) (base, cand int) {
	other := func(fixed Number) int {
		rest := 2/float64(r) - 1/float64(fixed)
		if rest <= 1.0/mostRepeats {
			return -1
		}
		return int(math.Ceil(1/rest - 1e-9))
	}
	switch {
	case a.m.Base.Extendable() && a.m.Cand.Extendable():
		return r, r
	case a.m.Cand.Extendable():
		return 0, other(f.BaselineRepeats)
	case a.m.Base.Extendable():
		return other(f.CandidateRepeats), 0
	default:
		return -1, -1
	}
}

// Extendable reports whether repetitions can be added to a side.
func (s *Side) Extendable() bool { return s.Kind == SourceRun && s.ID != "" && !s.History }

// missingSessions returns the number of sessions that raise the planned repetitions of each case to
// n.
func (s *Side) missingSessions(n int) (sessions int) {
	for i := range s.Cases {
		sessions += max(0, n-s.Cases[i].Repeat) * len(s.Runners)
	}
	return sessions
}

// perSession returns the mean cost and the mean working time of the run for one session that was
// made; NaN if it is not known.
func (s *Side) perSession() (usd, ms float64) {
	costs, priced, made := 0.0, 0, 0
	for _, samples := range s.Samples {
		for i := range samples {
			if samples[i].Cached {
				continue
			}
			made++
			if c := samples[i].CostUSD; !math.IsNaN(c) {
				costs, priced = costs+c, priced+1
			}
		}
	}
	usd, ms = costs/float64(priced), math.NaN()
	if s.Run != nil && s.Run.ActiveMs > 0 {
		ms = float64(s.Run.ActiveMs) / float64(made)
	}
	if made == 0 {
		return math.NaN(), math.NaN()
	}
	return usd, ms
}

// confirmPlan returns what --confirm costs, or nil without suspects that it can repeat.
func (a *analysis) confirmPlan() *Plan {
	p := &Plan{Repeats: FreshRepetitions}
	for i := range a.out.Cases.Suspect {
		c := &a.out.Cases.Suspect[i]
		if c.Confirmation != nil || !a.m.Cand.Extendable() || NeedsBaseline(c) && !a.m.Base.Extendable() {
			continue
		}
		add := func(s *Side) {
			cost, ms := s.perSession()
			p.Sessions += FreshRepetitions
			p.CostUSD += Number(cost * FreshRepetitions)
			p.DurationMs += Number(ms * FreshRepetitions)
		}
		add(a.m.Cand)
		if NeedsBaseline(c) {
			add(a.m.Base)
		}
	}
	if p.Sessions == 0 {
		return nil
	}
	if a.o.Compare != "" {
		p.Command = a.o.Compare + " --confirm"
	}
	return p
}
