package check

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/plumb-eval/plumb"
)

// usageMatcher limits what a session used: max_tokens and its like.
type usageMatcher struct {
	offline
	kind string
	max  float64
}

// MaxTokens holds when the answer took at most limit output tokens, reasoning included, as the provider counted them.
// Where it did not count, the check is an error.
func MaxTokens(limit int64) *Check { return maxUsage(typeMaxTokens, float64(limit)) }

// MaxLatency holds when the request that was answered took at most limit, waits for rate limits and retries left out.
// Where only the whole session was timed, its duration counts. A cached answer has the latency that was recorded.
func MaxLatency(limit time.Duration) *Check {
	return maxUsage(typeMaxLatency, float64(limit.Milliseconds()))
}

// MaxSteps holds when the agent took at most limit steps, as it counts them.
func MaxSteps(limit int) *Check { return maxUsage(typeMaxSteps, float64(limit)) }

// MaxInputTokens holds when the session took at most limit input tokens, cached ones included.
func MaxInputTokens(limit int64) *Check { return maxUsage(typeMaxInputTokens, float64(limit)) }

// MaxTotalTokens holds when the session took at most limit tokens that were not served from a cache.
func MaxTotalTokens(limit int64) *Check { return maxUsage(typeMaxTotalTokens, float64(limit)) }

// MaxCost holds when the session cost at most limit US dollars. Where the cost is not known, the check is an error.
func MaxCost(limit float64) *Check { return maxUsage(typeMaxCost, limit) }

// MaxDuration holds when the session took at most limit from its start to its end.
func MaxDuration(limit time.Duration) *Check {
	return maxUsage(typeMaxDuration, float64(limit.Milliseconds()))
}

func maxUsage(kind string, limit float64) *Check {
	return &Check{matcher: usageMatcher{kind: kind, max: limit}}
}

func (u usageMatcher) Type() string { return u.kind }

func (u usageMatcher) describe(o *object) { o.num("max", u.max) }

func (u usageMatcher) match(_ context.Context, ev *plumb.Evidence) (plumb.Verdict, error) {
	got, what, err := u.figure(ev.Report)
	if err != nil {
		return unmeasured(plumb.Failed(plumb.OriginAssertHook, err)), nil
	}
	show := func(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) + " " + what }
	subject := "the session"
	if u.kind == typeMaxTokens || u.kind == typeMaxLatency {
		subject = "the answer"
	}
	v := decided(got <= u.max, fmt.Sprintf("%s took %s, at most %s wanted", subject, show(got), strconv.FormatFloat(u.max, 'f', -1, 64)))
	v.Expected, v.Got = "at most "+show(u.max), show(got)
	var details object
	details.num("max", u.max)
	details.num("got", got)
	v.Details = details.json()
	return v, nil
}

// figure returns what is limited, in its unit.
func (u usageMatcher) figure(r *plumb.SessionReport) (got float64, unit string, err error) {
	counted := func(n *int64, what string) (float64, string, error) {
		if n == nil {
			return 0, "", plumb.WithHint(fmt.Errorf("the number of %s is not known", what),
				"the runner reports no usage; "+u.kind+" needs one that does")
		}
		return float64(*n), what, nil
	}
	switch {
	case u.kind == typeMaxTokens:
		return counted(r.Usage.OutputTokens, "output tokens")
	case u.kind == typeMaxInputTokens:
		return counted(r.Usage.InputTokens, "input tokens")
	case u.kind == typeMaxTotalTokens:
		return counted(r.Usage.TotalTokens, "tokens")
	case u.kind == typeMaxSteps:
		if r.Steps == 0 && r.Runner.Kind != plumb.RunnerAgent {
			return 0, "", plumb.WithHint(fmt.Errorf("the session has no steps"), "only agents take steps")
		}
		return float64(r.Steps), "steps", nil
	case u.kind == typeMaxCost:
		if r.CostUSD == nil {
			return 0, "", plumb.WithHint(fmt.Errorf("the cost of the session is not known"), "give the model a price under prices in the config")
		}
		return *r.CostUSD, "US dollars", nil
	case u.kind == typeMaxLatency && r.LatencyMs > 0:
		return float64(r.LatencyMs), "ms", nil
	case r.DurationMs > 0:
		return float64(r.DurationMs), "ms", nil
	case r.StartedAt != nil && r.EndedAt != nil && !r.EndedAt.Before(*r.StartedAt):
		return float64(r.EndedAt.Sub(*r.StartedAt).Milliseconds()), "ms", nil
	case u.kind == typeMaxLatency:
		return 0, "", fmt.Errorf("the latency is not known")
	default:
		return 0, "", fmt.Errorf("the duration is not known")
	}
}
