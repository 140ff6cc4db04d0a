package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plumb-eval/plumb/internal/agent"
)

// TestTranscripts: what is measured is what the agents write, and has the size that it should have.
func TestTranscripts(t *testing.T) {
	for _, name := range agents() {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "transcript")
			var stderr bytes.Buffer
			if err := transcriptMain([]string{"-agent", name, "-record", "900", "-size", "100000", "-out", file},
				&stderr); err != nil {
				t.Fatal(err, stderr.String())
			}
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			lines := bytes.Count(data, []byte("\n"))
			if mean := len(data) / lines; len(data) < 100_000 || len(data) > 105_000 || mean < 600 || mean > 1000 {
				t.Errorf("%d bytes, %d a line", len(data), mean)
			}
			report, err := agent.Normalize(name, agent.Transcript{Stdout: file, ExitCode: new(0)})
			if err != nil || report.FinalOutput != finalAnswer {
				t.Fatalf("%+v, %v", report, err)
			}
			out, err := json.Marshal(map[string]any{
				"outcome": "pass", "finalOutput": report.FinalOutput,
				"events": report.Events,
			})
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, out, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := checkReport(file); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestCount: results of both tools are read, and wrong ones found.
func TestCount(t *testing.T) {
	const good = `{"cases":[{"caseId":"a","passed":true,"runnerResults":[{"outcome":"pass","passed":true}]}]}`
	for _, test := range []struct {
		n, doc string
		ok     bool
	}{
		{"1", good, true},
		{"2", good, false},
		{"1", strings.ReplaceAll(strings.ReplaceAll(good, "true", "false"), `"pass"`, `"fail"`), false},
		{"1", good[:20], false},
	} {
		file := filepath.Join(t.TempDir(), "summary")
		if err := os.WriteFile(file, []byte(test.doc), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, kind := range []string{"-summary", "-skillgym"} {
			var out bytes.Buffer
			err := countMain([]string{"-n", test.n, kind, file}, &out, &out)
			if test.ok && err != nil || !test.ok && !errors.Is(err, errWrong) {
				t.Errorf("%s %s of %s: %v", kind, test.n, test.doc, err)
			}
		}
	}
}
