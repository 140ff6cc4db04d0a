package compare

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/golden"
)

// Flat writes a value of JSON: an element of a list on a line of its own, without what is missing.
// Numbers have 6 digits, because processors differ in the last ones.
func Flat(b *strings.Builder, indent string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if v[key] != nil {
				b.WriteString(" " + key)
				Flat(b, indent, v[key])
			}
		}
		b.WriteString(";")
	case []any:
		for _, e := range v {
			b.WriteString("\n" + indent)
			Flat(b, indent+"\t", e)
		}
	case float64:
		fmt.Fprintf(b, " %.6g", v)
	default:
		fmt.Fprintf(b, " %v", v)
	}
}

// TestRecorded compares what is said about pairs of recorded runs with a file: what differs, which
// cases pair, and what it means.
func TestRecorded(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(8, 9))
	some := func() *recorded {
		x := newRecorded("", []string{"r", "q"}[:1+r.IntN(2)]...)
		repeat := 1 + r.IntN(3)
		x.info.Repeat, x.cases = repeat, nil
		for i := range 2 + r.IntN(12) {
			x.cases = append(x.cases, plumb.CaseInfo{
				ID: fmt.Sprintf("c%02d", i), Hash: fmt.Sprint("sha256:h", i), PromptHash: fmt.Sprint("p", i),
				ChecksHash: fmt.Sprint("k", i),
				Repeat:     repeat, Category: []string{"x", "y", "z"}[i%3],
				Tags: []string{"src-a", fmt.Sprint("src-", i%7)},
			})
		}
		x.info.Cases, x.info.SuiteCases = len(x.cases), len(x.cases)
		if r.IntN(4) == 0 {
			x.agent()
		}
		return x
	}
	changes := []func(x *recorded){
		func(*recorded) {},
		func(x *recorded) { x.info.Runners[0].Agent.Model = "gpt-5-mini" },
		func(x *recorded) { x.info.Runners[0].Parameters.Temperature, x.info.Retry = new(1.0), 3 },
		func(x *recorded) { x.at = x.at.Add(200 * 24 * time.Hour) },
		func(x *recorded) { x.version, x.model = "2.0", "gpt-5-2026" },
		func(x *recorded) { x.cases[0].Hash, x.cases[0].PromptHash = "sha256:n", "n" },
		func(x *recorded) { x.cases[1].Hash = x.cases[0].Hash },
		func(x *recorded) { x.cases = x.cases[1:] },
		func(x *recorded) { x.cases[0].ID = "renamed" },
		func(x *recorded) { x.info.Judge, x.info.Setup.TimeoutMs = "openai:gpt-5", 1000 },
		func(x *recorded) { x.info.Setup = nil },
		func(x *recorded) { x.cases[0].MaxSteps, x.cases[1].ExpectedFail = 5, true },
	}
	var b strings.Builder
	for n := range 24 {
		base := some()
		cand := *base
		cand.info.Runners, cand.cases = slices.Clone(base.info.Runners), slices.Clone(base.cases)
		setup := *base.info.Setup
		cand.info.Setup = &setup
		base.info.ID, cand.info.ID = "a", "b"
		changes[n%len(changes)](&cand)
		outcomes := func(rate float64) func(_, _, _ int) byte {
			return func(_, _, _ int) byte {
				switch p := r.Float64(); {
				case p < 0.03:
					return 'e'
				case p < rate:
					return 'p'
				}
				return 'f'
			}
		}
		base.outcome, cand.outcome = outcomes(0.9), outcomes([]float64{0.9, 0.5, 1}[n%3])
		m, err := Match(base.side(t), cand.side(t), MatchOptions{Vary: []Kind{VaryAny}[:n%2]})
		fmt.Fprintf(&b, "pair %d: %v %s\n", n, err, plumb.Hint(err))
		if err != nil {
			continue
		}
		b.WriteString(lines(m.Varied) + lines(m.Unknown) + names(m) + "\n")
		o := DefaultChoices()
		o.Compare, o.Flags = "plumb compare a b", []string{"", "--dir x"}[n%2]
		data, err := json.Marshal(Analyze(m, o))
		if err != nil {
			t.Fatal(err)
		}
		var members any
		if err := json.Unmarshal(data, &members); err != nil {
			t.Fatal(err)
		}
		Flat(&b, "\t", members)
		b.WriteString("\n")
	}
	golden.Equal(t, "testdata/recorded.txt", b.String())
}
