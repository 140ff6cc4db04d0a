package results

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/digest"
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/files"
	"github.com/plumb-eval/plumb/internal/text"
)

// block is the run of one model in the documented results format, without its results, which are
// streamed. The keys after the documented ones are Plumb's own; readers of the format skip them.
type block struct {
	SuiteVersion string        `json:"suite_version"`
	SuiteHash    string        `json:"suite_hash"`
	Metadata     blockMetadata `json:"run_metadata"`
}

type blockMetadata struct {
	Timestamp       string      `json:"timestamp"`
	ModelID         string      `json:"model_id"`
	Temperature     pythonFloat `json:"temperature"`
	Seed            *int64      `json:"seed"`
	RunnerVersion   string      `json:"runner_version"`
	UserID          *string     `json:"user_id"`
	IsAuthenticated bool        `json:"is_authenticated"`
	RunID           string      `json:"run_id"`
	RunnerID        string      `json:"runner_id"`
	StartedAt       string      `json:"started_at"`
	Complete        bool        `json:"complete"`
	Recorded        bool        `json:"recorded,omitempty"`
}

type blockResult struct {
	TestID     string         `json:"test_id"`
	Output     string         `json:"output"`
	Assertion  blockAssertion `json:"assertion_result"`
	LatencyMs  int64          `json:"latency_ms"`
	ResultHash string         `json:"result_hash"`
	Score      *pythonFloat   `json:"score"`
	Outcome    plumb.Outcome  `json:"outcome"`
	Status     plumb.Status   `json:"status"`
	CaseHash   string         `json:"case_hash,omitempty"`
}

type blockAssertion struct {
	Passed  bool            `json:"passed"`
	Details json.RawMessage `json:"details"`
}

type blockSummary struct {
	Total    int         `json:"total"`
	Passed   int         `json:"passed"`
	Skipped  int         `json:"skipped"`
	PassRate pythonFloat `json:"pass_rate"`
}

type notMeasured struct {
	TestID  string        `json:"test_id"`
	Outcome plumb.Outcome `json:"outcome"`
	Reason  string        `json:"reason"`
}

// pythonFloat is a number that always has a fraction in JSON, as in the documented format.
type pythonFloat float64

// MarshalJSON writes 0.0 where encoding/json writes 0.
func (f pythonFloat) MarshalJSON() ([]byte, error) {
	b, err := json.Marshal(float64(f))
	if err == nil && !bytes.ContainsAny(b, ".e") {
		b = append(b, ".0"...)
	}
	return b, err
}

// CheckBlockFile checks, before a run starts, that [AppendBlock] can add to the file at path: the
// file is missing, is empty, or holds a block or a list of blocks, and it is writable. It creates a
// missing directory and leaves the file unchanged.
func CheckBlockFile(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("make the directory of the results file: %w", err)
	}
	if _, err := readBlocks(path); err != nil {
		return err
	}
	probe, err := doc.Create(path)
	if err != nil {
		return fmt.Errorf("results file %s cannot be written: %w", path, err)
	}
	return probe.Discard()
}

// AppendBlock appends the run to the list in the file at path, in the documented results format:
// one block per runner. It replaces existing blocks of the same run and runner, and keeps all other
// blocks byte for byte. It replaces the file atomically and waits while another process writes it.
//
// A block has one result per judged answer. An answer that could not be judged has the score null,
// as documented for skipped tests. An execution without an answer, for example after an
// interruption, has no result, because the format cannot express it and scripts would read it as a
// failure. Plumb lists these in its own key, not_measured.
func AppendBlock(ctx context.Context, path string, run *plumb.Run, s Sessions) error {
	return doc.Update(ctx, path, func(path string) error {
		known, err := readBlocks(path)
		if err != nil {
			return err
		}
		if err := doc.Write(path, func(f *doc.File) error { return writeBlocks(f, path, known, run, s) }); err != nil {
			return fmt.Errorf("write results file %s: %w", path, err)
		}
		return nil
	})
}

// writeBlocks writes the existing blocks of the file at path except those of this run, then the
// blocks of this run.
func writeBlocks(w io.Writer, path string, known []span, run *plumb.Run, s Sessions) error {
	out := bufio.NewWriterSize(w, 64<<10)
	n := 0
	separate := func() {
		if n > 0 {
			fmt.Fprint(out, ",")
		}
		fmt.Fprint(out, "\n  ")
		n++
	}
	fmt.Fprint(out, "[")
	if len(known) > 0 {
		f, err := files.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		for _, x := range known {
			if x.runID != "" && x.runID == run.Info.ID && run.Runner(x.runnerID) != nil {
				continue
			}
			separate()
			if _, err := io.Copy(out, io.NewSectionReader(f, x.from, x.to-x.from)); err != nil {
				return err
			}
		}
	}
	for r := range run.Info.Runners {
		separate()
		if err := writeBlock(out, run, r, s); err != nil {
			return err
		}
	}
	fmt.Fprint(out, "\n]")
	return out.Flush()
}

// writeBlock writes the block of the runner at index r.
func writeBlock(w *bufio.Writer, run *plumb.Run, r int, s Sessions) error {
	runner := &run.Info.Runners[r]
	b := block{SuiteVersion: run.Info.SuiteName, SuiteHash: run.Info.SuiteHash, Metadata: blockMetadata{
		Timestamp: pythonTime(run.EndedAt), ModelID: modelID(runner), Seed: runner.Parameters.Seed,
		RunnerVersion: run.Info.PlumbVersion, RunID: run.Info.ID, RunnerID: runner.ID,
		StartedAt: pythonTime(run.StartedAt),
		Complete:  run.End != nil && run.End.Stop == "" && run.Totals.Finished == run.Totals.Planned,
		Recorded:  Recorded(run),
	}}
	if t := runner.Parameters.Temperature; t != nil {
		b.Metadata.Temperature = pythonFloat(*t)
	}
	member := func(before, name string, v any) error {
		text, err := blockJSON(v, "    ")
		fmt.Fprintf(w, "%s\n    %q: %s", before, name, text)
		return err
	}
	if err := errors.Join(
		member("{", "suite_version", b.SuiteVersion),
		member(",", "suite_hash", b.SuiteHash),
		member(",", "run_metadata", b.Metadata),
	); err != nil {
		return err
	}
	fmt.Fprint(w, ",\n    \"results\": [")
	sum, missing := blockSummary{}, []notMeasured{}
	for i := r; i < len(run.Executions); i += len(run.Info.Runners) {
		res, why, err := blockResultOf(CellAt(run, i), s)
		if err != nil {
			return err
		}
		if res == nil {
			missing = append(missing, *why)
			continue
		}
		text, err := blockJSON(res, "      ")
		if err != nil {
			return err
		}
		if sum.Total > 0 {
			fmt.Fprint(w, ",")
		}
		fmt.Fprintf(w, "\n      %s", text)
		sum.Total++
		switch {
		case res.Score == nil:
			sum.Skipped++
		case res.Assertion.Passed:
			sum.Passed++
		}
	}
	end := "]"
	if sum.Total > 0 {
		end = "\n    ]"
	}
	if n := sum.Total - sum.Skipped; n > 0 {
		sum.PassRate = pythonFloat(float64(sum.Passed) / float64(n))
	}
	err := errors.Join(member(end+",", "summary", sum), member(",", "not_measured", missing))
	fmt.Fprint(w, "\n  }")
	return err
}

// blockResultOf returns the documented result of an execution, or why there is none.
func blockResultOf(c Cell, s Sessions) (*blockResult, *notMeasured, error) {
	none := &notMeasured{TestID: c.Info.ID, Outcome: c.Outcome, Reason: c.Reason}
	if c.State != plumb.ExecutionDone || c.Outcome == plumb.OutcomeSkipped {
		none.Outcome = plumb.OutcomeSkipped
		return nil, none, nil
	}
	_, decided, err := c.Decided(s)
	if err != nil {
		return nil, nil, err
	}
	unjudged := c.Outcome == plumb.OutcomeError && (c.Origin == plumb.OriginJudge || c.Origin == plumb.OriginAssertHook)
	if decided == nil || decided.Report == nil || !c.Outcome.Measured() && !unjudged {
		return nil, none, nil
	}
	output := strings.ToValidUTF8(decided.Report.FinalOutput, "\uFFFD") // as encoding/json writes it
	hash, err := digest.Result(modelID(c.Runner), c.Info.ID, output)
	if err != nil {
		return nil, nil, fmt.Errorf("hash the result of case %s: %w", c.Info.ID, err)
	}
	res := &blockResult{
		TestID: c.Info.ID, Output: output, LatencyMs: cmp.Or(decided.Report.LatencyMs, decided.Report.DurationMs),
		ResultHash: hash, Outcome: c.Outcome, Status: c.Status, CaseHash: c.Info.Hash,
	}
	res.Assertion.Passed = c.Outcome == plumb.OutcomePass
	res.Assertion.Details, err = blockDetails(decided, unjudged, c.Reason)
	switch c.Outcome {
	case plumb.OutcomePass:
		res.Score = new(pythonFloat(1))
	case plumb.OutcomeFail:
		res.Score = new(pythonFloat(0))
	default:
	}
	return res, nil, err
}

// blockDetails returns the documented details of the assertion type, or a list of them for several
// assertions.
func blockDetails(s *Session, unjudged bool, reason string) (json.RawMessage, error) {
	if unjudged {
		return json.Marshal(map[string]any{"skipped": true, "reason": reason})
	}
	if s.Judgement == nil || len(s.Judgement.Verdicts) == 0 {
		return json.RawMessage("{}"), nil
	}
	if v := s.Judgement.Verdicts; len(v) == 1 {
		if len(v[0].Details) > 0 {
			return v[0].Details, nil
		}
		return json.Marshal(map[string]any{"reason": v[0].Reason})
	}
	type one struct {
		Name    string          `json:"name"`
		Passed  bool            `json:"passed"`
		Score   pythonFloat     `json:"score"`
		Reason  string          `json:"reason"`
		Details json.RawMessage `json:"details,omitempty"`
	}
	all := make([]one, len(s.Judgement.Verdicts))
	for i, v := range s.Judgement.Verdicts {
		all[i] = one{v.Name, v.Pass, pythonFloat(v.Score), v.Reason, v.Details}
	}
	return json.Marshal(map[string]any{"assertions": all})
}

// modelID returns the model's name as in the documented format. A runner without a model uses its
// id.
func modelID(r *plumb.RunnerInfo) string { return cmp.Or(r.Agent.Model, r.ID) }

// pythonTime renders a time as documented, always with microseconds.
func pythonTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000Z") }

// blockJSON renders v as the documented writer does: two spaces per level, ASCII only.
func blockJSON(v any, indent string) ([]byte, error) {
	var plain, indented bytes.Buffer
	enc := json.NewEncoder(&plain)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("encode a result: %w", err)
	}
	if err := json.Indent(&indented, bytes.TrimSuffix(plain.Bytes(), []byte("\n")), indent, "  "); err != nil {
		return nil, fmt.Errorf("encode a result: %w", err)
	}
	return text.EscapeRunes(indented.Bytes(), func(r rune) bool { return r >= 0x7f }), nil
}
