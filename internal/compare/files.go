package compare

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/analyze"
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/results"
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
func (s *sideOf) caseAt(c plumb.CaseInfo) int {
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

func parseResults(path string, text []byte) (*Side, error) {
	f, err := results.ParseFile(path, text)
	if err != nil {
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
			s.addRunner(resultsRunner(&e.Runner, f.Schema > 0))
		}
	}
	for i := range f.Cases {
		c := &f.Cases[i]
		if _, twice := s.at[c.CaseID]; twice {
			return nil, inFile(path, fmt.Sprintf("cases.%d.caseId: %s is in the file twice", i, c.CaseID))
		}
		at := s.caseAt(plumb.CaseInfo{
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
		f.configured(VaryModel, baseURL, cmp.Or(r.BaseURL, ownAddress), true)
		f.parameters(&r.Parameters)
	}
	return Runner{ID: r.ID, Kind: kind, Agent: r.Agent, Config: r.Config, Facts: f}
}

// execution adds the samples of an execution. The repetition that decided it has its report at the
// execution.
func (s *sideOf) execution(c, r int, e *results.Entry) {
	expected := s.Cases[c].ExpectedFail
	if len(e.Repetitions) == 0 {
		if x := sampleOf(e, nil, expected); x.Outcome != plumb.OutcomeSkipped {
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
		s.add(c, r, sampleOf(one, of, expected))
	}
}

// sampleOf returns the sample of an entry. of has its report, if the entry has none.
func sampleOf(e, of *results.Entry, expectedFail bool) analyze.Sample {
	of = cmp.Or(of, e)
	x := emptySample()
	x.Session, x.Class, x.Score = e.Session, e.Class.ID, share(e.Score)
	x.Outcome = e.OutcomeWith(of.Report)
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

// parseBlocks reads the blocks of a file of --output. Of several blocks of a runner, those with the
// suite and the parameters of the last one are repetitions.
func parseBlocks(path string, text []byte, list bool) (*Side, error) {
	blocks, err := results.ParseBlocks(path, text, list)
	if err != nil {
		return nil, err
	}
	s := newSide(path, SourceBlocks)
	s.Facts = unknownFacts(nil, VaryWorkspace, VaryJudge, VaryLimits, VaryPlumb)
	last := map[string]*results.Block{}
	runs := map[string]bool{}
	for i := range blocks {
		b := &blocks[i]
		last[b.Runner()] = b
	}
	var kept []*results.Block
	for i := range blocks {
		b := &blocks[i]
		if l := last[b.Runner()]; !b.SameSetup(l) {
			continue
		}
		kept = append(kept, b)
		var f facts
		f.add(VaryModel, "model", b.Metadata.ModelID, true)
		f.add(VaryParameters, "temperature", number(b.Metadata.Temperature), true)
		f.add(VaryParameters, "seed", number(b.Metadata.Seed), true)
		s.addRunner(Runner{ID: b.Runner(), Agent: plumb.AgentInfo{Model: b.Metadata.ModelID}, Facts: f})
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
		s.block(b)
	}
	return s.Side, nil
}

// block adds the results of one block.
func (s *sideOf) block(b *results.Block) {
	r := s.runner(b.Runner())
	for i := range b.Results {
		res := &b.Results[i]
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
		s.add(s.caseAt(plumb.CaseInfo{ID: res.TestID, Hash: res.CaseHash}), r, x)
	}
	for _, n := range b.NotMeasured {
		if n.Outcome == plumb.OutcomeError && n.TestID != "" {
			x := emptySample()
			x.Outcome = plumb.OutcomeError
			s.add(s.caseAt(plumb.CaseInfo{ID: n.TestID}), r, x)
		}
	}
}
