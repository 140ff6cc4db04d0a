package suite

import (
	"fmt"
	"strings"
	"testing"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/suite/lib"
)

// BenchmarkCodeSuite is what a suite in code costs before its first session: bundle it, start an engine, load it.
func BenchmarkCodeSuite(b *testing.B) {
	for b.Loop() {
		bundle, err := Read(b.Context(), "testdata/suites-ts/basic/basic.suite.ts", ReadOptions{})
		if err != nil {
			b.Fatal(err)
		}
		if _, _, err := bundle.Suite(b.Context(), lib.Host{}); err != nil {
			b.Fatal(err)
		}
		if err := bundle.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCodeAssert is one call of an assert function, with a small report and with one of 100 KB.
func BenchmarkCodeAssert(b *testing.B) {
	bundle, err := Read(b.Context(), "testdata/suites-ts/basic/basic.suite.ts", ReadOptions{})
	if err != nil {
		b.Fatal(err)
	}
	suite, _, err := bundle.Suite(b.Context(), lib.Host{})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = bundle.Close() }()
	for _, events := range []int{0, 500} {
		report := &plumb.SessionReport{FinalOutput: "red"}
		for range events {
			report.Events = append(report.Events, plumb.SessionEvent{
				Type: plumb.SessionCommand, Command: "pnpm test " + strings.Repeat("x", 150), ExitCode: new(0),
			})
		}
		b.Run(fmt.Sprint(events), func(b *testing.B) {
			ev := plumb.Evidence{Case: &suite.Cases[0], Report: report}
			for b.Loop() {
				if verdicts, err := suite.Cases[0].Assertions[0].Assert(b.Context(), ev); err != nil || !verdicts[0].Pass {
					b.Fatal(verdicts, err)
				}
			}
		})
	}
}
