package text

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// day is what people call a day when they name an age: 24 hours.
const day = 24 * time.Hour

// century is more than any duration that people mean, and far below what a [time.Duration] holds.
const century = 36_525 * day

// Duration renders a duration with its two largest units, without rounding up: 42ms, 1.5s, 24s,
// 1m 42s, 1h 1m, 30d. [ParseDuration] reads this form.
func Duration(d time.Duration) string {
	two := func(large, small time.Duration, form string) string {
		text := fmt.Sprintf(form, d/large, d%large/small)
		long, rest, _ := strings.Cut(text, " ")
		if rest[0] == '0' {
			return long
		}
		return text
	}
	switch {
	case d <= 0:
		return "0ms"
	case d < time.Second:
		return strconv.FormatInt(d.Milliseconds(), 10) + "ms"
	case d < 10*time.Second:
		return strings.TrimSuffix(fmt.Sprintf("%d.%d", d/time.Second, d%time.Second/(100*time.Millisecond)), ".0") + "s"
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return two(time.Minute, time.Second, "%dm %ds")
	case d < 2*day:
		return two(time.Hour, time.Minute, "%dh %dm")
	default:
		return two(day, time.Hour, "%dd %dh")
	}
}

// Exact renders a duration with all of its units down to milliseconds: 1d 2h 3m 4s 5ms.
// [ParseDuration] reads it back.
func Exact(d time.Duration) string {
	var parts []string
	for _, unit := range []struct {
		of   time.Duration
		name string
	}{{day, "d"}, {time.Hour, "h"}, {time.Minute, "m"}, {time.Second, "s"}, {time.Millisecond, "ms"}} {
		if n := d / unit.of; n > 0 {
			parts = append(parts, strconv.FormatInt(int64(n), 10)+unit.name)
			d %= unit.of
		}
	}
	if parts == nil {
		return "0"
	}
	return strings.Join(parts, " ")
}

// Millis is [Duration] of milliseconds, as JSON has durations.
func Millis(ms int64) string { return Duration(time.Duration(ms) * time.Millisecond) }

// ParseDuration reads a duration in the form of [time.ParseDuration], which may also have days, weeks
// and spaces: 90s, 1h30m, "1m 42s", 30d, 2w.
func ParseDuration(s string) (time.Duration, error) {
	var sum time.Duration
	rest := strings.ReplaceAll(s, " ", "")
	for _, unit := range []struct {
		name string
		of   time.Duration
	}{{"w", 7 * day}, {"d", day}} {
		number, after, found := strings.Cut(rest, unit.name)
		if !found {
			continue
		}
		n, err := strconv.ParseUint(number, 10, 16)
		if err != nil || sum+time.Duration(n)*unit.of > century {
			return 0, notDuration(s)
		}
		if sum, rest = sum+time.Duration(n)*unit.of, after; rest == "" {
			return sum, nil
		}
	}
	d, err := time.ParseDuration(rest)
	if err != nil || sum > 0 && (d < 0 || d > century) {
		return 0, notDuration(s)
	}
	return sum + d, nil
}

func notDuration(s string) error {
	return fmt.Errorf("%q is not a duration; examples are 90s, 10m, 1h30m and 30d", s)
}
