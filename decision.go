package plumb

// Decision is the state of the question of a run that ends when the question is decided.
type Decision struct {
	// Against is the baseline as the user named it, and Gate the condition; one of them may be "".
	Against string `json:"against,omitempty"`
	Gate    string `json:"gate,omitempty" redact:"-"`
	// BaselineRun is the id of the run of the baseline; "" if the baseline is not a single run.
	BaselineRun string `json:"baselineRun,omitempty" redact:"-"`
	// Conclusion is better, worse, equivalent or not decisive; for a gate it is holds, violated or
	// unproven. It is "" while the run continues.
	Conclusion string `json:"conclusion,omitempty" redact:"-"`
	// Drawn counts the draws with a result, and Limit is the largest allowed number. Measured
	// counts those that could be measured.
	Drawn    int `json:"drawn"`
	Limit    int `json:"limit"`
	Measured int `json:"measured"`
	// Lost counts pairs where only the baseline passed, and Won those where only the candidate did.
	Lost int `json:"lost"`
	Won  int `json:"won"`
	// Value is the mean over the measured cases of candidate minus baseline or, for a gate without
	// a sign, of the candidate.
	Value *float64 `json:"value"`
	// Low and High are the interval of Value at the level Confidence, as if the number of draws had
	// been fixed. Detectable is the difference that this many draws detect with a probability of
	// 0.8. They are set when the run has ended, if they can be computed.
	Low        *float64 `json:"low,omitempty"`
	High       *float64 `json:"high,omitempty"`
	Confidence float64  `json:"confidence,omitempty"`
	Detectable *float64 `json:"detectable,omitempty"`
	// Cases counts the cases with a measured draw.
	Cases  int     `json:"cases,omitempty"`
	Alpha  float64 `json:"alpha"`
	Margin float64 `json:"margin,omitempty"`
	// Evidence has each conclusion that is possible, with the part of the necessary evidence that
	// there is: from 0 to 1, which decides.
	Evidence []EvidenceFor `json:"evidence"`
	// Exhausted counts cases without another result of the baseline.
	Exhausted int `json:"exhausted,omitempty"`
	// Fresh is the id of a run with the repetitions that the baseline lacked, FreshMade counts them,
	// and FreshCostUSD is their cost, nil if it is not known. Only logs of earlier versions have them.
	Fresh        string   `json:"fresh,omitempty" redact:"-"`
	FreshMade    int      `json:"freshMade,omitempty"`
	FreshCostUSD *float64 `json:"freshCostUsd,omitempty"`
	// Suspects are the cases whose failures are rare for what the baseline showed of them. If one of
	// them is broken, Conclusion is worse, and Whole is the conclusion about the suite as a whole.
	Suspects []Suspect `json:"suspects,omitempty"`
	Whole    string    `json:"whole,omitempty" redact:"-"`
}

// Suspect is a case that fails more often than chance explains, if one looks at it alone.
type Suspect struct {
	Case string `json:"case" redact:"-"`
	// Baseline and Candidate are the counts that made the case suspect.
	Baseline  PassCount `json:"baseline"`
	Candidate PassCount `json:"candidate"`
	// FreshCandidate counts fresh repetitions, which decide whether the case is broken: they are
	// compared with all results of the baseline or, in logs of earlier versions, with FreshBaseline.
	FreshBaseline  PassCount `json:"freshBaseline,omitzero"`
	FreshCandidate PassCount `json:"freshCandidate,omitzero"`
	// P is the p-value of the fresh repetitions, adjusted for the number of suspects; nil if they
	// could not be made.
	P      *float64 `json:"p,omitempty"`
	Broken bool     `json:"broken,omitempty"`
}

// PassCount counts the measured repetitions of a case, and those that passed.
type PassCount struct {
	Passed   int `json:"passed"`
	Measured int `json:"measured"`
}

// EvidenceFor is the evidence for one conclusion.
type EvidenceFor struct {
	Conclusion string  `json:"conclusion" redact:"-"`
	Part       float64 `json:"part"`
}
