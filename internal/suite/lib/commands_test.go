package lib

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plumb-eval/plumb/check"
	"github.com/plumb-eval/plumb/internal/script"
)

// parsedCommand is what parseCommand gives.
type parsedCommand struct {
	Command             string           `json:"command"`
	Executable          *string          `json:"executable"`
	Positionals         []string         `json:"positionals"`
	Options             map[string][]any `json:"options"`
	EndOfOptions        bool             `json:"endOfOptions"`
	NormalizedFromShell bool             `json:"normalizedFromShell"`
}

// probe is a VM that answers for the parser and the matchers.
func probe(tb testing.TB) *script.VM {
	tb.Helper()
	modules := Modules()
	modules["probe"] = `
		const { parseCommand } = require("skillgym/testing");
		const { assert } = require("plumb");
		const decoded = (v) => Array.isArray(v) ? v.map(decoded)
			: typeof v !== "object" || v === null ? v
			: "re" in v ? new RegExp(v.re, v.flags)
			: Object.fromEntries(Object.entries(v).map(([k, w]) => [k, decoded(w)]));
		__entry.parse = (texts) => JSON.stringify(JSON.parse(texts).map(parseCommand));
		__entry.match = (command, matcher) => {
			try {
				assert.commands.includes({ events: [{ type: "command", command }] }, decoded(JSON.parse(matcher)));
			} catch (e) {
				return JSON.stringify(e.message);
			}
			return JSON.stringify("");
		};
		__entry.check = (name, report, args) => {
			const [group, check] = name.split(".");
			try {
				assert[group][check](JSON.parse(report), ...decoded(JSON.parse(args)));
			} catch (e) {
				return JSON.stringify(e.message);
			}
			return "null";
		};`
	file := tb.TempDir() + "/empty.js"
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		tb.Fatal(err)
	}
	program, err := script.Build(script.BuildOptions{Entry: file, Modules: names(modules), Preload: []string{"probe"}})
	if err != nil {
		tb.Fatal(err)
	}
	v, err := script.Start(tb.Context(), program, script.Environment{Modules: modules})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = v.Close() })
	return v
}

func TestCommandVectors(t *testing.T) {
	data, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors struct {
		ParseCommand []parsedCommand
		MatchCommand []struct {
			Command     string
			Matcher     json.RawMessage
			Matches     bool
			Description string
		}
	}
	if err := json.Unmarshal(data, &vectors); err != nil {
		t.Fatal(err)
	}
	v := probe(t)
	if diff := cmp.Diff(vectors.ParseCommand, parseAll(t, v, commandsOf(vectors.ParseCommand))); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for _, m := range vectors.MatchCommand {
		message := call[string](t, v, "match", m.Command, string(m.Matcher))
		switch {
		case m.Matches != (message == ""):
			t.Errorf("%s matches %s: %v, want %v", m.Command, m.Matcher, message == "", m.Matches)
		case !m.Matches && !strings.Contains(message, m.Description):
			t.Errorf("%s: the failure %q lacks %q", m.Matcher, message, m.Description)
		}
	}
}

func commandsOf(all []parsedCommand) []string {
	texts := make([]string, len(all))
	for i, p := range all {
		texts[i] = p.Command
	}
	return texts
}

func parseAll(tb testing.TB, v *script.VM, texts []string) []parsedCommand {
	tb.Helper()
	data, err := json.Marshal(texts)
	if err != nil {
		tb.Fatal(err)
	}
	return call[[]parsedCommand](tb, v, "parse", string(data))
}

// inGo is what package check, which has the same checks for suites without code, makes of a command.
func inGo(text string) parsedCommand {
	c := check.ParseCommand(text)
	p := parsedCommand{
		Command: text, Positionals: c.Positionals, Options: map[string][]any{}, EndOfOptions: c.EndOfOptions, NormalizedFromShell: c.FromShell,
	}
	if c.Executable != "" {
		p.Executable = &c.Executable
	}
	if p.Positionals == nil {
		p.Positionals = []string{}
	}
	for name, values := range c.Options {
		for _, o := range values {
			if o.Flag {
				p.Options[name] = append(p.Options[name], true)
			} else {
				p.Options[name] = append(p.Options[name], o.Value)
			}
		}
	}
	return p
}

// The same command must be the same command for suites in code and for all others.
func TestCommandsAreThoseOfPackageCheck(t *testing.T) {
	pieces := []string{
		"bash", "sh", "/bin/zsh", "env", "sudo", "git", "commit", "-c", "-lc", "--norc", "-", "--", "--name=", "--name=v", "--name", "-abc", "-p80",
		"-é", "-1x", "-a=b", "'", `"`, `\`, " ", "  ", "\t", "\n", "&&", "|", "x", "a b", `C:\bin\bash`, "C:/bin/sh", "FOO=1", "__proto__", "--__proto__",
		"ü", "😀", "-😀", "-😀x", "$(ls)", "\u0085", "\u00a0", "\u1680", "\u2003", "\u200b", "\u2028", "\u3000", "\ufeff", "\r\n", "\v", "--é=1", "-ſ", "-Kk",
	}
	random := rand.New(rand.NewPCG(1, 2))
	texts := make([]string, 3000)
	if testing.Short() {
		texts = texts[:200]
	}
	for i := range texts {
		var b strings.Builder
		for range random.IntN(9) {
			b.WriteString(pieces[random.IntN(len(pieces))])
			if random.IntN(3) > 0 {
				b.WriteByte(' ')
			}
		}
		texts[i] = b.String()
	}
	for i, got := range parseAll(t, probe(t), texts) {
		if diff := cmp.Diff(inGo(texts[i]), got); diff != "" {
			t.Fatalf("%q (-Go +TypeScript):\n%s", texts[i], diff)
		}
	}
}

func FuzzParseCommand(f *testing.F) {
	for _, text := range []string{"", `bash -lc "cd /x && pnpm test --watch"`, `x -p80 --name=v -- "two words"`, "a 'b", `\`} {
		f.Add(text)
	}
	v := probe(f)
	f.Fuzz(func(t *testing.T, text string) {
		text = strings.ToValidUTF8(text, "?") // what reports hold
		if diff := cmp.Diff(inGo(text), parseAll(t, v, []string{text})[0]); diff != "" {
			t.Errorf("%q (-Go +TypeScript):\n%s", text, diff)
		}
	})
}
