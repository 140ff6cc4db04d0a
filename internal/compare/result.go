package compare

import (
	"encoding/json"
	"math"
	"time"

	"github.com/plumb-eval/plumb"
)

// Schema is the version of the JSON document of a [Comparison]. A new key does not change it.
const Schema = 1

// Conclusion is the result of a comparison.
type Conclusion string

// The conclusions. Equivalent means that the effect is smaller than the margin, and NotDecisive
// that there are too few data to say anything.
const (
	Better      Conclusion = "better"
	Worse       Conclusion = "worse"
	Equivalent  Conclusion = "equivalent"
	NotDecisive Conclusion = "not decisive"
)

// Number is a figure. NaN means that it cannot be computed, and is null in JSON.
type Number float64

// OK reports whether the figure could be computed.
func (n Number) OK() bool { return !math.IsNaN(float64(n)) }

// MarshalJSON writes a number, or null.
func (n Number) MarshalJSON() ([]byte, error) {
	if f := float64(n); !math.IsNaN(f) && !math.IsInf(f, 0) {
		return json.Marshal(f)
	}
	return []byte("null"), nil
}

// UnmarshalJSON reads what [Number.MarshalJSON] writes.
func (n *Number) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		*n = Number(math.NaN())
		return nil
	}
	var f float64
	err := json.Unmarshal(data, &f)
	*n = Number(f)
	return err
}

// missing is a figure that cannot be computed.
func missing() Number { return Number(math.NaN()) }

// Unit is the unit of an effect.
type Unit string

// The units. A rate is a share from 0 to 1, so that its effect times 100 is in percentage points. A
// ratio is candidate / baseline; all other effects are candidate minus baseline.
const (
	UnitRate  Unit = "rate"
	UnitScore Unit = "score"
	UnitRatio Unit = "ratio"
)

// Effect is the difference between the two sides, with its interval.
type Effect struct {
	Value Number `json:"value"`
	Low   Number `json:"low"`
	High  Number `json:"high"`
	// Confidence is the level of the interval, such as 0.95.
	Confidence float64 `json:"confidence"`
	Unit       Unit    `json:"unit" redact:"-"`
	// Method names the method of the interval.
	Method string `json:"method" redact:"-"`
}

// OK reports whether the effect has an interval.
func (e *Effect) OK() bool { return e.Value.OK() && e.Low.OK() && e.High.OK() }

// TestOf is what a [Test] is about.
type TestOf string

// What a test is about: that there is a difference, or that any is within the margin. Without enough
// data no test is made.
const (
	TestNone        TestOf = ""
	TestDifference  TestOf = "difference"
	TestEquivalence TestOf = "equivalence"
)

// Test is the test that a conclusion rests on. That of a difference demands both: that the test of
// the figure rejects, and that its interval excludes no effect. P is adjusted within the family. The
// interval has the level of that adjustment, so it excludes no effect if and only if P is at most
// alpha; the interval of a test of equivalence lies within the margin.
type Test struct {
	Of         TestOf  `json:"of" redact:"-"`
	Low        Number  `json:"low"`
	High       Number  `json:"high"`
	Confidence float64 `json:"confidence"`
	P          Number  `json:"p"`
}

// Family names the tests among which a p-value is adjusted.
type Family struct {
	Name string `json:"name" redact:"-"`
	// Size is the number of tests, and Method the adjustment: "Holm" or "Benjamini-Hochberg".
	Size   int    `json:"size"`
	Method string `json:"method" redact:"-"`
}

// Level is the value of a metric on one side, over the pairs of the test. For a rate, Passed of
// Measured repetitions passed; the value is the mean of the rates of the cases. For a ratio it is
// the geometric mean over cases.
type Level struct {
	Value    Number `json:"value"`
	Passed   int    `json:"passed,omitempty"`
	Measured int    `json:"measured,omitempty"`
}

// Figure is the comparison of one metric on one pair of runners.
type Figure struct {
	Metric Metric `json:"metric" redact:"-"`
	// Among is "passing" if only pairs count that pass on both sides.
	Among string `json:"among,omitempty" redact:"-"`
	// Runner is the runner of the candidate.
	Runner     string     `json:"runner" redact:"-"`
	Conclusion Conclusion `json:"conclusion" redact:"-"`
	Reason     string     `json:"reason" redact:"-"`
	Baseline   Level      `json:"baseline"`
	Candidate  Level      `json:"candidate"`
	// Effect is about these cases, and Population about other cases like these. Equivalence has the
	// interval that is compared with the margin.
	Effect      Effect `json:"effect"`
	Population  Effect `json:"population"`
	Equivalence Effect `json:"equivalence"`
	// PopulationWhy says why Population has no interval.
	PopulationWhy string `json:"populationWhy,omitempty" redact:"-"`
	// Test is the one test that Conclusion rests on.
	Test Test `json:"test"`
	// P is two-sided and that of Method alone, AdjustedP is P adjusted within Family.
	P         Number `json:"p"`
	AdjustedP Number `json:"adjustedP"`
	Method    string `json:"method" redact:"-"`
	Family    Family `json:"family"`
	// Margin is the largest effect that does not matter; for a ratio 0.1 means 10 %. MDE is the
	// effect that this comparison detects with a probability of 0.8, in the same unit.
	Margin float64 `json:"margin"`
	MDE    Number  `json:"mde"`
	// Pairs is the number of pairs in the test. In Lost of them the candidate is worse than the
	// baseline, and in Won it is better. Missing counts measured pairs without values on a side.
	Pairs   int `json:"pairs"`
	Lost    int `json:"lost"`
	Won     int `json:"won"`
	Missing int `json:"missing"`
	// Repeats are the mean numbers of values of a case on each side.
	BaselineRepeats  Number `json:"baselineRepeats"`
	CandidateRepeats Number `json:"candidateRepeats"`

	// Until the comparison is complete: joint is the smallest level at which the interval of Effect,
	// and so the test, excludes no effect.
	series *series
	joint  Number
}

// Subject describes one side.
type Subject struct {
	// Name is what the user wrote.
	Name      string     `json:"name" redact:"-"`
	ID        string     `json:"id,omitempty" redact:"-"`
	Kind      SourceKind `json:"kind" redact:"-"`
	Path      string     `json:"path,omitempty" redact:"-"`
	Suite     string     `json:"suite,omitempty" redact:"-"`
	StartedAt *time.Time `json:"startedAt"`
	EndedAt   *time.Time `json:"endedAt"`
}

// Pairs counts the pairs of cases. Planned = Measured + Unmeasured + SameAnswer.
type Pairs struct {
	Planned    int `json:"planned"`
	Measured   int `json:"measured"`
	Unmeasured int `json:"unmeasured"`
	// SameAnswer counts pairs whose sides hold the same recorded answer: they are measured, but not
	// twice, so they are not in the tests.
	SameAnswer    int `json:"sameAnswer"`
	OnlyBaseline  int `json:"onlyBaseline"`
	OnlyCandidate int `json:"onlyCandidate"`
	// EarlyStop counts measured pairs whose repetitions ended at the first one that was not green.
	// Whole of them count with the outcome of the execution, the others with the first repetition.
	EarlyStop int `json:"earlyStop"`
	Whole     int `json:"earlyStopWhole"`
	// Clusters is the number of clusters of the measured pairs; 0 without --cluster.
	Clusters int `json:"clusters,omitempty"`
}

// Coverage returns the measured part of the pairs; NaN without pairs.
func (p *Pairs) Coverage() Number {
	return Number(float64(p.Measured+p.SameAnswer) / float64(p.Planned))
}

// Count counts the repetitions of one case, or of all cases, on one side.
type Count struct {
	Passed     int `json:"passed"`
	Measured   int `json:"measured"`
	Unmeasured int `json:"unmeasured"`
}

// ErrorCounts compares the repetitions that could not be measured. P is Fisher's two-sided p.
type ErrorCounts struct {
	Baseline  int    `json:"baseline"`
	BaseOf    int    `json:"baselineOf"`
	Candidate int    `json:"candidate"`
	CandOf    int    `json:"candidateOf"`
	P         Number `json:"p"`
}

// Sensitivity is the conclusion if the repetitions that could not be measured had shown the worst
// or the best for the candidate.
type Sensitivity struct {
	Worst Conclusion `json:"worst" redact:"-"`
	Best  Conclusion `json:"best" redact:"-"`
	// Pairs is the number of pairs with such repetitions.
	Pairs int `json:"pairs"`
}

// RunnerResult is the comparison of one pair of runners by its pass rate.
type RunnerResult struct {
	Baseline   string     `json:"baseline" redact:"-"`
	Candidate  string     `json:"candidate" redact:"-"`
	Conclusion Conclusion `json:"conclusion" redact:"-"`
	Reason     string     `json:"reason" redact:"-"`
	// Figure is the pass rate. Its conclusion is about the suite as a whole, without regard to broken
	// cases.
	Figure      Figure       `json:"passRate"`
	Pairs       Pairs        `json:"pairs"`
	Coverage    Number       `json:"coverage"`
	Errors      ErrorCounts  `json:"errors"`
	Sensitivity *Sensitivity `json:"sensitivity"`
}

// Group is the pass rate of a category, a difficulty or a tag: a hint where to look, and no
// conclusion.
type Group struct {
	// By is "category", "difficulty" or "tag".
	By        string `json:"by" redact:"-"`
	Name      string `json:"name" redact:"-"`
	Runner    string `json:"runner" redact:"-"`
	Pairs     int    `json:"pairs"`
	Lost      int    `json:"lost"`
	Won       int    `json:"won"`
	Effect    Effect `json:"effect"`
	P         Number `json:"p"`
	AdjustedP Number `json:"adjustedP"`
	// Hint means that AdjustedP is at most 0.1.
	Hint   bool   `json:"hint"`
	Family Family `json:"family"`
}

// CaseResult is one case on one pair of runners.
type CaseResult struct {
	// Case is the id of the case in the candidate; BaselineCase is set if the baseline has another
	// one.
	Case         string `json:"case" redact:"-"`
	BaselineCase string `json:"baselineCase,omitempty" redact:"-"`
	// Runner is the runner of the candidate, and BaselineRunner is set if the baseline has another
	// one.
	Runner         string   `json:"runner" redact:"-"`
	BaselineRunner string   `json:"baselineRunner,omitempty" redact:"-"`
	Category       string   `json:"category,omitempty" redact:"-"`
	Difficulty     string   `json:"difficulty,omitempty" redact:"-"`
	Tags           []string `json:"tags,omitempty" redact:"-"`
	Baseline       Count    `json:"baseline"`
	Candidate      Count    `json:"candidate"`
	// Whole means that the counts are about the execution, because its repetitions ended early.
	Whole bool `json:"whole,omitempty"`
	// P is Fisher's one-sided p that the candidate is worse; for a fixed case, that it is better.
	P Number `json:"p"`
	// AdjustedP is P adjusted by Holm over all cases.
	AdjustedP Number `json:"adjustedP"`
	// Class is the most frequent failure class of the failing side: the candidate for a regression,
	// the baseline for a fix.
	Class plumb.FailureClass `json:"failureClass"`
	// Label is the label of the case on the candidate: "stable pass", "stable fail", "flaky" or
	// "undetermined"; "" if there are too few repetitions for one.
	Label string `json:"label,omitempty" redact:"-"`
	// Confirmation is set if --confirm repeated the case.
	Confirmation *Confirmation `json:"confirmation,omitempty"`
	// Difference is the first difference between two sessions; nil if it was not looked for.
	Difference *SessionDifference `json:"difference,omitempty"`
}

// Confirmation is what fresh repetitions of a suspect case showed.
type Confirmation struct {
	Baseline  Count `json:"baseline"`
	Candidate Count `json:"candidate"`
	// History means that the candidate was compared with the repetitions of the baseline, and not
	// with fresh ones.
	History   bool   `json:"history"`
	P         Number `json:"p"`
	AdjustedP Number `json:"adjustedP"`
	// Confirmations is the number of confirmations whose repetitions are counted together. Each one after
	// the first is another chance of a false result.
	Confirmations int `json:"confirmations,omitempty"`
}

// SessionDifference is the first event at which two sessions of a case differ.
type SessionDifference struct {
	// The repetitions and sessions whose events are compared.
	BaselineRepetition  int `json:"baselineRepetition"`
	BaselineSession     int `json:"baselineSession"`
	CandidateRepetition int `json:"candidateRepetition"`
	CandidateSession    int `json:"candidateSession"`
	// Event counts from 1; 0 means that all events are equal.
	Event int `json:"event"`
	// Baseline and Candidate describe the event on each side; "" means that the session had ended.
	Baseline  string `json:"baseline"`
	Candidate string `json:"candidate"`
}

// Cases are the cases that need attention. Broken cases are among Regressed, too.
type Cases struct {
	Broken  []CaseResult `json:"broken"`
	Suspect []CaseResult `json:"suspect"`
	// Regressed and Fixed have a lower or a higher pass rate than in the baseline, the surest first.
	Regressed []CaseResult `json:"regressed"`
	Fixed     []CaseResult `json:"fixed"`
	// Unmeasured are pairs without a measured repetition on a side.
	Unmeasured    []CaseResult `json:"unmeasured"`
	OnlyBaseline  []string     `json:"onlyBaseline" redact:"-"`
	OnlyCandidate []string     `json:"onlyCandidate" redact:"-"`
	// Family describes the tests of cases.
	Family Family `json:"family"`
}

// Settle says what would make an indecisive comparison decisive.
type Settle struct {
	IfReal *Plan `json:"ifReal"`
	IfNone *Plan `json:"ifNone"`
	// Why says why there is no plan; "" if there is one.
	Why string `json:"why,omitempty" redact:"-"`
	// Confirm is the plan of --confirm, if there are suspects.
	Confirm *Plan `json:"confirm,omitempty"`
}

// Plan is a number of repetitions, with what they cost.
type Plan struct {
	// Repeats is the number of repetitions of each case; AtMost means that it is an upper bound. 0
	// means that more than 100 are needed.
	Repeats int  `json:"repeats"`
	AtMost  bool `json:"atMost"`
	// Cases is the number of cases, with one repetition each, that a suite needs for the margin. It
	// is set if Repeats is 0.
	Cases int `json:"cases,omitempty"`
	// Sessions is the number of sessions still to make.
	Sessions   int    `json:"sessions"`
	CostUSD    Number `json:"costUsd"`
	DurationMs Number `json:"durationMs"`
	// Command makes exactly these sessions; "" if no side can be extended.
	Command string `json:"command,omitempty" redact:"-"`
}

// GateOutcome is the result of one gate on one pair of runners.
type GateOutcome struct {
	Text   string     `json:"text" redact:"-"`
	Metric Metric     `json:"metric" redact:"-"`
	Runner string     `json:"runner" redact:"-"`
	Result GateResult `json:"result" redact:"-"`
	// Value, Low and High are about the effect for a bound with a sign, and about the candidate
	// otherwise, in the unit Unit.
	Value      Number  `json:"value"`
	Low        Number  `json:"low"`
	High       Number  `json:"high"`
	Confidence float64 `json:"confidence"`
	Unit       Unit    `json:"unit" redact:"-"`
	Relative   bool    `json:"relative"`
	// Why says why there is no interval.
	Why string `json:"why,omitempty" redact:"-"`
}

// Comparison is the result of [Analyze]. It is also the document of plumb compare --json.
type Comparison struct {
	Schema     int        `json:"schema"`
	Conclusion Conclusion `json:"conclusion" redact:"-"`
	// Reason says in a few words why, such as "1 case broke".
	Reason string `json:"reason" redact:"-"`
	// ExitCode is 0, 1 or 3; see [Comparison.exitCode].
	ExitCode  int     `json:"exitCode"`
	Baseline  Subject `json:"baseline"`
	Candidate Subject `json:"candidate"`
	// Deciding is the index in Runners of the runner that Effect to Sensitivity are about: the one
	// with the conclusion of the whole, and among several the one with the smallest p.
	Deciding   int    `json:"deciding"`
	Effect     Effect `json:"effect"`
	Population Effect `json:"population"`
	// PopulationWhy says why Population has no interval, and Test is the test of the deciding runner.
	PopulationWhy string       `json:"populationWhy,omitempty" redact:"-"`
	Test          Test         `json:"test"`
	Equivalence   Effect       `json:"equivalence"`
	P             Number       `json:"p"`
	AdjustedP     Number       `json:"adjustedP"`
	Method        string       `json:"method" redact:"-"`
	Family        Family       `json:"family"`
	Alpha         float64      `json:"alpha"`
	Margin        float64      `json:"margin"`
	MDE           Number       `json:"mde"`
	Pairs         Pairs        `json:"pairs"`
	Coverage      Number       `json:"coverage"`
	MinCoverage   float64      `json:"minCoverage"`
	Sensitivity   *Sensitivity `json:"sensitivity"`
	// Varied are the declared differences. VariedAny means that the user allowed any.
	Varied      []Difference   `json:"varied"`
	VariedKinds []Kind         `json:"variedKinds" redact:"-"`
	VariedAny   bool           `json:"variedAny"`
	Unknown     []Difference   `json:"unknown"`
	Warnings    []string       `json:"warnings"`
	Runners     []RunnerResult `json:"runners"`
	// Metrics has all metrics of all runners, the pass rates first.
	Metrics []Figure      `json:"metrics"`
	Groups  []Group       `json:"groups"`
	Cases   Cases         `json:"cases"`
	Settle  *Settle       `json:"settle"`
	Gates   []GateOutcome `json:"gates"`
	// UnprovenPass means that unproven gates do not change the exit code.
	UnprovenPass bool `json:"unprovenPass"`
}

// The exit codes of a comparison.
const (
	exitGood      = 0
	exitBad       = 1
	exitUndecided = 3
)

// exitCode is the one place for the exit code of a comparison. With gates, the gates decide: 1 if
// one is violated, 3 if one is unproven or the coverage is too low, and 0 otherwise. Without gates,
// the conclusion decides: 1 if it is worse, 3 if it is not decisive, and 0 otherwise.
func (c *Comparison) exitCode() int {
	if len(c.Gates) == 0 {
		switch c.Conclusion {
		case Worse:
			return exitBad
		case NotDecisive:
			return exitUndecided
		default:
			return exitGood
		}
	}
	code := exitGood
	if len(c.Runners) == 0 { // nothing was measured
		code = exitUndecided
	}
	for i := range c.Gates {
		switch c.Gates[i].Result {
		case Violated:
			return exitBad
		case Unproven:
			if !c.UnprovenPass {
				code = exitUndecided
			}
		default: // it holds
		}
	}
	for i := range c.Runners {
		if !(float64(c.Runners[i].Coverage) >= c.MinCoverage) {
			code = exitUndecided
		}
	}
	return code
}
