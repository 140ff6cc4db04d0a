package cli_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/plumb-eval/plumb/internal/fakemodel"
)

// secretArguments are command lines with SECRET in each place that a command repeats in its messages.
func secretArguments() [][]string {
	commands := []string{
		"run", "plan", "aa", "resume", "score", "compare", "baseline", "report", "view", "runs", "show", "suite", "validate",
		"list", "models", "drift", "judge", "normalize", "explain", "gc", "exec", "demo", "doctor", "init", "convert", "schema",
		"skills", "version", "help", "completion",
	}
	all := [][]string{{"SECRET"}, {"--SECRET"}, {"--json=SECRET"}}
	for _, name := range commands {
		all = append(all, []string{name, "SECRET"}, []string{name, "--SECRET"}, []string{name, "x", "SECRET", "y"},
			[]string{name, "--config", "SECRET"}, []string{name, "SECRET", "--json"}, []string{name, "--help", "SECRET"})
	}
	for _, flag := range []string{
		"--header", "--timeout", "--parallel", "--model", "--agent", "--case", "--tag", "--gate", "--report", "--output", "--cache",
		"--judge", "--temperature", "--effort", "--schedule", "--base-url", "--budget", "--seed", "--repeat", "--tier", "--runner",
	} {
		all = append(all, []string{"run", "s.jsonl", "--command", "cat", flag, "SECRET"}, []string{"run", "s.jsonl", "--model", "openai:gpt-5", flag, "SECRET"})
	}
	return append(all, []string{"suite", "hash", "SECRET"}, []string{"baseline", "set", "SECRET", "last"}, []string{"judge", "calibrate", "SECRET"},
		[]string{"drift", "--from", "SECRET"}, []string{"drift", "--since", "SECRET"}, []string{"compare", "SECRET", "last"},
		[]string{"compare", "last", "last", "--gate", "SECRET"}, []string{"explain", "last", "SECRET", "why?"})
}

// TestF9_SecretsInMessages: no message of any command repeats a secret, or what has the form of a
// well-known kind of key, wherever it stands in the command line, the config or a suite.
//
//nolint:tparallel // it starts commands on all processors
func TestF9_SecretsInMessages(t *testing.T) {
	secrets := map[string]string{
		"of a variable": `tEam-0x"55/80+canary`, "of .env": "tEam-0x55/81+canary",
		"sk-": "sk-proj-Ab1Cd2Ef3Gh4Ij5Kl6Mn7", "sk-ant-": "sk-ant-api03-Ab1Cd2Ef3Gh4Ij5", "AIza": "AIzaSyAb1Cd2Ef3Gh4Ij5Kl6Mn7",
		"ghp_": "ghp_Ab1Cd2Ef3Gh4Ij5Kl6Mn7Op8", "github_pat_": "github_pat_11Ab1Cd2Ef3Gh4Ij5", "AKIA": "AKIAAB1CD2EF3GH4IJ5K",
		"xoxb-": "xoxb-123456789012-Ab1Cd2Ef3", "hf_": "hf_Ab1Cd2Ef3Gh4Ij5Kl6Mn7", "glpat-": "glpat-Ab1Cd2Ef3Gh4Ij5Kl6",
		"JWT": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
	}
	configs := []string{
		"'SECRET': 1\n", "run: {timeoutMs: 'SECRET'}\n", "run: {'SECRET': 1}\n", "runners: {a: {model: 'SECRET'}}\n", "runners: {a: {'SECRET': 1}}\n",
		"runners: {'SECRET': {model: 'openai:gpt-5', 'x': 1}}\n", "suites: ['SECRET']\n", "judge: 'SECRET'\n", "'SECRET\n",
		"runners: {a: {model: 'openai:gpt-5', headers: {'SE CRET': 'SECRET'}}}\n", "snapshots: 'SECRET'\n", "run: {workspace: {mode: 'SECRET'}}\n",
		"run: {minPassRate: 'SECRET'}\n", "prices: {'SECRET': 'SECRET'}\n",
	}
	suites := map[string][]string{
		"s.jsonl": {`{"SECRET":1}`, `{"id":"SECRET","SECRET":"x"}`, `{"id":"SECRET"}`, `SECRET`, `{"id":"a","input":"SECRET","assertion":{"type":"SECRET"}}`},
		"s.yaml":  {"SECRET: 1\n", "prompts: [SECRET.txt]\ncases: []\n", "data: SECRET.csv\nprompts: x\n", "cases: [{id: a, SECRET: 1}]\n", "cases: [{id: a, input: '{{ SECRET(' }]\n"},
		"s.ts":    {"throw new Error('SECRET')", "import x from 'SECRET'; export default []", "export default [{id: 'a', 'SECRET': 1}]"},
		"d.csv":   {"x,SECRET,__SECRET\n1,2,3\n"},
	}
	check := func(t *testing.T, secret string, w *world, args ...string) {
		t.Helper()
		code, stdout, stderr := w.plumb(args...)
		for form, text := range forms(secret) {
			if text != "" && strings.Contains(stdout+stderr, text) {
				t.Errorf("plumb %q (exit code %d) prints the secret, %s:\n%.600s", args, code, form, stdout+stderr)
				return
			}
		}
	}
	for kind, secret := range secrets {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			world := func() *world {
				w := newWorld(t)
				if kind == "of a variable" {
					w.env["TEAM_TOKEN"] = secret
				}
				if kind == "of .env" {
					w.write(".env", "TEAM_TOKEN="+secret+"\n")
				}
				w.write("s.jsonl", `{"id":"a","category":"c","input":"hi","ideal":"hi","assertion":{"type":"contains"}}`+"\n")
				w.must(0, "run", "s.jsonl", "--command", "cat")
				return w
			}
			in := func(text string) string { return strings.ReplaceAll(text, "SECRET", secret) }
			w := world()
			for _, args := range secretArguments() {
				for i := range args {
					args[i] = in(args[i])
				}
				if args[0] == "demo" || testing.Short() && len(args) > 2 {
					continue // demo starts a server
				}
				check(t, secret, w, args...)
			}
			w = world()
			for _, config := range configs {
				w.write("plumb.yaml", in(config))
				for _, command := range []string{"doctor", "validate", "list", "run", "runs", "plan", "gc", "models", "init"} {
					check(t, secret, w, command)
				}
				check(t, secret, w, "doctor", "--json")
				check(t, secret, w, "validate", "--json")
			}
			for name, texts := range suites {
				for _, text := range texts {
					w := world()
					w.write(name, in(text))
					for _, command := range []string{"validate", "list", "run", "convert", "suite hash"} {
						check(t, secret, w, append(strings.Fields(command), name)...)
					}
					check(t, secret, w, "validate", name, "--json")
				}
			}
		})
	}
}

// TestF6_SecretInSuite: a suite that holds the value of a secret is an error with its place, before
// anything is copied or asked.
func TestF6_SecretInSuite(t *testing.T) {
	const secret = "canary-9F3kQ27xLm-value"
	const one = `{"id":"a","category":"c","input":"say %s","ideal":"x","assertion":{"type":"contains"}}` + "\n"
	tests := map[string]struct {
		files map[string]string
		ref   string
		place string
	}{
		"jsonl":       {map[string]string{"s.jsonl": fmt.Sprintf(one, "hi") + strings.Replace(fmt.Sprintf(one, secret), `"a"`, `"b"`, 1)}, "s.jsonl", "s.jsonl:2:"},
		"yaml":        {map[string]string{"s.yaml": "cases:\n- {id: a, category: c, input: " + secret + ", ideal: x, assertion: {type: contains}}\n"}, "s.yaml", "s.yaml:2:31"},
		"comment":     {map[string]string{"s.yaml": "# " + secret + "\ncases:\n- {id: a, category: c, input: x, ideal: x, assertion: {type: contains}}\n"}, "s.yaml", "s.yaml:1:3"},
		"prompt file": {map[string]string{"s.yaml": "prompts: p.txt\ncases: [{id: a, category: c, vars: {x: y}, ideal: x, assertion: {type: contains}}]\n", "p.txt": "{{ x }}\n" + secret}, "s.yaml", "p.txt:2:1"},
		"data":        {map[string]string{"s.yaml": "prompts: '{{ x }}'\ndata: d.csv\n", "d.csv": "x,__expected\nq," + secret + "\n"}, "s.yaml", "d.csv:2:3"},
		"code": {map[string]string{
			"s.ts": "import { x } from './part.ts'\nexport default [{ id: 'a', prompt: x, assert() {} }]\n", "part.ts": "\nexport const x = '" + secret + "'\n",
		}, "s.ts", "part.ts:2:19"},
	}
	for name, test := range tests {
		for _, source := range []string{"environment", ".env"} {
			t.Run(name+"/"+source, func(t *testing.T) {
				w := newWorld(t)
				asked := 0
				w.serve(fakemodel.Behavior{Answer: func(fakemodel.Ask) string { asked++; return "x" }})
				for file, text := range test.files {
					w.write(file, text)
				}
				if source == ".env" {
					w.write(".env", "TEAM_TOKEN="+secret+"\n")
				} else {
					w.env["TEAM_TOKEN"] = secret
				}
				for _, args := range [][]string{{"run", test.ref, "--model", "openai:gpt-4o"}, {"validate", test.ref}} {
					code, stdout, stderr := w.plumb(args...)
					all := stdout + stderr
					if code != 2 || !strings.Contains(all, test.place) || !strings.Contains(all, "TEAM_TOKEN") || strings.Contains(all, secret) {
						t.Errorf("plumb %q: exit code %d, want 2 and %s\n%s", args, code, test.place, all)
					}
				}
				if asked > 0 {
					t.Errorf("%d requests", asked)
				}
				_ = filepath.WalkDir(filepath.Join(w.dir, ".plumb"), func(path string, d fs.DirEntry, err error) error {
					if err == nil && !d.IsDir() {
						if data, _ := os.ReadFile(path); strings.Contains(string(data), secret) {
							t.Errorf("%s holds the secret", path)
						}
					}
					return nil
				})
			})
		}
	}
	if runtime.GOOS == "linux" {
		t.Run("an ordinary word", func(t *testing.T) {
			w := newWorld(t)
			w.env["DB_PASSWORD"] = "postgres"
			w.write("s.jsonl", fmt.Sprintf(one, "postgres"))
			w.must(1, "run", "s.jsonl", "--command", "cat")
		})
	}
}
