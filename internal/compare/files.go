package compare

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/analyze"
	"github.com/plumb-eval/plumb/internal/doc"
)

// openFile opens a result file: results.json of Plumb or of skillgym, a file of --output, the
// results of promptfoo, or a baseline that is named by its path.
func openFile(path string) (*Side, error) {
	data, err := doc.Read(path, doc.SessionBytes)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if filepath.Ext(path) == baselineExt {
		f, err := parseBaseline(path, data)
		if err != nil {
			return nil, err
		}
		return f.side(path), nil
	}
	return parseFile(path, data)
}

// parseFile returns the side that the JSON document data describes.
func parseFile(path string, data []byte) (*Side, error) {
	text := bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if rest := bytes.TrimLeft(text, " \t\r\n"); len(rest) > 0 && rest[0] == '[' {
		return parseBlocks(path, text, true)
	}
	var kind struct {
		Cases        jsontext.Value `json:"cases"`
		Results      jsontext.Value `json:"results"`
		SuiteVersion jsontext.Value `json:"suite_version"`
	}
	if err := decode(path, 1, text, &kind); err != nil {
		return nil, err
	}
	switch {
	case kind.Cases != nil:
		return parseResults(path, text)
	case kind.SuiteVersion != nil:
		return parseBlocks(path, text, false)
	case kind.Results != nil:
		return parsePromptfoo(path, text, kind.Results.Kind() == '[')
	}
	return nil, plumb.WithHint(problem(path, 1, text, "the document holds no results"),
		"Plumb reads run directories, results.json of Plumb and skillgym, files of --output, and JSON results of "+
			"promptfoo")
}

// sideOf builds a side case by case.
type sideOf struct {
	*Side
	at map[string]int // the index of a case by its id
}

func newSide(path string, kind SourceKind) *sideOf {
	return &sideOf{&Side{Name: path, Path: path, Kind: kind}, map[string]int{}}
}

// caseAt returns the index of a case, which it adds if it is new.
func (s *sideOf) caseAt(c Case) int {
	at, ok := s.at[c.ID]
	if !ok {
		at = len(s.Cases)
		s.at[c.ID] = at
		s.Cases = append(s.Cases, c)
		s.Samples = append(s.Samples, make([][]analyze.Sample, len(s.Runners))...)
	}
	return at
}

// addRunner adds a runner, unless the side has it. A new one must come before the first case.
func (s *sideOf) addRunner(r Runner) {
	if s.runner(r.ID) < 0 {
		s.Runners = append(s.Runners, r)
	}
}

// add adds a sample as the next repetition of a case.
func (s *sideOf) add(c, r int, x analyze.Sample) {
	to := &s.Samples[c*len(s.Runners)+r]
	x.Repetition, x.Session = int32(len(*to)+1), max(x.Session, 1)
	*to = append(*to, x)
}

// unknownFacts adds the kinds of properties that the format does not have.
func unknownFacts(have []Fact, kinds ...Kind) []Fact {
	for _, k := range kinds {
		have = append(have, Fact{Kind: k, Name: string(k), Value: unknown})
	}
	return have
}

// emptySample is a sample without figures.
func emptySample() analyze.Sample {
	none := math.NaN()
	return analyze.Sample{
		Score: none, Tokens: none, InputTokens: none, OutputTokens: none, CostUSD: none, LatencyMs: none, Steps: none,
	}
}

// instant parses a time of a result file. An unreadable one is zero: not known.
func instant(text string) time.Time {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC()
		}
	}
	return time.Time{}
}

// resultsFile is results.json, as Plumb and skillgym write it.
type resultsFile struct {
	SuitePath  string        `json:"suitePath"`
	SuiteName  string        `json:"suiteName"`
	StartedAt  string        `json:"startedAt"`
	EndedAt    string        `json:"endedAt"`
	Schema     int           `json:"schema"` // only Plumb has it
	RunID      string        `json:"runId"`
	Judge      string        `json:"judge"`
	SelfJudged bool          `json:"selfJudged"`
	Embedder   string        `json:"embedder"`
	Retry      int           `json:"retry"`
	Cases      []resultsCase `json:"cases"`
}

type resultsCase struct {
	CaseID        string        `json:"caseId"`
	CaseHash      string        `json:"caseHash"`
	Tags          []string      `json:"tags"`
	Category      string        `json:"category"`
	Difficulty    string        `json:"difficulty"`
	ExpectedFail  bool          `json:"expectedFail"`
	RunnerResults []resultEntry `json:"runnerResults"`
}

// resultEntry is an execution, or a repetition of it.
type resultEntry struct {
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
	Usage       *resultUsage  `json:"usage"`
	Report      *resultReport `json:"report"`
	Repetitions []resultEntry `json:"repetitions"`
}

type resultUsage struct {
	InputTokens  *float64 `json:"inputTokens"`
	OutputTokens *float64 `json:"outputTokens"`
	TotalTokens  *float64 `json:"totalTokens"`
}

type resultReport struct {
	Usage       resultUsage `json:"usage"`
	FinalOutput string      `json:"finalOutput"`
	DurationMs  *float64    `json:"durationMs"`
	LatencyMs   *float64    `json:"latencyMs"`
	CostUSD     *float64    `json:"costUsd"`
	Steps       *float64    `json:"steps"`
	Cached      bool        `json:"cached"`
	Recorded    bool        `json:"recorded"`
}

func parseResults(path string, text []byte) (*Side, error) {
	var f resultsFile
	if err := decode(path, 1, text, &f); err != nil {
		return nil, err
	}
	s := newSide(path, SourceSkillgym)
	s.ID, s.Suite = f.RunID, cmp.Or(f.SuiteName, f.SuitePath)
	s.Started, s.Ended = instant(f.StartedAt), instant(f.EndedAt)
	if f.Schema > 0 {
		s.Kind = SourceResults
		judge := cmp.Or(f.Judge, none)
		if f.SelfJudged {
			judge = selfJudged
		}
		var known facts
		known.add(VaryJudge, "judge", judge, true)
		known.add(VaryJudge, "embedder", cmp.Or(f.Embedder, none), true)
		s.Facts = unknownFacts(known, VaryWorkspace, VaryLimits, VaryPlumb)
	} else {
		s.Facts = unknownFacts(nil, VaryWorkspace, VaryJudge, VaryLimits, VaryPlumb)
	}
	for i := range f.Cases {
		for j := range f.Cases[i].RunnerResults {
			e := &f.Cases[i].RunnerResults[j]
			if e.Runner.ID == "" {
				return nil, inFile(path, fmt.Sprintf("cases.%d.runnerResults.%d.runner.id is missing", i, j))
			}
			if err := e.known(path, text, fmt.Sprintf("/cases/%d/runnerResults/%d", i, j)); err != nil {
				return nil, err
			}
			s.addRunner(resultsRunner(&e.Runner, f.Schema > 0))
		}
	}
	for i := range f.Cases {
		c := &f.Cases[i]
		if c.CaseID == "" {
			return nil, inFile(path, fmt.Sprintf("cases.%d.caseId is missing", i))
		}
		if _, twice := s.at[c.CaseID]; twice {
			return nil, inFile(path, fmt.Sprintf("cases.%d.caseId: %s is in the file twice", i, c.CaseID))
		}
		at := s.caseAt(Case{
			ID: c.CaseID, Hash: c.CaseHash, Tags: c.Tags, Category: c.Category, Difficulty: c.Difficulty,
			ExpectedFail: c.ExpectedFail,
		})
		for j := range c.RunnerResults {
			e := &c.RunnerResults[j]
			s.Cases[at].Repeat = max(s.Cases[at].Repeat, e.RepeatTarget, 1)
			s.execution(at, s.runner(e.Runner.ID), e)
		}
	}
	return s.Side, nil
}

// known returns the error of a word of an entry that no version of Plumb writes. pointer leads to the
// entry.
func (e *resultEntry) known(path string, text []byte, pointer string) error {
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

// resultsRunner returns a runner of results.json. That of Plumb has the parameters and more.
func resultsRunner(r *plumb.RunnerInfo, own bool) Runner {
	var f facts
	kind := r.Kind
	switch {
	case !own:
		kind = plumb.RunnerAgent
		f.add(VaryAgent, "agent", r.Agent.Type, r.Agent.Type != "")
		f.add(VaryModel, "model", r.Agent.Model, r.Agent.Model != "")
		f = unknownFacts(f, VarySkill, VaryInstructions, VaryMCP, VaryAgentVersion)
	case kind == plumb.RunnerAgent:
		f.add(VaryAgent, "agent", r.Agent.Type, true)
		f.add(VaryModel, "model", r.Agent.Model, true)
		f = unknownFacts(f, VarySkill, VaryInstructions, VaryMCP, VaryAgentVersion)
	default:
		f.add(VaryModel, "model", modelName(r), true)
		f.configured(VaryModel, "base URL", cmp.Or(r.BaseURL, ownAddress), true)
		f.parameters(&r.Parameters)
	}
	return Runner{ID: r.ID, Kind: kind, Agent: r.Agent, Config: r.Config, Facts: f}
}

// execution adds the samples of an execution. The repetition that decided it has its report at the
// execution.
func (s *sideOf) execution(c, r int, e *resultEntry) {
	expected := s.Cases[c].ExpectedFail
	if len(e.Repetitions) == 0 {
		if x := e.sample(nil, expected); x.Outcome != plumb.OutcomeSkipped {
			s.add(c, r, x)
		}
		return
	}
	for i := range e.Repetitions {
		one := &e.Repetitions[i]
		of := one
		if one.Report == nil && (one.Usage == nil || len(e.Repetitions) == 1) {
			of = e
		}
		s.add(c, r, one.sample(of, expected))
	}
}

// sample returns the sample of an entry. of has its report, if the entry has none.
func (e *resultEntry) sample(of *resultEntry, expectedFail bool) analyze.Sample {
	of = cmp.Or(of, e)
	x := emptySample()
	x.Session, x.Class, x.Score = e.Session, e.Class.ID, share(e.Score)
	x.Outcome = e.Outcome
	if x.Outcome == "" {
		x.Outcome = outcomeOf(e, of.Report)
	}
	if x.Green = e.Status.OK(); e.Status == "" {
		x.Green = (x.Outcome == plumb.OutcomePass) != expectedFail
	}
	if !x.Measured() {
		x.Score = math.NaN()
	}
	usage := of.Usage
	latency, cost, steps := cmp.Or(e.LatencyMs, e.DurationMs), e.CostUSD, e.Steps
	if rep := of.Report; rep != nil {
		usage = &rep.Usage
		latency = cmp.Or(rep.LatencyMs, rep.DurationMs, latency)
		cost, steps = cmp.Or(rep.CostUSD, cost), cmp.Or(rep.Steps, steps)
		x.Cached = rep.Cached || rep.Recorded
	}
	x.Cached = x.Cached || of.Cached > 0 && len(of.Repetitions) <= 1
	if usage != nil {
		x.Tokens, x.InputTokens = figure(usage.TotalTokens), figure(usage.InputTokens)
		x.OutputTokens = figure(usage.OutputTokens)
	}
	x.LatencyMs, x.CostUSD, x.Steps = positive(latency), figure(cost), positive(steps)
	return x
}

// positive is figure for a number that is 0 if it was not measured.
func positive(p *float64) float64 {
	if v := figure(p); v > 0 {
		return v
	}
	return math.NaN()
}

// outcomeOf returns the outcome of an entry of skillgym, which has none.
func outcomeOf(e *resultEntry, report *resultReport) plumb.Outcome {
	switch {
	case e.Status == plumb.StatusSkipped:
		return plumb.OutcomeSkipped
	case e.Status == plumb.StatusPassed || e.Status == plumb.StatusUnexpectedPassed || e.Status == "" && e.Passed:
		return plumb.OutcomePass
	case e.Origin == "":
		return plumb.OutcomeFail
	}
	return e.Origin.Outcome(report != nil && report.FinalOutput != "")
}

// resultBlock is a block of --output: the documented results of one model.
type resultBlock struct {
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

// runner returns the name of the runner of a block.
func (b *resultBlock) runner() string { return cmp.Or(b.Metadata.RunnerID, b.Metadata.ModelID) }

// sameSetup reports whether two blocks of a runner are repetitions of each other.
func (b *resultBlock) sameSetup(c *resultBlock) bool {
	return b.SuiteHash == c.SuiteHash && number(b.Metadata.Temperature) == number(c.Metadata.Temperature) &&
		number(b.Metadata.Seed) == number(c.Metadata.Seed) && b.Metadata.ModelID == c.Metadata.ModelID
}

// parseBlocks reads the blocks of a file of --output. Of several blocks of a runner, those with the
// suite and the parameters of the last one are repetitions.
func parseBlocks(path string, text []byte, list bool) (*Side, error) {
	var blocks []resultBlock
	if list {
		if err := decode(path, 1, text, &blocks); err != nil {
			return nil, err
		}
	} else {
		blocks = make([]resultBlock, 1)
		if err := decode(path, 1, text, &blocks[0]); err != nil {
			return nil, err
		}
	}
	s := newSide(path, SourceBlocks)
	s.Facts = unknownFacts(nil, VaryWorkspace, VaryJudge, VaryLimits, VaryPlumb)
	last := map[string]*resultBlock{}
	runs := map[string]bool{}
	for i := range blocks {
		b := &blocks[i]
		if err := b.known(path, text, i, list); err != nil {
			return nil, err
		}
		if b.runner() == "" {
			return nil, inFile(path, fmt.Sprintf("%d.run_metadata.model_id is missing", i))
		}
		last[b.runner()] = b
	}
	var kept []*resultBlock
	for i := range blocks {
		b := &blocks[i]
		if l := last[b.runner()]; !b.sameSetup(l) {
			continue
		}
		kept = append(kept, b)
		var f facts
		f.add(VaryModel, "model", b.Metadata.ModelID, true)
		f.add(VaryParameters, "temperature", number(b.Metadata.Temperature), true)
		f.add(VaryParameters, "seed", number(b.Metadata.Seed), true)
		s.addRunner(Runner{ID: b.runner(), Agent: plumb.AgentInfo{Model: b.Metadata.ModelID}, Facts: f})
		s.ID, s.Suite = b.Metadata.RunID, b.SuiteVersion
		runs[b.Metadata.RunID+b.Metadata.Timestamp] = true
		ended := instant(b.Metadata.Timestamp)
		s.Started, s.Ended = cmp.Or(instant(b.Metadata.StartedAt), ended), ended
	}
	if len(kept) == 0 {
		return nil, problem(path, 1, text, "the document holds no results")
	}
	s.History = len(kept) > len(s.Runners)
	for _, b := range kept {
		if err := s.block(b); err != nil {
			return nil, inFile(path, err.Error())
		}
	}
	return s.Side, nil
}

// known returns the error of a word of a block that no version of Plumb writes. i is its index in a list.
func (b *resultBlock) known(path string, text []byte, i int, list bool) error {
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

// block adds the results of one block.
func (s *sideOf) block(b *resultBlock) error {
	r := s.runner(b.runner())
	for i := range b.Results {
		res := &b.Results[i]
		if res.TestID == "" {
			return fmt.Errorf("results.%d.test_id is missing in the block of %s", i, b.runner())
		}
		x := emptySample()
		x.Outcome, x.Score, x.LatencyMs = res.Outcome, share(res.Score), positive(res.LatencyMs)
		switch {
		case x.Outcome != "":
		case res.Score == nil: // documented: not judged
			x.Outcome = plumb.OutcomeError
		case res.Assertion.Passed:
			x.Outcome = plumb.OutcomePass
		default:
			x.Outcome = plumb.OutcomeFail
		}
		x.Green = res.Status.OK() || res.Status == "" && x.Passed()
		x.Cached = b.Metadata.Recorded
		s.add(s.caseAt(Case{ID: res.TestID, Hash: res.CaseHash}), r, x)
	}
	for _, n := range b.NotMeasured {
		if n.Outcome == plumb.OutcomeError && n.TestID != "" {
			x := emptySample()
			x.Outcome = plumb.OutcomeError
			s.add(s.caseAt(Case{ID: n.TestID}), r, x)
		}
	}
	return nil
}
