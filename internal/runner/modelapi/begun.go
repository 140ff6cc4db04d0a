package modelapi

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// partialLimit bounds the recorded part of an incomplete reply, in bytes.
const partialLimit = 64 << 10

// beginningLimit bounds the examined part of the reply, in bytes.
const beginningLimit = 1 << 20

// begun returns the beginning of an incomplete reply if it has some text of the answer, and nil
// otherwise. White space that keeps a connection open, or a reply without text, does not show that
// the model had begun to answer.
func begun(body []byte) []byte {
	body = bytes.TrimSpace(body)
	body = body[:min(len(body), beginningLimit)]
	var reply map[string]any
	_ = json.Unmarshal(completed(body), &reply) // everything but an object has no answer
	for _, place := range []string{"choices", "output", "content", "candidates"} {
		if list, ok := reply[place].([]any); ok && hasText(list) {
			return bytes.Clone(body[:min(len(body), partialLimit)])
		}
	}
	return nil
}

// hasText reports whether a value in a reply has text of the answer: a message, a part of it, or a
// list of them, in any wire format.
func hasText(value any) bool {
	switch v := value.(type) {
	case string:
		return strings.TrimSpace(v) != ""
	case []any:
		return slices.ContainsFunc(v, hasText)
	case map[string]any:
		if v["thought"] == true || v["type"] == "thinking" || v["type"] == "reasoning" {
			return false
		}
		for _, name := range []string{"message", "content", "parts", "text", "refusal"} {
			if hasText(v[name]) {
				return true
			}
		}
	}
	return false
}

// completed closes the open values of truncated JSON, and drops an incomplete token at its end. It
// returns JSON that it cannot complete unchanged.
func completed(torn []byte) []byte {
	var closers []byte
	inString, escape := false, 0
	for i, b := range torn {
		switch {
		case inString && b == '\\' && escape <= i:
			escape = i + 2
		case inString && b == '"' && escape <= i:
			inString = false
		case inString:
		case b == '"':
			inString = true
		case b == '{':
			closers = append(closers, '}')
		case b == '[':
			closers = append(closers, ']')
		case (b == '}' || b == ']') && len(closers) > 0:
			closers = closers[:len(closers)-1]
		}
	}
	slices.Reverse(closers)
	head := slices.Clone(torn)
	if inString {
		// An escape that is not complete is at most six bytes long, and a rune that is not complete
		// is replaced.
		for cut := range min(6, len(head)) + 1 {
			text := append(slices.Clone(head[:len(head)-cut]), '"')
			if doc, ok := closed(text, closers); ok {
				return doc
			}
		}
		return torn
	}
	if doc, ok := closed(head, closers); ok {
		return doc
	}
	doc, _ := closed(bytes.TrimRight(head, "+-.0123456789abcdefghijklmnopqrstuvwxyzE"), closers)
	return doc
}

// closed tries the endings that a truncated document can lack.
func closed(head, closers []byte) (doc []byte, ok bool) {
	for _, end := range []string{"", "null", ":null", `"":null`} {
		doc = append(append(slices.Clone(head), end...), closers...)
		if json.Valid(doc) {
			return doc, true
		}
	}
	return head, false
}
