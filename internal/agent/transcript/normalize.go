package transcript

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/plumb-eval/plumb"
)

// Transcript is what one session of an agent left behind.
type Transcript struct {
	// Stdout and Stderr are files; "" where there is none.
	Stdout, Stderr string
	// Session is a directory with the state that the agent kept, "" where there is none. It is searched recursively, since
	// people hand in copies.
	Session string
	// Cwd is the workspace, where relative paths in the transcript start; "" learns it from the transcript.
	Cwd    string
	Prompt string
	// ExitCode is nil when it is not known or a signal ended the agent.
	ExitCode *int
	// Resumed says that the session goes on with an earlier one: what its state files say of earlier turns is left out.
	Resumed bool
	// Stopped is why the supervisor ended the agent; nil if it ended by itself.
	Stopped error
}

// Lost reports whether there is no stream, and nothing that says that the agent failed.
func (t *Transcript) Lost() bool {
	return (t.Stdout == "" || !Exists(t.Stdout)) && t.Stopped == nil && (t.ExitCode == nil || *t.ExitCode == 0)
}

// Normalize reads a transcript into the recorder and returns its report, and why the session is not a measurement.
func (r *Recorder) Normalize(t *Transcript) (*plumb.SessionReport, error) {
	err := r.Format.Read(t, r)
	if r.SawRecords == 0 {
		return nil, r.nothing(t, err)
	}
	r.finish(t)
	if err != nil {
		return r.Report, plumb.Failuref(plumb.OriginNormalization, "normalise the transcript of %s: %w", r.Format.Name, err)
	}
	if f := r.verdict(t); f != nil {
		return r.Report, f
	}
	return r.Report, nil
}

// verdict says why the session is no measurement, or returns nil. A session that the agent itself called finished counts,
// however its process ended then; only a step limit stands above that.
func (r *Recorder) verdict(t *Transcript) *plumb.Failure {
	if t.Stopped != nil {
		f := plumb.Failed(plumb.OriginRunner, t.Stopped)
		if !r.Ended || r.Failure != nil || f.Origin == plumb.OriginMaxSteps {
			return f
		}
	}
	if r.Failure != nil {
		return r.Failure
	}
	if !r.Ended {
		said := LastLines(t.Stderr)
		f := r.FailureOf(said, 0)
		f.Message = fmt.Sprintf("%s ended without a terminal record (%s)", r.Format.Name, ExitText(t.ExitCode))
		if said != "" {
			f.Message = said + "\n" + f.Message
		}
		if f.Hint == "" {
			f.Hint = "it was interrupted or crashed; what it did until then is in the report, its own words are in stderr.log"
		}
		return f
	}
	return nil
}

// nothing is the failure of a transcript that holds no record that is understood.
func (r *Recorder) nothing(t *Transcript, err error) *plumb.Failure {
	if t.Stopped != nil {
		return plumb.Failed(plumb.OriginRunner, t.Stopped)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return plumb.Failuref(plumb.OriginNormalization, "normalise the transcript of %s: %w", r.Format.Name, err)
	}
	if r.Failure != nil {
		return r.Failure
	}
	said := LastLines(t.Stderr)
	if FileSize(t.Stdout) == 0 || r.Strange == 0 {
		f := r.FailureOf(said, 0)
		f.Message = fmt.Sprintf("%s ended without any output (%s)", r.Format.Name, ExitText(t.ExitCode))
		if said != "" {
			f.Message = said + "\n" + f.Message
		}
		if f.Hint == "" {
			f.Hint = "it ended before it said anything: run it by hand to see why"
		}
		return f
	}
	f := plumb.Failuref(plumb.OriginNormalization, "nothing of the output of %s could be understood (%s); it begins %q",
		r.Format.Name, ExitText(t.ExitCode), r.firstStrange)
	if said != "" {
		f.Message += "\n" + said
	}
	f.Hint = fmt.Sprintf("is it the output of %s, in its JSON format? A new version of the agent may have changed the format", r.Format.Name)
	return f
}

// ExitText returns an exit code for a message.
func ExitText(code *int) string {
	if code == nil {
		return "killed, or exit code unknown"
	}
	return fmt.Sprintf("exit %d", *code)
}

// FileSize returns the size of a file, 0 if it does not exist.
func FileSize(path string) int64 {
	if path == "" {
		return 0
	}
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

// LastLines returns the end of a file for a message: at most six lines that are not JSON.
func LastLines(path string) string {
	if path == "" {
		return ""
	}
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }() // only read
	const tail = 8 << 10
	buf := make([]byte, tail)
	at := max(0, FileSize(path)-tail)
	n, _ := f.ReadAt(buf, at)
	text := WithoutEscapes(string(buf[:n])) // opencode colours it whatever it is told
	if at > 0 {
		_, text, _ = strings.Cut(text, "\n")
	}
	var lines []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line != "" && !noise(line) && !strings.HasPrefix(line, "{") {
			lines = append(lines, strings.ToValidUTF8(line, "\uFFFD"))
		}
	}
	return strings.Join(lines[max(0, len(lines)-6):], "\n")
}

// noise reports whether a line of standard error is one that an agent always writes.
func noise(line string) bool {
	for _, begin := range []string{
		"Reading additional input from stdin...",                                                               // codex
		"YOLO mode is enabled", "Warning: Basic terminal detected", "Warning: 256-color support", "[STARTUP] ", // gemini
		"Skill conflict detected: ", "Ripgrep is not available.", "at async ", // gemini
	} {
		if strings.HasPrefix(line, begin) {
			return true
		}
	}
	frame := strings.HasPrefix(line, "at ") && (strings.HasSuffix(line, ")") || strings.Contains(line, "://"))
	return frame || strings.Contains(line, "failed to record rollout items") // of Node, and codex when it is interrupted
}
