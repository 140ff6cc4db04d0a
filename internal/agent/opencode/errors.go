package opencode

import (
	"cmp"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/plumb-eval/plumb/internal/agent/transcript"
	"github.com/plumb-eval/plumb/internal/text"
)

// errorText returns the message of an error.
func errorText(e gjson.Result) string {
	message := transcript.FirstText(e, "data.message", "message") // the second is from older versions
	if message == "" && e.Get("name").String() == "ProviderModelNotFoundError" {
		message = "Model not found: " + e.Get("data.providerID").String() + "/" + e.Get("data.modelID").String()
	}
	return cmp.Or(message, transcript.TextOf(e))
}

// failed records an error.
func (th *openThread) failed(e gjson.Result) {
	data, name, message := e.Get("data"), e.Get("name").String(), errorText(e)
	detail, log := name+"\n"+data.Get("responseBody").String(), ""
	if strings.Contains(message, "server logs") {
		var line string
		if log, line = th.o.serverLog(data.Get("ref").String()); line != "" {
			message += "\n" + line
		}
	}
	f := th.o.r.FailureOf(message+"\n"+detail, int(data.Get("statusCode").Int()))
	f.LogPath = log
	switch {
	case name == "ProviderAuthError" && f.HTTPStatus == 0:
		f = th.o.r.FailureOf(message+"\nnot logged in", 0)
	case name == "MessageAbortedError":
		f.Hint = "something interrupted the agent"
	case f.Hint == "" && log == "" && strings.Contains(message, "server logs"):
		if !th.began && transcript.FileSize(th.o.r.Stderr) == 0 {
			f = th.o.r.Troubles()[0].Apply(f) // OpenCode reports an unknown model or provider without details
		}
		f.Hint = "OpenCode reports an unknown model or provider like this: check the runner's model; the reason is " +
			"in its opencode/log directory"
	}
	f.Message = strings.Clone(text.Clip(message, 4<<10))
	th.failure, th.reason = f, ""
}

// serverLog finds the reason for an error in OpenCode's own log: the line with the reference of the
// error, or else the last line about an error. With --print-logs, the log is on standard error. The
// log file often lacks the last lines.
func (o *opencode) serverLog(ref string) (path, line string) {
	logs, err := transcript.SessionFiles(o.r.Session, func(path string) bool {
		return strings.HasSuffix(path, ".log") && strings.Contains(filepath.ToSlash(path), "/log/")
	})
	if err != nil {
		return "", ""
	}
	for _, log := range slices.Backward(append(logs, o.r.Stderr)) {
		exact := false
		err := transcript.EachLine(log, func(b []byte) error {
			text := transcript.WithoutEscapes(string(b))
			hit := ref != "" && strings.Contains(text, ref)
			if hit || !exact && (strings.HasPrefix(text, "ERROR") || strings.Contains(text, "level=ERROR")) {
				path, line, exact = log, logError(text), hit || exact
			}
			return nil
		})
		if line != "" || err != nil && !errors.Is(err, fs.ErrNotExist) {
			return path, line
		}
	}
	return "", ""
}

// logError returns the error in a line of the log, or the whole line.
func logError(line string) string {
	if _, after, ok := strings.Cut(line, ` error="`); ok {
		if message, _, ok := strings.Cut(after, `"`); ok && message != "" {
			line = message
		}
	}
	return strings.ToValidUTF8(text.Clip(line, 2<<10), "\uFFFD")
}
