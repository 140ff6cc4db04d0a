package analyze_test

import (
	"math"
	"testing"

	"github.com/plumb-eval/plumb/internal/analyze"
)

func TestWithin(t *testing.T) {
	t.Parallel()
	v, of, ok := analyze.WithinVariance([]analyze.Count{{1, 2}, {4, 4}, {1, 1}, {0, 0}, {2, 4}})
	if want := (0.5 + 0 + 1.0/3) / 3; !ok || of != 3 || math.Abs(v-want) > 1e-12 {
		t.Errorf("got %v of %d cases, want %v of 3", v, of, want)
	}
	if _, _, ok := analyze.WithinVariance([]analyze.Count{{1, 1}}); ok {
		t.Error("a variance of one repetition")
	}
	sd, ok := analyze.WithinDeviation([][]float64{{1, 3}, {10, 12}, {7}})
	if want := math.Sqrt(2.0); !ok || math.Abs(sd-want) > 1e-12 {
		t.Errorf("got %v, want %v", sd, want)
	}
	if _, ok := analyze.WithinDeviation([][]float64{{1}, nil}); ok {
		t.Error("a deviation of one value")
	}
}

// A design and its inverses agree.
func TestRepeatedDesign(t *testing.T) {
	t.Parallel()
	d := analyze.RepeatedDesign{Cases: 100, Repeats: 5, Within: 0.1}
	seen := d.Detectable()
	if want := 2.8015852 * math.Sqrt(2*0.1/500); math.Abs(seen-want) > 1e-6 {
		t.Errorf("detectable %v, want %v", seen, want)
	}
	if n := d.CasesFor(seen); n != 100 {
		t.Errorf("%d cases, want 100", n)
	}
	if r := d.RepeatsFor(seen); r != 5 {
		t.Errorf("%d repetitions, want 5", r)
	}
	if r := (analyze.RepeatedDesign{Cases: 3, Within: 0}).RepeatsFor(0.1); r != 1 {
		t.Errorf("%d repetitions of cases that never vary, want 1", r)
	}
}

// With one repetition, the power is that of the exact test.
func TestRateCasesFor(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ within, difference float64 }{
		{0.1, 0.1}, {0.25, 0.1}, {0.1, 0.2}, {0.01, 0.3}, {0.1, 0.05},
	} {
		d := analyze.RepeatedDesign{Repeats: 1, Within: test.within}
		n := d.RateCasesFor(test.difference)
		differ := max(2*test.within, test.difference)
		power := func(n int) float64 {
			return analyze.McNemarPower(n, (differ+test.difference)/2, (differ-test.difference)/2, 0.025)
		}
		for i := range 6 {
			if p := power(n + i); p < 0.8 {
				t.Errorf("%+v: %d cases have a power of %v", test, n+i, p)
			}
		}
		if n > 1 && power(n-1) >= 0.8 {
			t.Errorf("%+v: %d cases are enough, too", test, n-1)
		}
		d.Cases = n
		if seen, ok := d.DetectableRate(); !ok || seen > test.difference+0.001 {
			t.Errorf("%+v: %d cases detect %v", test, n, seen)
		}
	}
	// The approximation goes on where the exact power ends.
	d := analyze.RepeatedDesign{Repeats: 1, Within: 0.25}
	if n := d.RateCasesFor(0.01); n < 39_000 || n > 40_000 {
		t.Errorf("%d cases for 1 pp", n)
	}
	if _, ok := (analyze.RepeatedDesign{Cases: 5, Repeats: 1, Within: 0.1}).DetectableRate(); ok {
		t.Error("five cases detect a difference")
	}
}
