package compare_test

import (
	"math/rand/v2"
	"testing"

	"github.com/plumb-eval/plumb/internal/compare"
)

// large makes a matching of n pairs with one repetition a side and values of all metrics.
func large(n int) *compare.Matching {
	m := matching(repeated(n, counts{1, 1, 1, 1})...)
	r := rand.New(rand.NewPCG(1, 1))
	for i := range m.Runners[0].Pairs {
		p := &m.Runners[0].Pairs[i]
		p.Base, p.Cand = someSamples(r, 1), someSamples(r, 1)
		m.Base.Samples[i], m.Cand.Samples[i] = p.Base, p.Cand
	}
	return m
}

func BenchmarkAnalyze(b *testing.B) {
	for name, n := range map[string]int{"100": 100, "100000": 100_000} {
		b.Run(name, func(b *testing.B) {
			m := large(n)
			b.ReportAllocs()
			for b.Loop() {
				compare.Analyze(m, compare.DefaultChoices())
			}
		})
	}
}
