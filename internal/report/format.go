package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/analyze"
)

// duration renders milliseconds with their two largest units: 42ms, 1.5s, 24s, 1m 42s, 1h 1m.
func duration(ms int64) string {
	switch s := ms / 1000; {
	case ms < 0:
		return "0ms"
	case ms < 1000:
		return strconv.FormatInt(ms, 10) + "ms"
	case s < 10:
		return strings.TrimSuffix(fmt.Sprintf("%d.%d", s, ms%1000/100), ".0") + "s"
	case s < 60:
		return fmt.Sprintf("%ds", s)
	case s < 3600:
		return strings.TrimSuffix(fmt.Sprintf("%dm %ds", s/60, s%60), " 0s")
	default:
		return strings.TrimSuffix(fmt.Sprintf("%dh %dm", s/3600, s%3600/60), " 0m")
	}
}

// count renders a number with thousands separators: 9,830.
func count[N int | int64](n N) string {
	digits := strconv.FormatInt(int64(n), 10)
	var b strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 && digits[i-1] != '-' {
			b.WriteByte(',')
		}
		b.WriteRune(d)
	}
	return b.String()
}

// plural renders a count with its noun.
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return count(n) + " " + noun + "s"
}

// Money renders US dollars with two significant digits below one dollar: $12.30, $0.0042.
func Money(usd float64) string {
	switch {
	case usd == 0:
		return "$0"
	case math.Abs(usd) >= 1:
		whole, fraction, _ := strings.Cut(strconv.FormatFloat(usd, 'f', 2, 64), ".")
		n, _ := strconv.ParseInt(whole, 10, 64) // a run that costs 10^18 dollars shows $0
		return "$" + count(n) + "." + fraction
	case math.Abs(usd) >= 0.1:
		return "$" + strconv.FormatFloat(usd, 'f', 2, 64)
	default:
		digits := min(9, 1-int(math.Floor(math.Log10(math.Abs(usd)))))
		return "$" + strconv.FormatFloat(usd, 'f', digits, 64)
	}
}

// round12 removes the noise in the last digits of a sum of fractions: 12 digits are left.
func round12(x float64) float64 {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 12, 64), 64)
	if err != nil {
		return x
	}
	return rounded
}

// percent renders a share without rounding up to 100 % or down to 0 %.
func percent(share float64) string {
	p := math.Round(share * 100)
	switch {
	case p == 100 && share < 1:
		return ">99 %"
	case p == 0 && share > 0:
		return "<1 %"
	}
	return strconv.FormatFloat(p, 'f', 0, 64) + " %"
}

// rateCells renders a rate for the tables of all reports: passed of measured, rate, interval,
// coverage.
func rateCells(r analyze.Rate, dash string) []string {
	rate, interval := "n/a", "n/a"
	if value, ok := r.Value(); ok {
		rate, interval = percent(value), dash
		if lo, hi, ok := r.Interval(); ok {
			interval = shares(lo, hi, dash)
		}
	}
	return []string{
		count(r.Passed) + "/" + count(r.Measured()), rate, interval, count(r.Measured()) + "/" + count(r.Planned),
	}
}

// shares renders the bounds of a share. They are rounded outward: the shown interval is never
// narrower than the computed one.
func shares(lo, hi float64, dash string) string {
	return fmt.Sprintf("%.0f%s%.0f %%", math.Floor(lo*100), dash, math.Ceil(hi*100))
}

// sampleWords describes the pass rate of repetitions: "rate 78 % (234/300 samples, 95 % 72–83 %)".
func sampleWords(x *analyze.Repetitions, dash string) string {
	rate, interval := percent(float64(x.Passed)/float64(x.Measured)), ""
	if x.Rate.OK {
		rate, interval = percent(x.Rate.Value), ", 95 % "+shares(x.Rate.Lo, x.Rate.Hi, dash)
	}
	return fmt.Sprintf("rate %s (%s/%s samples%s)", rate, count(x.Passed), count(x.Measured), interval)
}

// timesWords describes how long the cases took, or returns "" when none was measured.
func timesWords(run *plumb.Run, dash string) string {
	t := analyze.Times(run)
	if t.N == 0 {
		return ""
	}
	median := duration(t.P50) + " median"
	if t.High > 0 {
		median += " (" + duration(t.Low) + dash + duration(t.High) + ")"
	}
	return fmt.Sprintf("a case %s, %s p90, %s max", median, duration(t.P90), duration(t.Max))
}

// verdictWords summarizes a run in one line. With repetitions, the rate is that of the samples.
func verdictWords(run *plumb.Run, r analyze.Rate, dash string) string {
	if r.Planned == 0 {
		return "nothing to run: no case was selected"
	}
	parts := []string{fmt.Sprintf("%s/%s pass", count(r.Passed), count(r.Planned))}
	if x := r.Repetitions(run); x.Repeated && x.Stopped == 0 && x.Measured > 0 {
		parts[0] = sampleWords(&x, dash) + fmt.Sprintf(", %s/%s cases always pass", count(r.Passed), count(r.Planned))
	}
	if r.UnexpectedPassed > 0 {
		parts[0] += fmt.Sprintf(" (%s unexpectedly)", count(r.UnexpectedPassed))
	}
	if r.Failed > 0 {
		fail := count(r.Failed) + " fail"
		switch r.ExpectedFailed {
		case 0:
		case r.Failed:
			fail += " as expected"
		default:
			fail += fmt.Sprintf(" (%s as expected)", count(r.ExpectedFailed))
		}
		parts = append(parts, fail)
	}
	if r.Errored > 0 {
		parts = append(parts, count(r.Errored)+" could not be measured")
	}
	if n := r.NotRun(); n > 0 {
		parts = append(parts, count(n)+" not run")
	}
	return strings.Join(parts, ", ")
}
