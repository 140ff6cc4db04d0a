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

// plausible is the largest believable token count of a session.
const plausible = 1 << 40

// slack is the part of a limit that is allowed for rounding.
const slack = 1e-9

// dimension is what a run uses of a resource that may be limited: money or tokens.
type dimension struct {
	limit           float64          // 0 means no limit
	stop            plumb.StopReason // why a run ends at the limit
	spent, reserved float64
}

func (d *dimension) limited() bool { return d.limit > 0 }

// gauge is the measured usage of one part of the sessions of one runner, in one dimension.
type gauge struct {
	*dimension
	seen    bool    // a usage was measured
	most    float64 // the largest measured usage
	overran bool    // a session used more than its cap
	silent  bool    // a successful session did not report its usage
	open    bool    // usage is not known, and the run continues anyway
}

// measure adds the usage of a number of sessions.
func (g *gauge) measure(used, sessions float64) {
	g.spent += used
	g.seen, g.most = true, max(g.most, used/sessions)
}

// blind reports whether the usage was never known, so that the spent amount is not known either.
func (g *gauge) blind() bool { return g.limited() && g.silent && !g.seen && !g.open }

// meter holds the measured usage of one part of the sessions of one runner.
type meter struct {
	who          string // named in notes
	cost, tokens gauge
	counted      bool // a session reported its tokens
	unbounded    int  // parts in flight with neither a cap nor a measurement
}

func (m *meter) blind() bool { return m.cost.blind() || m.tokens.blind() }

// runnerMeter holds the measured usage of a runner's sessions, and of judging them.
type runnerMeter struct {
	info         plumb.RunnerInfo
	own, judging meter
}

// ledger tracks the spent usage of the run and the caps of the sessions in flight.
type ledger struct {
	forecast func(*plumb.Case, plumb.RunnerInfo) Forecast
	lenient  bool // the run continues when its budget cannot be enforced
	note     func(plumb.Note)
	stop     func(plumb.StopReason)

	mu           sync.Mutex
	cost, tokens dimension
	meters       []runnerMeter    // by runner
	over         plumb.StopReason // if set, no session is admitted
	inFlight     int              // reservations
	settled      chan struct{}    // closed and replaced when a part settles
}

// claim is what a part of a session in flight may use, in one dimension.
type claim struct {
	*gauge
	expected, cap, held float64
}

// unbounded reports whether the usage is unknown, so that only one such part may be in flight.
func (c *claim) unbounded() bool { return math.IsInf(c.cap, 1) && !c.seen && !c.open }

// want sets the reserved amount: the cap or, if the cap is unknown or was exceeded, the largest
// measured usage. It returns the expected usage.
func (c *claim) want() (expected float64) {
	expected = c.expected
	if c.seen {
		expected = c.most
	}
	switch {
	case math.IsInf(c.cap, 1):
		c.held = expected
	case c.overran:
		c.held = max(c.cap, c.most)
	default:
		c.held = c.cap
	}
	return min(expected, c.held)
}

// charge adds the reported usage of m to the spent amount. If it was not reported, the reserved
// amount counts, and missing is true unless the user knows that it never is. overran is true for
// the first session that used more than its cap.
func (c *claim) charge(r reading, m *metered) (missing, overran bool) {
	switch {
	case !c.limited():
	case r.missing:
		missing = !c.open
		c.silent = c.silent || m.whole
		c.want()
		c.spent += max(c.held, r.used)
	case m.asked:
		c.measure(r.used, 1)
		overran = !c.overran && r.used > c.cap*(1+slack)
		c.overran = c.overran || overran
	default:
		c.spent += r.used
	}
	return missing, overran
}

// part is a part of one session in flight.
type part struct {
	meter        *meter
	cost, tokens claim
	unbounded    bool // counted by the meter
}

func newPart(m *meter, p Part) *part {
	return &part{
		meter: m, cost: claim{gauge: &m.cost, expected: p.Expected.CostUSD, cap: p.Cap.CostUSD},
		tokens: claim{gauge: &m.tokens, expected: p.Expected.Tokens, cap: p.Cap.Tokens},
	}
}

// in returns the claim of the part in a dimension.
func (p *part) in(d *dimension) *claim {
	if p.cost.dimension == d {
		return &p.cost
	}
	return &p.tokens
}

// charge adds the usage of the part to the spent amounts; see [claim.charge].
func (p *part) charge(m metered) (missing, overran bool) {
	p.meter.counted = p.meter.counted || m.asked && !m.tokens.missing
	missingCost, overCost := p.cost.charge(m.cost, &m)
	missingTokens, overTokens := p.tokens.charge(m.tokens, &m)
	return missingCost || missingTokens, overCost || overTokens
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
		forecast: e.Forecast, lenient: e.AllowUnmetered,
		note: func(n plumb.Note) { _ = e.note(n) }, // if the log is broken, the next event ends the run
		stop: e.end, settled: make(chan struct{}),
		cost:   dimension{limit: max(e.MaxCostUSD, 0), stop: plumb.StopCost},
		tokens: dimension{limit: float64(max(e.MaxTokens, 0)), stop: plumb.StopTokens},
	}
	if l.forecast == nil {
		l.forecast = func(*plumb.Case, plumb.RunnerInfo) Forecast {
			return Forecast{Part{Cap: Unbounded()}, Part{Cap: Unbounded()}}
		}
	}
	l.meters = make([]runnerMeter, len(e.Runners))
	for i, r := range e.Runners {
		info := r.Info()
		l.meters[i] = runnerMeter{
			info: info, own: l.meter(info.ID), judging: l.meter("the judge or embedder of " + info.ID),
		}
	}
	if l.lenient {
		for i := range l.meters {
			m := &l.meters[i]
			for k := range e.Suite.Cases {
				f := l.forecast(&e.Suite.Cases[k], m.info)
				m.own.cost.open = m.own.cost.open || f.Session.Unpriced
				m.judging.cost.open = m.judging.cost.open || f.Judging.Unpriced
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
				r.own.charge(ownUse(&sessions[i]))
				r.judging.charge(judgingUse(&sessions[i]))
			}
		}
	}
	for i := range l.meters {
		for _, m := range []*meter{&l.meters[i].own, &l.meters[i].judging} {
			if m.blind() {
				l.note(l.goBlind(m))
			}
		}
	}
	return l, nil
}

func (l *ledger) meter(who string) meter {
	return meter{who: who, cost: gauge{dimension: &l.cost}, tokens: gauge{dimension: &l.tokens}}
}

// limited returns the dimensions that have a limit.
func (l *ledger) limited() []*dimension {
	return slices.DeleteFunc([]*dimension{&l.cost, &l.tokens}, func(d *dimension) bool { return !d.limited() })
}

// recount adds the usage of an execution that an earlier process finished.
func (l *ledger) recount(x *plumb.Execution, c *plumb.Case, runner int) {
	m, asked := &l.meters[runner], float64(x.Sessions-x.Cached)
	if m.info.Kind == plumb.RunnerReplay {
		asked = 0
	}
	const reported = plumb.ReportedInput | plumb.ReportedOutput
	cost := reading{x.CostUSD, !x.Priced}
	tokens := reading{float64(x.InputTokens) + float64(x.OutputTokens), x.Reported&reported != reported}
	if asked > 0 {
		most, measured := l.forecast(c, m.info).Session.Cap, x.Outcome.Measured()
		m.own.counted = m.own.counted || !tokens.missing
		m.own.cost.recount(cost, asked, most.CostUSD, measured)
		m.own.tokens.recount(tokens, asked, most.Tokens, measured)
	}
	judged := float64(max(x.Sessions, 1))
	if x.JudgeCostUSD > 0 {
		m.judging.cost.measure(x.JudgeCostUSD, judged)
	}
	if x.JudgeTokens > 0 {
		m.judging.tokens.measure(float64(x.JudgeTokens), judged)
	}
}

// recount adds the usage of some sessions. If it was not reported, their cap counts.
func (g *gauge) recount(r reading, sessions, most float64, measured bool) {
	switch {
	case !r.missing:
		g.measure(r.used, sessions)
	case measured:
		g.silent = true
		if !math.IsInf(most, 1) {
			g.spent += most * sessions
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
	for _, d := range l.limited() {
		expected, free := 0.0, true
		for _, p := range r.parts() {
			c := p.in(d)
			expected += c.want()
			free = free && c.cap == 0 && !c.overran
			fits = fits && (!c.unbounded() || p.meter.unbounded == 0)
		}
		limit := d.limit * (1 + slack)
		switch {
		case free:
		case d.spent+expected > limit:
			return d.stop, nil
		case d.spent+d.reserved+expected > limit:
			fits = false
		}
	}
	if !fits {
		return "", l.settled
	}
	l.inFlight++
	for _, p := range r.parts() {
		for _, d := range l.limited() {
			c := p.in(d)
			d.reserved += c.held
			p.unbounded = p.unbounded || c.unbounded()
		}
		if p.unbounded {
			p.meter.unbounded++
		}
	}
	return "", nil
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
	if p.unbounded {
		p.meter.unbounded--
	}
	for _, d := range l.limited() {
		d.reserved = max(d.reserved-p.in(d).held, 0)
	}
	if r.own == nil && r.judging == nil {
		if l.inFlight--; l.inFlight == 0 {
			l.cost.reserved, l.tokens.reserved = 0, 0 // remove rounding errors
		}
	}
	missing, overran := p.charge(m)
	var note plumb.Note
	blind := p.meter.blind()
	if blind {
		note = l.goBlind(p.meter)
	}
	close(l.settled)
	l.settled = make(chan struct{})
	l.mu.Unlock()

	// Making a note durable takes time, so it happens outside the lock.
	who := p.meter.who
	if overran {
		l.note(plumb.Note{
			Level: "warning",
			Text: fmt.Sprintf("a session of %s used more than its cap; "+
				"the run may exceed its budget by more than one session", who),
			Hint: "the server does not respect the cap on output tokens, or it costs more than the known price",
		})
	}
	switch {
	case blind:
		l.note(note)
	case missing:
		text := who + " reported no usage for a session, or an impossible one"
		if !m.tokens.missing {
			text = "the cost of a session of " + who + " is unknown"
		}
		l.note(plumb.Note{Level: "warning", Text: text + "; what was reserved for it counts against the budget"})
	}
}

// goBlind ends the run because the budget cannot be enforced, or lets it continue if the user
// allowed that. It returns the note for the user.
func (l *ledger) goBlind(m *meter) plumb.Note {
	what := "the budget"
	switch cost, tokens := m.cost.blind(), m.tokens.blind(); {
	case cost == tokens || len(l.limited()) < 2:
	case cost:
		what = "the cost budget"
	default:
		what = "the token budget"
	}
	why := m.who + " does not report its usage"
	if !m.tokens.blind() && m.counted {
		why = "the cost of the sessions of " + m.who + " is unknown"
	}
	n := plumb.Note{Level: "warning", Text: what + " cannot be enforced: " + why}
	if l.lenient {
		m.cost.open = m.cost.open || m.cost.blind()
		m.tokens.open = m.tokens.open || m.tokens.blind()
		n.Text += "; the run continues because of --allow-unmetered"
		return n
	}
	l.over = plumb.StopUnmetered
	l.stop(l.over)
	n.Hint = "remove the budget, or continue without it with --allow-unmetered"
	return n
}

// metered is the reported usage of a part of a session.
type metered struct {
	cost, tokens reading
	asked        bool // a request was made, so the readings are measurements
	whole        bool // no error occurred, so a missing usage is never reported
}

// reading is the reported usage in one dimension. missing means that not all of it was reported.
type reading struct {
	used    float64
	missing bool
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
	if m.cost.missing = u.cost == nil; !m.cost.missing {
		m.cost.used = *u.cost
	}
	m.tokens.missing = u.usage.InputTokens == nil || u.usage.OutputTokens == nil
	m.tokens.used = float64(u.usage.Tokens())
	if s.failure != nil && !r.Began() && s.failure.Origin != plumb.OriginTimeout && m.cost.missing && m.tokens.used == 0 {
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
	m := metered{asked: s.failure == nil, whole: true, tokens: reading{used: float64(u.judgeUsage.Tokens())}}
	if u.judgeCost != nil {
		m.cost.used = *u.judgeCost
	}
	for i := range s.judgement.Verdicts {
		v := &s.judgement.Verdicts[i]
		if v.Asked == nil || v.Asked.Requests == 0 {
			continue
		}
		m.cost.missing = m.cost.missing || validCost(v.Asked.CostUSD) == nil
		// embedders have no output
		m.tokens.missing = m.tokens.missing || v.Asked.Usage.InputTokens == nil || !plausibleUsage(&v.Asked.Usage)
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
