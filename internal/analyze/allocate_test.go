package analyze

import (
	"slices"
	"testing"
)

func TestAllocate(t *testing.T) {
	t.Parallel()
	// sqrt(v) is 1 : 2 : 3, and a case that never varies gets its one repetition.
	repeats := Allocate([]float64{.01, .04, .09, 0}, 61)
	if want := []int{10, 20, 30, 1}; !slices.Equal(repeats, want) {
		t.Errorf("%v, want %v", repeats, want)
	}
	if repeats := Allocate([]float64{.2, .1}, 1); !slices.Equal(repeats, []int{1, 1}) {
		t.Errorf("a case without a repetition: %v", repeats)
	}
}
