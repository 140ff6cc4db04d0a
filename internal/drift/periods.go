package drift

// comparePeriods compares the runs of two periods of a panel, wherever they lie in time, with the
// day-level tests of all statistics. p is the smallest p-value. ok is false if no test is possible,
// as with fewer than 10 days of data before or fewer than 3 after. The periods have at most 30 days
// each.
func comparePeriods(before, after []Run) (p float64, ok bool) {
	if len(before) == 0 || len(after) == 0 {
		return 0, false
	}
	first, end := days(before)
	onset, last := days(after)
	shift := onset - 1 - end // the first period ends on the day before the second one
	panel := newPanel(Rules{})
	for _, r := range before {
		r.ID, r.Day = "before\x00"+r.ID, r.Day+shift
		panel.add(r)
	}
	for _, r := range after {
		panel.add(r)
	}
	spans := panel.newSpans(last)
	p = 1
	window := window{day: last, length: last - onset + 1, epoch: first + shift}
	for _, statistic := range statistics() {
		span := spans.of(window.epoch, statistic)
		if span == nil {
			continue
		}
		if test := span.test(window, statistic); test != nil {
			p, ok = min(p, test.pooled().p), true
		}
	}
	return p, ok
}

// days returns the first and the last day of runs.
func days(runs []Run) (first, last int) {
	first, last = runs[0].Day, runs[0].Day
	for i := range runs {
		first, last = min(first, runs[i].Day), max(last, runs[i].Day)
	}
	return first, last
}
