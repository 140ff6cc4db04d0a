package text_test

import (
	"testing"

	"github.com/plumb-eval/plumb/internal/text"
)

// Sums of prices have no noise in their last digits.
func TestRound(t *testing.T) {
	for x, want := range map[float64]float64{
		0.00013749999999999998: 0.0001375, 1.1500000000000002e-05: 1.15e-05, 1.0 / 3: 0.333333333333, 0: 0, 42: 42,
	} {
		if got := text.Round(x); got != want {
			t.Errorf("%v becomes %v, want %v", x, got, want)
		}
	}
}
