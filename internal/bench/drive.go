package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The arguments of plumb.
const (
	model  = "gpt-4o"
	apiKey = "sk-bench-0123456789abcdef"
)

// runCommand is the measured command line for a suite.
func (b *bench) runCommand(suite, summary string, parallel int) []string {
	return []string{
		b.plumb, "run", suite, "--model", "openai:" + model, "--parallel", strconv.Itoa(parallel), "--report",
		"json-summary:" + summary,
	}
}

// environment returns plumb's environment. It has nothing of the user's, so that no config, key or
// proxy changes the result.
func (b *bench) environment(url string) []string {
	env := []string{"HOME=" + b.dir, "USERPROFILE=" + b.dir, "TMPDIR=" + b.dir, "NO_COLOR=1"}
	if url != "" {
		env = append(env, "OPENAI_API_KEY="+apiKey, "OPENAI_BASE_URL="+url+"/v1")
	}
	for _, name := range []string{"PATH", "SYSTEMROOT"} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// bench is one run of the measurements.
type bench struct {
	self, plumb, dir string
	only, skillgym   string
	scale            int
	rounds           int
	stdout, stderr   io.Writer
	report           report
	runs             int
}

// drive measures everything and prints the report.
func drive(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	b := &bench{stdout: stdout, stderr: stderr}
	fs := flag.NewFlagSet("bench", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.StringVar(&b.plumb, "plumb", "", "plumb binary to measure (default: build ./cmd/plumb)")
	fs.StringVar(&b.only, "only", "",
		"measure only what contains this in its name: size, start, replay, hash, validate, "+
			"latency, cpu, memory, compare, agent-start, agent-many, agent-normalize, agent-large")
	fs.StringVar(&b.skillgym, "skillgym", "",
		"directory with node_modules in which skillgym and node are installed (default: npm installs them)")
	fs.IntVar(&b.scale, "scale", 1, "divide the numbers of cases by this, for a quick look")
	fs.IntVar(&b.rounds, "rounds", 3, "rounds of each comparison; the median counts")
	dir := fs.String("dir", "", "directory to work in, kept (default: a temporary one, about 1 GB)")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if fs.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", fs.Arg(0))
	}
	b.scale, b.rounds = max(1, b.scale), max(1, b.rounds)
	if err := b.prepare(ctx, *dir); err != nil {
		return err
	}
	if *dir == "" {
		defer os.RemoveAll(b.dir)
	}
	begun := time.Now()
	for _, step := range []struct {
		name string
		do   func(context.Context) error
	}{
		{"size", b.size},
		{"start", b.start},
		{"replay", b.replay},
		{"latency", b.latency},
		{"cpu", b.cpu},
		{"memory", b.memory},
		{"hash", b.hash},
		{"validate", b.validate},
		{"compare", b.compare},
		{"agent-start", b.agentStart},
		{"agent-many", b.agentMany},
		{"agent-normalize", b.agentNormalize},
		{"agent-large", b.agentLarge},
	} {
		if !strings.Contains(step.name, b.only) {
			continue
		}
		fmt.Fprintf(stderr, "%s ...\n", step.name)
		if err := step.do(ctx); err != nil {
			if !errors.Is(err, errWrong) {
				return fmt.Errorf("%s: %w", step.name, err)
			}
			b.report.wrong = append(b.report.wrong, step.name+": "+err.Error())
		}
	}
	b.report.write(stdout, fmt.Sprintf("%s/%s, %s, %d CPUs, scale 1/%d, %s in all", runtime.GOOS, runtime.GOARCH,
		runtime.Version(),
		runtime.NumCPU(), b.scale, time.Since(begun).Round(time.Second)))
	if len(b.report.wrong) > 0 {
		return fmt.Errorf("%w: %s", errWrong, strings.Join(b.report.wrong, "; "))
	}
	return nil
}

// prepare creates the directory and builds the binary.
func (b *bench) prepare(ctx context.Context, dir string) error {
	var err error
	if b.self, err = os.Executable(); err != nil {
		return err
	}
	if b.dir = dir; dir == "" {
		if b.dir, err = os.MkdirTemp("", "plumb-bench-"); err != nil {
			return err
		}
	}
	if b.dir, err = filepath.Abs(b.dir); err != nil {
		return err
	}
	if err := os.MkdirAll(b.dir, 0o700); err != nil {
		return err
	}
	if b.plumb != "" {
		b.plumb, err = filepath.Abs(b.plumb)
		return err
	}
	b.plumb = filepath.Join(b.dir, "plumb")
	if runtime.GOOS == "windows" {
		b.plumb += ".exe"
	}
	return b.build(ctx, b.plumb, "-trimpath")
}

// build builds plumb, in its own module.
func (b *bench) build(ctx context.Context, file string, flags ...string) error {
	env := append(os.Environ(), "CGO_ENABLED=0")
	u, err := execute(ctx, "", env, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/plumb-eval/plumb")
	if err = u.failure(err); err == nil {
		argv := slices.Concat([]string{"go", "build", "-o", file}, flags, []string{"./cmd/plumb"})
		u, err = execute(ctx, u.output, env, argv...)
		err = u.failure(err)
	}
	if err != nil {
		return fmt.Errorf("build plumb: %w", err)
	}
	return nil
}

// helper runs a mode of this program as a process. Its exit code 1 means that plumb gave a wrong
// result.
func (b *bench) helper(ctx context.Context, args ...string) error {
	u, err := execute(ctx, b.dir, b.environment(""), slices.Concat([]string{b.self}, args)...)
	if err == nil && u.code == 1 {
		return fmt.Errorf("%w: %s", errWrong, u.output)
	}
	return u.failure(err)
}

// generate writes a suite of n cases and its answers, once.
func (b *bench) generate(ctx context.Context, n int) (suite, answers string, err error) {
	suite, answers = filepath.Join(b.dir, fmt.Sprintf("suite-%d.jsonl", n)),
		filepath.Join(b.dir, fmt.Sprintf("answers-%d.jsonl", n))
	if _, err := os.Stat(answers); err == nil {
		return suite, answers, nil
	}
	err = b.helper(ctx, "generate", "-n", strconv.Itoa(n), "-suite", suite, "-answers", answers)
	return suite, answers, err
}

// measured is one run of a tool against its own server.
type measured struct{ tool, server usage }

// runPlumb runs a suite of n cases through plumb and checks the result.
func (b *bench) runPlumb(ctx context.Context, n, parallel int, latency time.Duration) (measured, error) {
	return b.against(ctx, n, latency, func(suite, _, dir string) ([]string, []string) {
		summary := filepath.Join(dir, "summary.json")
		return b.runCommand(suite, summary, parallel), []string{"-summary", summary}
	})
}

// runFloor runs a suite of n cases through the bare loop.
func (b *bench) runFloor(ctx context.Context, n, parallel int, latency time.Duration) (measured, error) {
	return b.against(ctx, n, latency, func(suite, url, dir string) ([]string, []string) {
		out := filepath.Join(dir, "results.jsonl")
		return []string{
			b.self, "floor", "-suite", suite, "-url", url, "-parallel", strconv.Itoa(parallel), "-out",
			out,
		}, []string{"-results", out}
	})
}

func (b *bench) against(ctx context.Context, n int, latency time.Duration,
	command func(suite, url, dir string) (run, check []string),
) (measured, error) {
	var m measured
	suite, answers, err := b.generate(ctx, n)
	if err != nil {
		return m, err
	}
	srv, err := b.serve(ctx, answers, latency)
	if err != nil {
		return m, err
	}
	stopped := false
	stop := func() {
		if !stopped {
			stopped, m.server = true, srv.stop()
		}
	}
	defer stop()
	b.runs++
	dir := filepath.Join(b.dir, fmt.Sprintf("run-%d", b.runs))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return m, err
	}
	defer os.RemoveAll(dir)
	run, check := command(suite, srv.url, dir)
	if m.tool, err = execute(ctx, dir, b.environment(srv.url), run...); err != nil {
		return m, err
	}
	if m.tool.code > 1 {
		return m, fmt.Errorf("%w: %s ended with code %d: %s", errWrong, strings.Join(run, " "), m.tool.code,
			m.tool.output)
	}
	err = b.helper(ctx, slices.Concat([]string{"check", "-n", strconv.Itoa(n), "-url", srv.url}, check)...)
	stop()
	return m, err
}

// plain runs plumb without a server and checks its exit code.
func (b *bench) plain(ctx context.Context, code int, args ...string) (usage, error) {
	u, err := execute(ctx, b.dir, b.environment(""), slices.Concat([]string{b.plumb}, args)...)
	if err == nil && u.code != code {
		err = fmt.Errorf("%w: plumb %s ended with code %d, want %d: %s", errWrong, strings.Join(args, " "), u.code,
			code, u.output)
	}
	return u, err
}
