package opencode

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/plumb-eval/plumb/internal/agent/transcript"
)

// findExports finds the exported sessions. Without a stream, the session is the first one without a
// parent.
func (o *opencode) findExports() error {
	paths, err := transcript.SessionFiles(o.r.Session, func(path string) bool {
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
		if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			return err
		}
		if id != "" {
			o.exports[id] = cmp.Or(o.exports[id], path)
			if only == "" && parent == "" {
				only = id
			}
		}
	}
	o.main = cmp.Or(o.main, only)
	return nil
}

// export records the messages of an exported session, starting with the message from; "" means all
// messages.
func (o *opencode) export(th *openThread, path, from string) error {
	if o.visited[path] {
		return nil
	}
	o.visited[path] = true
	m := openMessage{th: th}
	err := transcript.EachValue(path, []string{"", "messages", "messages[]", "messages[].parts"}, func(at string, value []byte) error {
		v := gjson.ParseBytes(value)
		switch {
		case at == "info":
			transcript.Set(&th.base, v.Get("directory").String())
			if th.subagent == "" {
				transcript.Set(&o.r.Report.AgentVersion, v.Get("version").String())
				transcript.SetFirst(&o.r.Cwd, th.base)
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
			th.part(m.Origin, v, m.role)
			m.steps = m.steps || v.Get("type").String() == "step-finish"
		}
		return nil
	})
	m.end()
	if errors.Is(err, io.ErrUnexpectedEOF) {
		o.r.Note("the exported session is incomplete")
		return nil
	}
	return err
}

// turn finds the first message of this session in an export, "" for the first message of the
// export. The export of a resumed session also has earlier turns. first is the ID of the first
// message in the stream, "" if there is none.
func (o *opencode) turn(path, first string) (from string, found bool, err error) {
	if first == "" && !o.r.Resumed {
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
			if asked != "" && (parent == "" || parent == asked) { // older versions have no parent
				from = asked
			}
			return transcript.ErrEnough
		}
		return nil
	})
	if errors.Is(err, io.ErrUnexpectedEOF) {
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
	steps  bool // it has parts that end a step
	failed bool
}

// child records the subagent of a task, and its session if that was exported.
func (o *opencode) child(kind string, meta gjson.Result) {
	id := strings.Clone(transcript.FirstText(meta, "sessionId", "sessionID"))
	if id == "" || id == o.main {
		return
	}
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

// begin starts a message.
func (m *openMessage) begin(info gjson.Result) {
	m.begun, m.role, m.info = true, info.Get("role").String(), info
	m.Origin = transcript.Origin{At: transcript.TimeMs(info.Get("time.created")), Subagent: m.th.subagent, Base: m.th.base}
	transcript.Set(&m.Base, info.Get("path.cwd").String())
	if m.role != transcript.RoleAssistant {
		return
	}
	transcript.Set(&m.th.model, info.Get("modelID").String())
	if m.th.subagent == "" {
		transcript.Set(&m.th.o.r.Report.Model, m.th.model)
	}
	m.failed = info.Get("error").IsObject()
}

// end ends a message after its last part.
func (m *openMessage) end() {
	if !m.begun || m.role != transcript.RoleAssistant {
		return
	}
	finish := m.info.Get("finish").String()
	switch {
	case m.steps && (finish == "" || finish == m.th.reason): // the message has no more than the step
	case finish != "":
		m.th.ends(finish)
	case !m.failed && len(m.th.texts) > 0:
		m.th.ends("stop") // older versions have no reason: the text after all tool calls is the answer
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
