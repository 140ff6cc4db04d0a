package transcript

import (
	"iter"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/text"
)

// TextOf returns a value as text: a string unchanged, null and a missing value as "", and any other
// value as JSON.
func TextOf(v gjson.Result) string {
	switch v.Type {
	case gjson.String:
		return v.Str
	case gjson.Null:
		return ""
	default:
		return v.Get("@ugly").Raw
	}
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

// Refused reports whether a tool failed because it was not allowed to run. It looks for the words
// of the agents themselves, because a command that cannot open a file also prints "permission
// denied".
func Refused(message string) bool {
	return containsAny(strings.ToLower(text.Clip(message, 1<<10)),
		"rejected permission to use", "rule which prevents you from using", // opencode
		"permission denied and could not request permission", "the user rejected this tool call",
		"command not executed",                                                               // copilot
		"denied by policy", "tool execution denied", "cancelled by user", "declined by user", // gemini
	)
}

// containsAny reports whether a text contains one of the words.
func containsAny(text string, words ...string) bool {
	return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(text, word) })
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
				if path, ok := strings.CutPrefix(line, kind.mark); ok &&
					!yield(plumb.FileChange{Path: path, Kind: kind.kind}) {
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

// GeminiExit finds the exit code in the result of Gemini's shell tool: labeled lines after the
// output. Newer versions omit the labels of values that are 0 or empty.
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
