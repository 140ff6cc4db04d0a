package run_test

import (
	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/run"
)

// forecast expects and caps the cost of sessions alone.
func forecast(expected, most float64) func(*plumb.Case, plumb.RunnerInfo) run.Forecast {
	return func(*plumb.Case, plumb.RunnerInfo) run.Forecast {
		return run.Forecast{Session: run.Part{Expected: run.Use{CostUSD: expected}, Cap: run.Use{CostUSD: most}}}
	}
}
