package run

import (
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/plumb-eval/plumb"
)

// Forecast is the expected usage of one session, and of judging it.
type Forecast struct{ Session, Judging Part }

// Part is the expected usage of a part of a session, and its cap. Unpriced means that no price is
// known, and that the caller has said so: its cost will not be known.
type Part struct {
	Expected, Cap Use
	Unpriced      bool
}

// Use is an amount of the limited resources.
type Use struct{ CostUSD, Tokens float64 }

// Unbounded is the cap if no cap is known.
func Unbounded() Use { return Use{math.Inf(1), math.Inf(1)} }

// amount is a Use by dimension.
type amount [2]float64

// The dimensions of an amount.
const (
	cost = iota
	tokens
)

func (u Use) amount() amount { return amount{cost: u.CostUSD, tokens: u.Tokens} }

// plausible is the largest believable token count of a session.
const plausible = 1 << 40

// slack is the part of a limit that is allowed for rounding.
const slack = 1e-9

// ledger tracks the spent usage of the run and the caps of the sessions in flight.
type ledger struct {
	limits    amount // 0 means no limit
	forecast  func(*plumb.Case, plumb.RunnerInfo) Forecast
	unmetered bool
	note      func(plumb.Note)
	stop      func(plumb.StopReason)

	meters []runnerMeter // by runner

	mu              sync.Mutex
	spent, reserved amount
	over            plumb.StopReason // if set, no session is admitted
	inFlight        int              // reservations
	settled         chan struct{}    // closed and replaced when a part settles
}

// runnerMeter holds the measured usage of a runner's sessions, and of judging them.
type runnerMeter struct {
	info         plumb.RunnerInfo
	own, judging meter
}

// meter holds the measured usage of one part of the sessions of one runner.
type meter struct {
	who     string  // named in notes
	seen    [2]bool // a usage was measured
	most    amount  // the largest measured usage
	overran [2]bool // a session used more than its cap
	silent  [2]bool // a successful session did not report its usage
	counted bool    // a session reported its tokens
	open    [2]bool // usage is not known, and the run continues anyway
	blind   int     // parts in flight with neither a cap nor a measurement
}

// part is a part of one session in flight.
type part struct {
	*meter
	expected, cap, held amount
	blind               bool
}

// reservation is the usage reserved for one session in flight. A nil reservation holds nothing.
type reservation struct {
	l            *ledger
	own, judging *part // nil once settled
}

// newLedger counts the usage of the run so far. It reads the sessions of unfinished executions from
// the log. It returns nil if there is no limit; all methods of a nil ledger do nothing.
func newLedger(e *engine) (*ledger, error) {
	if e.MaxCostUSD <= 0 && e.MaxTokens <= 0 {
		return nil, nil
	}
	l := &ledger{
		limits: amount{max(e.MaxCostUSD, 0), float64(max(e.MaxTokens, 0))}, forecast: e.Forecast, unmetered: e.AllowUnmetered,
		note: func(n plumb.Note) { _ = e.note(n) }, // if the log is broken, the next event ends the run
		stop: e.end, settled: make(chan struct{}),
	}
	if l.forecast == nil {
		l.forecast = func(*plumb.Case, plumb.RunnerInfo) Forecast {
			return Forecast{Part{Cap: Unbounded()}, Part{Cap: Unbounded()}}
		}
	}
	for _, r := range e.Runners {
		info := r.Info()
		l.meters = append(l.meters, runnerMeter{
			info: info, own: meter{who: info.ID}, judging: meter{who: "the judge or embedder of " + info.ID},
		})
	}
	if e.AllowUnmetered {
		for i := range l.meters {
			m := &l.meters[i]
			for k := range e.Suite.Cases {
				f := l.forecast(&e.Suite.Cases[k], m.info)
				m.own.open[cost] = m.own.open[cost] || f.Session.Unpriced
				m.judging.open[cost] = m.judging.open[cost] || f.Judging.Unpriced
			}
		}
	}
	for n := range e.state.Executions {
		x, c, runner := &e.state.Executions[n], &e.Suite.Cases[n/len(e.Runners)], n%len(e.Runners)
		if x.State == plumb.ExecutionDone && e.Sampler == nil { // with a Sampler it may have later sessions
			l.recount(x, c, runner)
			continue
		}
		open, err := e.earlier(n)
		if err != nil {
			return nil, err
		}
		for _, sessions := range open {
			for i := range sessions {
				r := l.reservation(c, runner, false)
				l.charge(r.own, ownUse(&sessions[i]))
				l.charge(r.judging, judgingUse(&sessions[i]))
			}
		}
	}
	for i := range l.meters {
		for _, m := range []*meter{&l.meters[i].own, &l.meters[i].judging} {
			if blind := l.blind(m); blind != [2]bool{} {
				l.note(l.goBlind(m, blind))
			}
		}
	}
	return l, nil
}

// recount adds the usage of an execution that an earlier process finished.
func (l *ledger) recount(x *plumb.Execution, c *plumb.Case, runner int) {
	m, asked := &l.meters[runner], float64(x.Sessions-x.Cached)
	if m.info.Kind == plumb.RunnerReplay {
		asked = 0
	}
	reported := plumb.ReportedInput | plumb.ReportedOutput
	own, known := amount{
		x.CostUSD, float64(x.InputTokens) + float64(x.OutputTokens),
	}, [2]bool{x.Priced, x.Reported&reported == reported}
	judging := amount{x.JudgeCostUSD, float64(x.JudgeTokens)}
	m.own.counted = m.own.counted || asked > 0 && known[tokens]
	most := l.forecast(c, m.info).Session.Cap.amount()
	for d := range own {
		switch {
		case asked <= 0:
		case known[d]:
			l.spent[d] += own[d]
			m.own.measure(d, own[d]/asked)
		case x.Outcome.Measured():
			m.own.silent[d] = true
			if !math.IsInf(most[d], 1) {
				l.spent[d] += most[d] * asked
			}
		}
		if l.spent[d] += judging[d]; judging[d] > 0 {
			m.judging.measure(d, judging[d]/float64(max(x.Sessions, 1)))
		}
	}
}

// admit reserves the cap of a session, or returns the limit that its expected usage would exceed.
// If only sessions in flight prevent it, admit waits for their actual usage. It gives up when
// stopping is closed. judged means that the session already exists and only has to be judged.
func (l *ledger) admit(
	c *plumb.Case, runner int, judged bool, stopping <-chan struct{},
) (*reservation, plumb.StopReason) {
	if l == nil {
		return nil, ""
	}
	r := l.reservation(c, runner, judged)
	for {
		select {
		case <-stopping:
			return nil, plumb.StopInterrupted
		default:
		}
		stop, settled := l.reserve(r)
		switch {
		case stop != "":
			return nil, stop
		case settled == nil:
			return r, ""
		}
		select {
		case <-settled:
		case <-stopping:
		}
	}
}

// reservation returns the reservation for a session of the case on a runner.
func (l *ledger) reservation(c *plumb.Case, runner int, judged bool) *reservation {
	m := &l.meters[runner]
	f := l.forecast(c, m.info)
	r := &reservation{l: l, judging: newPart(&m.judging, f.Judging)}
	if !judged {
		r.own = newPart(&m.own, f.Session)
	}
	return r
}

func newPart(m *meter, p Part) *part {
	return &part{meter: m, expected: p.Expected.amount(), cap: p.Cap.amount()}
}

// parts returns the parts that are not settled.
func (r *reservation) parts() []*part {
	return slices.DeleteFunc([]*part{r.own, r.judging}, func(p *part) bool { return p == nil })
}

// reserve tries to admit once. It reserves, or returns the spent limit, or returns a channel that
// is closed when it is worth another try.
func (l *ledger) reserve(r *reservation) (stop plumb.StopReason, settled <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over != "" {
		return l.over, nil
	}
	fits := true
	for d, limit := range l.limits {
		if limit <= 0 {
			continue
		}
		expected, free := 0.0, true
		for _, p := range r.parts() {
			e := p.want(d)
			expected += e
			free = free && p.cap[d] == 0 && !p.overran[d]
			fits = fits && (!p.blindIn(d) || p.meter.blind == 0)
		}
		limit *= 1 + slack
		switch {
		case free:
		case l.spent[d]+expected > limit:
			return [...]plumb.StopReason{plumb.StopCost, plumb.StopTokens}[d], nil
		case l.spent[d]+l.reserved[d]+expected > limit:
			fits = false
		}
	}
	if !fits {
		return "", l.settled
	}
	l.inFlight++
	for _, p := range r.parts() {
		for d, limit := range l.limits {
			l.reserved[d] += p.held[d]
			p.blind = p.blind || limit > 0 && p.blindIn(d)
		}
		if p.blind {
			p.meter.blind++
		}
	}
	return "", nil
}

// blindIn reports whether the usage of the part is unknown, so that only one such part may be in
// flight.
func (p *part) blindIn(d int) bool { return math.IsInf(p.cap[d], 1) && !p.seen[d] && !p.open[d] }

// want sets the reserved amount: the cap or, if the cap is unknown or was exceeded, the largest
// measured usage. It returns the expected usage.
func (p *part) want(d int) (expected float64) {
	expected = p.expected[d]
	if p.seen[d] {
		expected = p.most[d]
	}
	switch {
	case math.IsInf(p.cap[d], 1):
		p.held[d] = expected
	case p.overran[d]:
		p.held[d] = max(p.cap[d], p.most[d])
	default:
		p.held[d] = p.cap[d]
	}
	return min(expected, p.held[d])
}

func (m *meter) measure(d int, used float64) {
	m.seen[d], m.most[d] = true, max(m.most[d], used)
}

// answered settles the usage of the session itself as soon as it has ended; the part for judging
// stays reserved. It ends the run if the budget cannot be enforced.
func (r *reservation) answered(s *session) {
	if r != nil {
		r.settle(&r.own, ownUse(s))
	}
}

// judged settles the usage of judging a session.
func (r *reservation) judged(s *session) {
	if r != nil {
		r.settle(&r.judging, judgingUse(s))
	}
}

// release settles the rest as unused.
func (r *reservation) release() {
	if r != nil {
		r.settle(&r.own, metered{})
		r.settle(&r.judging, metered{})
	}
}

func (r *reservation) settle(at **part, m metered) {
	p, l := *at, r.l
	if p == nil {
		return
	}
	l.mu.Lock()
	*at = nil
	if p.blind {
		p.meter.blind--
	}
	for d := range p.held {
		l.reserved[d] = max(l.reserved[d]-p.held[d], 0)
	}
	if r.own == nil && r.judging == nil {
		if l.inFlight--; l.inFlight == 0 {
			l.reserved = amount{} // remove rounding errors
		}
	}
	before := p.overran
	missing := l.charge(p, m)
	overran := p.overran != before
	var note plumb.Note
	blind := l.blind(p.meter)
	if blind != [2]bool{} {
		note = l.goBlind(p.meter, blind)
	}
	close(l.settled)
	l.settled = make(chan struct{})
	l.mu.Unlock()

	// Making a note durable takes time, so it happens outside the lock.
	if overran {
		l.note(plumb.Note{
			Level: "warning",
			Text: fmt.Sprintf("a session of %s used more than its cap; "+
				"the run may exceed its budget by more than one session", p.who),
			Hint: "the server does not respect the cap on output tokens, or it costs more than the known price",
		})
	}
	switch {
	case blind != [2]bool{}:
		l.note(note)
	case missing:
		text := p.who + " reported no usage for a session, or an impossible one"
		if !m.missing[tokens] {
			text = "the cost of a session of " + p.who + " is unknown"
		}
		l.note(plumb.Note{Level: "warning", Text: text + "; what was reserved for it counts against the budget"})
	}
}

// blind reports which usage of a part was never known, so that the spent amount is not known either.
func (l *ledger) blind(m *meter) (blind [2]bool) {
	for d, limit := range l.limits {
		blind[d] = limit > 0 && m.silent[d] && !m.seen[d] && !m.open[d]
	}
	return blind
}

// goBlind ends the run because the budget cannot be enforced, or lets it continue if the user
// allowed that. It returns the note for the user.
func (l *ledger) goBlind(m *meter, blind [2]bool) plumb.Note {
	what := "the budget"
	if blind[cost] != blind[tokens] && l.limits[cost] > 0 && l.limits[tokens] > 0 {
		what = map[bool]string{true: "the cost budget", false: "the token budget"}[blind[cost]]
	}
	why := m.who + " does not report its usage"
	if !blind[tokens] && m.counted {
		why = "the cost of the sessions of " + m.who + " is unknown"
	}
	n := plumb.Note{Level: "warning", Text: what + " cannot be enforced: " + why}
	if l.unmetered {
		for d := range blind {
			m.open[d] = m.open[d] || blind[d]
		}
		n.Text += "; the run continues because of --allow-unmetered"
		return n
	}
	l.over = plumb.StopUnmetered
	l.stop(l.over)
	n.Hint = "remove the budget, or continue without it with --allow-unmetered"
	return n
}

// charge adds the usage of a part to the spent amount. If it was not reported, the reserved amount
// counts, and charge returns true unless the user knows that it never is.
func (l *ledger) charge(p *part, m metered) (missing bool) {
	p.counted = p.counted || m.asked && !m.missing[tokens]
	for d, limit := range l.limits {
		if limit <= 0 {
			continue
		}
		if m.missing[d] {
			missing = missing || !p.open[d]
			p.silent[d] = p.silent[d] || m.whole
			p.want(d)
			l.spent[d] += max(p.held[d], m.used[d])
			continue
		}
		l.spent[d] += m.used[d]
		if m.asked {
			p.measure(d, m.used[d])
			p.overran[d] = p.overran[d] || m.used[d] > p.cap[d]*(1+slack)
		}
	}
	return missing
}

// metered is the reported usage of a part of a session.
type metered struct {
	used    amount
	missing [2]bool // not all usage was reported
	asked   bool    // a request was made, so used is a measurement
	whole   bool    // no error occurred, so a missing usage is never reported
}

// ownUse returns the usage of the session itself. A cached answer and a recording use nothing. A
// session that broke off before the first answer uses nothing either, unless it reached its time
// limit: providers bill answers that the client no longer waits for.
func ownUse(s *session) metered {
	r := s.report
	if r != nil && (r.Cached || r.Recorded) {
		return metered{}
	}
	u := used(s)
	m := metered{asked: true, whole: s.failure == nil && r != nil}
	if m.missing[cost] = u.cost == nil; !m.missing[cost] {
		m.used[cost] = *u.cost
	}
	m.missing[tokens] = u.usage.InputTokens == nil || u.usage.OutputTokens == nil
	m.used[tokens] = float64(u.usage.Tokens())
	if s.failure != nil && !r.Began() && s.failure.Origin != plumb.OriginTimeout && m.missing[cost] &&
		m.used[tokens] == 0 {
		return metered{}
	}
	return m
}

// judgingUse returns the usage of judging a session; nothing if it was not judged.
func judgingUse(s *session) metered {
	if s.judgement == nil {
		return metered{}
	}
	u := used(s)
	m := metered{asked: s.failure == nil, whole: true, used: amount{tokens: float64(u.judgeUsage.Tokens())}}
	if u.judgeCost != nil {
		m.used[cost] = *u.judgeCost
	}
	for i := range s.judgement.Verdicts {
		v := &s.judgement.Verdicts[i]
		if v.Asked == nil || v.Asked.Requests == 0 {
			continue
		}
		m.missing[cost] = m.missing[cost] || validCost(v.Asked.CostUSD) == nil
		// embedders have no output
		m.missing[tokens] = m.missing[tokens] || v.Asked.Usage.InputTokens == nil || !plausibleUsage(&v.Asked.Usage)
		m.whole = m.whole && v.Error == nil
	}
	return m
}

// use is the usage of one session, and of judging it.
type use struct {
	usage, judgeUsage plumb.Usage
	cost, judgeCost   *float64
}

// used adds up the usage of s. A cached answer or a recording costs nothing now. Impossible counts
// are treated as not reported.
func used(s *session) (u use) {
	if r := s.report; r != nil {
		if u.usage, u.cost = r.Usage, validCost(r.CostUSD); !plausibleUsage(&u.usage) {
			u.usage.InputTokens, u.usage.OutputTokens, u.usage.TotalTokens = nil, nil, nil
			u.usage.ReasoningTokens, u.usage.CacheTokens, u.usage.CacheWriteTokens = nil, nil, nil
			u.usage.Total()
			u.cost = nil // it may be computed from them
		}
		if r.Cached || r.Recorded {
			u.cost = new(0.0)
		}
	}
	if s.judgement == nil {
		return u
	}
	for i := range s.judgement.Verdicts {
		if asked := s.judgement.Verdicts[i].Asked; asked != nil && plausibleUsage(&asked.Usage) {
			u.judgeUsage.Add(asked.Usage)
			u.judgeCost = addCosts(u.judgeCost, validCost(asked.CostUSD))
		}
	}
	return u
}

// plausibleUsage reports whether the token counts are possible.
func plausibleUsage(u *plumb.Usage) bool {
	for _, n := range []*int64{u.InputTokens, u.OutputTokens, u.ReasoningTokens, u.CacheTokens, u.CacheWriteTokens} {
		if n != nil && (*n < 0 || *n > plausible) {
			return false
		}
	}
	return true
}

// validCost returns usd, or nil if it cannot be a cost.
func validCost(usd *float64) *float64 {
	if usd == nil || math.IsNaN(*usd) || math.IsInf(*usd, 0) || *usd < 0 {
		return nil
	}
	return usd
}

// addCosts adds two costs. If one is unknown, it returns the other.
func addCosts(a, b *float64) *float64 {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	default:
		return new(min(*a+*b, math.MaxFloat64))
	}
}
