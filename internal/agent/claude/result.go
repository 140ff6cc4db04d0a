package claude

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/agent/transcript"
)

// end takes the result record, and settles what it decides.
func (c *claude) end(t *transcript.Transcript) {
	r, rep, rec := c.r, c.r.Report, c.result
	if !c.ended {
		c.usageOfRequests()
		c.broken()
		if finish := claudeFinish(c.stop); t.Lost() && finish != "" && finish != plumb.FinishToolCalls && finish != plumb.FinishOther {
			rep.FinishReason = finish // that is as much as a session file tells
			r.Finished("", false)
			return
		}
		said := c.apiError
		if c.trying != "" {
			said = fmt.Sprintf("%s\nclaude-code ended while it tried again, without a terminal record (%s)", c.trying, transcript.ExitText(t.ExitCode))
		}
		if said != "" {
			f := r.FailureOf(said, c.status)
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
		rep.Usage = plumb.Usage{
			InputTokens: c.input(u), OutputTokens: transcript.Tokens(u.Get("output_tokens")), ReasoningChars: reasoning,
			CacheTokens: transcript.Tokens(u.Get("cache_read_input_tokens")), CacheWriteTokens: transcript.Tokens(u.Get("cache_creation_input_tokens")),
			ReasoningTokens: transcript.Tokens(u.Get("output_tokens_details.thinking_tokens")),
		}
		c.thought()
	}
	if c.qwen && t.Resumed {
		r.Note("the token figures are those of all sessions of this conversation")
	}
	c.subagents(rec)
	c.cost(t, rec)
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
	said := text
	for _, e := range rec.Get("errors").Array() {
		if len(said) < transcript.MaxText {
			said = strings.TrimSpace(said + "\n" + transcript.FirstText(e, "message") + transcript.TextOf(stringOnly(e)))
		}
	}
	if said == "" {
		said = rec.Get("error.message").String()
	}
	if said == "" {
		said = c.apiError
	}
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
		said = strings.TrimSpace("interrupted (" + reason + ")\n" + said)
	case said == "":
		said = strings.TrimSpace(subtype + " " + reason)
	}
	status := int(rec.Get("api_error_status").Int())
	if status == 0 {
		status = c.status
	}
	f := r.FailureOf(said, status)
	if c.retries > 0 {
		f.Attempts = c.retries + 1
	}
	r.Failed(f)
}

func stringOnly(v gjson.Result) gjson.Result {
	if v.Type == gjson.String {
		return v
	}
	return gjson.Result{}
}

// subagents gives the subagents what the main thread's usage leaves out. With one, that is all its own; with more, only
// the session files tell them apart.
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
	main := c.r.Report.Usage
	u := &plumb.Usage{
		InputTokens: transcript.Since(new(in+read+written), main.InputTokens), OutputTokens: transcript.Since(&out, main.OutputTokens),
		CacheTokens: transcript.Since(&read, main.CacheTokens), CacheWriteTokens: transcript.Since(&written, main.CacheWriteTokens),
	}
	if len(subs) == 1 {
		c.r.Subagent(subs[0].ID, "", u)
		return
	}
	u.Total()
	c.r.Note(fmt.Sprintf("the %d subagents used %d tokens together; which used how many is not known", len(subs), u.Tokens()))
}

// thought takes back a figure of no thinking of a session that has thought: the figure is missing.
func (c *claude) thought() {
	if u := &c.r.Report.Usage; u.ReasoningTokens != nil && *u.ReasoningTokens == 0 && u.ReasoningChars > 0 {
		u.ReasoningTokens = nil
	}
}

// cost takes what the session cost, subagents included, if the agent knows the prices: it reports 0 where it does not. The
// total goes on over resumed sessions.
func (c *claude) cost(t *transcript.Transcript, rec gjson.Result) {
	usd, known := 0.0, true
	since := rec.Get("model_usage_since_last_result")
	since.ForEach(func(_, m gjson.Result) bool {
		usd += m.Get("costUSD").Float()
		known = known && m.Get("costBasis").String() != "unknown"
		return true
	})
	if !since.Exists() && !t.Resumed {
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

// broken settles the final output of a session without a result record: the texts of its last message, if that called
// no tool.
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

// usageOfRequests adds up what the requests used, where no result record has.
func (c *claude) usageOfRequests() {
	u := &c.r.Report.Usage
	known := len(c.r.Report.RequestUsage) > 0 && !slices.ContainsFunc(c.r.Report.RequestUsage, func(q plumb.RequestUsage) bool { return q.OutputTokens == nil })
	for _, q := range c.r.Report.RequestUsage {
		if q.Subagent != "" {
			continue
		}
		add := plumb.Usage{InputTokens: q.InputTokens, CacheTokens: q.CacheTokens, CacheWriteTokens: q.CacheWriteTokens}
		if known {
			add.OutputTokens, add.ReasoningTokens = q.OutputTokens, q.ReasoningTokens
		}
		u.Add(add)
	}
	c.thought()
}
