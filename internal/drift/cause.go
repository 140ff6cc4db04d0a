package drift

import (
	"cmp"
	"slices"
)

// The causes of a drift event. They follow from recorded facts, never from the statistics alone.
const (
	CauseSetup    = "your setup changed"
	CauseProvider = "provider changed"
	CauseUnknown  = "cannot tell"
)

// Cause is the cause of an alarm.
type Cause struct {
	Cause string
	// Facts are the recorded facts that changed within the onset range.
	Facts []Fact
}

// Fact is a fact that changed for some submitters.
type Fact struct {
	Provider            bool // a fact of the provider, not of the setup of the submitters
	Name, Before, After string
	Submitters          []string
}

// cause compares the facts recorded before the onset range with those after it.
func (t *windowTest) cause(a *Alarm, own bool) Cause {
	c := Cause{Cause: CauseUnknown}
	facts := map[[4]string][]string{}
	clients, providers := make([]bool, len(t.names)), 0
	recorded := make([]bool, len(t.names))
	for s, name := range t.names {
		before, after := t.around(s, a)
		if before == nil || after == nil {
			continue
		}
		recorded[s] = len(before.client) > 0
		for _, key := range changedFacts(before.client, after.client) {
			clients[s] = true
			fact := [4]string{"client", key, before.client[key], after.client[key]}
			facts[fact] = append(facts[fact], name)
		}
		moved := changedFacts(before.provider, after.provider)
		for _, key := range moved {
			fact := [4]string{"provider", key, before.provider[key], after.provider[key]}
			facts[fact] = append(facts[fact], name)
		}
		if len(moved) > 0 {
			providers++
		}
	}
	for key, names := range facts {
		c.Facts = append(c.Facts, Fact{key[0] == "provider", key[1], key[2], key[3], names})
	}
	slices.SortFunc(c.Facts, func(a, b Fact) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Before, b.Before), cmp.Compare(a.After, b.After))
	})
	quorum := 2
	if own && len(t.names) == 1 {
		quorum = 1
	}
	setups := slices.Contains(clients, true)
	switch {
	case setups && !slices.Contains(clients, false):
		// Nobody is left who could tell the setup from the provider.
	case setups && t.without(clients).p > DeletionAlpha:
		c.Cause = CauseSetup
	case !setups && providers >= quorum, t.sureWithout(clients, recorded, own):
		c.Cause = CauseProvider
	}
	return c
}

// around returns the last run of a submitter before the onset range, and its first one after it: two
// days later, because an onset can be too early by as much, or its last one.
func (t *windowTest) around(submitter int, a *Alarm) (before, after *panelRun) {
	const tolerance = 2
	for i, at := range t.runs {
		r := t.span.runs[at]
		if t.submitter[i] != submitter {
			continue
		}
		if r.day < a.OnsetLow {
			before = r
		}
		if r.day >= a.OnsetLow && (after == nil || after.day < a.OnsetHigh+tolerance) {
			after = r
		}
	}
	return before, after
}

// changedFacts returns the names of facts that both sides recorded with different values.
func changedFacts(before, after map[string]string) []string {
	var names []string
	for name, value := range before {
		if now, ok := after[name]; ok && now != value {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// sureWithout reports whether the test of the submitters whose setup is recorded and did not change
// still rejects, also without those who may lie.
func (t *windowTest) sureWithout(clients, recorded []bool, own bool) bool {
	if own || !slices.Contains(recorded, true) {
		return false
	}
	skip := make([]bool, len(t.names))
	left := 0
	for s := range skip {
		if skip[s] = clients[s] || !recorded[s]; !skip[s] {
			left++
		}
	}
	liars := (left + 3) / 4
	if left-liars < 2 {
		return false
	}
	pooled := t.without(skip)
	if pooled.p > testAlpha {
		return false
	}
	// The most influential submitters are the ones whose removal decides.
	influence := t.influences(pooled.sign)
	order := make([]int, 0, left)
	for s := range skip {
		if !skip[s] {
			order = append(order, s)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(influence[b], influence[a]) })
	for _, s := range order[:liars] {
		skip[s] = true
	}
	r := t.without(skip)
	return r.p <= DeletionAlpha && r.sign == pooled.sign
}
