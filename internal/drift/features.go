package drift

import (
	"crypto/sha256"
	"encoding/hex"
	"math"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

const (
	countedWords = 256  // the number of words of a text that count
	buckets      = 4096 // the dimension of the hashed features
)

// feature is one coordinate of a sparse vector.
type feature struct {
	bucket uint16
	value  float32
}

// normalize returns the text that the detectors compare: in Unicode form NFC, with line feeds as
// line ends, without white space around it.
func normalize(text string) string {
	text = norm.NFC.String(text)
	if strings.Contains(text, "\r\n") {
		text = strings.ReplaceAll(text, "\r\n", "\n")
	}
	return strings.TrimSpace(text)
}

// AnswerHash identifies an answer for the detectors without its text: the SHA-256, in hex digits, of
// the normalized text.
func AnswerHash(text string) string {
	sum := sha256.Sum256([]byte(normalize(text)))
	return hex.EncodeToString(sum[:])
}

// textWords returns the first words of a text: each is a sequence of letters and digits, or a single
// other character that is not white space.
func textWords(text string, most int) []string {
	var words []string
	start := -1
	for i, r := range text {
		letter := unicode.IsLetter(r) || unicode.IsDigit(r)
		if letter && start < 0 {
			start = i
		}
		if letter {
			continue
		}
		if start >= 0 {
			words = append(words, text[start:i])
			start = -1
		}
		if !unicode.IsSpace(r) {
			words = append(words, text[i:i+len(string(r))])
		}
		if len(words) >= most {
			return words[:most]
		}
	}
	if start >= 0 {
		words = append(words, text[start:])
	}
	return words
}

// textFeatures returns the feature vector of a normalized text: counts of its words and of its
// adjacent pairs of words, hashed with FNV-1a to 4096 buckets, as square roots, with length 1.
func textFeatures(text string) []feature {
	const begin, end, joint = "\x02", "\x03", "\x1f"
	counts := map[uint16]int{}
	previous := begin
	for _, word := range append(textWords(text, countedWords), end) {
		counts[fnv1a(word)]++
		counts[fnv1a(previous, joint, word)]++
		previous = word
	}
	total := 0
	features := make([]feature, 0, len(counts))
	for bucket, n := range counts {
		total += n
		features = append(features, feature{bucket, float32(n)})
	}
	// The squares of the square roots of the counts add up to their sum.
	for i := range features {
		features[i].value = float32(math.Sqrt(float64(features[i].value) / float64(total)))
	}
	slices.SortFunc(features, func(a, b feature) int { return int(a.bucket) - int(b.bucket) })
	return features
}

// fnv1a returns the bucket of the concatenated parts.
func fnv1a(parts ...string) uint16 {
	h := uint64(14695981039346656037)
	for _, part := range parts {
		for i := range len(part) {
			h = (h ^ uint64(part[i])) * 1099511628211
		}
	}
	return uint16(h % buckets)
}

// sharedText is a normalized answer to one prompt. All runs of a panel with this answer share it.
type sharedText struct {
	key      [sha256.Size]byte
	text     string
	known    bool // the text is known, not only its hash
	features []feature
	uses     int
	raws     map[[sha256.Size]byte]int // how many answers have each form before normalization
	// value is the kernel with the text whose row is computed now, if stamp is current.
	stamp uint32
	value float32
}

// panelPrompt is what a panel knows about a prompt.
type panelPrompt struct {
	name   string
	runs   int // the runs of the trailing days that answer it
	texts  map[[sha256.Size]byte]*sharedText
	tokens map[string]int32
}

// promptSet is the set of prompts of a run, ordered by name. Runs with the same prompts share it.
type promptSet struct {
	key     string
	prompts []*panelPrompt
	index   map[*panelPrompt]int
	runs    int
}

// quantize rounds a kernel value to a multiple of 2^-20. Sums of such values are exact, so they do
// not depend on the order of the additions.
func quantize(k float64) float32 { return float32(math.Round(k*(1<<20)) / (1 << 20)) }

// load writes a feature vector into the dense scratch vector, and unload removes it.
func load(dense []float32, features []feature) {
	for _, f := range features {
		dense[f.bucket] = f.value
	}
}

func unload(dense []float32, features []feature) {
	for _, f := range features {
		dense[f.bucket] = 0
	}
}

func dot(dense []float32, features []feature) float32 {
	_ = dense[buckets-1]
	var sum float32
	for _, f := range features {
		sum += dense[f.bucket&(buckets-1)] * f.value
	}
	return sum
}
