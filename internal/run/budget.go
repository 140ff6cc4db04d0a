package run

import (
	"sync"

	"github.com/plumb-eval/plumb"
)

// ledger keeps what the run has used and what the sessions in flight are expected to use.
type ledger struct {
	limits Budget

	mu             sync.Mutex
	cost, reserved float64
	tokens, held   int64
	sessions       int
	settled        chan struct{} // closed, and replaced, when a session settles
}

// reservation is what one session is expected to use.
type reservation struct {
	cost   float64
	tokens int64
}

func newLedger(limits Budget, r *plumb.Run, open map[int]pending) *ledger {
	l := &ledger{
		limits: limits, cost: r.Totals.CostUSD, tokens: r.Totals.InputTokens + r.Totals.OutputTokens, sessions: r.Totals.Sessions,
		settled: make(chan struct{}),
	}
	for n, p := range open {
		if r.Executions[n].State == plumb.ExecutionDone {
			continue // already in the totals
		}
		for _, attempts := range p {
			for i := range attempts {
				l.settle(reservation{}, &attempts[i])
			}
		}
	}
	return l
}

// admit reserves what a session is expected to use, or says which limit it would exceed. While only the expectations of
// sessions in flight stand in the way, it waits for what they really use; it gives up when stopping is closed.
func (l *ledger) admit(c *plumb.Case, r plumb.RunnerInfo, stopping <-chan struct{}) (reservation, plumb.StopReason) {
	if l.limits.CostUSD <= 0 && l.limits.Tokens <= 0 {
		return reservation{}, ""
	}
	for {
		want, stop, settled := l.reserve(c, r)
		if stop != "" || settled == nil {
			return want, stop
		}
		select {
		case <-settled:
		case <-stopping:
			return reservation{}, plumb.StopInterrupted
		}
	}
}

// reserve is one attempt to admit: a reservation, or a limit, or a channel that is closed when it is worth trying again.
func (l *ledger) reserve(c *plumb.Case, r plumb.RunnerInfo) (want reservation, stop plumb.StopReason, settled <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.limits.Estimate != nil {
		want.cost, want.tokens = l.limits.Estimate(c, r)
	}
	if l.sessions > 0 {
		want.cost = max(want.cost, l.cost/float64(l.sessions))
		want.tokens = max(want.tokens, l.tokens/int64(l.sessions))
	}
	over := func(cost float64, tokens int64) plumb.StopReason {
		switch {
		case l.limits.CostUSD > 0 && cost > l.limits.CostUSD:
			return plumb.StopCost
		case l.limits.Tokens > 0 && tokens > l.limits.Tokens:
			return plumb.StopTokens
		}
		return ""
	}
	if stop := over(l.cost+want.cost, l.tokens+want.tokens); stop != "" {
		return reservation{}, stop, nil
	}
	if over(l.cost+l.reserved+want.cost, l.tokens+l.held+want.tokens) != "" {
		return reservation{}, "", l.settled
	}
	l.reserved += want.cost
	l.held += want.tokens
	return want, "", nil
}

// settle replaces a reservation by what the session used. a is nil where there was none after all.
func (l *ledger) settle(r reservation, a *attempt) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reserved -= r.cost
	l.held -= r.tokens
	close(l.settled)
	l.settled = make(chan struct{})
	if a == nil {
		return
	}
	u := used(a)
	l.sessions++
	l.tokens += u.usage.Tokens() + u.judgeUsage.Tokens()
	if u.cost != nil {
		l.cost += *u.cost
	}
	if u.judgeCost != nil {
		l.cost += *u.judgeCost
	}
}

// use is what one session used, and its judges.
type use struct {
	usage, judgeUsage plumb.Usage
	cost, judgeCost   *float64
}

// used adds up what a used. An answer from the cache, or a recording, cost nothing now.
func used(a *attempt) (u use) {
	if r := a.report; r != nil {
		u.usage = r.Usage
		u.cost = r.CostUSD
		if r.Cached || r.Recorded {
			u.cost = new(0.0)
		}
	}
	if a.judgement == nil {
		return u
	}
	for i := range a.judgement.Verdicts {
		if asked := a.judgement.Verdicts[i].Asked; asked != nil {
			u.judgeUsage.Add(asked.Usage)
			u.judgeCost = plus(u.judgeCost, asked.CostUSD)
		}
	}
	return u
}

// plus adds two amounts of which either may be unknown; what is known is kept.
func plus(a, b *float64) *float64 {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	default:
		return new(*a + *b)
	}
}
