package redact

import (
	"math"
	"slices"
	"strings"
)

const (
	// minLength is the minimum length of a hidden value, in bytes. Shorter values would match
	// unrelated text.
	minLength = 8
	// minBits is the minimum information of a hidden value, in bits.
	minBits = 20
)

// Exposure describes why a secret, or a place that contains it, is not hidden.
type Exposure struct {
	Name string
	// Why completes a sentence that begins with the name, as in "is shorter than 8 characters".
	Why string
}

// Exposed returns the secrets that are not hidden, in order. It never returns a value.
func (r *Redactor) Exposed() []Exposure {
	if r == nil {
		return nil
	}
	return slices.Clone(r.exposed)
}

// weakness returns why value is not hidden, or "" if it is hidden. Hiding a weak value would change
// unrelated text. This is the whole rule, for values and for parts of them.
func weakness(value string, words map[string]bool) string {
	switch {
	case len(value) < minLength:
		return "is shorter than 8 characters"
	case words[strings.ToLower(value)]:
		return "is a common word of Plumb's own reports"
	case information(value) < minBits:
		return "is too easy to guess: it has few different characters"
	}
	return ""
}

// information returns the length of value times the Shannon entropy of its bytes, in bits; 0 for
// white space.
func information(value string) float64 {
	if strings.TrimSpace(value) == "" {
		return 0
	}
	var counts [256]int
	for i := range len(value) {
		counts[value[i]]++
	}
	bits := 0.0
	for _, n := range counts {
		if n > 0 {
			bits -= float64(n) * math.Log2(float64(n)/float64(len(value)))
		}
	}
	return bits
}

// expose records how the secret s is not hidden. words are the structural words, and lower the same
// in lower case.
func (r *Redactor) expose(s Secret, words []string, lower map[string]bool) {
	value := strings.TrimSpace(s.Value)
	why := weakness(value, lower)
	if why == "" && slices.ContainsFunc(words, func(word string) bool { return strings.Contains(word, value) }) {
		why = "is hidden in texts, but not in names that contain it, such as the id of a case, a runner or a model"
	}
	e := Exposure{s.Name, why}
	// A secret can come from several places: the environment, a config, a provider.
	if s.Value != "" && why != "" && !slices.Contains(r.exposed, e) {
		r.exposed = append(r.exposed, e)
	}
}
