package results

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/analyze"
	"github.com/plumb-eval/plumb/internal/calibrate"
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/encode"
	"github.com/plumb-eval/plumb/internal/text"
)

// resultsSchema is the version of the format that [Writer] writes. A new key does not change
// it.
const resultsSchema = 1

// Material is what a [Writer] writes.
type Material struct {
	// Sessions reads the recorded sessions. Without it the document omits what only sessions have.
	// Stored reads them without decoding what is only copied; it may be nil.
	Sessions Sessions
	Stored   Stored
	Detail   Detail
	// Recorded is set when the answers are a recording, whatever the runners are.
	Recorded bool
	// Temp is a directory for temporary files, or "". See [Writer].
	Temp string
	// Calibrations are those of the judges.
	Calibrations []*calibrate.Calibration
	// Lifts returns those of an ablation, as JSON has them; nil without any.
	Lifts func() any
}

// Writer writes results.json: the documented shape plus outcome, coverage and provenance. It holds
// at most a few hundred executions in memory.
//
// Each session report appears once: at the execution for the session that decided it, else at its
// repetition, else in the repetition's list of sessions. Reports and verdicts are the bytes of the
// log. The document has one case per line.
//
// If it receives the events of the run and has a directory for temporary files, it renders the
// cases while the run is on. It renders them in the order of the plan, so the first unfinished case
// holds back the later ones.
type Writer struct {
	o        Material
	encoder  encode.Encoder
	runners  []encode.Raw
	spool    *document // the cases that are rendered; nil before the first
	file     *os.File  // of the spool
	done     int       // the number of rendered cases
	averages []analyze.Averages
	batch    [renderBatch]renderedCase
	workers  []*worker
}

// NewWriter returns a writer of the results of one run.
func NewWriter(o Material) *Writer {
	// Numbers have 12 digits, so that a sum of prices has no noise in its last ones.
	return &Writer{o: o, encoder: encode.Encoder{Round: text.Round}}
}

// Report renders the cases that are done. It does not render those of agents before the end,
// because their sessions are few and may be large.
func (w *Writer) Report(ev plumb.Event, run *plumb.Run) (err error) {
	if w.o.Temp == "" || ev.Type != plumb.EventExecutionFinished || HasAgents(run) {
		return nil
	}
	n, to := len(run.Info.Runners), w.done
	for to < len(run.Cases) && AllDone(run.Executions[to*n:(to+1)*n]) {
		to++
	}
	if to-w.done < renderTogether {
		return nil
	}
	if w.file == nil {
		if w.file, err = os.CreateTemp(w.o.Temp, ".results-*"); err != nil {
			return fmt.Errorf("write results: %w", err)
		}
		w.spool = w.document(w.file)
	}
	return w.cases(w.spool, run, to)
}

// AllDone reports whether all executions have ended.
func AllDone(executions []plumb.Execution) bool {
	return !slices.ContainsFunc(executions, func(e plumb.Execution) bool { return e.State != plumb.ExecutionDone })
}

// Close removes the temporary file.
func (w *Writer) Close() error {
	if w.file == nil {
		return nil
	}
	f := w.file
	w.file = nil
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// Write writes the whole document, once.
func (w *Writer) Write(to io.Writer, run *plumb.Run) error {
	out := w.document(to)
	out.members("{\n", &suiteResult{
		SuitePath: run.Info.SuitePath, StartedAt: Stamp(run.StartedAt), EndedAt: Stamp(run.EndedAt),
		DurationMs: DurationMs(run), SuiteRunArtifactDir: run.Info.ArtifactDir,
		DeclaredTags: doc.Array(run.Info.DeclaredTags), SelectedTags: doc.Array(run.Info.SelectedTags),
	})
	fmt.Fprint(out, ",\n  \"cases\": [")
	if w.spool != nil {
		if err := w.spool.close(); err != nil {
			return err
		}
		if _, err := io.Copy(out, io.NewSectionReader(w.file, 0, math.MaxInt64)); err != nil {
			return fmt.Errorf("write results: %w", err)
		}
	}
	if err := w.cases(out, run, len(run.Cases)); err != nil {
		return err
	}
	out.endList(len(run.Cases))
	fmt.Fprint(out, ",\n  \"runners\": [")
	for i := range run.Info.Runners {
		summary := agentSummary(run, i, w.averages[i].Summary(run, i))
		out.element(i, out.encode(&summary))
	}
	out.endList(len(run.Info.Runners))
	p := provenanceOf(run, w.o.Recorded || Recorded(run))
	p.Judging = calibrate.Assess(run, w.o.Calibrations)
	if w.o.Lifts != nil {
		p.Lifts = w.o.Lifts()
	}
	out.members(",\n", &p)
	fmt.Fprint(out, "\n}\n")
	return out.close()
}

const (
	// renderBatch limits how many cases are rendered before they are written, and so how many are
	// in memory. Fewer are rendered when together they exceed renderBytes.
	renderBatch = 256
	renderBytes = 4 << 20
	mostKept    = renderBytes / 16
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
func (w *Writer) cases(doc *document, run *plumb.Run, to int) error {
	if w.averages == nil {
		w.averages = make([]analyze.Averages, len(run.Info.Runners))
		for i := range run.Info.Runners {
			w.runners = append(w.runners, doc.encode(&run.Info.Runners[i]))
		}
	}
	size := runtime.GOMAXPROCS(0) // until the size of a case is known
	for w.done < to {
		part := w.batch[:min(size, len(w.batch), to-w.done)]
		w.render(run, part)
		written := 0
		for i := range part {
			x := &part[i]
			if x.err != nil {
				return x.err
			}
			for runner, figures := range x.figures {
				if figures.ran {
					w.averages[runner].Add(figures.durationMs, figures.usage)
				}
			}
			doc.element(w.done, x.json)
			w.done++
			if written += len(x.json); cap(x.json) > mostKept {
				x.json = nil // the next cases need not be as large
			}
		}
		size = max(runtime.GOMAXPROCS(0), renderBytes/(written/len(part)+1))
	}
	return nil
}

// worker renders one case after the other, in the same memory.
type worker struct {
	*Writer
	lines     []byte // of the log
	summaries []*summary
	used      int // the number of summaries of the case
	results   []RunnerResult
	result    caseResult
}

func (m *worker) summary() *summary {
	if m.used == len(m.summaries) {
		m.summaries = append(m.summaries, &summary{})
	}
	m.used++
	return m.summaries[m.used-1]
}

// render renders the next cases, as many as fit into out, on all processors.
func (w *Writer) render(run *plumb.Run, out []renderedCase) {
	for len(w.workers) < min(runtime.GOMAXPROCS(0), len(out)) {
		w.workers = append(w.workers, &worker{Writer: w})
	}
	var next atomic.Int64
	work := func(m *worker) {
		for i := int(next.Add(1)) - 1; i < len(out); i = int(next.Add(1)) - 1 {
			m.renderCase(run, w.done+i, &out[i])
		}
	}
	var others sync.WaitGroup
	for _, m := range w.workers[1:min(len(w.workers), len(out))] {
		others.Go(func() { work(m) })
	}
	work(w.workers[0])
	others.Wait()
}

// renderCase renders the case at index c into out, whose memory it reuses.
func (m *worker) renderCase(run *plumb.Run, c int, out *renderedCase) {
	n := len(run.Info.Runners)
	info := &run.Cases[c]
	m.lines, m.used, m.results = m.lines[:0], 0, m.results[:0]
	if cap(m.lines) > mostKept {
		m.lines = nil
	}
	*out = renderedCase{json: out.json[:0], figures: out.figures[:0]}
	res := &m.result
	*res = caseResult{
		CaseID: info.ID, Prompt: info.Prompt, Item: info.Item, Source: info.Source, Tags: doc.Array(info.Tags), Passed: true, CaseHash: info.Hash,
		Category: info.Category, Difficulty: info.Difficulty, ExpectedFail: info.ExpectedFail,
	}
	for i := range n {
		rec, x := &Recording{}, CellAt(run, c*n+i)
		x.encoded = m.runners[i]
		switch {
		case x.State == plumb.ExecutionPlanned:
		case m.o.Detail == Brief && x.plain() && x.Status.OK():
			rec = x.summarized(m.summary())
		case m.o.Stored != nil:
			rec, out.err = x.stored(m.o.Stored, m)
		default:
			rec, out.err = x.Record(m.o.Sessions)
		}
		if out.err != nil {
			return
		}
		one := x.Result(rec, m.o.Detail)
		res.Passed = res.Passed && one.Passed
		m.results = append(m.results, one)
		out.figures = append(out.figures, caseFigures{
			one.Outcome != plumb.OutcomeSkipped, one.DurationMs, usageOf(x.Execution, rec),
		})
	}
	res.RunnerResults = m.results
	out.json, out.err = m.encoder.Append(out.json, res)
	out.json = text.EscapeJSON(out.json)
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

// agentSummary adds the means of the sessions of an agent to the summary of the runner at index r.
func agentSummary(run *plumb.Run, r int, s analyze.RunnerSummary) runnerSummary {
	out := runnerSummary{RunnerSummary: s}
	if run.Info.Runners[r].Kind != plumb.RunnerAgent {
		return out
	}
	var steps, stepsOf, priced int64
	var cost float64
	for i := r; i < len(run.Executions); i += len(run.Info.Runners) {
		e := &run.Executions[i]
		if e.State != plumb.ExecutionDone {
			continue
		}
		if e.Steps > 0 {
			steps, stepsOf = steps+int64(e.Steps), stepsOf+int64(e.Sessions)
		}
		if e.Priced {
			cost, priced = cost+e.CostUSD, priced+int64(e.Sessions)
		}
	}
	if stepsOf > 0 {
		out.AverageSteps = new(float64(steps) / float64(stepsOf))
	}
	if priced > 0 {
		out.AverageCostUSD = new(cost / float64(priced))
	}
	return out
}

// HasAgents reports whether any runner is an agent.
func HasAgents(run *plumb.Run) bool {
	return slices.ContainsFunc(run.Info.Runners, func(r plumb.RunnerInfo) bool { return r.Kind == plumb.RunnerAgent })
}

// Recorded reports whether the answers of a run are a recording. Replayed answers must never pass
// as new ones.
func Recorded(run *plumb.Run) bool {
	return slices.ContainsFunc(run.Info.Runners, func(r plumb.RunnerInfo) bool { return r.Kind == plumb.RunnerReplay })
}

// DurationMs returns how long a run was active.
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
		Schema: resultsSchema, Outcome: Outcome(run), Verdict: Headline(run, rates.Overall, "–"), Recorded: recorded,
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

// Outcome returns the outcome of a run by the rules of the exit codes: fail takes precedence
// over error, and error over skipped.
func Outcome(run *plumb.Run) plumb.Outcome {
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
	encoder *encode.Encoder
	err     error
}

func (w *Writer) document(to io.Writer) *document {
	return &document{Writer: bufio.NewWriterSize(to, 64<<10), encoder: &w.encoder}
}

// encode returns what v points to as JSON.
func (d *document) encode(v any) []byte {
	b, err := d.encoder.Append(nil, v)
	d.err = cmp.Or(d.err, err)
	return text.EscapeJSON(b)
}

// members writes the members of what v points to after the given text, one per line.
func (d *document) members(before string, v any) {
	var b bytes.Buffer
	d.err = cmp.Or(d.err, json.Indent(&b, d.encode(v), "", "  "))
	inner := bytes.TrimSuffix(bytes.TrimPrefix(b.Bytes(), []byte("{\n")), []byte("\n}"))
	fmt.Fprintf(d, "%s%s", before, inner)
}

// element writes the i-th element of a list, encoded as JSON, on its own line.
func (d *document) element(i int, encoded []byte) {
	if i > 0 {
		_ = d.WriteByte(',') // Flush returns the error
	}
	_, _ = d.WriteString("\n    ")
	_, _ = d.Write(encoded)
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
