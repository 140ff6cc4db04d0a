package drift

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/plumb-eval/plumb/internal/analyze"
)

// The effect floor: a change below these figures is recorded, but not shown as drift.
const (
	floorScore = 0.5 // percentage points
	floorLost  = 0.002
	floorAlike = 0.01
)

// confidence is the level of the intervals of an effect.
const confidence = 0.95

// effect returns the size of the change of an alarm, from up to 30 days on each side of the onset.
func (c *spanCache) effect(a *Alarm, test *windowTest) Effect {
	e := Effect{math.NaN(), math.NaN(), math.NaN(), math.NaN(), math.NaN()}
	if lost, alike, ok := c.similarity(a, test); ok {
		e.LostSimilarity, e.Alike = lost.point(), alike.point()
	}
	if _, fit := c.scoreChange(a, test); fit.df >= 1 && !math.IsNaN(fit.effect) {
		half := analyze.TQuantile(confidence, fit.df) * fit.se
		e.Score, e.ScoreLow, e.ScoreHigh = 100*fit.effect, 100*(fit.effect-half), 100*(fit.effect+half)
	}
	return e
}

// sides returns the first and the last day of the data of an effect.
func (a *Alarm) sides(epoch int) (oldest, last int) {
	return max(epoch, a.Onset-comparedDays), min(a.Day, a.Onset+comparedDays-1)
}

// scoreChange is the linear scan of the scores.
func (c *spanCache) scoreChange(a *Alarm, test *windowTest) (*windowTest, linear) {
	scored := &span{cache: c}
	for _, r := range test.span.runs {
		if !math.IsNaN(r.score) {
			scored.runs = append(scored.runs, r)
		}
	}
	scored.number()
	oldest, last := a.sides(test.window.epoch)
	t := scored.split(oldest, a.Onset, last)
	for _, at := range t.runs {
		t.y = append(t.y, scored.runs[at].score)
	}
	t.centerValues(t.y)
	_, fit := t.linearDays(nil)
	return t, fit
}

// figure is a figure that is computed from how often each day counts. With a nil argument, each day
// counts once.
type figure func(times []float64) float64

func (f figure) point() float64 { return f(nil) }

// similarity returns the lost similarity and how much more alike the answers are than before, as
// functions of how often each day counts.
func (c *spanCache) similarity(a *Alarm, test *windowTest) (lost, alike figure, ok bool) {
	span := test.span
	if span.mode == modeLogprobs {
		span = c.of(test.window.epoch, statisticMMD)
	}
	if span == nil || span.mode == modeScore {
		return nil, nil, false
	}
	oldest, last := a.sides(test.window.epoch)
	t := span.split(oldest, a.Onset, last)
	if t.oldDays == 0 || t.oldDays == t.days {
		return nil, nil, false
	}
	sums := t.daySums()
	lost = func(times []float64) float64 {
		return sums.mean(times, func(oo, on, nn float64) float64 { return 1 - 2*on/(oo+nn) })
	}
	alike = func(times []float64) float64 {
		return sums.mean(times, func(oo, _, nn float64) float64 { return nn/oo - 1 })
	}
	return lost, alike, true
}

// daySums has for each prompt and each two days the sum of the kernels of different runs, and the
// number of these kernels.
type daySums struct {
	prompts, days, old int
	sums, counts       []float64
}

func (t *windowTest) daySums() daySums {
	s := daySums{prompts: len(t.span.set.prompts), days: t.days, old: t.oldDays}
	s.sums = make([]float64, s.prompts*s.days*s.days)
	s.counts = make([]float64, len(s.sums))
	k := make([]float32, s.prompts)
	for i, a := range t.runs {
		for j, b := range t.runs[:i] {
			at := (t.day[j]*s.days + t.day[i]) * s.prompts
			for p, v := range t.span.kernels(a, b, k) {
				if v >= 0 {
					s.sums[at+p] += float64(v)
					s.counts[at+p]++
				}
			}
		}
	}
	return s
}

// mean returns the mean over prompts of a function of the mean kernels of two old answers, of an old
// and a new one, and of two new ones.
func (s daySums) mean(times []float64, f func(oo, on, nn float64) float64) float64 {
	var sums, counts [3][]float64
	for part := range 3 {
		sums[part], counts[part] = make([]float64, s.prompts), make([]float64, s.prompts)
	}
	for d := range s.days {
		for e := d; e < s.days; e++ {
			part, weight := 0, 1.0
			if d >= s.old {
				part++
			}
			if e >= s.old {
				part++
			}
			if times != nil {
				weight = times[d] * times[e]
			}
			if weight == 0 {
				continue
			}
			at := (d*s.days + e) * s.prompts
			for p := range s.prompts {
				sums[part][p] += weight * s.sums[at+p]
				counts[part][p] += weight * s.counts[at+p]
			}
		}
	}
	total, n := 0.0, 0.0
	for p := range s.prompts {
		v := f(sums[0][p]/counts[0][p], sums[1][p]/counts[1][p], sums[2][p]/counts[2][p])
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			total += v
			n++
		}
	}
	return total / n
}

// belowFloor reports whether the effect of an alarm is surely too small to matter: the upper end of
// a bootstrap over days with 200 resamples is below the floor.
func (c *spanCache) belowFloor(a *Alarm, test *windowTest) bool {
	switch test.statistic {
	case statisticScore:
		if math.Abs(a.Effect.Score) >= floorScore {
			return false
		}
		t, _ := c.scoreChange(a, test)
		change := func(times []float64) float64 { return 100 * math.Abs(t.weighted(times)) }
		return t.upper(a, change) < floorScore
	case statisticMMD, statisticTypicality:
		if !(a.Effect.LostSimilarity < floorLost && math.Abs(a.Effect.Alike) < floorAlike) {
			return false
		}
		lost, alike, ok := c.similarity(a, test)
		if !ok {
			return false
		}
		oldest, last := a.sides(test.window.epoch)
		t := test.span.split(oldest, a.Onset, last)
		absolute := func(times []float64) float64 { return math.Abs(alike(times)) }
		return t.upper(a, lost) < floorLost && t.upper(a, absolute) < floorAlike
	default:
		return false
	}
}

// weighted is the change of y with days that count several times.
func (t *windowTest) weighted(times []float64) float64 {
	var sums, counts [2]float64
	for i, y := range t.y {
		side := 0
		if i >= t.old {
			side = 1
		}
		sums[side] += times[t.day[i]] * y
		counts[side] += times[t.day[i]]
	}
	return sums[1]/counts[1] - sums[0]/counts[0]
}

// upper returns the upper end of the 95 % percentile interval of a figure, by a bootstrap over the
// days of each side.
func (t *windowTest) upper(a *Alarm, f figure) float64 {
	const resamples = 200
	var units []string
	for _, at := range t.runs {
		units = append(units, t.span.runs[at].id)
	}
	seed := seedOf("effect "+a.Statistic, window{day: a.Day, length: a.Window}, units)
	random := rand.New(rand.NewChaCha8(seed))
	values := make([]float64, 0, resamples)
	times := make([]float64, t.days)
	for range resamples {
		clear(times)
		for range t.oldDays {
			times[random.IntN(t.oldDays)]++
		}
		for range t.days - t.oldDays {
			times[t.oldDays+random.IntN(t.days-t.oldDays)]++
		}
		if v := f(times); !math.IsNaN(v) {
			values = append(values, v)
		}
	}
	if len(values) == 0 {
		return math.Inf(1)
	}
	slices.Sort(values)
	return values[int(math.Ceil((0.5+confidence/2)*float64(len(values))))-1]
}

// where returns the prompts whose own answers changed most surely: at most five, with a false
// discovery rate of 0.1 over all prompts (Benjamini and Hochberg 1995).
func (t *windowTest) where() []ChangedPrompt {
	const rate, most = 0.1, 5
	if t.span.mode == modeScore || t.span.mode == modeLogprobs {
		return nil
	}
	prompts := t.span.set.prompts
	found := make([]ChangedPrompt, len(prompts))
	p := make([]float64, len(prompts))
	for i, prompt := range prompts {
		p[i] = t.ofPrompt(i)
		found[i] = ChangedPrompt{Prompt: prompt.name, P: p[i]}
	}
	adjusted := analyze.BH(p)
	order := make([]int, len(prompts))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p[a], p[b]) })
	var sure []ChangedPrompt
	for _, i := range order {
		if adjusted[i] <= rate && len(sure) < most {
			found[i].Before, found[i].After = t.examples(prompts[i])
			sure = append(sure, found[i])
		}
	}
	return sure
}

// ofPrompt is the day-level p-value of one prompt.
func (t *windowTest) ofPrompt(i int) float64 {
	one := *t
	n, prompts := len(t.span.runs), len(t.span.set.prompts)
	if t.gram == nil {
		one.y = make([]float64, len(t.runs))
		for k, at := range t.runs {
			if m := t.span.member[at*prompts+i]; !math.IsNaN(m) {
				one.y[k] = m
			}
		}
		one.centerValues(one.y)
		r, _ := one.linearDays(nil)
		return r.p
	}
	gram, k := make([]float64, n*n), make([]float32, prompts)
	for x, a := range t.runs {
		for _, b := range t.runs[:x+1] {
			v := float64(t.span.kernels(a, b, k)[i])
			if v < 0 {
				v = t.span.mean[i]
			}
			gram[a*n+b], gram[b*n+a] = v, v
		}
	}
	one.centerGram(gram)
	return one.mmdDays(nil).p(one.seed(nil))
}

// examples returns the answers to a prompt that are most frequent before and after a change, among
// those whose share fell or grew.
func (t *windowTest) examples(prompt *panelPrompt) (before, after string) {
	counts := map[*sharedText]*[2]float64{}
	var texts []*sharedText
	var totals [2]float64
	for i, at := range t.runs {
		r := t.span.runs[at]
		j := r.at(prompt)
		if j < 0 {
			continue
		}
		side := 0
		if i >= t.old {
			side = 1
		}
		for _, answer := range r.texts[j] {
			if counts[answer.sharedText] == nil {
				counts[answer.sharedText] = &[2]float64{}
				texts = append(texts, answer.sharedText)
			}
			counts[answer.sharedText][side]++
			totals[side]++
		}
	}
	fall, growth := math.Inf(-1), math.Inf(-1)
	for _, text := range texts {
		change := counts[text][1]/totals[1] - counts[text][0]/totals[0]
		if change > growth {
			growth, after = change, text.text
		}
		if -change > fall {
			fall, before = -change, text.text
		}
	}
	return before, after
}
