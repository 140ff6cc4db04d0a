package cli

import (
	"context"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/files"
	"github.com/plumb-eval/plumb/internal/project"
)

// goTestFile is the file of plumb init --go.
const goTestFile = "plumb_test.go"

// writeGoTest writes a test that runs the suites with plumbtest, in the package of the folder.
func (c *initCmd) writeGoTest(ctx context.Context, w *written) error {
	cfg, err := project.ReadConfig(ctx, c.env(), "")
	if err != nil {
		return err
	}
	if len(cfg.Runners) == 0 || len(cfg.Suites) == 0 {
		return plumb.WithHint(errors.New("the config has no suites or no runners"), "add them to plumb.yaml")
	}
	if files.Exists(c.path(goTestFile)) && !c.force {
		return plumb.WithHint(fmt.Errorf("%s exists already", goTestFile), "replace it with --force")
	}
	config := fmt.Sprintf("Model: %q", cfg.Runners[0].Model)
	if a := cfg.Runners[0].Agent; a != nil {
		config = fmt.Sprintf("Agent: &plumb.AgentConfig{Type: %q, Model: %q}", a.Type, a.Model)
	}
	var runs strings.Builder
	for _, s := range cfg.Suites {
		fmt.Fprintf(&runs, "\tplumbtest.File(t, %q, runner)\n", s)
	}
	text := fmt.Sprintf(`package %s_test

import (
	"testing"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/plumbtest"
)

// TestPlumb runs the suite. Each case is a subtest. It is skipped where the key or the agent is missing.
func TestPlumb(t *testing.T) {
	runner := plumbtest.OpenOrSkip(t, plumb.RunnerConfig{%s})
%s}
`, c.packageHere(), config, runs.String())
	w.Files = append(w.Files, goTestFile)
	before := strings.TrimSuffix(strings.TrimSuffix(w.Next, "commit the files"), "plumb run")
	w.Next = before + "go get github.com/plumb-eval/plumb/plumbtest, then: go test -count=1 -v -run TestPlumb ."
	return c.write(goTestFile, []byte(text))
}

// packageHere returns the name of the Go package in the folder, or "evals".
func (c *initCmd) packageHere() string {
	files, _ := filepath.Glob(filepath.Join(c.Dir, "*.go"))
	for _, file := range files {
		if f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.PackageClauseOnly); err == nil {
			return strings.TrimSuffix(f.Name.Name, "_test")
		}
	}
	return "evals"
}
