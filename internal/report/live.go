package report

import (
	"cmp"
	"io"
	"runtime"
	"strings"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/term"
)

const (
	frameGap    = 100 * time.Millisecond
	liveRunning = 5 // running executions shown
	liveWhole   = 6 // with fewer rows, only the bar
	liveMinimum = 4 // with fewer rows, nothing
)

// paintLive draws the live view until the reporter stops. Permanent lines scroll above the view,
// which is redrawn in place.
func (r *terminal) paintLive(every time.Duration) {
	width, height := r.size()
	out, drawn := liveOutput(r.o.Out)
	profile := colorprofile.ANSI
	if !r.t.color {
		profile = colorprofile.ASCII
	}
	program := tea.NewProgram(liveModel{},
		tea.WithInput(nil),         // the shell keeps the keyboard
		tea.WithoutSignalHandler(), // main handles signals
		tea.WithOutput(out),        //
		tea.WithEnvironment(quietEnv(r.o.Getenv("TERM"))),
		tea.WithColorProfile(profile), //
		tea.WithWindowSize(width, height),
		tea.WithFPS(20),
	)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, err := program.Run()
		if err != nil {
			r.mu.Lock()
			if r.err == nil {
				r.err = err
			}
			r.mu.Unlock()
		}
	}()
	rows := r.viewRows(height)
	frame := func() {
		r.mu.Lock()
		w, h := r.size()
		view, lines := r.view(r.o.Now(), max(1, w-1), rows), r.queue
		r.queue = nil
		r.mu.Unlock()
		if w != width || h != height {
			width, height = w, h
			program.Send(tea.WindowSizeMsg{Width: w, Height: h})
		}
		// Work-around: insertAbove of Bubble Tea v2.0.9 ignores empty text, and loses the view when
		// the text and the view together are higher than the screen (cursed_renderer.go; no issue
		// reports it, related: https://github.com/charmbracelet/bubbletea/issues/1666). Print all
		// lines at once when insertAbove splits them itself.
		room := max(1, h-rows-1)
		for len(lines) > 0 {
			n := min(room, len(lines))
			program.Println(cmp.Or(strings.Join(lines[:n], "\n"), " "))
			lines = lines[n:]
		}
		program.Send(frameMsg(view))
	}
	program.Send(frameMsg(""))
	select {
	case <-drawn: // work-around: see below
	case <-done:
		return
	}
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for going := true; going; {
		frame()
		select {
		case <-ticker.C:
		case <-r.stop:
			going = false
		case <-done:
			return
		}
	}
	frame()
	program.Quit()
	<-done
	// Bubble Tea leaves its last frame on the screen by design and puts the cursor below it. The
	// summary replaces the frame.
	up := ""
	if n := min(rows, height-1); n > 0 {
		up = ansi.CursorUp(n)
	}
	io.WriteString(out, "\r"+up+ansi.EraseScreenBelow) //nolint:errcheck // the summary will fail too
}

// viewRows returns the height of the view on a terminal of the given height, without the row of the
// cursor.
//
// Work-around: the height is constant because Bubble Tea leaves rows of a higher frame behind when
// the view shrinks (https://github.com/charmbracelet/ultraviolet/pull/162). The view may shrink
// once go.mod has a release of ultraviolet with that fix.
func (r *terminal) viewRows(height int) int {
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

// view draws the changing part in the given number of rows: a bar, counters, running executions.
func (r *terminal) view(now time.Time, width, rows int) string {
	if rows == 0 {
		return ""
	}
	t := &r.totals
	position := " " + count(t.Finished) + "/" + count(t.Planned)
	tail := position
	if p := r.progress(now); p != "" {
		tail += r.t.dot + p
	}
	barWidth := min(40, width-ansi.StringWidth(tail)-1)
	if barWidth < 4 {
		barWidth, tail = min(4, max(0, width-ansi.StringWidth(position))), position
	}
	lines := []string{r.t.green(r.t.bar(t.Finished, t.Planned, barWidth)) + tail}
	if rows > 1 {
		counters := r.counters()
		if r.hidden > 0 {
			counters += r.t.dim(" (" + count(r.hidden) + " of them not shown)")
		}
		lines = append(lines, counters)
	}
	if room := rows - len(lines); room > 0 {
		show := len(r.running)
		if show > room {
			show = room - 1
		}
		for _, x := range r.oldest(show) {
			elapsed := duration(max(0, now.Sub(r.running[x]).Milliseconds()))
			lines = append(lines, "  "+pad(r.t.fit(r.name(x), max(1, width-12)),
				min(30, max(1, width-12)))+"  "+r.t.dim(elapsed))
		}
		if more := len(r.running) - show; more > 0 {
			lines = append(lines, r.t.dim("  and "+count(more)+" more running"))
		}
	}
	for i := range lines {
		lines[i] = r.t.fit(lines[i], width)
	}
	return strings.Join(lines, "\n") + strings.Repeat("\n", rows-len(lines))
}

// frameMsg is the text of the live view.
type frameMsg string

// liveModel shows the latest frame, which the painter draws.
type liveModel struct{ frame string }

func (liveModel) Init() tea.Cmd { return nil }

func (m liveModel) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	if f, ok := msg.(frameMsg); ok {
		m.frame = string(f)
	}
	return m, nil
}

// View shows the frame and an empty line with the cursor below it. The cursor stays visible, so
// that the shell has it even after kill -9. Bubble Tea does not know shape -1 and therefore leaves
// the user's cursor shape unchanged.
func (m liveModel) View() tea.View {
	v := tea.NewView(" ")
	v.Cursor = &tea.Cursor{Shape: tea.CursorShape(-1)}
	if m.frame != "" {
		v.SetContent(m.frame + "\n ")
		v.Cursor.Y = strings.Count(m.frame, "\n") + 1
	}
	v.DisableBracketedPasteMode = true
	return v
}

// quietEnv returns an environment that keeps Bubble Tea from querying the terminal. Plumb does not
// read the replies, so the shell would take them for keystrokes. Bubble Tea queries terminals that
// it knows by name and all terminals outside SSH. Work-around for
// https://github.com/charmbracelet/bubbletea/issues/1627; it may go when Bubble Tea has an option
// to disable the queries.
func quietEnv(name string) []string {
	for _, asked := range []string{"ghostty", "wezterm", "alacritty", "kitty", "rio"} {
		if strings.Contains(name, asked) || name == "" {
			name = "xterm-256color"
		}
	}
	return []string{"TERM=" + name, "SSH_TTY=none"}
}

// liveOutput returns the writer for Bubble Tea, and a channel that closes at the first byte. On
// Windows, Bubble Tea needs the console itself to enable escape sequences. On other systems it
// would install a signal handler if it got the terminal.
func liveOutput(w io.Writer) (io.Writer, <-chan struct{}) {
	drawn := make(chan struct{})
	first := firstWrite{w, sync.OnceFunc(func() { close(drawn) })}
	if f, ok := w.(term.File); ok && runtime.GOOS == "windows" {
		return struct {
			firstWrite
			console
		}{first, console{f}}, drawn
	}
	return first, drawn
}

type firstWrite struct {
	w    io.Writer
	note func()
}

func (f firstWrite) Write(p []byte) (int, error) {
	n, err := f.w.Write(p)
	f.note()
	return n, err
}

// console is a terminal without its Write method.
type console struct{ f term.File }

func (c console) Read(p []byte) (int, error) { return c.f.Read(p) }
func (c console) Close() error               { return nil }
func (c console) Fd() uintptr                { return c.f.Fd() }
