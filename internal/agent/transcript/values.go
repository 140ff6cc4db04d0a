package transcript

import (
	"regexp"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/text"
)

// FirstText returns the first of the fields that is a non-empty string.
func FirstText(v gjson.Result, fields ...string) string {
	for _, field := range fields {
		if f := v.Get(field); f.Type == gjson.String && f.Str != "" {
			return f.Str
		}
	}
	return ""
}

// Detached copies a small value, so that it does not keep its whole line in memory.
func Detached(v gjson.Result) gjson.Result { return gjson.Parse(strings.Clone(v.Raw)) }

// Between returns the text between two marks, without surrounding white space, or "".
func Between(text, before, after string) string {
	_, rest, _ := strings.Cut(text, before)
	inner, _, ok := strings.Cut(rest, after)
	if !ok {
		return ""
	}
	return strings.TrimSpace(inner)
}

// LineWith returns the first line that matches, or the whole text if no line matches.
func LineWith(text string, match *regexp.Regexp) string {
	for line := range strings.Lines(text) {
		if match.MatchString(line) {
			return strings.TrimSpace(line)
		}
	}
	return strings.TrimSpace(text)
}

// Hash identifies a text of a kind; it is an FNV-1a hash. It ignores white space, because the
// records with one text join its parts differently, and the end of a long text, which may have been
// cut.
func Hash(kind, s string) uint64 {
	const prime = 1099511628211
	h := uint64(14695981039346656037)
	for i := range len(kind) {
		h = (h ^ uint64(kind[i])) * prime
	}
	h *= prime // a zero byte separates kind and text
	s = text.Clip(s, 4<<10)
	for i := range len(s) {
		if c := s[i]; c != ' ' && (c < '\t' || c > '\r') {
			h = (h ^ uint64(c)) * prime
		}
	}
	return h
}

// Set copies a text to a field of a report. An empty text leaves the field as it is.
func Set(to *string, text string) {
	if text != "" {
		*to = strings.Clone(text)
	}
}

// SetFirst is [Set] for a field that keeps its first text.
func SetFirst(to *string, text string) {
	if *to == "" {
		*to = strings.Clone(text)
	}
}

// TokenKeys are the names of a format's token counters, "" for a counter that the format does not
// have.
type TokenKeys struct{ Input, Output, Reasoning, Cache, CacheWrite string }

// Of reads the counters in v.
func (k TokenKeys) Of(v gjson.Result) plumb.Usage {
	return plumb.Usage{
		InputTokens: Tokens(v.Get(k.Input)), OutputTokens: Tokens(v.Get(k.Output)),
		ReasoningTokens: Tokens(v.Get(k.Reasoning)),
		CacheTokens:     Tokens(v.Get(k.Cache)), CacheWriteTokens: Tokens(v.Get(k.CacheWrite)),
	}
}

// AddUsed adds the tokens of one request to a sum.
func AddUsed(sum *plumb.Usage, q plumb.RequestUsage) {
	sum.Add(plumb.Usage{
		InputTokens: q.InputTokens, OutputTokens: q.OutputTokens, ReasoningTokens: q.ReasoningTokens,
		CacheTokens: q.CacheTokens, CacheWriteTokens: q.CacheWriteTokens,
	})
}

// Since subtracts earlier values of the counters. A counter that was reset in between counts in
// full.
func Since(now, before plumb.Usage) plumb.Usage {
	since := func(now, before *int64) *int64 {
		if now == nil || before == nil || *before > *now {
			return now
		}
		return new(*now - *before)
	}
	return plumb.Usage{
		InputTokens:      since(now.InputTokens, before.InputTokens),
		OutputTokens:     since(now.OutputTokens, before.OutputTokens),
		ReasoningTokens:  since(now.ReasoningTokens, before.ReasoningTokens),
		CacheTokens:      since(now.CacheTokens, before.CacheTokens),
		CacheWriteTokens: since(now.CacheWriteTokens, before.CacheWriteTokens),
	}
}

// Time parses a time of a transcript; nil if the text is not a time.
func Time(text string) *time.Time {
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return nil
	}
	return new(at.UTC())
}

// TimeMs reads a time in milliseconds since 1970; nil if v is not such a time.
func TimeMs(v gjson.Result) *time.Time {
	if v.Type != gjson.Number || v.Float() <= 0 || v.Float() > 253402300799999 {
		return nil
	}
	return new(time.UnixMilli(v.Int()).UTC())
}

// Tokens reads a number of tokens; nil if v is not such a number.
func Tokens(v gjson.Result) *int64 {
	if v.Type != gjson.Number || v.Float() < 0 || v.Float() > 1e15 {
		return nil
	}
	return new(v.Int())
}

// OrZero returns the number, or 0 for nil.
func OrZero(p *int64) int64 {
	if p == nil {
		return 0
	}
	return *p
}
