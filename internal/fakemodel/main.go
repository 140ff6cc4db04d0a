package fakemodel

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/plumb-eval/plumb/internal/agentscript"
)

// Main runs the server as a separate process until SIGINT or SIGTERM, and returns the exit code. It
// prints one line, "listening http://HOST:PORT", when it is ready. Test binaries call it. args
// exclude the program's name.
func Main(args []string, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	debug.SetGCPercent(400) // it shares the machine with its clients
	if err := serve(ctx, args, stdout, stderr); err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(stderr, "fakemodel:", err)
		}
		return 2
	}
	return 0
}

func serve(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var addr, urlFile, answers, scripts string
	var life time.Duration
	var o Behavior
	known := map[string]Model{}
	fs := flag.NewFlagSet("fakemodel", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.StringVar(&addr, "addr", "127.0.0.1:0", "address to listen on")
	fs.StringVar(&urlFile, "url-file", "", "file to write the address to")
	fs.StringVar(&answers, "answers", "", "file of answers, JSON lines")
	fs.StringVar(&scripts, "agent-scripts", "", "file of scripts for agents, JSON, served at /s/NAME")
	fs.DurationVar(&life, "life", 0, "time after which the server ends, such as 10m (default never)")
	fs.StringVar(&o.Key, "key", "", "API key that requests must have")
	fs.DurationVar(&o.Latency, "latency", 0, "time from request to reply")
	fs.DurationVar(&o.LatencyJitter, "jitter", 0, "random part added to the latency")
	fs.IntVar(&o.MaxConcurrent, "max-concurrent", 0, "concurrent requests above which there is a 429")
	fs.IntVar(&o.RatePerMinute, "rate-per-minute", 0, "requests per minute above which there is a 429")
	fs.DurationVar(&o.RetryAfter, "retry-after", 0, "wait that a 429 requests (default 1s)")
	fs.Uint64Var(&o.Seed, "seed", 0, "seed of faults and ids")
	fs.Float64Var(&o.Faults.Rate, "fault-rate", 0, "share of attempts that break")
	fs.Float64Var(&o.Faults.Permanent, "fault-permanent", 0, "share of prompts that always break")
	fs.Func("fault-kinds", "faults to choose from, separated by commas (default all)", func(list string) error {
		for kind := range strings.SplitSeq(list, ",") {
			if !slices.Contains(slices.Concat(AllFaults(), HostileReplies()), Fault(kind)) {
				return fmt.Errorf("unknown fault %q", kind)
			}
			o.Faults.Kinds = append(o.Faults.Kinds, Fault(kind))
		}
		return nil
	})
	fs.BoolFunc("real-models", "know only the real models, with their rejected parameters", func(string) error {
		maps.Copy(known, RealModels())
		return nil
	})
	const modelUsage = "a known model: NAME;refuses=temperature,seed;reasoning=500;blocks=refusal"
	fs.Func("model", modelUsage, func(spec string) error {
		name, m, err := parseModel(spec)
		known[name] = m
		return err
	})
	if err := fs.Parse(args); err != nil {
		return err
	}
	if fs.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", fs.Arg(0))
	}
	if len(known) > 0 {
		o.Models = known
	}
	if answers != "" {
		f, err := os.Open(answers)
		if err != nil {
			return fmt.Errorf("read answers: %w", err)
		}
		defer f.Close()
		if o.Answers, err = ReadAnswers(f); err != nil {
			return fmt.Errorf("read answers %s: %w", answers, err)
		}
	}
	if life > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, life)
		defer cancel()
	}
	s := New(o)
	handler := http.Handler(s)
	if scripts != "" {
		var err error
		if handler, err = s.withScripts(scripts); err != nil {
			return err
		}
	}
	l, err := s.Listen(ctx, addr, HTTP, handler)
	if err != nil {
		return err
	}
	if urlFile != "" {
		if err := os.WriteFile(urlFile, []byte(l.URL+"\n"), 0o600); err != nil {
			return fmt.Errorf("write the address: %w", err)
		}
	}
	fmt.Fprintln(stdout, "listening", l.URL)
	select {
	case err := <-l.done:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	s.Release()
	l.Close()
	return nil
}

// withScripts adds the scripts in a file to what s serves.
func (s *Server) withScripts(file string) (http.Handler, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	scripts, err := agentscript.ReadScripts(f)
	if err != nil {
		return nil, fmt.Errorf("read scripts %s: %w", file, err)
	}
	agents := agentsOf(s)
	for _, script := range scripts {
		if _, err := agents.Add(script); err != nil {
			return nil, err
		}
	}
	mux := http.NewServeMux()
	mux.Handle("/", s)
	mux.Handle(agentscript.Path, agents)
	return mux, nil
}

// parseModel reads the value of the flag -model.
func parseModel(spec string) (name string, m Model, err error) {
	name, rest, _ := strings.Cut(spec, ";")
	for part := range strings.SplitSeq(rest, ";") {
		key, value, _ := strings.Cut(part, "=")
		switch key {
		case "":
		case "refuses":
			m.Refuses = strings.Split(value, ",")
		case "reasoning":
			m.Reasoning, err = strconv.Atoi(value)
		case "blocks":
			m.Blocks = Block(value)
		default:
			err = fmt.Errorf("unknown property %q of a model", key)
		}
		if err != nil {
			return "", m, err
		}
	}
	return name, m, nil
}
