package analyze

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func normals(n int, shift float64, random *rand.Rand) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = shift + random.NormFloat64()
	}
	return out
}

// BenchmarkSignFlip tests 100,000 pairs with 9,999 draws. Its memory does not grow with the draws.
func BenchmarkSignFlip(b *testing.B) {
	diffs := normals(100_000, 0, rand.New(rand.NewPCG(1, 2)))
	b.ReportAllocs()
	for b.Loop() {
		signFlip(diffs, NewSeed("bench"))
	}
}

func BenchmarkStratifiedPermutation(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 2))
	base, cand := make([][]float64, 20_000), make([][]float64, 20_000)
	for i := range base {
		base[i], cand[i] = normals(5, 0, random), normals(5, 0, random)
	}
	for b.Loop() {
		StratifiedPermutation(base, cand, NewSeed("bench"))
	}
}

func BenchmarkStratified(b *testing.B) {
	pairs := make([]PairCounts, 2_000)
	for i := range pairs {
		pairs[i] = PairCounts{BaseMeasured: 10, BasePassed: 7, CandMeasured: 10, CandPassed: 3 + i%5}
	}
	for b.Loop() {
		Stratified(pairs)
	}
}

// TestSeeds holds the draws of a seed fixed: a change of them changes published p-values.
func TestSeeds(t *testing.T) {
	t.Parallel()
	if NewSeed("t", "a", "b") != NewSeed("t", "b", "a") {
		t.Error("the order of the units changes the seed")
	}
	if NewSeed("t", "ab") == NewSeed("t", "a", "b") ||
		NewSeed("ta") == NewSeed("t", "a") {
		t.Error("different units give the same seed")
	}
	seed := NewSeed("t")
	if seed.block(0).Uint64() == seed.block(1).Uint64() {
		t.Error("two blocks draw the same numbers")
	}
}

// TestPermutationOfManyPairs compares random draws with the distribution that they approximate, and
// the shares of the two directions.
func TestPermutationOfManyPairs(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	diffs := normals(501, 0.08, random) // no multiple of eight
	p := signFlip(diffs, NewSeed("test"))
	if p.Exact {
		t.Fatal("501 differences are enumerated")
	}
	squares := 0.0
	for _, d := range diffs {
		squares += d * d
	}
	z := p.Mean * float64(len(diffs)) / math.Sqrt(squares)
	want := math.Erfc(z/math.Sqrt2) / 2
	if se := math.Sqrt(want * (1 - want) / 1e4); math.Abs(p.Greater-want) > 4*se {
		t.Errorf("p %v, want about %v", p.Greater, want)
	}
	if math.Abs(p.Greater+p.Less-1) > 2e-4 {
		t.Errorf("shares %v and %v of continuous sums do not add up to 1", p.Greater, p.Less)
	}

	// One repetition a side is the sign flip of the differences.
	base, cand := make([][]float64, len(diffs)), make([][]float64, len(diffs))
	for i, d := range diffs {
		base[i], cand[i] = []float64{d}, []float64{0}
	}
	if diff := cmp.Diff(p, StratifiedPermutation(base, cand, NewSeed("test"))); diff != "" {
		t.Errorf("stratified of one repetition (-sign flip +got):\n%s", diff)
	}

	// With repetitions, each way to draw agrees with the normal approximation.
	for _, sizes := range [][2]int{{3, 3}, {3, 7}, {12, 12}, {20, 2}} {
		base, cand := make([][]float64, 150), make([][]float64, 150)
		for i := range base {
			base[i], cand[i] = normals(sizes[0], 0.1, random), normals(sizes[1], 0, random)
		}
		p := StratifiedPermutation(base, cand, NewSeed("test"))
		variance := 0.0
		for i := range base {
			pooled := slices.Concat(base[i], cand[i])
			m, s := 0.0, 0.0
			for _, v := range pooled {
				m += v / float64(len(pooled))
			}
			for _, v := range pooled {
				s += (v - m) * (v - m) / float64(len(pooled)-1)
			}
			variance += s * (1/float64(sizes[0]) + 1/float64(sizes[1]))
		}
		want := math.Erfc(p.Mean*150/math.Sqrt(variance)/math.Sqrt2) / 2
		if se := math.Sqrt(want * (1 - want) / 1e4); p.Exact || math.Abs(p.Greater-want) > 4*se+0.002 {
			t.Errorf("%v repetitions: p %v, want about %v", sizes, p.Greater, want)
		}
	}
}

// TestStratifiedPermutationEnumerates compares the exact shares with those over all relabelings.
func TestStratifiedPermutationEnumerates(t *testing.T) {
	t.Parallel()
	base := [][]float64{{1, 0.5}, {0.25}, {}, {1, 1}}
	cand := [][]float64{{0, 0.5, 0.25}, {0}, {7}, {1}}
	p := StratifiedPermutation(base, cand, NewSeed("test"))
	pool := []float64{1, 0.5, 0, 0.5, 0.25}
	observed := (0.75 - 0.25) + 0.25
	all, greater, extreme := 0.0, 0.0, 0.0
	for i := range pool {
		for j := range i {
			sum := pool[i] + pool[j]
			for _, d := range []float64{0.25, -0.25} {
				at := sum/2 - (2.25-sum)/3 + d
				all++
				if at >= observed-1e-9 {
					greater++
				}
				if math.Abs(at) >= observed-1e-9 {
					extreme++
				}
			}
		}
	}
	want := Permutation{
		Mean: observed / 3, Greater: greater / all, Less: p.Less, TwoSided: extreme / all, Exact: true,
	}
	near := cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) < 1e-12 })
	if diff := cmp.Diff(want, p, near); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestStratifiedPermutationNormal(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	base, cand := make([][]float64, 50_001), make([][]float64, 50_001)
	for i := range base {
		base[i], cand[i] = normals(2, 0.01, random), normals(2, 0, random)
	}
	p := StratifiedPermutation(base, cand, NewSeed("test"))
	z := p.Mean / math.Sqrt(1.0/50_001)
	if want := math.Erfc(z/math.Sqrt2) / 2; p.Exact || math.Abs(p.Greater-want) > 0.01 || p.Greater+p.Less != 1 {
		t.Errorf("got %+v, want p of about %v", p, want)
	}
}

func BenchmarkStratifiedPermutationOfTwo(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 2))
	base, cand := make([][]float64, 50_000), make([][]float64, 50_000)
	for i := range base {
		base[i], cand[i] = normals(2, 0, random), normals(2, 0, random)
	}
	for b.Loop() {
		StratifiedPermutation(base, cand, NewSeed("bench"))
	}
}
