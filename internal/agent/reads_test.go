package agent

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/plumb-eval/plumb/internal/agent/transcript"
)

// readsSkill is the file that the commands below ask for, readsText its content.
const (
	readsSkill = ".agents/skills/foo/SKILL.md"
	readsText  = "---\nname: foo\ndescription: Formats the figures of forms.\n---\nUse the formatter.\n"
)

// readsWays are ways to ask for a file, and whether its content in the output proves that it was read.
func readsWays() map[string]bool {
	ways := map[string]bool{}
	for _, way := range []string{
		"cat F", "cat F 2>/dev/null || echo none", "cat F 2>/dev/null", "sed -n 1,20p F", "head -n 20 F | cat", "[ -f F ] && cat F; ls",
		"if [ -f F ]; then cat F; fi", "if [ -f F ]; then cat F; else echo none; fi", "for f in 1; do cat F; done", "case a in a) cat F;; esac",
		"f() { cat F; }; f", "(cat F)", "{ cat F; }", "cat F & wait", "bash -c 'cat F'", "cat < F", "grep -n . F", "cd . && cat F",
		"set -e; true; cat F", "x=$(cat F); echo \"$x\"", "cat F >&2", "cat nothing F; true", "test -s F || exit 0; cat F", "while [ -f F ]; do cat F; break; done",
		"timeout 5 cat F", "cat -n F", "cat F | head -50", "! cat F", "cat F 2>&1",
	} {
		ways[way] = true
	}
	for _, way := range []string{
		"true || cat F", "false && cat F", "if false; then cat F; fi", "if true; then echo a; else cat F; fi", "f() { cat F; }; echo a",
		"while false; do cat F; done", "until true; do cat F; done", "for f in; do cat F; done", "exit 0; cat F", "set -e; false; cat F",
		"cat F >/dev/null", "cat F &>/dev/null", "cat F >/dev/null 2>&1", "cat F | wc -l", "cat F | grep -q name", "cat F | head -0", "head -n 0 F",
		"cat F | cat >/dev/null", "(cat F) >/dev/null", "{ cat F; } | wc -c", "exec >/dev/null; cat F", "wc -l F", "ls -l F", "grep -l name F",
		"grep -c name F", "test -f F", "cat <<E\ncat F\nE", "echo cat F", "# cat F", "cat F >copy", "tee copy < F >/dev/null", "xargs cat </dev/null # F",
		"find . -name none -exec cat F \\;", "command -v cat F", "cp F copy", "stat F", "[ -n \"$(cat F)\" ]", "cat F | cat - a >/dev/null", "cat F >&-",
	} {
		ways[way] = false
	}
	return ways
}

// TestA5_ReadsOfAllAgents: in the records of each agent, a file counts as read and its skill as used if and only if the command
// can have shown it and the output has its content, whatever the exit code. What did not certainly not happen is unproven.
func TestA5_ReadsOfAllAgents(t *testing.T) {
	contents := map[string]transcript.Content{
		"known":   {Versions: []string{readsText}, Sure: true},
		"changed": {Versions: []string{"something else before it was written\n", readsText}},
		"missing": {Sure: true},
	}
	for _, agent := range []string{"codex", "claude-code", "opencode", "cursor-agent", "copilot", "gemini", "qwen"} {
		begin, call, end := streamRecords(agent)
		for way, shows := range readsWays() {
			command := strings.ReplaceAll(way, "F", readsSkill)
			for outputName, output := range map[string]string{
				"content": "before\n" + readsText + "after\n", "numbered": "     1\t---\n     2\tname: foo\n     3\tdescription: Formats the figures of forms.\n",
				"none": "none\n", "nothing": "", "error": "cat: " + readsSkill + ": No such file or directory\n",
			} {
				for _, code := range []int{0, 1} {
					for contentName, content := range contents {
						if contentName != "known" && (code != 0 || outputName == "numbered") {
							continue
						}
						tr := written(t, begin+readsCall(t, agent, call, command, output, code)+end, "", nil)
						tr.Content = func(path string) transcript.Content {
							if path == "/ws/"+readsSkill {
								return content
							}
							return transcript.Content{}
						}
						report, err := Normalize(agent, tr)
						if err != nil {
							t.Fatalf("%s: %q: %v", agent, command, err)
						}
						about := fmt.Sprintf("%s: %q, %s file, output %s, exit code %d", agent, command, contentName, outputName, code)
						has := outputName == "content" || outputName == "numbered"
						want := shows && has && contentName != "missing"
						read := slices.Contains(report.Files.ObservedReads, "/ws/"+readsSkill)
						used := len(report.DetectedSkills) > 0
						unproven := slices.Contains(report.UnprovenReads, "/ws/"+readsSkill)
						fallback := contentName != "known" && code == 0 && shows && outputName != "nothing" && outputName != "error"
						if read != want && !fallback || used != read || read && unproven {
							t.Errorf("%s: read %t, used %t, unproven %t, want %t", about, read, used, unproven, want)
						}
						if contentName == "known" && !has && !strings.Contains(command, "copy") && unproven {
							t.Errorf("%s: it is unproven, but the output shows nothing of it", about)
						}
					}
				}
			}
		}
	}
}

// readsCall puts a command with its output and exit code into a record of [streamRecords].
func readsCall(t *testing.T, agent, call, command, output string, code int) string {
	t.Helper()
	quoted := func(s string) string {
		data, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	switch agent {
	case "gemini", "qwen":
		output = fmt.Sprintf("Command: %s\nDirectory: (root)\nOutput: %s\nError: (none)\nExit Code: %d", command, output, code)
	case "claude-code":
		if code != 0 {
			output = fmt.Sprintf("Exit code %d\n%s", code, output)
			call = strings.Replace(call, `"is_error":false`, `"is_error":true`, 1)
		}
	case "codex":
		call = strings.ReplaceAll(call, "cat f%d.txt", strings.ReplaceAll("cat f%d.txt", "'", `'\''`))
		inner := quoted(strings.ReplaceAll(command, "'", `'\''`))
		call = strings.ReplaceAll(call, "cat f%d.txt", inner[1:len(inner)-1])
	}
	call = strings.NewReplacer(
		`"exit_code":0`, fmt.Sprintf(`"exit_code":%d`, code), `"exitCode":0`, fmt.Sprintf(`"exitCode":%d`, code),
		`"exit":0`, fmt.Sprintf(`"exit":%d`, code), `"cat f%d.txt"`, quoted(command), "%q", quoted(output), "%d", "1",
	).Replace(call)
	return call
}
