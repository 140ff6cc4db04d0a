package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"time"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/analyze"
	"github.com/plumb-eval/plumb/internal/compare"
)

// The targets of comparisons.
const (
	compareTarget = 100 * time.Millisecond
	analyzeTarget = 2 * time.Second
	// comparedTarget is the peak memory of comparing large runs, in MB.
	comparedTarget = 400.0
)

// compare measures plumb compare of two runs, and the statistics of a comparison alone.
func (b *bench) compare(ctx context.Context) error {
	for _, n := range []int{100, 100_000 / b.scale} {
		u, err := b.compareRuns(ctx, n)
		if err != nil {
			return err
		}
		what := fmt.Sprintf("plumb compare of two runs of %d cases", n)
		figure := fmt.Sprintf("%s, %s CPU, %s", ms(u.wall), ms(u.cpu), mb(u.peak))
		if n == 100 {
			b.report.target(what+", median of 10", figure, "< "+ms(compareTarget), u.wall < compareTarget)
		} else {
			b.report.target(what, figure, fmt.Sprintf("< %.0f MB", comparedTarget), float64(u.peak)/1e6 < comparedTarget)
		}
	}
	n := 100_000 / b.scale
	u, err := execute(ctx, b.dir, b.environment(""), b.self, "compare", "-n", fmt.Sprint(n))
	if err = u.failure(err); err != nil {
		return err
	}
	wall, err := time.ParseDuration(strings.TrimSpace(u.output))
	if err != nil {
		return err
	}
	b.report.target(fmt.Sprintf("the statistics of %d pairs, with 9,999 permutations of each metric", n),
		fmt.Sprintf("%.2f s; %s CPU and %s with making the pairs", wall.Seconds(), ms(u.cpu), mb(u.peak)),
		"< "+analyzeTarget.String(), wall < analyzeTarget)
	return nil
}

// compareRuns makes two runs of n cases and compares them.
func (b *bench) compareRuns(ctx context.Context, n int) (usage, error) {
	suite, answers, err := b.generate(ctx, n)
	if err != nil {
		return usage{}, err
	}
	srv, err := b.serve(ctx, answers, 0)
	if err != nil {
		return usage{}, err
	}
	defer srv.stop()
	out := filepath.Join(b.dir, fmt.Sprintf("compared-%d", n))
	for range 2 {
		run := append(b.runCommand(suite, filepath.Join(b.dir, "summary.json"), 64), "--output-dir", out)
		u, err := execute(ctx, b.dir, b.environment(srv.url), run...)
		if err != nil || u.code > 1 {
			return usage{}, fmt.Errorf("%w: no run to compare: code %d: %s", errWrong, u.code, u.output)
		}
	}
	all := make([]usage, 1)
	if n == 100 {
		all = make([]usage, 10)
	}
	for i := range all {
		args := []string{b.plumb, "compare", "prev", "last", "--output-dir", out}
		u, err := execute(ctx, b.dir, b.environment(""), args...)
		if err != nil || u.code != 0 && u.code != 3 {
			return usage{}, fmt.Errorf("%w: equal runs: code %d: %s", errWrong, u.code, u.output)
		}
		all[i] = u
	}
	return medians(all), nil
}

// compareMain compares generated samples and prints the time. Each pair has values of all metrics.
func compareMain(args []string, stdout, stderr io.Writer) error {
	fs := flag.NewFlagSet("compare", flag.ContinueOnError)
	fs.SetOutput(stderr)
	n := fs.Int("n", 100_000, "number of pairs")
	if err := fs.Parse(args); err != nil {
		return err
	}
	m := generatedMatching(*n)
	begun := time.Now()
	c := compare.Analyze(m, compare.DefaultChoices())
	took := time.Since(begun)
	if c.Pairs.Measured != *n || !c.P.OK() || c.Conclusion != compare.Equivalent {
		return fmt.Errorf("%w: equal sides: %s, %d pairs", errWrong, c.Conclusion, c.Pairs.Measured)
	}
	_, err := fmt.Fprintln(stdout, took)
	return err
}

// generatedMatching returns a matching of n pairs whose sides have the same distribution.
func generatedMatching(n int) *compare.Matching {
	r := rand.New(rand.NewPCG(1, 2))
	m := &compare.Matching{
		Base: &compare.Side{ID: "a", Runners: []compare.Runner{{ID: "r"}}},
		Cand: &compare.Side{ID: "b", Runners: []compare.Runner{{ID: "r"}}},
	}
	pair := compare.RunnerPair{Base: "r", Cand: "r", Pairs: make([]compare.Pair, n)}
	for i := range pair.Pairs {
		id := fmt.Sprintf("case-%06d", i)
		c := plumb.CaseInfo{ID: id, Hash: id, Category: id[:9], Repeat: 1}
		rate := r.Float64()
		p := compare.Pair{
			Case: &c, BaseCase: id, CandCase: id, BaseIndex: i, CandIndex: i, Cluster: id,
			Base: generatedSample(r, rate), Cand: generatedSample(r, rate), BasePlanned: 1, CandPlanned: 1,
		}
		m.Base.Cases, m.Cand.Cases = append(m.Base.Cases, c), append(m.Cand.Cases, c)
		m.Base.Samples, m.Cand.Samples = append(m.Base.Samples, p.Base), append(m.Cand.Samples, p.Cand)
		pair.Pairs[i] = p
	}
	m.Runners = []compare.RunnerPair{pair}
	return m
}

func generatedSample(r *rand.Rand, rate float64) []analyze.Sample {
	figure := func(median float64) float64 { return median * math.Exp(r.NormFloat64()/2) }
	s := analyze.Sample{
		Repetition: 1, Session: 1, Outcome: plumb.OutcomeFail, Class: "assertion", Score: r.Float64(), Tokens: figure(900),
		InputTokens: figure(600), OutputTokens: figure(300), CostUSD: figure(0.01), LatencyMs: figure(2000), Steps: figure(9),
	}
	if r.Float64() < rate {
		s.Outcome, s.Class, s.Green = plumb.OutcomePass, "", true
	}
	return []analyze.Sample{s}
}
