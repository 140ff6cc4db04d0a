package copilot

import (
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/agent/transcript"
)

// copilotTokens are the names of the token counters. As in reports, input includes the cache, and
// output includes reasoning.
func copilotTokens() transcript.TokenKeys {
	return transcript.TokenKeys{
		Input: "inputTokens", Output: "outputTokens", Reasoning: "reasoningTokens", Cache: "cacheReadTokens", CacheWrite: "cacheWriteTokens",
	}
}

// request records the usage of one request.
func (c *copilot) request(o transcript.Origin, v gjson.Result) {
	u := copilotTokens().Of(v)
	if u.InputTokens == nil && u.OutputTokens == nil {
		return
	}
	c.r.Request(o, v.Get("model").String(), u)
	c.use(o.Subagent, u)
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

// use adds to the usage of a thread.
func (c *copilot) use(subagent string, u plumb.Usage) {
	sum := c.used[subagent]
	if sum == nil {
		sum = &plumb.Usage{}
		c.used[strings.Clone(subagent)] = sum
	}
	sum.Add(u)
}

// usage reports the usage of each thread, from the telemetry file if no other record has it.
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

// eventTurn is the part of a log for one run of the session.
type eventTurn struct {
	// begin is the first line. stream means that the stream has this turn.
	begin  int
	stream bool
	// total is the usage of the session until its end, by thread.
	total map[string]plumb.Usage
}

// logs finds the event logs. A single log also has the session's directory.
func (c *copilot) logs() ([]*eventLog, error) {
	paths, err := transcript.SessionFiles(c.r.Session, func(path string) bool { return transcript.BaseName(path) == "events.jsonl" })
	if err != nil {
		return nil, err
	}
	var logs []*eventLog
	for _, path := range paths {
		log := &eventLog{path: path, session: filepath.Base(filepath.Dir(path))}
		err := transcript.EachLine(path, func(line []byte) error {
			if gjson.ValidBytes(line) && gjson.GetBytes(line, "type").String() == "session.start" {
				transcript.Set(&log.session, gjson.GetBytes(line, "data.sessionId").String())
				if len(paths) == 1 {
					transcript.SetFirst(&c.r.Cwd, gjson.GetBytes(line, "data.context.cwd").String())
				}
			}
			return transcript.ErrEnough // it is the first record
		})
		if err != nil {
			return nil, err
		}
		logs = append(logs, log)
	}
	return logs, nil
}

// choose finds the log and the turn that have the stream's records. Without a stream it returns all
// turns, which is -1, or the last turn of a session that was resumed.
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
		case c.r.Resumed || streamed:
			return log, len(log.turns) - 1
		default:
			return log, -1
		}
	}
	if len(logs) > 0 {
		c.r.Note("the agent's log belongs to another session: it was left out")
	}
	return nil, 0
}

// survey finds the turns of a log.
func (c *copilot) survey(log *eventLog) error {
	log.turns = []eventTurn{{}}
	n := -1
	return transcript.EachLine(log.path, func(line []byte) error {
		n++
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
}

// readLog records the part of a turn that the stream does not have. The turn -1 means all turns.
func (c *copilot) readLog(log *eventLog, turn int, streamed bool) error {
	begin, end, before := 0, math.MaxInt, map[string]plumb.Usage(nil)
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
	err := c.r.Records(log.path, func(rec *transcript.Fields) bool {
		kind := rec.Get("type").String()
		if n++; kind == "session.start" {
			c.begin(rec.Get("data")) // it is for all turns
			return true
		}
		if n < begin || n >= end || c.seen[transcript.Hash("", rec.Get("id").String())] {
			return true
		}
		if streamed && c.anonymous && !strings.HasPrefix(kind, "session.") {
			return true // without IDs the records of the stream cannot be recognized
		}
		if !streamed {
			c.r.Steps.Count(rec)
		}
		return c.record(rec, false)
	})
	if len(c.used) == 0 {
		for thread, total := range log.turns[last].total {
			c.use(thread, transcript.Since(total, before[thread]))
		}
	}
	return err
}

// totals reads the usage of each thread of a session from the record of its shutdown.
func totals(data gjson.Result) map[string]plumb.Usage {
	sum := func(models gjson.Result) (u plumb.Usage) {
		models.ForEach(func(_, m gjson.Result) bool {
			u.Add(copilotTokens().Of(m.Get("usage")))
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
		return len(all) < maxPending
	})
	if len(all) == 0 {
		all[""] = sum(data.Get("modelMetrics"))
	}
	return all
}
