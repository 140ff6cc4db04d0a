package claude

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/agent/transcript"
)

// end takes the result record, which decides how the session ended.
func (c *claude) end() {
	r, rep, rec := c.r, c.r.Report, c.result
	if !c.ended {
		c.usageOfRequests()
		c.broken()
		if finish := claudeFinish(c.stop); r.Lost() && finish != "" && finish != plumb.FinishToolCalls && finish != plumb.FinishOther {
			rep.FinishReason = finish // a session file has no more
			r.Finished("", false)
			return
		}
		message := c.apiError
		if c.trying != "" {
			message = fmt.Sprintf("%s\nclaude-code ended during a retry, without a terminal record (%s)", c.trying, transcript.ExitText(r.ExitCode))
		}
		if message != "" {
			f := r.FailureOf(message, c.status)
			f.Attempts = c.retries + 1
			r.Failed(f)
		}
		return
	}
	for _, denied := range rec.Get("permission_denials").Array() {
		id := denied.Get("tool_use_id").String()
		r.Denial(transcript.Origin{Call: id}, denied.Get("tool_name").String(), "")
	}
	if u := rec.Get("usage"); u.IsObject() {
		reasoning := rep.Usage.ReasoningChars
		rep.Usage = c.usage(u)
		rep.Usage.ReasoningChars = reasoning
		c.thought()
	}
	if c.qwen && r.Resumed {
		r.Note("the token counts are those of all sessions of this conversation")
	}
	c.subagents(rec)
	c.cost(rec)
	if reason := rec.Get("stop_reason").String(); c.apiError == "" {
		if rep.FinishReason = claudeFinish(reason); reason != string(rep.FinishReason) {
			rep.ProviderFinishReason = strings.Clone(reason)
		}
	}
	if d := rec.Get("duration_ms"); d.Type == gjson.Number && d.Int() > 0 {
		rep.DurationMs = d.Int()
	}
	c.outcome(rec)
}

// outcome decides from the result record how the session ended.
func (c *claude) outcome(rec gjson.Result) {
	r := c.r
	text := rec.Get("result").String()
	apiError := c.qwen && strings.HasPrefix(text, "[API Error:") // is_error is false there before 0.24
	if !rec.Get("is_error").Bool() && !apiError {
		if subtype := rec.Get("subtype").String(); !strings.HasPrefix(subtype, "error") {
			r.Finished(text, rec.Get("result").Exists())
			return
		}
	}
	subtype, reason := rec.Get("subtype").String(), rec.Get("terminal_reason").String()
	message := text
	for _, e := range rec.Get("errors").Array() {
		if len(message) < transcript.MaxText {
			message = strings.TrimSpace(message + "\n" + cmp.Or(e.Str, transcript.FirstText(e, "message")))
		}
	}
	message = cmp.Or(message, rec.Get("error.message").String(), c.apiError)
	if text != "" && !apiError && text != c.apiError { // an error of the API is not the model's answer
		r.Final, r.HasFinal = transcript.Whole(text), true
	}
	switch {
	case subtype == "error_max_turns":
		f := plumb.Failuref(plumb.OriginMaxSteps, "the agent stopped at its limit of turns after %d", rec.Get("num_turns").Int())
		f.Hint = "raise the agent's own limit (--max-turns) if the case needs more"
		r.Failed(f)
		return
	case strings.HasPrefix(reason, "aborted"):
		message = strings.TrimSpace("interrupted (" + reason + ")\n" + message)
	case message == "":
		message = strings.TrimSpace(subtype + " " + reason)
	}
	f := r.FailureOf(message, cmp.Or(int(rec.Get("api_error_status").Int()), c.status))
	if c.retries > 0 {
		f.Attempts = c.retries + 1
	}
	r.Failed(f)
}

// subagents computes the usage of the subagents, which the main thread's usage excludes. With more
// than one subagent, only the session files have the usage of each.
func (c *claude) subagents(rec gjson.Result) {
	subs := c.r.Report.Subagents
	for _, s := range subs {
		if s.Usage != nil {
			return
		}
	}
	all := rec.Get("model_usage_since_last_result")
	if !all.IsObject() || len(all.Map()) == 0 || len(subs) == 0 {
		return
	}
	var in, out, read, written int64
	all.ForEach(func(_, m gjson.Result) bool {
		read += m.Get("cacheReadInputTokens").Int()
		written += m.Get("cacheCreationInputTokens").Int()
		in += m.Get("inputTokens").Int()
		out += m.Get("outputTokens").Int()
		return true
	})
	u := transcript.Since(plumb.Usage{
		InputTokens: new(in + read + written), OutputTokens: &out, CacheTokens: &read, CacheWriteTokens: &written,
	}, c.r.Report.Usage)
	if len(subs) == 1 {
		c.r.Subagent(subs[0].ID, "", &u)
		return
	}
	c.r.Note(fmt.Sprintf("the %d subagents used %d tokens together; the usage of each is not known", len(subs), u.Tokens()))
}

// thought removes a count of 0 thinking tokens from a session with thinking: the real count is
// missing.
func (c *claude) thought() {
	if u := &c.r.Report.Usage; u.ReasoningTokens != nil && *u.ReasoningTokens == 0 && u.ReasoningChars > 0 {
		u.ReasoningTokens = nil
	}
}

// cost takes the cost of the session with its subagents, if the agent knows the prices; otherwise
// the agent reports 0. The total continues over resumed sessions.
func (c *claude) cost(rec gjson.Result) {
	usd, known := 0.0, true
	since := rec.Get("model_usage_since_last_result")
	since.ForEach(func(_, m gjson.Result) bool {
		usd += m.Get("costUSD").Float()
		known = known && m.Get("costBasis").String() != "unknown"
		return true
	})
	if !since.Exists() && !c.r.Resumed {
		usd = rec.Get("total_cost_usd").Float()
	}
	if usd > 0 && known {
		c.r.Report.CostUSD = &usd
	}
}

func claudeFinish(reason string) plumb.FinishReason {
	switch reason {
	case "":
		return ""
	case "end_turn", "stop_sequence", "stop":
		return plumb.FinishStop
	case "max_tokens", "model_context_window_exceeded":
		return plumb.FinishTruncated
	case "refusal":
		return plumb.FinishRefused
	case "tool_use":
		return plumb.FinishToolCalls
	default:
		return plumb.FinishOther
	}
}

// broken sets the final output of a session without a result record: the texts of its last message,
// if the message called no tool.
func (c *claude) broken() {
	said := c.said[""]
	if said == nil {
		return
	}
	if !said.called {
		c.r.Final = said.text.String()
	}
	c.r.HasFinal = true
}

// usageOfRequests sums the usage of the requests, for a session without a result record.
func (c *claude) usageOfRequests() {
	requests := c.r.Report.RequestUsage
	unknown := slices.ContainsFunc(requests, func(q plumb.RequestUsage) bool { return q.OutputTokens == nil })
	for _, q := range requests {
		if q.Subagent != "" {
			continue
		}
		if unknown {
			q.OutputTokens, q.ReasoningTokens = nil, nil
		}
		transcript.AddUsed(&c.r.Report.Usage, q)
	}
	c.thought()
}
