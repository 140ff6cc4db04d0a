package report

import "github.com/plumb-eval/plumb/internal/compare"

// Lift is what an offer of an ablation does for the results of an agent: with it minus without it.
// Its keys are documented.
type Lift struct {
	// Runner has the offer, and Without is the runner that lacks it. What is the value of --ablate.
	Runner  string       `json:"runner" redact:"-"`
	Without string       `json:"without" redact:"-"`
	What    string       `json:"what" redact:"-"`
	Kind    compare.Kind `json:"kind" redact:"-"`

	Conclusion compare.Conclusion `json:"conclusion" redact:"-"`
	Effect     compare.Effect     `json:"effect"`
	P          compare.Number     `json:"p"`
	// Used counts the sessions that used the offer, of Sessions that had it; nil for instructions,
	// which every session reads.
	Used     *int `json:"used"`
	Sessions int  `json:"sessions"`
	// Needs and Hurts are the cases that differ. Same counts the others.
	Needs []compare.CaseResult `json:"needs"`
	Hurts []compare.CaseResult `json:"hurts"`
	Same  int                  `json:"same"`
}
