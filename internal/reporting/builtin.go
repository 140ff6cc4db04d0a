package reporting

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/plumb-eval/plumb/internal/report"
	"github.com/plumb-eval/plumb/internal/report/kind"
	"github.com/plumb-eval/plumb/internal/script"
)

// builtIns lets a reporter in code use the built-in reporters, for example by
// createStandardReporter: each renders the run when the run ends. See the host calls in
// internal/suite/lib/PROTOCOL.md.
type builtIns struct {
	stdout  io.Writer
	options kind.Setup // with the run directory in RunDir
}

// builtIn describes one of them; the code holds this description as its handle.
type builtIn struct {
	Name    string `json:"name"`
	Capture bool   `json:"capture"`
	Unicode *bool  `json:"isUnicode"`
	// Env replaces the environment.
	Env map[string]string `json:"env"`
}

func (b *builtIns) host() map[string]script.HostFunc {
	return map[string]script.HostFunc{"createReporter": b.create}
}

func (b *builtIns) async() map[string]script.HostFunc {
	return map[string]script.HostFunc{"reportTo": b.report}
}

func texts(args []json.RawMessage, n int) ([]string, error) {
	out := make([]string, len(args))
	for i, arg := range args {
		if err := json.Unmarshal(arg, &out[i]); err != nil {
			return nil, err
		}
	}
	if len(out) != n {
		return nil, errors.New("called with the wrong number of arguments")
	}
	return out, nil
}

func (b *builtIns) create(_ context.Context, args []json.RawMessage) (any, error) {
	given, err := texts(args, 2)
	if err != nil {
		return nil, err
	}
	var r builtIn
	if err := json.Unmarshal([]byte(given[1]), &r); err != nil {
		return nil, err
	}
	if r.Name = given[0]; r.Name == "standard" {
		r.Name = kind.Terminal
	}
	if b.options.RunDir == "" || !slices.Contains(kind.Names(), r.Name) {
		return nil, fmt.Errorf("unknown built-in reporter %q", r.Name)
	}
	handle, err := json.Marshal(r)
	return string(handle), err
}

func (b *builtIns) report(_ context.Context, args []json.RawMessage) (any, error) {
	given, err := texts(args, 3)
	if err != nil || given[1] != "onSuiteFinish" {
		return "", err
	}
	var r builtIn
	if err := json.Unmarshal([]byte(given[0]), &r); err != nil {
		return nil, err
	}
	var captured bytes.Buffer
	o := b.options
	o.Out, o.Terminal = b.stdout, false
	if r.Capture {
		o.Out, o.Color = &captured, false
	}
	if r.Unicode != nil {
		o.Unicode = *r.Unicode
	}
	if r.Env != nil {
		o.Getenv = func(name string) string { return r.Env[name] }
	}
	reporter, err := kind.New(r.Name, o)
	if err != nil {
		return nil, err
	}
	if _, err := report.Replay(reporter, events(o.RunDir)); err != nil {
		return nil, err
	}
	return captured.String(), nil
}
