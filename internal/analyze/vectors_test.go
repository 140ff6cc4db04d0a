package analyze

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/big"
	"os"
	"slices"
	"strings"
	"testing"
)

// vectorFunctions are the functions of the vectors, with their input keys and expected keys.
var vectorFunctions = map[string]struct {
	input, expected string
	call            func(in vectorInput) []any
}{
	"wilson": {"k n conf", "p lo hi center", func(in vectorInput) []any {
		k, n := in.int("k"), in.int("n")
		lo, hi := Wilson(k, n, in.float("conf"))
		return []any{float64(k) / float64(n), lo, hi, (lo + hi) / 2}
	}},
	"clopper_pearson": {"k n conf", "lo hi", func(in vectorInput) []any {
		lo, hi := ClopperPearson(in.int("k"), in.int("n"), in.float("conf"))
		return []any{lo, hi}
	}},
	"beta_interval": {"k n conf prior_a prior_b", "mean lo hi", func(in vectorInput) []any {
		mean, lo, hi := betaInterval(
			in.int("k"), in.int("n"), in.float("conf"), in.float("prior_a"), in.float("prior_b"),
		)
		return []any{mean, lo, hi}
	}},
	"pass_at_k": {"n c k", "value", func(in vectorInput) []any {
		v, ok := passAtK(in.int("n"), in.int("c"), in.int("k"))
		return computed(ok, v)
	}},
	"pass_hat_k": {"n c k", "value", func(in vectorInput) []any {
		v, ok := passHatK(in.int("n"), in.int("c"), in.int("k"))
		return computed(ok, v)
	}},
	"suite_pass_k": {"tasks k", "pass_at_k pass_hat_k", func(in vectorInput) []any {
		tasks := in.objects("tasks", "n c")
		sumAt, sumHat, computable := 0.0, 0.0, len(tasks) > 0
		for _, task := range tasks {
			at, ok := passAtK(task.int("n"), task.int("c"), in.int("k"))
			hat, _ := passHatK(task.int("n"), task.int("c"), in.int("k"))
			sumAt, sumHat, computable = sumAt+at, sumHat+hat, computable && ok
		}
		n := float64(len(tasks))
		return computed(computable, sumAt/n, sumHat/n)
	}},
	"flaky_posterior": {"k n lo hi", "p_flaky p_below p_above", func(in vectorInput) []any {
		flaky, below, above := flakyPosterior(in.int("k"), in.int("n"), in.float("lo"), in.float("hi"))
		return []any{flaky, below, above}
	}},
	"clustered_se": {
		"scores clusters", "mean se_iid se_clustered_miller se_cr0 se_cr1",
		func(in vectorInput) []any {
			return errorsOf(clusteredError(in.floats("scores"), in.labels("clusters")))
		},
	},
	"paired_clustered_se": {
		"base cand clusters", "mean se_iid se_clustered_miller se_cr0 se_cr1",
		func(in vectorInput) []any {
			diffs := in.floats("base")
			for i, cand := range in.floats("cand") {
				diffs[i] -= cand
			}
			return errorsOf(clusteredError(diffs, in.labels("clusters")))
		},
	},
	"icc_oneway": {"groups", "icc design_effect n_eff", func(in vectorInput) []any {
		icc, effect, n, ok := ICC(in.lists("groups"))
		return computed(ok, icc, effect, n)
	}},
	"fisher_exact": {"table", "less greater two_sided", func(in vectorInput) []any {
		table := in.lists("table")
		less, greater, twoSided := Fisher(
			int(table[0][0]), int(table[0][1]), int(table[1][0]), int(table[1][1]),
		)
		return []any{less, greater, twoSided}
	}},
	"mcnemar_exact": {
		"base_pass_cand_fail base_fail_cand_pass", "p_worse p_two_sided mid_p_two_sided",
		func(in vectorInput) []any {
			worse, twoSided, midP := mcNemar(in.int("base_pass_cand_fail"), in.int("base_fail_cand_pass"))
			return []any{worse, twoSided, midP}
		},
	},
	"bonett_price": {"b c n conf", "diff lo hi", func(in vectorInput) []any {
		e := BonettPrice(in.int("b"), in.int("c"), in.int("n"), in.float("conf"))
		return computed(e.OK, -e.Value, -e.Hi, -e.Lo) // the vectors take baseline minus candidate
	}},
	"paired_permutation_exact": {"diffs", "mean p_greater p_two_sided", func(in vectorInput) []any {
		p := signFlip(in.floats("diffs"), NewSeed("vectors"))
		return []any{p.Mean, p.Greater, p.TwoSided}
	}},
	"stratified_exact": {"cases", "observed expected p_worse p_better", func(in vectorInput) []any {
		var pairs []PairCounts
		for _, c := range in.objects("cases", "n_base pass_base n_cand pass_cand") {
			pairs = append(pairs, PairCounts{
				BaseMeasured: c.int("n_base"), BasePassed: c.int("pass_base"),
				CandMeasured: c.int("n_cand"), CandPassed: c.int("pass_cand"),
			})
		}
		t := Stratified(pairs)
		return []any{float64(t.Observed), t.Expected, t.Worse, t.Better}
	}},
	"holm_adjust": {"p", "q", func(in vectorInput) []any { return []any{Holm(in.floats("p"))} }},
	"bh_adjust":   {"p", "q", func(in vectorInput) []any { return []any{BH(in.floats("p"))} }},
	"mcnemar_evalue": {"base_pass_cand_fail base_fail_cand_pass", "e", func(in vectorInput) []any {
		return []any{math.Exp(logMcNemarE(in.int("base_pass_cand_fail"), in.int("base_fail_cand_pass")))}
	}},
	"judge_corrected_rate": {
		"judge_pass_rate n specificity m_neg sensitivity m_pos conf", "theta se lo hi",
		func(in vectorInput) []any {
			e := CorrectedRate(
				in.float("judge_pass_rate"), in.int("n"), in.float("specificity"), in.int("m_neg"),
				in.float("sensitivity"), in.int("m_pos"), in.float("conf"),
			)
			return []any{e.Value, e.SE, e.Lo, e.Hi}
		},
	},
	"ppi_mean": {"y_labelled judge_labelled judge_unlabelled", "estimate se", func(in vectorInput) []any {
		e := PPIMean(in.floats("y_labelled"), in.floats("judge_labelled"), in.floats("judge_unlabelled"), 0.95)
		return []any{e.Value, e.SE}
	}},
	"paired_sample_size": {
		"omega2 sigma2_a k_a sigma2_b k_b delta alpha power", "n",
		func(in vectorInput) []any {
			d := PairedDesign{
				Between: in.float("omega2"), WithinBase: in.float("sigma2_a"), RepeatsBase: in.int("k_a"),
				WithinCand: in.float("sigma2_b"), RepeatsCand: in.int("k_b"),
			}
			return []any{PairedSampleSize(d, in.float("delta"), in.float("alpha"), in.float("power"))}
		},
	},
	"paired_mde": {"n omega2 sigma2_a sigma2_b k alpha power", "mde", func(in vectorInput) []any {
		d := PairedDesign{
			Between: in.float("omega2"), WithinBase: in.float("sigma2_a"), RepeatsBase: in.int("k"),
			WithinCand: in.float("sigma2_b"), RepeatsCand: in.int("k"),
		}
		// The sample size for an effect of 1, solved for the effect.
		return []any{math.Sqrt(PairedSampleSize(d, 1, in.float("alpha"), in.float("power")) / in.float("n"))}
	}},
}

func errorsOf(e standardErrors) []any {
	return []any{e.Mean, e.IID, e.Miller, e.CR0, e.CR1}
}

// computed returns values, or null for each of them if they could not be computed.
func computed(ok bool, values ...float64) []any {
	out := make([]any, len(values))
	for i, v := range values {
		if ok {
			out[i] = v
		}
	}
	return out
}

// vectorInput is the input of one vector. A missing key or a value of another type panics.
type vectorInput map[string]any

func (in vectorInput) float(key string) float64 { return parsed(in[key]) }

func (in vectorInput) int(key string) int {
	v := in.float(key)
	if v != math.Trunc(v) {
		panic(fmt.Sprintf("%s is %v, not a whole number", key, v))
	}
	return int(v)
}

func (in vectorInput) floats(key string) []float64 { return numbers(in[key]) }

func (in vectorInput) lists(key string) [][]float64 {
	var out [][]float64
	for _, v := range in[key].([]any) {
		out = append(out, numbers(v))
	}
	return out
}

// labels numbers the distinct values of the lists at keys.
func (in vectorInput) labels(keys ...string) []int {
	ids, out := map[string]int{}, []int{}
	for _, key := range keys {
		for _, v := range in[key].([]any) {
			name := fmt.Sprint(v)
			if _, known := ids[name]; !known {
				ids[name] = len(ids)
			}
			out = append(out, ids[name])
		}
	}
	return out
}

func (in vectorInput) objects(key, keys string) []vectorInput {
	var out []vectorInput
	for _, v := range in[key].([]any) {
		object := vectorInput(v.(map[string]any))
		if !sameKeys(object, keys) {
			panic(fmt.Sprintf("%s has an entry with other keys than %s", key, keys))
		}
		out = append(out, object)
	}
	return out
}

func sameKeys(object map[string]any, keys string) bool {
	return slices.Equal(slices.Sorted(maps.Keys(object)), slices.Sorted(slices.Values(strings.Fields(keys))))
}

// parsed reads a JSON number, a decimal string, or a rational "num/den".
func parsed(v any) float64 {
	s := fmt.Sprint(v)
	r, ok := new(big.Rat).SetString(s)
	if !ok {
		panic(fmt.Sprintf("%q is not a number", s))
	}
	f, _ := r.Float64()
	return f
}

func numbers(v any) []float64 {
	out := []float64{}
	for _, e := range v.([]any) {
		out = append(out, parsed(e))
	}
	return out
}

type vector struct {
	ID       string
	Fn       string
	Input    vectorInput
	Expected map[string]any
	RelTol   any `json:"rel_tol"`
}

// readVectors reads a file of vectors, keeping the digits of its numbers.
func readVectors(t *testing.T, path string) []vector {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Cases []vector }
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	if err := decoder.Decode(&file); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	if len(file.Cases) == 0 {
		t.Fatalf("%s has no vectors", path)
	}
	return file.Cases
}

// retired are the functions of the vectors that Plumb does not have, because no command needs them.
func retired() []string {
	return strings.Fields(`
		repeats_to_see_both
		two_proportion mann_whitney_exact token_ratio_welch
		by_adjust e_bh stouffer fisher_combination partial_conjunction
		calibrator_mixture calibrator_power conformal_p shiryaev_roberts cusum_e trimmed_e
		cusum_tabular cusum_arl_siegmund page_hinkley_down
		mmd_hamming mmd_spectrum mmd_permutation_exact tv_distance
		mcnemar_power two_proportion_n`)
}

// TestVectors runs the vectors of the method, further ones for the edges, and those of the file
// that PLUMB_STATS_VECTORS names, without those of retired functions.
func TestVectors(t *testing.T) {
	t.Parallel()
	files := []string{"testdata/stats-vectors.json", "testdata/stats-vectors-edges.json"}
	if extra := os.Getenv("PLUMB_STATS_VECTORS"); extra != "" {
		files = append(files, extra)
	}
	for _, file := range files {
		for _, v := range readVectors(t, file) {
			if slices.Contains(retired(), v.Fn) {
				continue
			}
			t.Run(v.ID, func(t *testing.T) {
				t.Parallel()
				runVector(t, v)
			})
		}
	}
}

func runVector(t *testing.T, v vector) {
	t.Helper()
	f, ok := vectorFunctions[v.Fn]
	if !ok {
		t.Fatalf("unknown function %q", v.Fn)
	}
	if !sameKeys(v.Input, f.input) || !sameKeys(v.Expected, f.expected) {
		t.Fatalf("%s has keys %v → %v, want %s → %s", v.Fn, slices.Sorted(maps.Keys(v.Input)),
			slices.Sorted(maps.Keys(v.Expected)), f.input, f.expected)
	}
	got := f.call(v.Input)
	for i, key := range strings.Fields(f.expected) {
		if !matches(got[i], v.Expected[key], parsed(v.RelTol)) {
			t.Errorf("%s: got %.17v, want %v", key, got[i], v.Expected[key])
		}
	}
}

// matches compares a figure or a list. A figure that is not computable is null.
func matches(got, want any, tolerance float64) bool {
	if list, isList := want.([]any); isList {
		values, isList := got.([]float64)
		return isList && slices.EqualFunc(values, list, func(got float64, want any) bool {
			return matches(got, want, tolerance)
		})
	}
	f, isNumber := got.(float64)
	switch strings.ToLower(strings.TrimPrefix(fmt.Sprint(want), "+")) {
	case "<nil>", "null", "nan":
		return !isNumber || math.IsNaN(f)
	case "inf", "infinity":
		return math.IsInf(f, 1)
	}
	w := parsed(want)
	return isNumber && math.Abs(f-w) <= tolerance*max(math.Abs(w), 1e-3)
}

func TestVectorFunctionsAreComplete(t *testing.T) {
	t.Parallel()
	names := strings.Fields(`
		wilson clopper_pearson beta_interval
		pass_at_k pass_hat_k suite_pass_k flaky_posterior
		clustered_se paired_clustered_se icc_oneway
		fisher_exact
		mcnemar_exact bonett_price paired_permutation_exact stratified_exact
		holm_adjust bh_adjust mcnemar_evalue judge_corrected_rate ppi_mean
		paired_sample_size paired_mde`)
	if len(names) != len(vectorFunctions) || len(names)+len(retired()) != 46 {
		t.Errorf("%d names, %d functions and %d retired ones, want 46", len(names), len(vectorFunctions), len(retired()))
	}
	tested := map[string]bool{}
	for _, file := range []string{"testdata/stats-vectors.json", "testdata/stats-vectors-edges.json"} {
		for _, v := range readVectors(t, file) {
			tested[v.Fn] = true
		}
	}
	for _, name := range names {
		if _, ok := vectorFunctions[name]; !ok {
			t.Errorf("%s has no function", name)
		}
		if !tested[name] {
			t.Errorf("%s has no vector", name)
		}
	}
}
