package report

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/redact"
	"github.com/plumb-eval/plumb/internal/results"
	"github.com/plumb-eval/plumb/internal/text"
)

// The limits of an HTML report. The page names and counts what does not fit; the run directory
// still has it.
const (
	htmlSize       = 50 << 20 // bytes of sessions
	htmlExecutions = 20_000   // executions in the matrix
	htmlFailures   = 100      // failures shown in full on the first page
	htmlFirst      = 10       // of them before a reader asks for the rest; page.css has the same number
	htmlBlockSteps = 400      // steps of one block of a timeline
	htmlBlockBytes = 256 << 10
)

// htmlReport writes one self-contained page.
//
// The page starts with plain HTML that needs no script: summary, failures, matrix. Compressed
// blocks with the sessions follow. The page's script decodes a block when a reader opens it, and an
// index at the end names the block of each session. So Plumb writes the page in one pass, one
// execution at a time, and a browser decodes only what the reader opens.
type htmlReport struct {
	o    Options
	size int    // htmlSize, except in tests
	path string // the page that was written
}

func (r *htmlReport) Report(ev plumb.Event, run *plumb.Run) error {
	if ev.Type != plumb.EventRunFinished {
		return nil
	}
	err := r.write(run)
	if err != nil {
		return fmt.Errorf("write html report: %w", err)
	}
	return nil
}

// Close prints the path of the page. Until then another reporter may still draw on the terminal.
func (r *htmlReport) Close() error {
	if r.path == "" {
		return nil
	}
	_, err := fmt.Fprintf(r.o.Out, "\nHTML report: %s\n\n", text.OneLine(r.path))
	r.path = ""
	return err
}

func (r *htmlReport) write(run *plumb.Run) error {
	if r.o.RunDir == "" {
		return r.page(r.o.Out, run)
	}
	name := filepath.Join(r.o.RunDir, "report.html")
	if err := doc.Write(name, func(f *doc.File) error { return r.page(f, run) }); err != nil {
		return err
	}
	r.path = name
	return nil
}

func (r *htmlReport) page(out io.Writer, run *plumb.Run) error {
	front, err := frontOf(&r.o, run)
	if err != nil {
		return err
	}
	return writePage(out, r.o.Redact, "page.html", front, r.size, func(b *htmlBlocks) (any, error) {
		return b.executions(&r.o, run)
	})
}

// htmlIndex describes to the script what the page holds.
type htmlIndex struct {
	RunID   string          `json:"runId"`
	Runners []string        `json:"runners"`
	List    []htmlExecution `json:"executions"`
	// Whole counts sessions that the page holds with all events, Left the other sessions.
	Whole int `json:"sessionsWhole"`
	Left  int `json:"sessionsLeftOut"`
	// Answers are the blocks with the prompts and answers that the matrix shows. AnswersLeft counts
	// the executions whose answers it does not show.
	Answers     []int `json:"answers,omitempty"`
	AnswersLeft int   `json:"answersLeftOut,omitempty"`
}

// htmlExecution is one execution that has sessions, in the order of the matrix.
type htmlExecution struct {
	Case     string        `json:"case"`
	Runner   int           `json:"runner"`
	Word     string        `json:"word" redact:"-"` // see word
	Class    string        `json:"class,omitempty"`
	Reason   string        `json:"reason,omitempty"`
	Tags     []string      `json:"tags,omitempty"`
	Category string        `json:"category,omitempty"`
	Sessions []htmlSession `json:"sessions,omitempty"`
	// At is the execution's index in the run.
	At int `json:"at"`
	// Used holds the agent columns when a runner is an agent.
	Used []string `json:"used,omitempty"`
	// Show is the command that shows the sessions, if the page has no place for one of them.
	Show string `json:"show,omitempty"`
}

// htmlSession is the index entry of one session: how it ended and which block has more.
type htmlSession struct {
	Repetition int           `json:"repetition"`
	Session    int           `json:"session"`
	Outcome    plumb.Outcome `json:"outcome"`
	Status     plumb.Status  `json:"status"`
	DurationMs int64         `json:"durationMs"`
	// Head is the number of the block with the session's facts, or -1 when it was left out.
	Head int `json:"head"`
}

// htmlBlocks writes compressed blocks until the page is full.
type htmlBlocks struct {
	w      *bufio.Writer
	n      int
	left   int
	raw    bytes.Buffer
	zip    bytes.Buffer
	gz     *gzip.Writer
	redact *redact.Redactor
}

// write adds a block with v as JSON and returns its number, or -1 when it does not fit.
func (b *htmlBlocks) write(v any) (int, error) {
	b.raw.Reset()
	enc := json.NewEncoder(&b.raw)
	enc.SetEscapeHTML(false) // the JSON is encoded as base64
	if err := enc.Encode(without(b.redact, v)); err != nil {
		return -1, err
	}
	return b.add(b.raw.Bytes())
}

func (b *htmlBlocks) add(text []byte) (int, error) {
	b.zip.Reset()
	b.gz.Reset(&b.zip)
	if _, err := b.gz.Write(text); err != nil {
		return -1, err
	}
	if err := b.gz.Close(); err != nil {
		return -1, err
	}
	size := base64.StdEncoding.EncodedLen(b.zip.Len())
	if size > b.left {
		return -1, nil
	}
	b.left -= size
	_, err := fmt.Fprintf(b.w, "<script type=\"text/plain\" id=\"b%d\">%s</script>\n", b.n,
		base64.StdEncoding.EncodeToString(b.zip.Bytes()))
	b.n++
	return b.n - 1, err
}

// executions writes the sessions of a run, first those of failed and unmeasured executions, so that
// the page holds them even when it gets full.
func (b *htmlBlocks) executions(o *Options, run *plumb.Run) (*htmlIndex, error) {
	index := &htmlIndex{RunID: text.OneLine(run.Info.ID), Runners: []string{}, List: []htmlExecution{}}
	for i := range run.Info.Runners {
		index.Runners = append(index.Runners, runnerTitle(&run.Info.Runners[i]))
	}
	agents := results.HasAgents(run)
	sheet := newAnswerSheet(b.left / htmlAnswerPart)
	for _, i := range htmlOrder(run) {
		c := cellAt(run, i)
		if c.State == plumb.ExecutionPlanned || c.Outcome == plumb.OutcomeSkipped && c.Sessions == 0 {
			continue
		}
		rec, err := c.Record(o.Sessions)
		if err != nil {
			return nil, err
		}
		x, err := b.execution(index, o, &c, rec)
		if err != nil {
			return nil, err
		}
		if err := sheet.add(b, &c, rec); err != nil {
			return nil, err
		}
		x.Runner, x.At = i%len(run.Info.Runners), i
		if agents {
			x.Used = agentCells(c.Execution, "–")
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
func (b *htmlBlocks) execution(index *htmlIndex, o *Options, c *cell, rec *results.Recording) (htmlExecution, error) {
	x := htmlExecution{
		Case: text.OneLine(c.Info.ID), Word: wordOf(c.Execution).name, Reason: text.Clean(c.Reason),
		Category: text.OneLine(c.Info.Category),
	}
	if !c.Status.OK() {
		x.Class = classLabel(c.Class, c.Origin)
	}
	for _, t := range c.Info.Tags {
		x.Tags = append(x.Tags, text.OneLine(t))
	}
	for _, repetition := range rec.Repetitions {
		for _, s := range repetition {
			one, whole, err := b.session(o, c, s)
			if err != nil {
				return x, err
			}
			x.Sessions = append(x.Sessions, one)
			if one.Head < 0 {
				x.Show = c.command("show", o)
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

// htmlOrder returns the executions that a page shows, failed and unmeasured ones first.
func htmlOrder(run *plumb.Run) []int {
	order := make([]int, 0, len(run.Executions))
	for _, urgent := range []bool{true, false} {
		for i := range run.Executions {
			e := &run.Executions[i]
			bad := e.State == plumb.ExecutionDone && e.Outcome != plumb.OutcomeSkipped && !e.Status.OK()
			if bad == urgent && len(order) < htmlExecutions {
				order = append(order, i)
			}
		}
	}
	return order
}

// session writes the blocks of a session and reports whether all of it fits.
func (b *htmlBlocks) session(o *Options, c *cell, s *results.Session) (one htmlSession, whole bool, err error) {
	one = htmlSession{
		Repetition: s.Repetition, Session: s.Number, Outcome: s.Outcome(), Status: s.Status(c.Info.ExpectedFail),
		Head: -1,
	}
	head := headOf(s)
	if head.Explain = c.askAbout(o, s); head.Explain != "" && o.Explained != nil {
		if head.Explained, err = o.Explained(c.SessionDir(".", s.Repetition, s.Number)); err != nil {
			return one, false, err
		}
		for i := range head.Explained {
			head.Explained[i] = tidy(&tidier{}, head.Explained[i])
		}
	}
	head.ArtifactDir = text.Clean(c.SessionDir(c.Run.Info.ArtifactDir, s.Repetition, s.Number))
	head.Show = c.command("show", o)
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

// htmlBlock is a block of a timeline: its number and its count of steps.
type htmlBlock [2]int

// reserve is the space that timelines leave for the facts of the sessions after them.
const reserve = 1 << 20

// timeline writes steps as blocks and reports whether all of them fit.
func (b *htmlBlocks) timeline(steps []step) ([]htmlBlock, bool, error) {
	blocks := []htmlBlock{}
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	from := 0
	for i := range steps {
		if i == from {
			text.Reset()
			text.WriteByte('[')
		} else {
			text.WriteByte(',')
		}
		if err := enc.Encode(without(b.redact, &steps[i])); err != nil {
			return nil, false, err
		}
		if n := i + 1 - from; n == htmlBlockSteps || text.Len() > htmlBlockBytes || i+1 == len(steps) {
			text.WriteByte(']')
			if b.left < reserve {
				return blocks, false, nil
			}
			id, err := b.add(text.Bytes())
			if err != nil || id < 0 {
				return blocks, false, err
			}
			blocks = append(blocks, htmlBlock{id, n})
			from = i + 1
		}
	}
	return blocks, true, nil
}
