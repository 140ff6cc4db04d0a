package drift_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/plumb-eval/plumb/internal/drift"
)

// recordsOf returns the records of a simulated stream before a day.
func recordsOf(scenario string, seed uint64, days int) []drift.Record {
	var all []drift.Record
	simulate(scenario, seed, func(r *drift.Record) {
		if drift.DayOf(r.Time) < days {
			all = append(all, *r)
		}
	})
	return all
}

func alarmsOf(tb testing.TB, records []drift.Record) []drift.Alarm {
	tb.Helper()
	r := drift.NewReplay(drift.Rules{})
	for i := range records {
		if err := r.Add(&records[i]); err != nil {
			tb.Fatal(err)
		}
	}
	r.Finish()
	if len(r.Streams) == 0 {
		return nil
	}
	return r.Streams[0].Alarms
}

// asJSON makes alarms comparable: they hold figures that are NaN.
func asJSON(tb testing.TB, alarms []drift.Alarm) string {
	tb.Helper()
	var b bytes.Buffer
	for i := range alarms {
		if err := drift.JSON("s", &alarms[i]).Write(&b); err != nil {
			tb.Fatal(err)
		}
	}
	return b.String()
}

// TestReplayIsCausal checks that later records never change an earlier alarm: the alarms of the
// records up to a day are those of all records that were raised up to this day.
func TestReplayIsCausal(t *testing.T) {
	t.Parallel()
	for _, scenario := range []string{"score/drop5", "score/drop5_mask2", "det/quant_sparse"} {
		records := recordsOf(scenario, 3, 80)
		all := alarmsOf(t, records)
		if len(all) == 0 {
			t.Errorf("%s: there is no alarm", scenario)
		}
		for _, day := range []int{20, 59, 61, 62, 65, 70} {
			n := slices.IndexFunc(records, func(r drift.Record) bool { return drift.DayOf(r.Time) > day })
			want := slices.DeleteFunc(slices.Clone(all), func(a drift.Alarm) bool { return a.Day > day })
			if got := asJSON(t, alarmsOf(t, records[:n])); got != asJSON(t, want) {
				t.Errorf("%s up to day %d:\n%swant\n%s", scenario, day, got, asJSON(t, want))
			}
		}
	}
}

// TestRunsAcrossMidnight checks that a run belongs to the day of its first record, and counts with
// the records so far.
func TestRunsAcrossMidnight(t *testing.T) {
	t.Parallel()
	records := recordsOf("score/drop5", 1, 75)
	late := slices.Clone(records)
	for i := range late {
		// The last item of each run arrives on the next day.
		if i+1 == len(late) || late[i+1].Run != late[i].Run {
			late[i].Time = drift.Date(drift.DayOf(late[i].Time) + 1).Add(time.Minute)
		}
	}
	slices.SortStableFunc(late, func(a, b drift.Record) int { return a.Time.Compare(b.Time) })
	got, want := alarmsOf(t, late), alarmsOf(t, records)
	if len(want) == 0 || len(got) == 0 || got[0].Onset < want[0].Onset-2 || got[0].Onset > want[0].Onset+2 {
		t.Errorf("%s\nwant about\n%s", asJSON(t, got), asJSON(t, want))
	}
}

// TestRunIDsAreForgotten checks that the id of a run names a new run 62 days later, on each of
// these days.
func TestRunIDsAreForgotten(t *testing.T) {
	t.Parallel()
	for last := 60; last < 72; last++ {
		r := drift.NewReplay(drift.Rules{})
		for day := range last + 1 {
			rec := drift.Record{
				Time: drift.Date(day), Stream: "s", Run: fmt.Sprint(day % 62), Submitter: "me",
				Answer: drift.Answer{Prompt: "p", Score: 1},
			}
			if err := r.Add(&rec); err != nil {
				t.Fatal(err)
			}
		}
		r.Finish()
		if s := r.Streams[0].Status; s.Latest != last {
			t.Errorf("the latest run is of day %d, want day %d", s.Latest, last)
		}
	}
}

// TestCap checks that only the first run of a submitter counts on a day, and that runs with less than
// 80 % of the prompts do not count.
func TestCap(t *testing.T) {
	t.Parallel()
	records := recordsOf("score/drop5", 2, 75)
	var more []drift.Record
	for i, r := range records {
		more = append(more, r)
		if i+1 < len(records) && records[i+1].Run == r.Run {
			continue
		}
		for k := range 100 {
			again := r
			again.Run, again.Answer.Prompt, again.Answer.Score = r.Run+"b", records[k].Answer.Prompt, 0
			more = append(more, again)
			if r.Submitter != "s00" {
				continue
			}
			part := again
			part.Run, part.Submitter = r.Run+"c", "partial"
			if k < 79 {
				more = append(more, part)
			}
		}
	}
	if got, want := asJSON(t, alarmsOf(t, more)), asJSON(t, alarmsOf(t, records)); got != want || want == "" {
		t.Errorf("with more runs\n%swant\n%s", got, want)
	}
}

// TestBack checks that a change back to an earlier state names this state, and that a change to a
// new one does not, also if a scan goes on after a checkpoint.
func TestBack(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		last int // the state after the second change
		back bool
	}{"back": {0, true}, "on": {2, false}} {
		random := rand.New(rand.NewPCG(9, 9))
		var runs []drift.Run
		for day := range 72 {
			state := []int{0, 1, test.last}[day/30]
			for s := range 5 {
				run := drift.Run{ID: fmt.Sprint(day), Submitter: fmt.Sprint(s), Day: day}
				for p := range 6 {
					run.Answers = append(run.Answers, drift.Answer{
						Prompt: fmt.Sprint(p), HasText: true, Text: fmt.Sprint("answer ", 2*state+random.IntN(3)), Score: 1,
					})
				}
				runs = append(runs, run)
			}
		}
		whole := replayOf(t, runs)
		var changes []drift.Event
		for _, e := range whole.Events() {
			if e.Alarm.Kind == drift.KindConfirmed {
				changes = append(changes, e)
			}
		}
		if len(changes) != 2 || changes[0].Back != nil || (changes[1].Back != nil) != test.back {
			t.Fatalf("%s: changes %+v", name, changes)
		}
		if b := changes[1].Back; b != nil && (b.Before != changes[0].Onset || b.P <= drift.DeletionAlpha) {
			t.Errorf("%s: %+v, want the state before day %d", name, b, changes[0].Onset)
		}
		for _, cut := range []int{29, 45, 61, 63, 70} {
			first, err := drift.Scan(drift.Rules{}, drift.Checkpoint{}, cut, sourceOf(runs))
			if err != nil {
				t.Fatal(err)
			}
			second, err := drift.Scan(drift.Rules{}, stored(t, first.Checkpoint()), 71, sourceOf(runs))
			if err != nil {
				t.Fatal(err)
			}
			maps.Copy(first.Returns, second.Returns)
			if !reflect.DeepEqual(first.Returns, whole.Returns) {
				t.Errorf("%s, cut after day %d: back to %v, want %v", name, cut, first.Returns, whole.Returns)
			}
		}
	}
}

// TestInterleavedStreams checks that streams do not influence each other, and that alarms are
// listed by stream.
func TestInterleavedStreams(t *testing.T) {
	t.Parallel()
	a, b := recordsOf("score/drop5", 1, 75), recordsOf("score/drop10", 1, 75)
	both := slices.Concat(b, a)
	slices.SortStableFunc(both, func(x, y drift.Record) int { return x.Time.Compare(y.Time) })
	r := drift.NewReplay(drift.Rules{})
	for i := range both {
		if err := r.Add(&both[i]); err != nil {
			t.Fatal(err)
		}
	}
	r.Finish()
	if len(r.Streams) != 2 {
		t.Fatalf("%d streams", len(r.Streams))
	}
	for _, s := range r.Streams {
		want := alarmsOf(t, a)
		if s.Name == b[0].Stream {
			want = alarmsOf(t, b)
		}
		if got := asJSON(t, s.Alarms); got != asJSON(t, want) {
			t.Errorf("stream %s: %s", s.Name, got)
		}
	}
}

// TestReadLines checks that records survive their form as lines, and that memory does not grow with
// the file.
func TestReadLines(t *testing.T) {
	t.Parallel()
	var file bytes.Buffer
	var want []drift.Record
	simulate("logprobs/swap_sparse", 1, func(r *drift.Record) {
		if len(want) < 500 {
			file.Write(line(r))
			want = append(want, *r)
		}
	})
	var got []drift.Record
	err := drift.Read("f", &file, func(r *drift.Record) error {
		got = append(got, *r)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("read %v, want %v", got[0], want[0])
	}
}

func TestMemoryIsBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("it measures memory")
	}
	r := drift.NewReplay(drift.Rules{})
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	var sizes []uint64
	for day := range 300 {
		if day == 120 || day == 299 {
			sizes = append(sizes, heap())
		}
		for s := range 3 {
			for p := range 2 {
				rec := drift.Record{
					Time: drift.Date(day), Stream: "s", Run: time.Duration(day*10 + s).String(), Submitter: string(rune('a' + s)),
					Answer: drift.Answer{
						Prompt: string(rune('a' + p)), HasText: true,
						Text: strings.Repeat(time.Duration(day*100+s*10+p).String(), 50), Score: 1,
					},
				}
				if err := r.Add(&rec); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if sizes[1] > sizes[0]+sizes[0]/2 {
		t.Errorf("the heap grew from %d to %d bytes", sizes[0], sizes[1])
	}
	runtime.KeepAlive(r)
}

// FuzzRead checks that no file makes the reader or the detectors panic, that a record that is read
// is complete, and that an error names the line.
func FuzzRead(f *testing.F) {
	good := `{"ts":"2026-01-01T10:00:00Z","stream":"a","run_id":"r","submitter":"s","prompt_id":"p","output":"x","score":1}`
	f.Add(good)
	f.Add(good + "\n\n" + strings.Replace(good, "2026-01-01", "2026-03-01", 1))
	f.Add(`{"ts":"2026-01-01T10:00:00Z","logprobs":[["a",-1],["b"]],"output_sha256":"zz","output":null,"score":null}`)
	f.Add(`{"v":2}`)
	f.Add("[]\nnull")
	f.Fuzz(func(t *testing.T, text string) {
		r := drift.NewReplay(drift.Rules{})
		err := drift.Read("file", strings.NewReader(text), func(rec *drift.Record) error {
			if rec.Stream == "" || rec.Run == "" || rec.Submitter == "" || rec.Answer.Prompt == "" || rec.Time.IsZero() {
				t.Errorf("incomplete record %+v", rec)
			}
			return r.Add(rec)
		})
		if err != nil && !strings.HasPrefix(err.Error(), "file:") {
			t.Errorf("the error %q names no line", err)
		}
		r.Finish()
		for _, s := range r.Streams {
			for i := range s.Alarms {
				if _, err := json.Marshal(drift.JSON(s.Name, &s.Alarms[i])); err != nil {
					t.Error(err)
				}
			}
		}
	})
}
