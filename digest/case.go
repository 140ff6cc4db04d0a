package digest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"hash"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/encode"
)

// CaseContent is the prompt and the checks of a case.
type CaseContent struct {
	Messages []plumb.Message
	// MaxOutputTokens caps the answer; 0 means that the case sets no cap.
	MaxOutputTokens int
	// Assertions are the specs of the checks as JSON, with all defaults written out.
	Assertions []json.RawMessage
	// MinScore is the least score that passes, in place of all checks passing; nil if not set.
	MinScore *float64
	// Transform is the code that changes the output before the checks; "" if there is none.
	Transform string
}

// Case returns the case hash. Cases with the same prompt and the same checks have the same hash,
// whatever their ids, categories, metadata, tiers and suite versions are. The hash names the stream
// of a case's results over time, so it never changes for the same content.
//
// It is the SHA-256 of the line "plumb-case-v1\n" followed by one object in canonical JSON (see the
// package comment):
//
//	{"assertions":[...],"max_output_tokens":100,"messages":[{"content":"...","role":"user"}]}
//
// "max_output_tokens" is omitted if it is 0. "min_score" and "transform" follow the messages if the
// case sets them. The messages keep their order. The assertions, each in
// canonical JSON, are sorted by their bytes, because their order has no effect; an assertion that
// is not valid JSON is encoded as a JSON string of its text. In a text that is not UTF-8, each
// invalid byte 0xNN is encoded as the lone surrogate \udcNN. Fields that later versions add will be
// omitted if a case does not use them. In Python, for valid UTF-8:
//
//	dumps = lambda v: json.dumps(v, sort_keys=True, separators=(",", ":"))
//	content = {"messages": messages, "assertions": sorted(assertions, key=dumps)}
//	if max_output_tokens: content["max_output_tokens"] = max_output_tokens
//	"sha256:" + hashlib.sha256(("plumb-case-v1\n" + dumps(content)).encode()).hexdigest()
func Case(c CaseContent) string { return sum(c.canonical().hash()) }

// Parts returns [Case], and the short hashes of the two parts of a case: the prompt with the cap of
// the answer, and the checks. Each is the first 16 hex digits of the hash that [Case] returns for a
// case with only that part.
func Parts(c CaseContent) (whole, prompt, checks string) {
	all := c.canonical()
	short := func(part canonical) string { return hex.EncodeToString(part.hash().Sum(nil)[:8]) }
	return sum(all.hash()), short(canonical{limit: all.limit, messages: all.messages}),
		short(canonical{assertions: all.assertions, rest: all.rest})
}

// canonical is the content of a case as canonical JSON, without what all cases have.
type canonical struct{ assertions, limit, messages, rest []byte }

func (c CaseContent) canonical() (x canonical) {
	assertions := make([][]byte, len(c.Assertions))
	for i, a := range c.Assertions {
		assertions[i] = canonicalValue(a)
	}
	slices.SortFunc(assertions, bytes.Compare)
	x.assertions = bytes.Join(assertions, []byte(","))
	if c.MaxOutputTokens != 0 {
		x.limit = strconv.AppendInt([]byte(`,"max_output_tokens":`), int64(c.MaxOutputTokens), 10)
	}
	size := 0
	for _, m := range c.Messages {
		size += len(`,{"content":"","role":""}`) + len(m.Content) + len(m.Role)
	}
	x.messages = make([]byte, 0, size+size/16)
	for i, m := range c.Messages {
		if i > 0 {
			x.messages = append(x.messages, ',')
		}
		x.messages = appendString(append(x.messages, `{"content":`...), m.Content)
		x.messages = append(appendString(append(x.messages, `,"role":`...), m.Role), '}')
	}
	if c.MinScore != nil {
		score := canonicalValue(strconv.AppendFloat(nil, *c.MinScore, 'f', -1, 64))
		x.rest = append(append(x.rest, `,"min_score":`...), score...)
	}
	if c.Transform != "" {
		x.rest = appendString(append(x.rest, `,"transform":`...), c.Transform)
	}
	return x
}

func (x canonical) hash() hash.Hash {
	h := sha256.New()
	for _, part := range [...][]byte{
		[]byte("plumb-case-v1\n" + `{"assertions":[`), x.assertions, []byte("]"), x.limit,
		[]byte(`,"messages":[`), x.messages, []byte("]"), x.rest, []byte("}"),
	} {
		h.Write(part)
	}
	return h
}

// canonicalValue returns one JSON value in canonical form, and a text that is not JSON as a string.
func canonicalValue(text []byte) []byte {
	p := &parser{data: text, lines: true, out: make([]byte, 0, len(text)+len(text)/16)}
	p.space()
	err := p.value()
	p.space()
	if err != nil || p.pos < len(text) {
		return appendString(nil, string(text))
	}
	return p.out
}

// appendString appends s as a canonical JSON string.
func appendString(out []byte, s string) []byte {
	out = append(out, '"')
	n := encode.Plain([]byte(s))
	out, s = append(out, s[:n]...), s[n:]
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		if r == utf8.RuneError && size == 1 {
			r = 0xdc00 + rune(s[0])
		}
		out = appendRune(out, r)
		s = s[size:]
	}
	return append(out, '"')
}
