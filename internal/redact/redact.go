// Package redact removes secret values from every text that is written to disk or shown: the sixth
// law of measurement.
//
// It gets the values that Plumb injected or read from the environment. It finds each value
//
//   - unchanged;
//   - with any of its characters escaped as in JSON, JavaScript or Go (\", \/, \n, \u00e9, \xe9,
//     \U0001f600), in URLs (%2f, and + for a space) or in HTML (&quot;, &#34;, &#x22;), with up
//     to three such encodings on top of each other, such as JSON in a JSON string, or
//     percent-encoding in JSON;
//   - in base64, with both alphabets, with or without padding, also when it is a part of the
//     encoded text, as in "user:secret";
//   - in hexadecimal digits of either case, and as a hex dump on one line with spaces or colons
//     between the bytes;
//   - in base64 or hexadecimal digits of one of the above, including base64 and hexadecimal
//     digits, up to two of these on top of each other, and escaped in turn;
//   - with base64 or hexadecimal digits wrapped over lines that have at least 16 digits each.
//
// Between any two of its characters, on each of these levels, invisible characters are allowed:
// escape sequences for terminals, control characters, zero-width and other ignorable characters,
// direction marks, tags, bytes that are not UTF-8. The reports remove these from the text that they
// show, and would otherwise join the secret together again. White space in a value matches any run
// of white space. A replacement covers the secret from its first to its last character. The rest of
// the text does not change, except that more than 64 KiB of invisible characters within a possible
// secret can be dropped; see [Redactor.Writer].
//
// For a value of several lines, each line is also a secret. For a value such as "Bearer x", the
// second word is also a secret. A value with \n in it is also found with line breaks instead.
//
// It cannot find values that were compressed, encrypted or hashed, and values that are split with
// other text between the parts, as when a provider streams an answer in many small JSON events.
//
// A search decodes the text in every possible way, level by level, and looks for the plain values
// in each decoded view. Each view maps its bytes back to the original text.
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

// Secret is one value to remove from every artifact.
type Secret struct {
	// Name replaces the value for the reader, such as the name of the environment variable.
	Name string
	// Value is the secret. White space around it is ignored. [Redactor.Exposed] lists values that
	// are not hidden.
	Value string
}

// Redactor replaces each secret by [redacted:NAME]. It is safe for concurrent use. A nil Redactor
// is valid and changes nothing.
type Redactor struct {
	// cleaners are those of the types that were cleaned.
	cleaners sync.Map
	patterns []pattern
	exposed  []Exposure
	// starts holds the patterns by their first byte. shift and bucket are the index of the literal
	// search, which uses the first bytes of each pattern, the window.
	starts            [256][]int32
	shift             [hashes]uint8
	bucket            [hashes][]int32
	loose             []int32 // patterns that are not in the index
	window            int
	shortest, longest int
	// spaced means that a pattern has white space, binary that one is not UTF-8.
	spaced, binary bool
	// digits maps the digits of base64 to their values. minDigits is the minimum number of digits
	// of an encoded secret.
	digits    [256]int8
	minDigits int
	// wall is a character that no pattern contains. It separates unrelated pieces of text.
	wall     byte
	seed     maphash.Seed
	searches sync.Pool
}

// New returns a Redactor for the given secrets. If several secrets have the same value, the first
// gives the name. words are structural: a secret that equals one of them, ignoring case, is not
// hidden. A secret that is short or easy to guess is not hidden either. [Redactor.Exposed] lists
// them.
func New(secrets []Secret, words ...string) *Redactor {
	r := &Redactor{seed: maphash.MakeSeed()}
	lower := make(map[string]bool, len(words))
	for _, word := range words {
		lower[strings.ToLower(word)] = true
	}
	r.spaced = slices.ContainsFunc(secrets, func(s Secret) bool {
		return slices.ContainsFunc(
			values(s.Value), func(value string) bool { return strings.ContainsFunc(value, unicode.IsSpace) },
		)
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
	markers := map[string]string{}
	for i := range r.patterns {
		p := &r.patterns[i]
		if markers[p.name] == "" {
			markers[p.name] = r.marker(p.name)
		}
		p.marker = markers[p.name]
	}
	return r
}

// Hides reports whether r has a secret to hide.
func (r *Redactor) Hides() bool { return r != nil && len(r.patterns) > 0 }

// names are those of secrets that were found; nil without any.
type names map[string]struct{}

func (n *names) add(all ...string) {
	if *n == nil {
		*n = names{}
	}
	for _, name := range all {
		(*n)[name] = struct{}{}
	}
}

// String returns s without the secrets.
func (r *Redactor) String(s string) string {
	clean, _ := r.replaceNamed(s, nil)
	return clean
}

// replaceNamed returns s without the secrets, and whether it has some. It adds their names to found,
// unless found is nil.
func (r *Redactor) replaceNamed(s string, found *names) (clean string, changed bool) {
	if !r.Hides() {
		return s, false
	}
	text := unsafe.Slice(unsafe.StringData(s), len(s)) // without a copy; it is only read
	if clean := r.rewrite(text, found); clean != nil {
		return string(clean), true
	}
	return s, false
}

// rewrite returns text without the secrets, or nil if it has none. It adds the names of the found
// secrets to found, unless found is nil.
func (r *Redactor) rewrite(text []byte, found *names) []byte {
	if len(text) < r.shortest {
		return nil // no encoding is shorter than the secret
	}
	if len(text) > block {
		var b bytes.Buffer
		w := &writer{redactor: r, to: &b, names: found}
		_, _ = w.Write(text) // writing to memory cannot fail
		_ = w.Close()
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
	if found != nil {
		for _, m := range s.found {
			found.add(m.pattern.name)
		}
	}
	return replace(make([]byte, 0, len(text)), text, s.found)
}

// Names returns the names of the secrets in s, sorted and each once, or nil.
func (r *Redactor) Names(s string) []string {
	var found names
	if r.replaceNamed(s, &found); len(found) == 0 {
		return nil
	}
	return slices.Sorted(maps.Keys(found))
}

// replace appends text to out, with each match replaced by its marker.
func replace(out, text []byte, found []match) []byte {
	at := 0
	for _, m := range found {
		out = append(append(out, text[at:m.start]...), m.pattern.marker...)
		at = m.end
	}
	return append(out, text[at:]...)
}
