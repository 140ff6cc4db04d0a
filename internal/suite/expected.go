package suite

import (
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/promptfoo"
)

// expectation returns the check that a cell of a column __expected stands for, in the words of
// promptfoo: a word and a value, such as contains:Paris, or the right answer itself. scored is set if
// the row has a threshold.
func (x *expander) expectation(cell *doc.Member, scored bool) (spec doc.Value, ok bool) {
	at := cell.Value.Place
	if cell.Value.Kind == doc.Map || cell.Value.Kind == doc.List || cell.Value.Kind == doc.Null {
		x.add(at, cell.Key+" must be a text, not "+cell.Value.Kind.String(), "")
		return spec, false
	}
	assertion, why := promptfoo.ParseShorthand(cell.Value.Text())
	hint := "write the check as an assertion under defaults"
	if why == "" {
		spec, why, hint = assertion.Check(at, scored)
	}
	if why != "" {
		x.add(at, why, hint)
	}
	return spec, why == ""
}
