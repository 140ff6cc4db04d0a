package results

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/doc"
)

// ParseFile reads the results.json of a run of Plumb or of skillgym. A word that no version writes is
// an error with its place.
func ParseFile(path string, text []byte) (*File, error) {
	var f File
	if err := doc.Decode(path, 1, text, &f, doc.Foreign()...); err != nil {
		return nil, err
	}
	for i := range f.Cases {
		c := &f.Cases[i]
		if c.CaseID == "" {
			return nil, missing(path, fmt.Sprintf("cases.%d.caseId", i))
		}
		for j := range c.RunnerResults {
			e := &c.RunnerResults[j]
			if e.Runner.ID == "" {
				return nil, missing(path, fmt.Sprintf("cases.%d.runnerResults.%d.runner.id", i, j))
			}
			if err := e.known(path, text, fmt.Sprintf("/cases/%d/runnerResults/%d", i, j)); err != nil {
				return nil, err
			}
		}
	}
	return &f, nil
}

// ParseBlocks reads a file of --output: a list of blocks, or one block.
func ParseBlocks(path string, text []byte, list bool) ([]Block, error) {
	blocks := make([]Block, 1)
	var err error
	if list {
		err = doc.Decode(path, 1, text, &blocks, doc.Foreign()...)
	} else {
		err = doc.Decode(path, 1, text, &blocks[0], doc.Foreign()...)
	}
	if err != nil {
		return nil, err
	}
	for i := range blocks {
		b := &blocks[i]
		if err := b.known(path, text, i, list); err != nil {
			return nil, err
		}
		if b.Runner() == "" {
			return nil, missing(path, fmt.Sprintf("%d.run_metadata.model_id", i))
		}
		for j := range b.Results {
			if b.Results[j].TestID == "" {
				return nil, missing(path, fmt.Sprintf("%d.results.%d.test_id", i, j))
			}
		}
	}
	return blocks, nil
}

func missing(path, key string) error {
	return doc.Problems{{Pos: plumb.Position{File: path}, Message: key + " is missing"}}
}

// File is results.json, as Plumb and skillgym write it.
type File struct {
	SuitePath  string     `json:"suitePath"`
	SuiteName  string     `json:"suiteName"`
	StartedAt  string     `json:"startedAt"`
	EndedAt    string     `json:"endedAt"`
	Schema     int        `json:"schema"` // only Plumb has it
	RunID      string     `json:"runId"`
	Judge      string     `json:"judge"`
	SelfJudged bool       `json:"selfJudged"`
	Embedder   string     `json:"embedder"`
	Retry      int        `json:"retry"`
	Cases      []FileCase `json:"cases"`
}

// FileCase is a case of results.json.
type FileCase struct {
	CaseID        string   `json:"caseId"`
	CaseHash      string   `json:"caseHash"`
	Tags          []string `json:"tags"`
	Category      string   `json:"category"`
	Difficulty    string   `json:"difficulty"`
	ExpectedFail  bool     `json:"expectedFail"`
	RunnerResults []Entry  `json:"runnerResults"`
}

// Entry is an execution, or a repetition of it.
type Entry struct {
	Runner       plumb.RunnerInfo `json:"runner"`
	Passed       bool             `json:"passed"`
	Status       plumb.Status     `json:"status"`
	Outcome      plumb.Outcome    `json:"outcome"`
	Score        *float64         `json:"score"`
	Session      int32            `json:"session"`
	RepeatTarget int              `json:"repeatTarget"`
	Cached       int              `json:"cached"`
	DurationMs   *float64         `json:"durationMs"`
	LatencyMs    *float64         `json:"latencyMs"`
	Steps        *float64         `json:"steps"`
	CostUSD      *float64         `json:"costUsd"`
	Origin       plumb.Origin     `json:"failureOrigin"`
	Class        struct {
		ID string `json:"id"`
	} `json:"failureClass"`
	Usage       *EntryUsage  `json:"usage"`
	Report      *EntryReport `json:"report"`
	Repetitions []Entry      `json:"repetitions"`
}

// EntryUsage is what a session used.
type EntryUsage struct {
	InputTokens  *float64 `json:"inputTokens"`
	OutputTokens *float64 `json:"outputTokens"`
	TotalTokens  *float64 `json:"totalTokens"`
}

// EntryReport is the part of a session report that a comparison needs.
type EntryReport struct {
	Usage       EntryUsage `json:"usage"`
	FinalOutput string     `json:"finalOutput"`
	DurationMs  *float64   `json:"durationMs"`
	LatencyMs   *float64   `json:"latencyMs"`
	CostUSD     *float64   `json:"costUsd"`
	Steps       *float64   `json:"steps"`
	Cached      bool       `json:"cached"`
	Recorded    bool       `json:"recorded"`
}

// known returns the error of a word of an entry that no version of Plumb writes. pointer leads to the
// entry.
func (e *Entry) known(path string, text []byte, pointer string) error {
	err := word(path, text, pointer+"/outcome", e.Outcome, outcomes())
	if err == nil {
		err = word(path, text, pointer+"/status", e.Status, statuses())
	}
	if err == nil && e.Origin != plumb.OriginRunner && e.Origin.Class() == plumb.OriginRunner.Class() {
		err = word(path, text, pointer+"/failureOrigin", e.Origin, nil)
	}
	for i := range e.Repetitions {
		if err == nil {
			err = e.Repetitions[i].known(path, text, fmt.Sprintf("%s/repetitions/%d", pointer, i))
		}
	}
	return err
}

func outcomes() []plumb.Outcome {
	return []plumb.Outcome{plumb.OutcomePass, plumb.OutcomeFail, plumb.OutcomeError, plumb.OutcomeSkipped}
}

func statuses() []plumb.Status {
	return []plumb.Status{
		plumb.StatusPassed, plumb.StatusFailed, plumb.StatusExpectedFailed, plumb.StatusUnexpectedPassed,
		plumb.StatusSkipped,
	}
}

// word returns the error of the word at a place of a JSON text, unless it is empty or known.
func word[T ~string](path string, text []byte, pointer string, have T, known []T) error {
	if have == "" || slices.Contains(known, have) {
		return nil
	}
	root, _ := doc.ParseJSON(path, text)
	words := make([]string, len(known))
	for i, k := range known {
		words[i] = string(k)
	}
	key := strings.ReplaceAll(strings.TrimPrefix(pointer, "/"), "/", ".")
	return doc.Problems{{
		Pos: root.Find(pointer, false).In(path), Message: fmt.Sprintf("%s: unknown word %q", key, have),
		Hint: doc.DidYouMean(string(have), words),
	}}
}

// OutcomeWith returns the outcome of an entry. One of skillgym has none, and its report, if it has
// one, tells whether the model had begun to answer.
func (e *Entry) OutcomeWith(report *EntryReport) plumb.Outcome {
	switch {
	case e.Outcome != "":
		return e.Outcome
	case e.Status == plumb.StatusSkipped:
		return plumb.OutcomeSkipped
	case e.Status == plumb.StatusPassed || e.Status == plumb.StatusUnexpectedPassed || e.Status == "" && e.Passed:
		return plumb.OutcomePass
	case e.Origin == "":
		return plumb.OutcomeFail
	}
	return e.Origin.Outcome(report != nil && report.FinalOutput != "")
}

// Block is a block of --output: the documented results of one model.
type Block struct {
	SuiteVersion string `json:"suite_version"`
	SuiteHash    string `json:"suite_hash"`
	Metadata     struct {
		Timestamp   string   `json:"timestamp"`
		StartedAt   string   `json:"started_at"`
		ModelID     string   `json:"model_id"`
		RunID       string   `json:"run_id"`
		RunnerID    string   `json:"runner_id"`
		Temperature *float64 `json:"temperature"`
		Seed        *float64 `json:"seed"`
		Recorded    bool     `json:"recorded"`
	} `json:"run_metadata"`
	Results []struct {
		TestID    string        `json:"test_id"`
		LatencyMs *float64      `json:"latency_ms"`
		Score     *float64      `json:"score"`
		Outcome   plumb.Outcome `json:"outcome"`
		Status    plumb.Status  `json:"status"`
		CaseHash  string        `json:"case_hash"`
		Assertion struct {
			Passed bool `json:"passed"`
		} `json:"assertion_result"`
	} `json:"results"`
	NotMeasured []struct {
		TestID  string        `json:"test_id"`
		Outcome plumb.Outcome `json:"outcome"`
	} `json:"not_measured"`
}

// Runner returns the name of the runner of a block.
func (b *Block) Runner() string { return cmp.Or(b.Metadata.RunnerID, b.Metadata.ModelID) }

// SameSetup reports whether two blocks of a runner are repetitions of each other.
func (b *Block) SameSetup(c *Block) bool {
	same := func(a, b *float64) bool { return a == b || a != nil && b != nil && *a == *b }
	return b.SuiteHash == c.SuiteHash && same(b.Metadata.Temperature, c.Metadata.Temperature) &&
		same(b.Metadata.Seed, c.Metadata.Seed) && b.Metadata.ModelID == c.Metadata.ModelID
}

// known returns the error of a word of a block that no version of Plumb writes. i is its index in a list.
func (b *Block) known(path string, text []byte, i int, list bool) error {
	pointer := ""
	if list {
		pointer = fmt.Sprintf("/%d", i)
	}
	for j := range b.Results {
		r, at := &b.Results[j], fmt.Sprintf("%s/results/%d", pointer, j)
		if err := word(path, text, at+"/outcome", r.Outcome, outcomes()); err != nil {
			return err
		}
		if err := word(path, text, at+"/status", r.Status, statuses()); err != nil {
			return err
		}
	}
	for j := range b.NotMeasured {
		at := fmt.Sprintf("%s/not_measured/%d/outcome", pointer, j)
		if err := word(path, text, at, b.NotMeasured[j].Outcome, outcomes()); err != nil {
			return err
		}
	}
	return nil
}
