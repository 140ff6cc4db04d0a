package check

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/text"
)

const (
	levenshteinName = "levenshtein"
	rougeName       = "rouge"
	bleuName        = "bleu"
	gleuName        = "gleu"
)

// measures returns what the score of rouge can be.
func measures() []string { return []string{"f", "recall", "precision"} }

// threshold describes the key with the least score that passes.
func threshold(value float64, doc string) Key {
	return Key{
		Name: "threshold", Type: "number", Min: new(0.0), Max: new(1.0),
		Default: strconv.FormatFloat(value, 'f', -1, 64), Doc: doc,
	}
}

// metricKind describes a kind that computes how much the output resembles an ideal.
func metricKind(name, doc string, keys ...Key) Kind {
	return Kind{
		Name: name, Doc: doc, Reads: "output", Keys: append([]Key{idealKey()}, keys...),
		Details: "`score`, `threshold`, `ideal` (the nearest)", parse: (*spec).metricMatcher,
	}
}

func rougeKind() Kind {
	return metricKind("rouge", "the ROUGE-N of the output and of an ideal is high enough",
		Key{
			Name: "n", Type: "integer", Min: new(1.0), Max: new(9.0), Default: "1",
			Doc: "the number of words of the sequences that are compared",
		},
		Key{
			Name: "measure", Type: "string", Enum: measures(), Default: "`f`",
			Doc: "the harmonic mean of recall and precision, or one of the two",
		},
		threshold(0.75, "the least score"))
}

func bleuKind() Kind {
	return metricKind("bleu", "the BLEU-4 of the output and of an ideal is high enough", threshold(0.5, "the least score"))
}

func gleuKind() Kind {
	return metricKind("gleu", "the GLEU of the output and of an ideal is high enough", threshold(0.5, "the least score"))
}

// metricMatcher is rouge, bleu and gleu.
type metricMatcher struct {
	offline
	kind      string
	ideals    []string
	threshold float64
	n         int    // of rouge
	measure   string // of rouge
}

func (s *spec) metricMatcher() matcher {
	terms, _, _ := s.needTerms()
	m := &metricMatcher{kind: s.kind.Name, ideals: terms, n: 1, measure: measures()[0]}
	if m.threshold = defaultThreshold(m.kind); s.Get("threshold") != nil {
		m.threshold = s.number("threshold")
	}
	if n := s.integer("n"); n != nil {
		m.n = *n
	}
	if text, ok := s.text("measure"); ok {
		m.measure = text
	}
	return m
}

func defaultThreshold(kind string) float64 {
	if kind == rougeName {
		return 0.75
	}
	return 0.5
}

// Rouge passes if the ROUGE-N F-measure of the output and of one of the ideals is at least
// threshold, which is from 0 to 1. n is the number of words of the sequences that are compared.
func Rouge(ideals []string, n int, threshold float64) *Check {
	return newCheck(rougeName, &metricMatcher{
		kind: rougeName, ideals: slices.Clone(ideals), threshold: threshold, n: n, measure: measures()[0],
	})
}

// Bleu passes if the BLEU-4 of the output and of one of the ideals is at least threshold, which is
// from 0 to 1.
func Bleu(ideals []string, threshold float64) *Check {
	return newCheck(bleuName, &metricMatcher{kind: bleuName, ideals: slices.Clone(ideals), threshold: threshold})
}

// Gleu passes if the GLEU of the output and of one of the ideals is at least threshold, which is
// from 0 to 1.
func Gleu(ideals []string, threshold float64) *Check {
	return newCheck(gleuName, &metricMatcher{kind: gleuName, ideals: slices.Clone(ideals), threshold: threshold})
}

func (m *metricMatcher) describe(o options) {
	o["ideal"], o["threshold"] = m.ideals, m.threshold
	if m.kind == rougeName {
		o["n"], o["measure"] = m.n, m.measure
	}
}

func (m *metricMatcher) match(_ context.Context, ev *plumb.Evidence) plumb.Verdict {
	output, best, at := ev.Report.FinalOutput, -1.0, 0
	for i, ideal := range m.ideals {
		if score := m.score(output, ideal); score > best {
			best, at = score, i
		}
	}
	if best < 0 {
		return unmeasured(plumb.Failuref(plumb.OriginAssertHook, "the check has no ideal"))
	}
	pass, word := best >= m.threshold, "below"
	if pass {
		word = "at least"
	}
	v := decided(pass, fmt.Sprintf("the %s of %s is %.3f, %s %g", m.kind, quote(m.ideals[at]), best, word, m.threshold))
	v.Score = best
	v.Expected, v.Got = text.Shorten(m.ideals[at], shownLimit), text.Shorten(shown(ev, output), shownLimit)
	v.Details = details("score", best, "threshold", m.threshold, "ideal", text.Shorten(m.ideals[at], detailsLimit))
	return v
}

func (m *metricMatcher) score(output, ideal string) float64 {
	switch m.kind {
	case bleuName:
		return bleu(lowerWords(output), lowerWords(ideal))
	case gleuName:
		return gleu(gleuWords(output), gleuWords(ideal))
	}
	recall, precision, f := rouge(treebank(output), treebank(ideal), m.n)
	switch m.measure {
	case "recall":
		return recall
	case "precision":
		return precision
	}
	return f
}

// levenshteinLimit bounds the product of the lengths of two texts, in characters.
const levenshteinLimit = 100_000_000

func levenshteinKind() Kind {
	return Kind{
		Name: "levenshtein", Doc: "the edit distance of the output and of an ideal is small enough", Reads: "output",
		Keys: append(TextKeys(), idealKey(),
			Key{
				Name: "max", Type: "integer", Min: new(0.0),
				Doc: "the largest accepted number of characters to insert, delete or replace",
			},
			Key{
				Name: "threshold", Type: "number", Min: new(0.0), Max: new(1.0),
				Doc: "instead of `max`: the least similarity, which is 1 minus the distance divided by the length of " +
					"the longer text",
			}),
		Details: "`distance`, `similarity`, `ideal` (the nearest)", parse: (*spec).levenshteinMatcher,
	}
}

// Distance is how far an output may be from an ideal: at most Max edits, or, if Similarity is
// positive, at least that similarity from 0 to 1.
type Distance struct {
	Max        int
	Similarity float64
}

type levenshteinMatcher struct {
	offline
	ideals []string
	most   Distance
	how    Text
}

// Levenshtein passes if the edit distance of the output and of one of the ideals is small enough.
func Levenshtein(ideals []string, most Distance, how *Text) *Check {
	return newCheck(levenshteinName, &levenshteinMatcher{ideals: slices.Clone(ideals), most: most, how: how.value()})
}

func (s *spec) levenshteinMatcher() matcher {
	terms, _, _ := s.needTerms()
	most := Distance{Similarity: s.number("threshold")}
	limit := s.integer("max")
	switch {
	case limit != nil && s.Get("threshold") != nil:
		s.bad("threshold", `give only one of "max" and "threshold"`)
	case limit != nil:
		most.Max = *limit
	case s.Get("threshold") == nil:
		s.bad("", `levenshtein needs "max" or "threshold"`)
	case most.Similarity == 0:
		s.bad("threshold", "every output has a similarity of at least 0")
	}
	return &levenshteinMatcher{ideals: terms, most: most, how: s.compare()}
}

func (l *levenshteinMatcher) describe(o options) {
	l.how.describe(o)
	o["ideal"] = l.ideals
	if l.most.Similarity > 0 {
		o["threshold"] = l.most.Similarity
	} else {
		o["max"] = l.most.Max
	}
}

func (l *levenshteinMatcher) match(_ context.Context, ev *plumb.Evidence) plumb.Verdict {
	output := []rune(l.how.fold(ev.Report.FinalOutput))
	distance, similarity, at := -1, 0.0, 0
	for i, ideal := range l.ideals {
		want := []rune(l.how.fold(ideal))
		longer := max(len(want), len(output), 1)
		if longer*min(len(want), len(output)) > levenshteinLimit {
			return unmeasured(plumb.Failuref(plumb.OriginAssertHook,
				"the output and the ideal are too long to compare: %d and %d characters", len(output), len(want)))
		}
		d := levenshtein(output, want)
		s := 1 - float64(d)/float64(longer)
		if nearer := d < distance; distance < 0 || l.most.Similarity > 0 && s > similarity ||
			l.most.Similarity == 0 && nearer {
			distance, similarity, at = d, s, i
		}
	}
	if distance < 0 {
		return unmeasured(plumb.Failuref(plumb.OriginAssertHook, "the check has no ideal"))
	}
	pass := distance <= l.most.Max
	want := fmt.Sprintf("at most %d", l.most.Max)
	got := strconv.Itoa(distance)
	what := "distance"
	if l.most.Similarity > 0 {
		pass, what = similarity >= l.most.Similarity, "similarity"
		want, got = fmt.Sprintf("at least %g", l.most.Similarity), fmt.Sprintf("%.3f", similarity)
	}
	v := decided(pass, fmt.Sprintf("the %s to %s is %s, want %s", what, quote(l.ideals[at]), got, want))
	v.Score = similarity
	v.Expected = text.Shorten(l.ideals[at], shownLimit)
	v.Got = text.Shorten(shown(ev, ev.Report.FinalOutput), shownLimit)
	v.Details = details("distance", distance, "similarity", similarity, "ideal", text.Shorten(l.ideals[at], detailsLimit))
	return v
}
