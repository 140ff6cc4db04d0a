package drift_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/plumb-eval/plumb/internal/drift"
)

// drawnRuns draws the runs of a panel, in order of time: some submitters, gaps, and changes between
// three states. kind is what the answers have.
func drawnRuns(t *rapid.T, kind string, facts bool, random *rand.Rand) []drift.Run {
	submitters := rapid.IntRange(1, 5).Draw(t, "submitters")
	gapDays := rapid.SampledFrom([]int{0, 0, 5, 20, 70}).Draw(t, "gapDays")
	flood := rapid.Bool().Draw(t, "flood")
	days := 30 + random.IntN(60)
	gap, newPrompt, daily := random.IntN(days), 10+random.IntN(200), 0.3+0.7*random.Float64()
	changes, states := []int{}, []int{0}
	for range rapid.IntRange(0, 3).Draw(t, "changes") {
		changes, states = append(changes, 15+random.IntN(days)), append(states, random.IntN(3))
	}
	slices.Sort(changes)
	var runs []drift.Run
	for day := range days {
		changed, _ := slices.BinarySearch(changes, day+1)
		state := states[changed]
		date := day + 200 // not the first days of all
		if day >= gap {
			date += gapDays
		}
		for s := range submitters {
			times := 1
			if s == 0 && flood {
				times = 3
			}
			for i := range times {
				if random.Float64() > daily {
					continue
				}
				r := drift.Run{ID: fmt.Sprint(day, " ", i), Submitter: fmt.Sprint("s", s), Day: date}
				if facts {
					r.Client = map[string]string{"plumb version": fmt.Sprint(changed * (s % 2))}
					r.Provider = map[string]string{"served model": fmt.Sprint(state)}
				}
				for p := range 3 {
					r.Answers = append(r.Answers, drawnAnswer(kind, fmt.Sprint("p", p), state, random))
				}
				if day >= newPrompt {
					r.Answers = append(r.Answers, drawnAnswer(kind, "new", state, random))
				}
				runs = append(runs, r)
			}
		}
	}
	return runs
}

// drawnAnswer draws an answer of one of three states.
func drawnAnswer(kind, prompt string, state int, random *rand.Rand) drift.Answer {
	a := drift.Answer{Prompt: prompt, Score: math.NaN()}
	text := fmt.Sprint("answer ", 2*state+random.IntN(3))
	if kind != "text" || random.IntN(4) > 0 {
		a.Score = float64(random.IntN(4+2*state) / 4)
	}
	switch kind {
	case "text":
		a.Text, a.HasText = text, true
	case "hash":
		a.Hash = text
	case "logprobs":
		a.Logprobs = []drift.TokenLogprob{{Token: "a", Value: -random.Float64() - float64(state)}, {Token: text, Value: -3}}
	}
	return a
}

// TestScansFromCheckpoints checks that scans from checkpoint to checkpoint, each of which reads
// only what a checkpoint promises, find the same as one scan, and as a replay of the records.
func TestScansFromCheckpoints(t *testing.T) {
	t.Parallel()
	seen := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom([]string{"score", "text", "hash", "logprobs"}).Draw(t, "kind")
		facts := rapid.Bool().Draw(t, "facts")
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		runs := drawnRuns(t, kind, facts, random)
		if len(runs) == 0 {
			t.Skip("no runs")
		}
		rules := drift.Rules{Own: rapid.Bool().Draw(t, "own")}
		first, last := runs[0].Day, runs[len(runs)-1].Day
		silent := rapid.SampledFrom([]int{0, 0, 1, 10, 80}).Draw(t, "silent")
		last += silent
		whole, err := drift.Scan(rules, drift.Checkpoint{}, last, sourceOf(runs))
		if err != nil {
			t.Fatal(err)
		}
		for i := range whole.Alarms {
			seen[whole.Alarms[i].Kind]++
		}
		var cuts []int
		for range rapid.IntRange(0, 4).Draw(t, "cuts") {
			cuts = append(cuts, first+random.IntN(last-first+1))
		}
		for i := range whole.Alarms { // the start of an epoch
			if rapid.Bool().Draw(t, "at an alarm") {
				cuts = append(cuts, whole.Alarms[i].Day)
			}
		}
		slices.Sort(cuts)
		got := &drift.Stream{Returns: map[int]drift.Return{}}
		var c drift.Checkpoint
		for _, day := range append(slices.Compact(cuts), last) {
			s, err := drift.Scan(rules, c, day, promised(t, c, sourceOf(runs)))
			if err != nil {
				t.Fatal(err)
			}
			got.Alarms = append(got.Alarms, s.Alarms...)
			got.Tested = got.Tested || s.Tested
			maps.Copy(got.Returns, s.Returns)
			if day > c.Day || c.Epochs == nil {
				got.Status = s.Status
			}
			c = stored(t, s.Checkpoint())
			again, err := drift.Scan(rules, c, day, sourceOf(runs))
			if err != nil || len(again.Alarms) > 0 || !reflect.DeepEqual(stored(t, again.Checkpoint()), c) {
				t.Fatalf("a repeated scan of day %d: %v, alarms %v", day, err, again.Alarms)
			}
		}
		compareStreams(t, "scans from checkpoints", got, whole)
		if !reflect.DeepEqual(c, stored(t, whole.Checkpoint())) {
			t.Fatalf("checkpoint %+v, want %+v", c, whole.Checkpoint())
		}
		if !rules.Own && !facts && silent == 0 {
			compareStreams(t, "records", replayOf(t, runs), whole)
		}
	})
	if seen[drift.KindConfirmed] == 0 || seen[drift.KindSuspect] == 0 {
		t.Errorf("alarms %v, want some that are confirmed or suspected", seen)
	}
}

// sourceOf returns the source of runs in order of time.
func sourceOf(runs []drift.Run) drift.Source {
	return func(first, last int) ([]drift.Run, error) {
		return slices.DeleteFunc(slices.Clone(runs), func(r drift.Run) bool { return r.Day < first || r.Day > last }), nil
	}
}

// promised checks that a scan asks first for the trailing days of the first day after its
// checkpoint, and then only for some of these and for the earlier periods.
func promised(t *rapid.T, c drift.Checkpoint, source drift.Source) drift.Source {
	asked := 0
	return func(first, last int) ([]drift.Run, error) {
		asked++
		earlier := slices.ContainsFunc(c.Earlier, func(p drift.Period) bool {
			return first == p.First && last == p.Change-1
		})
		oldest := c.Day - 60
		if c.Epochs != nil && (asked == 1 && first != oldest || first < oldest && !earlier) {
			t.Errorf("after day %d, a scan asks for the days %d to %d", c.Day, first, last)
		}
		return source(first, last)
	}
}

// fataler is a test, or one of its random checks.
type fataler interface{ Fatal(args ...any) }

// stored returns a checkpoint that was encoded.
func stored(t fataler, c drift.Checkpoint) drift.Checkpoint {
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	var read drift.Checkpoint
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	return read
}

// replayOf replays the records of runs.
func replayOf(t fataler, runs []drift.Run) *drift.Stream {
	r := drift.NewReplay(drift.Rules{})
	for _, run := range runs {
		for _, a := range run.Answers {
			rec := drift.Record{Time: drift.Date(run.Day), Stream: "s", Run: run.ID, Submitter: run.Submitter, Answer: a}
			if err := r.Add(&rec); err != nil {
				t.Fatal(err)
			}
		}
	}
	r.Finish()
	return r.Streams[0]
}

// compareStreams compares all that two streams found.
func compareStreams(t *rapid.T, what string, got, want *drift.Stream) {
	for _, s := range []*drift.Stream{got, want} {
		slices.SortStableFunc(s.Alarms, func(a, b drift.Alarm) int { return cmp.Compare(a.Day, b.Day) })
	}
	if g, w := fmt.Sprintf("%+v", got.Alarms), fmt.Sprintf("%+v", want.Alarms); g != w {
		t.Fatalf("%s: alarms\n%s\nwant\n%s", what, g, w)
	}
	if g, w := fmt.Sprintf("%+v", got.Status), fmt.Sprintf("%+v", want.Status); g != w || got.Tested != want.Tested {
		t.Fatalf("%s: status %s, tested %v, want %s, %v", what, g, got.Tested, w, want.Tested)
	}
	if !reflect.DeepEqual(got.Returns, want.Returns) {
		t.Fatalf("%s: back to %v, want %v", what, got.Returns, want.Returns)
	}
}

// TestScanReportsItsSource checks that no finding hides that runs cannot be read.
func TestScanReportsItsSource(t *testing.T) {
	t.Parallel()
	broken := errors.New("no connection")
	source := func(int, int) ([]drift.Run, error) { return nil, broken }
	if _, err := drift.Scan(drift.Rules{}, drift.Checkpoint{}, 9, source); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	s, err := drift.Scan(drift.Rules{}, drift.Checkpoint{}, 9, sourceOf(nil))
	if err != nil || s.Tested || s.Checkpoint().Epochs != nil {
		t.Errorf("a stream without runs: %+v, %v", s.Checkpoint(), err)
	}
}
