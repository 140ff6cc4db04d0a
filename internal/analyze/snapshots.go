package analyze

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/plumb-eval/plumb"
)

// The rules of snapshots with tolerance auto. A case or a suite fails at half of snapshotAlpha,
// because only an increase is a failure.
const (
	snapshotAlpha = 0.05
	// Increases below these ratios do not matter.
	tokenMargin, latencyMargin = 1.05, 1.2
	// smallestDeviation is the least standard deviation of the logs that is assumed within a case.
	smallestDeviation = 0.02
	// priorWeight is the number of degrees of freedom that the pooled variance has against that of
	// the case.
	priorWeight = 4
	// mostFreedom limits the degrees of freedom of the test of a case. Without the limit, usage
	// with heavy tails fails too many unchanged suites.
	mostFreedom = 8
	// poolCases is the number of cases with at least two samples that allow the test of a case with
	// one sample. Otherwise the case needs wantedSamples.
	poolCases, wantedSamples = 3, 5
	// suiteCases is the number of tested cases from which the suite as a whole is tested.
	suiteCases = 5
)

// SnapshotTest tests whether the executions of one runner use more than their samples did.
type SnapshotTest struct {
	margin   float64 // a difference of logs
	variance float64 // within a case, of the logs, pooled over the cases of the runner
	cases    int     // with at least two samples
	level    float64
}

// snapshotMargin returns the ratio up to which an increase of a metric does not matter.
func snapshotMargin(metric string) float64 {
	if metric == plumb.MetricLatencyMs {
		return latencyMargin
	}
	return tokenMargin
}

// NewSnapshotTest returns the test for a runner with the given samples by case. planned is the
// number of executions of the runner: the level of one test is divided by it (Bonferroni, which is
// the first step of Holm and is known before the run ends).
func NewSnapshotTest(metric string, samples [][]float64, planned int) SnapshotTest {
	t := SnapshotTest{margin: math.Log(snapshotMargin(metric)), level: snapshotAlpha / 2 / float64(max(planned, 1))}
	for _, s := range samples {
		if l := positiveLogs(s); len(l) >= 2 {
			_, variance := meanVariance(l)
			t.variance += variance
			t.cases++
		}
	}
	t.variance = max(t.variance/float64(max(t.cases, 1)), smallestDeviation*smallestDeviation)
	return t
}

// Case compares the green repetitions of an execution with its samples.
//
// With the logs y of r repetitions and x of K samples, their variance s², and the pooled variance
// p² of the runner, the test is t = (mean y - mean x - margin) / (d·sqrt(1/K + 1/r)), where d² =
// (4p² + (K-1)s²) / (K+3) shrinks the variance of the case to the pooled one, with min(K+3, 8)
// degrees of freedom (a moderated t-test: Smyth 2004; the limit is ours). Values that are not
// positive have no logarithm and are left out.
func (t SnapshotTest) Case(measured, samples []float64) plumb.SnapshotCheck {
	y, x := positiveLogs(measured), positiveLogs(samples)
	r, k := float64(len(y)), float64(len(x))
	c := plumb.SnapshotCheck{Samples: len(x), Repetitions: len(y)}
	if len(y) == 0 || len(x) == 0 {
		return c
	}
	mean, variance := meanVariance(x)
	ratio := average(y) - mean
	c.Ratio, c.Mean = math.Exp(ratio), math.Exp(mean)
	c.Low, c.High = math.Exp(slices.Min(x)), math.Exp(slices.Max(x))
	if len(x) < 2 {
		if t.cases < poolCases {
			c.Needs = wantedSamples - len(x)
			return c
		}
		variance = 0
	}
	shrunk := (priorWeight*t.variance + (k-1)*variance) / (k + priorWeight - 1)
	deviation := math.Sqrt(shrunk * (1/k + 1/r))
	freedom := min(k+priorWeight-1, mostFreedom)
	p := TAbove((ratio-t.margin)/deviation, freedom)
	c.P, c.Failed = &p, p <= t.level
	return c
}

// positiveLogs returns the logarithms of the positive values.
func positiveLogs(values []float64) []float64 {
	var all []float64
	for _, v := range values {
		if v > 0 && !math.IsInf(v, 1) {
			all = append(all, math.Log(v))
		}
	}
	return all
}

// SnapshotSuite compares all executions of one runner with their samples.
type SnapshotSuite struct {
	Runner string `json:"runner"`
	Metric string `json:"metric"`
	// Cases counts the compared executions, and Tested those with enough samples.
	Cases  int `json:"cases"`
	Tested int `json:"tested"`
	// Recorded counts executions that had no samples before the run.
	Recorded int `json:"recorded"`
	// Needs is the largest number of samples that a case still needs before it can be tested.
	Needs int `json:"needs"`
	// Ratio is the geometric mean of the ratios of the tested executions to their samples, with its
	// 95 % interval. The figures are nil if there are fewer than 5, or if all ratios are equal.
	Ratio *float64 `json:"ratio"`
	Low   *float64 `json:"low"`
	High  *float64 `json:"high"`
	P     *float64 `json:"p"`
	// Failed means that the suite as a whole used more than its samples.
	Failed bool `json:"failed"`
}

// Snapshots returns the comparison of each runner whose executions were compared with samples.
//
// The test of a runner is the one-sample t-test of the mean log ratio against the margin, with one
// degree of freedom less than there are cases (Student 1908).
func Snapshots(run *plumb.Run) []SnapshotSuite {
	var all []SnapshotSuite
	n := len(run.Info.Runners)
	for r := range n {
		s := SnapshotSuite{Runner: run.Info.Runners[r].ID}
		var ratios []float64
		for i := r; i < len(run.Executions); i += n {
			c := run.Executions[i].Snapshot
			if c == nil {
				continue
			}
			s.Metric = c.Metric
			switch {
			case c.P != nil:
				ratios = append(ratios, math.Log(c.Ratio))
			case c.Samples == 0:
				s.Recorded++
			}
			s.Cases, s.Needs = s.Cases+1, max(s.Needs, c.Needs)
		}
		if s.Cases > 0 {
			s.test(ratios)
			all = append(all, s)
		}
	}
	return all
}

func (s *SnapshotSuite) test(ratios []float64) {
	s.Tested = len(ratios)
	m := float64(len(ratios))
	if len(ratios) < suiteCases {
		return
	}
	mean, variance := meanVariance(ratios)
	if !(variance > 0) {
		return
	}
	se := math.Sqrt(variance / m)
	half := TQuantile(confidence, m-1) * se
	p := TAbove((mean-math.Log(snapshotMargin(s.Metric)))/se, m-1)
	s.Ratio, s.Low, s.High = new(math.Exp(mean)), new(math.Exp(mean-half)), new(math.Exp(mean+half))
	s.P, s.Failed = &p, p <= snapshotAlpha/2
}

// PWords renders a p-value with two significant digits.
func PWords(p float64) string {
	switch {
	case p < 0.0001:
		return "p < 0.0001"
	case p >= 1:
		return "p = 1"
	case p >= 0.995:
		return "p > 0.99"
	}
	digits := 1 - int(math.Floor(math.Log10(p)))
	return "p = " + strconv.FormatFloat(p, 'f', digits, 64)
}

// SnapshotWords renders the result of one case.
func SnapshotWords(c *plumb.SnapshotCheck) string {
	words := fmt.Sprintf("x%.2f of %d samples (%s [%s – %s])",
		c.Ratio, c.Samples, amount(c.Mean), amount(c.Low), amount(c.High))
	if c.P != nil {
		words += ", " + PWords(*c.P)
	}
	return words
}

// amount renders a number of tokens, dollars or milliseconds.
func amount(f float64) string {
	if f >= 100 {
		return strconv.FormatFloat(f, 'f', 0, 64)
	}
	return strconv.FormatFloat(f, 'g', 3, 64)
}
