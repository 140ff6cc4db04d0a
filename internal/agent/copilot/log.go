package copilot

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/agent/transcript"
)

// request records what one request used. Copilot counts as plumb does: input with cache, output with reasoning.
func (c *copilot) request(o transcript.Origin, v gjson.Result) {
	u := plumb.RequestUsage{
		At: o.At, Model: v.Get("model").String(), Subagent: o.Subagent,
		InputTokens: transcript.Tokens(v.Get("inputTokens")), OutputTokens: transcript.Tokens(v.Get("outputTokens")),
		ReasoningTokens: transcript.Tokens(v.Get("reasoningTokens")), CacheTokens: transcript.Tokens(v.Get("cacheReadTokens")),
		CacheWriteTokens: transcript.Tokens(v.Get("cacheWriteTokens")),
	}
	if u.InputTokens == nil && u.OutputTokens == nil {
		return
	}
	c.r.Request(u)
	c.use(o.Subagent, transcript.UsageOf(u))
	if o.Subagent == "" {
		switch v.Get("finishReason").String() {
		case "length":
			c.r.Report.FinishReason = plumb.FinishTruncated
		case "content_filter":
			c.r.Report.FinishReason = plumb.FinishRefused
		default:
			c.r.Report.FinishReason = ""
		}
	}
}

// use adds to what a thread used.
func (c *copilot) use(subagent string, u plumb.Usage) {
	sum := c.used[subagent]
	if sum == nil {
		sum = &plumb.Usage{}
		c.used[strings.Clone(subagent)] = sum
	}
	sum.Add(u)
}

// usage gives each thread what it used, from the telemetry file if nothing else says it.
func (c *copilot) usage() error {
	if len(c.used) == 0 {
		if err := c.telemetry(); err != nil {
			return err
		}
	}
	for _, thread := range slices.Sorted(maps.Keys(c.used)) {
		if u := c.used[thread]; thread == "" {
			c.r.Report.Usage.Add(*u)
		} else {
			c.r.Subagent(thread, "", u)
		}
	}
	return nil
}

// eventLog is an events.jsonl: one session with all its turns.
type eventLog struct {
	path, session string
	turns         []eventTurn
}

// eventTurn is what lies between the starts of two runs of one session.
type eventTurn struct {
	// begin is the first line; stream says that the stream shows this turn.
	begin  int
	stream bool
	// total is what the session used up to its end, by thread.
	total map[string]plumb.Usage
}

// logs finds the event logs, and learns the session's directory if they agree on it.
func (c *copilot) logs() ([]*eventLog, error) {
	paths, err := transcript.SessionFiles(c.t.Session, func(path string) bool { return transcript.BaseName(path) == "events.jsonl" })
	if err != nil {
		return nil, err
	}
	var logs []*eventLog
	for _, path := range paths {
		log := &eventLog{path: path, session: filepath.Base(filepath.Dir(path))}
		err := transcript.EachLine(path, func(line []byte) error {
			if gjson.ValidBytes(line) && gjson.GetBytes(line, "type").String() == "session.start" {
				if id := gjson.GetBytes(line, "data.sessionId").String(); id != "" {
					log.session = strings.Clone(id)
				}
				if cwd := gjson.GetBytes(line, "data.context.cwd").String(); len(paths) == 1 && c.r.Cwd == "" {
					c.r.Cwd = strings.Clone(cwd)
				}
			}
			return transcript.ErrEnough // it is the first record
		})
		if err != nil && !errors.Is(err, transcript.ErrEnough) {
			return nil, err
		}
		logs = append(logs, log)
	}
	return logs, nil
}

// choose finds the log and the turn in it that belong to the stream: those with its records. Without a stream that is all
// of the session, or its last turn if it was resumed; turn is -1 for all.
func (c *copilot) choose(logs []*eventLog, streamed bool) (_ *eventLog, turn int) {
	for _, log := range logs {
		if err := c.survey(log); err != nil {
			c.r.Note(fmt.Sprintf("the agent's log cannot be read: %v", err))
			continue
		}
		for i, t := range log.turns {
			if t.stream {
				return log, i
			}
		}
	}
	id := c.r.Report.SessionID
	for _, log := range logs {
		switch only := len(logs) == 1; {
		case log.session != id && (!only || id != "" && streamed):
		case c.t.Resumed || streamed:
			return log, len(log.turns) - 1
		default:
			return log, -1
		}
	}
	if len(logs) > 0 {
		c.r.Note("the agent's log is not of this session: it was left out")
	}
	return nil, 0
}

// survey finds the turns of a log.
func (c *copilot) survey(log *eventLog) error {
	log.turns = []eventTurn{{}}
	n := 0
	err := transcript.EachLine(log.path, func(line []byte) error {
		defer func() { n++ }()
		if !gjson.ValidBytes(line) {
			return nil
		}
		rec := gjson.ParseBytes(line)
		switch rec.Get("type").String() {
		case "session.resume":
			log.turns = append(log.turns, eventTurn{begin: n})
		case "session.shutdown":
			log.turns[len(log.turns)-1].total = totals(rec.Get("data"))
		}
		if turn := &log.turns[len(log.turns)-1]; !turn.stream {
			turn.stream = c.seen[transcript.Hash("", rec.Get("id").String())]
		}
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// readLog records what a log has of a turn and the stream has not. Turn is -1 for all turns.
func (c *copilot) readLog(log *eventLog, turn int, streamed bool, steps *transcript.Steps) error {
	begin, end, before := 0, int(^uint(0)>>1), map[string]plumb.Usage(nil)
	last := len(log.turns) - 1
	if turn >= 0 {
		begin, last = log.turns[turn].begin, turn
		if turn+1 < len(log.turns) {
			end = log.turns[turn+1].begin
		}
		for _, t := range log.turns[:turn] {
			if t.total != nil {
				before = t.total
			}
		}
	}
	n := -1
	err := c.r.Records(log.path, func(rec gjson.Result) bool {
		kind := rec.Get("type").String()
		if n++; kind == "session.start" {
			c.begin(rec.Get("data")) // of all turns
			return true
		}
		if n < begin || n >= end || c.seen[transcript.Hash("", rec.Get("id").String())] {
			return true
		}
		if streamed && c.anonymous && !strings.HasPrefix(kind, "session.") {
			return true // without ids nobody knows what the stream had
		}
		if !streamed {
			steps.Count(&c.r.Top)
		}
		return c.record(false)
	})
	if len(c.used) == 0 {
		for thread, total := range log.turns[last].total {
			c.use(thread, since(total, before[thread]))
		}
	}
	return err
}

// totals reads what the threads of a session used, by agent, from the record of its shutdown.
func totals(data gjson.Result) map[string]plumb.Usage {
	sum := func(models gjson.Result) (u plumb.Usage) {
		models.ForEach(func(_, m gjson.Result) bool {
			v := m.Get("usage")
			u.Add(plumb.Usage{
				InputTokens: transcript.Tokens(v.Get("inputTokens")), OutputTokens: transcript.Tokens(v.Get("outputTokens")),
				ReasoningTokens: transcript.Tokens(v.Get("reasoningTokens")), CacheTokens: transcript.Tokens(v.Get("cacheReadTokens")),
				CacheWriteTokens: transcript.Tokens(v.Get("cacheWriteTokens")),
			})
			return true
		})
		return u
	}
	all := map[string]plumb.Usage{}
	data.Get("agentMetrics").ForEach(func(agent, m gjson.Result) bool {
		name := strings.Clone(agent.String())
		if name == "main" {
			name = ""
		}
		all[name] = sum(m.Get("modelMetrics"))
		return len(all) < transcript.MaxNotes*transcript.MaxNotes
	})
	if len(all) == 0 {
		all[""] = sum(data.Get("modelMetrics"))
	}
	return all
}

// since subtracts the counters of an earlier time.
func since(now, before plumb.Usage) plumb.Usage {
	return plumb.Usage{
		InputTokens: transcript.Since(now.InputTokens, before.InputTokens), OutputTokens: transcript.Since(now.OutputTokens, before.OutputTokens),
		ReasoningTokens: transcript.Since(now.ReasoningTokens, before.ReasoningTokens), CacheTokens: transcript.Since(now.CacheTokens, before.CacheTokens),
		CacheWriteTokens: transcript.Since(now.CacheWriteTokens, before.CacheWriteTokens),
	}
}
