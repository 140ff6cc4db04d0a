package opencode

import (
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/agent/transcript"
)

// opencode understands what OpenCode leaves behind: the records of `opencode run --format json`, and the documents of
// `opencode export`, one of the session and one of each session of a subagent. Stream and export describe the same session,
// and the same parts by the same ids: what both have is taken from the export, which alone knows the user's text, the
// directory and the model.
//
// There is no terminal record. A session ended well if its last step ended with the reason "stop" and no error came after.
type opencode struct {
	r *transcript.Recorder
	t *transcript.Transcript
	// main is the id of the session, exports are the files with exported sessions by id.
	main    string
	exports map[string]string
	visited map[string]bool // exports that were read
	seen    map[uint64]bool // parts that were recorded, by hash
	counted map[string]bool // messages whose tokens were counted as a whole
	changed map[string]bool // files that tools say they changed
	parts   int             // parts without an id
	cost    float64
}

// normaliseOpencode records what OpenCode left behind.
func readOpencode(t *transcript.Transcript, r *transcript.Recorder) error {
	o := &opencode{r: r, t: t, visited: map[string]bool{}, seen: map[uint64]bool{}, counted: map[string]bool{}, changed: map[string]bool{}}
	first, err := o.begin()
	if err != nil {
		return err
	}
	if err := o.findExports(); err != nil {
		return err
	}
	exported := &openThread{o: o}
	if path := o.exports[o.main]; path != "" {
		r.Report.RawArtifacts.ExportPath = path
		from, found, err := o.turn(path, first)
		if err == nil && found {
			err = o.export(exported, path, from)
		}
		if err != nil {
			return err
		}
		if !found {
			r.Note("the exported session does not have the messages of this one: it was left out")
		}
	} else if len(o.exports) > 0 {
		r.Note("the exported session is not this one: it was left out")
	}
	streamed := &openThread{o: o, base: exported.base}
	if err := o.stream(streamed); err != nil {
		return err
	}
	r.Report.SessionID = o.main
	r.Report.Usage.Add(exported.usage)
	r.Report.Usage.Add(streamed.usage)
	if o.cost > 0 { // 0 is what OpenCode says of models whose price it does not know
		r.Report.CostUSD = new(o.cost)
	}
	o.verdict(exported, streamed)
	return nil
}

// verdict tells the recorder how the session ended.
func (o *opencode) verdict(exported, streamed *openThread) {
	last := streamed
	if !last.ended() && (exported.ended() || !streamed.began) {
		last = exported
	}
	switch {
	case streamed.failure != nil:
		o.r.Failed(streamed.failure)
	case exported.failure != nil:
		o.r.Failed(exported.failure)
	case last.ended():
		answer := last.answer
		if len(answer) == 0 {
			answer = exported.answer
		}
		o.r.Report.FinishReason = finishReason(last.reason)
		o.r.Finished(strings.Join(answer, "\n"), true)
	case last.denied != "" && o.t.Stopped == nil && (o.t.ExitCode == nil || *o.t.ExitCode == 0):
		// OpenCode ends without another word once a permission is refused that it cannot ask for.
		f := o.r.FailureOf(last.denied, 0)
		f.Class = plumb.FailureClass{ID: "permission-denied", Label: "Permission denied"}
		f.Message += "\nopencode stopped after that"
		f.Hint = "allow it in the agent's configuration, or set permissions: bypass for the runner"
		o.r.Failed(f)
	}
}

// finishReason translates the reason that the last step ended with.
func finishReason(reason string) plumb.FinishReason {
	switch reason {
	case "stop":
		return plumb.FinishStop
	case "length":
		return plumb.FinishTruncated
	case "content-filter":
		return plumb.FinishRefused
	default:
		return plumb.FinishOther
	}
}

// begin learns from the stream which session it is, and the id of its first message.
func (o *opencode) begin() (first string, err error) {
	if o.t.Stdout == "" {
		return "", nil
	}
	err = transcript.EachLine(o.t.Stdout, func(line []byte) error {
		if !gjson.ValidBytes(line) {
			return nil
		}
		if o.main == "" {
			o.main = gjson.GetBytes(line, "sessionID").String()
		}
		if first = gjson.GetBytes(line, "part.messageID").String(); first != "" {
			return transcript.ErrEnough
		}
		return nil
	})
	if errors.Is(err, transcript.ErrEnough) || errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	o.main, first = strings.Clone(o.main), strings.Clone(first)
	return first, err
}

// stream records what the stream has and the export has not.
func (o *opencode) stream(main *openThread) error {
	children := map[string]*openThread{}
	counter := transcript.NewSteps(o.r.Format)
	err := o.r.Records(o.t.Stdout, func(gjson.Result) bool {
		counter.Count(&o.r.Top)
		th := main
		top := &o.r.Top
		if id := top.Get("sessionID").String(); id != "" && id != o.main {
			if th = children[id]; th == nil {
				id = strings.Clone(id)
				th = &openThread{o: o, subagent: id, base: main.base}
				children[id] = th
				o.r.Subagent(id, "", nil)
			}
		}
		og := transcript.Origin{At: transcript.TimeMs(top.Get("timestamp")), Subagent: th.subagent, Base: th.base}
		switch top.Get("type").String() {
		case "error":
			th.flush(transcript.PhaseCommentary)
			th.failed(top.Get("error"))
		case "step_start", "step_finish", "text", "reasoning", "tool_use":
			th.part(og, readPart(top.Get("part")), transcript.RoleAssistant)
		default:
			return false
		}
		return true
	})
	if counter.N > 0 {
		o.r.Report.Steps = counter.N
	}
	main.flush(transcript.PhaseCommentary)
	for _, id := range slices.Sorted(maps.Keys(children)) {
		th := children[id]
		th.flush(transcript.PhaseCommentary)
		if th.usage.InputTokens != nil {
			o.r.Subagent(th.subagent, "", &th.usage)
		}
	}
	return err
}
