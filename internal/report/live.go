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
	liveWhole   = 6 // rows below which only the bar is drawn
	liveMinimum = 4 // rows below which nothing is
)

// paintLive draws the live view until the reporter stops: lines that stay go above it, the rest is redrawn in place.
func (r *terminal) paintLive(every time.Duration) {
	width, height := r.size()
	out, drawn := liveOutput(r.o.Out)
	profile := colorprofile.ANSI
	if !r.t.color {
		profile = colorprofile.ASCII
	}
	program := tea.NewProgram(liveModel{},
		tea.WithInput(nil),         // keys belong to the shell
		tea.WithoutSignalHandler(), // signals belong to main
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
		// Bubble Tea loses the view when it puts more lines above it than fit beside it, and drops empty lines.
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
	case <-drawn: // Bubble Tea miscounts rows when lines go above a view that was never drawn
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
	// Bubble Tea leaves the view on the screen and the cursor below it.
	up := ""
	if n := min(rows, height-1); n > 0 {
		up = ansi.CursorUp(n)
	}
	io.WriteString(out, "\r"+up+ansi.EraseScreenBelow) //nolint:errcheck // the summary will fail too
}

// viewRows is the number of rows that the view has on a terminal of the given height, that of the cursor left out. It
// does not change while the view is there: Bubble Tea leaves the rest of a higher view behind.
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

// view draws the part that changes, of the given number of rows: a bar, the counters, what is running.
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
			lines = append(lines, "  "+pad(r.t.fit(r.name(x), max(1, width-12)), min(30, max(1, width-12)))+"  "+r.t.dim(elapsed))
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

// liveModel shows the latest frame. All that it shows is made by the painter.
type liveModel struct{ frame string }

func (liveModel) Init() tea.Cmd { return nil }

func (m liveModel) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	if f, ok := msg.(frameMsg); ok {
		m.frame = string(f)
	}
	return m, nil
}

// View shows the frame and below it an empty line with the cursor on it. The cursor is never hidden: even after
// kill -9 the shell has it. Shape -1 is no shape to Bubble Tea, which would otherwise change that of the user.
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

// quietEnv is an environment in which Bubble Tea asks the terminal nothing. Nobody would read the answers, and the shell
// would take them for keys: it asks terminals that it knows by name, and any that is not behind SSH.
func quietEnv(name string) []string {
	for _, asked := range []string{"ghostty", "wezterm", "alacritty", "kitty", "rio"} {
		if strings.Contains(name, asked) || name == "" {
			name = "xterm-256color"
		}
	}
	return []string{"TERM=" + name, "SSH_TTY=none"}
}

// liveOutput returns what Bubble Tea writes to, and a channel that is closed with the first byte. On Windows Bubble Tea
// needs the console itself, to switch escape sequences on; elsewhere it would install a signal handler.
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
