package transcript

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// bashFiles are the files of the scripts below. No line is in two of them.
func bashFiles() map[string]string {
	return map[string]string{
		"a.md":                      "# The first document\n\nIt says something about apples.\n",
		"sub/b.md":                  "# The second document\n\nBananas are curved fruits.\nAnd yellow.\n",
		".agents/skills/f/SKILL.md": "---\nname: f\ndescription: Formats the figures of forms.\n---\nUse the formatter.\n",
		"short.txt":                 "alpha\nbeta\n",
		"data.json":                 "{\"fruit\": \"cherry tomato\"}\n",
	}
}

// bashScript generates scripts that read files, and do not, in the ways of agents.
type bashScript struct {
	t *rapid.T
	// body means that the script is inside a function, which must not call itself.
	body bool
}

func (g bashScript) one(of ...string) string { return rapid.SampledFrom(of).Draw(g.t, "word") }

func (g bashScript) file() string {
	return g.one("a.md", "a.md", "sub/b.md", "b.md", ".agents/skills/f/SKILL.md", ".agents/skills/g/SKILL.md", "short.txt",
		"data.json", "nope.md")
}

func (g bashScript) simple() string {
	f := g.file()
	return g.one("cat "+f, "cat "+f, "cat "+f, "cat -n "+f, "head -n 2 "+f, "head -0 "+f, "tail -n 1 "+f, "sed -n 1,3p "+f,
		"sed -n 1,3p "+f, "grep -n a "+f, "grep -q a "+f, "grep -l a "+f, "nl -ba "+f, "wc -l "+f, "wc -l < "+f, "cat < "+f, "cut -c 1-9 "+f,
		"sort "+f, "jq -r .fruit "+f, "cat a.md "+f, "cat "+f+" short.txt", "ls", "ls "+f, "echo none", "echo cat "+f, "true", "false",
		"[ -f "+f+" ]", "test -s "+f, "cd sub", "cd ..", "cd nowhere", "exit 0", "exit 3", "set -e", "cat <<E\n"+f+"\nE\n", "x=$(cat "+f+")",
		"echo \"$(cat "+f+")\"", "echo $(cat "+f+") | wc -c", "exec cat "+f, "unknown-program "+f, "bash -c 'cat "+f+"'",
		"bash -ec 'false; cat "+f+"'", "echo "+f+" | xargs cat", "xargs cat </dev/null", "find . -name nothing -exec cat "+f+" \\;",
		"eval 'cat "+f+"'", "trap 'cat "+f+"' EXIT", "cp "+f+" copy.md", "cat copy.md", "tee copy.md < "+f, "diff a.md "+f,
		"command -v cat "+f, "exec >/dev/null", "return", "break", "trap 'exit 0' EXIT", "cat() { echo no; }", "x=1 cat "+f,
		"! cat "+f, "time cat "+f, "while read l; do echo \"$l\"; done < "+f, "base64 "+f, "$(cat "+f+")", "timeout 5 cat "+f)
}

func (g bashScript) script(depth int) string {
	if depth == 0 {
		return g.redirected(g.simple())
	}
	s := func() string { return g.script(depth - 1) }
	lines := func() string { return strings.TrimRight(s(), "\n") + "\n" }
	kind := g.one("simple", ";", ";", "&&", "||", "|", "if", "for", "while", "case", "function", "group", "subshell", "&", "else")
	if kind == "function" && g.body {
		kind = "group"
	}
	switch kind {
	case ";":
		return lines() + s()
	case "&&":
		return "{ " + lines() + "} && { " + lines() + "}"
	case "||":
		return "{ " + lines() + "} || { " + lines() + "}"
	case "|":
		return g.redirected("{ "+lines()+"} | ") + g.one("cat", "wc -l", "grep -q a", "grep a", "head -1", "head -0", "head -n 0",
			"tail -2", "cat >/dev/null", "sed -n 2p", "cat | wc -l", "sort | head -3", "true", "cat a.md", "tee copy.md", "tr a-z a-z",
			"while read l; do echo $l; done", "cat - short.txt", "xargs echo", "grep zzz", "(cat; true)", "{ wc -l; }", "cat 2>/dev/null")
	case "if":
		return "if " + lines() + "then\n" + lines() + "fi"
	case "else":
		return "if " + lines() + "then\n" + lines() + "else\n" + lines() + "fi"
	case "for":
		return "for i in " + g.one("", "1", "1 2", "$none", "*.nothing") + "; do\n" + lines() + "done"
	case "while":
		return g.one("while false", "until true", "while ! [ -f stop ] && touch stop", "for ((i=0; i<1; i++))") + "; do\n" + lines() + "done"
	case "case":
		return "case " + g.one("a", "b", "$none") + " in a)\n" + lines() + ";; *)\n" + lines() + ";; esac"
	case "function":
		g.body = true
		return "f() {\n" + strings.TrimRight(g.script(depth-1), "\n") + "\n" + "}\n" + g.one("", "f", "f", "unset -f f", "echo f")
	case "group":
		return g.redirected("{\n" + lines() + "}")
	case "subshell":
		return g.redirected("(" + lines() + ")")
	case "&":
		return "{ " + lines() + "} &" + g.one("", " wait", "\nwait\n")
	default:
		return g.redirected(g.simple())
	}
}

func (g bashScript) redirected(s string) string {
	if strings.HasSuffix(s, "\n") || strings.HasSuffix(s, "| ") {
		return s
	}
	return s + g.one("", "", "", "", "", " 2>/dev/null", " 2>/dev/null", " >/dev/null", " >/dev/null 2>&1", " &>/dev/null", " 2>&1", " >copy.md",
		" 2>&1 >/dev/null", " 3>&1 >/dev/null", " >&2", " >&-", " || true", " || echo none", " && echo done", " | head -3", " | wc -l")
}

// TestReadsOfBash: scripts that Bash really runs. A file only counts as read if the output has something of it, and does not
// count as not read if the output has.
func TestReadsOfBash(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash")
	}
	rapid.Check(t, func(rt *rapid.T) {
		script := bashScript{t: rt}.script(rapid.IntRange(0, 3).Draw(rt, "depth"))
		dir, output, code := ranBash(t, bash, script)
		defer os.RemoveAll(dir)
		content := func(path string) Content {
			name, _ := filepath.Rel("/w", path)
			if text, ok := bashFiles()[filepath.ToSlash(name)]; ok {
				return Content{Versions: []string{text}, Sure: true}
			}
			return Content{Sure: filepath.Base(name) != "copy.md"}
		}
		for _, knows := range []bool{true, false} {
			r := NewRecorder(&Format{Name: "codex"}, &Transcript{Cwd: "/w"})
			if knows {
				r.Content = content
			}
			o := Origin{Call: "c"}
			r.CommandOnly(o, script)
			r.CommandReads(o, script)
			r.ToolResult(o, output, false)
			r.Exit("c", code)
			r.finish()
			for name, text := range bashFiles() {
				read := slices.Contains(r.Report.Files.ObservedReads, "/w/"+name)
				if shows := showsAny(output, text); read && !shows && knows {
					rt.Fatalf("%s counts as read; script:\n%s\nexit code %d, output:\n%s", name, script, code, output)
				} else if showsAll := strings.Contains(output, text); showsAll && knows && !read && named(requested(script), "/w/"+name) &&
					!slices.Contains(r.Report.UnprovenReads, "/w/"+name) {
					rt.Fatalf("%s does not count as read; script:\n%s\nexit code %d, output:\n%s", name, script, code, output)
				}
			}
			for _, path := range r.Report.Files.ObservedReads {
				_, exists := bashFiles()[strings.TrimPrefix(path, "/w/")]
				if !exists && !strings.HasSuffix(path, "copy.md") {
					rt.Fatalf("%s counts as read and does not exist (knows %v); script:\n%s\nexit code %d, output:\n%s",
						path, knows, script, code, output)
				}
			}
		}
	})
}

// requested returns the files that a script names to a program that reads.
func requested(script string) (paths []string) {
	requests, _ := newShell().reads(script)
	for _, q := range requests {
		paths = append(paths, Resolve("/w", q.path))
	}
	return paths
}

// showsAny reports whether an output has a line of a text, or at least a part of it.
func showsAny(output, text string) bool {
	output = flat(output)
	for _, line := range flatLines(text) {
		if len(line) > 3 && strings.Contains(output, line[:min(len(line), 9)]) {
			return true
		}
	}
	return strings.Contains(text, "cherry") && strings.Contains(output, "cherry")
}

func ranBash(t *testing.T, bash, script string) (dir, output string, code int) {
	t.Helper()
	dir, err := os.MkdirTemp(t.TempDir(), "") //nolint:usetesting // removed after each script
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range bashFiles() {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, bash, "-c", script)
	cmd.WaitDelay = time.Second
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PATH=/usr/bin:/bin")
	out, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return dir, string(out), cmd.ProcessState.ExitCode()
}
