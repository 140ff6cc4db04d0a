package transcript

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"
)

// FirstText returns the first of the fields that is text and not empty.
func FirstText(v gjson.Result, fields ...string) string {
	for _, field := range fields {
		if f := v.Get(field); f.Type == gjson.String && f.Str != "" {
			return f.Str
		}
	}
	return ""
}

// JSON returns the JSON of a value; nothing for one that is not there.
func JSON(v gjson.Result) json.RawMessage {
	if !v.Exists() {
		return nil
	}
	return json.RawMessage(v.Raw)
}

// JSONObject returns {"field": text}.
func JSONObject(field, text string) json.RawMessage {
	return append(append(append(append([]byte(`{"`), field...), `":`...), quoted(text)...), '}')
}

// quoted returns a text as JSON.
func quoted(text string) []byte { return gjson.AppendJSONString(nil, text) }

// Detached returns a small value that does not keep its whole line in memory.
func Detached(v gjson.Result) gjson.Result { return gjson.Parse(strings.Clone(v.Raw)) }

// Between returns what stands between two marks, trimmed, or "".
func Between(text, before, after string) string {
	_, rest, ok := strings.Cut(text, before)
	if !ok {
		return ""
	}
	inner, _, ok := strings.Cut(rest, after)
	if !ok {
		return ""
	}
	return strings.TrimSpace(inner)
}

// LineWith returns the first line that matches, or all of a text without one.
func LineWith(text string, match *regexp.Regexp) string {
	for line := range strings.Lines(text) {
		if match.MatchString(line) {
			return strings.TrimSpace(line)
		}
	}
	return strings.TrimSpace(text)
}

// JavaScriptString returns what a string literal of JavaScript means.
func JavaScriptString(literal string) string {
	if len(literal) < 2 {
		return ""
	}
	body := literal[1 : len(literal)-1]
	var b strings.Builder
	for i := 0; i < len(body); i++ {
		if body[i] != '\\' || i+1 == len(body) {
			b.WriteByte(body[i])
			continue
		}
		i++
		switch body[i] {
		case 'n':
			b.WriteByte('\n')
		case 't':
			b.WriteByte('\t')
		case 'r':
			b.WriteByte('\r')
		case '\n':
		case 'u':
			if i+5 <= len(body) {
				if n, err := strconv.ParseUint(body[i+1:i+5], 16, 16); err == nil {
					b.WriteRune(rune(n))
					i += 4
					continue
				}
			}
			b.WriteByte('u')
		default:
			b.WriteByte(body[i])
		}
	}
	return b.String()
}

// Hash stands for a text of a kind where many have to be remembered; it is an FNV-1a hash. White space does not count, since
// the records that tell of one text join its parts differently. Neither does the end of a long text, which may have been cut.
func Hash(kind, text string) uint64 {
	const prime = 1099511628211
	h := uint64(14695981039346656037)
	for i := range len(kind) {
		h = (h ^ uint64(kind[i])) * prime
	}
	h *= prime // a zero, which is in no kind
	text = Clip(text, 4<<10)
	for i := range len(text) {
		if c := text[i]; c != ' ' && (c < '\t' || c > '\r') {
			h = (h ^ uint64(c)) * prime
		}
	}
	return h
}

// Since subtracts a counter's earlier value. A counter that has begun anew since counts as it is.
func Since(now, before *int64) *int64 {
	if now == nil || before == nil || *before > *now {
		return now
	}
	return new(*now - *before)
}

// Time reads a time of a transcript; nil if it is none.
func Time(text string) *time.Time {
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return nil
	}
	return new(at.UTC())
}

// TimeMs reads a time in milliseconds since 1970; nil if there is none.
func TimeMs(v gjson.Result) *time.Time {
	if v.Type != gjson.Number || v.Float() <= 0 || v.Float() > 253402300799999 {
		return nil
	}
	return new(time.UnixMilli(v.Int()).UTC())
}

// Tokens reads a number of tokens; nil if it is none.
func Tokens(v gjson.Result) *int64 {
	if v.Type != gjson.Number || v.Float() < 0 || v.Float() > 1e15 {
		return nil
	}
	return new(v.Int())
}

// OrZero returns the number, or 0 where there is none.
func OrZero(p *int64) int64 {
	if p == nil {
		return 0
	}
	return *p
}
