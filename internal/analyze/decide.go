package analyze

import (
	"math"
	"math/rand/v2"
	"slices"
	"sort"
)

// A Question is what [Decider] decides: whether a candidate is better than, worse than, or
// equivalent to its baseline, or, with a Gate, on which side of a value its pass rate is.
type Question struct {
	// Cases is the number of cases.
	Cases int
	// Draws is the largest number of draws. A draw is one pair, or one repetition if Absolute is
	// set.
	Draws int
	// Batch is the number of draws with the same probabilities.
	Batch int
	// Alpha is the level of the conclusions.
	Alpha float64
	// Margin is the largest difference that does not matter; 0 never concludes that two sides are
	// equivalent.
	Margin float64
	// Gate is the value with which the mean is compared, or NaN. Absolute means that it is the pass
	// rate of the candidate, without a baseline; otherwise it is the mean difference.
	Gate     float64
	Absolute bool
	// Coverage is the least share of measured draws with which anything is decided.
	Coverage float64
	// Stock is the number of pairs that each case can have. Nil means no limit.
	Stock []int
	Seed  [32]byte
}

// A Decision is the result of a question.
type Decision uint8

// The decisions. DecidedAbove and DecidedBelow answer a question with a gate: on which side of it
// the mean is.
const (
	Undecided Decision = iota
	DecidedBetter
	DecidedWorse
	DecidedEquivalent
	DecidedAbove
	DecidedBelow
)

// NextDraw says whether there is a next draw.
type NextDraw uint8

// Waiting means that the next draw depends on results that are not revealed yet. Ended means that
// the question is decided, or that no more draws are allowed.
const (
	Drawn NextDraw = iota
	Waiting
	Ended
)

// Result is the result of one draw: whether each side passed. Measured is false if a side could not
// be measured, which takes the pair out.
type Result struct{ Measured, Base, Cand bool }

// Decider chooses the cases of the next pairs, and decides a question with as few pairs as it can.
// It is a fold: the same question and the same results give the same draws and the same decision,
// whatever the order in which the results arrive. It is not safe for concurrent use.
//
// The first draws take each case once, in random order. Each later draw takes case i with the
// probability ½/M + ½·s_i/Σs, where s_i = sqrt(p(1-p)) and p = (passes+1)/(trials+2) over both
// sides of the revealed pairs. The probabilities of a batch use the pairs before the previous
// batch, so that one batch can be in flight while the last results of another one are missing.
// Results count in the order of the draws.
//
// Better and worse are decided by the e-processes of [McNemarE] over all pairs, at 2/alpha each. If
// no case has changed, each pair with different results is a fair coin, for any choice of cases
// that only uses revealed pairs. So the probability to ever decide one of them is at most alpha
// (Ville 1939). Equivalent is decided by betting (Waudby-Smith and Ramdas 2024) on z = d/(M·π),
// whose mean is the mean difference: both one-sided null hypotheses at the margin have to reach
// 1/alpha. A gate is decided in the same way, at 2/alpha. These use the draws after the first
// sweep, and none after a case is exhausted, because then the mean is one of fewer cases.
type Decider struct {
	q     Question
	rng   *rand.Rand
	sweep []int

	cases   []caseTally
	weights weights   // of the current batch
	next    []weights // of the next batches, as far as they are known
	planned int       // batches with known weights
	pending []drawn   // draws that are not revealed, from number revealed
	early   map[int]Result
	drawn   int
	left    int // cases with stock
	reduced bool

	revealed, measured int
	lost, won          int
	worse, better      float64  // log e-values
	above, below       *betting // against: the mean is at most, or at least, a value
	decision           Decision
}

// caseTally counts the draws of one case, and the measured ones among them that are revealed.
type caseTally struct{ drawn, resolved, pairs, base, cand int32 }

// drawn is one draw. scale is 1/(M·π), or 0 for a draw that no bet uses.
type drawn struct {
	index int
	scale float64
}

// NewDecider returns the state before the first draw.
func NewDecider(q Question) *Decider {
	q.Batch = max(q.Batch, 1)
	d := &Decider{
		q: q, rng: rand.New(rand.NewChaCha8(q.Seed)), cases: make([]caseTally, q.Cases), early: map[int]Result{},
	}
	d.sweep = slices.DeleteFunc(d.rng.Perm(q.Cases), func(i int) bool { return d.stock(i) <= 0 })
	d.left = len(d.sweep)
	d.reduced = d.left < q.Cases
	lowest, highest := -2.0, 2.0 // of z, because π is at least ½/M
	if q.Absolute {
		lowest = 0
	}
	switch {
	case !math.IsNaN(q.Gate):
		d.above, d.below = betAbove(q.Gate, lowest), betBelow(q.Gate, highest)
	case q.Margin > 0:
		d.above, d.below = betAbove(-q.Margin, lowest), betBelow(q.Margin, highest)
	}
	d.prepare()
	return d
}

// stock is the number of draws that case i has left.
func (d *Decider) stock(i int) int {
	if d.q.Stock == nil {
		return math.MaxInt
	}
	return d.q.Stock[i] - int(d.cases[i].drawn)
}

// Next returns the number of the next draw, counted from 0, and the index of its case.
func (d *Decider) Next() (draw, index int, state NextDraw) {
	if d.decision != Undecided || d.drawn >= d.q.Draws || d.left == 0 {
		return 0, 0, Ended
	}
	var next drawn
	if d.drawn < len(d.sweep) {
		next.index = d.sweep[d.drawn]
	} else {
		if (d.drawn-len(d.sweep))%d.q.Batch == 0 {
			if len(d.next) == 0 {
				return 0, 0, Waiting
			}
			d.weights, d.next = d.next[0], d.next[1:]
		}
		next.index = d.weights.draw(d.rng)
		for d.stock(next.index) <= 0 { // the weights are from before its last draw
			next.index = d.weights.draw(d.rng)
		}
		if !d.reduced {
			next.scale = 1 / (float64(d.q.Cases) * d.weights.probability(next.index))
		}
	}
	d.cases[next.index].drawn++
	if d.stock(next.index) == 0 {
		d.left--
		d.reduced = true
	}
	d.pending = append(d.pending, next)
	d.drawn++
	return d.drawn - 1, next.index, Drawn
}

// Reveal takes the result of a draw. It counts once all earlier draws are revealed. Results after
// the one that decided the question count no more.
func (d *Decider) Reveal(draw int, r Result) {
	d.early[draw] = r
	for d.decision == Undecided {
		r, ok := d.early[d.revealed]
		if !ok {
			return
		}
		delete(d.early, d.revealed)
		n := d.pending[0]
		d.pending = d.pending[1:]
		d.revealed++
		d.count(n, r)
		d.prepare()
	}
}

// prepare computes the probabilities of the next batch as soon as the pairs before the previous
// batch are revealed.
func (d *Decider) prepare() {
	if d.revealed == max(len(d.sweep)+(d.planned-1)*d.q.Batch, 0) {
		d.next = append(d.next, d.probabilities())
		d.planned++
	}
}

// probabilities returns the weights of the cases that have stock left, from the revealed pairs.
func (d *Decider) probabilities() weights {
	spread := make([]float64, len(d.cases))
	var total, left float64
	for i := range d.cases {
		t := &d.cases[i]
		if d.q.Stock != nil && int(t.resolved) >= d.q.Stock[i] {
			continue
		}
		trials, passes := float64(2*t.pairs), float64(t.base+t.cand)
		if d.q.Absolute {
			trials, passes = float64(t.pairs), float64(t.cand)
		}
		p := (passes + 1) / (trials + 2)
		spread[i] = math.Sqrt(p * (1 - p))
		total, left = total+spread[i], left+1
	}
	w, sum := make(weights, len(d.cases)), 0.0
	for i, s := range spread {
		if s > 0 {
			sum += 0.5/left + 0.5*s/total
		}
		w[i] = sum
	}
	return w
}

// weights are the cumulative probabilities of the cases.
type weights []float64

func (w weights) draw(rng *rand.Rand) int {
	u := rng.Float64() * w[len(w)-1]
	return sort.Search(len(w)-1, func(i int) bool { return w[i] > u })
}

func (w weights) probability(i int) float64 {
	if i == 0 {
		return w[0]
	}
	return w[i] - w[i-1]
}

// count adds the result of a draw, and decides.
func (d *Decider) count(n drawn, r Result) {
	t := &d.cases[n.index]
	t.resolved++
	if !r.Measured {
		return
	}
	d.measured++
	t.pairs++
	t.base += one(r.Base)
	t.cand += one(r.Cand)
	switch {
	case r.Base && !r.Cand:
		d.lost++
	case r.Cand && !r.Base:
		d.won++
	}
	if r.Base != r.Cand {
		d.worse, d.better = logMcNemarE(d.lost, d.won), logMcNemarE(d.won, d.lost)
	}
	if d.above != nil && n.scale > 0 {
		z := n.scale * float64(one(r.Cand))
		if !d.q.Absolute {
			z -= n.scale * float64(one(r.Base))
		}
		d.above.add(z)
		d.below.add(z)
	}
	d.decision = d.decide()
}

func one(passed bool) int32 {
	if passed {
		return 1
	}
	return 0
}

// decide returns what the results so far decide.
func (d *Decider) decide() Decision {
	side, each := math.Log(2/d.q.Alpha), math.Log(1/d.q.Alpha)
	switch {
	case float64(d.measured) < d.q.Coverage*float64(d.revealed):
		return Undecided
	case !math.IsNaN(d.q.Gate) && d.above.logE() >= side:
		return DecidedAbove
	case !math.IsNaN(d.q.Gate) && d.below.logE() >= side:
		return DecidedBelow
	case !math.IsNaN(d.q.Gate):
		return Undecided
	case d.worse >= side && d.effect() < 0:
		return DecidedWorse
	case d.better >= side && d.effect() > 0:
		return DecidedBetter
	case d.above != nil && d.above.logE() >= each && d.below.logE() >= each:
		return DecidedEquivalent
	}
	return Undecided
}

// effect is the mean over the measured cases of candidate minus baseline, or with Absolute the mean
// of the candidate. It is NaN without a measured case.
func (d *Decider) effect() float64 {
	var sum, n float64
	for i := range d.cases {
		if t := &d.cases[i]; t.pairs > 0 {
			effect := float64(t.cand)
			if !d.q.Absolute {
				effect -= float64(t.base)
			}
			sum, n = sum+effect/float64(t.pairs), n+1
		}
	}
	return sum / n
}

// Standing is the state of a question.
type Standing struct {
	Decision Decision
	// Draws counts the draws whose results count, and Measured those of them that were measured.
	Draws, Measured int
	// Lost counts pairs where only the baseline passed, and Won those where only the candidate did.
	Lost, Won int
	// Effect is [Decider.Effect].
	Effect float64
	// The evidence is an e-value as a part of the one that decides, in logarithms from 0 to 1: 0 is
	// no evidence, 1 decides. Settled is the evidence that the sides are equivalent. Above and
	// Below are those of a gate.
	Better, Worse, Settled, Above, Below float64
	// Exhausted counts the cases whose pairs all count. Equivalence cannot be decided after the
	// first.
	Exhausted int
}

// Standing returns the state of the question.
func (d *Decider) Standing() Standing {
	s := Standing{
		Decision: d.decision, Draws: d.revealed, Measured: d.measured, Lost: d.lost, Won: d.won, Effect: d.effect(),
	}
	for i, stock := range d.q.Stock {
		if int(d.cases[i].resolved) >= stock {
			s.Exhausted++
		}
	}
	side, each := math.Log(2/d.q.Alpha), math.Log(1/d.q.Alpha)
	part := func(log, threshold float64) float64 { return max(0, min(log/threshold, 1)) }
	switch {
	case !math.IsNaN(d.q.Gate):
		s.Above, s.Below = part(d.above.logE(), side), part(d.below.logE(), side)
		return s
	case d.above != nil:
		s.Settled = part(min(d.above.logE(), d.below.logE()), each)
	}
	s.Better, s.Worse = part(d.better, side), part(d.worse, side)
	return s
}

// Counts returns the measured pairs of case i that count, and how many of them each side passed.
func (d *Decider) Counts(i int) (pairs, base, cand int) {
	t := &d.cases[i]
	return int(t.pairs), int(t.base), int(t.cand)
}

// Counted returns the number of draws of case i that count, measured or not.
func (d *Decider) Counted(i int) int { return int(d.cases[i].resolved) }

// Over reports whether the question is decided, or no result is missing and no draw is allowed.
func (d *Decider) Over() bool {
	return d.decision != Undecided || d.revealed == d.drawn && (d.drawn >= d.q.Draws || d.left == 0)
}
