package report

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	json2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/analyze"
	"github.com/plumb-eval/plumb/internal/calibrate"
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/text"
)

// resultsSchema is the version of the format that [WriteResults] writes. A new key does not change
// it.
const resultsSchema = 1

// suiteResult is the documented SuiteRunResult without its cases, which are streamed. The keys
// after runners are Plumb's own.
type suiteResult struct {
	SuitePath           string   `json:"suitePath"`
	StartedAt           string   `json:"startedAt"`
	EndedAt             string   `json:"endedAt"`
	DurationMs          int64    `json:"durationMs"`
	SuiteRunArtifactDir string   `json:"suiteRunArtifactDir"`
	DeclaredTags        []string `json:"declaredTags"`
	SelectedTags        []string `json:"selectedTags"`
}

// provenance is what Plumb adds to the documented shape: the outcome of the run and what produced
// it.
type provenance struct {
	Schema int `json:"schema"`
	// Outcome is error when something could not be measured and nothing failed, and skipped when
	// something did not run.
	Outcome  plumb.Outcome       `json:"outcome"`
	Verdict  string              `json:"verdict"`
	Recorded bool                `json:"recorded"`
	Rate     analyze.RateFigures `json:"rate"`
	analyze.GroupFigures
	// Gates are the results of the conditions that the run must meet.
	Gates        []analyze.GateOutcome `json:"gates,omitempty"`
	Prompts      []namedRate           `json:"prompts,omitempty"`
	Columns      []columnRate          `json:"columns,omitempty"`
	Categories   []namedRate           `json:"categories"`
	Difficulties []namedRate           `json:"difficulties"`
	Tags         []namedRate           `json:"tags"`
	Spent        spending              `json:"spent"`
	Decision     *plumb.Decision       `json:"decision,omitempty"`
	// Lifts are those of an ablation.
	Lifts    []Lift           `json:"lifts,omitempty"`
	Stop     plumb.StopReason `json:"stop,omitempty"`
	Complete bool             `json:"complete"`
	Notes    []plumb.Note     `json:"notes"`
	// Snapshots compares each runner with the samples of its token baselines.
	Snapshots []analyze.SnapshotSuite `json:"snapshots,omitempty"`
	// Judging says how well the judges of the run judge.
	Judging *calibrate.Judging `json:"judging,omitempty"`

	RunID        string `json:"runId"`
	PlumbVersion string `json:"plumbVersion"`
	SuiteName    string `json:"suiteName"`
	SuiteVersion string `json:"suiteVersion,omitempty"`
	Tier         string `json:"tier,omitempty"`
	SuiteHash    string `json:"suiteHash"`
	SuiteCases   int    `json:"suiteCases"`
	Judge        string `json:"judge,omitempty"`
	SelfJudged   bool   `json:"selfJudged"`
	Embedder     string `json:"embedder,omitempty"`
	Schedule     string `json:"schedule"`
	Parallel     int    `json:"parallel"`
	Repeat       int    `json:"repeat"`
	Retry        int    `json:"retry"`
	ScoredFrom   string `json:"scoredFrom,omitempty"`
}

// columnRate is the rate of a prompt on a runner, with those of the tags.
type columnRate struct {
	Prompt string `json:"prompt,omitempty"`
	Runner string `json:"runner"`
	analyze.RateFigures
	Tags []tagRate `json:"tags"`
}

type tagRate struct {
	Name string `json:"name"`
	analyze.RateFigures
}

// columnsOf returns the rates of the columns, or nil if there is only one.
func columnsOf(run *plumb.Run) []columnRate {
	all := analyze.Columns(run)
	if len(all) < 2 {
		return nil
	}
	var columns []columnRate
	for i := range all {
		c := &all[i]
		tags := []tagRate{}
		for _, t := range c.Tags {
			tags = append(tags, tagRate{t.Name, t.Figures()})
		}
		columns = append(columns, columnRate{c.Prompt, run.Info.Runners[c.Runner].ID, c.Overall.Figures(), tags})
	}
	return columns
}

type namedRate struct {
	Name string `json:"name"`
	analyze.RateFigures
	analyze.GroupFigures
}

type spending struct {
	InputTokens     int64 `json:"inputTokens"`
	OutputTokens    int64 `json:"outputTokens"`
	ReasoningTokens int64 `json:"reasoningTokens"`
	CacheTokens     int64 `json:"cacheTokens"`
	TotalTokens     int64 `json:"totalTokens"`
	// CostUSD is null when no cost is known.
	CostUSD      *float64 `json:"costUsd"`
	JudgeCostUSD float64  `json:"judgeCostUsd"`
	Unpriced     int      `json:"unpriced"`
	Sessions     int      `json:"sessions"`
	Cached       int      `json:"cached"`
}

// WriteResults writes results.json: the documented shape plus outcome, coverage and provenance.
// Without s it omits what only sessions have.
//
// Each session report appears once: at the execution for the session that decided it, else at its
// repetition, else in the repetition's list of sessions. The document has one case per line.
func WriteResults(w io.Writer, run *plumb.Run, s Sessions) error {
	return NewResults(&Source{Sessions: s}, "", Full).Write(w, run)
}

// Results writes the results of one run; see [WriteResults]. It holds at most a few hundred
// executions in memory.
//
// If it receives the events of the run and has a directory for temporary files, it renders the
// cases while the run is on. It renders them in the order of the plan, so the first unfinished case
// holds back the later ones.
type Results struct {
	sessions Sessions
	detail   Detail
	recorded bool   // whatever the runners are
	temp     string // the directory of the spool, or ""
	lifts    func() []Lift
	// calibrations are those of the judges.
	calibrations []*calibrate.Calibration

	spool    *document // the cases that are rendered; nil before the first
	file     *os.File  // of the spool
	done     int       // the number of rendered cases
	averages []analyze.Averages
	batch    [renderBatch]renderedCase
}

// NewResults returns results with the given details of the sessions. temp is a directory for
// temporary files; without it, the results are rendered at the end of the run.
func NewResults(src *Source, temp string, d Detail) *Results {
	return &Results{
		sessions: src.Sessions, detail: d, recorded: src.Recorded, temp: temp, calibrations: src.Calibrations,
		lifts: src.Lifts,
	}
}

// Report renders the cases that are done. It does not render those of agents before the end,
// because their sessions are few and may be large.
func (r *Results) Report(ev plumb.Event, run *plumb.Run) (err error) {
	if r.temp == "" || ev.Type != plumb.EventExecutionFinished || HasAgents(run) {
		return nil
	}
	n, to := len(run.Info.Runners), r.done
	for to < len(run.Cases) && AllDone(run.Executions[to*n:(to+1)*n]) {
		to++
	}
	if to-r.done < renderTogether {
		return nil
	}
	if r.file == nil {
		if r.file, err = os.CreateTemp(r.temp, ".results-*"); err != nil {
			return fmt.Errorf("write results: %w", err)
		}
		r.spool = newDocument(r.file)
	}
	return r.cases(r.spool, run, to)
}

func AllDone(executions []plumb.Execution) bool {
	return !slices.ContainsFunc(executions, func(e plumb.Execution) bool { return e.State != plumb.ExecutionDone })
}

// Close removes the temporary file.
func (r *Results) Close() error {
	if r.file == nil {
		return nil
	}
	f := r.file
	r.file = nil
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// Write writes the whole document, once.
func (r *Results) Write(w io.Writer, run *plumb.Run) error {
	out := newDocument(w)
	out.members("{\n", suiteResult{
		SuitePath: run.Info.SuitePath, StartedAt: Stamp(run.StartedAt), EndedAt: Stamp(run.EndedAt),
		DurationMs: DurationMs(run), SuiteRunArtifactDir: run.Info.ArtifactDir,
		DeclaredTags: doc.Array(run.Info.DeclaredTags), SelectedTags: doc.Array(run.Info.SelectedTags),
	})
	fmt.Fprint(out, ",\n  \"cases\": [")
	if r.spool != nil {
		if err := r.spool.close(); err != nil {
			return err
		}
		if _, err := io.Copy(out, io.NewSectionReader(r.file, 0, math.MaxInt64)); err != nil {
			return fmt.Errorf("write results: %w", err)
		}
	}
	if err := r.cases(out, run, len(run.Cases)); err != nil {
		return err
	}
	out.endList(len(run.Cases))
	fmt.Fprint(out, ",\n  \"runners\": [")
	for i := range run.Info.Runners {
		out.element(i, out.encode(agentSummary(run, i, r.averages[i].Summary(run, i))))
	}
	out.endList(len(run.Info.Runners))
	p := provenanceOf(run, r.recorded || recorded(run))
	p.Judging = calibrate.Assess(run, r.calibrations)
	if r.lifts != nil {
		p.Lifts = r.lifts()
	}
	out.members(",\n", p)
	fmt.Fprint(out, "\n}\n")
	return out.close()
}

const (
	// renderBatch limits how many cases are rendered before they are written, and so how many are
	// in memory. Fewer are rendered when together they exceed renderBytes.
	renderBatch = 256
	renderBytes = 4 << 20
	// renderTogether is the number of cases that are worth rendering during the run.
	renderTogether = 16
)

// renderedCase is one case of a document, with its part of the runners' averages.
type renderedCase struct {
	json    []byte
	figures []caseFigures // by runner
	err     error
}

type caseFigures struct {
	ran        bool
	durationMs int64
	usage      plumb.Usage
}

// cases renders the next cases, up to the given number, into doc.
func (r *Results) cases(doc *document, run *plumb.Run, to int) error {
	if r.averages == nil {
		r.averages = make([]analyze.Averages, len(run.Info.Runners))
	}
	size := runtime.GOMAXPROCS(0) // until the size of a case is known
	for r.done < to {
		part := r.batch[:min(size, len(r.batch), to-r.done)]
		r.render(run, part)
		written := 0
		for i := range part {
			x := &part[i]
			if x.err != nil {
				return x.err
			}
			for runner, figures := range x.figures {
				if figures.ran {
					r.averages[runner].Add(figures.durationMs, figures.usage)
				}
			}
			doc.element(r.done, x.json)
			r.done++
			if written += len(x.json); cap(x.json) > renderBytes/16 {
				x.json = nil // the next cases need not be as large
			}
		}
		size = max(runtime.GOMAXPROCS(0), renderBytes/(written/len(part)+1))
	}
	return nil
}

// render renders the next cases, as many as fit into out, on all processors.
func (r *Results) render(run *plumb.Run, out []renderedCase) {
	var next atomic.Int64
	options := resultOptions()
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(out)) {
		workers.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(out); i = int(next.Add(1)) - 1 {
				res, figures, err := r.renderCase(run, r.done+i)
				buf := bytes.NewBuffer(out[i].json[:0])
				if err == nil {
					buf.Grow(res.size())
					err = json2.MarshalWrite(buf, &res, options)
				}
				out[i] = renderedCase{json: text.EscapeJSON(buf.Bytes()), figures: figures, err: err}
			}
		})
	}
	workers.Wait()
}

func (r *Results) renderCase(run *plumb.Run, c int) (caseResult, []caseFigures, error) {
	n := len(run.Info.Runners)
	info := &run.Cases[c]
	res := caseResult{
		CaseID: info.ID, Prompt: info.Prompt, Item: info.Item, Source: info.Source, Tags: doc.Array(info.Tags), Passed: true, CaseHash: info.Hash,
		Category: info.Category, Difficulty: info.Difficulty, ExpectedFail: info.ExpectedFail,
		RunnerResults: make([]runnerResult, n),
	}
	all := make([]caseFigures, n)
	for i := range n {
		rec, x := &Recording{}, CellAt(run, c*n+i)
		switch {
		case x.State == plumb.ExecutionPlanned:
		case r.detail == Brief && x.plain():
			rec = x.summarized()
		default:
			var err error
			if rec, err = x.Record(r.sessions); err != nil {
				return res, nil, err
			}
		}
		one := x.Result(rec, r.detail)
		res.RunnerResults[i] = one
		res.Passed = res.Passed && one.Passed
		all[i] = caseFigures{one.Outcome != plumb.OutcomeSkipped, one.DurationMs, usageOf(x.Execution, rec)}
	}
	return res, all, nil
}

func DurationMs(run *plumb.Run) int64 {
	if run.ActiveMs > 0 {
		return run.ActiveMs
	}
	return max(0, run.EndedAt.Sub(run.StartedAt).Milliseconds())
}

func provenanceOf(run *plumb.Run, recorded bool) provenance {
	rates, spent := analyze.Rates(run), analyze.Spent(run, -1)
	info := &run.Info
	p := provenance{
		Schema: resultsSchema, Outcome: RunOutcome(run), Verdict: VerdictWords(run, rates.Overall, "–"), Recorded: recorded,
		Rate:         rates.Overall.Figures(),
		GroupFigures: rates.Overall.Group(run),
		Gates:        analyze.Gates(run),
		Prompts:      named(run, rates.Prompts, rates.HasPrompts()),
		Columns:      columnsOf(run),
		Categories:   named(run, rates.Categories, rates.HasCategories()),
		Difficulties: named(run, rates.Difficulties, rates.HasDifficulties()),
		Tags:         named(run, rates.Tags, true),
		Spent: spending{
			InputTokens: spent.InputTokens, OutputTokens: spent.OutputTokens, ReasoningTokens: spent.ReasoningTokens,
			CacheTokens: spent.CacheTokens, TotalTokens: spent.TotalTokens,
			JudgeCostUSD: spent.JudgeCostUSD, Unpriced: spent.Unpriced, Sessions: spent.Sessions, Cached: spent.Cached,
		},
		Decision: run.Decision,
		Complete: run.End != nil && run.Totals.Finished == run.Totals.Planned && run.End.Stop == "",
		Notes:    doc.Array(run.Notes), Snapshots: analyze.Snapshots(run),
		RunID: info.ID, PlumbVersion: info.PlumbVersion, SuiteName: info.SuiteName, SuiteVersion: info.SuiteVersion,
		Tier: info.Tier, SuiteHash: info.SuiteHash, SuiteCases: info.SuiteCases, Judge: info.Judge,
		SelfJudged: info.SelfJudged, Embedder: info.Embedder, Schedule: info.Schedule, Parallel: info.Parallel,
		Repeat: max(1, info.Repeat), Retry: info.Retry, ScoredFrom: info.ScoredFrom,
	}
	if run.End != nil {
		p.Stop = run.End.Stop
	}
	if spent.Priced(run) {
		p.Spent.CostUSD = &spent.CostUSD
	}
	return p
}

// RunOutcome returns the outcome of a run by the rules of the exit codes: fail takes precedence
// over error, and error over skipped.
func RunOutcome(run *plumb.Run) plumb.Outcome {
	switch {
	case analyze.NotOK(run):
		return plumb.OutcomeFail
	case !analyze.NotMeasured(run):
		return plumb.OutcomePass
	case run.Totals.Errored > 0:
		return plumb.OutcomeError
	default:
		return plumb.OutcomeSkipped
	}
}

func named(run *plumb.Run, rates []analyze.Rate, has bool) []namedRate {
	out := []namedRate{}
	for _, r := range rates {
		if has {
			out = append(out, namedRate{r.Name, r.Figures(), r.Group(run)})
		}
	}
	return out
}

// document writes one JSON object piece by piece and keeps the first error.
type document struct {
	*bufio.Writer
	err error
}

func newDocument(w io.Writer) *document { return &document{Writer: bufio.NewWriterSize(w, 64<<10)} }

// resultOptions are those of all results. Numbers have 12 digits, so that a sum of prices has no
// noise in its last ones.
func resultOptions() json2.Options {
	round := json2.MarshalToFunc(func(e *jsontext.Encoder, x float64) error {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return fmt.Errorf("%v is no number of JSON", x)
		}
		return e.WriteToken(jsontext.Float(Round12(x)))
	})
	return json2.JoinOptions(jsonv1.DefaultOptionsV1(), jsontext.EscapeForHTML(false), json2.WithMarshalers(round))
}

// encode returns v as JSON.
func (d *document) encode(v any, o ...json2.Options) []byte {
	b, err := json2.Marshal(v, append(o, resultOptions())...)
	d.err = cmp.Or(d.err, err)
	return text.EscapeJSON(b)
}

// members writes the members of v after the given text, one per line.
func (d *document) members(before string, v any) {
	b := d.encode(v, jsontext.WithIndent("  "))
	inner := bytes.TrimSuffix(bytes.TrimPrefix(b, []byte("{\n")), []byte("\n}"))
	fmt.Fprintf(d, "%s%s", before, inner)
}

// element writes the i-th element of a list, encoded as JSON, on its own line.
func (d *document) element(i int, encoded []byte) {
	comma := ""
	if i > 0 {
		comma = ","
	}
	fmt.Fprintf(d, "%s\n    %s", comma, encoded)
}

func (d *document) endList(n int) {
	if n > 0 {
		fmt.Fprint(d, "\n  ")
	}
	fmt.Fprint(d, "]")
}

func (d *document) close() error {
	if err := cmp.Or(d.err, d.Flush()); err != nil {
		return fmt.Errorf("write results: %w", err)
	}
	return nil
}
