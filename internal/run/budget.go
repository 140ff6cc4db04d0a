package run

import (
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/plumb-eval/plumb"
)

// Budget limits what a run may use; a zero field is no limit. What was not started for it is skipped.
//
// A session starts when it fits beside what is spent and the most that the others in flight can use. So a run spends at most
// the cap of one session more than its budget, wherever caps are known and usage is reported.
type Budget struct {
	CostUSD  float64
	Tokens   int64
	Duration time.Duration
	// Forecast says what a session of the case on a runner uses; nil means that nothing is known.
	Forecast func(c *plumb.Case, r plumb.RunnerInfo) Forecast
	// Unmetered lets the run go on when a runner, or who judges, does not report what is used.
	Unmetered bool
}

// Forecast is what one session uses by itself, and what those use who judge it.
type Forecast struct{ Session, Judging Part }

// Part is what a part of a session is expected to use, and the most that it can use.
type Part struct{ Expected, Cap Use }

// Use is an amount of what a budget limits.
type Use struct{ CostUSD, Tokens float64 }

// Unbounded is the cap where none is known.
func Unbounded() Use { return Use{math.Inf(1), math.Inf(1)} }

// amount is a Use by dimension.
type amount [2]float64

// The dimensions of an amount.
const (
	cost = iota
	tokens
)

func (u Use) amount() amount { return amount{cost: u.CostUSD, tokens: u.Tokens} }

// plausible is the largest number of tokens that a session is believed to have used.
const plausible = 1 << 40

// slack is the part of a limit that rounding may take.
const slack = 1e-9

// ledger keeps what the run has used, and the most that the sessions in flight can use.
type ledger struct {
	limits    amount // 0 is none
	forecast  func(*plumb.Case, plumb.RunnerInfo) Forecast
	unmetered bool
	note      func(plumb.Note)
	stop      func(plumb.StopReason)

	mu              sync.Mutex
	spent, reserved amount
	over            plumb.StopReason // nothing is admitted any more
	inFlight        int              // reservations
	meters          []runnerMeter    // by runner
	settled         chan struct{}    // closed, and replaced, when something settles
}

// runnerMeter has what is known of a runner's sessions, and of their judging.
type runnerMeter struct {
	info         plumb.RunnerInfo
	own, judging meter
}

// meter is what is known of what a part of the sessions of one runner uses.
type meter struct {
	who     string  // for notes
	seen    [2]bool // something was measured
	most    amount  // the most that was
	overran [2]bool // a session used more than its cap
	silent  [2]bool // a session that went well did not report what it used
	open    bool    // nothing is reported, and the run goes on all the same
	blind   int     // parts in flight of which neither a cap nor a measurement is known
}

// part is a part of one session that is in flight.
type part struct {
	*meter
	expected, cap, held amount
	blind               bool
}

// reservation is what one session in flight holds. A nil one holds nothing.
type reservation struct {
	l            *ledger
	own, judging *part // nil once settled
}

// newLedger counts what the run has used so far; open has the sessions of executions that are not finished. It is nil, and
// all its methods do nothing, where there is no limit.
func newLedger(e *engine, open map[int]pending) *ledger {
	b := &e.Budget
	if b.CostUSD <= 0 && b.Tokens <= 0 {
		return nil
	}
	l := &ledger{
		limits: amount{max(b.CostUSD, 0), float64(max(b.Tokens, 0))}, forecast: b.Forecast, unmetered: b.Unmetered,
		note: func(n plumb.Note) { _ = e.note(n) }, // a log that cannot be written ends the run at its next event
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
	for n := range e.state.Executions {
		x, c, runner := &e.state.Executions[n], &e.Suite.Cases[n/len(e.Runners)], n%len(e.Runners)
		if x.State == plumb.ExecutionDone {
			l.recount(x, c, runner)
			continue
		}
		for _, attempts := range open[n] {
			for i := range attempts {
				r := l.reservation(c, runner, false)
				l.charge(r.own, ownUse(&attempts[i]))
				l.charge(r.judging, judgingUse(&attempts[i]))
			}
		}
	}
	for i := range l.meters {
		for _, m := range []*meter{&l.meters[i].own, &l.meters[i].judging} {
			if l.blind(m) {
				l.note(l.goBlind(m))
			}
		}
	}
	return l
}

// recount adds what the sessions of an execution used that an earlier process finished.
func (l *ledger) recount(x *plumb.Execution, c *plumb.Case, runner int) {
	m, asked := &l.meters[runner], float64(x.Sessions-x.Cached)
	if m.info.Kind == plumb.RunnerReplay {
		asked = 0
	}
	reported := plumb.ReportedInput | plumb.ReportedOutput
	own, known := amount{x.CostUSD, float64(x.InputTokens) + float64(x.OutputTokens)}, [2]bool{x.Priced, x.Reported&reported == reported}
	judging := amount{x.JudgeCostUSD, float64(x.JudgeTokens)}
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

// admit reserves the most that a session can use, or says which limit what is expected of it would exceed. While only sessions
// in flight stand in the way, it waits for what they really use; it gives up when stopping is closed. With judged the session
// was made before, and is only to be judged.
func (l *ledger) admit(c *plumb.Case, runner int, judged bool, stopping <-chan struct{}) (*reservation, plumb.StopReason) {
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

// reservation is what a session of the case on a runner would reserve.
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

// parts are those that are not settled.
func (r *reservation) parts() []*part {
	return slices.DeleteFunc([]*part{r.own, r.judging}, func(p *part) bool { return p == nil })
}

// reserve is one attempt to admit: it reserves, or says which limit is spent, or returns a channel that is closed when it is
// worth trying again.
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

// blindIn reports whether nothing says what the part uses, so that only one such part may be in flight.
func (p *part) blindIn(d int) bool { return math.IsInf(p.cap[d], 1) && !p.seen[d] && !p.open }

// want decides what the part holds: its cap or, where none is known or kept, the most that was seen so far. It returns what
// the part is expected to use.
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

// answered settles what a session used by itself, as soon as it has come back; what its judges can use stays reserved. It ends
// the run when that shows that the budget cannot be held.
func (r *reservation) answered(a *attempt) {
	if r != nil {
		r.settle(&r.own, ownUse(a))
	}
}

// judged settles what the judges of a session used.
func (r *reservation) judged(a *attempt) {
	if r != nil {
		r.settle(&r.judging, judgingUse(a))
	}
}

// release settles all that is left as not used.
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
			l.reserved = amount{} // what rounding left
		}
	}
	overran := p.overran
	missing := l.charge(p, m)
	overran[cost], overran[tokens] = p.overran[cost] && !overran[cost], p.overran[tokens] && !overran[tokens]
	blind, note := l.blind(p.meter), plumb.Note{}
	if blind {
		note = l.goBlind(p.meter)
	}
	close(l.settled)
	l.settled = make(chan struct{})
	l.mu.Unlock()

	// Notes are durable when they are made, which takes time and no lock.
	if overran[cost] || overran[tokens] {
		l.note(plumb.Note{
			Level: "warning", Text: fmt.Sprintf("%s used more for a session than it should be able to; the run may exceed its budget by more than one session", p.who),
			Hint: "the server does not keep to the cap on the tokens of an answer, or costs more than the price that is known",
		})
	}
	switch {
	case blind:
		l.note(note)
	case missing:
		l.note(plumb.Note{
			Level: "warning", Text: p.who + " did not report what a session used, or what it reported cannot be; the most that it can be counts against the budget",
		})
	}
}

// blind reports whether a part is never reported, so that what is spent is not known.
func (l *ledger) blind(m *meter) bool {
	for d, limit := range l.limits {
		if limit > 0 && m.silent[d] && !m.seen[d] {
			return true
		}
	}
	return false
}

// goBlind ends the run since the budget cannot be held, or lets it go on all the same. It returns what to say.
func (l *ledger) goBlind(m *meter) plumb.Note {
	n := plumb.Note{Level: "warning", Text: "the budget cannot be held: " + m.who + " does not report what is used"}
	if l.unmetered {
		m.open = true
		n.Text += "; the run goes on, as --allow-unmetered says"
		return n
	}
	l.over = plumb.StopUnmetered
	l.stop(l.over)
	n.Hint = "leave out the budget, or go on all the same with --allow-unmetered"
	return n
}

// charge adds what a part used to what is spent; what was not reported counts with what the part held. It reports whether that
// was so.
func (l *ledger) charge(p *part, m metered) (missing bool) {
	for d, limit := range l.limits {
		if limit <= 0 {
			continue
		}
		if m.missing[d] {
			missing = true
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

// metered is what a part of a session used, as far as that was reported.
type metered struct {
	used    amount
	missing [2]bool // used is not all
	asked   bool    // somebody was asked, so that it tells what such a part uses
	whole   bool    // nothing went wrong, so that what is missing is never reported
}

// ownUse is what a session itself used. An answer from the cache, and a recording, use nothing. Nor does a session that broke
// off before anything came back, unless it ran out of time: providers bill answers that nobody waited for.
func ownUse(a *attempt) metered {
	r := a.report
	if r != nil && (r.Cached || r.Recorded) {
		return metered{}
	}
	u := used(a)
	m := metered{asked: true, whole: a.failure == nil && r != nil}
	if m.missing[cost] = u.cost == nil; !m.missing[cost] {
		m.used[cost] = *u.cost
	}
	m.missing[tokens] = u.usage.InputTokens == nil || u.usage.OutputTokens == nil
	m.used[tokens] = float64(u.usage.Tokens())
	if a.failure != nil && !r.Began() && a.failure.Origin != plumb.OriginTimeout && m.missing[cost] && m.used[tokens] == 0 {
		return metered{}
	}
	return m
}

// judgingUse is what the judges of a session used. A session that was not judged used nothing.
func judgingUse(a *attempt) metered {
	if a.judgement == nil {
		return metered{}
	}
	u := used(a)
	m := metered{asked: a.failure == nil, whole: true, used: amount{tokens: float64(u.judgeUsage.Tokens())}}
	if u.judgeCost != nil {
		m.used[cost] = *u.judgeCost
	}
	for i := range a.judgement.Verdicts {
		v := &a.judgement.Verdicts[i]
		if v.Asked == nil || v.Asked.Requests == 0 {
			continue
		}
		m.missing[cost] = m.missing[cost] || believed(v.Asked.CostUSD) == nil
		m.missing[tokens] = m.missing[tokens] || v.Asked.Usage.InputTokens == nil || !sane(&v.Asked.Usage) // embedders have no output
		m.whole = m.whole && v.Error == nil
	}
	return m
}

// use is what one session used, and its judges.
type use struct {
	usage, judgeUsage plumb.Usage
	cost, judgeCost   *float64
}

// used adds up what a used. An answer from the cache, or a recording, cost nothing now. Figures that cannot be are taken as
// not reported.
func used(a *attempt) (u use) {
	if r := a.report; r != nil {
		if u.usage, u.cost = r.Usage, believed(r.CostUSD); !sane(&u.usage) {
			u.usage.InputTokens, u.usage.OutputTokens, u.usage.TotalTokens = nil, nil, nil
			u.usage.ReasoningTokens, u.usage.CacheTokens, u.usage.CacheWriteTokens = nil, nil, nil
			u.usage.Total()
			u.cost = nil // it may be reckoned from them
		}
		if r.Cached || r.Recorded {
			u.cost = new(0.0)
		}
	}
	if a.judgement == nil {
		return u
	}
	for i := range a.judgement.Verdicts {
		if asked := a.judgement.Verdicts[i].Asked; asked != nil && sane(&asked.Usage) {
			u.judgeUsage.Add(asked.Usage)
			u.judgeCost = plus(u.judgeCost, believed(asked.CostUSD))
		}
	}
	return u
}

// sane reports whether the token counts that were reported can be.
func sane(u *plumb.Usage) bool {
	for _, n := range []*int64{u.InputTokens, u.OutputTokens, u.ReasoningTokens, u.CacheTokens, u.CacheWriteTokens} {
		if n != nil && (*n < 0 || *n > plausible) {
			return false
		}
	}
	return true
}

// believed returns a cost, or nil where it cannot be one.
func believed(usd *float64) *float64 {
	if usd == nil || math.IsNaN(*usd) || math.IsInf(*usd, 0) || *usd < 0 {
		return nil
	}
	return usd
}

// plus adds two amounts of which either may be unknown; what is known is kept.
func plus(a, b *float64) *float64 {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	default:
		return new(min(*a+*b, math.MaxFloat64))
	}
}
