package plumbtest

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/files"
	"github.com/plumb-eval/plumb/internal/redact"
	"github.com/plumb-eval/plumb/internal/report/kind"
	"github.com/plumb-eval/plumb/internal/runner"
)

// Open returns the runner that cfg describes, as plumb run would create it from a config file: a
// model, an agent, a command or a replay. Keys come from the environment of the test. Open ends the
// test if the runner cannot be created.
func Open(tb testing.TB, cfg plumb.RunnerConfig) plumb.Runner {
	tb.Helper()
	r, err := open(tb, cfg)
	if err != nil {
		tb.Fatalf("open the runner: %v", err)
	}
	return r
}

// OpenOrSkip is [Open], but skips the test if this machine lacks the key or the program of the
// runner. An invalid config still ends the test.
func OpenOrSkip(tb testing.TB, cfg plumb.RunnerConfig) plumb.Runner {
	tb.Helper()
	r, err := open(tb, cfg)
	if _, lacks := errors.AsType[*plumb.Failure](err); lacks {
		tb.Skipf("open the runner: %v", err)
	} else if err != nil {
		tb.Fatalf("open the runner: %v", err)
	}
	return r
}

func open(tb testing.TB, cfg plumb.RunnerConfig) (plumb.Runner, error) {
	tb.Helper()
	r, err := runner.New(tb.Context(), cfg, runner.Env{
		Getenv: os.Getenv, Environ: os.Environ, Redact: redactor(cfg),
		Note: func(n plumb.Note) { tb.Logf("%s: %s", n.Level, n.Text) },
	})
	if hint := plumb.Hint(err); err != nil && hint != "" {
		err = fmt.Errorf("%w (%s)", err, hint)
	}
	return r, err
}

// redactor returns a redactor for the secrets of runner configs, and for values of the environment
// whose names suggest a secret.
func redactor(configs ...plumb.RunnerConfig) *redact.Redactor {
	secrets := runner.Secrets(os.Getenv, configs)
	for _, pair := range os.Environ() {
		if name, value, _ := strings.Cut(pair, "="); runner.SecretName(name) {
			secrets = append(secrets, redact.Secret{Name: name, Value: value})
		}
	}
	return redact.New(secrets)
}

// reports are the reporters that the environment requests.
type reports struct {
	reporters []plumb.Reporter
	files     []io.Closer
}

// openReports opens reports, "name:path" each, separated by commas.
func openReports(specs string, o kind.Setup) (*reports, error) {
	r := &reports{}
	for spec := range strings.SplitSeq(specs, ",") {
		if spec = strings.TrimSpace(spec); spec == "" {
			continue
		}
		name, path, ok := strings.Cut(spec, ":")
		if !ok && name != kind.HTML {
			return nil, errors.Join(fmt.Errorf("PLUMB_TEST_REPORT: %q names no file: %s:FILE", spec, name), r.close())
		}
		own := o
		if ok {
			f, err := files.OpenOutput(path, os.O_CREATE|os.O_TRUNC, 0o600)
			if err != nil {
				return nil, errors.Join(fmt.Errorf("PLUMB_TEST_REPORT: %w", err), r.close())
			}
			r.files = append(r.files, f)
			own.Out, own.RunDir = f, ""
		}
		reporter, err := kind.New(name, own)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("PLUMB_TEST_REPORT: %w", err), r.close())
		}
		r.reporters = append(r.reporters, reporter)
	}
	return r, nil
}

func (r *reports) add(ev plumb.Event, state *plumb.Run) error {
	for _, reporter := range r.reporters {
		if err := reporter.Report(ev, state); err != nil {
			return fmt.Errorf("report: %w", err)
		}
	}
	return nil
}

func (r *reports) close() error {
	var all []error
	for _, reporter := range r.reporters {
		all = append(all, reporter.Close())
	}
	for _, f := range r.files {
		all = append(all, f.Close())
	}
	return errors.Join(all...)
}
