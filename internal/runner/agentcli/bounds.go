package agentcli

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/tidwall/gjson"
)

// text returns a copy of a text, cut to what the report has room for.
func (r *recorder) text(s string) string {
	mark := ""
	switch limit := r.room(); {
	case len(s) > limit:
		s, mark = clip(s, limit), cutMark
		r.noteCut()
	case strings.HasSuffix(s, cutMark): // while it was read
		r.noteCut()
	}
	r.texts += len(s) + len(mark)
	return strings.Clone(s + mark)
}

// room returns how many bytes may be kept of the next text.
func (r *recorder) room() int {
	switch {
	case r.texts < maxTexts/2:
		return maxText
	case r.texts < maxTexts:
		return shortText
	default:
		return 0
	}
}

// whole returns a copy of the final output.
func whole(s string) string {
	if len(s) > maxText {
		return clip(s, maxText) + cutMark
	}
	return strings.Clone(s)
}

// args returns a copy of a call's arguments, which are JSON, cut to what the report has room for. If the rest is not JSON,
// it becomes a string.
func (r *recorder) args(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return nil
	}
	if limit := max(r.room(), shortText); len(raw) > limit {
		c := cutter{limit: limit}
		c.feed(raw)
		raw = c.line()
		r.noteCut()
		if !gjson.ValidBytes(raw) || len(raw) > 4*limit {
			raw = quoted(clip(string(raw), limit))
		}
	}
	r.texts += len(raw)
	return bytes.Clone(raw)
}

// copied returns a copy of a command, path or id, cut to what the report has room for.
func (r *recorder) copied(s string) string {
	if r.longs += min(len(s), maxName); r.longs > maxNames {
		r.overflow = true
		return cutMark + clip(s, shortText)
	}
	if len(s) > maxName {
		r.noteCut()
		return clip(s, maxName) + cutMark
	}
	return strings.Clone(s)
}

// maxWords is how many words are remembered so that they are kept once.
const maxWords = 10_000

// name returns a copy of a short text that occurs often, the same for each occurrence.
func (r *recorder) name(s string) string {
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

// noteCut remembers that a text was cut, for the event that it belongs to, which is the next.
func (r *recorder) noteCut() {
	r.cut = true
	r.note("long texts were cut short; they are whole in " + baseName(r.report.RawArtifacts.StdoutPath) + " or the agent's own session files")
}

// clip returns at most n bytes of s, ending at a whole character.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// chars counts as the reports do, in UTF-16 units.
func chars(s string) int64 {
	var n int64
	for _, c := range s {
		n += int64(utf16.RuneLen(c))
	}
	return n
}
