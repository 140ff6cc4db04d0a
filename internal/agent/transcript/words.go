package transcript

import (
	"bytes"
	"encoding/json"
	"iter"
	"regexp"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/plumb-eval/plumb"
)

// TextOf returns a value as text: a string as it is, nothing as "", and everything else as JSON.
func TextOf(v gjson.Result) string {
	switch v.Type {
	case gjson.String:
		return v.Str
	case gjson.Null:
		return ""
	default:
		var compact bytes.Buffer
		if err := json.Compact(&compact, []byte(v.Raw)); err != nil {
			return v.Raw
		}
		return compact.String()
	}
}

// Members reads several members of an object in one pass: into[i] becomes the one with the name keys[i].
func Members(obj gjson.Result, into []gjson.Result, keys ...string) {
	if !obj.IsObject() {
		return
	}
	left := len(keys)
	obj.ForEach(func(name, value gjson.Result) bool {
		for i, k := range keys {
			if name.Str == k && !into[i].Exists() {
				into[i] = value
				left--
				break
			}
		}
		return left > 0
	})
}

// ansi matches the escape sequences of terminals.
var ansi = regexp.MustCompile("\x1b(\\[[0-?]*[ -/]*[@-~]|\\][^\x07\x1b]*(\x07|\x1b\\\\)|[@-Z\\\\^_])")

// WithoutEscapes returns a text without the escape sequences of terminals.
func WithoutEscapes(s string) string {
	if !strings.Contains(s, "\x1b") {
		return s
	}
	return ansi.ReplaceAllString(s, "")
}

// Refused reports whether a tool's error is that it was not allowed to run. The words are those of the agents themselves,
// not of tools: a command that is denied a file says "permission denied" too.
func Refused(said string) bool {
	low := strings.ToLower(Clip(said, 1<<10))
	for _, words := range []string{
		"rejected permission to use", "rule which prevents you from using", // opencode
		"permission denied and could not request permission", "the user rejected this tool call", "command not executed", // copilot
		"denied by policy", "tool execution denied", "cancelled by user", "declined by user", // gemini
	} {
		if strings.Contains(low, words) {
			return true
		}
	}
	return false
}

// PatchedFiles yields the files that a patch in the format of apply_patch changes.
func PatchedFiles(patch string) iter.Seq[plumb.FileChange] {
	return func(yield func(plumb.FileChange) bool) {
		for line := range strings.Lines(patch) {
			line = strings.TrimRight(line, "\r\n")
			for _, kind := range [...]struct{ mark, kind string }{
				{"*** Add File: ", ChangeAdd},
				{"*** Update File: ", ChangeUpdate},
				{"*** Delete File: ", ChangeDelete},
				{"*** Move to: ", ChangeAdd},
			} {
				if path, ok := strings.CutPrefix(line, kind.mark); ok && !yield(plumb.FileChange{Path: path, Kind: kind.kind}) {
					return
				}
			}
		}
	}
}

// CodexParts joins the texts of a message.
func CodexParts(content gjson.Result) string {
	if content.Type == gjson.String {
		return content.Str
	}
	var texts []string
	for _, part := range content.Array() {
		if text := part.Get("text"); text.Type == gjson.String && text.Str != "" {
			texts = append(texts, text.Str)
		}
	}
	return strings.Join(texts, "\n")
}

// UsageOf returns what one request used as a sum of one.
func UsageOf(u plumb.RequestUsage) plumb.Usage {
	return plumb.Usage{
		InputTokens: u.InputTokens, OutputTokens: u.OutputTokens, ReasoningTokens: u.ReasoningTokens,
		CacheTokens: u.CacheTokens, CacheWriteTokens: u.CacheWriteTokens,
	}
}

// GeminiExit finds the exit code in what the shell tool answered: lines after the output, each with a label. Newer versions
// leave out what went well.
func GeminiExit(output string) (code int, ok bool) {
	rest := strings.TrimSpace(clipStart(output, 4<<10))
	for end := len(rest); end >= 0; {
		start := strings.LastIndexByte(rest[:end], '\n')
		line := rest[start+1 : end]
		end = start
		label, value, labelled := strings.Cut(line, ":")
		switch value = strings.TrimSpace(value); {
		case line == "</untrusted_context>":
		case !labelled:
			return 0, ok
		case label == "Exit Code":
			n, err := strconv.Atoi(value)
			return n, err == nil
		case label == "Process Group PGID":
			ok = true
		case label == "Background PIDs":
		case label == "Signal" || label == "Error":
			if value != "(none)" {
				return 0, false // it did not exit
			}
		default:
			return 0, ok
		}
	}
	return 0, ok
}

// clipStart returns at most the last n bytes of s.
func clipStart(s string, n int) string { return s[max(0, len(s)-n):] }
