package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/config"
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/redact"
	"github.com/plumb-eval/plumb/internal/report"
	"github.com/plumb-eval/plumb/internal/run"
	"github.com/plumb-eval/plumb/internal/runner"
	"github.com/plumb-eval/plumb/internal/runner/modelapi"
	"github.com/plumb-eval/plumb/internal/suite/lib"
)

// project is the folder that a command works for: its config, its environment and where its runs are.
type project struct {
	config *config.Config
	// root holds runs and the cache.
	root string
	// getenv looks into the environment, and then into the project's .env file.
	getenv  func(string) string
	environ func() []string
	dotenv  map[string]string
	// flags are those that later commands need to find the runs of this one.
	flags  string
	prices *runner.Prices
	// sessionLimit is the time limit of one session, where the command has one: no check in code may take longer.
	sessionLimit time.Duration
}

// defaultOutputDir is where runs and the cache are, relative to the config file or else to the working directory.
const defaultOutputDir = ".plumb"

// open finds the project of the working directory. configPath names its config file; "" looks for one. outputDir, when it
// is not empty, replaces what the config says.
func (a *app) open(ctx context.Context, configPath, outputDir string) (*project, error) {
	config, err := a.config(ctx, configPath)
	if err != nil {
		return nil, err
	}
	p, err := a.project(config, outputDir)
	if err == nil && configPath != "" {
		p.flags = strings.TrimSpace("--config " + report.ShellWord(configPath) + " " + p.flags)
	}
	return p, err
}

// openFor is open for a command that runs a suite: its config is the one nearest to the suite.
func (a *app) openFor(ctx context.Context, configPath, outputDir, ref string) (*project, error) {
	if configPath != "" || ref == "" {
		return a.open(ctx, configPath, outputDir)
	}
	found, err := config.FindFor(ref, a.Dir)
	if err != nil {
		return nil, err
	}
	here, err := config.Find(a.Dir)
	if err != nil || found == here {
		return a.open(ctx, "", outputDir)
	}
	return a.open(ctx, found, outputDir)
}

// config reads the config file at path, or the one of the working directory, where there is one.
func (a *app) config(ctx context.Context, path string) (*config.Config, error) {
	if path = a.path(path); path == "" {
		var err error
		if path, err = config.Find(a.Dir); err != nil {
			return nil, err
		}
	}
	if path == "" {
		return &config.Config{Dir: a.Dir}, nil
	}
	var environment project
	environment.config, environment.getenv, environment.environ = &config.Config{}, a.Getenv, a.Environ
	out := a.redacting(environment.redactor(nil))
	config, err := config.Read(ctx, path, lib.Host{Stdout: out, Stderr: out, Environ: a.Environ, Dir: a.Dir})
	if err != nil {
		if problems, ok := errors.AsType[doc.Problems](err); ok {
			return nil, doc.Problems(a.near(problems))
		}
		return nil, err
	}
	a.warn(a.near(config.Warnings))
	return config, nil
}

// project returns the project of a config.
func (a *app) project(c *config.Config, outputDir string) (*project, error) {
	p := &project{config: c, prices: &runner.Prices{}}
	if err := p.prices.Override(prices(c.Prices)); err != nil {
		return nil, fmt.Errorf("read config %s: %w", c.Path, err)
	}
	switch {
	case outputDir != "":
		p.root, p.flags = a.path(outputDir), "--output-dir "+report.ShellWord(outputDir)
	case p.config.Run.OutputDir != "":
		p.root = p.config.Resolve(p.config.Run.OutputDir)
	default:
		p.root = filepath.Join(p.config.Dir, defaultOutputDir)
	}
	var err error
	if p.dotenv, err = config.DotEnv(p.config.Dir, a.Getenv); err != nil {
		return nil, err
	}
	p.getenv = func(name string) string {
		if v := a.Getenv(name); v != "" {
			return v
		}
		return p.dotenv[name]
	}
	p.environ = func() []string {
		all := a.Environ()
		for name, value := range p.dotenv {
			if a.Getenv(name) == "" {
				all = append(all, name+"="+value)
			}
		}
		return all
	}
	a.redact = p.redactor(nil)
	return p, nil
}

func (p *project) runs() string  { return filepath.Join(p.root, "runs") }
func (p *project) cache() string { return filepath.Join(p.root, "cache") }

// newRun makes a run directory, and keeps the output folder out of version control.
func (a *app) newRun(p *project) (*run.Dir, error) {
	if err := os.MkdirAll(p.root, 0o700); err != nil {
		return nil, plumb.WithHint(fmt.Errorf("make the output directory: %w", err), "name another place with --output-dir")
	}
	ignore := filepath.Join(p.root, ".gitignore")
	if _, err := os.Stat(ignore); errors.Is(err, fs.ErrNotExist) {
		if err := os.WriteFile(ignore, []byte("*\n"), 0o600); err != nil {
			return nil, fmt.Errorf("write %s: %w", ignore, err)
		}
	}
	return run.Create(p.runs(), a.Now())
}

// redactor knows the secrets of the environment, of the project, and of the settings of a command. words are those that
// stand for something in what the command writes, such as the ids of cases; they are never taken for secrets.
func (p *project) redactor(words iter.Seq[string], settings ...any) *redact.Redactor {
	secrets := runner.Secrets(p.getenv, append([]any{p.config}, settings...)...)
	own := vocabulary()
	for _, provider := range modelapi.Providers() {
		own = append(own, provider.Name)
		for _, name := range provider.KeyEnv {
			secrets = append(secrets, redact.Secret{Name: name, Value: p.getenv(name)})
		}
	}
	for _, pair := range p.environ() {
		name, value, _ := strings.Cut(pair, "=")
		if runner.SecretName(name) || slices.Contains(p.config.Run.Redact, name) {
			secrets = append(secrets, redact.Secret{Name: name, Value: value})
		}
	}
	if words != nil {
		for word := range words { // of a million cases hardly one is like a secret
			if slices.ContainsFunc(secrets, stands(word)) {
				own = append(own, word)
			}
		}
	}
	return redact.New(secrets, own...)
}

// stands returns a function that reports whether a secret is in word, in letters of either case.
func stands(word string) func(redact.Secret) bool {
	return func(s redact.Secret) bool {
		return s.Value != "" && len(s.Value) <= len(word) && strings.Contains(strings.ToLower(word), strings.ToLower(s.Value))
	}
}

// near gives problems their files as the user would write them.
func (a *app) near(problems []doc.Problem) []doc.Problem {
	out := slices.Clone(problems)
	for i := range out {
		out[i].Pos.File = a.shown(out[i].Pos.File)
	}
	return out
}

// warn prints problems with which one can go on.
func (a *app) warn(problems []doc.Problem) {
	const most = 20
	for i, w := range problems {
		if i == most {
			fmt.Fprintf(a.Stderr, "... and %d more warnings (plumb validate lists them)\n", len(problems)-most)
			return
		}
		fmt.Fprintln(a.Stderr, a.clean(w.String()))
	}
}
