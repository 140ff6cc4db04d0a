// Package project is the folder that a command works for: its config, its environment with the
// secrets, its suites, runners and runs. It hides which of them are trusted, what run.json says,
// and where everything is.
package project

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/compare"
	"github.com/plumb-eval/plumb/internal/config"
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/redact"
	"github.com/plumb-eval/plumb/internal/report"
	"github.com/plumb-eval/plumb/internal/report/terminal"
	"github.com/plumb-eval/plumb/internal/run"
	"github.com/plumb-eval/plumb/internal/runlog"
	"github.com/plumb-eval/plumb/internal/runner"
	"github.com/plumb-eval/plumb/internal/submit"
	"github.com/plumb-eval/plumb/internal/suite"
	"github.com/plumb-eval/plumb/internal/suite/lib"
	"github.com/plumb-eval/plumb/internal/text"
)

// Env is what a job sees of the process that it runs in.
type Env struct {
	Getenv  func(string) string
	Environ func() []string
	// Dir is the working directory. Relative paths are relative to it.
	Dir string
	// Stdout receives the reports that have no file; Stderr receives warnings and what code prints.
	Stdout, Stderr io.Writer
	Now            func() time.Time
	// Display describes Stdout for reporters: a terminal, its size, colors.
	Display terminal.Screen
	// SuiteRead is called with the size of each suite file before its cases are read. It may be
	// nil.
	SuiteRead func(size int)
	// Starting is called when everything is ready for the first session. It may be nil.
	Starting func(runners []plumb.Runner, executions, parallel int)
}

// Path returns name as an absolute path, or "" for "".
func (e Env) Path(name string) string {
	if name == "" || filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(e.Dir, name)
}

// Shown returns a path as the user would write it: relative, if it is below the working directory.
func (e Env) Shown(path string) string {
	if rel, err := filepath.Rel(e.Dir, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}

// ShownIn returns problems whose files are named as the user would write them.
func (e Env) ShownIn(problems []doc.Problem) []doc.Problem {
	out := slices.Clone(problems)
	for i := range out {
		out[i].Pos.File = e.Shown(out[i].Pos.File)
	}
	return out
}

// Project is the folder that a command works for: its config, its environment and its runs.
type Project struct {
	Config *config.Config
	// Root holds the runs and the cache.
	Root string
	// Getenv and Environ are those of the process, extended by the project's .env file.
	Getenv  func(string) string
	Environ func() []string
	Prices  *runner.Prices
	// Flags are the flags that a later command needs to find the runs of this project.
	Flags string

	// Env is the process. Its Getenv does not have the variables of .env.
	Env    Env
	redact *redact.Redactor
	// codeOutput receives what code of the project prints.
	codeOutput *redactingWriter
}

// OpenProject finds the project of the working directory. configPath names its config file; with ""
// OpenProject looks for one. A non-empty outputDir replaces the output directory of the config.
func OpenProject(ctx context.Context, env Env, configPath, outputDir string) (*Project, error) {
	c, err := ReadConfig(ctx, env, configPath)
	if err != nil {
		return nil, err
	}
	p, err := NewProject(env, c, outputDir)
	if err == nil && configPath != "" {
		p.Flags = strings.TrimSpace("--config " + report.ShellWord(configPath) + " " + p.Flags)
	}
	return p, err
}

// OpenProjectOf is [OpenProject] for a command on a suite: without configPath, the config that is
// nearest to the suite applies.
func OpenProjectOf(ctx context.Context, env Env, configPath, outputDir, suite string) (*Project, error) {
	if configPath != "" || suite == "" {
		return OpenProject(ctx, env, configPath, outputDir)
	}
	found, err := config.FindFor(suite, env.Dir)
	if err != nil {
		return nil, err
	}
	here, err := config.Find(env.Dir)
	if err != nil || found == here {
		return OpenProject(ctx, env, "", outputDir)
	}
	return OpenProject(ctx, env, found, outputDir)
}

// ReadConfig reads the config file at path, or with "" the one of the working directory. Without a
// config file it returns an empty config.
func ReadConfig(ctx context.Context, env Env, path string) (_ *config.Config, err error) {
	if path = env.Path(path); path == "" {
		if path, err = config.Find(env.Dir); err != nil {
			return nil, err
		}
	}
	if path == "" {
		return &config.Config{Dir: env.Dir}, nil
	}
	r := env.Redactor()
	out := newRedactingWriter(r, env.Stderr)
	defer func() { err = errors.Join(err, out.Close()) }()
	c, err := config.Read(ctx, path, lib.Host{Stdout: out, Stderr: out, Environ: env.Environ, Dir: env.Dir})
	if err != nil {
		if problems, ok := errors.AsType[doc.Problems](err); ok {
			return nil, doc.Problems(env.ShownIn(problems))
		}
		return nil, err
	}
	env.warn(r, env.ShownIn(c.Warnings))
	return c, nil
}

// NewProject returns the project of a config.
func NewProject(env Env, c *config.Config, outputDir string) (*Project, error) {
	p := &Project{Config: c, Prices: &runner.Prices{}, Env: env}
	if err := p.Prices.Override(c.Prices); err != nil {
		return nil, fmt.Errorf("read config %s: %w", c.Path, err)
	}
	switch {
	case outputDir != "":
		p.Root, p.Flags = env.Path(outputDir), "--output-dir "+report.ShellWord(outputDir)
	case c.Run.OutputDir != "":
		p.Root = c.Run.OutputDir
	default:
		p.Root = filepath.Join(c.Dir, run.Home)
	}
	dotenv, err := config.DotEnv(c.Dir, env.Getenv)
	if err != nil {
		return nil, err
	}
	extended := env.with(dotenv)
	p.Getenv = extended.Getenv
	p.Environ = func() []string { // nothing that is tested needs the token for the server
		own := func(pair string) bool { return strings.HasPrefix(pair, submit.TokenEnv+"=") }
		return slices.DeleteFunc(slices.Clone(extended.Environ()), own)
	}
	p.redact = p.RedactorWith(nil)
	p.codeOutput = newRedactingWriter(p.redact, env.Stderr)
	return p, nil
}

// with returns the environment with more variables: those of .env that are empty in it.
func (e Env) with(dotenv map[string]string) Env {
	getenv, environ := e.Getenv, e.Environ
	e.Getenv = func(name string) string { return cmp.Or(getenv(name), dotenv[name]) }
	e.Environ = func() []string {
		all := environ()
		for name, value := range dotenv {
			if getenv(name) == "" {
				all = append(all, name+"="+value)
			}
		}
		return all
	}
	return e
}

// Close writes the rest of what code of the project printed.
func (p *Project) Close() error { return p.codeOutput.Close() }

// Runs returns the directory of runs.
func (p *Project) Runs() string { return filepath.Join(p.Root, "runs") }

// Confirmations returns the directory of runs that repeat cases of others. They are not among the
// runs of the project, so that "last" stays the last run that the user asked for.
func (p *Project) Confirmations() string { return filepath.Join(p.Root, "confirmations") }

// Cache returns the directory of stored answers.
func (p *Project) Cache() string { return filepath.Join(p.Root, "cache") }

// NewRun makes a run directory in root.
func (p *Project) NewRun(root string) (*runlog.Dir, error) {
	if err := p.makeRoot(); err != nil {
		return nil, err
	}
	return runlog.Create(root, p.Env.Now())
}

// makeRoot makes the output directory, and keeps it out of version control.
func (p *Project) makeRoot() error {
	if err := os.MkdirAll(p.Root, 0o700); err != nil {
		return plumb.WithHint(fmt.Errorf("make the output directory: %w", err),
			"choose another one with --output-dir")
	}
	ignore := filepath.Join(p.Root, ".gitignore")
	if _, err := os.Stat(ignore); errors.Is(err, fs.ErrNotExist) {
		if err := os.WriteFile(ignore, []byte("*\n"), 0o600); err != nil {
			return fmt.Errorf("write %s: %w", ignore, err)
		}
	}
	return nil
}

// Printf writes a line about the project to standard error.
func (p *Project) Printf(format string, args ...any) { printf(p.Env.Stderr, p.redact, format, args...) }

// Warn prints the problems of a suite that do not stop a command.
func (p *Project) Warn(problems []doc.Problem) { p.Env.warn(p.redact, problems) }

func (e Env) warn(r *redact.Redactor, problems []doc.Problem) {
	const most = 20
	for i, problem := range problems {
		if i == most {
			fmt.Fprintf(e.Stderr, "... and %d more warnings (plumb validate lists them)\n", len(problems)-most)
			return
		}
		fmt.Fprintln(e.Stderr, r.String(text.Clean(problem.String())))
	}
}

// A Source is a suite that has been read.
type Source struct {
	Bundle *suite.Bundle
	Suite  *plumb.Suite
}

// Close ends the code of the suite.
func (s *Source) Close() error { return s.Bundle.Close() }

// Read reads a suite, which may be a file, a directory or a published suite, and reports all its
// problems. No check in code may take longer than sessionLimit, if that is positive.
func (p *Project) Read(ctx context.Context, ref, tier string, sessionLimit time.Duration) (*Source, error) {
	bundle, err := suite.Read(ctx, ref, suite.ReadOptions{Tier: tier, Dir: p.Env.Dir})
	if err != nil {
		return nil, err
	}
	if p.Env.SuiteRead != nil {
		p.Env.SuiteRead(len(bundle.Data()))
	}
	return p.readCases(ctx, bundle, sessionLimit)
}

// Planted returns the problems of a suite that holds secrets; see [suite.Bundle.Secrets]. Names
// such as the ids of its cases are no secrets: cases returns the suite, or nil if it is invalid.
func (p *Project) Planted(bundle *suite.Bundle, cases func() *plumb.Suite) []doc.Problem {
	found := bundle.Secrets(p.redact)
	if len(found) > 0 {
		if suite := cases(); suite != nil {
			found = bundle.Secrets(p.RedactorFor(suite))
		}
	}
	return p.Env.ShownIn(found)
}

// ReadRecorded reads the suite that the run at path was made with.
func (p *Project) ReadRecorded(ctx context.Context, path string, sessionLimit time.Duration) (*Source, error) {
	bundle, err := suite.Open(filepath.Join(path, runlog.BundleDir))
	if err != nil {
		return nil, err
	}
	return p.readCases(ctx, bundle, sessionLimit)
}

func (p *Project) readCases(ctx context.Context, bundle *suite.Bundle, sessionLimit time.Duration) (*Source, error) {
	suite, warnings, err := bundle.Suite(ctx, p.Host(sessionLimit))
	p.Warn(warnings)
	if err != nil {
		return nil, errors.Join(err, bundle.Close())
	}
	return &Source{bundle, suite}, nil
}

// Host returns what suites in code see of the process. What they print goes to standard error, so
// that it is never part of a report.
func (p *Project) Host(sessionLimit time.Duration) lib.Host {
	h := lib.Host{Stdout: p.codeOutput, Stderr: p.codeOutput, Environ: p.Environ}
	if sessionLimit > 0 {
		h.AssertTimeout = min(sessionLimit, lib.DefaultAssertTimeout)
	}
	return h
}

// Baselines returns the directory of baselines, which is beside the config.
func (p *Project) Baselines() string { return filepath.Join(p.Config.Dir, compare.BaselinesDir) }

// OpenSides opens both sides of a comparison at once, because reading the logs of large runs takes
// most of its time. The error is that of the baseline if both fail.
func (p *Project) OpenSides(base, cand string) (b, c *compare.Side, err error) {
	var wait sync.WaitGroup
	var candErr error
	wait.Go(func() { c, candErr = p.OpenSide(cand) })
	b, err = p.OpenSide(base)
	wait.Wait()
	return b, c, cmp.Or(err, candErr)
}

// OpenSide opens one side of a comparison; see [compare.Open].
func (p *Project) OpenSide(ref string) (*compare.Side, error) {
	side, err := compare.Open(ref, compare.OpenOptions{
		Dir: p.Env.Dir, Runs: p.Runs(), Baselines: p.Baselines(), RedactorOf: p.RedactorOf,
	})
	if err == nil { // a file can have any name, which reports repeat
		side.Name = string(redact.MaskKeys([]byte(p.redact.String(side.Name))))
	}
	return side, err
}
