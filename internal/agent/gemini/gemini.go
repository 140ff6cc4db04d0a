package gemini

import (
	"cmp"
	"errors"
	"io/fs"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/agent/transcript"
	"github.com/plumb-eval/plumb/internal/text"
)

// gemini reads the record of a Gemini CLI session: the records of --output-format stream-json, and
// the chat that it saves in its home. The chat has more: thoughts, results of tools, exit codes,
// tokens of each request. Content in both is taken from the chat. The stream has the end of the
// session, and the content after the last save of the chat.
//
// The terminal record is "result". A session that a signal ended has none, and exit code 0.
type gemini struct {
	r *transcript.Recorder
	// id and began are those of the stream. They separate the turns of a chat that was resumed.
	id    string
	began *time.Time
	chat  chat
	// text is the assistant's text since the last record of another type.
	text strings.Builder
	said *time.Time
	// tail is its text since the last tool.
	tail    strings.Builder
	waiting map[string]waitingCall
	asked   bool // the user's message is recorded

	result  gjson.Result
	closed  bool
	trouble string // the last error in the stream
}

// waitingCall is a tool call without a result.
type waitingCall struct {
	transcript.Origin
	name string
	args gjson.Result
}

// maxWaiting bounds the calls without a result.
const maxWaiting = 2500

func readGemini(r *transcript.Recorder) error {
	g := &gemini{r: r, waiting: map[string]waitingCall{}}
	g.chat = chat{g: g, tools: map[string]bool{}, before: map[string]bool{}, done: map[string]bool{}}
	if err := g.begin(); err != nil {
		return err
	}
	if err := g.readChats(); err != nil {
		return err
	}
	if err := r.Stream(r.Stdout, g.record); err != nil {
		return err
	}
	g.speak(transcript.PhaseFinal)
	g.chat.flush(transcript.PhaseFinal)
	r.Report.Steps = g.chat.steps
	g.usage()
	g.end()
	return nil
}

// begin finds the session of the stream, and when it began.
func (g *gemini) begin() error {
	err := transcript.EachLine(g.r.Stdout, func(line []byte) error {
		if !gjson.ValidBytes(line) || gjson.GetBytes(line, "type").String() != "init" {
			return nil
		}
		g.id = strings.Clone(gjson.GetBytes(line, "session_id").String())
		g.began = transcript.Time(gjson.GetBytes(line, "timestamp").String())
		return transcript.ErrEnough
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// record takes a record of the stream and reports whether its type is known.
func (g *gemini) record(rec *transcript.Fields) bool {
	at := transcript.Time(rec.Get("timestamp").String())
	switch rec.Get("type").String() {
	case "init":
		transcript.Set(&g.r.Report.SessionID, rec.Get("session_id").String())
		g.model(rec.Get("model").String())
	case "message":
		text := rec.Get("content").String()
		if rec.Get("role").String() == transcript.RoleUser {
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
		message := rec.Get("message").String()
		g.r.Note(message)
		if rec.Get("severity").String() != "warning" {
			g.trouble = strings.Clone(text.Clip(message, 4<<10))
		}
	case "result":
		g.closed, g.result = true, gjson.Parse(strings.Clone(text.Clip(rec.Raw, 1<<20)))
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

// use records a tool call, unless the chat has it.
func (g *gemini) use(rec *transcript.Fields, at *time.Time) {
	id := rec.Get("tool_id").String()
	if g.chat.tools[id] {
		g.text.Reset() // the chat has the text before it
		g.tail.Reset()
		return
	}
	g.speak(transcript.PhaseCommentary)
	g.tail.Reset()
	g.chat.flush(transcript.PhaseCommentary)
	call := waitingCall{
		Origin: transcript.Origin{At: at, Call: strings.Clone(id)}, name: g.r.Name(rec.Get("tool_name").String()),
		args: transcript.Detached(rec.Get("parameters")),
	}
	g.call(call)
	if len(g.waiting) < maxWaiting {
		g.waiting[call.Call] = call
	}
}

// answered records the result of a tool call, unless the chat has it.
func (g *gemini) answered(rec *transcript.Fields, at *time.Time) {
	id := rec.Get("tool_id").String()
	if g.chat.tools[id] {
		return
	}
	call, ok := g.waiting[id]
	if !ok {
		call.Call = strings.Clone(id)
	}
	delete(g.waiting, id)
	call.At = at
	output := cmp.Or(rec.Get("error").Get("message").String(), transcript.TextOf(rec.Get("output")))
	g.done(call, output, rec.Get("status").String(), gjson.Result{})
}

// speak records the assistant's text since the last record of another type, without the part that
// the chat has.
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
		return // if the chat has another text, then this one is from a request that was tried again
	}
	if before != "" {
		text = strings.TrimSpace(rest)
	}
	g.r.Message(transcript.Origin{At: g.said}, transcript.RoleAssistant, phase, text)
}

// call records a tool call, and its command. Other effects are known with the result.
func (g *gemini) call(c waitingCall) {
	g.r.ToolCall(c.Origin, c.name, c.args.Raw)
	if c.name == "run_shell_command" {
		c.Base = transcript.FirstText(c.args, "dir_path", "directory")
		g.r.Command(c.Origin, c.args.Get("command").String())
	}
}

// done records the result of a tool call, and its effects.
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
	path := transcript.FirstText(c.args, "file_path", "absolute_path", "path")
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
				if name := file.String(); !strings.ContainsAny(name, "*?[{") &&
					strings.Contains(transcript.BaseName(name), ".") {
					g.r.FileRead(c.Origin, name)
				}
			}
		}
	case "write_file":
		kind := transcript.ChangeUpdate
		if display.Get("isNewFile").Bool() ||
			strings.Contains(text.Clip(output, transcript.ShortText), "to new file") {
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

// usage takes the usage of the session from the terminal record, or else from the chat. Gemini's
// output excludes thoughts.
func (g *gemini) usage() {
	u := &g.r.Report.Usage
	stats := g.result.Get("stats")
	input, output := transcript.Tokens(stats.Get("input_tokens")), transcript.Tokens(stats.Get("output_tokens"))
	// The terminal record includes the tokens of subagents.
	shared := len(g.r.Report.Subagents) > 0
	if input == nil || output == nil || (shared || *input+*output == 0) && g.chat.used.InputTokens != nil {
		u.Add(g.chat.used)
		return
	}
	if *input+*output == 0 {
		return // no request had an answer
	}
	u.InputTokens, u.OutputTokens, u.CacheTokens = input, output, transcript.Tokens(stats.Get("cached"))
	if total := transcript.Tokens(stats.Get("total_tokens")); total != nil && *total >= *input+*output {
		thoughts := *total - *input - *output
		u.OutputTokens, u.ReasoningTokens = new(*output+thoughts), &thoughts
	}
}

// end records how the session ended.
func (g *gemini) end() {
	r := g.r
	switch {
	case !g.closed && g.trouble == "":
		if g.chat.answer != "" && r.Lost() {
			r.Note("standard output is lost: the report is from the saved chat")
			r.Report.FinishReason = plumb.FinishStop
			r.Finished(g.chat.answer, true)
			return
		}
		message := transcript.LastLines(r.Stderr)
		switch {
		case r.ExitCode != nil && *r.ExitCode == exitAuth:
			r.Failed(r.FailureOf(message+"\nnot logged in", 0))
		case r.Stopped == nil && g.exitStatus() != 0:
			f := r.FailureOf(message, g.exitStatus())
			f.Message = strings.TrimSpace(message + "\ngemini ended without a terminal record (" +
				transcript.ExitText(r.ExitCode) + ")")
			r.Failed(f)
		}
		return // the recorder reports it
	case g.result.Get("status").String() == "success":
		r.Report.FinishReason = plumb.FinishStop
		text, saved := g.tail.String(), strings.TrimSpace(g.chat.answer)
		if !strings.HasPrefix(strings.TrimSpace(text), saved) {
			text = g.chat.answer // the stream also has the text of a request that was tried again
		}
		r.Finished(text, true)
		return
	}
	message := cmp.Or(g.result.Get("error.message").String(), g.trouble)
	code := int(g.result.Get("error.code").Int())
	if code == 0 {
		code = g.status(message)
	}
	f := r.FailureOf(message+"\n"+g.result.Get("error.type").String(), code)
	if strings.Contains(strings.ToLower(message), "max session turns") ||
		strings.Contains(message, "Maximum session turns") {
		f = plumb.Failuref(plumb.OriginMaxSteps, "%s", message)
		f.Hint = "raise the agent's own limit (model.maxSessionTurns in its settings) if the case needs more"
	}
	transcript.Set(&f.Message, text.Clip(message, 4<<10))
	r.Failed(f)
}

// exitAuth is the exit code of Gemini when it is not logged in.
const exitAuth = 41

var statusOfError = regexp.MustCompile(`\b(?:code|status)"?:\s*"?([45]\d\d)\b`)

// status finds the HTTP status of the reply that ended the session: in the message, in standard
// error, or in the exit code, which is the status modulo 256.
func (g *gemini) status(message string) int {
	n := transcript.StatusIn(message)
	if n == 0 && g.r.Stderr != "" {
		err := transcript.EachLine(g.r.Stderr, func(line []byte) error {
			if m := statusOfError.FindSubmatch(line); m != nil {
				n, _ = strconv.Atoi(string(m[1])) // three digits
			}
			return nil
		})
		if err != nil {
			return 0
		}
	}
	return cmp.Or(n, g.exitStatus())
}

// exitStatus returns the HTTP status that the exit code has modulo 256, or 0.
func (g *gemini) exitStatus() int {
	if code := g.r.ExitCode; code != nil && *code >= 400-256 && *code < 256 {
		return *code + 256
	}
	return 0
}
