package analyze

import (
	"cmp"
	"maps"
	"math"
	"slices"
)

// RateMix is a distribution of pass rates over the cases of a suite.
type RateMix struct{ rates, weights []float64 }

// MixOf estimates the distribution of the pass rates of cases from their repetitions: the mixture of
// binomial distributions with the largest likelihood, on a grid of log-odds (Laird 1978). It starts
// from a mixture with equal weights, so that what the repetitions do not say stays smooth.
func MixOf(cases []Count) RateMix {
	const points, widest, steps = 49, 7.2, 400
	m := RateMix{make([]float64, points), make([]float64, points)}
	for j := range m.rates {
		m.rates[j] = 1 / (1 + math.Exp(widest-2*widest*float64(j)/(points-1)))
		m.weights[j] = 1.0 / points
	}
	return m.of(cases, steps)
}

// Of returns the distribution of the pass rates of some of the cases, given their repetitions.
func (m RateMix) Of(cases []Count) RateMix { return m.of(cases, 1) }

// of makes steps of expectation and maximization. One step is the posterior mean.
func (m RateMix) of(cases []Count, steps int) RateMix {
	counts, of := map[Count]float64{}, 0.0
	for _, c := range cases {
		if c.Measured > 0 && c.Passed >= 0 && c.Passed <= c.Measured {
			counts[c]++
			of++
		}
	}
	distinct := slices.SortedFunc(maps.Keys(counts), func(a, b Count) int {
		return cmp.Or(cmp.Compare(a.Measured, b.Measured), cmp.Compare(a.Passed, b.Passed))
	})
	if of == 0 {
		return m
	}
	likelihood, share := make([][]float64, len(distinct)), make([]float64, len(distinct))
	for i, c := range distinct {
		share[i] = counts[c] / of
		for _, p := range m.rates {
			likelihood[i] = append(likelihood[i], binomial(c.Passed, c.Measured, p))
		}
	}
	weights, joint := m.weights, make([]float64, len(m.weights))
	for range steps {
		next := make([]float64, len(weights))
		for i, of := range likelihood {
			sum := 0.0
			for j, l := range of {
				joint[j] = l * weights[j]
				sum += joint[j]
			}
			for j, x := range joint {
				next[j] += share[i] / sum * x
			}
		}
		weights = next
	}
	return RateMix{m.rates, weights}
}

// AssumedMix returns the distribution of a suite without history: the part of the cases that makes
// the mean variance within a case equal to within passes half of the time. The others are steady:
// three of four pass with 0.97, and one with 0.03.
func AssumedMix(within float64) RateMix {
	const steady = 0.97
	coins := (within - steady*(1-steady)) / (0.25 - steady*(1-steady))
	return RateMix{[]float64{1 - steady, 0.5, steady}, []float64{(1 - coins) / 4, coins, 3 * (1 - coins) / 4}}
}

// mirrored exchanges pass and fail.
func (m RateMix) mirrored() RateMix {
	out := RateMix{make([]float64, len(m.rates)), m.weights}
	for j, p := range m.rates {
		out.rates[j] = 1 - p
	}
	return out
}

// mean returns the mean over the cases of a function of the pass rate.
func (m RateMix) mean(f func(p float64) float64) (sum float64) {
	for j, p := range m.rates {
		sum += m.weights[j] * f(p)
	}
	return sum
}

// Repeats counts cases with the same numbers of repetitions on the two sides. Mix is that of these
// cases; the zero value is that of the design.
type Repeats struct {
	Base, Cand, Cases int
	Mix               RateMix
}

// RateDesign is a comparison of the pass rates of cases by the exact test [Stratified] and the
// interval of [RateDifference], which both have to exclude that nothing changed.
type RateDesign struct {
	Mix   RateMix
	Cases []Repeats
	// Alpha is the two-sided level.
	Alpha float64
	// Sequential means that [McNemarE] decides at 2/Alpha, after pairs of one repetition a side.
	Sequential bool
}

// SameRepeats is the design of cases with the same number of repetitions on both sides at [Level].
func SameRepeats(m RateMix, cases, repeats int) RateDesign {
	return RateDesign{Mix: m, Cases: []Repeats{{Base: repeats, Cand: repeats, Cases: cases}}, Alpha: Level}
}

// Detectable returns the smallest change of the mean pass rate that the comparison finds with
// probability [Power]. The change is one shift of the log-odds of all cases: a loss, or a gain if
// fewer than half of the repetitions pass. ok is false if it finds none.
func (d RateDesign) Detectable() (difference float64, ok bool) {
	const widest, steps = 14, 40
	d = d.downward()
	if !(d.power(widest) >= Power) {
		return 0, false
	}
	low, high := 0.0, float64(widest)
	for range steps {
		if middle := (low + high) / 2; d.power(middle) >= Power {
			high = middle
		} else {
			low = middle
		}
	}
	return d.loss(high), true
}

// CasesFor returns the smallest number of cases, all with the repetitions of the first ones of the
// design, for which the comparison finds a difference; [math.MaxInt32] if none does. The power of an
// exact test goes up and down, so the next five numbers have to find it, too.
func (d RateDesign) CasesFor(difference float64) int {
	d = d.downward()
	shift, ok := d.shiftOf(difference)
	if !ok {
		return math.MaxInt32
	}
	one := d.Cases[0]
	finds := func(n int) bool {
		d.Cases = []Repeats{{one.Base, one.Cand, n, one.Mix}}
		return d.power(shift) >= Power
	}
	const jagged = 1 << 12 // cases from which on the power hardly goes down
	return least(func(n int) bool {
		for i := range 6 {
			if !finds(n + i) {
				return false
			}
			if n > jagged {
				break
			}
		}
		return true
	})
}

// RepeatsFor returns the smallest number of repetitions of each case on both sides with which the
// comparison finds a difference; [math.MaxInt32] if none does.
func (d RateDesign) RepeatsFor(difference float64) int {
	d = d.downward()
	shift, ok := d.shiftOf(difference)
	if !ok {
		return math.MaxInt32
	}
	cases := 0
	for _, c := range d.Cases {
		cases += c.Cases
	}
	return least(func(n int) bool {
		d.Cases = []Repeats{{Base: n, Cand: n, Cases: cases}}
		return d.power(shift) >= Power
	})
}

// least returns the smallest n from 1 on for which ok holds, if it holds for all larger ones, or
// [math.MaxInt32] if it is above a million.
func least(ok func(n int) bool) int {
	const most = 1 << 20
	high := 1
	for !ok(high) {
		if high *= 2; high > most {
			return math.MaxInt32
		}
	}
	low := high / 2
	for low+1 < high {
		if middle := (low + high) / 2; ok(middle) {
			high = middle
		} else {
			low = middle
		}
	}
	return high
}

// downward exchanges pass and fail if fewer than half of the repetitions pass, so that there is room
// for a loss.
func (d RateDesign) downward() RateDesign {
	if d.Mix.mean(func(p float64) float64 { return p }) >= 0.5 {
		return d
	}
	d.Mix, d.Cases = d.Mix.mirrored(), slices.Clone(d.Cases)
	for i := range d.Cases {
		d.Cases[i].Mix = d.Cases[i].Mix.mirrored()
	}
	return d
}

// mix returns the distribution of some of the cases.
func (d RateDesign) mix(c *Repeats) RateMix {
	if len(c.Mix.rates) == 0 {
		return d.Mix
	}
	return c.Mix
}

// size counts the cases.
func (d RateDesign) size() (n int) {
	for _, c := range d.Cases {
		n += c.Cases
	}
	return n
}

// lowered returns a rate whose log-odds fall by shift.
func lowered(p, shift float64) float64 { return p / (p + math.Exp(shift)*(1-p)) }

// loss returns the mean loss of the cases after a shift of their log-odds.
func (d RateDesign) loss(shift float64) (loss float64) {
	for i := range d.Cases {
		c := &d.Cases[i]
		loss += float64(c.Cases) * d.mix(c).mean(func(p float64) float64 { return p - lowered(p, shift) })
	}
	return loss / float64(d.size())
}

// shiftOf returns the shift with a mean loss; ok is false if the cases cannot lose so much.
func (d RateDesign) shiftOf(loss float64) (shift float64, ok bool) {
	low, high := 0.0, 30.0
	if !(d.loss(high) >= loss) {
		return 0, false
	}
	for range 60 {
		if middle := (low + high) / 2; d.loss(middle) >= loss {
			high = middle
		} else {
			low = middle
		}
	}
	return high, true
}

// power returns the probability that the comparison finds the loss of a shift.
//
// With one repetition a side it is exact: each case that differs is lost with probability
// e^shift/(1+e^shift), the same for all cases. Otherwise it is the smaller one of the probabilities
// that the test rejects and that the interval excludes 0, both by normal approximations.
func (d RateDesign) power(shift float64) float64 {
	single, once := true, false
	for _, c := range d.Cases {
		single = single && c.Base == 1 && c.Cand == 1
		once = once || c.Base == 1 || c.Cand == 1
	}
	var m moments
	for i := range d.Cases {
		c := &d.Cases[i]
		mix := d.mix(c)
		for j, p := range mix.rates {
			if w := mix.weights[j] * float64(c.Cases); w > 1e-9 {
				m.add(w, c.Base, c.Cand, p, lowered(p, shift), !single)
			}
		}
	}
	if single {
		return d.singlePower(m.differ/m.cases, 1/(1+math.Exp(-shift)))
	}
	return min(m.testPower(d.Alpha), m.intervalPower(d.Alpha, once))
}

// singlePower returns the probability that cases with one repetition a side show a loss, if a case
// differs with probability differ, and is then lost with probability lost: the test of McNemar
// rejects, and [BonettPrice] excludes 0.
func (d RateDesign) singlePower(differ, lost float64) (power float64) {
	n := d.size()
	z, total := normalQuantile(1-d.Alpha), float64(n)
	rejects := func(b, k int) bool {
		if d.Sequential {
			return logMcNemarE(b, k-b) >= math.Log(2/d.Alpha)
		}
		return 2*binomialAtLeast(b, k, 0.5) <= d.Alpha*(1+tieTolerance)
	}
	const tail = 7 // standard deviations
	away := tail*math.Sqrt(total*differ*(1-differ)) + tail
	critical := 0
	for k := max(0, int(total*differ-away)); k <= min(n, int(total*differ+away)); k++ {
		critical = max(critical, k/2)
		for critical <= k && !rejects(critical, k) {
			critical++
		}
		lead := z * math.Sqrt(float64(k+2)/(1+z*z/(total+2))) // b-c above it excludes 0
		if from := max(critical, int(math.Floor((float64(k)+lead)/2))+1); from <= k {
			power += binomial(k, n, differ) * binomialAtLeast(from, k, lost)
		}
	}
	return power
}

// moments are sums over the cases of a design, of the expected values that its power depends on. T is
// the passes that the candidate lacks, given the margins of the cases, and V the variance of T in
// [Stratified].
type moments struct {
	cases, differ, common         float64
	t, tVar, v, vVar, tv          float64
	loss, loss2, variance, sample float64 // of the difference of the rates of a case
	squares                       float64 // of the estimates of its variance, over their degrees of freedom
}

// add adds w cases with base and cand repetitions, of the rates p and q.
func (m *moments) add(w float64, base, cand int, p, q float64, repeated bool) {
	b, c := float64(base), float64(cand)
	m.cases, m.differ, m.common = m.cases+w, m.differ+w*(p*(1-q)+q*(1-p)), m.common+w*min(b, c)
	if !repeated {
		return
	}
	vp, vq := p*(1-p)/b, q*(1-q)/c
	m.loss, m.loss2, m.variance = m.loss+w*(p-q), m.loss2+w*(p-q)*(p-q), m.variance+w*(vp+vq)
	all := b + c
	scale := b * c / all
	m.t, m.tVar = m.t+w*scale*(p-q), m.tVar+w*scale*scale*(vp+vq)
	passes := b*p + c*q
	v := scale * (passes*(all-passes) - b*b*vp - c*c*vq) / (all * (all - 1))
	m.v += w * v
	const most = 600 // pairs of counts; above, the variances are nearly known
	if base*cand > most {
		m.sample += w * (vp + vq)
		m.squares += w * (vp*vp/max(1, b-1) + vq*vq/max(1, c-1))
		return
	}
	pb, pc := binomials(base, p), binomials(cand, q)
	for k, x := range pb {
		for l, y := range pc {
			passed := float64(k + l)
			t := scale * (float64(k)/b - float64(l)/c - (p - q))
			dv := scale*passed*(all-passed)/(all*(all-1)) - v
			m.vVar, m.tv = m.vVar+w*x*y*dv*dv, m.tv+w*x*y*t*dv
		}
	}
	for _, side := range [][]float64{pb, pc} {
		n := float64(len(side) - 1)
		for k, x := range side {
			rate := float64(k) / n
			u := rate * (1 - rate) / max(1, n-1)
			m.sample, m.squares = m.sample+w*x*u, m.squares+w*x*u*u/max(1, n-1)
		}
	}
}

// binomials returns the probabilities of 0 to n successes.
func binomials(n int, p float64) []float64 {
	out := make([]float64, n+1)
	for k := range out {
		out[k] = binomial(k, n, p)
	}
	return out
}

// testPower returns the probability that T - 1/2 is above z sqrt(V).
func (m *moments) testPower(alpha float64) float64 {
	z, root := normalQuantile(1-alpha), math.Sqrt(m.v)
	mean := m.t - 0.5 - z*(root-m.vVar/(8*m.v*root))
	return normalBelow(mean / math.Sqrt(max(math.SmallestNonzeroFloat64, m.tVar+z*z*m.vVar/(4*m.v)-z*m.tv/root)))
}

// intervalPower returns the probability that the interval excludes 0: the stratified difference or,
// if some case has one repetition on a side, t over cases.
func (m *moments) intervalPower(alpha float64, once bool) float64 {
	n := m.cases
	loss := m.loss / n
	var half float64
	if once {
		between := max(0, m.loss2/n-loss*loss)
		half = TQuantile(1-alpha, max(1, n-1)) * math.Sqrt((m.variance/n+between)/max(1, n-1))
	} else {
		z := normalQuantile(1 - alpha)
		t := TQuantile(1-alpha, max(1, m.sample*m.sample/m.squares))
		half = math.Sqrt(t*t*m.sample/(n*n) + 2*z*z/((m.common+2)*(m.common+2)))
	}
	return normalBelow((loss - half) * n / math.Sqrt(m.variance))
}
