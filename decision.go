package plumb

// Decision is the state of the question of a run that ends when the question is decided.
type Decision struct {
	// Question says what is decided, such as "against main" or "pass_rate >= 85%".
	Question string `json:"question" redact:"-"`
	// Conclusion is better, worse, equivalent or not decisive; for a gate it is holds, violated or
	// unproven. It is "" while the run continues.
	Conclusion string `json:"conclusion,omitempty" redact:"-"`
	// Unit is what is drawn: "pair" or "repetition".
	Unit string `json:"unit" redact:"-"`
	// Drawn counts the draws with a result, and Limit is the largest allowed number. Measured counts
	// those that could be measured.
	Drawn    int `json:"drawn"`
	Limit    int `json:"limit"`
	Measured int `json:"measured"`
	// Lost counts pairs where only the baseline passed, and Won those where only the candidate did.
	Lost int `json:"lost"`
	Won  int `json:"won"`
	// Value is the mean over the measured cases of candidate minus baseline or, for a gate without a
	// sign, of the candidate.
	Value *float64 `json:"value"`
	// Evidence has each conclusion that is possible, with the part of the necessary evidence that
	// there is: from 0 to 1, which decides.
	Evidence []Evidence `json:"evidence"`
	// Exhausted counts cases without another result of the baseline.
	Exhausted int `json:"exhausted,omitempty"`
	// Words describe the conclusion in lines, the most important one first. They are empty while the
	// run continues.
	Words []string `json:"words,omitempty"`
}

// Evidence is the evidence for one conclusion.
type Evidence struct {
	For  string  `json:"for" redact:"-"`
	Part float64 `json:"part"`
}
