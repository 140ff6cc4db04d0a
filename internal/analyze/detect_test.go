package analyze

import (
	"math"
	"testing"
)

func TestWithin(t *testing.T) {
	t.Parallel()
	sd, ok := WithinDeviation([][]float64{{1, 3}, {10, 12}, {7}})
	if want := math.Sqrt(2.0); !ok || math.Abs(sd-want) > 1e-12 {
		t.Errorf("got %v, want %v", sd, want)
	}
	if _, ok := WithinDeviation([][]float64{{1}, nil}); ok {
		t.Error("a deviation of one value")
	}
}

// A design and its inverses agree.
func TestRepeatedDesign(t *testing.T) {
	t.Parallel()
	d := RepeatedDesign{Cases: 100, Repeats: 5, Within: 0.1}
	seen := d.Detectable()
	if want := 2.805 * math.Sqrt(2*0.1/500); math.Abs(seen-want) > 1e-4 {
		t.Errorf("detectable %v, want %v", seen, want)
	}
	if n := d.CasesFor(seen); n != 100 {
		t.Errorf("%d cases, want 100", n)
	}
	if r := d.RepeatsFor(seen); r != 5 {
		t.Errorf("%d repetitions, want 5", r)
	}
	if r := (RepeatedDesign{Cases: 3, Within: 0}).RepeatsFor(0.1); r != 1 {
		t.Errorf("%d repetitions of cases that never vary, want 1", r)
	}
	if d := (RepeatedDesign{Cases: 1, Repeats: 1, Within: 1}).Detectable(); !math.IsNaN(d) {
		t.Errorf("one value a side detects %v", d)
	}
}

// The plans of pass rates agree with each other.
func TestRateDesign(t *testing.T) {
	t.Parallel()
	for _, within := range []float64{0.1, 0.15, 0.25} {
		mix := AssumedMix(within)
		for _, repeats := range []int{1, 2, 5} {
			for _, difference := range []float64{0.02, 0.05, 0.1, 0.2} {
				n := SameRepeats(mix, 1, repeats).CasesFor(difference)
				seen, ok := SameRepeats(mix, n, repeats).Detectable()
				if !ok || seen > difference+1e-6 || seen < 0.6*difference {
					t.Errorf("%v, %d repeats, %v: %d cases detect %v %v", within, repeats, difference, n, seen, ok)
				}
				if n < 6 {
					continue // the normal approximation is rough
				}
				if r := SameRepeats(mix, n, 1).RepeatsFor(difference); r > repeats {
					t.Errorf("%v, %d cases, %v: %d repeats, want at most %d", within, n, difference, r, repeats)
				}
			}
		}
	}
	if _, ok := SameRepeats(AssumedMix(0.1), 5, 1).Detectable(); ok {
		t.Error("five cases detect a difference")
	}
	if n := SameRepeats(AssumedMix(0.25), 1, 1).CasesFor(0.01); n < 39_000 || n > 40_000 {
		t.Errorf("%d cases for 1 pp", n)
	}
}
