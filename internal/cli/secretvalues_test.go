package cli_test

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/plumb-eval/plumb/internal/fakemodel"
	"github.com/plumb-eval/plumb/internal/redact"
)

// awkwardValues are values that a variable with the name of a secret may have: words of the log and
// of the suite, digits, fragments of JSON, text in other scripts.
func awkwardValues() []string {
	return []string{
		"outcome", "session", "pass", "fail", "error", "type", "session-finished", "session-judged", "execution-finished", "run-started",
		"planned", "judgement", "verdicts", "finalOutput", "durationMs", "repetition", "report", "events", "assistant", "provider",
		"message", "ollama", "openai", "gpt-4o", "openai:gpt-4o", "reasoning", "reasoning-001", "factual", "easy", "contains", "numeric",
		"exact_match", "true", "false", "null", "0", "1", "42", "20", "2026", "20261122", "1000000", "e", "a", " ", `"`, `\`, "{", "}", ":",
		`","`, `"type":"`, `","outcome":"pass"`, `{"type":"note"}`, `"pass":false,`, "\n", "\t\t\t\t\t\t\t\t", "é", "日本語のパスワード",
		"😀😀😀😀", "sha256:", "sha256", "http://127.0.0.1", "127.0.0.1", ".plumb/runs", "suite.jsonl", "schedule", "parallel", "expected-failed",
		"the answer is", "answer is 42 and pass", "crc", `","crc":"`, "[redacted:AUTH_PROBE]", "redacted",
	}
}

// TestSecretsChangeNothing: whatever the value of a secret, a run has the outcomes, counts and
// reports of a run without it, and so has one that was killed and resumed.
func TestSecretsChangeNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("slow; CI runs it in full")
	}
	const cases = 24
	values := awkwardValues()
	random := rapid.StringOf(rapid.OneOf(rapid.RuneFrom([]rune(`abest01"\{}:,-_. `)), rapid.Rune()))
	for i := range 10 {
		values = append(values, strings.ReplaceAll(random.Example(i), "\x00", ""))
	}
	var requests atomic.Int64
	server := fakemodel.New(fakemodel.Behavior{Answer: func(a fakemodel.Ask) string {
		requests.Add(1)
		return a.Prompt() + "\n" + strings.Join(awkwardValues(), "\n")
	}})
	var suite strings.Builder
	for i, value := range awkwardValues()[:cases] {
		line, err := json.Marshal(map[string]any{
			"id": fmt.Sprintf("reasoning-%03d", i), "category": "reasoning", "input": fmt.Sprintf("Question %d about %s", i, value),
			"assertion": map[string]any{"type": "contains"}, "ideal": "about " + value + strings.Repeat(" never said", i%3/2),
			"expected_fail": i%7 == 5, "metadata": map[string]any{"difficulty": "easy", "tokens_est": 30},
		})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&suite, "%s\n", line)
	}
	address := httptest.NewServer(server)
	defer address.Close()
	measure := func(t *testing.T, value string) (whole, resumed any, stderr string) {
		t.Helper()
		w := newWorld(t)
		w.env["OPENAI_BASE_URL"], w.env["OPENAI_API_KEY"] = address.URL+"/v1", "sk-test-0123456789abcdef"
		w.write("suite.jsonl", suite.String())
		if value != "" {
			w.env["AUTH_PROBE"] = value
		}
		code, _, stderr := w.plumb("run", "suite.jsonl", "--model", "openai:gpt-4o", "--parallel", "16", "--report", "junit:junit.xml")
		if code != 1 {
			t.Fatalf("exit code %d\n%s", code, stderr)
		}
		dir := w.runDir()
		whole = steady(t, filepath.Join(dir, "results.json"), w.dir)
		log := filepath.Join(dir, "events.jsonl")
		data, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		lines := slices.Collect(strings.Lines(string(data)))
		cut := strings.Join(lines[:len(lines)/4], "") + `{"type":"session-fini`
		if err := os.WriteFile(log, []byte(cut), 0o600); err != nil {
			t.Fatal(err)
		}
		asked := requests.Load()
		if code, _, stderr := w.plumb("resume"); code != 1 {
			t.Fatalf("resume: exit code %d\n%s", code, stderr)
		}
		if again := requests.Load() - asked; again >= cases || again == 0 {
			t.Errorf("%d requests to finish the run", again)
		}
		return whole, steady(t, filepath.Join(dir, "results.json"), w.dir), stderr
	}
	want, _, stderr := measure(t, "")
	if strings.Contains(stderr, "AUTH_PROBE") {
		t.Errorf("a run without secrets says %s", stderr)
	}
	for i, value := range values {
		if os.Getenv("PLUMB_CI") == "" && i%6 != 0 {
			continue // CI runs the whole list
		}
		t.Run(fmt.Sprintf("%.20q", value), func(t *testing.T) {
			r := redact.New([]redact.Secret{{Name: "AUTH_PROBE", Value: value}})
			whole, resumed, stderr := measure(t, value)
			for name, got := range map[string]any{"whole": whole, "resumed": resumed} {
				got, want := without(got, r), without(want, r)
				if name == "resumed" && r.Hides() {
					// What was obtained and not yet judged has lost the secret: its check may be an error, and
					// never another verdict.
					was := outcomes(want)
					for id, outcome := range outcomes(got) {
						if outcome != was[id] && outcome != "error" {
							t.Errorf("resumed: %s is a %s, and was a %s", id, outcome, was[id])
						}
					}
				} else if !reflect.DeepEqual(got, want) {
					t.Errorf("%s: %.4000s", name, cmp.Diff(want, got))
				}
			}
			if exposed := r.Exposed() != nil; exposed && !strings.Contains(stderr, "AUTH_PROBE") {
				t.Errorf("nobody is told that the value stays visible:\n%s", stderr)
			}
		})
	}
}

// outcomes are those of the cases in a results document.
func outcomes(doc any) map[string]string {
	found := map[string]string{}
	all, _ := doc.(map[string]any)
	cases, _ := all["cases"].([]any)
	for _, c := range cases {
		c, _ := c.(map[string]any)
		results, _ := c["runnerResults"].([]any)
		for _, r := range results {
			r, _ := r.(map[string]any)
			found[fmt.Sprint(c["caseId"])] = fmt.Sprint(r["outcome"])
		}
	}
	return found
}

// steady reads a results file without what differs between any two runs.
func steady(t *testing.T, path, dir string) any {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	return each(v, "", func(key string, v any) any {
		switch key {
		case "startedAt", "endedAt", "requestId", "at", "sessionId", "notes", "config":
			return nil
		}
		if strings.Contains(key, "uration") || strings.Contains(key, "atency") {
			return nil
		}
		if s, ok := v.(string); ok {
			return strings.ReplaceAll(s, dir, "DIR")
		}
		return v
	})
}

// without removes a secret, and what says that one was removed.
func without(v any, r *redact.Redactor) any {
	return each(v, "", func(key string, v any) any {
		if s, ok := v.(string); ok {
			s = r.String(s)
			for _, x := range varying() {
				s = x.pattern.ReplaceAllString(s, x.with)
			}
			return s
		}
		if key == "redacted" {
			return nil
		}
		return v
	})
}

// each returns v with fn applied to each member and element. Members for which it returns nil are
// left out.
func each(v any, key string, fn func(key string, v any) any) any {
	switch v := fn(key, v).(type) {
	case map[string]any:
		out := map[string]any{}
		for k, m := range v {
			if m = each(m, k, fn); m != nil {
				out[k] = m
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = each(v[i], key, fn)
		}
		return out
	default:
		return v
	}
}
