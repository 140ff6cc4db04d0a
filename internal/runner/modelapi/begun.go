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
	var seen struct { // the places of the text of an answer in all wire formats
		Choices []struct {
			Message struct {
				Content json.RawMessage
				Refusal string
			}
		}
		Output     []outputPart
		Content    []outputPart
		Candidates []struct {
			Content struct{ Parts []outputPart }
		}
	}
	_ = json.Unmarshal(completed(body), &seen) // it skips fields of other types
	parts := slices.Concat(seen.Output, seen.Content)
	for _, c := range seen.Choices {
		var list []outputPart
		var plain string
		if json.Unmarshal(c.Message.Content, &plain) != nil {
			_ = json.Unmarshal(c.Message.Content, &list)
		}
		parts = append(append(parts, list...), outputPart{Text: plain, Refusal: c.Message.Refusal})
	}
	for _, c := range seen.Candidates {
		parts = append(parts, c.Content.Parts...)
	}
	if !slices.ContainsFunc(parts, outputPart.hasText) {
		return nil
	}
	return bytes.Clone(body[:min(len(body), partialLimit)])
}

// outputPart is a part of an answer: a text, or a message with parts of its own.
type outputPart struct {
	Type, Text, Refusal string
	Thought             bool
	Content             []outputPart
}

func (p outputPart) hasText() bool {
	if p.Thought || p.Type == "thinking" || p.Type == "reasoning" {
		return false
	}
	return strings.TrimSpace(p.Text+p.Refusal) != "" || slices.ContainsFunc(p.Content, outputPart.hasText)
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
