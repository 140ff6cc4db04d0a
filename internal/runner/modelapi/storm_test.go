package modelapi

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/fakemodel"
)

// wires are configurations that reach the fake server in each wire format there is.
func wires(address string) []Config {
	return []Config{
		{Provider: "openai", Model: "gpt-4o", BaseURL: address},
		{Provider: "openai", Model: "gpt-4.1", API: "responses", BaseURL: address},
		{Provider: "anthropic", Model: "claude-opus-4-5", BaseURL: address},
		{Provider: "google", Model: "gemini-2.5-flash", BaseURL: address},
		{Provider: "azure", Model: "gpt-4o-mini", BaseURL: address},
		{Provider: "ollama", Model: "qwen3", BaseURL: address + "/ollama/v1"},
	}
}

// TestStorm asks many questions, in every wire format, of a server of which nearly a third of all
// replies are broken in every way there is. Each question that can be answered is, and rightly;
// each other ends in an error that says why.
func TestStorm(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("a storm takes some seconds")
	}
	for _, p := range fakemodel.Protocols() {
		t.Run("passing, "+string(p), func(t *testing.T) {
			t.Parallel()
			storm(t, p, fakemodel.Faults{Rate: 0.3, SlowFor: 50 * time.Millisecond})
		})
	}
	t.Run("hostile", func(t *testing.T) {
		t.Parallel()
		storm(t, fakemodel.HTTP, fakemodel.Faults{Rate: 0.3, Permanent: 0.1, Kinds: fakemodel.HostileReplies()})
	})
	t.Run("lasting", func(t *testing.T) {
		t.Parallel()
		kinds := slices.DeleteFunc(fakemodel.AllFaults(), func(f fakemodel.Fault) bool {
			return f == fakemodel.FaultRateDate || f == fakemodel.FaultRateSeconds // which are waited for too long for a test
		})
		storm(t, fakemodel.HTTP, fakemodel.Faults{Rate: 0.2, Permanent: 0.1, Kinds: kinds, SlowFor: 50 * time.Millisecond})
	})
}

func storm(t *testing.T, p fakemodel.Protocol, faults fakemodel.Faults) {
	t.Helper()
	fake := fakemodel.New(fakemodel.Behavior{
		Key: "sk-test-0123456789", Seed: 7, Faults: faults, MaxStreams: 16,
		Answer: func(a fakemodel.Ask) string { return "re: " + a.Prompt() },
	})
	srv, err := fake.Listen(t.Context(), "127.0.0.1:0", p, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Close)
	t.Cleanup(fake.Release)
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(srv.Certificate)
	opts := TransportOptions{MaxInFlight: 64, Backoff: 5 * time.Millisecond}
	if p == fakemodel.HTTP2 { // or one connection that breaks takes hundreds of requests with it
		opts.MaxInFlight = 16
	}
	base := newBase(opts)
	base.TLSClientConfig = &tls.Config{RootCAs: trusted}
	opts.Base = base
	tr := NewTransport(opts)
	t.Cleanup(tr.Close)
	var models []*Model
	for _, cfg := range wires(srv.URL) {
		cfg.APIKey, cfg.Transport, cfg.RequestTimeout = "sk-test-0123456789", tr, time.Second
		cfg.Parameters = plumb.Parameters{Temperature: new(0.0), Seed: new(int64(42)), TopP: new(0.5)}
		m, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		models = append(models, m)
	}
	var wg sync.WaitGroup
	for i := range 600 {
		wg.Go(func() {
			prompt := fmt.Sprintf("question %d", i)
			m := models[i%len(models)]
			rep, err := m.Run(t.Context(), say(prompt))
			truth := fake.Truth(prompt)
			var f *plumb.Failure
			switch {
			case truth.Broken == "" && err != nil:
				t.Errorf("%s: %s could be answered after %v: %v", prompt, m.name(), truth.Faults, err)
			case truth.Broken == "":
				if rep.FinalOutput != "re: "+prompt || rep.FinishReason != plumb.FinishStop {
					t.Errorf("%s: %q, %s", prompt, rep.FinalOutput, rep.FinishReason)
				}
				// On HTTP/2 a request that the server says it did not look at is made again below
				// us, and not counted.
				if rep.Requests < len(truth.Faults) && p != fakemodel.HTTP2 {
					t.Errorf("%s: %d requests told, %d at least were made", prompt, rep.Requests, len(truth.Faults))
				}
			default:
				if rep != nil || !errors.As(err, &f) {
					t.Errorf("%s: %v, %v; it always meets %s", prompt, rep, err, truth.Broken)
					return
				}
				hangs := truth.Broken == fakemodel.FaultHang || truth.Broken == fakemodel.FaultStall || truth.Broken == fakemodel.FaultDrip
				if hangs != (f.Origin == plumb.OriginTimeout) || f.Attempts < 2 || f.Provider != m.provider.Name {
					t.Errorf("%s: always %s: %s, %+v", prompt, truth.Broken, f.Origin, f)
				}
			}
		})
	}
	wg.Wait()
	if s := fake.Stats(); s.Total() < 700 {
		t.Errorf("%d requests for 600 questions: too few retries", s.Total())
	}
	if s := tr.stats(); s.InFlight != 0 || s.Waiting != 0 {
		t.Errorf("%+v", s)
	}
}

// TestModelPeculiarities runs the real models' habits that the fake server knows.
func TestModelPeculiarities(t *testing.T) {
	t.Parallel()
	fake := fakemodel.New(fakemodel.Behavior{Models: map[string]fakemodel.Model{
		"picky":     {RefusesValue: []string{"temperature"}, Refuses: []string{"seed"}},
		"thinker":   {Reasoning: 5000},
		"refuser":   {Blocks: fakemodel.BlockRefusal},
		"filtered":  {Blocks: fakemodel.BlockFilter},
		"forbidden": {Blocks: fakemodel.BlockPrompt},
		"cached":    {CachedTokens: 3, CacheWriteTokens: 2, Reasoning: 4},
		"poor":      {NoQuota: true},
	}})
	srv := httptest.NewServer(fake)
	t.Cleanup(srv.Close)
	for _, cfg := range wires(srv.URL) {
		for _, name := range []string{"picky", "thinker", "refuser", "filtered", "forbidden", "cached", "poor", "missing"} {
			t.Run(cfg.Provider+cfg.API+" "+name, func(t *testing.T) {
				t.Parallel()
				if cfg.Provider == "ollama" && (name == "refuser" || name == "forbidden") || cfg.Provider == "azure" && name == "poor" {
					t.Skip("there is no such thing there")
				}
				cfg := cfg
				cfg.Model = name
				cfg.Parameters = plumb.Parameters{Temperature: new(0.0), Seed: new(int64(42))}
				m := model(t, nil, cfg)
				rep, err := m.Run(t.Context(), say("What is the answer to all of this?"))
				var f *plumb.Failure
				errors.As(err, &f)
				switch name {
				case "poor":
					if f == nil || f.Origin != plumb.OriginRunner || f.Attempts != 1 {
						t.Errorf("%+v, %v", f, err)
					}
					return
				case "missing":
					if f == nil || f.Origin != plumb.OriginModelRejected || f.Attempts != 1 {
						t.Errorf("%+v, %v", f, err)
					}
					return
				}
				if err != nil {
					t.Fatalf("%v (%s)", err, plumb.Hint(err))
				}
				switch name {
				case "picky":
					want := []string{"temperature", "seed"}
					if !slices.Equal(rep.Refused, want) || rep.Sent.Temperature != nil || rep.Sent.Seed != nil || rep.FinalOutput == "" {
						t.Errorf("refused %v, sent %+v", rep.Refused, rep.Sent)
					}
				case "thinker":
					if rep.FinishReason != plumb.FinishTruncated || rep.FinalOutput != "" {
						t.Errorf("%s, %q", rep.FinishReason, rep.FinalOutput)
					}
				case "refuser", "filtered", "forbidden":
					if rep.FinishReason != plumb.FinishRefused {
						t.Errorf("%s (%s), %q", rep.FinishReason, rep.ProviderFinishReason, rep.FinalOutput)
					}
				case "cached":
					u := rep.Usage
					if u.CacheTokens == nil && cfg.Provider != "ollama" || *u.TotalTokens != u.Tokens()-deref(u.CacheTokens) || *u.InputTokens < 5 {
						t.Errorf("%+v", u)
					}
				}
			})
		}
	}
}

func deref(p *int64) int64 {
	if p == nil {
		return 0
	}
	return *p
}

func TestNobodyListens(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(nil)
	srv.Close()
	m := model(t, nil, Config{Provider: "ollama", Model: "qwen3", BaseURL: srv.URL})
	m.transport.opts.Backoff = time.Millisecond
	_, err := m.Run(t.Context(), say("hi"))
	if err == nil || !strings.Contains(err.Error(), "connection refused") || !strings.Contains(plumb.Hint(err), "ollama serve") {
		t.Errorf("%v (%s)", err, plumb.Hint(err))
	}
}
