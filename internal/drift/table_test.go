package drift_test

import (
	"bufio"
	"errors"
	"fmt"
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

// replayed returns the stream of one simulated replicate after its replay.
func replayed(t testing.TB, scenario string, seed uint64, o analyze.DriftOptions) *drift.Stream {
	t.Helper()
	r := drift.NewReplay(o)
	simulate(scenario, seed, func(rec *drift.Record) {
		if err := r.Add(rec); err != nil {
			t.Fatal(err)
		}
	})
	r.Finish()
	return r.Streams[0]
}

// TestMeasure measures rows that PLUMB_DRIFT_ROWS names, as text/quant:8,score/drop2:20.
func TestMeasure(t *testing.T) {
	rows := os.Getenv("PLUMB_DRIFT_ROWS")
	if rows == "" {
		t.Skip("PLUMB_DRIFT_ROWS is not set")
	}
	first, _ := strconv.Atoi(os.Getenv("PLUMB_DRIFT_SEED"))
	for row := range strings.SplitSeq(rows, ",") {
		scenario, count, _ := strings.Cut(row, ":")
		n, _ := strconv.Atoi(count)
		start := time.Now()
		days := 0
		var delays []int
		alarms := map[string]int{}
		within := [3]int{}
		for i := range n {
			s := replayed(t, scenario, uint64(first+i), analyze.DriftOptions{Conformal: os.Getenv("PLUMB_DRIFT_CONFORMAL") != ""})
			delay, last := 0, map[string]int{}
			days += s.Status.Day + 1
			for _, a := range s.Alarms {
				isNull := strings.Contains(scenario, "null")
				if !isNull && a.Day >= changeDay && a.Kind == analyze.DriftConfirmed && delay == 0 {
					delay = a.Day - changeDay + 1
				}
				if (isNull || a.Day < changeDay) && a.Day >= 14 {
					if day, ok := last[a.Kind]; !ok || a.Day-day > 14 {
						alarms[a.Kind]++
						alarms[a.Kind+":"+a.Statistic]++
						last[a.Kind] = a.Day
					}
				}
			}
			for k, limit := range []int{7, 14, 30} {
				if delay > 0 && delay <= limit {
					within[k]++
				}
			}
			if delay > 0 {
				delays = append(delays, delay)
			}
		}
		slices.Sort(delays)
		median := 0
		if len(delays) > 0 {
			median = delays[len(delays)/2]
		}
		fmt.Printf("%-22s n=%d detected %v median %d alarms %v %.2f ms/day\n", scenario, n, within, median, alarms,
			float64(time.Since(start).Milliseconds())/float64(days))
	}
}

// TestWriteStreams writes the streams that PLUMB_DRIFT_ROWS names to the directory
// PLUMB_DRIFT_STREAMS, a file each, for other programs.
func TestWriteStreams(t *testing.T) {
	dir := os.Getenv("PLUMB_DRIFT_STREAMS")
	if dir == "" {
		t.Skip("PLUMB_DRIFT_STREAMS is not set")
	}
	for row := range strings.SplitSeq(os.Getenv("PLUMB_DRIFT_ROWS"), ",") {
		scenario, count, _ := strings.Cut(row, ":")
		n, _ := strconv.Atoi(count)
		for i := range n {
			f, err := os.Create(filepath.Join(dir, fmt.Sprintf("%s_%d.jsonl", strings.ReplaceAll(scenario, "/", "_"), i)))
			if err != nil {
				t.Fatal(err)
			}
			out := bufio.NewWriter(f)
			simulate(scenario, uint64(i), func(r *drift.Record) { out.Write(line(r)) })
			if err := errors.Join(out.Flush(), f.Close()); err != nil {
				t.Fatal(err)
			}
		}
	}
}
