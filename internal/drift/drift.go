// Package drift detects changes of the model behind a stable name: it groups records and runs into
// panels, and tests each panel day by day.
//
// [Replay] takes records, [Scan] the runs of one panel from anywhere, and [Local] those of a
// directory of runs. [Screen] decides about several streams together. Only Local does I/O.
package drift

import (
	"cmp"
	"math"
	"slices"
)

// The constants of the drift detectors. docs/drift.md explains them.
const (
	// testAlpha is the level of one test.
	testAlpha = 1e-3
	// DeletionAlpha is the level that a test without some of the submitters must reach.
	DeletionAlpha = 2e-2
	// spanDays is the number of days that the detectors look back, today included.
	spanDays = 62
	// comparedDays is the number of days that a window is compared with.
	comparedDays = 30
	// learningDays is the number of days without a test at the start of an epoch.
	learningDays = 14
	// leastCoverage is the share of the prompts of a panel that a run must have to be tested.
	leastCoverage = 0.8
	// sameEventDays is the number of days in which later alarms belong to the same event.
	sameEventDays = 14
)

// The kinds of drift alarms.
const (
	KindConfirmed = "drift"   // the day level rejects, also without any quarter of the submitters
	KindSuspect   = "suspect" // the run level rejects, also without any quarter of the submitters
	KindLocal     = "local"   // the day level rejects, but not without some of the submitters
	KindFormat    = "format"  // only white space or the form of characters changed
	KindTrace     = "trace"   // a change that is too small to matter
)

// The statistics of the drift detectors.
const (
	statisticMMD        = "mmd"        // the distribution of the answers
	statisticTypicality = "typicality" // how much each answer is like the others
	statisticScore      = "score"      // the mean score of runs without texts
	statisticLogprobs   = "logprobs"   // the log-probabilities of the first token
	statisticFormat     = "format"     // the distribution of the answers before normalization
)

// statistics are the statistics whose changes are drift.
func statistics() []string {
	return []string{statisticMMD, statisticTypicality, statisticScore, statisticLogprobs}
}

// Run is one run of a suite by one submitter. Day is the number of UTC days since 2026-01-01.
type Run struct {
	ID, Submitter string
	Day           int
	Answers       []Answer
	// Client and Provider are recorded facts that can explain a change: of the setup of the
	// submitter, such as the version of the agent, and of the provider, such as the served model.
	Client, Provider map[string]string
}

// Answer is the answer to one prompt, once. A run can have several answers to one prompt.
type Answer struct {
	Prompt string
	// Text is the answer, if HasText is set. Otherwise Hash can hold its SHA-256 in hex.
	Text    string
	HasText bool
	Hash    string
	// Score is NaN if the answer has no score.
	Score float64
	// Logprobs are the log-probabilities of the most likely first tokens.
	Logprobs []TokenLogprob
}

// TokenLogprob is the log-probability of a token.
type TokenLogprob struct {
	Token string
	Value float64
}

// Rules select how a panel is tested.
type Rules struct {
	// Own means that one person made all runs, so that no submitter can lie: the detectors do not
	// repeat tests without some of the submitters.
	Own bool
	// DeletionAlpha is the level of the tests without some of the submitters; 0 means
	// [DeletionAlpha].
	DeletionAlpha float64
	// Precise spends up to 99,999 permutations on an alarm, for comparisons with other panels.
	Precise bool
}

// Effect is the size of a change, from at most 30 days on each side. A figure that cannot be
// computed is NaN.
type Effect struct {
	// LostSimilarity is the mean over prompts of 1 - 2k(old,new)/(k(old,old)+k(new,new)), where k
	// is the mean kernel of two answers. Alike is the mean of k(new,new)/k(old,old) - 1; it is
	// negative if answers vary more than before.
	LostSimilarity, Alike float64
	// Score is the change of the mean score, from ScoreLow to ScoreHigh with 95 % confidence, in
	// percentage points.
	Score, ScoreLow, ScoreHigh float64
}

// ChangedPrompt is a prompt whose answers changed, with one answer before and one after.
type ChangedPrompt struct {
	Prompt, Before, After string
	P                     float64
}

// Alarm is an alarm of one statistic of a panel.
type Alarm struct {
	// Day is the day on which the alarm was raised, from data up to this day.
	Day       int
	Kind      string
	Statistic string
	// Onset is the first day of the new window; OnsetLow and OnsetHigh are the first and the last
	// onset of all windows with small p-values.
	Onset, OnsetLow, OnsetHigh int
	Window                     int
	P                          float64
	// YearP bounds the probability of such an alarm within a year without a change.
	YearP  float64
	Effect Effect
	// Submitters counts the submitters in the test, Agreeing those whose own runs changed in the
	// same way. Blamed lists those without whom there is no alarm.
	Submitters, Agreeing int
	Blamed               []string
	Where                []ChangedPrompt
	Cause                Cause
}

// panel is the detector state of one panel: the runs of the trailing days, and one number for
// each statistic.
//
// [panel.add] takes runs and [panel.evaluate] tests a day. The result depends only on the
// runs of the trailing 62 days and on the epochs: a panel with these gives the same alarms.
type panel struct {
	rules  Rules
	epochs map[string]int // the first day of the epoch of each statistic, and other days that matter later

	runs    []*panelRun // ordered by day, submitter and id
	byID    map[string]*panelRun
	prompts map[string]*panelPrompt
	sets    map[string]*promptSet
	crowd   map[string]*submitter
	pool    []*panelRun // the runs with texts, in order of arrival
	seq     int
	raws    int // answers of which another run has the same text in another form
	dense   []float32
	stamp   uint32

	// day is the latest evaluated day, kinds has the kinds of its alarms, and tested reports
	// whether a test of the day level was possible, with enough submitters.
	day    int
	kinds  map[string]bool
	tested bool
}

// newPanel returns a panel without runs.
func newPanel(rules Rules) *panel {
	if rules.DeletionAlpha == 0 {
		rules.DeletionAlpha = DeletionAlpha
	}
	return &panel{
		rules: rules, epochs: map[string]int{}, byID: map[string]*panelRun{}, prompts: map[string]*panelPrompt{},
		sets: map[string]*promptSet{}, crowd: map[string]*submitter{}, kinds: map[string]bool{}, dense: make([]float32, buckets),
	}
}

// The keys of the days of the first and of the latest run among the epochs.
const (
	epochFirst  = "first"
	epochLatest = "latest"
)

// begun reports whether the panel had a run.
func (p *panel) begun() bool {
	_, ok := p.epochs[epochFirst]
	return ok
}

// empty reports whether no run of the trailing days is left.
func (p *panel) empty() bool { return len(p.runs) == 0 }

// epoch returns the first day of the epoch of a detector.
func (p *panel) epoch(name string) int {
	if s, ok := p.epochs[name]; ok {
		return s
	}
	return p.epochs[epochFirst]
}

// window is the new window of a test: the days day-length+1 to day.
type window struct {
	day, length, epoch int
	runs               bool // the unit is the run, not the day
}

// due returns the windows that are tested on a day, the shortest first.
func due(day, epoch int, runs bool) []window {
	lengths, per := []int{3, 5, 8, 13, 21, 32}, 3
	if runs {
		lengths, per = []int{1, 2, 4, 8, 16, 32}, 2
	}
	var windows []window
	for _, w := range lengths {
		every := (w + per - 1) / per
		if ((day%every)+every)%every == 0 && day-epoch >= learningDays && day-epoch+1 >= w+10 {
			windows = append(windows, window{day, w, epoch, runs})
		}
	}
	return windows
}

// oldest is the first day of the old window.
func (w window) oldest() int { return max(w.epoch, w.day-w.length-comparedDays+1) }

func (w window) onset() int { return w.day - w.length + 1 }

// evaluate tests one day, after the runs of that day were added, and returns its alarms. Days are
// evaluated in ascending order, each day once.
func (p *panel) evaluate(day int) []Alarm {
	p.forget(day - spanDays + 1)
	p.day, p.tested = day, false
	clear(p.kinds)
	if p.empty() {
		return nil
	}
	p.epochs[epochLatest] = p.runs[len(p.runs)-1].day
	spans := p.newSpans(day)
	var alarms []Alarm
	confirmed := map[string]bool{}
	for _, name := range append(statistics(), statisticFormat) {
		if name == statisticFormat && confirmed[statisticMMD] {
			p.epochs[statisticFormat] = p.epochs[statisticMMD]
			continue
		}
		alarms = append(alarms, p.evaluateStatistic(spans, name, confirmed)...)
	}
	for i := range alarms {
		p.kinds[alarms[i].Kind] = true
	}
	return alarms
}

// evaluateStatistic tests one statistic on one day at both levels.
func (p *panel) evaluateStatistic(spans *spanCache, name string, confirmed map[string]bool) []Alarm {
	if name == statisticFormat && p.raws == 0 {
		return nil
	}
	var alarms []Alarm
	alarm, found := p.scan(spans, name, false)
	if found {
		switch alarm.Kind {
		case KindLocal:
			// One alarm in 30 days says it: the same runs stay in the window.
			if last, ok := p.epochs[name+"/local"]; ok && alarm.Day-last < comparedDays {
				found = false
			} else {
				p.epochs[name+"/local"] = alarm.Day
			}
		default:
			p.epochs[name] = alarm.Onset
			p.epochs[name+"/run"] = max(alarm.Onset, p.epoch(name+"/run"))
			confirmed[name] = true
		}
	}
	if found {
		alarms = append(alarms, alarm)
	}
	if name == statisticFormat || confirmed[name] {
		return alarms
	}
	if alarm, found := p.scan(spans, name, true); found && alarm.Kind != KindLocal {
		p.epochs[name+"/run"] = alarm.Onset
		alarms = append(alarms, alarm)
	}
	return alarms
}

// scan tests the due windows of a statistic at one level. The result is the alarm with the smallest
// p-value, of the shortest window where several have it.
func (p *panel) scan(spans *spanCache, name string, runs bool) (best Alarm, found bool) {
	key, kind := name, KindConfirmed
	if runs {
		key, kind = name+"/run", KindSuspect
	}
	if name == statisticFormat {
		kind = KindFormat
	}
	windows := due(spans.day, p.epoch(key), runs)
	if len(windows) == 0 {
		return best, false
	}
	span := spans.of(p.epoch(key), name)
	if span == nil {
		return best, false
	}
	low, high := math.MaxInt, math.MinInt
	var winner *windowTest
	for _, w := range windows {
		test := span.test(w, name)
		if test == nil {
			continue
		}
		if !runs {
			p.measured(test)
		}
		pooled := test.pooled()
		if pooled.p <= 10*testAlpha {
			low, high = min(low, w.onset()), max(high, w.onset())
		}
		if !(pooled.p <= testAlpha) || runs && test.mixed() {
			continue
		}
		a := Alarm{
			Day: spans.day, Kind: kind, Statistic: name, Onset: w.onset(), Window: w.length, P: pooled.p,
			Submitters: test.submitters, YearP: pooled.p,
		}
		if !p.rules.Own {
			largest, blamed := test.deleted(p.rules.DeletionAlpha, pooled)
			a.P = min(testAlpha, max(largest, pooled.p))
			if largest > p.rules.DeletionAlpha {
				a.Kind, a.Blamed, a.P = KindLocal, blamed, pooled.p
			}
			if blamed == nil && a.Kind == KindLocal { // no quorum
				continue
			}
		}
		better := !found || best.Kind == KindLocal && a.Kind != KindLocal ||
			(best.Kind == KindLocal) == (a.Kind == KindLocal) && a.P < best.P
		if better {
			best, found, winner = a, true, test
		}
	}
	if !found {
		return best, false
	}
	best.OnsetLow, best.OnsetHigh = min(low, best.Onset), max(high, best.Onset)
	p.describe(spans, &best, winner)
	return best, true
}

// describe adds to an alarm what a reader wants to know about it.
func (p *panel) describe(spans *spanCache, a *Alarm, test *windowTest) {
	a.Agreeing = test.agreeing()
	a.Effect = spans.effect(a, test)
	if a.Kind == KindConfirmed && spans.belowFloor(a, test) {
		a.Kind = KindTrace
	}
	if a.Kind == KindConfirmed {
		a.Where = test.where()
		if p.rules.Precise && test.gram != nil {
			a.YearP = test.precise()
		}
	}
	a.Cause = test.cause(a, p.rules.Own)
}

// compareRuns orders runs independently of the order in which they arrived.
func compareRuns(a, b *panelRun) int {
	return cmp.Or(cmp.Compare(a.day, b.day), cmp.Compare(a.by.name, b.by.name), cmp.Compare(a.id, b.id))
}

func (p *panel) insert(r *panelRun) {
	at, _ := slices.BinarySearchFunc(p.runs, r, compareRuns)
	p.runs = slices.Insert(p.runs, at, r)
}
