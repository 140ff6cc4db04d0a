package agentcli

import (
	"bytes"
	"encoding/json"
	"iter"
	"regexp"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/plumb-eval/plumb"
)

// plain returns a value as text: a string as it is, nothing as "", and everything else as JSON.
func plain(v gjson.Result) string {
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

// take reads several members of an object in one pass: into[i] becomes the one with the name keys[i].
func take(obj gjson.Result, into []gjson.Result, keys ...string) {
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

// plainText returns a text without the escape sequences of terminals.
func plainText(s string) string {
	if !strings.Contains(s, "\x1b") {
		return s
	}
	return ansi.ReplaceAllString(s, "")
}

// refused reports whether a tool's error is that it was not allowed to run. The words are those of the agents themselves,
// not of tools: a command that is denied a file says "permission denied" too.
func refused(said string) bool {
	low := strings.ToLower(clip(said, 1<<10))
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

// patchedFiles yields the files that a patch in the format of apply_patch changes.
func patchedFiles(patch string) iter.Seq[plumb.FileChange] {
	return func(yield func(plumb.FileChange) bool) {
		for line := range strings.Lines(patch) {
			line = strings.TrimRight(line, "\r\n")
			for _, kind := range [...]struct{ mark, kind string }{
				{"*** Add File: ", changeAdd},
				{"*** Update File: ", changeUpdate},
				{"*** Delete File: ", changeDelete},
				{"*** Move to: ", changeAdd},
			} {
				if path, ok := strings.CutPrefix(line, kind.mark); ok && !yield(plumb.FileChange{Path: path, Kind: kind.kind}) {
					return
				}
			}
		}
	}
}
