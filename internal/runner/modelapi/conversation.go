package modelapi

import (
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/plumb-eval/plumb"
)

// conversation is one call of [Model.Run].
type conversation struct {
	m       *Model
	req     plumb.Request
	started time.Time
	// wanted are the parameters of the run, sent those of the last request, dropped those that this
	// model rejects.
	wanted, sent plumb.Parameters
	dropped      parameter
	renamed      bool
	attempts     int
	reply        reply
}

func newConversation(m *Model, req plumb.Request) *conversation {
	s := &conversation{m: m, req: req, started: time.Now(), wanted: m.info.Parameters}
	if req.MaxOutputTokens > 0 {
		s.wanted.MaxOutputTokens = new(int64(req.MaxOutputTokens))
	}
	return s
}

// check returns an error for conversations that no provider accepts.
func (s *conversation) check() error {
	if len(s.req.Messages) == 0 {
		return errors.New("no messages to send")
	}
	for i, msg := range s.req.Messages {
		switch msg.Role {
		case plumb.RoleSystem, plumb.RoleDeveloper, plumb.RoleUser, plumb.RoleAssistant:
		default:
			return fmt.Errorf("message %d: unknown role %q: it is system, developer, user or assistant", i+1, msg.Role)
		}
	}
	return nil
}

// next returns the next request, without the parameters that the model is known to reject.
func (s *conversation) next() request {
	s.dropped |= s.m.wire.parameters().missing | parameter(s.m.refused.known.Load())
	if most := s.wanted.MaxOutputTokens; most != nil && *most <= 0 {
		s.sent = without(s.wanted, s.dropped|maxOutputTokens)
	} else {
		s.sent = without(s.wanted, s.dropped)
	}
	return request{
		model: s.m.model, messages: s.req.Messages, parameters: s.sent, renamed: s.m.refused.renamed.Load(),
	}
}

// yields reports whether a problem is a parameter that the model rejects, so that the request
// should be sent again without it. A parameter that is not supported at all is dropped for the
// whole run; so is a value that all cases share.
func (s *conversation) yields(p *problem, a request) bool {
	if p.kind != refusedByAPI || p.status != 400 && p.status != 422 || p.api.blocked() || p.api.unknownModel(p.status) {
		return false
	}
	culprit := refusedParameter(p.api, given(s.sent))
	switch {
	case culprit == 0:
		return false
	case culprit&s.m.wire.parameters().required != 0:
		return false
	case culprit&s.m.wire.parameters().renamed != 0 && s.rename(p.api, a):
		return true
	}
	s.dropped |= culprit
	if culprit == maxOutputTokens && !unsupported(p.api) {
		return true
	}
	if s.m.refused.add(culprit) && s.m.note != nil {
		s.m.note(plumb.Note{
			Level: "warning",
			Text:  fmt.Sprintf("%s rejects %s: Plumb no longer sends it", s.m.name(), culprit.names()[0]),
			Hint:  "results record it as refused; message of the provider: " + s.m.safe(p.api.summary()),
		})
	}
	return true
}

// rename switches, once, to the second name of a parameter if the server does not know the one in
// use.
func (s *conversation) rename(e apiError, a request) bool {
	if s.renamed || !unsupported(e) {
		return false
	}
	s.renamed = true
	s.m.refused.renamed.CompareAndSwap(a.renamed, !a.renamed)
	return true
}

// refused lists the parameters that were requested and rejected.
func (s *conversation) refused() []string { return (given(s.wanted) & s.dropped).names() }

// base returns the part of the report that all sessions have.
func (s *conversation) base() *plumb.SessionReport {
	ended := time.Now()
	var chars int64
	for _, msg := range s.req.Messages {
		chars += int64(utf8.RuneCountInString(msg.Content))
	}
	return &plumb.SessionReport{
		Runner: s.m.info, Prompt: plumb.PromptText(s.req.Messages),
		Files:          plumb.Files{ObservedReads: []string{}, ObservedSkillReads: []string{}},
		DetectedSkills: []plumb.SkillDetection{}, Events: []plumb.SessionEvent{},
		StartedAt: &s.started, EndedAt: &ended, DurationMs: ended.Sub(s.started).Milliseconds(),
		Requested: s.wanted, Sent: s.sent, Refused: s.refused(), Requests: s.attempts,
		Usage: plumb.Usage{InputChars: chars},
	}
}

// report is the record of a session that was answered.
func (s *conversation) report(ex exchange) *plumb.SessionReport {
	r, rep := s.base(), &s.reply
	r.SessionID, r.Model, r.Fingerprint, r.RequestID = rep.id, rep.model, rep.fingerprint, ex.requestID
	r.LatencyMs, r.FinalOutput, r.Effective = ceilMs(ex.latency), rep.text, rep.effective
	r.FinishReason, r.Notes = rep.finish, rep.notes
	chars := r.Usage.InputChars
	r.Usage = rep.usage
	r.Usage.InputChars, r.Usage.OutputChars = chars, int64(utf8.RuneCountInString(rep.text))
	if rep.finish == plumb.FinishStop && rep.text == "" && s.capSpent() {
		r.FinishReason = plumb.FinishTruncated // some servers report a stop when thinking used all output tokens
	}
	if rep.word != string(r.FinishReason) {
		r.ProviderFinishReason = rep.word
	}
	for _, thought := range rep.thinking {
		r.Usage.ReasoningChars += int64(utf8.RuneCountInString(thought))
		r.Events = append(r.Events, message(r.EndedAt, "thinking", thought))
	}
	for _, c := range rep.toolCalls {
		call := plumb.SessionEvent{Type: plumb.SessionToolCall, At: r.EndedAt, Tool: c.name, Args: c.args}
		r.Events = append(r.Events, call)
	}
	if rep.text != "" || r.FinishReason == plumb.FinishStop {
		r.Events = append(r.Events, message(r.EndedAt, "final", rep.text))
	}
	r.Usage.Total()
	return r
}

func message(at *time.Time, phase, text string) plumb.SessionEvent {
	return plumb.SessionEvent{Type: plumb.SessionMessage, At: at, Role: plumb.RoleAssistant, Phase: phase, Text: text}
}

// capSpent reports whether the answer used up all output tokens it was allowed.
func (s *conversation) capSpent() bool {
	used, most := s.reply.usage.OutputTokens, s.sent.MaxOutputTokens
	return used != nil && most != nil && *used >= *most
}

// cutOff is the record of a session that reached its time limit when part of the answer had
// arrived. Its one event holds that part of the reply unchanged: it shows that the model had begun
// to answer.
func (s *conversation) cutOff(p *problem) *plumb.SessionReport {
	r := s.base()
	r.RequestID, r.FinishReason = p.requestID, plumb.FinishTimeout
	r.Events = append(r.Events, message(r.EndedAt, "commentary", string(p.partial)))
	r.Usage.Total()
	return r
}

// ceilMs rounds up, so that the time of an answer is never 0.
func ceilMs(d time.Duration) int64 { return int64((d + time.Millisecond - 1) / time.Millisecond) }
