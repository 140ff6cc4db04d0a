// Package redact removes secret values from every text that is written to disk or shown: the sixth law of measurement.
//
// It knows the values that Plumb injected or read from the environment. It finds each of them
//
//   - as it is;
//   - with any of its characters escaped as in JSON, JavaScript or Go (\", \/, \n, \u00e9, \xe9, \U0001f600), in URLs
//     (%2f, and + for a blank) or in HTML (&quot;, &#34;, &#x22;), with up to three such encodings on top of each other,
//     such as JSON in a string of JSON, or a percent-encoded text in JSON;
//   - in base64, with both alphabets, padded or not, also when it is a part of what was encoded, as in "user:secret";
//   - in hexadecimal digits of either case, and as a hex dump on one line with blanks or colons between the bytes;
//   - in base64 or hexadecimal digits of one of the above, base64 and hexadecimal digits themselves included, up to two of
//     these on top of each other, and escaped in turn;
//   - with base64 or hexadecimal digits wrapped over lines that have at least 16 digits each.
//
// Between any two of its characters, on each of these levels, there may be what is not seen: escape sequences for
// terminals, controls, zero-width and other ignorable characters, marks of direction, tags, bytes that are no UTF-8. The
// reports remove these from what they show, and so would put the secret together again. White space in a value stands for
// any run of white space. What is replaced goes from the first character of the secret to the last; the rest stays byte for
// byte, except that more than 64 KiB of unseen characters within what may be a secret can be dropped; see
// [Redactor.Writer].
//
// A value of several lines is also found line by line, one such as "Bearer x" also by its second word, and one with \n in
// it also with line breaks instead.
//
// What it cannot find: values that were compressed, encrypted or hashed, and values cut into pieces with other text between
// them, as a provider does that streams an answer in many small JSON events.
//
// A search reads the text in all the ways in which the encodings can be undone, level by level, and looks for the plain
// values in each reading. Each reading knows where its bytes come from.
package redact

import (
	"bytes"
	"hash/maphash"
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unsafe"
)

// Secret is one value to keep out of every artifact.
type Secret struct {
	// Name tells the reader what stood there, such as the name of the environment variable.
	Name string
	// Value is the secret. White space around it does not count. [Redactor.Exposed] tells which values are not hidden.
	Value string
}

// Redactor replaces each secret it finds by [redacted:NAME]. It is safe for concurrent use. A nil Redactor is valid and
// changes nothing.
type Redactor struct {
	// types holds, by type, which fields of a struct may hold text from outside.
	types    sync.Map
	patterns []pattern
	exposed  []Exposure
	// starts holds the patterns by their first byte; shift and bucket the index of the literal search, which looks at the
	// first bytes, the window, of each pattern.
	starts            [256][]int32
	shift             [hashes]uint8
	bucket            [hashes][]int32
	loose             []int32 // patterns that are not in the index
	window            int
	shortest, longest int
	// spaced says that a pattern has white space, binary that one is no UTF-8.
	spaced, binary bool
	// digits holds what the digits of base64 stand for; minDigits is the least number of them that a secret takes.
	digits    [256]int8
	minDigits int
	// wall is a character that is in no pattern and stands between pieces of text that do not belong together.
	wall     byte
	seed     maphash.Seed
	searches sync.Pool
}

// New returns a Redactor for the given secrets. Of secrets with the same value the first gives the name. Words are
// structural: a secret that equals one of them, in either case, is not hidden, nor is one that is short or easy to guess.
// [Redactor.Exposed] tells which.
func New(secrets []Secret, words ...string) *Redactor {
	r := &Redactor{seed: maphash.MakeSeed()}
	lower := make(map[string]bool, len(words))
	for _, word := range words {
		lower[strings.ToLower(word)] = true
	}
	r.spaced = slices.ContainsFunc(secrets, func(s Secret) bool {
		return slices.ContainsFunc(values(s.Value), func(value string) bool { return strings.ContainsFunc(value, unicode.IsSpace) })
	})
	for _, s := range secrets {
		r.expose(s, words, lower)
		for _, value := range values(s.Value) {
			if weakness(value, lower) == "" {
				r.addPatterns(value, s, lower)
			}
		}
	}
	r.index()
	r.mark()
	return r
}

func (r *Redactor) idle() bool { return r == nil || len(r.patterns) == 0 }

// Hides reports whether r knows any secret that it hides.
func (r *Redactor) Hides() bool { return !r.idle() }

// String returns s without the secrets.
func (r *Redactor) String(s string) string {
	return r.replaceNamed(s, nil)
}

// replaceNamed is String, and adds the names of the secrets that it replaces to names, unless that is nil.
func (r *Redactor) replaceNamed(s string, names map[string]struct{}) string {
	if r.idle() {
		return s
	}
	text := unsafe.Slice(unsafe.StringData(s), len(s)) // without a copy: nothing writes to it
	if clean := r.rewrite(text, names); clean != nil {
		return string(clean)
	}
	return s
}

// rewrite returns text without the secrets, or nil if it has none. The names of those that it has go to names unless that is
// nil.
func (r *Redactor) rewrite(text []byte, names map[string]struct{}) []byte {
	if len(text) > block {
		var b bytes.Buffer
		(&writer{redactor: r, to: &b, names: names}).all(text)
		if bytes.Equal(b.Bytes(), text) {
			return nil
		}
		return b.Bytes()
	}
	s := r.find(text, true)
	defer s.done()
	if len(s.found) == 0 {
		return nil
	}
	if names != nil {
		for _, m := range s.found {
			names[m.pattern.name] = struct{}{}
		}
	}
	return replace(make([]byte, 0, len(text)), text, s.found)
}

// Names returns the names of the secrets that are in s, sorted and each once, or nil.
func (r *Redactor) Names(s string) []string {
	names := map[string]struct{}{}
	if r.replaceNamed(s, names); len(names) == 0 {
		return nil
	}
	return slices.Sorted(maps.Keys(names))
}

// Bytes returns b without the secrets: b itself if it has none, else a new slice. If b is JSON, see [Redactor.JSON].
func (r *Redactor) Bytes(b []byte) []byte {
	if r.idle() {
		return b
	}
	if clean := r.rewrite(b, nil); clean != nil {
		return clean
	}
	return b
}

// replace appends text to out, with the marker of each match in its place.
func replace(out, text []byte, found []match) []byte {
	at := 0
	for _, m := range found {
		out = append(append(out, text[at:m.start]...), m.pattern.marker...)
		at = m.end
	}
	return append(out, text[at:]...)
}
