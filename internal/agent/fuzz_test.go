package agent

import (
	"os"
	"path/filepath"
	"testing"
	"unicode/utf8"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/agent/transcript"
)

// fuzzNormalise feeds a normaliser with anything, as the stream, as a session file and as both. What is true of every
// report must be so of these.
func fuzzNormalise(f *testing.F, agent, dir, sessionFile string) {
	f.Helper()
	names, _ := filepath.Glob(filepath.Join("testdata", dir, "*", "stdout")) // the pattern is good
	more, _ := filepath.Glob(filepath.Join("testdata", dir, "*", "session", "*", "*", "*", "*", "*", "*.jsonl"))
	for _, name := range append(names, more...) {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		if len(data) < 40<<10 {
			f.Add(data, []byte(nil))
			f.Add(data, data)
		}
	}
	f.Fuzz(func(t *testing.T, stdout, session []byte) {
		tr := transcript.Transcript{Stdout: filepath.Join(t.TempDir(), "stdout"), Cwd: "/ws", Prompt: "P", Resumed: len(stdout)%7 == 1}
		if err := os.WriteFile(tr.Stdout, stdout, 0o600); err != nil {
			t.Fatal(err)
		}
		if len(session) > 0 {
			tr.Session = t.TempDir()
			if err := os.WriteFile(filepath.Join(tr.Session, sessionFile), session, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		report, err := Normalize(agent, tr)
		if report == nil {
			if err == nil {
				t.Fatal("neither a report nor an error")
			}
			return
		}
		reads := map[string]bool{}
		for _, e := range report.Events {
			switch {
			case e.Type == "":
				t.Fatal("an event that was taken back")
			case e.Type == plumb.SessionFileRead:
				reads[e.Path] = true
			case len(e.Args) > 0 && !utf8.Valid(e.Args):
				return // what is no text cannot be told apart
			}
		}
		if len(reads) != len(report.Files.ObservedReads) {
			t.Fatalf("%d files are read, of which %d are listed", len(reads), len(report.Files.ObservedReads))
		}
		if err != nil && err.Error() == "" {
			t.Fatal("an error that says nothing")
		}
	})
}

func FuzzCodex(f *testing.F) {
	fuzzNormalise(f, "codex", "codex", "rollout-2026-01-01T00-00-00-T.jsonl")
}

func FuzzClaude(f *testing.F) { fuzzNormalise(f, "claude-code", "claude", "S.jsonl") }
func FuzzCursor(f *testing.F) { fuzzNormalise(f, "cursor-agent", "cursor", "x") }
func FuzzQwen(f *testing.F)   { fuzzNormalise(f, "qwen", "claude", "x") }
