// Package html writes the page of a run and of a comparison: one document that needs no server, or
// one in a frame of the caller, with its blocks at addresses.
//
// The page starts with plain HTML that needs no script: summary, failures, matrix. Compressed
// blocks with the sessions follow. The page's script decodes a block when a reader opens it, and an
// index at the end names the block of each session. So Plumb writes the page in one pass, one
// execution at a time, and a browser decodes only what the reader opens.
package html

import (
	"fmt"
	"io"
	"path/filepath"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/report"
	"github.com/plumb-eval/plumb/internal/results"
	"github.com/plumb-eval/plumb/internal/text"
)

// The limits of an HTML report. The page names and counts what does not fit; the run directory
// still has it.
const (
	pageSize      = 50 << 20 // bytes of sessions
	maxExecutions = 20_000   // executions in the matrix
	maxFailures   = 100      // failures shown in full on the first page
	firstFailures = 10       // of them before a reader asks for the rest; page.css has the same number
	blockSteps    = 400      // steps of one block of a timeline
	blockBytes    = 256 << 10
)

// Reporter writes the page of a run as one file.
type Reporter struct {
	src  *report.Source
	out  io.Writer
	dir  string // the run directory, or ""; see New
	page Frame
	path string // the page that was written
}

// New returns a reporter that writes the page of a run to report.html in dir, and prints its path
// to out; or the page to out if dir is "".
func New(out io.Writer, dir string, src *report.Source) *Reporter {
	return &Reporter{src: src, out: out, dir: dir}
}

// Report writes the page when the run has ended.
func (r *Reporter) Report(ev plumb.Event, run *plumb.Run) (err error) {
	if ev.Type != plumb.EventRunFinished {
		return nil
	}
	r.path, err = toFile(r.out, r.dir, "report.html", func(w io.Writer) error {
		return WriteRun(w, r.page, r.src, run)
	})
	if err != nil {
		return fmt.Errorf("write html report: %w", err)
	}
	return nil
}

// Close prints the path of the page. Until then another reporter may still draw on the terminal.
func (r *Reporter) Close() error {
	path := r.path
	r.path = ""
	return printPath(r.out, path)
}

// toFile writes a page to the named file in dir and returns its path, or to out if dir is "".
func toFile(out io.Writer, dir, name string, write func(io.Writer) error) (path string, err error) {
	if dir == "" {
		return "", write(out)
	}
	path = filepath.Join(dir, name)
	if err := doc.Write(path, func(f *doc.File) error { return write(f) }); err != nil {
		return "", err
	}
	return path, nil
}

// printPath tells the user where a page is, if it has a file.
func printPath(out io.Writer, path string) error {
	if path == "" {
		return nil
	}
	_, err := fmt.Fprintf(out, "\nHTML report: %s\n\n", text.OneLine(path))
	return err
}

// WriteRun writes the page of a run in a frame.
func WriteRun(out io.Writer, f Frame, src *report.Source, run *plumb.Run) error {
	front, err := frontOf(src, run)
	if err != nil {
		return err
	}
	return f.write(out, src.Redact, "page.html", front, func(b *blockWriter) (any, error) {
		return b.executions(src, run)
	})
}

// pageIndex describes to the script what the page holds.
type pageIndex struct {
	RunID   string           `json:"runId"`
	Runners []string         `json:"runners"`
	List    []executionEntry `json:"executions"`
	// Whole counts sessions that the page holds with all events, Left the other sessions.
	Whole int `json:"sessionsWhole"`
	Left  int `json:"sessionsLeftOut"`
	// Answers are the blocks with the prompts and answers that the matrix shows. AnswersLeft counts
	// the executions whose answers it does not show.
	Answers     []int `json:"answers,omitempty"`
	AnswersLeft int   `json:"answersLeftOut,omitempty"`
}

// executionEntry is one execution that has sessions, in the order of the matrix.
type executionEntry struct {
	Case     string         `json:"case"`
	Runner   int            `json:"runner"`
	Word     string         `json:"word" redact:"-"` // see report.Word
	Class    string         `json:"class,omitempty"`
	Reason   string         `json:"reason,omitempty"`
	Tags     []string       `json:"tags,omitempty"`
	Category string         `json:"category,omitempty"`
	Sessions []sessionEntry `json:"sessions,omitempty"`
	// At is the execution's index in the run.
	At int `json:"at"`
	// Used holds the agent columns when a runner is an agent.
	Used []string `json:"used,omitempty"`
	// Show is the command that shows the sessions, if the page has no place for one of them.
	Show string `json:"show,omitempty"`
}

// sessionEntry is the index entry of one session: how it ended and which block has more.
type sessionEntry struct {
	Repetition int           `json:"repetition"`
	Session    int           `json:"session"`
	Outcome    plumb.Outcome `json:"outcome"`
	Status     plumb.Status  `json:"status"`
	DurationMs int64         `json:"durationMs"`
	// Head is the number of the block with the session's facts, or -1 when it was left out.
	Head int `json:"head"`
}

// executions writes the sessions of a run, first those of failed and unmeasured executions, so that
// the page holds them even when it gets full.
func (b *blockWriter) executions(src *report.Source, run *plumb.Run) (*pageIndex, error) {
	index := &pageIndex{RunID: text.OneLine(run.Info.ID), Runners: []string{}, List: []executionEntry{}}
	for i := range run.Info.Runners {
		index.Runners = append(index.Runners, report.RunnerTitle(&run.Info.Runners[i]))
	}
	agents := results.HasAgents(run)
	sheet := newAnswerSheet(b.left / answerPart)
	for _, i := range orderOf(run) {
		c := report.CellAt(run, i)
		if c.State == plumb.ExecutionPlanned || c.Outcome == plumb.OutcomeSkipped && c.Sessions == 0 {
			continue
		}
		rec, err := c.Record(src.Sessions)
		if err != nil {
			return nil, err
		}
		x, err := b.execution(index, src, &c, rec)
		if err != nil {
			return nil, err
		}
		if err := sheet.add(b, c.Index, c.Info.ID, rec); err != nil {
			return nil, err
		}
		x.Runner, x.At = i%len(run.Info.Runners), i
		if agents {
			x.Used = report.AgentCells(c.Execution, "–")
		}
		index.List = append(index.List, x)
	}
	if err := sheet.flush(b); err != nil {
		return nil, err
	}
	index.Answers, index.AnswersLeft = sheet.blocks, sheet.leftOut
	return index, nil
}

// execution writes the sessions of one execution, and counts them in the index.
func (b *blockWriter) execution(
	index *pageIndex, src *report.Source, c *report.Cell, rec *results.Recording,
) (executionEntry, error) {
	x := executionEntry{
		Case: text.OneLine(c.Info.ID), Word: report.WordOf(c.Execution).Name, Reason: text.Clean(c.Reason),
		Category: text.OneLine(c.Info.Category),
	}
	if !c.Status.OK() {
		x.Class = report.ClassLabel(c.Class, c.Origin)
	}
	for _, t := range c.Info.Tags {
		x.Tags = append(x.Tags, text.OneLine(t))
	}
	for _, repetition := range rec.Repetitions {
		for _, s := range repetition {
			one, whole, err := b.session(src, c, s)
			if err != nil {
				return x, err
			}
			x.Sessions = append(x.Sessions, one)
			if one.Head < 0 {
				x.Show = c.Command("show", src)
			}
			if whole {
				index.Whole++
			} else {
				index.Left++
			}
		}
	}
	return x, nil
}

// orderOf returns the executions that a page shows, failed and unmeasured ones first.
func orderOf(run *plumb.Run) []int {
	order := make([]int, 0, len(run.Executions))
	for _, urgent := range []bool{true, false} {
		for i := range run.Executions {
			e := &run.Executions[i]
			bad := e.State == plumb.ExecutionDone && e.Outcome != plumb.OutcomeSkipped && !e.Status.OK()
			if bad == urgent && len(order) < maxExecutions {
				order = append(order, i)
			}
		}
	}
	return order
}

// session writes the blocks of a session and reports whether all of it fits.
func (b *blockWriter) session(
	src *report.Source, c *report.Cell, s *results.Session,
) (one sessionEntry, whole bool, err error) {
	one = sessionEntry{
		Repetition: s.Repetition, Session: s.Number, Outcome: s.Outcome(), Status: s.Status(c.Info.ExpectedFail),
		Head: -1,
	}
	head := headOf(s)
	if head.Explain = c.AskAbout(src, s); head.Explain != "" && src.Explained != nil {
		if head.Explained, err = src.Explained(c.SessionDir(".", s.Repetition, s.Number)); err != nil {
			return one, false, err
		}
		for i := range head.Explained {
			head.Explained[i] = tidy(&tidier{}, head.Explained[i])
		}
	}
	head.ArtifactDir = text.Clean(c.SessionDir(c.Run.Info.ArtifactDir, s.Repetition, s.Number))
	head.Show = c.Command("show", src)
	whole = true
	if s.Report != nil {
		one.DurationMs = s.Report.DurationMs
		var steps []step
		steps, head.Subagents = timeline(s.Report)
		head.Steps, head.Kinds = len(steps), kindsOf(steps)
		if head.Blocks, whole, err = b.timeline(steps); err != nil {
			return one, false, err
		}
	}
	one.Head, err = b.write(head)
	return one, whole && one.Head >= 0, err
}
