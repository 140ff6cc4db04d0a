package gemini

import (
	"encoding/json"
	"errors"
	"io/fs"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/agent/transcript"
)

// gemini understands what the Gemini CLI leaves behind: the records of --output-format stream-json, and the chat that it
// saves in its home. The chat has more: thoughts, what the tools answered, exit codes, tokens of each request. What is in
// both is taken from the chat; the stream tells how the session ended, and what came after the chat was last saved.
//
// The terminal record is "result"; a session that a signal ended has none, and exit code 0.
type gemini struct {
	r *transcript.Recorder
	t *transcript.Transcript
	// id and began are those of the stream, and tell the turns of a chat apart that was resumed.
	id    string
	began *time.Time
	chat  chat
	// text is what the assistant said since the last record of another type.
	text strings.Builder
	said *time.Time
	// tail is what it said since the last tool.
	tail    strings.Builder
	waiting map[string]waitingCall
	asked   bool // the user's message was recorded

	result  gjson.Result
	closed  bool
	trouble string // the last error that the stream told of
}

// waitingCall is a tool call without a result yet.
type waitingCall struct {
	transcript.Origin
	name string
	args gjson.Result
}

// normaliseGemini records what Gemini left behind.
func readGemini(t *transcript.Transcript, r *transcript.Recorder) error {
	g := &gemini{r: r, t: t, waiting: map[string]waitingCall{}}
	g.chat = chat{g: g, tools: map[string]bool{}, before: map[string]bool{}, done: map[string]bool{}}
	if err := g.begin(); err != nil {
		return err
	}
	if err := g.readChats(); err != nil {
		return err
	}
	counter := transcript.NewSteps(r.Format)
	err := r.Records(t.Stdout, func(rec gjson.Result) bool {
		counter.Count(&r.Top)
		return g.record(rec)
	})
	if err != nil {
		return err
	}
	g.speak(transcript.PhaseFinal)
	g.chat.flush(transcript.PhaseFinal)
	if r.Report.Steps = counter.N; counter.N == 0 {
		r.Report.Steps = g.chat.steps
	}
	g.usage()
	g.end()
	return nil
}

// begin learns from the stream which session it is, and when it began.
func (g *gemini) begin() error {
	if g.t.Stdout == "" {
		return nil
	}
	err := transcript.EachLine(g.t.Stdout, func(line []byte) error {
		if !gjson.ValidBytes(line) || gjson.GetBytes(line, "type").String() != "init" {
			return nil
		}
		g.id = strings.Clone(gjson.GetBytes(line, "session_id").String())
		g.began = transcript.Time(gjson.GetBytes(line, "timestamp").String())
		return transcript.ErrEnough
	})
	if errors.Is(err, transcript.ErrEnough) || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// record takes a record of the stream and reports whether its type is known.
func (g *gemini) record(rec gjson.Result) bool {
	top := &g.r.Top
	at := transcript.Time(top.Get("timestamp").String())
	switch top.Get("type").String() {
	case "init":
		if id := rec.Get("session_id").String(); id != "" {
			g.r.Report.SessionID = strings.Clone(id)
		}
		g.model(rec.Get("model").String())
	case "message":
		text := top.Get("content").String()
		if top.Get("role").String() == transcript.RoleUser {
			g.speak(transcript.PhaseCommentary)
			g.tail.Reset()
			if !g.asked {
				g.r.Message(transcript.Origin{At: at}, transcript.RoleUser, "", text)
			}
			return true
		}
		if g.text.Len() == 0 {
			g.said = at
		}
		if g.text.Len() < 2*transcript.MaxText {
			g.text.WriteString(text)
			g.tail.WriteString(text)
		}
	case "tool_use":
		g.use(rec, at)
	case "tool_result":
		g.speak(transcript.PhaseCommentary)
		g.tail.Reset()
		g.answered(rec, at)
	case "error":
		said := rec.Get("message").String()
		g.r.Note(said)
		if rec.Get("severity").String() != "warning" {
			g.trouble = strings.Clone(transcript.Clip(said, 4<<10))
		}
	case "result":
		g.closed, g.result = true, gjson.Parse(strings.Clone(transcript.Clip(rec.Raw, 1<<20)))
	default:
		return false
	}
	return true
}

func (g *gemini) model(name string) {
	if name != "" {
		g.r.Report.Model = g.r.Name(name)
	}
}

// use records that a tool is called, unless the chat has the call.
func (g *gemini) use(rec gjson.Result, at *time.Time) {
	var f [3]gjson.Result
	transcript.Members(rec, f[:], "tool_id", "tool_name", "parameters")
	id := f[0].String()
	if g.chat.tools[id] {
		g.text.Reset() // the chat has what was said before it
		g.tail.Reset()
		return
	}
	g.speak(transcript.PhaseCommentary)
	g.tail.Reset()
	g.chat.flush(transcript.PhaseCommentary)
	call := waitingCall{
		Origin: transcript.Origin{At: at, Call: strings.Clone(id)}, name: g.r.Name(f[1].String()),
		args: gjson.Parse(strings.Clone(f[2].Raw)),
	}
	g.call(call)
	if len(g.waiting) < transcript.MaxNotes*transcript.MaxNotes {
		g.waiting[call.Call] = call
	}
}

// answered records the result of a tool call, unless the chat has it.
func (g *gemini) answered(rec gjson.Result, at *time.Time) {
	var f [4]gjson.Result
	transcript.Members(rec, f[:], "tool_id", "output", "error", "status")
	id := f[0].String()
	if g.chat.tools[id] {
		return
	}
	call, ok := g.waiting[id]
	if !ok {
		call.Origin = transcript.Origin{Call: strings.Clone(id)}
	}
	delete(g.waiting, id)
	output := transcript.TextOf(f[1])
	if said := f[2].Get("message").String(); said != "" {
		output = said
	}
	call.At = at
	g.done(call, output, f[3].String(), gjson.Result{})
}

// speak records what the assistant said since the last record of another type, as far as the chat has not.
func (g *gemini) speak(phase string) {
	text := g.text.String()
	if g.text.Reset(); text == "" {
		return
	}
	g.chat.flush(phase)
	before := strings.TrimSpace(g.chat.tail)
	g.chat.tail = ""
	rest, more := strings.CutPrefix(strings.TrimSpace(text), before)
	if !more || rest == "" {
		return // if the chat has other words, then those that were left when a request was tried again
	}
	if before != "" {
		text = strings.TrimSpace(rest)
	}
	g.r.Message(transcript.Origin{At: g.said}, transcript.RoleAssistant, phase, text)
}

// call records a tool call. Commands run from here on; all else is known once there is a result.
func (g *gemini) call(c waitingCall) {
	g.r.ToolCall(c.Origin, c.name, json.RawMessage(c.args.Raw))
	if c.name == "run_shell_command" {
		for _, key := range []string{"dir_path", "directory"} {
			if dir := c.args.Get(key).String(); dir != "" {
				c.Base = dir
				break
			}
		}
		g.r.Command(c.Origin, c.args.Get("command").String())
	}
}

// done records the result of a tool call, and what follows from it.
func (g *gemini) done(c waitingCall, output, status string, display gjson.Result) {
	failed := status != "success" && status != ""
	g.r.ToolResult(c.Origin, output, failed)
	if code, ok := transcript.GeminiExit(output); ok && c.name == "run_shell_command" {
		g.r.Exit(c.Call, code)
	}
	if failed {
		if transcript.Refused(output) {
			g.r.Denial(c.Origin, c.name, output)
		}
		return
	}
	path := ""
	for _, key := range []string{"file_path", "absolute_path", "path"} {
		if path = c.args.Get(key).String(); path != "" {
			break
		}
	}
	switch c.name {
	case "read_file":
		g.r.FileRead(c.Origin, path)
	case "read_many_files":
		for line := range strings.Lines(output) {
			if name, ok := strings.CutPrefix(strings.TrimSpace(line), "--- "); ok {
				if name, ok = strings.CutSuffix(name, " ---"); ok && transcript.Absolute(name) {
					g.r.FileRead(c.Origin, name)
				}
			}
		}
		for _, key := range []string{"paths", "include"} {
			for _, file := range c.args.Get(key).Array() {
				if name := file.String(); !strings.ContainsAny(name, "*?[{") && strings.Contains(transcript.BaseName(name), ".") {
					g.r.FileRead(c.Origin, name)
				}
			}
		}
	case "write_file":
		kind := transcript.ChangeUpdate
		if display.Get("isNewFile").Bool() || strings.Contains(transcript.Clip(output, transcript.ShortText), "to new file") {
			kind = transcript.ChangeAdd
		}
		g.r.FileChange(c.Origin, kind, path)
	case "replace", "edit":
		kind := transcript.ChangeUpdate
		if old := c.args.Get("old_string"); display.Get("isNewFile").Bool() || old.Exists() && old.String() == "" {
			kind = transcript.ChangeAdd
		}
		g.r.FileChange(c.Origin, kind, path)
	case "activate_skill":
		name := c.args.Get("name").String()
		g.r.Skill(c.Origin, name, "tool:activate_skill")
		if _, dir, ok := strings.Cut(display.String()+output, "Resources loaded from `"); ok {
			if dir, _, ok = strings.Cut(dir, "`"); ok && transcript.Absolute(dir) {
				g.r.Offer(plumb.OfferSkill, name, transcript.Resolve(dir, "SKILL.md"), "")
			}
		}
	}
}

// usage takes what the session used from the terminal record, or else from the chat. Gemini's output is without thoughts.
func (g *gemini) usage() {
	u := &g.r.Report.Usage
	stats := g.result.Get("stats")
	input, output := transcript.Tokens(stats.Get("input_tokens")), transcript.Tokens(stats.Get("output_tokens"))
	// The terminal record has the tokens of subagents in it, too.
	crowded := len(g.r.Report.Subagents) > 0
	if input == nil || output == nil || (crowded || *input+*output == 0) && g.chat.used.InputTokens != nil {
		u.Add(g.chat.used)
		return
	}
	if *input+*output == 0 {
		return // no request was answered
	}
	u.InputTokens, u.OutputTokens, u.CacheTokens = input, output, transcript.Tokens(stats.Get("cached"))
	if total := transcript.Tokens(stats.Get("total_tokens")); total != nil && *total >= *input+*output {
		thoughts := *total - *input - *output
		u.OutputTokens, u.ReasoningTokens = new(*output+thoughts), &thoughts
	}
}

// end tells the recorder how the session ended.
func (g *gemini) end() {
	status := g.result.Get("status").String()
	switch {
	case !g.closed && g.trouble == "":
		if answer := g.chat.answer; answer != "" && g.t.Lost() {
			g.r.Note("standard output is lost: what is known is from the saved chat")
			g.r.Report.FinishReason = plumb.FinishStop
			g.r.Finished(answer, true)
			return
		}
		said := transcript.LastLines(g.t.Stderr)
		switch {
		case g.t.ExitCode != nil && *g.t.ExitCode == exitAuth:
			g.r.Failed(g.r.FailureOf(said+"\nnot logged in", 0))
		case g.t.Stopped == nil && g.exitStatus() != 0:
			f := g.r.FailureOf(said, g.exitStatus())
			f.Message = strings.TrimSpace(said + "\ngemini ended without a terminal record (" + transcript.ExitText(g.t.ExitCode) + ")")
			g.r.Failed(f)
		}
		return // the recorder says so
	case status == "success":
		g.r.Report.FinishReason = plumb.FinishStop
		text, saved := g.tail.String(), strings.TrimSpace(g.chat.answer)
		if !strings.HasPrefix(strings.TrimSpace(text), saved) {
			text = g.chat.answer // the stream also has the words of a request that was tried again
		}
		g.r.Finished(text, true)
		return
	}
	said := g.result.Get("error.message").String()
	if said == "" {
		said = g.trouble
	}
	code := int(g.result.Get("error.code").Int())
	if code == 0 {
		code = g.status(said)
	}
	f := g.r.FailureOf(said+"\n"+g.result.Get("error.type").String(), code)
	if strings.Contains(strings.ToLower(said), "max session turns") || strings.Contains(said, "Maximum session turns") {
		f = plumb.Failuref(plumb.OriginMaxSteps, "%s", said)
		f.Hint = "raise the agent's own limit (model.maxSessionTurns in its settings) if the case needs more"
	}
	if said != "" {
		f.Message = strings.Clone(transcript.Clip(said, 4<<10))
	}
	g.r.Failed(f)
}

// exitAuth is the exit code of Gemini when it is not logged in.
const exitAuth = 41

var statusOfError = regexp.MustCompile(`\b(?:code|status)"?:\s*"?([45]\d\d)\b`)

// status finds the HTTP status of the reply that ended the session: in what Gemini said, in its stderr, or in its exit code,
// which is the status modulo 256.
func (g *gemini) status(said string) int {
	if n := transcript.StatusIn(said); n != 0 {
		return n
	}
	n := 0
	if g.t.Stderr != "" {
		err := transcript.EachLine(g.t.Stderr, func(line []byte) error {
			if m := statusOfError.FindSubmatch(line); m != nil {
				n, _ = strconv.Atoi(string(m[1])) // three digits
			}
			return nil
		})
		if err != nil {
			return 0
		}
	}
	if n == 0 {
		n = g.exitStatus()
	}
	return n
}

// exitStatus returns the HTTP status that the exit code is, modulo 256; 0 if it is none.
func (g *gemini) exitStatus() int {
	if code := g.t.ExitCode; code != nil && *code >= 400-256 && *code < 256 {
		return *code + 256
	}
	return 0
}
