package compare

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/analyze"
	"github.com/plumb-eval/plumb/internal/text"
)

// farApart is the time between two runs from which on a change at the provider cannot be told from
// another one.
const farApart = 24 * time.Hour

// MatchOptions decide what is compared with what.
type MatchOptions struct {
	// Map has renamed runners and cases: the id in the baseline, and the id in the candidate.
	Map map[string]string
	// Vary are the kinds of differences that are allowed. Without one, the only kind of difference
	// is taken as the declared variable.
	Vary []Kind
	// Cluster says which cases belong together: "category", "tag:PREFIX" or a key of the metadata;
	// "" means that each case stands alone.
	Cluster string
}

// ParseMap parses the values of --map, each OLD=NEW.
func ParseMap(values []string) (map[string]string, error) {
	m := map[string]string{}
	for _, v := range values {
		from, to, ok := strings.Cut(v, "=")
		if !ok || from == "" || to == "" {
			return nil, plumb.WithHint(fmt.Errorf("--map %q is not a pair of names", v),
				"write --map OLD=NEW, with the name in the baseline first")
		}
		if other, known := m[from]; known && other != to {
			return nil, fmt.Errorf("--map: %s has two new names, %s and %s", from, other, to)
		}
		m[from] = to
	}
	return m, nil
}

// Match pairs the cases of two sides. The error is a [*Refused] if the sides differ in a way that
// is not allowed.
func Match(base, cand *Side, o MatchOptions) (*Matching, error) {
	m := &matcher{
		Matching: Matching{Base: base, Cand: cand, Clustered: o.Cluster != ""}, options: &o,
		file: base.carriesLess() || cand.carriesLess(),
	}
	if err := m.checkMap(); err != nil {
		return nil, err
	}
	if err := m.pairRunners(); err != nil {
		return nil, err
	}
	m.compareFacts()
	if err := m.pairCases(); err != nil {
		return nil, err
	}
	if err := m.allow(); err != nil {
		return nil, err
	}
	m.warn()
	m.dropCopies()
	if err := m.makePairs(); err != nil {
		return nil, err
	}
	return &m.Matching, nil
}

// matcher is the work of [Match].
type matcher struct {
	Matching
	options *MatchOptions
	file    bool
	found   contrast
	// pairs are the indexes of paired cases.
	pairs [][2]int
	// changed counts cases with the same id and another content that are not paired.
	changed int
}

func (m *matcher) checkMap() error {
	var known []string
	for i := range m.Base.Runners {
		known = append(known, m.Base.Runners[i].ID)
	}
	for i := range m.Base.Cases {
		known = append(known, m.Base.Cases[i].ID)
	}
	for from, to := range m.options.Map {
		if slices.Contains(known, from) {
			if m.Cand.runner(to) < 0 && m.Cand.index(to) < 0 {
				return fmt.Errorf("--map %s=%s: the candidate has neither a runner nor a case %q", from, to, to)
			}
			continue
		}
		err := fmt.Errorf("--map %s=%s: the baseline has neither a runner nor a case %q", from, to, from)
		if near := plumb.Nearest(from, known); near != "" {
			err = plumb.WithHint(err, "did you mean "+near+"?")
		}
		return err
	}
	return nil
}

func (s *Side) runner(id string) int {
	return slices.IndexFunc(s.Runners, func(r Runner) bool { return r.ID == id })
}

func (s *Side) index(id string) int {
	return slices.IndexFunc(s.Cases, func(c plumb.CaseInfo) bool { return c.ID == id })
}

// pairRunners pairs the runners: one on each side, or by --map, or by id.
func (m *matcher) pairRunners() error {
	base, cand := m.Base.Runners, m.Cand.Runners
	used := make([]bool, len(cand))
	add := func(b, c int) {
		used[c] = true
		m.Runners = append(m.Runners, RunnerPair{Base: base[b].ID, Cand: cand[c].ID, BaseIndex: b, CandIndex: c})
	}
	if len(base) == 1 && len(cand) == 1 {
		add(0, 0)
		return nil
	}
	for b := range base {
		c := m.Cand.runner(base[b].ID)
		if to, ok := m.options.Map[base[b].ID]; ok {
			c = m.Cand.runner(to)
		}
		if c >= 0 && !used[c] {
			add(b, c)
		} else {
			m.OnlyBaseRunners = append(m.OnlyBaseRunners, base[b].ID)
		}
	}
	for c := range cand {
		if !used[c] {
			m.OnlyCandRunners = append(m.OnlyCandRunners, cand[c].ID)
		}
	}
	slices.SortFunc(m.Runners, func(a, b RunnerPair) int { return strings.Compare(a.Base, b.Base) })
	if len(m.Runners) > 0 {
		return nil
	}
	return plumb.WithHint(fmt.Errorf("no runner is on both sides: %s has %s, and %s has %s", m.Base.Name,
		cmp.Or(strings.Join(m.OnlyBaseRunners, ", "), "none"), m.Cand.Name,
		cmp.Or(strings.Join(m.OnlyCandRunners, ", "), "none")),
		"name two runners with --map OLD=NEW, or compare one of each: "+m.Base.Name+"#RUNNER "+m.Cand.Name+"#RUNNER")
}

// compareFacts finds the differences between the runs and between the paired runners.
func (m *matcher) compareFacts() {
	m.found.compare(m.Base.Facts, m.Cand.Facts, "", m.file, false)
	for _, p := range m.Runners {
		m.found.runner(&m.Base.Runners[p.BaseIndex], &m.Cand.Runners[p.CandIndex], m.file)
	}
}

// pairCases pairs the cases by their hashes, or by their ids if hashes are not known, or if prompts
// or checks vary.
func (m *matcher) pairCases() error {
	content, partly := m.changedContent()
	vary := m.options.Vary
	m.ByID = slices.Contains(vary, VaryPrompt) || slices.Contains(vary, VaryChecks) || slices.Contains(vary, VaryAny) ||
		len(vary) == 0 && len(m.found.differences) == 0 && len(content.found)+len(partly.found) > 0
	m.pairs = m.indexes(m.ByID)
	if len(m.pairs) == 0 && len(content.found) > 0 { // all cases were changed
		m.found.differences = append(m.found.differences, content.all()...)
		return &Refused{Differences: m.found.differences, Kinds: m.wanted()}
	}
	if len(m.pairs) == 0 {
		return plumb.WithHint(fmt.Errorf("no case of %s is in %s", m.Base.Name, m.Cand.Name),
			"name renamed cases with --map OLD=NEW")
	}
	var settings, unknownParts caseDifferences
	pairedContent := caseDifferences{}
	for _, p := range m.pairs {
		b, c := &m.Base.Cases[p[0]], &m.Cand.Cases[p[1]]
		settings.settings(b, c, m.file)
		if b.Hash != c.Hash || b.Hash == "" {
			pairedContent.content(b, c, &unknownParts)
		}
	}
	m.found.differences = append(m.found.differences, settings.all()...)
	m.found.differences = append(m.found.differences, pairedContent.all()...)
	m.found.unknown = append(m.found.unknown, unknownParts.all()...)
	if !m.ByID {
		for i := range content.cases {
			m.changed = max(m.changed, len(content.cases[i]))
		}
	}
	return nil
}

// changedContent finds cases with the same id and different hashes.
func (m *matcher) changedContent() (content, partly caseDifferences) {
	at := map[string]int{}
	for i := range m.Base.Cases {
		at[m.Base.Cases[i].ID] = i
	}
	for i := range m.Cand.Cases {
		c := &m.Cand.Cases[i]
		n, ok := at[c.ID]
		if ok && m.Base.Cases[n].Hash != "" && c.Hash != "" && m.Base.Cases[n].Hash != c.Hash {
			content.content(&m.Base.Cases[n], c, &partly)
		}
	}
	return content, partly
}

// indexes pairs the cases. Those that --map names come first. Without byID, of several cases with
// the same hash those with the same id are paired, and the others in their order.
func (m *matcher) indexes(byID bool) [][2]int {
	base, cand := m.Base.Cases, m.Cand.Cases
	usedBase, usedCand := make([]bool, len(base)), make([]bool, len(cand))
	var pairs [][2]int
	pass := func(baseKey, candKey func(*plumb.CaseInfo) string) {
		open := map[string][]int{}
		for i := range base {
			if key := baseKey(&base[i]); key != "" && !usedBase[i] {
				open[key] = append(open[key], i)
			}
		}
		for i := range cand {
			key := candKey(&cand[i])
			if found := open[key]; key != "" && !usedCand[i] && len(found) > 0 {
				pairs = append(pairs, [2]int{found[0], i})
				usedBase[found[0]], usedCand[i] = true, true
				open[key] = found[1:]
			}
		}
	}
	id := func(c *plumb.CaseInfo) string { return c.ID }
	pass(func(c *plumb.CaseInfo) string { return m.options.Map[c.ID] }, id)
	if !byID {
		pass(hashAndID, hashAndID)
		pass(func(c *plumb.CaseInfo) string { return c.Hash }, func(c *plumb.CaseInfo) string { return c.Hash })
		noHash := func(other []plumb.CaseInfo) func(*plumb.CaseInfo) string {
			any := !slices.ContainsFunc(other, func(c plumb.CaseInfo) bool { return c.Hash != "" })
			return func(c *plumb.CaseInfo) string {
				if c.Hash == "" || any {
					return c.ID
				}
				return ""
			}
		}
		pass(noHash(cand), noHash(base))
	} else {
		pass(id, id)
	}
	for i := range base {
		if !usedBase[i] {
			m.OnlyBase = append(m.OnlyBase, base[i].ID)
		}
	}
	for i := range cand {
		if !usedCand[i] {
			m.OnlyCand = append(m.OnlyCand, cand[i].ID)
		}
	}
	slices.SortFunc(pairs, func(a, b [2]int) int {
		key := func(p [2]int) (string, string) {
			x, y := base[p[0]].ID, cand[p[1]].ID
			return min(x, y), max(x, y)
		}
		aLess, aMore := key(a)
		bLess, bMore := key(b)
		return cmp.Or(strings.Compare(aLess, bLess), strings.Compare(aMore, bMore))
	})
	return pairs
}

func hashAndID(c *plumb.CaseInfo) string {
	if c.Hash == "" {
		return ""
	}
	return c.Hash + " " + c.ID
}

// wanted returns the kinds that --vary must have so that nothing is refused.
func (m *matcher) wanted() []Kind {
	kinds := kindsOf(m.found.differences)
	return slices.DeleteFunc(Kinds(), func(k Kind) bool {
		return !slices.Contains(kinds, k) && !slices.Contains(m.options.Vary, k)
	})
}

// allow checks the differences against --vary.
func (m *matcher) allow() error {
	vary := m.options.Vary
	kinds := kindsOf(m.found.differences)
	m.Varied, m.Unknown, m.VariedKinds, m.Declared = m.found.differences, m.found.unknown, kinds, len(vary) > 0
	if slices.Contains(vary, VaryAny) {
		m.VariedKinds = []Kind{VaryAny}
		return nil
	}
	if len(vary) == 0 {
		if len(kinds) > 1 {
			return &Refused{Differences: m.found.differences, Kinds: m.wanted()}
		}
		return nil
	}
	var refused []Difference
	for _, d := range m.found.differences {
		if !slices.Contains(vary, d.Kind) {
			refused = append(refused, d)
		}
	}
	if len(refused) > 0 {
		return &Refused{Differences: refused, Kinds: m.wanted()}
	}
	return nil
}

// warn adds the warnings of the matching.
func (m *matcher) warn() {
	warn := func(format string, args ...any) { m.Warnings = append(m.Warnings, fmt.Sprintf(format, args...)) }
	for _, d := range m.found.reported {
		model := m.found.differ(d.Runner, VaryModel)
		switch {
		case d.Name == effectiveParameters:
			warn("the provider reports other effective parameters for equal requested ones: %s → %s (runner %s)",
				d.Base, d.Cand, d.Runner)
		case d.Kind == VaryAgent:
			warn("the machine offered other things to the agent: %s → %s (runner %s)", d.Base, d.Cand, d.Runner)
		case !model:
			warn("the %s changed although the requested model is the same: %s → %s (runner %s)", d.Name, d.Base, d.Cand,
				d.Runner)
		}
	}
	base, cand := m.Base, m.Cand
	if apart := max(cand.Started.Sub(base.Ended), base.Started.Sub(cand.Ended)); apart > farApart &&
		!base.Ended.IsZero() && !cand.Ended.IsZero() && !base.Started.IsZero() && !cand.Started.IsZero() {
		warn("the two sides lie %s apart: a change at the provider cannot be told from yours; two runners in one run "+
			"are measured at the same time", text.Duration(apart))
	}
	if base.ID != "" && base.ID == cand.ID && base.prompt == cand.prompt && base.Kind == SourceRun && cand.Kind == SourceRun &&
		slices.ContainsFunc(m.Runners, func(p RunnerPair) bool { return p.Base == p.Cand }) {
		warn("both sides are the same run")
	}
	for _, s := range []*Side{base, cand} {
		if s.Run != nil && !s.Run.Info.Share.Whole() {
			warn("%s has only %s: the rest of the run is not shared", s.Name, s.Run.Info.Share)
		}
		if s.Run != nil && s.Run.Decision != nil {
			warn("%s chose its repetitions by its results (--until-decided), and the tests of a comparison need a number that "+
				"does not depend on them: trust the conclusion of the run (plumb report)", s.Name)
		}
	}
	alone := func(s *Side, ids []string) {
		if len(ids) > 0 {
			warn("not compared, because only %s has them: runners %s", s.Name, strings.Join(ids, ", "))
		}
	}
	alone(base, m.OnlyBaseRunners)
	alone(cand, m.OnlyCandRunners)
	if m.changed > 0 {
		warn("%d cases have another prompt or other checks on each side and are not compared; "+
			"--vary prompt or checks pairs them by id", m.changed)
	}
}

// makePairs makes the pairs of each pair of runners.
func (m *matcher) makePairs() error {
	cluster, err := m.clusters()
	if err != nil {
		return err
	}
	// The same answer with other checks, or with another judge, is a measurement of those.
	judged := slices.ContainsFunc(kindsOf(m.Varied), func(k Kind) bool {
		return k == VaryChecks || k == VaryJudge || k == VaryPlumb
	})
	for r := range m.Runners {
		p := &m.Runners[r]
		p.Pairs = make([]Pair, len(m.pairs))
		for i, at := range m.pairs {
			b, c := &m.Base.Cases[at[0]], &m.Cand.Cases[at[1]]
			pair := Pair{
				Case: c, BaseCase: b.ID, CandCase: c.ID, BaseIndex: at[0], CandIndex: at[1], Cluster: cluster(c),
				BasePlanned: b.Repeat, CandPlanned: c.Repeat,
				Base: m.Base.At(at[0], p.BaseIndex), Cand: m.Cand.At(at[1], p.CandIndex),
			}
			pair.EarlyStop = m.Base.stoppedEarly(at[0], p.BaseIndex) || m.Cand.stoppedEarly(at[1], p.CandIndex)
			if p.Base == p.Cand && b.ID == c.ID {
				pair.dropRuns(m.Base, m.Cand, at, p)
			}
			if !judged {
				pair.dropAnswers()
			}
			p.Pairs[i] = pair
		}
	}
	return nil
}

// stoppedEarly reports whether the execution ended at a repetition that was not green, before all
// planned ones.
func (s *Side) stoppedEarly(c, r int) bool {
	at := c*len(s.Runners) + r
	samples, planned := s.Samples[at], s.Cases[c].Repeat
	if len(samples) == 0 {
		return false
	}
	if s.runs != nil {
		return stoppedIn(samples, s.runs[at], planned)
	}
	return len(samples) < planned && !samples[len(samples)-1].Green
}

// stoppedIn is stoppedEarly for the samples of several runs. The oldest run may have lost samples
// to the limit of the history.
func stoppedIn(samples []analyze.Sample, runs []string, planned int) bool {
	for from := 0; from < len(runs); {
		to := from
		for to < len(runs) && runs[to] == runs[from] {
			to++
		}
		cut := from == 0 && len(runs) == historyLimit
		if to-from < planned && !samples[to-1].Green && !cut {
			return true
		}
		from = to
	}
	return false
}

// dropRuns leaves out the samples of a run that is in both sides: a baseline may hold the
// candidate.
func (p *Pair) dropRuns(base, cand *Side, at [2]int, r *RunnerPair) {
	if base.runs == nil && cand.runs == nil {
		return // dropAnswers finds equal sessions
	}
	runOf := func(s *Side, c, runner int) func(i int) string {
		if s.runs == nil {
			return func(int) string { return s.ID }
		}
		runs := s.runs[c*len(s.Runners)+runner]
		return func(i int) string { return runs[i] }
	}
	baseRun, candRun := runOf(base, at[0], r.BaseIndex), runOf(cand, at[1], r.CandIndex)
	in := func(samples []analyze.Sample, run func(int) string) map[string]bool {
		found := map[string]bool{}
		for i := range samples {
			found[run(i)] = true
		}
		return found
	}
	inBase, inCand := in(p.Base, baseRun), in(p.Cand, candRun)
	drop := func(samples []analyze.Sample, run func(int) string) []analyze.Sample {
		var kept []analyze.Sample
		for i := range samples {
			if inBase[run(i)] && inCand[run(i)] {
				p.Same++
			} else {
				kept = append(kept, samples[i])
			}
		}
		return kept
	}
	// A history keeps its samples of the other runs; a single run loses nothing to it.
	switch {
	case base.runs == nil:
		p.Cand = drop(p.Cand, candRun)
	case cand.runs == nil:
		p.Base = drop(p.Base, baseRun)
	default:
		p.Base, p.Cand = drop(p.Base, baseRun), drop(p.Cand, candRun)
	}
	p.SameAnswer = p.Same > 0 && !p.Measured()
}

// dropAnswers leaves out the samples of both sides that hold the same recorded answer.
func (p *Pair) dropAnswers() {
	answers := map[uint64]int{}
	for i := range p.Base {
		if a := p.Base[i].Answer; a != 0 {
			answers[a] |= 1
		}
	}
	shared := 0
	for i := range p.Cand {
		if a := p.Cand[i].Answer; a != 0 && answers[a]&1 != 0 {
			answers[a] |= 2
			shared++
		}
	}
	if shared == 0 {
		return
	}
	measured := p.Measured()
	drop := func(samples []analyze.Sample) []analyze.Sample {
		return slices.DeleteFunc(slices.Clone(samples), func(s analyze.Sample) bool {
			return s.Answer != 0 && answers[s.Answer] == 3
		})
	}
	p.Base, p.Cand = drop(p.Base), drop(p.Cand)
	p.Same += shared
	p.SameAnswer = p.SameAnswer || measured && !p.Measured()
}

// clusters returns the function that names the cluster of a case.
func (m *matcher) clusters() (func(*plumb.CaseInfo) string, error) {
	own := func(c *plumb.CaseInfo) string { return "case " + cmp.Or(c.Item, c.ID) }
	by := m.options.Cluster
	if by == "" { // the prompts of one case share its question
		items := map[string]bool{}
		for _, p := range m.pairs {
			name := own(&m.Cand.Cases[p[1]])
			m.Clustered = m.Clustered || items[name]
			items[name] = true
		}
	}
	value := func(c *plumb.CaseInfo) string { return c.Metadata[by] }
	prefix, isTag := strings.CutPrefix(by, "tag:")
	switch {
	case by == "":
		return own, nil
	case isTag:
		value = func(c *plumb.CaseInfo) string {
			if at := slices.IndexFunc(c.Tags, func(t string) bool { return strings.HasPrefix(t, prefix) }); at >= 0 {
				return c.Tags[at]
			}
			return ""
		}
	case by == "category":
		value = func(c *plumb.CaseInfo) string { return c.Category }
	}
	var keys []string
	for _, p := range m.pairs {
		c := &m.Cand.Cases[p[1]]
		if value(c) != "" {
			return func(c *plumb.CaseInfo) string {
				if v := value(c); v != "" {
					return by + " " + v
				}
				return own(c)
			}, nil
		}
		for key := range c.Metadata {
			if !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
		}
	}
	err := fmt.Errorf("--cluster %s: no case has such a value", by)
	if isTag {
		err = fmt.Errorf("--cluster %s: no case has a tag that begins with %q", by, prefix)
	}
	slices.Sort(keys)
	if near := plumb.Nearest(by, append(keys, "category")); near != "" && !isTag {
		return nil, plumb.WithHint(err, "did you mean "+near+"?")
	}
	hint := "use category, tag:PREFIX, or a key of metadata"
	if len(keys) > 0 {
		hint += " (" + strings.Join(keys, ", ") + ")"
	}
	return nil, plumb.WithHint(err, hint)
}
