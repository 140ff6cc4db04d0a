package copilot

import (
	"cmp"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/agent/transcript"
)

// maxSpans is the number of spans of a telemetry file that are read.
const maxSpans = 100_000

// span is one span of Copilot's telemetry: the work of an agent, a request to the model, or
// anything between them.
type span struct {
	id, parent, model string
	agent, request    bool
	used              plumb.Usage
}

// telemetry takes the usage of the session from the file of the OpenTelemetry exporter. The span of
// the agent has the sums. In newer versions only the spans of its requests have cache and
// reasoning.
func (c *copilot) telemetry() error {
	paths, err := transcript.SessionFiles(c.r.Session, func(path string) bool {
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
	top := -1 // the main thread's agent: the first span of an agent that has counters and is not inside another
	for i, s := range spans {
		if top < 0 && s.agent && inside[i] < 0 && s.used.InputTokens != nil {
			top = i
		}
	}
	// Spans have their own IDs for agents, so that only a single subagent can be identified.
	known := ""
	if agents := c.r.Report.Subagents; len(agents) == 1 {
		known = agents[0].ID
	}
	var sum plumb.Usage
	for i, s := range spans {
		if !s.request {
			continue
		}
		o := transcript.Origin{}
		if top >= 0 && inside[i] >= 0 && inside[i] != top {
			if o.Subagent = known; known == "" {
				o.Subagent = spans[inside[i]].id
			} else {
				c.use(known, s.used)
			}
		} else {
			sum.Add(s.used)
		}
		c.r.Request(o, s.model, s.used)
	}
	if top >= 0 {
		u := spans[top].used
		sum = plumb.Usage{
			InputTokens: cmp.Or(u.InputTokens, sum.InputTokens), OutputTokens: cmp.Or(u.OutputTokens, sum.OutputTokens),
			ReasoningTokens: cmp.Or(u.ReasoningTokens, sum.ReasoningTokens), CacheTokens: cmp.Or(u.CacheTokens, sum.CacheTokens),
			CacheWriteTokens: cmp.Or(u.CacheWriteTokens, sum.CacheWriteTokens),
		}
	}
	if sum.InputTokens != nil {
		c.use("", sum)
	}
	return nil
}

// readSpan reads a line of the telemetry file. Most attributes have two names.
func readSpan(line []byte) (span, bool) {
	if !gjson.ValidBytes(line) {
		return span{}, false
	}
	rec := gjson.ParseBytes(line)
	name := rec.Get("name").String()
	if kind := rec.Get("type").String(); kind != "span" && kind != "" || name == "" {
		return span{}, false
	}
	first := func(paths ...string) gjson.Result {
		for _, p := range paths {
			if v := rec.Get(p); v.Exists() {
				return v
			}
		}
		return gjson.Result{}
	}
	const usage = `attributes.gen_ai\.usage\.`
	s := span{
		id:     strings.Clone(first("spanId", "span_id", "id", "spanContext.spanId", "context.span_id").String()),
		parent: strings.Clone(first("parentSpanId", "parent_span_id", "parentId", "parentSpanContext.spanId").String()),
		model:  strings.Clone(first(`attributes.gen_ai\.response\.model`, `attributes.gen_ai\.request\.model`).String()),
		agent:  name == "invoke_agent" || strings.HasPrefix(name, "invoke_agent "),
		used: plumb.Usage{
			InputTokens:      transcript.Tokens(first(usage + "input_tokens")),
			OutputTokens:     transcript.Tokens(first(usage + "output_tokens")),
			ReasoningTokens:  transcript.Tokens(first(usage+`reasoning\.output_tokens`, usage+"reasoning_output_tokens")),
			CacheTokens:      transcript.Tokens(first(usage+`cache_read\.input_tokens`, usage+"cache_read_input_tokens")),
			CacheWriteTokens: transcript.Tokens(first(usage+`cache_creation\.input_tokens`, usage+"cache_creation_input_tokens")),
		},
	}
	s.request = (name == "chat" || strings.HasPrefix(name, "chat ")) && s.used.InputTokens != nil
	return s, true
}

// owners returns, for each span, the nearest span of an agent around it, or -1.
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
