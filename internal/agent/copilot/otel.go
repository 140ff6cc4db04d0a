package copilot

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/agent/transcript"
)

// maxSpans is how many spans of a telemetry file are looked at.
const maxSpans = 100_000

// span is one span of Copilot's telemetry: the work of an agent, a request to the model, or something between them.
type span struct {
	id, parent     string
	agent, request bool
	used           plumb.RequestUsage
}

// telemetry takes what the session used from the file of the OpenTelemetry exporter. The span of the agent has the sums;
// newer versions leave cache and reasoning to the spans of the requests below it.
func (c *copilot) telemetry() error {
	paths, err := transcript.SessionFiles(c.t.Session, func(path string) bool {
		name := transcript.BaseName(path)
		return strings.Contains(name, "otel") && strings.HasSuffix(name, ".jsonl")
	})
	if err != nil {
		return err
	}
	var spans []span
	for _, path := range paths {
		err := transcript.EachLine(path, func(line []byte) error {
			if s, ok := readSpan(line); ok && len(spans) < maxSpans {
				spans = append(spans, s)
				c.r.Report.RawArtifacts.TelemetryPath = path
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	if len(spans) == 0 {
		return nil
	}
	inside := owners(spans)
	top := topAgent(spans, inside)
	// Spans name agents by ids of their own: only where there is one subagent it is known which.
	known := ""
	if agents := c.r.Report.Subagents; len(agents) == 1 {
		known = agents[0].ID
	}
	var sum plumb.Usage
	for i, s := range spans {
		if !s.request {
			continue
		}
		if top >= 0 && inside[i] >= 0 && inside[i] != top {
			if s.used.Subagent = known; known == "" {
				s.used.Subagent = spans[inside[i]].id
			} else {
				c.use(known, transcript.UsageOf(s.used))
			}
		}
		c.r.Request(s.used)
		if s.used.Subagent == "" {
			sum.Add(transcript.UsageOf(s.used))
		}
	}
	if top >= 0 {
		sum = sumOr(spans[top].used, sum)
	}
	if sum.InputTokens != nil {
		c.use("", sum)
	}
	return nil
}

// readSpan reads a line of the telemetry file. The attributes have had two names each.
func readSpan(line []byte) (span, bool) {
	if !gjson.ValidBytes(line) {
		return span{}, false
	}
	rec := gjson.ParseBytes(line)
	name := rec.Get("name").String()
	if kind := rec.Get("type").String(); kind != "span" && kind != "" || name == "" {
		return span{}, false
	}
	s := span{
		agent:   name == "invoke_agent" || strings.HasPrefix(name, "invoke_agent "),
		request: name == "chat" || strings.HasPrefix(name, "chat "),
	}
	first := func(paths ...string) gjson.Result {
		for _, p := range paths {
			if v := rec.Get(p); v.Exists() {
				return v
			}
		}
		return gjson.Result{}
	}
	s.id = strings.Clone(first("spanId", "span_id", "id", "spanContext.spanId", "context.span_id").String())
	s.parent = strings.Clone(first("parentSpanId", "parent_span_id", "parentId", "parentSpanContext.spanId").String())
	const usage = `attributes.gen_ai\.usage\.`
	s.used = plumb.RequestUsage{
		Model: strings.Clone(first(`attributes.gen_ai\.response\.model`, `attributes.gen_ai\.request\.model`).String()),

		InputTokens:      transcript.Tokens(first(usage + "input_tokens")),
		OutputTokens:     transcript.Tokens(first(usage + "output_tokens")),
		ReasoningTokens:  transcript.Tokens(first(usage+`reasoning\.output_tokens`, usage+"reasoning_output_tokens")),
		CacheTokens:      transcript.Tokens(first(usage+`cache_read\.input_tokens`, usage+"cache_read_input_tokens")),
		CacheWriteTokens: transcript.Tokens(first(usage+`cache_creation\.input_tokens`, usage+"cache_creation_input_tokens")),
	}
	s.request = s.request && s.used.InputTokens != nil
	return s, true
}

// topAgent returns the span of the main thread's agent: the first with figures that lies in no other; -1 if there is none.
func topAgent(spans []span, inside []int) int {
	for i, s := range spans {
		if s.agent && inside[i] < 0 && s.used.InputTokens != nil {
			return i
		}
	}
	return -1
}

// owners returns, for each span, the nearest span of an agent that it lies in, -1 for none.
func owners(spans []span) []int {
	byID := make(map[string]int, len(spans))
	for i, s := range spans {
		if s.id != "" {
			byID[s.id] = i
		}
	}
	owner := make([]int, len(spans))
	for i, s := range spans {
		owner[i] = -1
		for depth := 0; s.parent != "" && depth < 100; depth++ {
			p, ok := byID[s.parent]
			if !ok {
				break
			}
			if s = spans[p]; s.agent {
				owner[i] = p
				break
			}
		}
	}
	return owner
}

// sumOr returns the figures of u, and those of other where u has none.
func sumOr(u plumb.RequestUsage, other plumb.Usage) plumb.Usage {
	either := func(a, b *int64) *int64 {
		if a != nil {
			return a
		}
		return b
	}
	return plumb.Usage{
		InputTokens: either(u.InputTokens, other.InputTokens), OutputTokens: either(u.OutputTokens, other.OutputTokens),
		ReasoningTokens: either(u.ReasoningTokens, other.ReasoningTokens), CacheTokens: either(u.CacheTokens, other.CacheTokens),
		CacheWriteTokens: either(u.CacheWriteTokens, other.CacheWriteTokens),
	}
}
