package calibrate

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/analyze"
)

const (
	confidence = 0.95
	// enough is the number of items of each label from which intervals other than those of
	// Clopper and Pearson are shown.
	enough = 20
)

// Identity is what a calibration is valid for.
type Identity struct {
	// Judge is the id of the judge, and Config the hash of its configuration.
	Judge  string `json:"judge"`
	Config string `json:"config" redact:"-"`
	// Model is the name that the provider reported.
	Model string `json:"model" redact:"-"`
	// Question is the hash of the question with its wording.
	Question string `json:"question" redact:"-"`
	Votes    int    `json:"votes"`
}

// Figure is a number with its interval. A nil number cannot be computed.
type Figure struct {
	// K of N items, for shares.
	K     int      `json:"k,omitempty"`
	N     int      `json:"n,omitempty"`
	Value *float64 `json:"value"`
	Low   *float64 `json:"low"`
	High  *float64 `json:"high"`
	// Method names the interval.
	Method string `json:"method,omitempty"`
}

// Record is what a calibration keeps of one item: no text.
type Record struct {
	Case   string  `json:"case,omitempty"`
	Output string  `json:"output"`
	Label  float64 `json:"label"`
	// Judged is the share of the votes that were YES.
	Judged float64 `json:"judged"`
}

// Calibration is how one judge judges one question.
type Calibration struct {
	Schema       int       `json:"schema"`
	Identity     Identity  `json:"identity"`
	QuestionText string    `json:"questionText"`
	Gold         string    `json:"gold"`
	At           time.Time `json:"at"`
	// Items were answered; Errors could not be answered and are in no other figure.
	Items  int `json:"items"`
	Errors int `json:"errors"`
	// Passes and Fails count the items by label. Few means that one of them is below 20.
	Passes int  `json:"passes"`
	Fails  int  `json:"fails"`
	Few    bool `json:"few"`
	// Table counts items by label and verdict: pass and pass, pass and fail, fail and pass, fail
	// and fail.
	Table [2][2]int `json:"table"`
	// FalsePass is the share of items with the label fail that the judge passed, and FalseFail that
	// of items with the label pass that it failed.
	FalsePass Figure `json:"falsePass"`
	FalseFail Figure `json:"falseFail"`
	Agreement Figure `json:"agreement"`
	// Bias is the rate of the judge minus the rate of the labels.
	Bias  Figure `json:"bias"`
	Kappa Figure `json:"kappa"`
	// Raters is Krippendorff's alpha of the human raters, and RatersAndJudge with the judge as one
	// more rater.
	Raters         Figure `json:"raters"`
	RatersAndJudge Figure `json:"ratersAndJudge"`
	// VotesDiffer is the share of items with different votes, and FlipRate the chance that two
	// votes on one item differ.
	VotesDiffer Figure `json:"votesDiffer"`
	FlipRate    Figure `json:"flipRate"`
	// Swap is the share of items whose verdict changes with the order of what the judge sees.
	Swap    Figure   `json:"swap"`
	Records []Record `json:"records"`
}

// calibrationSchema is the version of the format. New keys do not change it.
const calibrationSchema = 1

// Compare returns the calibrations of the answered items: one for each question and model. failed
// are the answers of items that could not be judged.
func Compare(answers []Answer, judge plumb.RunnerInfo, votes int) (all []*Calibration, failed []Answer) {
	groups := map[Identity][]Answer{}
	var order []Identity
	errors := map[string]int{}
	for _, a := range answers {
		hash := a.Item.question(votes).Hash()
		if a.Verdict.Error != nil {
			failed = append(failed, a)
			errors[hash]++
			continue
		}
		id := Identity{
			Judge: judge.ID, Config: judge.Config, Model: a.Verdict.Asked.Model, Question: hash, Votes: votes,
		}
		if groups[id] == nil {
			order = append(order, id)
		}
		groups[id] = append(groups[id], a)
	}
	for _, id := range order {
		c := &Calibration{
			Schema: calibrationSchema, Identity: id, QuestionText: groups[id][0].Item.Question,
			Errors: errors[id.Question],
		}
		c.compare(groups[id])
		all = append(all, c)
	}
	return all, failed
}

func (c *Calibration) compare(answers []Answer) {
	c.Items = len(answers)
	var differences []float64
	for _, a := range answers {
		row, column := 1, 1
		if a.Item.Label >= passing {
			row = 0
			c.Passes++
		}
		if a.Verdict.Pass {
			column = 0
		}
		c.Table[row][column]++
		differences = append(differences, a.Verdict.Score-a.Item.Label)
		c.Records = append(c.Records, Record{
			Case: a.Item.Case, Output: plumb.OutputHash(a.Item.Output), Label: a.Item.Label, Judged: a.Verdict.Score,
		})
	}
	c.Fails = c.Items - c.Passes
	c.Few = min(c.Passes, c.Fails) < enough
	t := &c.Table
	c.FalsePass = c.share(t[1][0], c.Fails)
	c.FalseFail = c.share(t[0][1], c.Passes)
	c.Agreement = c.share(t[0][0]+t[1][1], c.Items)
	if answers[0].Item.number {
		c.Bias = c.figure(analyze.CaseT(differences, nil)(confidence))
	} else {
		c.Bias = c.figure(analyze.BonettPrice(t[0][1], t[1][0], c.Items, confidence))
	}
	c.Kappa = c.figure(analyze.Kappa([][]int{t[0][:], t[1][:]}))
	c.raters(answers)
	c.stability(answers)
	c.swap(answers)
}

// share returns k of n with its interval.
func (c *Calibration) share(k, n int) Figure {
	f := Figure{K: k, N: n}
	if n == 0 {
		return f
	}
	lo, hi := analyze.Wilson(k, n, confidence)
	f.Method = "Wilson"
	if c.Few {
		lo, hi = analyze.ClopperPearson(k, n, confidence)
		f.Method = "Clopper-Pearson"
	}
	f.Value, f.Low, f.High = new(float64(k)/float64(n)), &lo, &hi
	return f
}

// figure returns an estimate. With few items it has no interval, because that would promise too
// much.
func (c *Calibration) figure(e analyze.Estimate) Figure {
	f := Figure{Method: e.Method}
	if !math.IsNaN(e.Value) {
		f.Value = &e.Value
	}
	if e.OK && !c.Few {
		f.Low, f.High = &e.Lo, &e.Hi
	}
	return f
}

// raters computes the agreement of the human raters, without and with the judge.
func (c *Calibration) raters(answers []Answer) {
	var humans, all [][]float64
	var names []string
	for _, a := range answers {
		if len(a.Item.Raters) < 2 {
			continue
		}
		var ratings []float64
		for _, rater := range sortedKeys(a.Item.Raters) {
			ratings = append(ratings, a.Item.Raters[rater])
		}
		verdict := a.Verdict.Score
		if !a.Item.number {
			verdict = 0
			if a.Verdict.Pass {
				verdict = 1
			}
		}
		humans, all = append(humans, ratings), append(all, append(slices.Clone(ratings), verdict))
		names = append(names, plumb.OutputHash(a.Item.Output))
	}
	if len(humans) == 0 {
		return
	}
	seed := analyze.NewSeed("judge calibration", names...)
	numbers := answers[0].Item.number
	c.Raters = c.figure(analyze.AlphaInterval(humans, numbers, confidence, seed))
	c.RatersAndJudge = c.figure(analyze.AlphaInterval(all, numbers, confidence, seed))
	c.Raters.N, c.RatersAndJudge.N = len(humans), len(all)
}

// stability compares the votes on each item. One vote says nothing about it.
func (c *Calibration) stability(answers []Answer) {
	differ, voted := 0, 0
	var flips []float64
	for _, a := range answers {
		yes, no := a.Verdict.Asked.Yes, a.Verdict.Asked.No
		f, ok := analyze.FlipRate(analyze.Count{Passed: yes, Measured: yes + no})
		if !ok {
			continue
		}
		if voted++; yes > 0 && no > 0 {
			differ++
		}
		flips = append(flips, f)
	}
	c.VotesDiffer = c.share(differ, voted)
	if voted > 0 {
		c.FlipRate = c.figure(analyze.CaseT(flips, nil)(confidence))
		c.FlipRate.N = voted
	}
}

// swap compares the verdicts in both orders. In the other order, the better one of two outputs is
// the other one.
func (c *Calibration) swap(answers []Answer) {
	changed, n := 0, 0
	for _, a := range answers {
		if a.Swapped.Error != nil {
			continue
		}
		n++
		same := a.Swapped.Pass == a.Verdict.Pass
		if a.Item.Other != "" {
			same = !same
		}
		if !same {
			changed++
		}
	}
	c.Swap = c.share(changed, n)
}

// Warnings returns what a reader of the figures must know.
func (c *Calibration) Warnings(minKappa float64) []string {
	var all []string
	if c.Few {
		all = append(all, fmt.Sprintf("only %d items with the label pass and %d with fail: at least %d of each are "+
			"needed for more than limits of shares", c.Passes, c.Fails, enough))
	}
	switch k := c.Kappa.Value; {
	case k == nil:
		all = append(all, "kappa cannot be computed: the labels, or the verdicts, are all equal")
	case *k < minKappa:
		all = append(all, fmt.Sprintf("kappa is below %g: do not rely on the verdicts of this judge", minKappa))
	}
	return all
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
