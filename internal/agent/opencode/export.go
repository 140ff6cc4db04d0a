package opencode

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/plumb-eval/plumb/internal/agent/transcript"
)

// findExports finds the exported sessions. Without a stream, the session is the first that is nobody's child.
func (o *opencode) findExports() error {
	paths, err := transcript.SessionFiles(o.t.Session, func(path string) bool {
		name := transcript.BaseName(path)
		return strings.HasSuffix(name, ".json") && (strings.Contains(name, "export") || strings.Contains(name, "session") || strings.HasPrefix(name, "ses_"))
	})
	if err != nil {
		return err
	}
	o.exports = map[string]string{}
	only := ""
	for _, path := range paths {
		id, parent := "", ""
		err := transcript.EachValue(path, []string{""}, func(at string, value []byte) error {
			if at != "info" {
				return nil
			}
			id, parent = gjson.GetBytes(value, "id").String(), gjson.GetBytes(value, "parentID").String()
			return transcript.ErrEnough
		})
		if err != nil && !errors.Is(err, transcript.ErrEnough) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return err
		}
		if id == "" {
			continue
		}
		id = strings.Clone(id)
		if o.exports[id] == "" {
			o.exports[id] = path
		}
		if only == "" && parent == "" {
			only = id
		}
	}
	if o.main == "" {
		o.main = only
	}
	return nil
}

// export records the messages of an exported session, from the message with the id from on; "" is all of them.
func (o *opencode) export(th *openThread, path, from string) error {
	if o.visited[path] {
		return nil
	}
	o.visited[path] = true
	m := openMessage{th: th}
	err := transcript.EachValue(path, []string{"", "messages", "messages[]", "messages[].parts"}, func(at string, value []byte) error {
		if !gjson.ValidBytes(value) {
			o.r.Stray(value)
			return nil
		}
		v := gjson.ParseBytes(value)
		switch {
		case at == "info":
			if dir := v.Get("directory").String(); dir != "" {
				th.base = strings.Clone(dir)
			}
			if th.subagent == "" {
				o.r.Report.AgentVersion = strings.Clone(v.Get("version").String())
				if o.r.Cwd == "" {
					o.r.Cwd = th.base
				}
			}
		case at == "messages[].info":
			m.end()
			m = openMessage{th: th}
			if id := v.Get("id").String(); from != "" && id != from {
				return nil
			}
			from = ""
			o.r.SawRecords++
			m.begin(v)
		case at == "messages[].parts[]" && m.begun:
			part := readPart(v)
			th.part(m.Origin, part, m.role)
			m.steps = m.steps || part.kind == "step-finish"
		}
		return nil
	})
	m.end()
	if errors.Is(err, io.ErrUnexpectedEOF) {
		o.r.Note("the exported session is cut short")
		return nil
	}
	return err
}

// turn finds the message in an export with which this session begins, "" for the first of all. An export holds the earlier
// turns of a session that was resumed too; first is the id of the first message in the stream, "" if there is none.
func (o *opencode) turn(path, first string) (from string, found bool, err error) {
	if first == "" && !o.t.Resumed {
		return "", true, nil
	}
	messages, asked := 0, ""
	err = transcript.EachValue(path, []string{"", "messages", "messages[]"}, func(at string, value []byte) error {
		if at != "messages[].info" {
			return nil
		}
		messages++
		id, parent := gjson.GetBytes(value, "id").String(), gjson.GetBytes(value, "parentID").String()
		if gjson.GetBytes(value, "role").String() == transcript.RoleUser {
			asked = strings.Clone(id)
		}
		if first != "" && id == first {
			found = true
			from = strings.Clone(id)
			if asked != "" && (parent == "" || parent == asked) { // older versions do not say whose answer it is
				from = asked
			}
			return transcript.ErrEnough
		}
		return nil
	})
	if errors.Is(err, transcript.ErrEnough) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	if first == "" {
		return asked, true, err
	}
	return from, found || messages == 0, err
}

// openMessage is one message of an export.
type openMessage struct {
	th *openThread
	transcript.Origin
	role   string
	info   gjson.Result
	begun  bool
	steps  bool // it has parts that say where a step ends
	failed bool
}

// child records the subagent that a task was given to, and what it did if its session was exported too.
func (o *opencode) child(kind string, meta gjson.Result) {
	id := meta.Get("sessionId").String()
	if id == "" {
		id = meta.Get("sessionID").String()
	}
	if id == "" || id == o.main {
		return
	}
	id = strings.Clone(id)
	o.r.Subagent(id, kind, nil)
	path := o.exports[id]
	if path == "" {
		return
	}
	th := &openThread{o: o, subagent: id}
	if err := o.export(th, path, ""); err != nil {
		o.r.Note(fmt.Sprintf("the session of the subagent %s cannot be read: %v", id, err))
	}
	if th.usage.InputTokens != nil {
		o.r.Subagent(id, "", &th.usage)
	}
}

// begin takes a message up.
func (m *openMessage) begin(info gjson.Result) {
	m.begun, m.role = true, strings.Clone(info.Get("role").String())
	m.info = gjson.Parse(strings.Clone(info.Raw))
	m.Origin = transcript.Origin{At: transcript.TimeMs(info.Get("time.created")), Subagent: m.th.subagent, Base: m.th.base}
	if cwd := info.Get("path.cwd").String(); cwd != "" {
		m.Base = strings.Clone(cwd)
	}
	if m.role != transcript.RoleAssistant {
		return
	}
	if model := info.Get("modelID").String(); model != "" {
		m.th.model = strings.Clone(model)
		if m.th.subagent == "" {
			m.th.o.r.Report.Model = m.th.model
		}
	}
	m.failed = info.Get("error").IsObject()
}

// end closes a message once all its parts were there.
func (m *openMessage) end() {
	if !m.begun || m.role != transcript.RoleAssistant {
		return
	}
	finish := m.info.Get("finish").String()
	switch {
	case m.steps && (finish == "" || finish == m.th.reason): // the step said all there is to know
	case finish != "":
		m.th.ends(finish)
	case !m.failed && len(m.th.texts) > 0:
		m.th.ends("stop") // older versions say nothing: what is said after all tool calls is the answer
	}
	if m.failed {
		m.th.flush(transcript.PhaseCommentary)
		m.th.failed(m.info.Get("error"))
	}
	if !m.steps {
		m.th.o.counted[m.info.Get("id").String()] = true
		m.th.tokens(m.Origin, m.info.Get("tokens"), m.info.Get("cost"))
	}
}
