package drift_test

import (
	"bufio"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/plumb-eval/plumb/internal/analyze"
	"github.com/plumb-eval/plumb/internal/drift"
)

// row is one row of the table of docs/drift.md: how many of the reference replicates were detected
// within 7, 14 and 30 days.
type row struct {
	scenario string
	n        int
	within   [3]int
	short    bool // the row is part of the short form
}

// reference is the table that the detectors must reach, from 8 or 20 replicates a row.
var reference = []row{
	{"text/quant", 8, [3]int{6, 8, 8}, true},
	{"text/quant_mask2", 8, [3]int{2, 4, 8}, false},
	{"text/quant_sparse", 8, [3]int{0, 2, 5}, false},
	{"text/ramp14", 8, [3]int{0, 5, 8}, false},
	{"text/rollout16", 8, [3]int{8, 8, 8}, false},
	{"text/temp_down", 8, [3]int{6, 8, 8}, false},
	{"det/quant_sparse", 8, [3]int{8, 8, 8}, true},
	{"score/drop2", 20, [3]int{10, 14, 18}, false},
	{"score/drop5", 20, [3]int{20, 20, 20}, true},
	{"score/drop5_dayfx", 20, [3]int{20, 20, 20}, false},
	{"score/drop5_noise5", 20, [3]int{20, 20, 20}, false},
	{"score/drop5_mask2", 20, [3]int{19, 20, 20}, false},
	{"score/drop10", 20, [3]int{20, 20, 20}, false},
	{"score/drop5_conc", 20, [3]int{20, 20, 20}, false},
	{"text/swap", 20, [3]int{20, 20, 20}, false},
	{"text/swap_family", 20, [3]int{20, 20, 20}, false},
	{"text/prefix", 20, [3]int{20, 20, 20}, false},
	{"text/blip3", 20, [3]int{20, 20, 20}, false},
	{"text/conc20", 20, [3]int{20, 20, 20}, false},
	{"text/temp_up", 20, [3]int{18, 20, 20}, false},
	{"text/quant_lite", 20, [3]int{0, 0, 3}, false},
	{"logprobs/quant_lite", 20, [3]int{20, 20, 20}, false},
	{"det/swap", 20, [3]int{20, 20, 20}, false},
	{"det/swap_family", 20, [3]int{20, 20, 20}, false},
	{"det/quant", 20, [3]int{20, 20, 20}, false},
	{"det/quant_lite", 20, [3]int{20, 20, 20}, false},
	{"det/prefix", 20, [3]int{20, 20, 20}, false},
	{"det/conc20", 20, [3]int{20, 20, 20}, false},
	{"det/rollout16", 20, [3]int{20, 20, 20}, false},
	{"det/ramp14", 20, [3]int{20, 20, 20}, false},
	{"det/blip3", 20, [3]int{20, 20, 20}, false},
	{"det/quant_mask2", 20, [3]int{20, 20, 20}, false},
}

// nulls are the scenarios without a change of the model, by regime.
var nulls = map[string][]string{
	"text":  {"null", "null_fleet", "null_misconf", "null_mal1", "null_mal2", "null_flood"},
	"det":   {"null", "null_fleet", "null_misconf", "null_mal1", "null_mal2", "null_flood"},
	"score": {"null", "null_dayfx", "null_misconf", "null_mal1", "null_mal2", "null_period"},
	// Texts with log-probabilities.
	"logprobs": {"null", "null_fleet", "null_misconf", "null_mal1", "null_mal2", "null_flood"},
}

// measured is what replicates of a scenario showed.
type measured struct {
	n, days int
	within  [3]int
	delays  []int // of the detected replicates, sorted
	wrong   int   // confirmed alarms without a change
	alarms  map[string]int
	time    time.Duration
}

func (m *measured) String() string {
	median := "–"
	if len(m.delays) > 0 {
		median = fmt.Sprint(m.delays[len(m.delays)/2])
	}
	return fmt.Sprintf("n=%d within 7, 14, 30 days %v median %s; %d false alarms in %.1f model-years; others %v; %.2f ms a day",
		m.n, m.within, median, m.wrong, float64(m.days)/365, m.alarms, m.time.Seconds()*1000/float64(m.days))
}

// replayed returns the stream of one simulated replicate after its replay.
func replayed(tb testing.TB, scenario string, seed uint64) *drift.Stream {
	tb.Helper()
	r := drift.NewReplay(drift.Rules{})
	simulate(scenario, seed, func(rec *drift.Record) {
		if err := r.Add(rec); err != nil {
			tb.Fatal(err)
		}
	})
	r.Finish()
	return r.Streams[0]
}

// measure replays replicates of a scenario. Alarms of a kind within 14 days after one count once.
func measure(tb testing.TB, scenario string, seed, n int) *measured {
	tb.Helper()
	m := &measured{n: n, alarms: map[string]int{}}
	null := strings.Contains(scenario, "null")
	for i := range n {
		start := time.Now()
		s := replayed(tb, scenario, uint64(seed+i))
		m.time += time.Since(start)
		m.days += s.Status.Day + 1 - 14
		delay, last := 0, map[string]int{}
		for _, a := range s.Alarms {
			change := !null && a.Day >= changeDay
			if change && a.Kind == drift.KindConfirmed && delay == 0 {
				delay = a.Day - changeDay + 1
			}
			if day, ok := last[a.Kind]; change || a.Day < 14 || ok && a.Day-day <= 14 {
				continue
			}
			last[a.Kind] = a.Day
			if a.Kind == drift.KindConfirmed {
				m.wrong++
			} else {
				m.alarms[a.Kind]++
			}
		}
		for k, limit := range []int{7, 14, 30} {
			if delay > 0 && delay <= limit {
				m.within[k]++
			}
		}
		if delay > 0 {
			m.delays = append(m.delays, delay)
		}
	}
	slices.Sort(m.delays)
	return m
}

// full reports whether whole tables are measured. Without, a test takes part of a second.
func full() bool { return os.Getenv("PLUMB_SIMULATE") == "full" }

// TestSimulatedChanges checks that changes are found as often as in the reference: Fisher's one-sided
// test has p >= 0.01 at each of 7, 14 and 30 days.
func TestSimulatedChanges(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("simulation")
	}
	for _, r := range reference {
		t.Run(r.scenario, func(t *testing.T) {
			t.Parallel()
			n := 1
			switch {
			case full() && strings.HasPrefix(r.scenario, "score/"):
				n = 20
			case full():
				n = 8
			case !r.short:
				t.Skip("not part of the short form")
			}
			m := measure(t, r.scenario, 1, n)
			t.Logf("%-20s %s", r.scenario, m)
			for k, limit := range []int{7, 14, 30} {
				less, _, _ := analyze.Fisher(m.within[k], m.n-m.within[k], r.within[k], r.n-r.within[k])
				if less < 0.01 {
					t.Errorf("%d of %d detected within %d days, the reference has %d of %d", m.within[k], m.n, limit,
						r.within[k], r.n)
				}
			}
			if !full() && m.within[1] == 0 {
				t.Error("the change was not found within 14 days")
			}
		})
	}
}

// TestSimulatedNulls checks the false alarms: those of a regime together are not above the 99 % point
// of a Poisson distribution with 0.5 a model-year, those of a scenario not above that with 1 a year.
func TestSimulatedNulls(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("simulation")
	}
	if !full() {
		if m := measure(t, "score/null", 1, 1); m.wrong > 0 {
			t.Errorf("score/null: %s", m)
		}
		return
	}
	for regime, scenarios := range nulls {
		n := 8
		if regime == "score" {
			n = 20
		}
		t.Run(regime, func(t *testing.T) {
			t.Parallel()
			alarms, years := 0, 0.0
			for _, scenario := range scenarios {
				m := measure(t, regime+"/"+scenario, 1, n)
				t.Logf("%-20s %s", regime+"/"+scenario, m)
				alarms += m.wrong
				years += float64(m.days) / 365
				if limit := poissonLimit(float64(m.days) / 365); m.wrong > limit {
					t.Errorf("%s/%s: %d false alarms, at most %d", regime, scenario, m.wrong, limit)
				}
			}
			limit := poissonLimit(years / 2)
			t.Logf("%s: %d false alarms in %.1f model-years, at most %d", regime, alarms, years, limit)
			if alarms > limit {
				t.Errorf("%s: more than %d false alarms", regime, limit)
			}
		})
	}
}

// poissonLimit is the 99 % point of a Poisson distribution.
func poissonLimit(mean float64) int {
	k, term := 0, math.Exp(-mean)
	for sum := term; sum < 0.99; sum += term {
		k++
		term *= mean / float64(k)
	}
	return k
}

// TestMeasure measures the rows that PLUMB_DRIFT_ROWS names, as text/quant:8,score/drop2:20, from the
// seed PLUMB_DRIFT_SEED on. With PLUMB_DRIFT_STREAMS it writes the streams to this directory instead,
// a file each, for other programs.
func TestMeasure(t *testing.T) {
	rows := os.Getenv("PLUMB_DRIFT_ROWS")
	if rows == "" {
		t.Skip("PLUMB_DRIFT_ROWS is not set")
	}
	seed, _ := strconv.Atoi(os.Getenv("PLUMB_DRIFT_SEED"))
	dir := os.Getenv("PLUMB_DRIFT_STREAMS")
	for row := range strings.SplitSeq(rows, ",") {
		scenario, count, _ := strings.Cut(row, ":")
		n, err := strconv.Atoi(count)
		if err != nil {
			t.Fatalf("PLUMB_DRIFT_ROWS: %q is not SCENARIO:N", row)
		}
		if dir == "" {
			fmt.Printf("%-20s %s\n", scenario, measure(t, scenario, seed, n))
			continue
		}
		for i := range n {
			writeStream(t, dir, scenario, seed+i)
		}
	}
}

func writeStream(tb testing.TB, dir, scenario string, seed int) {
	tb.Helper()
	name := fmt.Sprintf("%s_%d.jsonl", strings.ReplaceAll(scenario, "/", "_"), seed)
	f, err := os.Create(filepath.Join(dir, name))
	if err != nil {
		tb.Fatal(err)
	}
	out := bufio.NewWriter(f)
	simulate(scenario, uint64(seed), func(r *drift.Record) {
		_, _ = out.Write(line(r)) // Flush returns its error
	})
	if err := errors.Join(out.Flush(), f.Close()); err != nil {
		tb.Fatal(err)
	}
}
