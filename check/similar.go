package check

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/text"
)

// DefaultThreshold is the threshold of semantic_similarity if the author gives none.
const DefaultThreshold = 0.8

type similarMatcher struct {
	ideals    []string
	threshold float64
}

// SemanticSimilarity passes if the cosine of the embeddings of the output and of the nearest ideal
// is at least threshold, which is from 0 to 1; see [DefaultThreshold].
func SemanticSimilarity(ideals []string, threshold float64) *Check {
	return newCheck("semantic_similarity", &similarMatcher{slices.Clone(ideals), threshold})
}

func semanticSimilarityKind() Kind {
	return Kind{
		Name: "semantic_similarity", Doc: "the embeddings of the output and of an ideal are similar", Reads: "output",
		Keys: append(documentedKeys("threshold"), idealKey(), Key{
			Name: "threshold", Type: "number", Lenient: true, Min: new(0.0), Max: new(1.0),
			Default: strconv.FormatFloat(DefaultThreshold, 'f', -1, 64), Doc: "the least cosine of the two embeddings",
		}),
		Details: "`similarity`, `threshold`, `ideal` (the nearest), `model`",
		parse: func(s *spec) matcher {
			threshold := DefaultThreshold
			if s.has("threshold") {
				threshold = s.number("threshold")
			}
			terms, at, ok := s.needTerms()
			if ok && slices.ContainsFunc(terms, func(t string) bool { return strip(t) == "" }) {
				s.bad(at, "an ideal is empty, so there is nothing to compare with")
			}
			return &similarMatcher{terms, threshold}
		},
	}
}

func (s *similarMatcher) asks(int) Asks {
	a := Asks{Embedder: 1}
	for _, ideal := range s.ideals {
		a.EmbedderBytes += len(ideal)
	}
	return a
}

func (s *similarMatcher) describe(o options) {
	o["ideal"] = s.ideals
	o["threshold"] = s.threshold
}

func (s *similarMatcher) match(ctx context.Context, ev *plumb.Evidence) plumb.Verdict {
	output := ev.Report.FinalOutput
	switch {
	case len(s.ideals) == 0:
		return unmeasured(plumb.Failuref(plumb.OriginAssertHook, "the check has no ideal"))
	case strip(output) == "": // the empty text has no embedding
		v := decided(false, "the output is empty")
		v.Expected = text.Shorten(s.ideals[0], shownLimit)
		v.Details = s.details(0, s.ideals[0], "")
		return v
	case ev.Embedder == nil || ev.Embedder.Embed == nil:
		err := plumb.WithHint(errors.New("no embedder is set"), "set one with embedder: in the config")
		return unmeasured(plumb.Failed(plumb.OriginJudge, err))
	}

	embedding, err := ev.Embedder.Embed(ctx, append([]string{output}, s.ideals...))
	asked := &plumb.Asked{
		Model: embedding.Model, Requests: embedding.Requests, Usage: embedding.Usage, CostUSD: embedding.CostUSD,
	}
	if asked.Model == "" {
		asked.Model = ev.Embedder.Name
	}
	best, at := -1.0, 0
	if err == nil {
		best, at, err = nearest(embedding.Vectors, len(s.ideals))
	}
	if err != nil {
		if ctx.Err() != nil {
			return unmeasured(plumb.Failuref(plumb.OriginJudge, "ask the embedder: %w", context.Cause(ctx)))
		}
		v := unmeasured(askFailure("embedder", err))
		v.Asked = asked
		return v
	}

	const slack = 1e-9 // the computed cosine of a vector with itself may be a little less than 1
	word := "below"
	pass := best+slack >= s.threshold
	if pass {
		word = "at least"
	}
	v := decided(pass, fmt.Sprintf("the similarity to %s is %.3f, %s %g", quote(s.ideals[at]), best, word, s.threshold))
	v.Score = min(max(best, 0), 1)
	v.Expected, v.Got = text.Shorten(s.ideals[at], shownLimit), text.Shorten(shown(ev, output), shownLimit)
	v.Details = s.details(best, s.ideals[at], asked.Model)
	v.Asked = asked
	return v
}

func (s *similarMatcher) details(similarity float64, ideal, model string) []byte {
	facts := []any{"similarity", similarity, "threshold", s.threshold, "ideal", text.Shorten(ideal, detailsLimit)}
	if model != "" {
		facts = append(facts, "model", model)
	}
	return details(facts...)
}

// nearest returns the greatest cosine between the first vector and one of the n others.
func nearest(vectors [][]float32, n int) (best float64, at int, err error) {
	if len(vectors) != n+1 {
		return 0, 0, fmt.Errorf("the embedder returned %d vectors for %d texts", len(vectors), n+1)
	}
	best = math.Inf(-1)
	for i, v := range vectors[1:] {
		c, err := cosine(vectors[0], v)
		if err != nil {
			return 0, 0, err
		}
		if c > best {
			best, at = c, i
		}
	}
	return best, at, nil
}

func cosine(a, b []float32) (float64, error) {
	if len(a) != len(b) {
		return 0, fmt.Errorf("the vectors have %d and %d dimensions", len(a), len(b))
	}
	var dot, aa, bb float64
	for i := range a {
		x, y := float64(a[i]), float64(b[i])
		dot += x * y
		aa += x * x
		bb += y * y
	}
	c := dot / (math.Sqrt(aa) * math.Sqrt(bb))
	if math.IsNaN(c) || math.IsInf(c, 0) {
		return 0, errors.New("a vector is zero or not finite")
	}
	return min(max(c, -1), 1), nil
}
