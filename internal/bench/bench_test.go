package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/plumb-eval/plumb/internal/fakemodel"
)

func TestCases(t *testing.T) {
	const n = 20_000
	kinds, failing, prompts := map[string]float64{}, 0.0, map[string]bool{}
	for i := range n {
		c := newCase(i)
		kinds[c.kind]++
		if !c.passes {
			failing++
		}
		if c.check(c.answer) != c.passes {
			t.Fatalf("case %d (%s): the check says %v of %q for %q", i, c.kind, !c.passes, c.answer, c.ideal)
		}
		if len(c.answer) < 20 || len(c.answer) > 500 || len(c.prompt) < 280 || len(c.prompt) > 320 {
			t.Fatalf("case %d: %d bytes of prompt, %d of answer", i, len(c.prompt), len(c.answer))
		}
		prompts[c.prompt] = true
	}
	if len(prompts) != n {
		t.Errorf("%d different prompts, want %d", len(prompts), n)
	}
	if math.Abs(failing/n-0.108) > 0.01 {
		t.Errorf("%.3f fail, want 0.108", failing/n)
	}
	for kind, want := range map[string]float64{
		"exact_match": 0.4, "contains": 0.3, "contains_any": 0.2,
		"is_json": 0.1,
	} {
		if math.Abs(kinds[kind]/n-want) > 0.015 {
			t.Errorf("%s has a share of %.3f, want %.1f", kind, kinds[kind]/n, want)
		}
	}
}

// TestFloor runs the bare loop and both checks of its results, and makes sure that they find what
// is wrong.
func TestFloor(t *testing.T) {
	dir := t.TempDir()
	suite, answers, results := filepath.Join(dir, "suite"), filepath.Join(dir, "answers"), filepath.Join(dir, "results")
	var stderr bytes.Buffer
	if err := generateMain([]string{"-n", "200", "-suite", suite, "-answers", answers}, &stderr); err != nil {
		t.Fatal(err, stderr.String())
	}
	f, err := os.Open(answers)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	table, err := fakemodel.ReadAnswers(f)
	if err != nil {
		t.Fatal(err)
	}
	hs := httptest.NewServer(fakemodel.New(fakemodel.Behavior{Answers: table, Key: apiKey}))
	defer hs.Close()
	if err := floorMain(t.Context(), []string{"-suite", suite, "-url", hs.URL, "-parallel", "8", "-out", results},
		&stderr); err != nil {
		t.Fatal(err)
	}
	check := func(n string) error {
		return checkMain(t.Context(), []string{"-n", n, "-results", results, "-url", hs.URL}, &stderr)
	}
	if err := check("200"); err != nil {
		t.Errorf("the right results: %v", err)
	}
	data, err := os.ReadFile(results)
	if err != nil {
		t.Fatal(err)
	}
	for name, wrong := range map[string]string{
		"a verdict": strings.Replace(string(data), `"passed":true`, `"passed":false`, 1),
		"one less":  string(data[bytes.IndexByte(data, '\n')+1:]),
		"torn":      string(data[:len(data)-10]),
	} {
		if err := os.WriteFile(results, []byte(wrong), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := check("200"); !errors.Is(err, errWrong) {
			t.Errorf("%s: %v, want a wrong result", name, err)
		}
	}
	if err := os.WriteFile(results, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := floorOne(t.Context(), hs.Client(), hs.URL, &benchCase{
		prompt: "one more",
		kind:   "is_json",
	}); err != nil {
		t.Fatal(err)
	}
	if err := check("200"); !errors.Is(err, errWrong) || !strings.Contains(err.Error(), "201 requests") {
		t.Errorf("a request too many: %v, want a wrong result", err)
	}
}

func TestSummary(t *testing.T) {
	file := filepath.Join(t.TempDir(), "summary")
	doc := map[string]any{"other": 1, "cases": []any{
		map[string]any{"caseId": "a", "passed": true, "runnerResults": []any{map[string]any{"outcome": "pass"}}},
		map[string]any{"caseId": "b", "passed": false, "runnerResults": []any{map[string]any{"outcome": "error"}}},
	}}
	data, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	if err := readSummary(file, got); err != nil || got["a"] != "pass" || got["b"] != "error" || len(got) != 2 {
		t.Errorf("outcomes = %v, %v", got, err)
	}
}

func TestReport(t *testing.T) {
	var r report
	r.target("slow", "9 s", "< 5 s", false)
	r.target("quick", "1 s", "< 5 s", true)
	r.add("aside", "x")
	var out bytes.Buffer
	r.write(&out, "machine")
	for line, want := range map[string]string{"slow": "MISSED", "quick": "met", "aside": "x"} {
		found := false
		for got := range strings.Lines(out.String()) {
			found = found || strings.HasPrefix(got, line) && strings.HasSuffix(strings.TrimSpace(got), want)
		}
		if !found {
			t.Errorf("no line %q that ends with %q in\n%s", line, want, out.String())
		}
	}
	m := medians([]usage{
		{wall: 3 * time.Second, cpu: 1, peak: 5},
		{wall: time.Second, cpu: 9, peak: 6},
		{wall: 2 * time.Second, cpu: 2, peak: 7},
	})
	if m.wall != 2*time.Second || m.cpu != 2 || m.peak != 6 {
		t.Errorf("medians = %+v", m)
	}
}

func TestExecute(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	u, err := execute(t.Context(), "", os.Environ(), exe, "-test.run", "^$")
	if err != nil || u.code != 0 || u.wall <= 0 || u.cpu <= 0 {
		t.Errorf("usage = %+v, %v", u, err)
	}
	if u, err = execute(t.Context(), "", os.Environ(), exe, "-no-such-flag"); err != nil || u.code != 2 ||
		u.output == "" {
		t.Errorf("usage = %+v, %v", u, err)
	}
	if _, err = execute(t.Context(), "", nil, filepath.Join(t.TempDir(), "absent")); err == nil {
		t.Error("a program that is not there ran")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err = execute(ctx, "", nil, exe); !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v, want canceled", err)
	}
}
