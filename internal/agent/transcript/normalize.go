package transcript

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/files"
)

// Transcript is the record that one session of an agent left behind.
type Transcript struct {
	// Stdout and Stderr are files, "" if they do not exist.
	Stdout, Stderr string
	// Session is a directory with the state that the agent kept, "" if there is none. It is
	// searched recursively, because people pass copies.
	Session string
	// Cwd is the workspace, where relative paths in the transcript start. If it is "", the
	// transcript decides.
	Cwd    string
	Prompt string
	// ExitCode is nil if it is not known or a signal ended the agent.
	ExitCode *int
	// Resumed means that the session continues an earlier one: earlier turns in its state files are
	// left out.
	Resumed bool
	// Stopped is why Plumb stopped the agent; nil if the agent ended by itself.
	Stopped error
	// Content returns what is known of the content of the file at an absolute path. Without it, the
	// records alone decide what was read.
	Content func(path string) Content
}

// Lost reports whether there is no stream, and no sign that the agent failed.
func (t *Transcript) Lost() bool {
	return (t.Stdout == "" || !Exists(t.Stdout)) && t.Stopped == nil && (t.ExitCode == nil || *t.ExitCode == 0)
}

// Normalize reads the transcript and returns the report, and the reason if the session is not a
// measurement.
func (r *Recorder) Normalize() (*plumb.SessionReport, error) {
	err := r.Format.Read(r)
	if r.SawRecords == 0 {
		return nil, r.nothing(err)
	}
	r.finish()
	if err != nil {
		return r.Report, r.unreadable(err)
	}
	if f := r.verdict(); f != nil {
		return r.Report, f
	}
	return r.Report, nil
}

func (r *Recorder) unreadable(err error) *plumb.Failure {
	return plumb.Failuref(plumb.OriginNormalization, "normalize the transcript of %s: %w", r.Format.Name, err)
}

// verdict returns why the session is not a measurement, or nil. A session with a successful
// terminal record counts, however its process ended then, except for a step limit.
func (r *Recorder) verdict() *plumb.Failure {
	if r.Stopped != nil {
		f := plumb.Failed(plumb.OriginRunner, r.Stopped)
		if !r.Ended || r.Failure != nil || f.Origin == plumb.OriginMaxSteps {
			return f
		}
	}
	if r.Failure == nil && !r.Ended {
		return r.brokeOff("a terminal record",
			"it was interrupted or it crashed; the report has what it did until then, and stderr.log has its "+
				"own messages")
	}
	return r.Failure
}

// nothing returns the failure of a transcript without a known record.
func (r *Recorder) nothing(err error) *plumb.Failure {
	switch {
	case r.Stopped != nil:
		return plumb.Failed(plumb.OriginRunner, r.Stopped)
	case err != nil && !errors.Is(err, os.ErrNotExist):
		return r.unreadable(err)
	case r.Failure != nil:
		return r.Failure
	case FileSize(r.Stdout) == 0 || r.Strange == 0:
		return r.brokeOff("any output", "run it by hand to see why")
	}
	f := plumb.Failuref(plumb.OriginNormalization, "the output of %s has no known record (%s); it begins with %q",
		r.Format.Name, ExitText(r.ExitCode), r.firstStrange)
	if message := LastLines(r.Stderr); message != "" {
		f.Message += "\n" + message
	}
	f.Hint = fmt.Sprintf("check that it is the output of %s in its JSON format; a new version of the agent may "+
		"have changed the format", r.Format.Name)
	return f
}

// brokeOff returns the failure of an agent that ended without something.
func (r *Recorder) brokeOff(without, hint string) *plumb.Failure {
	message := LastLines(r.Stderr)
	f := r.FailureOf(message, 0)
	f.Message = strings.TrimSpace(fmt.Sprintf("%s\n%s ended without %s (%s)", message, r.Format.Name, without,
		ExitText(r.ExitCode)))
	f.Hint = cmp.Or(f.Hint, hint)
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
	f, err := files.Open(path)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }() // only read
	const tail = 8 << 10
	buf := make([]byte, tail)
	at := max(0, FileSize(path)-tail)
	n, _ := f.ReadAt(buf, at)
	text := WithoutEscapes(string(buf[:n])) // opencode colors it even if it must not
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

// noise reports whether a line of standard error says nothing about a failure.
func noise(line string) bool {
	for _, begin := range []string{
		"Reading additional input from stdin...", // codex
		// gemini
		"YOLO mode is enabled", "Warning: Basic terminal detected", "Warning: 256-color support", "[STARTUP] ",
		"Skill conflict detected: ", "Ripgrep is not available.", "at async ", // gemini
	} {
		if strings.HasPrefix(line, begin) {
			return true
		}
	}
	frame := strings.HasPrefix(line, "at ") && (strings.HasSuffix(line, ")") || strings.Contains(line, "://"))
	// of Node, and codex when it is interrupted
	return frame || strings.Contains(line, "failed to record rollout items")
}
