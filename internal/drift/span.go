package drift

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// kernelMode selects the kernel of a span. One test has one kernel.
type kernelMode int

const (
	modeText     kernelMode = iota // equality and features of normalized texts
	modeHash                       // equality of normalized texts, by their hashes
	modeRaw                        // features, and equality of the texts before normalization
	modeLogprobs                   // log-probabilities
	modeScore                      // no kernel
)

type spanKey struct {
	start int
	mode  kernelMode
}

func (p *panel) newSpans(day int) *spanCache {
	return &spanCache{panel: p, day: day, made: map[spanKey]*span{}, runs: map[int]*testedRuns{}}
}

// spanCache makes the spans of one day. Statistics with the same epoch share one.
type spanCache struct {
	panel  *panel
	day    int
	made   map[spanKey]*span
	runs   map[int]*testedRuns // by first day
	active *promptSet          // the prompts of the panel
}

// span is what the tests of one day have in common: the runs from the start of the epoch,
// at most 62 days, and their kernels.
type span struct {
	cache *spanCache
	mode  kernelMode
	set   *promptSet // the prompts
	runs  []*panelRun
	// names are the submitters. submitter has the index of that of each run, day the day of each run.
	names          []string
	submitter, day []int
	// mean is the mean kernel of two runs, for each prompt; member has, for each run and prompt, the
	// mean kernel with the other runs.
	mean   []float64
	member []float64
	y      []float64 // the values of the linear scan
	// gram is the Gram matrix, filled for the runs with an index of at least from.
	gram    []float64
	from    int
	vectors [][]float64 // of log-probabilities
	// tests is the number of tests of the distribution, of texts and of log-probabilities. They answer
	// one question, so a p-value is multiplied by their number (Bonferroni).
	tests float64
}

// prompts returns the prompts of the panel: those that at least half of the runs have since their
// first answer. That answer is at least 14 days old, or among the oldest of the trailing days.
func (c *spanCache) prompts() *promptSet {
	if c.active != nil {
		return c.active
	}
	p := c.panel
	if len(p.sets) == 1 {
		for _, set := range p.sets {
			c.active = set
		}
		return c.active
	}
	first := map[*panelPrompt]int{}
	seen := map[*promptSet]bool{}
	for _, r := range p.runs {
		if seen[r.set] {
			continue
		}
		seen[r.set] = true
		for _, prompt := range r.set.prompts {
			if _, ok := first[prompt]; !ok {
				first[prompt] = r.day
			}
		}
	}
	var active []*panelPrompt
	var names []string
	for prompt, day := range first {
		at, _ := slices.BinarySearchFunc(p.runs, day, compareDay)
		if (at == 0 || c.day-day >= learningDays) && 2*prompt.runs >= len(p.runs)-at {
			active = append(active, prompt)
		}
	}
	slices.SortFunc(active, func(a, b *panelPrompt) int { return cmp.Compare(a.name, b.name) })
	for _, prompt := range active {
		names = append(names, prompt.name)
	}
	if set := p.sets[strings.Join(names, "\x00")]; set != nil {
		c.active = set
		return set
	}
	c.active = &promptSet{prompts: active, index: map[*panelPrompt]int{}}
	for i, prompt := range active {
		c.active.index[prompt] = i
	}
	return c.active
}

// covers reports whether a run has enough prompts of the panel to be tested.
func (c *spanCache) covers(r *panelRun) bool {
	active := c.prompts()
	if r.set == active {
		return true
	}
	n := 0
	for _, prompt := range active.prompts {
		if r.at(prompt) >= 0 {
			n++
		}
	}
	return n > 0 && float64(n) >= leastCoverage*float64(len(active.prompts))
}

// testedRuns are the runs from a day on that have enough prompts, and how many of them have each kind
// of data.
type testedRuns struct {
	runs                            []*panelRun
	texts, hashes, scores, logprobs int
}

// tested returns the runs of the days from start on that have enough prompts.
func (c *spanCache) tested(start int) *testedRuns {
	if t := c.runs[start]; t != nil {
		return t
	}
	at, _ := slices.BinarySearchFunc(c.panel.runs, start, compareDay)
	t := &testedRuns{runs: make([]*panelRun, 0, len(c.panel.runs)-at)}
	c.runs[start] = t
	count := func(n *int, ok bool) {
		if ok {
			*n++
		}
	}
	for _, r := range c.panel.runs[at:] {
		if r.day > c.day || !c.covers(r) {
			continue
		}
		t.runs = append(t.runs, r)
		count(&t.texts, r.hasText)
		count(&t.hashes, r.hasHash)
		count(&t.scores, !math.IsNaN(r.score))
		count(&t.logprobs, r.hasLogprobs)
	}
	return t
}

func compareDay(r *panelRun, day int) int { return cmp.Compare(r.day, day) }

// of returns the span of a statistic whose epoch began on a day, or nil if its runs have no data for
// the statistic. Runs without the data are left out if they are fewer than a fifth.
func (c *spanCache) of(epoch int, statistic string) *span {
	start := max(epoch, c.day-spanDays+1)
	t := c.tested(start)
	most := func(n int) bool { return n > 0 && 5*(len(t.runs)-n) < len(t.runs) }
	hasText := func(r *panelRun) bool { return r.hasText }
	mode, ok, has := modeText, most(t.texts), hasText
	switch statistic {
	case statisticMMD:
		if !ok {
			mode, ok, has = modeHash, most(t.hashes), func(r *panelRun) bool { return r.hasHash }
		}
	case statisticTypicality:
	case statisticFormat:
		mode = modeRaw
	case statisticLogprobs:
		mode, ok, has = modeLogprobs, most(t.logprobs), func(r *panelRun) bool { return r.hasLogprobs }
	default:
		mode, ok, has = modeScore, !ok && most(t.scores), func(r *panelRun) bool { return !math.IsNaN(r.score) }
	}
	if !ok {
		return nil
	}
	span := c.make(spanKey{start, mode}, t.runs, has)
	span.tests = 1
	if mode != modeRaw && most(t.hashes) && most(t.logprobs) {
		span.tests = 2
	}
	return span
}

// make returns the span of the runs that have what a mode needs.
func (c *spanCache) make(key spanKey, tested []*panelRun, has func(*panelRun) bool) *span {
	if s := c.made[key]; s != nil {
		return s
	}
	s := &span{cache: c, mode: key.mode, set: c.prompts()}
	c.made[key] = s
	s.runs = make([]*panelRun, 0, len(tested))
	for _, r := range tested {
		if has(r) {
			s.runs = append(s.runs, r)
		}
	}
	s.number()
	n := len(s.runs)
	s.from = n
	switch key.mode {
	case modeScore:
		s.y = make([]float64, n)
		for i, r := range s.runs {
			s.y[i] = r.score
		}
	case modeLogprobs:
		s.vectors = s.standardized()
		s.gram = make([]float64, n*n)
	case modeRaw: // with the weights of the normalized texts
		s.mean = c.make(spanKey{key.start, modeText}, tested, has).mean
		s.gram = make([]float64, n*n)
	default:
		s.sums()
		s.typicality()
		s.gram = make([]float64, n*n)
	}
	return s
}

// number numbers the submitters of the runs.
func (s *span) number() {
	n := len(s.runs)
	both := make([]int, 2*n)
	s.submitter, s.day = both[:n], both[n:]
	for i, r := range s.runs {
		if r.by.span != s {
			r.by.span, r.by.at = s, len(s.names)
			s.names = append(s.names, r.by.name)
		}
		s.submitter[i], s.day[i] = r.by.at, r.day
	}
}

// direct reports whether the sums that the pool keeps are those of the span.
func (s *span) direct() bool {
	return s.mode == modeText && len(s.runs) == len(s.cache.panel.pool)
}

// sums computes the mean kernels of the prompts, and of each run with the others.
func (s *span) sums() {
	n, prompts := len(s.runs), len(s.set.prompts)
	s.mean, s.member = make([]float64, prompts), make([]float64, n*prompts)
	counts := make([]int, n*prompts)
	if s.direct() {
		s.poolSums(counts)
	} else {
		k := make([]float32, prompts)
		for a := range n {
			for b := range a {
				for i, v := range s.kernels(a, b, k) {
					if v >= 0 {
						s.member[a*prompts+i] += float64(v)
						s.member[b*prompts+i] += float64(v)
						counts[a*prompts+i]++
						counts[b*prompts+i]++
					}
				}
			}
		}
	}
	totals := make([]int, prompts)
	for at, sum := range s.member {
		i := at % prompts
		s.mean[i] += sum
		totals[i] += counts[at]
		s.member[at] = sum / float64(counts[at]) // NaN without any
	}
	for i, n := range totals {
		if n > 0 {
			s.mean[i] /= float64(n)
		}
	}
}

// poolSums takes the sums from the runs of the pool.
func (s *span) poolSums(counts []int) {
	prompts := len(s.set.prompts)
	having := make([]int, prompts)
	index := func(r *panelRun, i int) int {
		j := i
		if r.set != s.set {
			j = r.at(s.set.prompts[i])
		}
		if j >= 0 && r.diagonal[j] < 0 {
			j = -1
		}
		return j
	}
	for _, r := range s.runs {
		for i := range prompts {
			if index(r, i) >= 0 {
				having[i]++
			}
		}
	}
	for a, r := range s.runs {
		for i := range prompts {
			if j := index(r, i); j >= 0 {
				s.member[a*prompts+i] = r.sums[j]
				counts[a*prompts+i] = having[i] - 1
			}
		}
	}
}

// kernels returns the kernels of two runs for each prompt; that of a missing answer is negative. It
// may use the buffer k.
func (s *span) kernels(a, b int, k []float32) []float32 {
	x, y := s.runs[a], s.runs[b]
	if s.mode == modeHash {
		for i, prompt := range s.set.prompts {
			k[i] = hashKernel(x, y, prompt)
		}
		return k
	}
	var row []float32
	var set *promptSet
	if x == y {
		row, set = x.diagonal, x.set
	} else {
		row, set = kernelRow(x, y)
	}
	if set == s.set && s.mode == modeText {
		return row
	}
	for i, prompt := range s.set.prompts {
		k[i] = -1
		if j, ok := set.index[prompt]; ok {
			k[i] = row[j]
		}
		if s.mode == modeRaw && k[i] >= 0 && x != y {
			k[i] = max(0, k[i]-quantize(rawDifference(x, y, prompt)/2))
		}
	}
	return k
}

// hashKernel is the share of pairs of answers to a prompt that are equal, or -1 without a pair.
func hashKernel(x, y *panelRun, prompt *panelPrompt) float32 {
	i, j := x.at(prompt), y.at(prompt)
	if i < 0 || j < 0 || len(x.texts[i]) == 0 || len(y.texts[j]) == 0 {
		return -1
	}
	same := 0
	for _, a := range x.texts[i] {
		for _, b := range y.texts[j] {
			if a.sharedText == b.sharedText {
				same++
			}
		}
	}
	return quantize(float64(same) / float64(len(x.texts[i])*len(y.texts[j])))
}

// rawDifference is the share of pairs of answers that are equal only after normalization.
func rawDifference(x, y *panelRun, prompt *panelPrompt) float64 {
	i, j := x.at(prompt), y.at(prompt)
	if x.single != nil && y.single != nil && x.single[i] != y.single[j] {
		return 0
	}
	as, bs := known(x.texts[i]), known(y.texts[j])
	differ := 0
	for _, a := range as {
		for _, b := range bs {
			if a.sharedText == b.sharedText && a.raw != b.raw {
				differ++
			}
		}
	}
	return float64(differ) / float64(len(as)*len(bs))
}

// typicality sets y: how much the answers of a run are like those of the others, standardized for
// each prompt over the span, and averaged over prompts.
func (s *span) typicality() {
	n, prompts := len(s.runs), len(s.set.prompts)
	s.y = make([]float64, n)
	for i := range prompts {
		sum, squares, having := 0.0, 0.0, 0
		for a := range n {
			if m := s.member[a*prompts+i]; !math.IsNaN(m) {
				sum += m
				having++
			}
		}
		mean := sum / float64(having)
		for a := range n {
			if m := s.member[a*prompts+i]; !math.IsNaN(m) {
				squares += (m - mean) * (m - mean)
			}
		}
		sd := math.Sqrt(squares / float64(having))
		for a := range n {
			if m := s.member[a*prompts+i]; !math.IsNaN(m) {
				s.y[a] += (m - mean) / (sd + 0.01) / float64(prompts)
			}
		}
	}
}

// grams returns the Gram matrix, filled for the runs from an index on. It is the sum over prompts of
// the kernels with the weights 1/(1 - mean + 0.02), where mean is the mean kernel of two runs of the
// whole span: a prompt whose answers vary little counts more.
func (s *span) grams(from int) []float64 {
	n := len(s.runs)
	if from >= s.from {
		return s.gram
	}
	prompts := len(s.set.prompts)
	weights, k := make([]float64, len(s.mean)), make([]float32, prompts)
	for i, mean := range s.mean {
		weights[i] = 1 / (1 - mean + 0.02)
	}
	for a := from; a < n; a++ {
		for b := from; b <= min(a, s.from-1); b++ {
			var g float64
			if s.mode == modeLogprobs {
				for i, v := range s.vectors[a] {
					g += v * s.vectors[b][i]
				}
			} else {
				row := s.kernels(a, b, k)[:len(weights)]
				for i, w := range weights {
					v := float64(row[i])
					if v < 0 {
						v = s.mean[i]
					}
					g += w * v
				}
			}
			s.gram[a*n+b], s.gram[b*n+a] = g, g
		}
	}
	s.from = from
	return s.gram
}

// standardized returns the vectors of log-probabilities of the runs: a coordinate for each token
// that a run reports for a prompt. A missing token gets the smallest value of its prompt. Each
// coordinate is standardized over the span and bounded by 12.
func (s *span) standardized() [][]float64 {
	const most, least = 12, 0.01
	n := len(s.runs)
	vectors := make([][]float64, n)
	for _, prompt := range s.set.prompts {
		first := len(vectors[0])
		coordinates := map[int32]int{}
		smallest := 0.0
		for _, r := range s.runs {
			for _, v := range r.logprobsOf(prompt) {
				if _, ok := coordinates[v.token]; !ok {
					coordinates[v.token] = first + len(coordinates)
				}
				smallest = min(smallest, v.value)
			}
		}
		for a, r := range s.runs {
			values := r.logprobsOf(prompt)
			for range coordinates {
				if len(values) > 0 {
					vectors[a] = append(vectors[a], smallest)
				} else {
					vectors[a] = append(vectors[a], math.NaN())
				}
			}
			for _, v := range values {
				vectors[a][coordinates[v.token]] = v.value
			}
		}
	}
	for i := range vectors[0] {
		sum, squares, having := 0.0, 0.0, 0.0
		for a := range n {
			if v := vectors[a][i]; !math.IsNaN(v) {
				sum += v
				having++
			}
		}
		mean := sum / having
		for a := range n {
			if v := vectors[a][i]; !math.IsNaN(v) {
				squares += (v - mean) * (v - mean)
			}
		}
		sd := math.Sqrt(squares/having) + least
		for a := range n {
			v := &vectors[a][i]
			if math.IsNaN(*v) {
				*v = 0
				continue
			}
			*v = max(-most, min(most, (*v-mean)/sd))
		}
	}
	return vectors
}

func (r *panelRun) logprobsOf(prompt *panelPrompt) []tokenValue {
	if i := r.at(prompt); i >= 0 {
		return r.logprobs[i]
	}
	return nil
}
