package drift_test

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/plumb-eval/plumb/internal/drift"
)

// The simulated world: a suite of 25 prompts, models that answer them at random, and a crowd of eight
// submitters. Each stream has a model of its own.
const (
	worldPrompts = 25
	worldStates  = 2048
	worldWords   = 24
	crowdSize    = 8
	changeDay    = 60
	nullDays     = 365
	changeDays   = 120
)

// vocabulary are the words of all models; word 0 ends the answer.
var vocabulary = strings.Fields(". ka lo mi tenra su vel oro pim dast ulo fen grai hesk ilo jun kres lum nor pav qua rilo " +
	"stev twi")

// lengths returns the least and the greatest number of words of the answers to a prompt.
func lengths(prompt int) (least, most int) {
	switch prompt % 3 {
	case 0:
		return 2, 4
	case 1:
		return 12, 22
	default:
		return 40, 60
	}
}

// model is a simulated model: for each prompt and hidden state the logits of the words.
type model struct {
	logits  []float32
	next    []uint16
	correct []bool // by prompt and word
	weights map[weightKey]*[worldWords]float32
	prefix  int
	starts  []uint16
}

type weightKey struct {
	state       int
	temperature float32
}

func (m *model) at(prompt, state int) []float32 {
	return m.logits[(prompt*worldStates+state)*worldWords:][:worldWords]
}

func newModel(random *rand.Rand) *model {
	m := &model{
		logits: make([]float32, worldPrompts*worldStates*worldWords),
		next:   make([]uint16, worldPrompts*worldStates*worldWords), correct: make([]bool, worldPrompts*worldWords),
		starts: make([]uint16, worldPrompts),
	}
	m.draw(random, 0, worldPrompts)
	for i := range m.next {
		m.next[i] = uint16(random.IntN(worldStates))
	}
	for i := range m.correct {
		m.correct[i] = random.Float64() < 0.7
	}
	return m
}

// draw draws the logits of prompts: three quarters of the states are peaked, the others forking.
func (m *model) draw(random *rand.Rand, from, to int) {
	for s := from * worldStates; s < to*worldStates; s++ {
		scale := 2.0
		if random.Float64() < 0.75 {
			scale = 8
		}
		for w := range worldWords {
			m.logits[s*worldWords+w] = float32(scale * random.NormFloat64())
		}
	}
}

// changed returns a copy of the model with other logits.
func (m *model) changed(change func(logits []float32)) *model {
	c := *m
	c.logits, c.weights = slices.Clone(m.logits), nil
	change(c.logits)
	return &c
}

// noisy returns a copy with noise on the logits.
func (m *model) noisy(random *rand.Rand, sd float64) *model {
	return m.changed(func(logits []float32) {
		for i := range logits {
			logits[i] += float32(sd * random.NormFloat64())
		}
	})
}

// swapped returns a copy with other logits for the first prompts.
func (m *model) swapped(random *rand.Rand, prompts int) *model {
	c := m.changed(func([]float32) {})
	for _, p := range random.Perm(worldPrompts)[:prompts] {
		c.draw(random, p, p+1)
	}
	return c
}

// answer returns an answer, and whether its last word is correct. Temperature 0 takes the most likely
// word, with a little noise.
func (m *model) answer(random *rand.Rand, prompt int, temperature float64) (string, bool) {
	least, most := lengths(prompt)
	var text strings.Builder
	last, state := 0, int(m.starts[prompt])
	if m.prefix > 0 {
		text.WriteString(vocabulary[m.prefix])
		last = m.prefix
	}
	for n := range most {
		var word int
		if temperature == 0 {
			word = m.greedy(random, prompt, state, n < least)
		} else {
			word = m.sample(random, prompt, state, n < least, float32(temperature))
		}
		if word == 0 {
			break
		}
		if text.Len() > 0 {
			text.WriteByte(' ')
		}
		text.WriteString(vocabulary[word])
		last = word
		state = int(m.next[(prompt*worldStates+state)*worldWords+word])
	}
	return text.String(), m.correct[prompt*worldWords+last]
}

func (m *model) greedy(random *rand.Rand, prompt, state int, goOn bool) int {
	best, top := 0, math.Inf(-1)
	for w, logit := range m.at(prompt, state) {
		if v := float64(logit) + 0.02*random.NormFloat64(); v > top && (w > 0 || !goOn) {
			best, top = w, v
		}
	}
	return best
}

func (m *model) sample(random *rand.Rand, prompt, state int, goOn bool, temperature float32) int {
	key := weightKey{prompt*worldStates + state, temperature}
	weights := m.weights[key]
	if weights == nil {
		weights = &[worldWords]float32{}
		logits := m.at(prompt, state)
		top := slices.Max(logits)
		for w, logit := range logits {
			weights[w] = float32(math.Exp(float64((logit - top) / temperature)))
		}
		if m.weights == nil {
			m.weights = map[weightKey]*[worldWords]float32{}
		}
		m.weights[key] = weights
	}
	var total float32
	from := 0
	if goOn {
		from = 1
	}
	for _, v := range weights[from:] {
		total += v
	}
	u := random.Float32() * total
	for w := from; w < worldWords; w++ {
		if u -= weights[w]; u < 0 {
			return w
		}
	}
	return worldWords - 1
}

// logprobs returns the log-probabilities of the five most likely first words.
func (m *model) logprobs(random *rand.Rand, prompt int) []drift.TokenLogprob {
	logits := m.at(prompt, int(m.starts[prompt]))
	total := 0.0
	for _, l := range logits {
		total += math.Exp(float64(l))
	}
	all := make([]drift.TokenLogprob, len(logits))
	for w, l := range logits {
		v := float64(l) - math.Log(total) + 0.03*random.NormFloat64()
		all[w] = drift.TokenLogprob{Token: vocabulary[w], Value: v}
	}
	sort.Slice(all, func(i, j int) bool { return all[i].Value > all[j].Value })
	return all[:5]
}

// world produces one stream.
type world struct {
	name     string
	random   *rand.Rand
	days     int
	yield    func(*drift.Record)
	crowd    int
	activity float64
	// runs makes the records of one run; hour is the time of day from 0 to 24.
	run     func(day, submitter int, hour float64) []drift.Answer
	perDay  func(day, submitter int) int
	present func(day int) int // the number of submitters on a day
}

// simulate yields the records of a stream of a scenario, such as text/quant, in order of time.
func simulate(scenario string, seed uint64, yield func(*drift.Record)) {
	h := fnv.New64a()
	fmt.Fprint(h, scenario)
	kind, change, _ := strings.Cut(scenario, "/")
	w := &world{
		name: fmt.Sprintf("%s_%s_%d", kind, change, seed), random: rand.New(rand.NewPCG(seed, h.Sum64())),
		days: changeDays, yield: yield, crowd: crowdSize, activity: 0.6,
	}
	if strings.HasPrefix(change, "null") {
		w.days = nullDays
	}
	w.perDay = func(int, int) int { return 1 }
	w.present = func(int) int { return w.crowd }
	switch kind {
	case "text", "det", "logprobs":
		w.texts(kind, change)
	default:
		w.scores(change)
	}
	w.produce()
}

// produce makes the runs of all days.
func (w *world) produce() {
	number := 0
	for day := range w.days {
		type made struct {
			at        time.Time
			submitter int
			answers   []drift.Answer
		}
		var runs []made
		for s := range w.present(day) {
			for range w.perDay(day, s) {
				if w.random.Float64() >= w.activity {
					continue
				}
				hour := 24 * w.random.Float64()
				at := drift.Date(day).Add(time.Duration(hour * float64(time.Hour))).Truncate(time.Second)
				runs = append(runs, made{at, s, w.run(day, s, hour)})
			}
		}
		slices.SortStableFunc(runs, func(a, b made) int { return a.at.Compare(b.at) })
		for _, r := range runs {
			number++
			for _, answer := range r.answers {
				w.yield(&drift.Record{
					Time: r.at, Stream: w.name, Run: fmt.Sprintf("r%05d", number), Submitter: fmt.Sprintf("s%02d", r.submitter),
					Answer: answer,
				})
			}
		}
	}
}

// line returns a record as a line of JSON.
func line(r *drift.Record) []byte {
	record := map[string]any{
		"v": 1, "ts": r.Time.Format(time.RFC3339), "stream": r.Stream, "run_id": r.Run, "submitter": r.Submitter,
		"model": "sim/1", "params": map[string]any{"temperature": 1}, "suite": "simsuite-1",
		"prompt_id": r.Answer.Prompt, "repeat": 0, "output": nil, "score": nil,
	}
	if r.Answer.HasText {
		record["output"] = r.Answer.Text
	}
	if !math.IsNaN(r.Answer.Score) {
		record["score"] = r.Answer.Score
	}
	var pairs [][]any
	for _, l := range r.Answer.Logprobs {
		pairs = append(pairs, []any{l.Token, l.Value})
	}
	if pairs != nil {
		record["logprobs"] = pairs
	}
	text, err := json.Marshal(record)
	if err != nil {
		panic(err)
	}
	return append(text, '\n')
}

// beta22 draws from Beta(2,2): the median of three uniform numbers.
func beta22(random *rand.Rand) float64 {
	u := []float64{random.Float64(), random.Float64(), random.Float64()}
	slices.Sort(u)
	return u[1]
}

// changedModel returns the model of a scenario that some or all requests reach.
func changedModel(random *rand.Rand, old *model, change string) *model {
	base, _, _ := strings.Cut(change, "_sparse")
	base, _, _ = strings.Cut(base, "_mask")
	switch base {
	case "swap", "rollout16", "blip3", "null_mal1", "null_mal2", "null_flood":
		return old.swapped(random, worldPrompts)
	case "swap_family":
		fresh := old.swapped(random, worldPrompts)
		return old.changed(func(logits []float32) {
			for i := range logits {
				logits[i] = 0.8*logits[i] + 0.6*fresh.logits[i]
			}
		})
	case "quant", "ramp14":
		return old.noisy(random, 0.75)
	case "quant_lite":
		return old.noisy(random, 0.25)
	case "prefix":
		c := *old
		c.prefix, c.starts = 1+random.IntN(worldWords-1), slices.Clone(old.starts)
		for p := range worldPrompts {
			if random.Float64() < 0.3 {
				c.starts[p] = old.next[p*worldStates*worldWords+c.prefix]
			}
		}
		return &c
	case "conc20":
		return old.swapped(random, 5)
	case "null_fleet":
		return old.noisy(random, 0.12)
	default: // the temperature changes, or nothing
		return old
	}
}

// share returns the probability that a request reaches the changed model.
func (w *world) share(change string) func(day, submitter int) float64 {
	fleet := map[int]float64{}
	return func(day, s int) float64 {
		switch {
		case change == "null_fleet":
			if _, ok := fleet[day]; !ok {
				fleet[day] = beta22(w.random)
			}
			return fleet[day]
		case change == "null_mal1" || change == "null_flood":
			return indicator(day >= 100 && s < 1)
		case change == "null_mal2":
			return indicator(day >= 100 && s < 2)
		case day < changeDay || strings.HasPrefix(change, "null"):
			return 0
		case change == "rollout16":
			return 0.16
		case change == "ramp14":
			return min(1, float64(day-changeDay+1)/14)
		case change == "blip3":
			return indicator(day < changeDay+3)
		case strings.HasSuffix(change, "_mask2"):
			return indicator(s >= 2)
		}
		return 1
	}
}

// temperatures returns the temperature before and after a change, and that of a submitter with another
// configuration.
func temperatures(kind, change string) (before, after, odd float64) {
	switch {
	case kind == "det":
		return 0, 0, 0.5
	case change == "temp_down":
		return 1, 0.8, 0.6
	case change == "temp_up":
		return 0.7, 0.9, 0.6
	default:
		return 1, 1, 0.6
	}
}

// newcomer lets a ninth submitter join on day 100.
func (w *world) newcomer() {
	w.present = func(day int) int {
		if day >= 100 {
			return crowdSize + 1
		}
		return crowdSize
	}
}

// texts sets the runs of a stream with texts.
func (w *world) texts(kind, change string) {
	old := newModel(w.random)
	other, share := changedModel(w.random, old, change), w.share(change)
	before, after, odd := temperatures(kind, change)
	if strings.HasSuffix(change, "_sparse") {
		w.crowd, w.activity = 3, 0.5
	}
	switch change {
	case "null_misconf":
		w.newcomer()
	case "null_flood":
		w.perDay = func(day, s int) int {
			if day >= 100 && s == 0 {
				return 10
			}
			return 1
		}
	}
	w.run = func(day, s int, _ float64) []drift.Answer {
		of, t := share(day, s), before
		if day >= changeDay && !strings.HasPrefix(change, "null") {
			t = after
		}
		if change == "null_misconf" && (s == crowdSize || s == 0 && day >= 200) {
			t = odd
		}
		answers := make([]drift.Answer, worldPrompts)
		for p := range answers {
			m := old
			if of == 1 || of > 0 && w.random.Float64() < of {
				m = other
			}
			text, right := m.answer(w.random, p, t)
			answers[p] = drift.Answer{
				Prompt: fmt.Sprintf("p%02d", p), Text: text, HasText: true, Score: indicator(right),
			}
			if kind == "logprobs" {
				answers[p].Logprobs = m.logprobs(w.random, p)
			}
		}
		return answers
	}
}

func indicator(ok bool) float64 {
	if ok {
		return 1
	}
	return 0
}

// passRates draws the pass rates of items: 45 % nearly always pass, 15 % nearly always fail, the
// others are spread.
func passRates(random *rand.Rand, items int) []float64 {
	rates := make([]float64, items)
	for i := range rates {
		switch u := random.Float64(); {
		case u < 0.45:
			rates[i] = 0.97
		case u < 0.60:
			rates[i] = 0.03
		default:
			offset := 0.46 * math.Pow(math.Abs(2*random.Float64()-1), 1.2)
			if random.Float64() < 0.5 {
				offset = -offset
			}
			rates[i] = 0.5 + offset
		}
	}
	return rates
}

// shifted adds to the logits of rates.
func shifted(rates []float64, by float64) []float64 {
	moved := make([]float64, len(rates))
	for i, p := range rates {
		moved[i] = 1 / (1 + math.Exp(-math.Log(p/(1-p))-by))
	}
	return moved
}

func meanOf(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v / float64(len(values))
	}
	return sum
}

// dropped shifts the logits so that the mean falls by a number.
func dropped(rates []float64, by float64) []float64 {
	low, high := -20.0, 0.0
	for range 60 {
		middle := (low + high) / 2
		if meanOf(rates)-meanOf(shifted(rates, middle)) > by {
			low = middle
		} else {
			high = middle
		}
	}
	return shifted(rates, low)
}

// scores sets the runs of a stream with scores only.
func (w *world) scores(change string) {
	const items = 100
	rates := passRates(w.random, items)
	after := rates
	switch {
	case strings.HasPrefix(change, "drop10"):
		after = dropped(rates, 0.10)
	case change == "drop5_conc":
		after = concentrated(w.random, rates, 0.05)
	case strings.HasPrefix(change, "drop5"):
		after = dropped(rates, 0.05)
	case strings.HasPrefix(change, "drop2"):
		after = dropped(rates, 0.02)
	}
	lies := make([]float64, items)
	for i, p := range rates {
		lies[i] = max(0.01, p-0.30)
	}
	misconfigured := dropped(rates, 0.15)
	if change == "null_misconf" {
		w.newcomer()
	}
	daily := map[int]float64{}
	w.run = func(day, s int, hour float64) []drift.Answer {
		now := rates
		if day >= changeDay && !strings.HasPrefix(change, "null") && (s >= 2 || !strings.HasSuffix(change, "_mask2")) {
			now = after
		}
		switch {
		case change == "null_mal1" && day >= 100 && s < 1, change == "null_mal2" && day >= 100 && s < 2:
			now = lies
		case change == "null_misconf" && (s == crowdSize || s == 0 && day >= 200):
			now = misconfigured
		case strings.HasSuffix(change, "dayfx"):
			if _, ok := daily[day]; !ok {
				daily[day] = 0.15 * w.random.NormFloat64()
			}
			now = shifted(now, daily[day])
		case strings.HasSuffix(change, "period"):
			now = shifted(now, 0.30*(0.6*math.Sin(2*math.Pi*hour/24)+0.4*math.Sin(2*math.Pi*(float64(day)+hour/24)/7)))
		}
		answers := make([]drift.Answer, items)
		for i, p := range now {
			score := indicator(w.random.Float64() < p)
			if strings.HasSuffix(change, "noise5") && w.random.Float64() < 0.05 {
				score = 1 - score
			}
			answers[i] = drift.Answer{Prompt: fmt.Sprintf("i%03d", i), Score: score}
		}
		return answers
	}
}

// concentrated lowers ten items that mostly pass so that the mean falls by a number.
func concentrated(random *rand.Rand, rates []float64, by float64) []float64 {
	after := slices.Clone(rates)
	left, cut := 10, by*float64(len(rates))/10
	for _, i := range random.Perm(len(rates)) {
		if left > 0 && rates[i] > 0.9 {
			after[i] = max(0.01, rates[i]-cut)
			left--
		}
	}
	return after
}
