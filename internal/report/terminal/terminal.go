// Package terminal writes reports for people who read them on a terminal or in a log: live while a
// run is on, and as text at the end; in color or not, in Unicode or in ASCII, for any width.
package terminal

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/report"
	"github.com/plumb-eval/plumb/internal/results"
	"github.com/plumb-eval/plumb/internal/text"
)

// excerptLimit limits the failures shown during the run; further failures are counted.
const excerptLimit = 100

// nearby is the distance in lines up to which the summary does not repeat notes.
const nearby = 20

// executionKey identifies one execution in maps.
type executionKey struct{ caseID, runnerID string }

// Screen is what a report is written to, and how it looks there. The zero value is a log in plain
// ASCII.
type Screen struct {
	// Out is standard output or a file, nil for none. The reporter does not close it.
	Out io.Writer
	// Terminal is set when Out is an interactive terminal, on which the terminal reporter draws a
	// live view.
	Terminal bool
	// Color allows colors; Unicode allows characters beyond ASCII.
	Color, Unicode bool
	// Size returns the size of the terminal in cells. The reporter calls it repeatedly because
	// windows change. The size is 80 by 24 when Size is nil or returns zeros.
	Size func() (width, height int)
	// Now is the clock of the live view; nil means [time.Now].
	Now func() time.Time
	// Waiting says which providers keep the run waiting; "" if none does. It may be nil.
	Waiting func() string
	// Getenv looks up environment variables: NO_COLOR, TERM, GITHUB_ACTIONS, GITHUB_STEP_SUMMARY.
	// It may be nil.
	Getenv func(name string) string
}

// Complete returns s with a value in each field that a reporter calls or writes to.
func (s Screen) Complete() Screen {
	if s.Out == nil {
		s.Out = io.Discard
	}
	if s.Now == nil {
		s.Now = time.Now
	}
	if s.Getenv == nil {
		s.Getenv = func(string) string { return "" }
	}
	return s
}

// Reporter is the reporter for people who watch a run. It draws a live view on an interactive
// terminal and writes plain lines elsewhere. Both end with the same summary.
//
// Report only records, in constant time. A second goroutine, the painter, reads the records ten
// times a second and does the slow work, so that neither a fast run nor a slow terminal delays the
// other.
type Reporter struct {
	screen Screen
	src    *report.Source
	t      theme
	live   bool // draw a live view

	mu       sync.Mutex
	out      *bufio.Writer // for plain lines; the live view writes to the terminal itself
	err      error         // of the painter
	running  map[executionKey]time.Time
	took     []time.Duration                 // by the latest finished executions
	excerpts map[executionKey]report.Excerpt // of unfinished executions
	prompts  map[executionKey]string         // of unfinished executions
	shown    int
	hidden   int
	totals   plumb.Totals
	decision *plumb.Decision       // nil if the run has no question
	broken   map[string]bool       // runners of which a failure was shown
	told     map[executionKey]bool // with a question: executions whose excerpt was shown
	single   bool                  // there is only one runner, so names omit it
	parallel int
	lines    int // lines written below the header
	notes    int // recorded notes among them
	queue    []string
	explain  string // the first command that asks an agent why it failed
	begun    bool
	ended    bool
	pace     pace
	nextLine time.Time // time of the next progress line

	stop    chan struct{}
	stopped sync.WaitGroup
}

// New returns a reporter that writes to a screen.
func New(screen Screen, src *report.Source) *Reporter {
	screen = screen.Complete()
	plain := screen.Getenv("NO_COLOR") != "" || screen.Getenv("TERM") == "dumb"
	color := screen.Color && !plain
	return &Reporter{
		screen: screen, src: src, t: newTheme(color, screen.Unicode), live: screen.Terminal && !plain,
		out:     bufio.NewWriter(screen.Out),
		running: map[executionKey]time.Time{}, excerpts: map[executionKey]report.Excerpt{},
		prompts: map[executionKey]string{}, told: map[executionKey]bool{}, broken: map[string]bool{},
		stop: make(chan struct{}),
	}
}

// Report records ev. The painter writes everything except the summary.
func (r *Reporter) Report(ev plumb.Event, run *plumb.Run) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil {
		return r.err
	}
	x := executionKey{ev.Case, ev.Runner}
	switch ev.Type {
	case plumb.EventRunStarted, plumb.EventPlanned:
		return nil // the header needs the whole plan
	case plumb.EventRunFinished:
		return r.finish(run)
	default:
	}
	if !r.begun {
		r.begin(run)
	}
	switch ev.Type {
	case plumb.EventSessionStarted:
		if _, ok := r.running[x]; !ok {
			r.running[x] = ev.At
		}
	case plumb.EventSessionFinished:
		if ev.Failure != nil {
			r.broken[ev.Runner] = r.broken[ev.Runner] || !ev.Failure.NotAsked
			r.excerpts[x] = report.ExcerptOfFailure(ev.Failure)
		}
		if ev.Report != nil && r.shown < excerptLimit {
			r.prompts[x] = ev.Report.Prompt
		}
	case plumb.EventSessionJudged:
		if j := ev.Judgement; j != nil && j.Outcome != plumb.OutcomePass && r.shown < excerptLimit {
			e := report.ExcerptOf(j)
			if i, err := run.Index(ev.Case, ev.Runner); e.Asks && err == nil {
				c := report.CellAt(run, i)
				e.Explain = c.Explain(r.src, ev.Repetition, ev.Session)
			}
			r.excerpts[x] = e
		}
	case plumb.EventExecutionFinished:
		if res := ev.Result; res != nil && res.Outcome != plumb.OutcomeSkipped && !res.Status.OK() && !r.told[x] &&
			(!res.NotAsked || !r.broken[ev.Runner]) {
			r.broken[ev.Runner] = r.broken[ev.Runner] || res.NotAsked
			r.show(x, res, run)
			if ev.Decision != nil { // the execution ends again with each repetition
				r.told[x] = true
			}
		}
		if from, ok := r.running[x]; ok {
			const recent = 100
			r.took = append(r.took[max(0, len(r.took)-recent+1):], ev.At.Sub(from))
		}
		delete(r.running, x)
		delete(r.excerpts, x)
		delete(r.prompts, x)
	case plumb.EventNote:
		if ev.Note != nil {
			if !ev.Note.Live {
				r.notes++
			}
			r.print(noteLines(r.t, *ev.Note)...)
		}
	default:
	}
	r.totals, r.decision = run.Totals, run.Decision
	return r.err
}

// show prints the excerpt of an execution that did not go well.
func (r *Reporter) show(x executionKey, res *plumb.ExecutionResult, run *plumb.Run) {
	if r.shown == excerptLimit {
		r.hidden++
		return
	}
	r.shown++
	width := r.width()
	lines := []string{r.t.fit(r.heading(x, res), width)}
	e, ok := r.excerpts[x]
	switch {
	case res.Status == plumb.StatusUnexpectedPassed:
		e = report.Excerpt{Message: results.UnexpectedPass}
	case !ok:
		e = report.Excerpt{Message: report.Keep(res.Reason)}
	}
	e.Asked = report.AskedOf(r.prompts[x])
	if i, err := run.Index(x.caseID, x.runnerID); err == nil {
		c := report.CellAt(run, i)
		e.Counts = c.Counts()
	}
	if r.explain == "" {
		r.explain = e.Explain
	}
	lines = append(lines, r.t.excerpt(&e, width)...)
	if r.shown == excerptLimit {
		lines = append(lines, r.t.dim("100 failures shown; the rest are only counted. To see one: plumb show RUN CASE"))
	}
	r.print(lines...)
}

// heading renders the first line of an excerpt.
func (r *Reporter) heading(x executionKey, res *plumb.ExecutionResult) string {
	word, label := r.t.red("FAIL "), report.ClassLabel(res.Class, res.Origin)
	switch {
	case res.Status == plumb.StatusUnexpectedPassed:
		word, label = r.t.red("XPASS"), plumb.ClassUnexpectedPass().Label
	case res.Outcome == plumb.OutcomeError:
		word = r.t.yellow("ERROR")
	}
	return word + " " + r.t.bold(r.name(x)) + "  " + r.t.dim(label)
}

// name returns the shortest name of an execution: the case, with the runner when there are several.
func (r *Reporter) name(x executionKey) string {
	if r.single {
		return text.OneLine(x.caseID)
	}
	return text.OneLine(x.caseID) + " > " + text.OneLine(x.runnerID)
}

// print writes lines, or queues them for the painter when there is a live view.
func (r *Reporter) print(lines ...string) {
	r.lines += len(lines)
	if r.live {
		for _, l := range lines {
			r.queue = append(r.queue, r.src.Redact.String(l))
		}
		return
	}
	for _, l := range lines {
		fmt.Fprintln(r.out, guard(&r.screen, r.src, l))
	}
	r.flush()
}

func (r *Reporter) flush() {
	if err := r.out.Flush(); err != nil && r.err == nil {
		r.err = fmt.Errorf("write the terminal report: %w", err)
	}
}

// guard keeps untrusted text from sending commands to the CI system that reads the log. The gutter
// before such text defeats commands that must start a line; guard breaks those that work anywhere
// in a line.
func guard(screen *Screen, src *report.Source, line string) string {
	line = src.Redact.String(line)
	if screen.Getenv("GITHUB_ACTIONS") == "" && screen.Getenv("TF_BUILD") == "" {
		return line
	}
	return strings.ReplaceAll(strings.ReplaceAll(line, "##[", "## ["), "##vso[", "## vso[")
}

// width returns the columns that a line may fill, or 0 for no limit. The last column stays empty
// because terminals differ in how they wrap there.
func (r *Reporter) width() int {
	if !r.screen.Terminal {
		return 0
	}
	w, _ := r.size()
	return max(1, w-1)
}

func (r *Reporter) size() (width, height int) {
	if r.screen.Size != nil {
		width, height = r.screen.Size()
	}
	if width <= 0 {
		width = 80
	}
	if height <= 0 {
		height = 24
	}
	return width, height
}

// begin writes the header and starts the painter.
func (r *Reporter) begin(run *plumb.Run) {
	r.begun, r.totals, r.single, r.decision = true, run.Totals, len(run.Info.Runners) == 1, run.Decision
	r.parallel = max(1, run.Info.Parallel)
	width := r.width()
	header := r.header(run)
	for i := range header {
		header[i] = r.t.fit(header[i], width)
	}
	r.print(header...)
	r.lines = 0
	now := r.screen.Now()
	done, _ := r.work()
	r.pace.begin(now, done)
	r.nextLine = now.Add(lineGap(0))
	every := time.Second
	if r.live {
		every = frameGap
	}
	r.stopped.Go(func() {
		if r.live {
			r.paintLive(every)
			return
		}
		r.paintPlain(every)
	})
}

// header describes what is about to run.
func (r *Reporter) header(run *plumb.Run) []string {
	info := &run.Info
	work := report.CasesWords(run)
	if n := len(info.Runners); n > 1 {
		work += fmt.Sprintf(" %s %d runners", r.t.times, n)
	}
	if info.Repeat > 1 {
		work += fmt.Sprintf(" %s %d repetitions", r.t.times, info.Repeat)
	}
	if info.Parallel > 1 {
		work += fmt.Sprintf("%s%d at once", r.t.dot, info.Parallel)
	}
	names := make([]string, 0, 8)
	for i := range info.Runners {
		if i == cap(names) {
			names = append(names, fmt.Sprintf("%d more", len(info.Runners)-i))
			break
		}
		names = append(names, report.RunnerTitle(&info.Runners[i]))
	}
	lines := []string{
		r.t.label("suite") + r.t.bold(report.SuiteTitle(info, r.t.dot)) + r.t.dot + work,
		r.t.label("runners") + strings.Join(names, ", "),
	}
	if judge := report.JudgeTitle(info); judge != "" {
		lines = append(lines, r.t.label("judge")+judge)
	}
	if info.Embedder != "" {
		lines = append(lines, r.t.label("embedder")+text.OneLine(info.Embedder))
	}
	if info.ScoredFrom != "" {
		lines = append(lines, r.t.label("scored")+"the sessions of run "+text.OneLine(info.ScoredFrom)+", judged again")
	}
	if n := run.Totals.Finished; n > 0 {
		lines = append(lines, r.t.label("resumed")+fmt.Sprintf("%s of %s already done", text.Count(n),
			text.Count(run.Totals.Planned)))
	}
	if r.src.IsRecording(run) {
		lines = append(lines, r.t.yellow(report.RecordingNotice(&run.Info)))
	}
	return append(lines, "")
}

// counters renders the counts of outcomes.
func (r *Reporter) counters() string {
	t := &r.totals
	parts := []string{r.t.green(text.Count(t.Passed) + " pass")}
	if t.UnexpectedPassed > 0 {
		parts[0] += r.t.red(" (" + text.Count(t.UnexpectedPassed) + " unexpectedly)")
	}
	if t.Failed > 0 {
		fail := text.Count(t.Failed) + " fail"
		if t.Failed > t.ExpectedFailed {
			fail = r.t.red(fail)
		}
		if t.ExpectedFailed > 0 {
			fail += r.t.dim(" (" + text.Count(t.ExpectedFailed) + " as expected)")
		}
		parts = append(parts, fail)
	}
	if t.Errored > 0 {
		parts = append(parts, r.t.yellow(text.Count(t.Errored)+" not measured"))
	}
	return strings.Join(parts, ", ")
}

// progress renders the speed, the remaining time and the cost.
func (r *Reporter) progress(now time.Time) string {
	parts := []string{}
	done, planned := r.work()
	if rate, left := r.pace.rate(now, done, planned); rate > 0 {
		eta := "ETA "
		if r.decision != nil {
			eta += "at most "
		}
		parts = append(parts, rateWords(rate))
		if !r.hanging(now) {
			parts = append(parts, eta+text.Millis(left.Milliseconds()))
		}
	}
	if r.totals.CostUSD > 0 {
		parts = append(parts, text.Money(r.totals.CostUSD))
	}
	return strings.Join(parts, r.t.dot)
}

// work counts what is done and what is planned: executions or, with a question, its draws. The first
// draws only give each case one repetition.
func (r *Reporter) work() (done, planned int) {
	if r.decision != nil {
		return r.decision.Drawn, r.decision.Limit
	}
	return r.totals.Finished, r.totals.Planned
}

// hanging reports whether the oldest running execution takes more than three times the median of the
// finished ones. Then an estimate of the remaining time would climb with the clock.
func (r *Reporter) hanging(now time.Time) bool {
	oldest := r.oldest(1)
	if len(oldest) == 0 || len(r.took) == 0 {
		return false
	}
	took := slices.Sorted(slices.Values(r.took))
	return now.Sub(r.running[oldest[0]]) > max(time.Second, 3*took[len(took)/2])
}

func rateWords(perSecond float64) string {
	switch {
	case perSecond >= 10:
		return fmt.Sprintf("%s/s", text.Count(int64(perSecond)))
	case perSecond >= 0.5:
		return fmt.Sprintf("%.1f/s", perSecond)
	default:
		return fmt.Sprintf("%.1f/min", perSecond*60)
	}
}

// lineGap returns the time between two progress lines. It grows, so that a log of a long run stays
// short.
func lineGap(elapsed time.Duration) time.Duration {
	switch {
	case elapsed < time.Minute:
		return 5 * time.Second
	case elapsed < 10*time.Minute:
		return 15 * time.Second
	default:
		return time.Minute
	}
}

// paintPlain writes progress lines, also while no execution ends, because CI systems kill silent
// jobs.
func (r *Reporter) paintPlain(every time.Duration) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-r.stop:
			return
		case <-ticker.C:
		}
		r.mu.Lock()
		if now := r.screen.Now(); !now.Before(r.nextLine) {
			r.nextLine = now.Add(lineGap(now.Sub(r.pace.start)))
			line := fmt.Sprintf("%s/%s done: %s", text.Count(r.totals.Finished), text.Count(r.totals.Planned), r.counters())
			if p := r.progress(now); p != "" {
				line += r.t.dot + p
			}
			if r.decision != nil {
				line += r.t.dot + report.StandingWords(r.decision, r.t.dot)
			}
			if longest := r.oldest(1); len(longest) > 0 { // shows that a long session still runs
				elapsed := max(0, now.Sub(r.running[longest[0]]).Milliseconds())
				line += fmt.Sprintf("%s%d running (longest %s)", r.t.dot, len(r.running), text.Millis(elapsed))
			}
			if w := r.waiting(); w != "" {
				line += r.t.dot + w
			}
			r.print(r.t.fit(line, r.width()))
		}
		r.mu.Unlock()
	}
}

// waiting says which providers keep the run waiting, or "".
func (r *Reporter) waiting() string {
	if r.screen.Waiting == nil {
		return ""
	}
	return r.screen.Waiting()
}

// finish stops the painter and writes the summary. It holds mu except while it waits.
func (r *Reporter) finish(run *plumb.Run) error {
	if !r.begun {
		r.begin(run)
	}
	r.totals, r.ended = run.Totals, true
	r.rest()
	s := &summary{
		t: r.t, w: r.out, width: r.width(), screen: &r.screen, src: r.src, run: run,
		bare: r.lines == 0, noted: r.notes == len(run.Notes) && r.lines <= nearby,
		explain: r.explain, shown: r.hidden == 0 && r.lines <= 2*nearby,
	}
	s.write()
	r.flush()
	return r.err
}

// rest stops the painter and waits for it. The caller holds mu; rest releases it while it waits.
func (r *Reporter) rest() {
	select {
	case <-r.stop:
		return
	default:
		close(r.stop)
	}
	r.mu.Unlock()
	r.stopped.Wait()
	r.mu.Lock()
	r.live = false
}

// Close restores the terminal. When the run broke off, it prints how far the run got.
func (r *Reporter) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended || !r.begun {
		return r.err
	}
	r.ended = true
	r.rest()
	line := fmt.Sprintf("the run ended early, after %s of %s: ", text.Count(r.totals.Finished),
		text.Count(r.totals.Planned))
	r.print("", r.t.yellow(line)+r.counters())
	return r.err
}

// oldest returns the n executions that have been running longest.
func (r *Reporter) oldest(n int) []executionKey {
	return slices.SortedFunc(maps.Keys(r.running), func(a, b executionKey) int {
		if c := r.running[a].Compare(r.running[b]); c != 0 {
			return c
		}
		return strings.Compare(a.caseID+" "+a.runnerID, b.caseID+" "+b.runnerID)
	})[:min(n, len(r.running))]
}
