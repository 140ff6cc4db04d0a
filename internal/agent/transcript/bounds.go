package transcript

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf16"

	"github.com/tidwall/gjson"

	"github.com/plumb-eval/plumb/internal/text"
)

// text returns a copy of a text, cut to the room that the report has.
func (r *Recorder) text(s string) string {
	mark := ""
	switch limit := r.room(); {
	case len(s) > limit:
		s, mark = text.Clip(s, limit), cutMark
		r.noteCut()
	case strings.HasSuffix(s, cutMark): // it was cut during reading
		r.noteCut()
	}
	r.texts += len(s) + len(mark)
	return strings.Clone(s + mark)
}

// room returns how many bytes of the next text may be kept.
func (r *Recorder) room() int {
	switch {
	case r.texts < maxTexts/2:
		return MaxText
	case r.texts < maxTexts:
		return ShortText
	default:
		return 0
	}
}

// Whole returns a copy of the final output.
func Whole(s string) string {
	if len(s) > MaxText {
		return text.Clip(s, MaxText) + cutMark
	}
	return strings.Clone(s)
}

// args returns a copy of a call's arguments, which are JSON, cut to the room that the report has.
// If the result is not JSON, it becomes a string.
func (r *Recorder) args(s string) json.RawMessage {
	if s == "" {
		return nil
	}
	raw := []byte(s)
	if limit := max(r.room(), ShortText); len(raw) > limit {
		c := cutter{limit: limit}
		c.feed(raw)
		raw = bytes.Clone(c.line()) // without the spare capacity
		r.noteCut()
		if !gjson.ValidBytes(raw) || len(raw) > 4*limit {
			raw = gjson.AppendJSONString(nil, text.Clip(string(raw), limit))
		}
	}
	r.texts += len(raw)
	return raw
}

// copied returns a copy of a command, path or id, cut to the room that the report has.
func (r *Recorder) copied(s string) string {
	if r.longs += min(len(s), MaxName); r.longs > maxNames {
		r.overflow = true
		return cutMark + text.Clip(s, ShortText)
	}
	if len(s) > MaxName {
		r.noteCut()
		return text.Clip(s, MaxName) + cutMark
	}
	return strings.Clone(s)
}

// maxWords is the number of words that are kept once for all their occurrences.
const maxWords = 10_000

// Name returns a copy of a short text that occurs often, one copy for all occurrences.
func (r *Recorder) Name(s string) string {
	if s == "" {
		return ""
	}
	if known, ok := r.names[s]; ok {
		return known
	}
	s = r.copied(s)
	if len(r.names) < maxWords {
		r.names[s] = s
	}
	return s
}

// noteCut records that a text of the next event was cut.
func (r *Recorder) noteCut() {
	r.cut = true
	r.Note("long texts were cut; " + BaseName(r.Report.RawArtifacts.StdoutPath) +
		" or the agent's own session files have the full texts")
}

// chars counts characters as reports do, in UTF-16 units.
func chars(s string) int64 {
	var n int64
	for _, c := range s {
		n += int64(utf16.RuneLen(c))
	}
	return n
}
