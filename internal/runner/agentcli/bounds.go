package agentcli

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/tidwall/gjson"
)

// text returns a copy of a text, cut to what the report has room for.
func (r *recorder) text(s string) string {
	switch limit := r.room(); {
	case limit == 0 && s != "":
		s = cutMark
	case len(s) > limit:
		s = clip(s, limit) + cutMark
	default:
		s = strings.Clone(s)
	}
	r.texts += len(s)
	if strings.HasSuffix(s, cutMark) {
		r.noteCut()
	}
	return s
}

// room returns how much may be kept of the next text.
func (r *recorder) room() int {
	most := maxTexts
	if r.huge {
		most /= 4
	}
	switch {
	case r.texts < most/2:
		return maxText
	case r.texts < most:
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

// args returns a copy of a call's arguments, cut to what the report has room for. What is not JSON becomes a string.
func (r *recorder) args(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return nil
	}
	limit := max(r.room(), shortText)
	if len(raw) > limit {
		c := cutter{limit: limit}
		c.feed(raw)
		raw = c.line()
		r.noteCut()
	} else {
		raw = slices.Clone(raw)
	}
	if !gjson.ValidBytes(raw) || len(raw) > 4*limit {
		raw = quoted(clip(string(raw), limit))
	}
	r.texts += len(raw)
	return raw
}

// long returns a copy of a command, path or id.
func (r *recorder) long(s string) string {
	if r.longs += min(len(s), maxName); r.longs > maxNames {
		r.overflow = true
		return clip(cutMark+s, shortText)
	}
	if len(s) > maxName {
		s = clip(s, maxName) + cutMark
		r.noteCut()
		return s
	}
	return strings.Clone(s)
}

// name returns a copy of a short word that occurs often, the same one each time.
func (r *recorder) name(s string) string {
	if s == "" {
		return ""
	}
	if known, ok := r.names[s]; ok {
		return known
	}
	s = r.long(s)
	if len(r.names) < 1000 {
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
