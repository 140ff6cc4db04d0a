package terminal

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/plumb-eval/plumb/internal/report"
	"github.com/plumb-eval/plumb/internal/text"
)

const (
	frameGap    = 100 * time.Millisecond
	liveRunning = 5 // running executions shown
	liveWhole   = 6 // with fewer rows, only the bar
	liveMinimum = 4 // with fewer rows, nothing
)

// paintLive draws the live view until the reporter stops. Permanent lines scroll above the view,
// which is redrawn in place. The cursor stays visible, so that the shell has it even after kill -9.
func (r *Reporter) paintLive(every time.Duration) {
	if f, ok := r.screen.Out.(*os.File); ok {
		enableSequences(f)
	}
	drawn := 0 // rows of the view above the cursor
	last := ""
	frame := func(view, permanent []string) {
		lines := slices.Concat(permanent, view)
		text := strings.Join(lines, ansi.EraseLineRight+"\n")
		if len(lines) > 0 {
			text += ansi.EraseLineRight + "\n"
		}
		text += ansi.EraseScreenBelow
		if text == last && len(permanent) == 0 {
			return
		}
		up := "\r"
		if drawn > 0 {
			up += ansi.CursorUp(drawn)
		}
		drawn, last = len(view), text
		if _, err := io.WriteString(r.screen.Out, up+text); err != nil {
			r.mu.Lock()
			if r.err == nil {
				r.err = fmt.Errorf("write the terminal report: %w", err)
			}
			r.mu.Unlock()
		}
	}
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for going := true; going; {
		select {
		case <-ticker.C:
		case <-r.stop:
			going = false
		}
		r.mu.Lock()
		width, height := r.size()
		view, permanent := r.view(r.screen.Now(), max(1, width-1), r.viewRows(height)), r.queue
		r.queue = nil
		r.mu.Unlock()
		if !going {
			view = nil
		}
		frame(view, permanent)
	}
}

// viewRows returns the largest height of the view on a terminal of the given height, without the
// row of the cursor.
func (r *Reporter) viewRows(height int) int {
	switch {
	case height < liveMinimum:
		return 0
	case height < liveWhole:
		return 1
	}
	running := min(liveRunning, r.parallel, height-liveWhole)
	if running < r.parallel && running > 0 {
		running++
	}
	return 2 + running
}

// view draws the changing part in at most the given number of rows: a bar, counters, running
// executions.
func (r *Reporter) view(now time.Time, width, rows int) []string {
	if rows == 0 {
		return nil
	}
	done, planned := r.work()
	position := " " + text.Count(done) + "/" + text.Count(planned)
	tail := position
	if p := r.progress(now); p != "" {
		tail += r.t.dot + p
	}
	barWidth := min(40, width-ansi.StringWidth(tail)-1)
	if barWidth < 4 {
		barWidth, tail = min(4, max(0, width-ansi.StringWidth(position))), position
	}
	lines := []string{r.t.green(r.t.bar(done, planned, barWidth)) + tail}
	if rows > 1 {
		counters := r.counters()
		if r.hidden > 0 {
			counters += r.t.dim(" (" + text.Count(r.hidden) + " of them not shown)")
		}
		lines = append(lines, counters)
	}
	if r.decision != nil && rows > len(lines) {
		lines = append(lines, report.StandingWords(r.decision, r.t.dot))
	}
	if w := r.waiting(); w != "" && rows > len(lines) {
		lines = append(lines, r.t.yellow(w))
	}
	if room := rows - len(lines); room > 0 {
		show := len(r.running)
		if show > room {
			show = room - 1
		}
		for _, x := range r.oldest(show) {
			elapsed := text.Millis(max(0, now.Sub(r.running[x]).Milliseconds()))
			lines = append(lines, "  "+text.Pad(r.t.fit(r.name(x), max(1, width-12)),
				min(30, max(1, width-12)))+"  "+r.t.dim(elapsed))
		}
		if more := len(r.running) - show; more > 0 {
			lines = append(lines, r.t.dim("  and "+text.Count(more)+" more running"))
		}
	}
	for i := range lines {
		lines[i] = r.t.fit(lines[i], width)
	}
	return lines
}
