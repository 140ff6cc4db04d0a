package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/plumb-eval/plumb/internal/compare"
	"github.com/plumb-eval/plumb/internal/results"
	"github.com/plumb-eval/plumb/internal/text"
)

// Compared is what the reports of a comparison are made of.
type Compared struct {
	*compare.Comparison
	// Matching has all pairs. The html report lists them.
	Matching *compare.Matching
	// Baseline and Candidate read the sessions of the two sides. They are nil for sides that are not
	// runs.
	Baseline, Candidate results.Sessions
}

// FindDifferences looks for the first event at which the sessions of a case differ, for the cases
// that reports show with it. It reads only their sessions, and only if both sides are runs.
func (c *Compared) FindDifferences() error {
	if c.Baseline == nil || c.Candidate == nil || !sharesSessions(c.Matching.Base) || !sharesSessions(c.Matching.Cand) {
		return nil
	}
	for _, list := range [][]compare.CaseResult{c.Cases.Regressed, c.Cases.Fixed} {
		for i := range list[:min(ShownCases, len(list))] {
			if err := compare.FindDifference(&list[i], compare.Sessions(c.Baseline), compare.Sessions(c.Candidate)); err != nil {
				return err
			}
		}
	}
	return nil
}

// sharesSessions reports whether the log of a side has the events of its sessions.
func sharesSessions(s *compare.Side) bool { return s.Run == nil || s.Run.Info.Share.Whole() }

// ShownCases is the number of cases of one list that the terminal shows.
const ShownCases = 12

// WriteComparisonJSON writes the document of a comparison.
func WriteComparisonJSON(out io.Writer, c *compare.Comparison) error {
	var doc bytes.Buffer
	enc := json.NewEncoder(&doc)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(c); err != nil {
		return fmt.Errorf("write the comparison: %w", err)
	}
	_, err := out.Write(text.EscapeJSON(doc.Bytes()))
	return err
}
