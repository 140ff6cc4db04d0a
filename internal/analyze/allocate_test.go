package analyze

import (
	"math"
	"slices"
	"testing"
)

func TestAllocate(t *testing.T) {
	t.Parallel()
	// sqrt(v) is 1 : 2 : 3, and a case that never varies gets its one repetition.
	repeats, detectable := Allocate([]float64{.01, .04, .09, 0}, 61)
	if want := []int{10, 20, 30, 1}; !slices.Equal(repeats, want) {
		t.Errorf("%v, want %v", repeats, want)
	}
	want := (1.959964 + 0.841621) * math.Sqrt(2*(.01/10+.04/20+.09/30)) / 4
	if math.Abs(detectable-want) > 1e-6 {
		t.Errorf("%v, want %v", detectable, want)
	}
	if repeats, _ := Allocate([]float64{.2, .1}, 1); !slices.Equal(repeats, []int{1, 1}) {
		t.Errorf("a case without a repetition: %v", repeats)
	}
}
