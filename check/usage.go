package check

import (
	"context"
	"fmt"
	"time"

	"github.com/plumb-eval/plumb"
)

// usageMatcher is max_tokens and max_latency_ms.
type usageMatcher struct {
	offline
	kind string
	max  int64
}

// MaxTokens holds when the answer took at most limit output tokens, reasoning included, as the provider counted them.
// Where it did not count, the check is an error.
func MaxTokens(limit int64) *Check {
	return &Check{matcher: usageMatcher{kind: typeMaxTokens, max: limit}}
}

// MaxLatency holds when the request that was answered took at most limit, waits for rate limits and retries left out.
// Where only the whole session was timed, its duration counts. A cached answer has the latency that was recorded.
func MaxLatency(limit time.Duration) *Check {
	return &Check{matcher: usageMatcher{kind: typeMaxLatency, max: limit.Milliseconds()}}
}

func (u usageMatcher) Type() string { return u.kind }

func (u usageMatcher) describe(o *object) { o.num("max", float64(u.max)) }

func (u usageMatcher) match(_ context.Context, ev *plumb.Evidence) (plumb.Verdict, error) {
	var got int64
	what := "ms"
	switch r := ev.Report; {
	case u.kind == typeMaxTokens:
		if r.Usage.OutputTokens == nil {
			err := plumb.WithHint(fmt.Errorf("the number of output tokens is not known"),
				"the runner reports no usage; max_tokens needs one that does")
			return unmeasured(plumb.Failed(plumb.OriginAssertHook, err)), nil
		}
		got, what = *r.Usage.OutputTokens, "output tokens"
	case r.LatencyMs > 0:
		got = r.LatencyMs
	case r.DurationMs > 0:
		got = r.DurationMs
	case r.StartedAt != nil && r.EndedAt != nil && !r.EndedAt.Before(*r.StartedAt):
		got = r.EndedAt.Sub(*r.StartedAt).Milliseconds()
	default:
		return unmeasured(plumb.Failuref(plumb.OriginAssertHook, "the latency is not known")), nil
	}
	v := decided(got <= u.max, fmt.Sprintf("the answer took %d %s, at most %d wanted", got, what, u.max))
	v.Expected, v.Got = fmt.Sprintf("at most %d %s", u.max, what), fmt.Sprintf("%d %s", got, what)
	var details object
	details.num("max", float64(u.max))
	details.num("got", float64(got))
	v.Details = details.json()
	return v, nil
}
