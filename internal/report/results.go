package report

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"sync"
	"sync/atomic"
	"unicode/utf16"
	"unicode/utf8"

	json2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/analyze"
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
	Outcome      plumb.Outcome       `json:"outcome"`
	Verdict      string              `json:"verdict"`
	Recorded     bool                `json:"recorded"`
	Rate         analyze.RateFigures `json:"rate"`
	Categories   []namedRate         `json:"categories"`
	Difficulties []namedRate         `json:"difficulties"`
	Tags         []namedRate         `json:"tags"`
	Spent        spending            `json:"spent"`
	Stop         plumb.StopReason    `json:"stop,omitempty"`
	Complete     bool                `json:"complete"`
	Notes        []plumb.Note        `json:"notes"`

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

type namedRate struct {
	Name string `json:"name"`
	analyze.RateFigures
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

// WriteResults writes results.json: the documented shape plus outcome, coverage and provenance. It
// holds at most a few hundred executions in memory. Without s it omits what only sessions have.
//
// Each session report appears once: at the execution for the session that decided it, else at its
// repetition, else in the repetition's list of sessions. The document has one case per line.
func WriteResults(w io.Writer, run *plumb.Run, s Sessions) error {
	return writeDocument(w, run, s, full, recorded(run))
}

func writeDocument(w io.Writer, run *plumb.Run, s Sessions, d detail, recorded bool) error {
	doc := &document{w: bufio.NewWriterSize(w, 64<<10)}
	doc.enc = json.NewEncoder(&doc.buf)
	doc.enc.SetEscapeHTML(false)
	dir := run.Info.ArtifactDir
	doc.members("{\n", suiteResult{
		SuitePath: run.Info.SuitePath, StartedAt: stamp(run.StartedAt), EndedAt: stamp(run.EndedAt),
		DurationMs: durationMs(run), SuiteRunArtifactDir: dir,
		DeclaredTags: list(run.Info.DeclaredTags), SelectedTags: list(run.Info.SelectedTags),
	})
	doc.raw(",\n  \"cases\": [")
	n := len(run.Info.Runners)
	averages := make([]analyze.Averages, n)
	batch := make([]renderedCase, min(renderBatch, len(run.Cases)))
	size := runtime.GOMAXPROCS(0) // until the size of a case is known
	for from := 0; from < len(run.Cases); {
		part := batch[:min(size, len(batch), len(run.Cases)-from)]
		renderCases(run, s, d, from, part)
		written := 0
		for i := range part {
			if part[i].err != nil {
				return part[i].err
			}
			for r, figures := range part[i].figures {
				if figures.ran {
					averages[r].Add(figures.durationMs, figures.usage)
				}
			}
			doc.rawElement(from+i, part[i].json)
			if written += len(part[i].json); cap(part[i].json) > renderBytes/16 {
				part[i].json = nil // the next cases need not be as large
			}
		}
		from += len(part)
		size = max(runtime.GOMAXPROCS(0), renderBytes/(written/len(part)+1))
	}
	doc.endList(len(run.Cases))
	doc.raw(",\n  \"runners\": [")
	for r := range n {
		doc.element(r, agentSummary(run, r, averages[r].Summary(run, r)))
	}
	doc.endList(n)
	doc.members(",\n", provenanceOf(run, recorded))
	doc.raw("\n}\n")
	return doc.close()
}

// renderBatch limits how many cases are rendered before they are written, and so how many are in
// memory. Fewer are rendered when together they exceed renderBytes.
const (
	renderBatch = 256
	renderBytes = 4 << 20
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

// renderCases renders the cases from the given index on, as many as fit into out, on all
// processors.
func renderCases(run *plumb.Run, s Sessions, d detail, from int, out []renderedCase) {
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(out)) {
		workers.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(out); i = int(next.Add(1)) - 1 {
				res, figures, err := renderCase(run, s, d, from+i)
				buf := bytes.NewBuffer(out[i].json[:0])
				if err == nil {
					buf.Grow(res.size())
					err = json2.MarshalWrite(buf, &res, jsonv1.DefaultOptionsV1(), jsontext.EscapeForHTML(false))
				}
				out[i] = renderedCase{json: escapeControls(buf.Bytes()), figures: figures, err: err}
			}
		})
	}
	workers.Wait()
}

func renderCase(run *plumb.Run, s Sessions, d detail, c int) (caseResult, []caseFigures, error) {
	n := len(run.Info.Runners)
	info := &run.Cases[c]
	res := caseResult{
		CaseID: info.ID, Tags: list(info.Tags), Passed: true, CaseHash: info.Hash,
		Category: info.Category, Difficulty: info.Difficulty, ExpectedFail: info.ExpectedFail,
		RunnerResults: make([]runnerResult, n),
	}
	all := make([]caseFigures, n)
	for r := range n {
		i := c*n + r
		rec := &recording{}
		e := &run.Executions[i]
		switch {
		case e.State == plumb.ExecutionPlanned:
		case d == brief && plain(run, e, info):
			rec = summarized(e)
		default:
			var err error
			if rec, err = record(s, info.ID, run.Info.Runners[r].ID); err != nil {
				return res, nil, err
			}
		}
		x := result(run, i, rec, run.Info.ArtifactDir, d)
		res.RunnerResults[r] = x
		res.Passed = res.Passed && x.Passed
		all[r] = caseFigures{x.Outcome != plumb.OutcomeSkipped, x.DurationMs, usageOf(e, rec)}
	}
	return res, all, nil
}

func durationMs(run *plumb.Run) int64 {
	if run.ActiveMs > 0 {
		return run.ActiveMs
	}
	return max(0, run.EndedAt.Sub(run.StartedAt).Milliseconds())
}

func provenanceOf(run *plumb.Run, recorded bool) provenance {
	rates, spent := analyze.Rates(run), analyze.Spent(run, -1)
	info := &run.Info
	p := provenance{
		Schema: resultsSchema, Outcome: runOutcome(run), Verdict: verdictWords(rates.Overall), Recorded: recorded,
		Rate:         rates.Overall.Figures(),
		Categories:   named(rates.Categories, rates.HasCategories()),
		Difficulties: named(rates.Difficulties, rates.HasDifficulties()),
		Tags:         named(rates.Tags, true),
		Spent: spending{
			InputTokens: spent.InputTokens, OutputTokens: spent.OutputTokens, ReasoningTokens: spent.ReasoningTokens,
			CacheTokens: spent.CacheTokens, TotalTokens: spent.TotalTokens,
			JudgeCostUSD: spent.JudgeCostUSD, Unpriced: spent.Unpriced, Sessions: spent.Sessions, Cached: spent.Cached,
		},
		Complete: run.End != nil && run.Totals.Finished == run.Totals.Planned && run.End.Stop == "",
		Notes:    list(run.Notes),
		RunID:    info.ID, PlumbVersion: info.PlumbVersion, SuiteName: info.SuiteName, SuiteVersion: info.SuiteVersion,
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

// runOutcome returns the outcome of a run by the rules of the exit codes: fail takes precedence
// over error, and error over skipped.
func runOutcome(run *plumb.Run) plumb.Outcome {
	t := run.Totals
	switch {
	case t.NotOK() > 0:
		return plumb.OutcomeFail
	case t.Errored > 0:
		return plumb.OutcomeError
	case t.Measured() < t.Planned:
		return plumb.OutcomeSkipped
	default:
		return plumb.OutcomePass
	}
}

func named(rates []analyze.Rate, has bool) []namedRate {
	out := []namedRate{}
	for _, r := range rates {
		if has {
			out = append(out, namedRate{r.Name, r.Figures()})
		}
	}
	return out
}

// list returns an empty list instead of nil, which JSON would render as null.
func list[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

// document writes one JSON object piece by piece and keeps the first error.
type document struct {
	w   *bufio.Writer
	buf bytes.Buffer
	enc *json.Encoder
	err error
}

func (d *document) raw(s string) {
	if d.err == nil {
		_, d.err = d.w.WriteString(s)
	}
}

// encode writes v to buf without a line end.
func (d *document) encode(v any) []byte {
	d.buf.Reset()
	if d.err == nil {
		d.err = d.enc.Encode(v)
	}
	return escapeControls(bytes.TrimSuffix(d.buf.Bytes(), []byte("\n")))
}

// escapeControls escapes characters that JSON allows inside strings and a terminal would interpret
// or hide, because the document may be printed to a terminal. The value of the JSON does not
// change.
func escapeControls(b []byte) []byte {
	if bytes.IndexByte(b, 0x7f) < 0 && bytes.IndexByte(b, 0xc2) < 0 {
		return b
	}
	at := bytes.IndexFunc(b, isControl)
	if at < 0 {
		return b
	}
	out := make([]byte, 0, len(b)+64)
	for ; at >= 0; at = bytes.IndexFunc(b, isControl) {
		out = append(out, b[:at]...)
		r, size := utf8.DecodeRune(b[at:])
		if high, low := utf16.EncodeRune(r); high != utf8.RuneError {
			out = fmt.Appendf(out, "\\u%04x\\u%04x", high, low)
		} else {
			out = fmt.Appendf(out, "\\u%04x", r)
		}
		b = b[at+size:]
	}
	return append(out, b...)
}

// isControl reports whether [forbidden] holds for r and encoding/json writes r unescaped.
func isControl(r rune) bool { return r >= 0x7f && forbidden(r) }

func (d *document) write(b []byte) {
	if d.err == nil {
		_, d.err = d.w.Write(b)
	}
}

// members writes the members of v after the given text, one per line.
func (d *document) members(before string, v any) {
	b := d.encode(v)
	if d.err != nil {
		return
	}
	var indented bytes.Buffer
	if d.err = json.Indent(&indented, b, "", "  "); d.err != nil {
		return
	}
	d.raw(before)
	inner := bytes.TrimSuffix(bytes.TrimPrefix(indented.Bytes(), []byte("{\n")), []byte("\n}"))
	d.write(inner)
}

// element writes the i-th element of a list on its own line.
func (d *document) element(i int, v any) { d.rawElement(i, d.encode(v)) }

func (d *document) rawElement(i int, b []byte) {
	if i > 0 {
		d.raw(",")
	}
	d.raw("\n    ")
	d.write(b)
}

func (d *document) endList(n int) {
	if n > 0 {
		d.raw("\n  ")
	}
	d.raw("]")
}

func (d *document) close() error {
	if d.err == nil {
		d.err = d.w.Flush()
	}
	if d.err != nil {
		return fmt.Errorf("write results: %w", d.err)
	}
	return nil
}
