package fakemodel

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
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

// settings are the flags that are not [Options].
type settings struct{ addr, protocol, certFile, urlFile, answers, scripts, statsFile, life string }

func serve(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var set settings
	var o Options
	if err := parseFlags(&set, &o, args, stderr); err != nil {
		return err
	}
	for file := range strings.SplitSeq(set.answers, ",") {
		if file == "" {
			continue
		}
		answers, err := readAnswersFile(file)
		if err != nil {
			return fmt.Errorf("read answers %s: %w", file, err)
		}
		o.Answers = append(o.Answers, answers...)
	}
	if set.life != "" {
		life, err := time.ParseDuration(set.life)
		if err != nil {
			return fmt.Errorf("read -life: %w", err)
		}
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, life)
		defer cancel()
	}
	s := New(o)
	handler := http.Handler(s)
	if set.scripts != "" {
		var err error
		if handler, err = s.withScripts(set.scripts); err != nil {
			return err
		}
	}
	l, err := s.Listen(ctx, set.addr, Protocol(set.protocol), handler)
	if err != nil {
		return err
	}
	if set.certFile != "" {
		if err := os.WriteFile(set.certFile, l.Certificate, 0o600); err != nil {
			return fmt.Errorf("write the certificate: %w", err)
		}
	}
	if set.urlFile != "" {
		if err := os.WriteFile(set.urlFile, []byte(l.URL+"\n"), 0o600); err != nil {
			return fmt.Errorf("write the address: %w", err)
		}
	}
	fmt.Fprintln(stdout, "listening", l.URL)
	if err := s.run(ctx, l); err != nil {
		return err
	}
	if set.statsFile == "" {
		return nil
	}
	data, err := json.Marshal(s.Stats())
	if err != nil {
		return fmt.Errorf("encode the figures: %w", err)
	}
	return os.WriteFile(set.statsFile, append(data, '\n'), 0o600)
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

// run serves until ctx ends, and then drops pending requests.
func (s *Server) run(ctx context.Context, l *Listening) error {
	select {
	case err := <-l.done:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	s.Release()
	l.Close()
	return nil
}

func readAnswersFile(file string) ([]Answer, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return ReadAnswers(f)
}

func parseFlags(set *settings, o *Options, args []string, stderr io.Writer) error {
	fs := flag.NewFlagSet("fakemodel", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.StringVar(&set.addr, "addr", "127.0.0.1:0", "address to listen on")
	set.protocol = string(HTTP)
	fs.Func("protocol", "http, https or http2 (default http)", func(name string) error {
		if set.protocol = name; !slices.Contains(Protocols(), Protocol(name)) {
			return fmt.Errorf("unknown protocol %q", name)
		}
		return nil
	})
	fs.StringVar(&set.certFile, "cert-file", "", "file to write the certificate to that clients must trust")
	fs.IntVar(&o.MaxStreams, "max-streams", 0, "requests that share a connection of HTTP/2 (default 250)")
	fs.StringVar(&set.urlFile, "url-file", "", "file to write the address to")
	fs.StringVar(&set.answers, "answers", "", "files of answers, JSON lines, separated by commas")
	fs.StringVar(&set.scripts, "agent-scripts", "", "file of scripts for agents, JSON, served at /s/NAME")
	fs.StringVar(&set.statsFile, "stats-file", "", "file to write the figures to at the end")
	fs.StringVar(&set.life, "life", "", "time after which to end unasked, such as 10m")
	fs.StringVar(&o.Key, "key", "", "the API key to ask for")
	fs.DurationVar(&o.Latency, "latency", 0, "time from request to reply")
	fs.DurationVar(&o.LatencyJitter, "jitter", 0, "random part added to the latency")
	fs.DurationVar(&o.RetryAfter, "retry-after", 0, "what a 429 says (default 1s)")
	fs.Uint64Var(&o.Seed, "seed", 0, "seed of faults and ids")
	fs.IntVar(&o.MaxConcurrent, "max-concurrent", 0, "requests in flight above which there is a 429")
	fs.IntVar(&o.RatePerMinute, "rate-per-minute", 0, "requests a minute above which there is a 429")
	fs.IntVar(&o.Dimensions, "dimensions", 0, "length of embedding vectors (default 128)")
	fs.Float64Var(&o.Faults.Rate, "fault-rate", 0, "share of attempts that break")
	fs.Float64Var(&o.Faults.Permanent, "fault-permanent", 0, "share of prompts that always break")
	fs.IntVar(&o.Faults.MaxConsecutive, "fault-max-consecutive", 0, "most faults of a prompt in a row (default 2)")
	fs.DurationVar(&o.Faults.HangFor, "hang-for", 0, "when to give up on a request that hangs (default: never)")
	fs.DurationVar(&o.Faults.SlowFor, "slow-for", 0, "how long a slow body takes (default 300ms)")
	fs.Func("fault-kinds", "faults to choose from, separated by commas (default all)", func(list string) error {
		for kind := range strings.SplitSeq(list, ",") {
			if !slices.Contains(slices.Concat(AllFaults(), HostileReplies()), Fault(kind)) {
				return fmt.Errorf("unknown fault %q", kind)
			}
			o.Faults.Kinds = append(o.Faults.Kinds, Fault(kind))
		}
		return nil
	})
	fs.BoolFunc("real-models", "know only the real models, with their peculiarities", func(string) error {
		if o.Models == nil {
			o.Models = map[string]Model{}
		}
		for name, m := range RealModels() {
			if _, ok := o.Models[name]; !ok {
				o.Models[name] = m
			}
		}
		return nil
	})
	fs.Func("model", "a known model: NAME or NAME;refuses=temperature,seed;reasoning=500;... (repeatable)",
		func(spec string) error {
			name, m, err := parseModel(spec)
			if err != nil {
				return err
			}
			if o.Models == nil {
				o.Models = map[string]Model{}
			}
			o.Models[name] = m
			return nil
		})
	if err := fs.Parse(args); err != nil {
		return err
	}
	if fs.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", fs.Arg(0))
	}
	return nil
}

// parseModel reads the value of the flag -model.
func parseModel(spec string) (string, Model, error) {
	name, rest, _ := strings.Cut(spec, ";")
	var m Model
	for part := range strings.SplitSeq(rest, ";") {
		if part == "" {
			continue
		}
		key, value, _ := strings.Cut(part, "=")
		var err error
		switch key {
		case "snapshot":
			m.Snapshot = value
		case "fingerprint":
			m.Fingerprint = value
		case "refuses":
			m.Refuses = strings.Split(value, ",")
		case "refuses-value":
			m.RefusesValue = strings.Split(value, ",")
		case "reasoning":
			m.Reasoning, err = strconv.Atoi(value)
		case "cached":
			m.CachedTokens, err = strconv.Atoi(value)
		case "cache-write":
			m.CacheWriteTokens, err = strconv.Atoi(value)
		case "blocks":
			m.Blocks = Block(value)
		case "no-quota":
			m.NoQuota = true
		default:
			return "", m, fmt.Errorf("unknown peculiarity %q", key)
		}
		if err != nil {
			return "", m, fmt.Errorf("%s: %w", key, err)
		}
	}
	return name, m, nil
}
