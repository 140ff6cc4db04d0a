package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/plumb-eval/plumb/internal/report"
	"github.com/plumb-eval/plumb/internal/script"
)

// builtIns answers what a reporter in code asks of the reporters that are built in, such as createStandardReporter: each
// renders the run once it is told of its end. See the host calls in internal/suite/lib/PROTOCOL.md.
type builtIns struct {
	a *app
	o report.Options // RunDir is the run's directory
}

// builtIn is one of them, as its handle says.
type builtIn struct {
	Name    string `json:"name"`
	Capture bool   `json:"capture"`
	Unicode *bool  `json:"isUnicode"`
	// Env stands instead of the environment.
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
		return nil, errors.New("called in a way that is not known")
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
		r.Name = report.Terminal
	}
	if b.o.RunDir == "" || !slices.Contains(report.Names(), r.Name) {
		return nil, errors.New("there is none")
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
	o := b.o
	o.Out, o.Terminal = b.a.Stdout, false
	if r.Capture {
		o.Out, o.Color = &captured, false
	}
	if r.Unicode != nil {
		o.Unicode = *r.Unicode
	}
	if r.Env != nil {
		o.Getenv = func(name string) string { return r.Env[name] }
	}
	reporter, err := report.New(r.Name, o)
	if err != nil {
		return nil, err
	}
	if _, err := report.Replay(reporter, events(o.RunDir)); err != nil {
		return nil, err
	}
	return captured.String(), nil
}
