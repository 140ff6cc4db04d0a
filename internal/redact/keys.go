package redact

import (
	"bytes"
	"io"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// keyForm matches words with the form of a key of many services, after an escape of JSON, too.
var keyForm = regexp.MustCompile(`(?:\b|\\[bfnrt])(?:sk-|[srp]k_(?:live|test)_|gh[oprsu]_|github_pat_|glpat-|xox[abeoprs]-|xapp-|A[KS]IA|` +
	`AIza|hf_|npm_|pypi-|gsk_|xai-|r8_|dop_v1_|ya29\.|SG\.|shpat_|eyJ)[A-Za-z0-9_.-]{16,}`)

// keyBlock matches a private key in the form of PEM, with line breaks or with their escapes.
var keyBlock = regexp.MustCompile(
	`-----BEGIN [A-Z ]*PRIVATE KEY-----(?:[A-Za-z0-9+/=\s:,.-]|\\[rnt])*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)`)

// Keys returns the words in s that have the form of a well-known kind of key.
func Keys(s string) []string {
	var keys []string
	for _, word := range keyForm.FindAllString(s, -1) {
		if word = strings.TrimPrefix(word, escapeOf([]byte(word))); !isName([]byte(word)) {
			keys = append(keys, word)
		}
	}
	return keys
}

// escapeOf returns the escape of JSON at the beginning of a match of keyForm.
func escapeOf(word []byte) string {
	if word[0] == '\\' {
		return string(word[:2])
	}
	return ""
}

// isName reports whether a word consists of short words in lower case, such as
// npm_config_registry_setting and sk-questions-about-animals: no service makes such keys.
func isName(word []byte) bool {
	const longest = 16
	length := 0
	for _, c := range word {
		switch {
		case c == '-' || c == '_' || c == '.':
			length = 0
		case c < 'a' || c > 'z':
			return false
		default:
			length++
		}
		if length == longest {
			return false
		}
	}
	return true
}

// maskedKey replaces a key in a message.
const maskedKey = "[redacted:key]"

// MaskKeys returns text without what has the form of a well-known kind of key. It is for messages, which
// may repeat a mistyped setting: the key in it is in no variable, so no [Redactor] knows it.
func MaskKeys(text []byte) []byte {
	if bytes.Contains(text, []byte("-----BEGIN ")) {
		text = keyBlock.ReplaceAll(text, []byte(maskedKey))
	}
	return keyForm.ReplaceAllFunc(text, func(word []byte) []byte {
		escape := escapeOf(word)
		if isName(word[len(escape):]) {
			return word
		}
		return []byte(escape + maskedKey)
	})
}

// KeyMask returns a writer that passes its input on to w after [MaskKeys]. It holds back the last word
// of its input, which can be the beginning of a key, and a private key until its last line; Close
// writes them, and does not close w.
func KeyMask(w io.Writer) io.WriteCloser { return &keyMask{to: w} }

type keyMask struct {
	to   io.Writer
	held []byte
}

func (m *keyMask) Write(b []byte) (int, error) {
	const longest = 8 << 10 // a longer word is no key
	text := slices.Concat(m.held, b)
	end := len(text)
	for end > 0 && len(text)-end < longest && inKey(text[end-1]) {
		end--
	}
	if len(text)-end == longest {
		end = len(text)
	}
	if at := openBlock(text, end); at >= 0 && len(text)-at < longest {
		end = min(end, at)
	}
	_, err := m.to.Write(MaskKeys(text[:end]))
	m.held = bytes.Clone(text[end:])
	return len(b), err
}

func (m *keyMask) Close() error {
	if len(m.held) == 0 {
		return nil
	}
	_, err := m.to.Write(MaskKeys(m.held))
	m.held = nil
	return err
}

// openBlock returns the position of a private key in text that does not end before end, or -1.
func openBlock(text []byte, end int) int {
	at := bytes.LastIndex(text, []byte("-----BEGIN "))
	if at < 0 {
		return -1
	}
	block := keyBlock.FindIndex(text[at:])
	if block == nil && bytes.IndexByte(text[at:], '\n') < 0 || block != nil && at+block[1] >= end {
		return at
	}
	return -1
}

func inKey(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c == '_' || c == '.' || c == '-'
}

// Planted returns the position and the name of the first secret in a text that somebody wrote by hand,
// or -1. A secret of a few letters, such as "postgres", is an ordinary word there.
func (r *Redactor) Planted(text []byte) (at int, name string) {
	if !r.Hides() {
		return -1, ""
	}
	for start := 0; start < len(text); {
		end := min(start+block, len(text))
		if i := bytes.IndexByte(text[end:], '\n'); i >= 0 {
			end += i + 1 // each line of a secret is also a secret
		} else {
			end = len(text)
		}
		s := r.find(text[start:end], true)
		for _, m := range s.found {
			if !ordinary(m.pattern.text) {
				s.done()
				return start + m.start, m.pattern.name
			}
		}
		s.done()
		start = end
	}
	return -1, ""
}

// ordinary reports whether a text is a word of letters that is too short for a key.
func ordinary(text []byte) bool {
	const short = 16
	return len(text) < short && !bytes.ContainsFunc(text, func(c rune) bool { return !unicode.IsLetter(c) })
}
