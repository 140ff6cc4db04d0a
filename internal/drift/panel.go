package drift

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"math"
	"slices"
	"strings"
)

// panelRun is a run of a panel. Slices over prompts have the order of its set.
type panelRun struct {
	id               string
	by               *submitter
	day              int
	client, provider map[string]string
	set              *promptSet
	score            float64 // the mean score, or NaN

	texts    [][]answerText // the answers to each prompt with a text or a hash
	logprobs [][]tokenValue
	single   []*sharedText // the text of each prompt, if each has one
	// hasText, hasHash and hasLogprobs mean that at least 80 % of the prompts have such answers.
	hasText, hasHash, hasLogprobs bool

	// The rest is set for runs in the pool. row has the kernels with the runs base to seq-1, for
	// each prompt; a kernel of a missing answer is negative. diagonal has the kernels with the run
	// itself, sums the sums of the kernels with all other runs of the pool.
	seq, base     int
	row, diagonal []float32
	sums          []float64
}

// submitter is a submitter of a panel.
type submitter struct {
	name string
	runs int // in the trailing days
	// at is the number of the submitter in span.
	at   int
	span *span
}

// answerText is one answer to a prompt. raw identifies its form before normalization.
type answerText struct {
	*sharedText
	raw [sha256.Size]byte
}

// tokenValue is the log-probability of a token, by its number in its prompt.
type tokenValue struct {
	token int32
	value float64
}

// add adds a run to the panel. A run with the same id and submitter replaces the earlier one, for a
// run that was not complete before. A run that is older than the trailing days is ignored.
func (p *panel) add(r Run) {
	if !p.begun() {
		p.epochs[epochFirst] = r.Day
	}
	key := r.Submitter + "\x00" + r.ID
	if old := p.byID[key]; old != nil {
		p.remove(old)
	}
	d := &panelRun{
		id: r.ID, by: p.submitter(r.Submitter), day: r.Day, client: r.Client, provider: r.Provider, score: math.NaN(),
	}
	p.byID[key] = d
	p.fill(d, r.Answers)
	p.insert(d)
	if d.hasText {
		p.addKernels(d)
	}
}

// submitter returns the submitter with a name, and counts one more run.
func (p *panel) submitter(name string) *submitter {
	s := p.crowd[name]
	if s == nil {
		s = &submitter{name: name}
		p.crowd[name] = s
	}
	s.runs++
	return s
}

// fill takes over the answers of a run.
func (p *panel) fill(d *panelRun, answers []Answer) {
	order := make([]int, len(answers))
	for i := range order {
		order[i] = i
	}
	byPrompt := func(a, b int) int { return cmp.Compare(answers[a].Prompt, answers[b].Prompt) }
	if !slices.IsSortedFunc(order, byPrompt) {
		slices.SortStableFunc(order, byPrompt)
	}
	d.set = p.setOf(answers, order)
	n := len(d.set.prompts)
	scores, sum := 0, 0.0
	texts, hashes, logged := 0, 0, 0
	at := -1
	for k, i := range order {
		a := &answers[i]
		if k == 0 || a.Prompt != answers[order[k-1]].Prompt {
			at++
		}
		if !math.IsNaN(a.Score) {
			scores++
			sum += a.Score
		}
		if a.HasText || a.Hash != "" {
			if d.texts == nil {
				d.texts = make([][]answerText, n)
			}
			if len(d.texts[at]) == 0 {
				hashes++
				if a.HasText {
					texts++
				}
			}
			d.texts[at] = append(d.texts[at], p.intern(d.set.prompts[at], a))
		}
		if len(a.Logprobs) > 0 {
			if d.logprobs == nil {
				d.logprobs = make([][]tokenValue, n)
			}
			if len(d.logprobs[at]) == 0 {
				logged++
				d.logprobs[at] = d.set.prompts[at].tokenValues(a.Logprobs)
			}
		}
	}
	if scores > 0 {
		d.score = sum / float64(scores)
	}
	enough := func(k int) bool { return k > 0 && float64(k) >= leastCoverage*float64(n) }
	d.hasText, d.hasHash, d.hasLogprobs = enough(texts), enough(hashes), enough(logged)
	if texts == n && len(answers) == n {
		d.single = make([]*sharedText, n)
		for i := range d.single {
			d.single[i] = d.texts[i][0].sharedText
		}
	}
}

// setOf returns the prompt set of answers, which order sorts by prompt, and counts its use.
func (p *panel) setOf(answers []Answer, order []int) *promptSet {
	if n := len(p.runs); n > 0 && p.runs[n-1].set.matches(answers, order) { // usually all runs have the same
		return p.runs[n-1].set.use()
	}
	var names []string
	for k, i := range order {
		if k == 0 || answers[i].Prompt != answers[order[k-1]].Prompt {
			names = append(names, answers[i].Prompt)
		}
	}
	key := strings.Join(names, "\x00")
	set := p.sets[key]
	if set == nil {
		set = &promptSet{key: key, index: map[*panelPrompt]int{}}
		for i, name := range names {
			prompt := p.prompts[name]
			if prompt == nil {
				prompt = &panelPrompt{
					name: name, texts: map[[sha256.Size]byte]*sharedText{}, tokens: map[string]int32{},
				}
				p.prompts[name] = prompt
			}
			set.prompts = append(set.prompts, prompt)
			set.index[prompt] = i
		}
		p.sets[key] = set
	}
	return set.use()
}

// use counts a run with the set.
func (s *promptSet) use() *promptSet {
	s.runs++
	for _, prompt := range s.prompts {
		prompt.runs++
	}
	return s
}

// matches reports whether answers, which order sorts by prompt, have one answer to each prompt of the
// set.
func (s *promptSet) matches(answers []Answer, order []int) bool {
	if len(answers) != len(s.prompts) {
		return false
	}
	for k, i := range order {
		if answers[i].Prompt != s.prompts[k].name {
			return false
		}
	}
	return true
}

// intern returns the shared text of an answer.
func (p *panel) intern(prompt *panelPrompt, a *Answer) answerText {
	var key, raw [sha256.Size]byte
	text := ""
	if a.HasText {
		text = normalize(a.Text)
		key = sha256.Sum256([]byte(text))
		raw = key
		if text != a.Text {
			raw = sha256.Sum256([]byte(a.Text))
		}
	} else {
		if n, err := hex.Decode(key[:], []byte(a.Hash[:min(len(a.Hash), 2*sha256.Size)])); err != nil || n < sha256.Size {
			key = sha256.Sum256([]byte("hash\x00" + a.Hash))
		}
		raw = key
	}
	t := prompt.texts[key]
	if t == nil {
		t = &sharedText{key: key}
		prompt.texts[key] = t
	}
	if a.HasText && !t.known {
		t.known, t.text, t.features = true, text, textFeatures(text)
	}
	several := t.forms() > 1
	t.uses++
	if raw != key {
		if t.raws == nil {
			t.raws = map[[sha256.Size]byte]int{}
		}
		t.raws[raw]++
	}
	if !several && t.forms() > 1 {
		p.raws++
	}
	return answerText{t, raw}
}

// forms counts the forms of the text before normalization.
func (t *sharedText) forms() int {
	n, odd := len(t.raws), 0
	for _, k := range t.raws {
		odd += k
	}
	if t.uses > odd {
		n++
	}
	return n
}

func (q *panelPrompt) tokenValues(values []TokenLogprob) []tokenValue {
	all := make([]tokenValue, 0, len(values))
	for _, v := range values {
		number, ok := q.tokens[v.Token]
		if !ok {
			number = int32(len(q.tokens))
			q.tokens[v.Token] = number
		}
		all = append(all, tokenValue{number, v.Value})
	}
	return all
}

// forget removes the runs before a day.
func (p *panel) forget(day int) {
	n, _ := slices.BinarySearchFunc(p.runs, day, compareDay)
	for _, r := range p.runs[:n] {
		p.release(r)
	}
	p.runs = slices.Delete(p.runs, 0, n)
}

// remove removes a run.
func (p *panel) remove(r *panelRun) {
	p.release(r)
	if at, ok := slices.BinarySearchFunc(p.runs, r, compareRuns); ok {
		p.runs = slices.Delete(p.runs, at, at+1)
	}
}

// release forgets all that only one run used.
func (p *panel) release(r *panelRun) {
	delete(p.byID, r.by.name+"\x00"+r.id)
	if r.by.runs--; r.by.runs == 0 {
		delete(p.crowd, r.by.name)
	}
	if r.hasText {
		p.removeKernels(r)
	}
	for i, answers := range r.texts {
		for _, t := range answers {
			several := t.forms() > 1
			t.uses--
			if t.raw != t.key {
				if t.raws[t.raw]--; t.raws[t.raw] == 0 {
					delete(t.raws, t.raw)
				}
			}
			if several && t.forms() <= 1 {
				p.raws--
			}
			if t.uses == 0 {
				delete(r.set.prompts[i].texts, t.key)
			}
		}
	}
	for _, prompt := range r.set.prompts {
		if prompt.runs--; prompt.runs == 0 {
			delete(p.prompts, prompt.name)
		}
	}
	if r.set.runs--; r.set.runs == 0 {
		delete(p.sets, r.set.key)
	}
}

// addKernels computes the kernels of a run with the runs of the pool, and adds it to the pool. The
// kernel of two answers a and b is [a = b]/2 + <f(a), f(b)>/2 with the feature vectors f; that of
// several answers of one run is the mean over all pairs.
func (p *panel) addKernels(r *panelRun) {
	r.seq = p.seq
	p.seq++
	r.base = r.seq
	if len(p.pool) > 0 {
		r.base = p.pool[0].seq
	}
	n := len(r.set.prompts)
	r.row = make([]float32, (r.seq-r.base)*n)
	r.diagonal, r.sums = make([]float32, n), make([]float64, n)
	for i := range n {
		r.diagonal[i] = -1
		if own := known(r.texts[i]); len(own) > 0 {
			r.diagonal[i] = p.meanKernel(own, own)
		}
	}
	for _, b := range p.pool {
		same := b.set == r.set
		row := r.row[(b.seq-r.base)*n:][:n]
		for i := range row {
			row[i] = -1
			if !same && b.at(r.set.prompts[i]) < 0 {
				continue
			}
			row[i] = 0
		}
	}
	for i, prompt := range r.set.prompts {
		own := known(r.texts[i])
		p.promptRow(r, i, prompt, own)
	}
	p.addSums(r)
	p.pool = append(p.pool, r)
}

// promptRow computes the kernels of the answers of r to its prompt i with those of the pool.
func (p *panel) promptRow(r *panelRun, i int, prompt *panelPrompt, own []answerText) {
	n := len(r.set.prompts)
	if len(own) == 1 {
		load(p.dense, own[0].features)
		defer unload(p.dense, own[0].features)
		p.stamp++
	}
	for _, b := range p.pool {
		k := &r.row[(b.seq-r.base)*n+i]
		j := i
		if b.set != r.set {
			j = b.at(prompt)
		}
		if *k < 0 || len(own) == 0 {
			*k = -1
			continue
		}
		if len(own) == 1 && b.single != nil {
			*k = p.kernel(own[0].sharedText, b.single[j])
			continue
		}
		others := b.texts[j]
		switch {
		case len(own) == 1 && len(others) == 1 && others[0].known:
			*k = p.kernel(own[0].sharedText, others[0].sharedText)
		case len(known(others)) > 0:
			*k = p.meanKernel(own, known(others))
		default:
			*k = -1
		}
	}
}

// addSums adds the kernels of a run to its sums and to those of the pool.
func (p *panel) addSums(r *panelRun) {
	n := len(r.set.prompts)
	for _, b := range p.pool {
		row, sums := r.row[(b.seq-r.base)*n:][:n], b.sums
		for i, k := range row {
			if k < 0 {
				continue
			}
			r.sums[i] += float64(k)
			if b.set == r.set {
				sums[i] += float64(k)
			} else {
				sums[b.at(r.set.prompts[i])] += float64(k)
			}
		}
	}
}

// kernel returns the kernel of the loaded text own with another.
func (p *panel) kernel(own, other *sharedText) float32 {
	if other == own {
		return 1
	}
	if other.stamp != p.stamp {
		other.stamp = p.stamp
		other.value = quantize(float64(dot(p.dense, other.features)) / 2)
	}
	return other.value
}

// meanKernel returns the mean kernel of all pairs of answers.
func (p *panel) meanKernel(as, bs []answerText) float32 {
	dense := make([]float32, buckets)
	sum := 0.0
	for _, a := range as {
		load(dense, a.features)
		for _, b := range bs {
			if a.sharedText == b.sharedText {
				sum++
			} else {
				sum += float64(dot(dense, b.features)) / 2
			}
		}
		unload(dense, a.features)
	}
	return quantize(sum / float64(len(as)*len(bs)))
}

// known returns the answers whose text is known.
func known(answers []answerText) []answerText {
	for i := range answers {
		if !answers[i].known {
			return slices.DeleteFunc(slices.Clone(answers), func(a answerText) bool { return !a.known })
		}
	}
	return answers
}

// at returns the index of a prompt in the set of the run, or -1.
func (r *panelRun) at(prompt *panelPrompt) int {
	if i, ok := r.set.index[prompt]; ok {
		return i
	}
	return -1
}

// removeKernels removes a run from the pool.
func (p *panel) removeKernels(r *panelRun) {
	at := slices.Index(p.pool, r)
	p.pool = slices.Delete(p.pool, at, at+1)
	for _, b := range p.pool {
		row, set := kernelRow(r, b)
		for i, k := range row {
			if k >= 0 {
				b.sums[b.at(set.prompts[i])] -= float64(k)
			}
		}
	}
}

// kernelRow returns the kernels of two runs of the pool, with the set of prompts of the values.
func kernelRow(a, b *panelRun) ([]float32, *promptSet) {
	if a.seq < b.seq {
		a, b = b, a
	}
	n := len(a.set.prompts)
	return a.row[(b.seq-a.base)*n:][:n], a.set
}
