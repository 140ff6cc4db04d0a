package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/plumb-eval/plumb/internal/agent"
)

// TestTranscripts checks that the measured transcripts are streams of the agents, with the intended sizes.
func TestTranscripts(t *testing.T) {
	for _, name := range agents() {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "transcript")
			var stderr bytes.Buffer
			if err := transcriptMain([]string{"-agent", name, "-size", "1000000", "-out", file}, &stderr); err != nil {
				t.Fatal(err, stderr.String())
			}
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			lines, large, outputs := 0, 0, []int{}
			for line := range bytes.Lines(data) {
				lines++
				if len(line) > 35_000 {
					large++
				}
				if bytes.Contains(line, []byte("17 tests")) {
					outputs = append(outputs, len(line))
				}
			}
			slices.Sort(outputs)
			if len(data) < 1_000_000 || len(data) > 1_002_000 {
				t.Errorf("%d bytes", len(data))
			}
			if median := outputs[len(outputs)/2]; median < 600 || median > 1500 || large < lines/100 || large > lines/25 {
				t.Errorf("%d lines, %d of more than 35 KB, a median of %d bytes of those with a text", lines, large, median)
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

// TestCount checks that the results of both tools are read, and that wrong results are found.
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
