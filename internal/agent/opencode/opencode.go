package opencode

import (
	"cmp"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/agent/transcript"
)

// opencode reads the record of an OpenCode session: the records of `opencode run --format json`,
// and the documents of `opencode export`, one for the session and one for each session of a
// subagent. Stream and export have the same parts with the same IDs. Parts in both are taken from
// the export, which alone has the user's text, the directory and the model.
//
// There is no terminal record. A session ended well if its last step ended with the reason "stop"
// and no error followed.
type opencode struct {
	r *transcript.Recorder
	// main is the ID of the session, exports are the files with exported sessions by ID.
	main    string
	exports map[string]string
	visited map[string]bool // exports that were read
	seen    map[uint64]bool // recorded parts, by hash
	counted map[string]bool // messages whose tokens are counted as a whole
	changed map[string]bool // files that tools report as changed
	parts   int             // parts without an ID
	cost    float64
	// part and state are parts of the current record.
	part, state transcript.Fields
}

func readOpencode(r *transcript.Recorder) error {
	o := &opencode{r: r, visited: map[string]bool{}, seen: map[uint64]bool{}, counted: map[string]bool{}, changed: map[string]bool{}}
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
		r.Note("the exported session is another one: it was left out")
	}
	streamed := &openThread{o: o, base: exported.base}
	if err := o.stream(streamed); err != nil {
		return err
	}
	r.Report.SessionID = o.main
	r.Report.Usage.Add(exported.usage)
	r.Report.Usage.Add(streamed.usage)
	if o.cost > 0 { // 0 means that OpenCode does not know the price of the model
		r.Report.CostUSD = new(o.cost)
	}
	o.verdict(exported, streamed)
	return nil
}

// verdict records how the session ended.
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
	case last.denied != "" && o.r.Stopped == nil && (o.r.ExitCode == nil || *o.r.ExitCode == 0):
		// OpenCode ends without a message after a permission that it cannot ask for.
		f := o.r.FailureOf(last.denied, 0)
		f.Class = plumb.FailureClass{ID: "permission-denied", Label: "Permission denied"}
		f.Message += "\nopencode stopped after that"
		f.Hint = "allow it in the agent's configuration, or set permissions: bypass for the runner"
		o.r.Failed(f)
	}
}

// finishReason translates the reason of the last step.
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

// begin finds the session of the stream, and the ID of its first message.
func (o *opencode) begin() (first string, err error) {
	err = transcript.EachLine(o.r.Stdout, func(line []byte) error {
		if !gjson.ValidBytes(line) {
			return nil
		}
		o.main = cmp.Or(o.main, gjson.GetBytes(line, "sessionID").String())
		if first = gjson.GetBytes(line, "part.messageID").String(); first != "" {
			return transcript.ErrEnough
		}
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return first, err
}

// stream records the parts of the stream that the export does not have.
func (o *opencode) stream(main *openThread) error {
	children := map[string]*openThread{}
	err := o.r.Stream(o.r.Stdout, func(rec *transcript.Fields) bool {
		th := main
		if id := rec.Get("sessionID").String(); id != "" && id != o.main {
			if th = children[id]; th == nil {
				id = strings.Clone(id)
				th = &openThread{o: o, subagent: id, base: main.base}
				children[id] = th
				o.r.Subagent(id, "", nil)
			}
		}
		og := transcript.Origin{At: transcript.TimeMs(rec.Get("timestamp")), Subagent: th.subagent, Base: th.base}
		switch rec.Get("type").String() {
		case "error":
			th.flush(transcript.PhaseCommentary)
			th.failed(rec.Get("error"))
		case "step_start", "step_finish", "text", "reasoning", "tool_use":
			th.part(og, rec.Get("part"), transcript.RoleAssistant)
		default:
			return false
		}
		return true
	})
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
