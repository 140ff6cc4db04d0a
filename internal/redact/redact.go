// Package redact removes secret values from everything that is written to disk or shown: the sixth law of measurement.
//
// What it knows are the values that Plumb injected or read from the environment. It finds each of them
//
//   - as it is;
//   - with any of its characters escaped as in JSON, JavaScript or Go (\", \/, \n, \u00e9, \xe9, \U0001f600), in URLs
//     (%2f, and + for a space) or in HTML (&quot;, &#34;, &#x22;), with up to three such encodings on top of each other,
//     such as JSON in a string of JSON, or a percent-encoded text in JSON;
//   - in base64, with both alphabets, padded or not, also when it is a part of what was encoded, as in "user:secret";
//   - in hexadecimal digits of either case;
//   - the last two escaped in turn.
//
// A value of several lines is also found line by line, and one such as "Bearer x" also by its second word.
//
// What it cannot find: values that were compressed, encrypted, hashed, broken over lines within base64, or cut into pieces
// with other text between them, as a provider does that streams an answer in many small JSON events.
package redact

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"
	"unsafe"
)

// Secret is one value to keep out of every artifact.
type Secret struct {
	// Name tells the reader what stood there, such as the name of the environment variable.
	Name string
	// Value is the secret. White space around it does not count. What New cannot hide is told by
	// [Redactor.Exposed].
	Value string
}

// Redactor replaces each secret it finds by [redacted:NAME]. It is safe for concurrent use. A nil Redactor is valid and
// changes nothing.
type Redactor struct {
	// types holds, by type, which fields of a struct may hold text from outside.
	types    sync.Map
	patterns []pattern
	exposed  []Exposure
	// starts and places index the patterns by byte: those that begin with it, and all places where it occurs.
	starts [256][]int32
	places [256][]place
	// heads holds the characters that can share bits with the first byte of a secret in base64.
	heads [256]bool
	// window is how many leading bytes of each pattern the literal search looks at; see find.
	window  int
	longest int
	shift   [hashes]uint8
	bucket  [hashes][]int32
}

// New returns a Redactor for the given secrets. Of secrets with the same value the first gives the name. Words are
// structural: a secret that equals one of them, in either case, is not hidden, nor is one that is short or easy to guess.
// [Redactor.Exposed] tells which.
func New(secrets []Secret, words ...string) *Redactor {
	r := &Redactor{}
	lower := make(map[string]bool, len(words))
	for _, word := range words {
		lower[strings.ToLower(word)] = true
	}
	seen := map[string]bool{}
	for _, s := range secrets {
		r.expose(s, words, lower)
		for _, value := range values(s.Value) {
			if seen[value] || weakness(value, lower) != "" {
				continue
			}
			seen[value] = true
			r.patterns = append(r.patterns, patterns(value, s.Name, marker(s.Name))...)
		}
	}
	r.index()
	return r
}

func (r *Redactor) idle() bool { return r == nil || len(r.patterns) == 0 }

// values returns the texts that give a secret value away.
func values(value string) []string {
	const long = 20 // parts of a value must be longer than what is common text
	value = strings.TrimSpace(value)
	all := []string{value}
	if scheme, rest, ok := strings.Cut(value, " "); ok && len(scheme) <= 12 && !strings.Contains(rest, " ") {
		all = append(all, rest)
	}
	if strings.Contains(value, "\n") {
		for line := range strings.Lines(value) {
			if line = strings.TrimSpace(line); len(line) >= long && !strings.HasPrefix(line, "-----") {
				all = append(all, line)
			}
		}
	}
	return all
}

// marker returns what replaces a secret. It can stand within a JSON string, a URL, an attribute and a shell word.
func marker(name string) string {
	clean := strings.Map(func(c rune) rune {
		if c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || strings.ContainsRune("_-.", c) {
			return c
		}
		return '_'
	}, name)
	return "[redacted:" + clean + "]"
}

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
	found, _ := r.find(text, true)
	if found == nil {
		return s
	}
	if names != nil {
		for _, m := range found {
			names[m.pattern.name] = struct{}{}
		}
	}
	return string(replace(nil, text, found))
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
	found, _ := r.find(b, true)
	if found == nil {
		return b
	}
	return replace(make([]byte, 0, len(b)), b, found)
}

// match is one place where a secret was found.
type match struct {
	start, end int
	pattern    *pattern
}

// merge orders matches and joins those that overlap, which makes them one match of the longest of them.
func merge(found []match) []match {
	slices.SortFunc(found, func(a, b match) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end))
	})
	joined := found[:1]
	longest := found[0].end - found[0].start
	for _, m := range found[1:] {
		last := &joined[len(joined)-1]
		size := m.end - m.start
		if m.start >= last.end {
			joined, longest = append(joined, m), size
			continue
		}
		last.end = max(last.end, m.end)
		if size > longest {
			last.pattern, longest = m.pattern, size
		}
	}
	return joined
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
