package compare

import (
	"fmt"
	"slices"
	"strings"
)

// CopyWords says that cases are copies of others, as pairs of their names; "" without copies.
func CopyWords(copies [][2]string) string {
	if len(copies) == 0 {
		return ""
	}
	const most = 5
	var names []string
	for _, c := range copies[:min(len(copies), most)] {
		names = append(names, c[0]+" of "+c[1])
	}
	if more := len(copies) - most; more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	is := "cases are copies"
	if len(copies) == 1 {
		is = "case is a copy"
	}
	return fmt.Sprintf("%d %s with the same prompt and checks, and a case counts once: %s (--repeat measures a case again)",
		len(copies), is, strings.Join(names, ", "))
}

// dropCopies leaves out the pairs whose case is on one of the sides a copy of one that is paired
// already. Of several copies, the first one that is measured on all runners stays.
func (m *matcher) dropCopies() {
	measured := func(p [2]int) bool {
		return !slices.ContainsFunc(m.Runners, func(r RunnerPair) bool {
			return !anyMeasured(m.Base.At(p[0], r.BaseIndex)) || !anyMeasured(m.Cand.At(p[1], r.CandIndex))
		})
	}
	order := slices.Clone(m.pairs)
	slices.SortStableFunc(order, func(a, b [2]int) int {
		switch x, y := measured(a), measured(b); {
		case x == y:
			return 0
		case x:
			return -1
		default:
			return 1
		}
	})
	baseSeen, candSeen := map[string]string{}, map[string]string{} // the case that counts, by hash
	kept := map[[2]int]bool{}
	var copies [][2]string
	for _, p := range order {
		b, c := &m.Base.Cases[p[0]], &m.Cand.Cases[p[1]]
		of, known := candSeen[c.Hash]
		if !known {
			of, known = baseSeen[b.Hash]
		}
		if known {
			copies = append(copies, [2]string{c.ID, of})
			continue
		}
		kept[p] = true
		if c.Hash != "" {
			candSeen[c.Hash] = c.ID
		}
		if b.Hash != "" {
			baseSeen[b.Hash] = c.ID
		}
	}
	if len(copies) == 0 {
		return
	}
	m.pairs = slices.DeleteFunc(m.pairs, func(p [2]int) bool { return !kept[p] })
	slices.SortFunc(copies, func(a, b [2]string) int { return strings.Compare(a[0], b[0]) })
	m.Warnings = append(m.Warnings, CopyWords(copies))
}
