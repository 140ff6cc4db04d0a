package drift

import (
	"cmp"
	"maps"
	"math"
	"slices"
)

// The constants of the drift detectors. docs/drift.md explains them.
const (
	// driftAlpha is the level of one test.
	driftAlpha = 1e-3
	// DriftDeletionAlpha is the level that a test without some of the submitters must reach.
	DriftDeletionAlpha = 2e-2
	// driftSpan is the number of days that the detectors look back, today included.
	driftSpan = 62
	// DriftOld is the number of days that a window is compared with.
	DriftOld = 30
	// driftLearning is the number of days without a test at the start of an epoch.
	driftLearning = 14
	// driftCoverage is the share of the prompts of a panel that a run must have to be tested.
	driftCoverage = 0.8
	// DriftSame is the number of days in which later alarms belong to the same event.
	DriftSame = 14
)

// The kinds of drift alarms.
const (
	DriftConfirmed = "drift"   // the day level rejects, also without any quarter of the submitters
	DriftSuspect   = "suspect" // the run level rejects, also without any quarter of the submitters
	DriftLocal     = "local"   // the day level rejects, but not without some of the submitters
	DriftFormat    = "format"  // only white space or the form of characters changed
	DriftTrace     = "trace"   // a change that is too small to matter
)

// The statistics of the drift detectors.
const (
	DriftMMD        = "mmd"        // the distribution of the answers
	DriftTypicality = "typicality" // how much each answer is like the others
	DriftScore      = "score"      // the mean score of runs without texts
	DriftLogprobs   = "logprobs"   // the log-probabilities of the first token
	driftRaw        = "format"     // the distribution of the answers before normalization
)

// driftStatistics are the statistics whose changes are drift.
func driftStatistics() []string {
	return []string{DriftMMD, DriftTypicality, DriftScore, DriftLogprobs}
}

// DriftRun is one run of a suite by one submitter. Day is the number of UTC days since 2026-01-01.
type DriftRun struct {
	ID, Submitter string
	Day           int
	Answers       []DriftAnswer
	// Client and Provider are recorded facts that can explain a change: of the setup of the
	// submitter, such as the version of the agent, and of the provider, such as the served model.
	Client, Provider map[string]string
}

// DriftAnswer is the answer to one prompt, once. A run can have several answers to one prompt.
type DriftAnswer struct {
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

// DriftOptions select how a panel is tested.
type DriftOptions struct {
	// Own means that one person made all runs, so that no submitter can lie: the detectors do not
	// repeat tests without some of the submitters.
	Own bool
	// DeletionAlpha is the level of the tests without some of the submitters; 0 means
	// [DriftDeletionAlpha].
	DeletionAlpha float64
	// Precise spends up to 99,999 permutations on an alarm, for comparisons with other panels.
	Precise bool
}

// DriftEffect is the size of a change, from at most 30 days on each side. A figure that cannot be
// computed is NaN.
type DriftEffect struct {
	// LostSimilarity is the mean over prompts of 1 - 2k(old,new)/(k(old,old)+k(new,new)), where k is
	// the mean kernel of two answers. Alike is the mean of k(new,new)/k(old,old) - 1; it is negative
	// if answers vary more than before.
	LostSimilarity, Alike float64
	// Score is the change of the mean score, from ScoreLow to ScoreHigh with 95 % confidence, in
	// percentage points.
	Score, ScoreLow, ScoreHigh float64
}

// DriftPrompt is a prompt whose answers changed, with one answer before and one after.
type DriftPrompt struct {
	Prompt, Before, After string
	P                     float64
}

// DriftAlarm is an alarm of one statistic of a panel.
type DriftAlarm struct {
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
	Effect DriftEffect
	// Submitters counts the submitters in the test, Agreeing those whose own runs changed in the
	// same way. Blamed lists those without whom there is no alarm.
	Submitters, Agreeing int
	Blamed               []string
	Where                []DriftPrompt
	Cause                DriftCause
}

// DriftPanel is the detector state of one panel: the runs of the trailing days, and one number for
// each statistic.
//
// [DriftPanel.Add] takes runs and [DriftPanel.Evaluate] tests a day. The result depends only on the
// runs of the trailing 62 days and on the epochs: a panel that [RestoreDriftPanel] makes from these
// gives the same alarms.
type DriftPanel struct {
	options DriftOptions
	epochs  map[string]int

	runs    []*driftRun // ordered by day, submitter and id
	byID    map[string]*driftRun
	prompts map[string]*driftPrompt
	sets    map[string]*promptSet
	crowd   map[string]*driftSubmitter
	pool    []*driftRun // the runs with texts, in order of arrival
	seq     int
	raws    int // answers of which another run has the same text in another form
	dense   []float32
	stamp   uint32

	// day is the latest evaluated day, kinds has the kinds of its alarms, and tested reports whether a
	// test was possible. latest is the day of the latest run.
	day, latest int
	kinds       map[string]bool
	tested      bool
}

// NewDriftPanel returns a panel without runs.
func NewDriftPanel(o DriftOptions) *DriftPanel {
	if o.DeletionAlpha == 0 {
		o.DeletionAlpha = DriftDeletionAlpha
	}
	return &DriftPanel{
		options: o, epochs: map[string]int{}, byID: map[string]*driftRun{}, prompts: map[string]*driftPrompt{},
		sets: map[string]*promptSet{}, crowd: map[string]*driftSubmitter{}, kinds: map[string]bool{}, dense: make([]float32, driftBuckets),
	}
}

// RestoreDriftPanel returns a panel with epochs that [DriftPanel.Epochs] returned. Add the runs of
// the trailing 62 days to it before the next evaluation.
func RestoreDriftPanel(o DriftOptions, epochs map[string]int) *DriftPanel {
	p := NewDriftPanel(o)
	maps.Copy(p.epochs, epochs)
	return p
}

// driftFirst is the key of the day of the first run among the epochs.
const driftFirst = "first"

// Epochs returns what the panel keeps between days: for each statistic the first day of its epoch.
func (p *DriftPanel) Epochs() map[string]int {
	return maps.Clone(p.epochs)
}

// Empty reports whether no run of the trailing days is left.
func (p *DriftPanel) Empty() bool { return len(p.runs) == 0 }

// epoch returns the first day of the epoch of a detector.
func (p *DriftPanel) epoch(name string) int {
	if s, ok := p.epochs[name]; ok {
		return s
	}
	return p.epochs[driftFirst]
}

// driftWindow is the new window of a test: the days day-length+1 to day.
type driftWindow struct {
	day, length, epoch int
	runs               bool // the unit is the run, not the day
}

// due returns the windows that are tested on a day, the shortest first.
func due(day, epoch int, runs bool) []driftWindow {
	lengths, per := []int{3, 5, 8, 13, 21, 32}, 3
	if runs {
		lengths, per = []int{1, 2, 4, 8, 16, 32}, 2
	}
	var windows []driftWindow
	for _, w := range lengths {
		every := (w + per - 1) / per
		if ((day%every)+every)%every == 0 && day-epoch >= driftLearning && day-epoch+1 >= w+10 {
			windows = append(windows, driftWindow{day, w, epoch, runs})
		}
	}
	return windows
}

// oldest is the first day of the old window.
func (w driftWindow) oldest() int { return max(w.epoch, w.day-w.length-DriftOld+1) }

func (w driftWindow) onset() int { return w.day - w.length + 1 }

// Evaluate tests one day, after the runs of that day were added, and returns its alarms. Days are
// evaluated in ascending order, each day once.
func (p *DriftPanel) Evaluate(day int) []DriftAlarm {
	p.forget(day - driftSpan + 1)
	p.day, p.tested = day, false
	clear(p.kinds)
	if p.Empty() {
		return nil
	}
	p.latest = p.runs[len(p.runs)-1].day
	spans := p.newSpans(day)
	var alarms []DriftAlarm
	confirmed := map[string]bool{}
	for _, name := range append(driftStatistics(), driftRaw) {
		if name == driftRaw && confirmed[DriftMMD] {
			p.epochs[driftRaw] = p.epochs[DriftMMD]
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
func (p *DriftPanel) evaluateStatistic(spans *spanCache, name string, confirmed map[string]bool) []DriftAlarm {
	if name == driftRaw && p.raws == 0 {
		return nil
	}
	var alarms []DriftAlarm
	alarm, found := p.scan(spans, name, false)
	if found {
		switch alarm.Kind {
		case DriftLocal:
			// One alarm in 30 days says it: the same runs stay in the window.
			if last, ok := p.epochs[name+"/local"]; ok && alarm.Day-last < DriftOld {
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
	if name == driftRaw || confirmed[name] {
		return alarms
	}
	if alarm, found := p.scan(spans, name, true); found && alarm.Kind != DriftLocal {
		p.epochs[name+"/run"] = alarm.Onset
		alarms = append(alarms, alarm)
	}
	return alarms
}

// scan tests the due windows of a statistic at one level. The result is the alarm with the smallest
// p-value, of the shortest window where several have it.
func (p *DriftPanel) scan(spans *spanCache, name string, runs bool) (best DriftAlarm, found bool) {
	key, kind := name, DriftConfirmed
	if runs {
		key, kind = name+"/run", DriftSuspect
	}
	if name == driftRaw {
		kind = DriftFormat
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
		if pooled.p <= 10*driftAlpha {
			low, high = min(low, w.onset()), max(high, w.onset())
		}
		if !(pooled.p <= driftAlpha) || runs && test.mixed() {
			continue
		}
		a := DriftAlarm{
			Day: spans.day, Kind: kind, Statistic: name, Onset: w.onset(), Window: w.length, P: pooled.p,
			Submitters: test.submitters, YearP: pooled.p,
		}
		if !p.options.Own {
			largest, blamed := test.deleted(p.options.DeletionAlpha, pooled)
			a.P = min(driftAlpha, max(largest, pooled.p))
			if largest > p.options.DeletionAlpha {
				a.Kind, a.Blamed, a.P = DriftLocal, blamed, pooled.p
			}
			if blamed == nil && a.Kind == DriftLocal { // no quorum
				continue
			}
		}
		better := !found || best.Kind == DriftLocal && a.Kind != DriftLocal ||
			(best.Kind == DriftLocal) == (a.Kind == DriftLocal) && a.P < best.P
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
func (p *DriftPanel) describe(spans *spanCache, a *DriftAlarm, test *windowTest) {
	a.Agreeing = test.agreeing()
	a.Effect = spans.effect(a, test)
	if a.Kind == DriftConfirmed && spans.belowFloor(a, test) {
		a.Kind = DriftTrace
	}
	if a.Kind == DriftConfirmed {
		a.Where = test.where()
		if p.options.Precise && test.gram != nil {
			a.YearP = test.precise()
		}
	}
	a.Cause = test.cause(a, p.options.Own)
}

// compareRuns orders runs independently of the order in which they arrived.
func compareRuns(a, b *driftRun) int {
	return cmp.Or(cmp.Compare(a.day, b.day), cmp.Compare(a.by.name, b.by.name), cmp.Compare(a.id, b.id))
}

func (p *DriftPanel) insert(r *driftRun) {
	at, _ := slices.BinarySearchFunc(p.runs, r, compareRuns)
	p.runs = slices.Insert(p.runs, at, r)
}
