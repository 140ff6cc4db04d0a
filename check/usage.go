package check

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/plumb-eval/plumb"
)

// A figure is something that a session used and that a kind limits.
type figure struct {
	kind, doc string
	subject   string // what took it: "the answer" or "the session"
	unit      string
	// read returns the figure, or an error if the session does not report it.
	read func(*plumb.SessionReport) (float64, error)
}

// limitKinds describes the kinds that limit a figure.
func limitKinds() []Kind {
	tokens := func(unit string, count func(*plumb.Usage) *int64) func(*plumb.SessionReport) (float64, error) {
		return func(r *plumb.SessionReport) (float64, error) {
			if n := count(&r.Usage); n != nil {
				return float64(*n), nil
			}
			err := fmt.Errorf("the number of %s is unknown", unit)
			return 0, plumb.WithHint(err, "the runner does not report this usage")
		}
	}
	var all []Kind
	for _, f := range []figure{
		{
			"max_tokens", "the answer took at most `max` output tokens, including reasoning",
			"the answer", "output tokens", tokens("output tokens", func(u *plumb.Usage) *int64 { return u.OutputTokens }),
		},
		{"max_latency_ms", "the answered request took at most `max` milliseconds", "the answer", "ms", latency},
		{"max_steps", "the agent took at most `max` steps, as it counts them", "the session", "steps", steps},
		{
			"max_input_tokens", "the session took at most `max` input tokens, including cached ones",
			"the session", "input tokens", tokens("input tokens", func(u *plumb.Usage) *int64 { return u.InputTokens }),
		},
		{
			"max_total_tokens", "the session took at most `max` tokens, without cached ones",
			"the session", "tokens", tokens("tokens", func(u *plumb.Usage) *int64 { return u.TotalTokens }),
		},
		{"max_cost_usd", "the session cost at most `max` US dollars", "the session", "US dollars", cost},
		{"max_duration_ms", "the session took at most `max` milliseconds", "the session", "ms", duration},
	} {
		all = append(all, limitKind(f))
	}
	return all
}

// limitKind describes a kind that limits a figure.
func limitKind(f figure) Kind {
	limit := Key{
		Name: "max", Alias: "value", Type: "integer", Required: true, Positive: true,
		Doc: "the limit in " + f.unit + "; `value` is another name for it",
	}
	if f.kind == "max_cost_usd" {
		limit.Type, limit.Positive, limit.Min = "number", false, new(0.0)
	}
	return Kind{
		Name: f.kind, Doc: f.doc, Reads: "usage", Keys: []Key{limit}, Details: "`max`, `got`",
		parse: func(s *spec) matcher {
			key := "max"
			if s.Get("value") != nil {
				key = "value"
			}
			return usageMatcher{figure: &f, max: s.number(key)}
		},
		figure: &f,
	}
}

func latency(r *plumb.SessionReport) (float64, error) {
	if r.LatencyMs > 0 {
		return float64(r.LatencyMs), nil
	}
	return duration(r)
}

func steps(r *plumb.SessionReport) (float64, error) {
	if r.Steps == 0 && r.Runner.Kind != plumb.RunnerAgent {
		return 0, plumb.WithHint(errors.New("the session reports no steps"), "only agents take steps")
	}
	return float64(r.Steps), nil
}

func cost(r *plumb.SessionReport) (float64, error) {
	if r.CostUSD == nil {
		return 0, plumb.WithHint(errors.New("the cost of the session is unknown"),
			"give the model a price under prices in the config")
	}
	return *r.CostUSD, nil
}

func duration(r *plumb.SessionReport) (float64, error) {
	switch {
	case r.DurationMs > 0:
		return float64(r.DurationMs), nil
	case r.StartedAt != nil && r.EndedAt != nil && !r.EndedAt.Before(*r.StartedAt):
		return float64(r.EndedAt.Sub(*r.StartedAt).Milliseconds()), nil
	}
	return 0, errors.New("the duration is unknown")
}

// MaxTokens passes if the answer took at most limit output tokens, reasoning included, as the
// provider counted them. If the provider did not count, the check is an error.
func MaxTokens(limit int64) *Check { return maxUsage("max_tokens", float64(limit)) }

// MaxLatency passes if the answered request took at most limit, without waits for rate limits and
// retries. If only the whole session was timed, its duration counts. A cached answer has the
// latency that was recorded.
func MaxLatency(limit time.Duration) *Check {
	return maxUsage("max_latency_ms", float64(limit.Milliseconds()))
}

// MaxSteps passes if the agent took at most limit steps, as it counts them.
func MaxSteps(limit int) *Check { return maxUsage("max_steps", float64(limit)) }

// MaxInputTokens passes if the session took at most limit input tokens, cached ones included.
func MaxInputTokens(limit int64) *Check { return maxUsage("max_input_tokens", float64(limit)) }

// MaxTotalTokens passes if the session took at most limit tokens, without those that a cache
// served.
func MaxTotalTokens(limit int64) *Check { return maxUsage("max_total_tokens", float64(limit)) }

// MaxCost passes if the session cost at most limit US dollars. If the cost is unknown, the check is
// an error.
func MaxCost(limit float64) *Check { return maxUsage("max_cost_usd", limit) }

// MaxDuration passes if the session took at most limit from its start to its end.
func MaxDuration(limit time.Duration) *Check {
	return maxUsage("max_duration_ms", float64(limit.Milliseconds()))
}

func maxUsage(kind string, limit float64) *Check {
	return newCheck(kind, usageMatcher{figure: kindOf(kind).figure, max: limit})
}

// usageMatcher limits a figure.
type usageMatcher struct {
	offline
	*figure
	max float64
}

func (u usageMatcher) describe(o options) { o["max"] = u.max }

func (u usageMatcher) match(_ context.Context, ev *plumb.Evidence) plumb.Verdict {
	got, err := u.read(ev.Report)
	if err != nil {
		return unmeasured(incomplete(err))
	}
	show := func(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
	v := decided(got <= u.max, fmt.Sprintf("%s took %s %s, want at most %s", u.subject, show(got), u.unit, show(u.max)))
	v.Expected, v.Got = "at most "+show(u.max)+" "+u.unit, show(got)+" "+u.unit
	v.Details = details("max", u.max, "got", got)
	return v
}
