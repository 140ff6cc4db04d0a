package plumbtest

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/suite"
	"github.com/plumb-eval/plumb/internal/suite/lib"
)

// Options adapt a run. The zero value is what [Run] and [File] use.
type Options struct {
	// Judge answers the questions of checks; with nil each runner judges itself.
	Judge plumb.Runner
	// Embedder is required for checks that compare meaning.
	Embedder *plumb.Embedder
	// Repeat is the number of samples of each case that has no number of its own; 0 means 1.
	Repeat int
	// Parallel is the number of concurrent sessions; 0 means 8.
	Parallel int
}

// File runs the suite in a file, in JSON Lines, YAML, TypeScript or JavaScript, as [Run] runs a
// suite made in Go. A relative path begins at the directory of the test. File ends the test if the
// suite is invalid.
func File(t *testing.T, path string, runners ...plumb.Runner) {
	t.Helper()
	Options{}.File(t, path, runners...)
}

// File is [File] with options.
func (o Options) File(t *testing.T, path string, runners ...plumb.Runner) {
	t.Helper()
	bundle, err := suite.Read(t.Context(), path, suite.ReadOptions{})
	if err != nil {
		t.Fatalf("read the suite: %v", err)
	}
	defer func() {
		if err := bundle.Close(); err != nil {
			t.Errorf("close the suite %s: %v", path, err)
		}
	}()
	dir, err := filepath.Abs(".")
	if err != nil {
		t.Fatalf("read the suite: %v", err)
	}
	s, warnings, err := bundle.Suite(t.Context(), lib.Host{Environ: os.Environ, Dir: dir})
	if len(warnings) > 0 {
		t.Logf("warnings: %v", doc.Problems(warnings))
	}
	if err != nil {
		t.Fatalf("read the suite: %v", err)
	}
	o.Run(t, s, runners...)
}

// RunnerFunc returns a runner that answers with f, which gets the conversation and returns the
// answer. It can be called from many goroutines at once.
func RunnerFunc(id string, f func(ctx context.Context, messages []plumb.Message) (string, error)) plumb.Runner {
	return funcRunner{plumb.RunnerInfo{ID: id, PathKey: plumb.PathKey(id), Kind: plumb.RunnerCommand}, f}
}

type funcRunner struct {
	info   plumb.RunnerInfo
	answer func(ctx context.Context, messages []plumb.Message) (string, error)
}

func (r funcRunner) Info() plumb.RunnerInfo { return r.info }

func (r funcRunner) Run(ctx context.Context, req plumb.Request) (*plumb.SessionReport, error) {
	started := time.Now()
	out, err := r.answer(ctx, append([]plumb.Message(nil), req.Messages...))
	ended := time.Now()
	if err != nil {
		return nil, err
	}
	ms := ended.Sub(started).Milliseconds()
	report := &plumb.SessionReport{
		Runner: r.info, FinalOutput: strings.ToValidUTF8(out, "\uFFFD"),
		StartedAt: &started, EndedAt: &ended, DurationMs: ms, LatencyMs: ms,
		FinishReason: plumb.FinishStop,
	}
	if n := len(req.Messages); n > 0 {
		report.Prompt = req.Messages[n-1].Content
	}
	return report, nil
}
