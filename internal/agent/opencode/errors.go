package opencode

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/plumb-eval/plumb/internal/agent/transcript"
)

// errorText returns what an error says.
func errorText(e gjson.Result) string {
	data := e.Get("data")
	for _, said := range []string{data.Get("message").String(), e.Get("message").String()} {
		if said != "" {
			return said
		}
	}
	if e.Get("name").String() == "ProviderModelNotFoundError" {
		return "Model not found: " + data.Get("providerID").String() + "/" + data.Get("modelID").String()
	}
	return transcript.TextOf(e)
}

// failed records an error. Older versions have its text at another place.
func (th *openThread) failed(e gjson.Result) {
	data, name, said := e.Get("data"), e.Get("name").String(), errorText(e)
	detail, log := name+"\n"+data.Get("responseBody").String(), ""
	if strings.Contains(said, "server logs") {
		var line string
		if log, line = th.o.serverLog(data.Get("ref").String()); line != "" {
			said += "\n" + line
		}
	}
	f := th.o.r.FailureOf(said+"\n"+detail, int(data.Get("statusCode").Int()))
	f.Message, f.LogPath = strings.Clone(transcript.Clip(said, 4<<10)), log
	switch {
	case name == "ProviderAuthError" && f.HTTPStatus == 0:
		f = th.o.r.FailureOf(said+"\nnot logged in", 0)
		f.Message = strings.Clone(transcript.Clip(said, 4<<10))
	case name == "MessageAbortedError":
		f.Hint = "something interrupted the agent"
	case f.Hint == "" && log == "" && strings.Contains(said, "server logs"):
		if !th.began && transcript.FileSize(th.o.t.Stderr) == 0 {
			f = th.o.r.Troubles()[0].Apply(f) // it says no more of a model or provider that it does not know
		}
		f.Hint = "OpenCode says so of an unknown model or provider: check the runner's model; the reason is in its opencode/log directory"
	}
	th.failure, th.reason = f, ""
}

// serverLog finds in OpenCode's own log what it would not say: the line with the reference of the error, or else the last
// one about an error. The log is on stderr if OpenCode was told so; its file often lacks the last lines.
func (o *opencode) serverLog(ref string) (path, line string) {
	logs, err := transcript.SessionFiles(o.t.Session, func(path string) bool {
		return strings.HasSuffix(path, ".log") && strings.Contains(filepath.ToSlash(path), "/log/")
	})
	if err != nil {
		return "", ""
	}
	if o.t.Stderr != "" {
		logs = append(logs, o.t.Stderr)
	}
	for _, log := range slices.Backward(logs) {
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

// logError returns what a line of the log is about: its error, or the whole line.
func logError(line string) string {
	if _, after, ok := strings.Cut(line, ` error="`); ok {
		if said, _, ok := strings.Cut(after, `"`); ok && said != "" {
			line = said
		}
	}
	return strings.ToValidUTF8(transcript.Clip(line, 2<<10), "\uFFFD")
}
