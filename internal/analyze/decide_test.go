package analyze

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// swapped exchanges the rates of neighbouring cases.
func swapped(rates []float64) []float64 {
	moved := append([]float64(nil), rates...)
	for i := 0; i+1 < len(moved); i += 2 {
		moved[i], moved[i+1] = moved[i+1], moved[i]
	}
	return moved
}

// decideWorld is a simulated suite before and after a change.
type decideWorld struct{ base, cand []float64 }

func newDecideWorld(rng *rand.Rand, cases int, truth string) decideWorld {
	base := bank(cases, rng)
	switch truth {
	case "no change":
		return decideWorld{base, base}
	case "swapped":
		return decideWorld{base, swapped(base)}
	case "-5":
		return decideWorld{base, loweredRates(base, .05)}
	case "-10":
		return decideWorld{base, loweredRates(base, .10)}
	default:
		var k int
		_, _ = fmt.Sscan(truth, &k)
		return decideWorld{base, broken(base, k)}
	}
}

func (w *decideWorld) result(rng *rand.Rand, i int) Result {
	return Result{Measured: true, Base: rng.Float64() < w.base[i], Cand: rng.Float64() < w.cand[i]}
}

// decideRun is one simulated run. The sessions of one batch are in flight and end in random order.
type decideRun struct {
	q        Question
	d        *Decider
	rng      *rand.Rand
	world    decideWorld
	log      map[int]Result // what a log holds: the ended draws
	inFlight []flight
}

type flight struct {
	draw int
	r    Result
}

// perform draws until the question is decided. With kills, a process ends at random moments: its
// sessions in flight are lost, and the next process rebuilds the state from the log.
func (s *decideRun) perform(t *testing.T, kills bool) {
	t.Helper()
	for s.d = NewDecider(s.q); ; {
		for len(s.inFlight) < s.q.Batch {
			draw, i, state := s.d.Next()
			if state != Drawn {
				break
			}
			s.inFlight = append(s.inFlight, flight{draw, s.world.result(s.rng, i)})
		}
		if len(s.inFlight) == 0 || s.d.Standing().Decision != Undecided {
			return
		}
		k := s.rng.IntN(len(s.inFlight))
		f := s.inFlight[k]
		s.inFlight = append(s.inFlight[:k], s.inFlight[k+1:]...)
		s.d.Reveal(f.draw, f.r)
		if kills {
			s.log[f.draw] = f.r
			if s.rng.IntN(300) == 0 {
				s.resume(t)
			}
		}
	}
}

func (s *decideRun) resume(t *testing.T) {
	t.Helper()
	was := s.d.Standing()
	s.d, s.inFlight = NewDecider(s.q), nil
	for seen := 0; seen < len(s.log); {
		draw, i, state := s.d.Next()
		if state != Drawn {
			break
		}
		if r, ok := s.log[draw]; ok {
			s.d.Reveal(draw, r)
			seen++
		} else {
			s.inFlight = append(s.inFlight, flight{draw, s.world.result(s.rng, i)})
		}
	}
	if is := s.d.Standing(); is != was && is.Draws > 0 {
		t.Fatalf("after resuming: %+v, want %+v", is, was)
	}
}

// closeTo fails the test if a share differs from the table by more than three standard errors. The
// table rests on tabled runs, and is rounded.
func closeTo(t *testing.T, what string, got, want float64, runs, tabled int) {
	t.Helper()
	rounding := .0005
	if want == 0 || want > .05 {
		rounding = .005
	}
	n, m := float64(runs), float64(tabled)
	p := min(max((got*n+want*m)/(n+m), 1/m), 1-1/m)
	if allowed := 3*math.Sqrt(p*(1-p)*(1/n+1/m)) + rounding; math.Abs(got-want) > allowed {
		t.Errorf("%s: %.4f, want %.3f ± %.4f", what, got, want, allowed)
	}
}

// TestSimulatedDecisions reproduces the table of docs/statistics.md about runs until a decision.
func TestSimulatedDecisions(t *testing.T) {
	t.Parallel()
	for n, row := range []struct {
		cases, repeats                    int
		margin                            float64
		truth                             string
		worse, better, equivalent, rounds float64
	}{
		{50, 20, .05, "no change", .015, .015, .61, 17.1},
		{50, 20, .05, "swapped", .002, .004, .00, 19.9},
		{50, 20, .05, "-5", .78, .001, .004, 12.1},
		{50, 20, .05, "-10", 1.00, .000, .000, 3.5},
		{50, 20, .05, "3 break", .86, .000, .003, 10.6},
		{100, 20, .05, "no change", .019, .017, .95, 10.4},
		{100, 20, .05, "-5", .98, .001, .007, 6.4},
		{100, 20, .05, "-10", 1.00, .000, .000, 1.8},
		{100, 20, .05, "3 break", .55, .000, .26, 12.6},
		{10, 30, .10, "no change", .010, .012, .71, 24.0},
		{10, 30, .10, "swapped", .010, .010, .08, 29.2},
		{10, 30, .10, "-10", .86, .000, .004, 15.7},
		{10, 30, .10, "1 break", .74, .000, .007, 18.6},
	} {
		t.Run(fmt.Sprintf("%d cases, %s", row.cases, row.truth), func(t *testing.T) {
			t.Parallel()
			null := row.truth == "no change"
			runs, tabled := replicates(t, 60, 2000), 1000
			if null || row.truth == "swapped" {
				tabled = 2000
			}
			if null {
				runs = replicates(t, 100, 10000)
			}
			rng := rand.New(rand.NewPCG(uint64(n), 1))
			count := map[Decision]float64{}
			var rounds, squares float64
			for r := range runs {
				s := decideRun{rng: rng, world: newDecideWorld(rng, row.cases, row.truth), log: map[int]Result{}}
				s.q = Question{
					Cases: row.cases, Draws: row.cases * row.repeats, Batch: 8, Alpha: .05, Margin: row.margin,
					Gate: math.NaN(),
				}
				binary.BigEndian.PutUint64(s.q.Seed[:], uint64(r*100+n))
				s.perform(t, null)
				is := s.d.Standing()
				count[is.Decision] += 1 / float64(runs)
				x := float64(is.Draws) / float64(row.cases)
				rounds, squares = rounds+x/float64(runs), squares+x*x/float64(runs)
			}
			worse, better, equivalent := count[DecidedWorse], count[DecidedBetter], count[DecidedEquivalent]
			t.Logf("%d runs: worse %.4f, better %.4f, equivalent %.4f, not decisive %.4f, pairs a case %.1f",
				runs, worse, better, equivalent, count[Undecided], rounds)
			closeTo(t, "worse", worse, row.worse, runs, tabled)
			closeTo(t, "better", better, row.better, runs, tabled)
			closeTo(t, "equivalent", equivalent, row.equivalent, runs, tabled)
			sd := math.Sqrt(max(squares-rounds*rounds, 0))
			allowed := 3*sd*math.Sqrt(1/float64(runs)+1/float64(tabled)) + .05
			if math.Abs(rounds-row.rounds) > allowed {
				t.Errorf("pairs a case: %.2f, want %.1f ± %.2f", rounds, row.rounds, allowed)
			}
			limit := .05
			if runs < 10000 {
				limit += 3 * math.Sqrt(limit/float64(runs))
			}
			if null && worse+better > limit {
				t.Errorf("better or worse in %.4f of the runs without a change", worse+better)
			}
		})
	}
}

// TestSimulatedGates checks that a gate at the true pass rate is decided in at most 5 % of runs,
// and that one away from it is decided correctly.
func TestSimulatedGates(t *testing.T) {
	t.Parallel()
	runs := replicates(t, 60, 3000)
	for n, away := range []float64{0, -.1, .1} {
		rng := rand.New(rand.NewPCG(uint64(n), 2))
		count := map[Decision]int{}
		for r := range runs {
			w := newDecideWorld(rng, 50, "no change")
			var mean float64
			for _, p := range w.cand {
				mean += p / 50
			}
			s := decideRun{rng: rng, world: w, log: map[int]Result{}, q: Question{
				Cases: 50, Draws: 1000, Batch: 8, Alpha: .05, Gate: min(mean+away, .99), Absolute: true,
			}}
			binary.BigEndian.PutUint64(s.q.Seed[:], uint64(r*100+n))
			s.perform(t, true)
			count[s.d.Standing().Decision]++
		}
		t.Logf("%d runs at %+.2f: above %d, below %d", runs, away, count[DecidedAbove], count[DecidedBelow])
		right := map[float64]Decision{-.1: DecidedAbove, .1: DecidedBelow}[away]
		wrong, limit := runs-count[Undecided]-count[right], .05
		if away == 0 {
			wrong = runs - count[Undecided]
		}
		if limit += 3 * math.Sqrt(.05/float64(runs)); float64(wrong) > limit*float64(runs) {
			t.Errorf("gate at %+.2f: wrong in %d of %d runs", away, wrong, runs)
		}
		if away != 0 && count[right] < runs*9/10 {
			t.Errorf("gate at %+.2f: decided in %d of %d runs", away, count[right], runs)
		}
	}
}

// TestDeciderIsAFold checks that the order in which results arrive changes nothing.
func TestDeciderIsAFold(t *testing.T) {
	t.Parallel()
	for seed := range uint64(50) {
		rng := rand.New(rand.NewPCG(seed, 3))
		w := newDecideWorld(rng, 12, "-10")
		q := Question{Cases: 12, Draws: 240, Batch: 1 + rng.IntN(6), Alpha: .05, Margin: .1, Gate: math.NaN()}
		q.Seed[0] = byte(seed)
		if seed%2 == 1 {
			for range q.Cases {
				q.Stock = append(q.Stock, rng.IntN(8))
			}
		}
		results := map[int]Result{}
		var cases [2][]int
		var standings [2]Standing
		for side := range 2 {
			d := NewDecider(q)
			var waiting []int
			for d.Standing().Decision == Undecided {
				if draw, i, state := d.Next(); state == Drawn {
					if _, ok := results[draw]; !ok {
						results[draw] = w.result(rng, i)
						if rng.IntN(10) == 0 {
							results[draw] = Result{}
						}
					}
					cases[side] = append(cases[side], i)
					waiting = append(waiting, draw)
				}
				if len(waiting) == 0 {
					break
				}
				if side == 0 || rng.IntN(3) == 0 { // in order, or in random order
					k := side * rng.IntN(len(waiting))
					d.Reveal(waiting[k], results[waiting[k]])
					waiting = append(waiting[:k], waiting[k+1:]...)
				}
			}
			standings[side] = d.Standing()
		}
		n := min(len(cases[0]), len(cases[1]))
		if fmt.Sprint(cases[0][:n]) != fmt.Sprint(cases[1][:n]) {
			t.Errorf("seed %d: the draws differ:\n%v\n%v", seed, cases[0], cases[1])
		}
		if standings[0] != standings[1] && !(math.IsNaN(standings[0].Effect) && math.IsNaN(standings[1].Effect)) {
			t.Errorf("seed %d: %+v and %+v", seed, standings[0], standings[1])
		}
		for i, left := range q.Stock {
			for _, drawn := range cases[1] {
				if drawn == i {
					left--
				}
			}
			if left < 0 {
				t.Errorf("seed %d: case %d has %d pairs, and was drawn more often", seed, i, q.Stock[i])
			}
		}
	}
}
