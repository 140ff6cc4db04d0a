package check

import (
	"math"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"
)

// levenshtein returns the least number of characters to insert, delete or replace that turn one
// text into the other (Levenshtein, 1966). A character is a code point. It takes time in proportion
// to the product of the lengths.
func levenshtein(a, b []rune) int {
	if len(a) < len(b) {
		a, b = b, a
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i, r := range a {
		diagonal := row[0]
		row[0] = i + 1
		for j, s := range b {
			cost := 1
			if r == s {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}

// ngrams counts the sequences of n words.
func ngrams(words []string, n int) map[string]int {
	counts := map[string]int{}
	for i := range len(words) - n + 1 {
		counts[strings.Join(words[i:i+n], "\x00")]++
	}
	return counts
}

// overlap returns the number of sequences of n words that both texts have. A sequence counts as
// often as the text has it that has it less often.
func overlap(a, b []string, n int) (common int) {
	other := ngrams(b, n)
	for gram, count := range ngrams(a, n) {
		common += min(count, other[gram])
	}
	return common
}

// rouge returns ROUGE-N (Lin, 2004): the part of the sequences of n words of the reference that the
// output has (recall), the part of the output's that the reference has (precision), and their
// harmonic mean.
func rouge(output, reference []string, n int) (recall, precision, f float64) {
	common := float64(overlap(output, reference, n))
	if common == 0 {
		return 0, 0, 0
	}
	recall = common / float64(len(reference)-n+1)
	precision = common / float64(len(output)-n+1)
	return recall, precision, 2 * recall * precision / (recall + precision)
}

// maxOrder is the length of the longest sequences of words of BLEU and GLEU.
const maxOrder = 4

// bleu returns BLEU (Papineni et al., 2002) of one sentence and one reference: the geometric mean
// of the precisions of the sequences of 1 to 4 words, times the penalty for an output that is
// shorter than the reference. A precision of 0 counts as 1e-7, and sequences that are longer than
// the output do not count.
func bleu(output, reference []string) float64 {
	const least = 1e-7
	if len(output) == 0 || len(reference) == 0 {
		return 0
	}
	orders := min(maxOrder, len(output))
	sum := 0.0
	for n := 1; n <= orders; n++ {
		precision := float64(overlap(output, reference, n)) / float64(len(output)-n+1)
		sum += math.Log(max(precision, least))
	}
	penalty := min(0, 1-float64(len(reference))/float64(len(output)))
	return math.Exp(sum/float64(orders) + penalty)
}

// gleu returns GLEU (Wu et al., 2016, "Google's Neural Machine Translation System", section 6): the
// lesser of precision and recall over all sequences of 1 to 4 words.
func gleu(output, reference []string) float64 {
	common, mine, theirs := 0, 0, 0
	for n := 1; n <= maxOrder; n++ {
		common += overlap(output, reference, n)
		mine += max(len(output)-n+1, 0)
		theirs += max(len(reference)-n+1, 0)
	}
	if common == 0 {
		return 0
	}
	return float64(common) / float64(max(mine, theirs))
}

// lowerWords returns the words of a text in lower case, which white space separates.
func lowerWords(s string) []string { return strings.FieldsFunc(lower(s), isSpace) }

// gleuWords is lowerWords without the full stops at the ends of words. A word of full stops stays, as an
// empty one.
func gleuWords(s string) []string {
	words := lowerWords(s)
	for i, w := range words {
		words[i] = strings.TrimRight(w, ".")
	}
	return words
}

// contraction is a pattern with two parts, and the text that each match contains.
type contraction struct {
	text    string
	pattern *regexp.Regexp
}

// contractions are words that the Penn Treebank counts as two, and the quotation mark that ends a
// word.
var contractions = sync.OnceValue(func() []contraction { //nolint:gochecknoglobals // compiled once
	var all []contraction
	plain := strings.NewReplacer("([^'])", "", `\b`, "", "(", "", ")", "")
	for _, pattern := range []string{
		`([^'])(' )`, `\b(can)(not)\b`, `\b(d)('ye)\b`, `\b(gim)(me)\b`, `\b(gon)(na)\b`, `\b(got)(ta)\b`, `\b(lem)(me)\b`,
		`\b(more)('n)\b`, `\b(wan)(na)\b`, `( 't)(is)\b`, `( 't)(was)\b`,
	} {
		all = append(all, contraction{plain.Replace(pattern), regexp.MustCompile(pattern)})
	}
	return all
})

// treebank splits a text into lower-case words and punctuation marks by the rules of the Penn
// Treebank (MacIntyre, 1995, tokenizer.sed), which ROUGE is usually computed with.
func treebank(s string) []string {
	s = strings.Join(lowerWords(s), " ")
	var b strings.Builder
	b.WriteByte(' ')
	apart := func(text string) { b.WriteString(" " + text + " ") }
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		rest := s[i+size:]
		switch {
		case strings.HasPrefix(s[i:], "..."), strings.HasPrefix(s[i:], "--"):
			size = map[rune]int{'.': 3, '-': 2}[r]
			apart(s[i : i+size])
		case r == '"' && (i == 0 || strings.IndexByte(" ([{<", s[i-1]) >= 0):
			apart("``")
		case r == '"':
			apart("''")
		case strings.ContainsRune(":,", r) && (rest == "" || rest[0] < '0' || rest[0] > '9'),
			strings.ContainsRune(";@#$%&?![](){}<>", r),
			r == '.' && endsSentence(s[:i], rest):
			apart(string(r))
		default:
			b.WriteString(s[i : i+size])
		}
		i += size
	}
	b.WriteByte(' ')
	s = b.String()
	for _, end := range []string{"'s ", "'m ", "'d ", "'ll ", "'re ", "'ve ", "n't "} {
		s = strings.ReplaceAll(s, end, " "+end)
	}
	for _, word := range contractions() {
		if strings.Contains(s, word.text) { // most texts have none of them, and a pattern takes long
			s = word.pattern.ReplaceAllString(s, "$1 $2")
		}
	}
	return strings.Fields(s)
}

// endsSentence reports whether a full stop between two parts of a text ends it, as opposed to that
// of U.S. or of a sentence in the middle.
func endsSentence(before, after string) bool {
	if strings.TrimLeft(after, `])}>'" `) != "" || before == "" || strings.HasSuffix(before, ".") {
		return false
	}
	letter := func(i int) bool { return i >= 0 && before[i] >= 'a' && before[i] <= 'z' }
	n := len(before)
	acronym := n >= 3 && letter(n-1) && before[n-2] == '.' && letter(n-3) &&
		(n == 3 || !letter(n-4) && (before[n-4] < '0' || before[n-4] > '9') && before[n-4] != '_')
	return !acronym
}
