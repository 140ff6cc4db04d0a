package modelapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/golden"
)

// recorded returns a reply from testdata.
func recorded(tb testing.TB, name string) []byte {
	tb.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "replies", name))
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// indented is JSON in one order of keys, so that golden files say what is sent and not how it was
// written.
func indented(t *testing.T, raw []byte) []byte {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// carrier is a round tripper made of a function. It counts and keeps the requests.
type carrier struct {
	mu       sync.Mutex
	requests []*http.Request
	bodies   [][]byte
	answer   func(n int, req *http.Request, body []byte) (*http.Response, error)
}

func (c *carrier) RoundTrip(req *http.Request) (*http.Response, error) {
	var body []byte
	if req.Body != nil {
		body, _ = io.ReadAll(req.Body)
		req.Body.Close()
	}
	c.mu.Lock()
	c.requests, c.bodies = append(c.requests, req), append(c.bodies, body)
	n := len(c.requests)
	c.mu.Unlock()
	return c.answer(n, req, body)
}

func respond(status int, body string, headers ...string) *http.Response {
	h := http.Header{"Content-Type": {"application/json"}}
	for i := 0; i+1 < len(headers); i += 2 {
		h.Set(headers[i], headers[i+1])
	}
	return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body))}
}

// always answers each request alike.
func always(status int, body string, headers ...string) *carrier {
	return &carrier{answer: func(int, *http.Request, []byte) (*http.Response, error) {
		return respond(status, body, headers...), nil
	}}
}

// script answers requests in order, the last answer for ever.
func script(steps ...func() (*http.Response, error)) *carrier {
	return &carrier{answer: func(n int, _ *http.Request, _ []byte) (*http.Response, error) {
		return steps[min(n, len(steps))-1]()
	}}
}

func step(status int, body string, headers ...string) func() (*http.Response, error) {
	return func() (*http.Response, error) { return respond(status, body, headers...), nil }
}

func broken(err error) func() (*http.Response, error) {
	return func() (*http.Response, error) { return nil, err }
}

func model(tb testing.TB, base http.RoundTripper, cfg Config) *Model {
	tb.Helper()
	cfg.Transport = NewTransport(TransportOptions{Base: base})
	tb.Cleanup(cfg.Transport.Close)
	if cfg.APIKey == "" {
		cfg.APIKey = "sk-test-0123456789"
	}
	m, err := New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	return m
}

func say(text string) plumb.Request {
	return plumb.Request{CaseID: "c", Messages: []plumb.Message{{Role: plumb.RoleUser, Content: text}}}
}

func TestRequests(t *testing.T) {
	t.Parallel()
	all := []plumb.Message{
		{Role: plumb.RoleSystem, Content: "Be brief & kind <always>."},
		{Role: plumb.RoleDeveloper, Content: "Use plain words."},
		{Role: plumb.RoleUser, Content: "Say \"hi\" – in Greek 😀"},
		{Role: plumb.RoleAssistant, Content: "Γειά σου"},
		{Role: plumb.RoleUser, Content: "And now\nin two lines."},
	}
	full := plumb.Parameters{
		Temperature: new(0.0), TopP: new(0.9), Seed: new(int64(42)), MaxOutputTokens: new(int64(256)), ReasoningEffort: new("low"),
	}
	usual := plumb.Parameters{Temperature: new(0.0), Seed: new(int64(42))}
	for name, c := range map[string]struct {
		provider, model, api, base string
		params                     plumb.Parameters
		address                    string
		header                     map[string]string
	}{
		"openai-chat-full":      {"openai", "gpt-5", "", "", full, "https://api.openai.com/v1/chat/completions", map[string]string{"Authorization": "Bearer KEY"}},
		"openai-chat-usual":     {"openai", "gpt-4o", "chat", "", usual, "https://api.openai.com/v1/chat/completions", nil},
		"openai-responses-full": {"openai", "gpt-5", "responses", "", full, "https://api.openai.com/v1/responses", map[string]string{"Authorization": "Bearer KEY"}},
		"anthropic-full":        {"anthropic", "claude-opus-4-5", "", "", full, "https://api.anthropic.com/v1/messages", map[string]string{"X-Api-Key": "KEY", "Anthropic-Version": "2023-06-01"}},
		"anthropic-usual":       {"anthropic", "claude-opus-4-5", "", "https://proxy.test/anthropic/v1/", usual, "https://proxy.test/anthropic/v1/messages", nil},
		"google-full":           {"google", "gemini-3.5-flash", "", "", full, "https://generativelanguage.googleapis.com/v1beta/models/gemini-3.5-flash:generateContent", map[string]string{"X-Goog-Api-Key": "KEY"}},
		"google-budget":         {"gemini", "models/gemini-2.5-flash", "", "https://proxy.test/g/v1", full, "https://proxy.test/g/v1/models/gemini-2.5-flash:generateContent", nil},
		"google-nothing":        {"google", "tunedModels/mine", "", "", plumb.Parameters{MaxOutputTokens: new(int64(0))}, "https://generativelanguage.googleapis.com/v1beta/tunedModels/mine:generateContent", nil},
		"ollama-usual":          {"ollama", "qwen3:8b", "", "box:11434", usual, "http://box:11434/v1/chat/completions", map[string]string{"Authorization": "Bearer KEY"}},
		"vllm-full":             {"vllm", "Qwen/Qwen3-8B", "", "", full, "http://127.0.0.1:8000/v1/chat/completions", nil},
		"azure-usual":           {"azure", "my-deployment", "", "https://r.openai.azure.com/", usual, "https://r.openai.azure.com/openai/v1/chat/completions", map[string]string{"Api-Key": "KEY", "Authorization": ""}},
		"azure-old":             {"azure", "d", "", "https://r.openai.azure.com/openai/deployments/d?api-version=2024-10-21", usual, "https://r.openai.azure.com/openai/deployments/d/chat/completions?api-version=2024-10-21", nil},
		"custom-nothing":        {"custom", "m", "", "http://user:pass@relay.test/api/", plumb.Parameters{MaxOutputTokens: new(int64(0))}, "http://relay.test/api/chat/completions", map[string]string{"Authorization": "Bearer KEY"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			base := always(http.StatusOK, `{}`)
			base.answer = func(int, *http.Request, []byte) (*http.Response, error) { return respond(401, `{}`), nil }
			m := model(t, base, Config{
				Provider: c.provider, Model: c.model, API: c.api, BaseURL: c.base, Parameters: c.params, APIKey: "KEY",
				Headers: map[string]string{"X-Team": "measure"},
			})
			m.Run(t.Context(), plumb.Request{Messages: all})
			if len(base.requests) != 1 {
				t.Fatalf("%d requests, want 1", len(base.requests))
			}
			req := base.requests[0]
			if got := req.URL.String(); got != c.address {
				t.Errorf("address %s, want %s", got, c.address)
			}
			for k, want := range c.header {
				if got := req.Header.Get(k); got != want {
					t.Errorf("header %s is %q, want %q", k, got, want)
				}
			}
			if got := req.Header.Get("X-Team") + req.Header.Get("Content-Type"); got != "measureapplication/json" {
				t.Errorf("headers %v", req.Header)
			}
			golden.Equal(t, filepath.Join("testdata", "requests/"+name+".json"), string(indented(t, base.bodies[0])))
		})
	}
}

func TestCaseCapReplacesTheRunners(t *testing.T) {
	t.Parallel()
	base := always(http.StatusOK, string(recorded(t, "chat.json")))
	m := model(t, base, Config{Provider: "openai", Model: "gpt-4o"})
	req := say("hi")
	req.MaxOutputTokens = 7
	rep, err := m.Run(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(base.bodies[0], []byte(`"max_completion_tokens":7`)) || *rep.Sent.MaxOutputTokens != 7 || *rep.Requested.MaxOutputTokens != 7 {
		t.Errorf("sent %s, report %v", base.bodies[0], rep.Sent)
	}
	if got := *m.Info().Parameters.MaxOutputTokens; got != defaultMaxOutputTokens {
		t.Errorf("runner's own cap is %d", got)
	}
}

// TestReports pins the whole session report for each kind of reply.
func TestReports(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/replies/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	for _, file := range files {
		name := filepath.Base(file)
		if name == "responses-failed.json" {
			continue // no report: see TestReplyWithoutAnswer
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := Config{ID: "r", Provider: "openai", Model: "m", Parameters: plumb.Parameters{Temperature: new(0.0), Seed: new(int64(42))}}
			switch {
			case strings.HasPrefix(name, "responses"):
				cfg.API = "responses"
			case strings.HasPrefix(name, "anthropic"):
				cfg.Provider = "anthropic"
			case strings.HasPrefix(name, "google"):
				cfg.Provider = "google"
			}
			m := model(t, always(http.StatusOK, string(recorded(t, name)), "x-request-id", "req_1"), cfg)
			rep, err := m.Run(t.Context(), say("What is the capital of France?"))
			if err != nil {
				t.Fatal(err)
			}
			if rep.StartedAt == nil || rep.EndedAt.Before(*rep.StartedAt) {
				t.Errorf("from %v to %v", rep.StartedAt, rep.EndedAt)
			}
			rep.StartedAt, rep.EndedAt, rep.DurationMs, rep.LatencyMs = nil, nil, 0, 0
			for i := range rep.Events {
				rep.Events[i].At = nil
			}
			raw, err := json.Marshal(rep)
			if err != nil {
				t.Fatal(err)
			}
			golden.Equal(t, filepath.Join("testdata", "reports/"+name), string(indented(t, raw)))
		})
	}
}

// TestReplyWithoutAnswer has replies with status 200 that hold no answer: they are asked again, and
// are a failure of the runner in the end, never an empty answer.
func TestReplyWithoutAnswer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ provider, api, body, want string }{
		"chat without choices":    {"openai", "", `{"id":"x","object":"chat.completion","choices":[]}`, "unreadable reply: the reply has no answer"},
		"chat null":               {"openai", "", `null`, "unreadable reply: the reply has no answer"},
		"chat a list":             {"openai", "", `[]`, "unreadable reply"},
		"chat empty object":       {"openai", "", `{}`, "the reply has no answer"},
		"relay error in success":  {"openrouter", "", `{"error":{"code":502,"message":"Provider returned error"}}`, "502 Bad Gateway: Provider returned error"},
		"relay error in choice":   {"openrouter", "", `{"choices":[{"finish_reason":"error","message":{"content":""},"error":{"code":503,"message":"upstream down"}}]}`, "503 Service Unavailable: upstream down"},
		"responses without":       {"openai", "responses", `{"id":"x"}`, "the reply has no answer"},
		"responses failed":        {"openai", "responses", `{"id":"x","status":"failed","error":{"code":"server_error","message":"It broke."},"output":[]}`, "500 Internal Server Error: It broke."},
		"responses still at work": {"openai", "responses", `{"id":"x","status":"in_progress","output":[]}`, "the reply has no answer"},
		"anthropic without":       {"anthropic", "", `{"id":"x","type":"message"}`, "the reply has no answer"},
		"google without":          {"google", "", `{"usageMetadata":{"promptTokenCount":3}}`, "the reply has no answer"},
		"google wrong types":      {"google", "", `{"candidates":"none"}`, "unreadable reply"},
		"google null candidate":   {"google", "", `{"candidates":[null]}`, "the reply has no answer"},
		"html":                    {"openai", "", `<html><head><title>Sign in</title></head></html>`, "a web page: Sign in instead of JSON"},
		"empty":                   {"openai", "", " \n", "the reply is empty"},
		"torn":                    {"openai", "", `{"id":"x","choices":[{"mess`, "broken JSON: unexpected end of JSON input"},
		"two values":              {"openai", "", string(recorded(t, "chat.json")) + "}", "broken JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			base := always(http.StatusOK, c.body)
			m := model(t, base, Config{Provider: c.provider, Model: "m", API: c.api})
			m.transport.opts.Backoff = 1
			rep, err := m.Run(t.Context(), say("hi"))
			var f *plumb.Failure
			if rep != nil || !errors.As(err, &f) || f.Origin != plumb.OriginRunner {
				t.Fatalf("report %v, error %v", rep, err)
			}
			if !strings.Contains(f.Message, c.want) || !strings.HasPrefix(f.Message, c.provider+": ") {
				t.Errorf("message %q, want %q in it", f.Message, c.want)
			}
			if len(base.requests) != defaultMaxAttempts || f.Attempts != defaultMaxAttempts || f.Hint == "" {
				t.Errorf("%d requests, %d attempts told, hint %q", len(base.requests), f.Attempts, f.Hint)
			}
		})
	}
}

func FuzzDecode(f *testing.F) {
	files, _ := filepath.Glob("testdata/replies/*.json")
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	for _, row := range replyRows(f) {
		f.Add([]byte(row.reply))
	}
	f.Add([]byte(`{"choices":[{"message":{"tool_calls":[null]}}]}`))
	f.Add([]byte(`{"output":[{"type":"message","content":[null]}],"status":"completed"}`))
	f.Add([]byte(`{"error":[1,{"message":2}],"detail":{"a":1}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, d := range []wire{chat{}, responses{}, anthropic{}, google{}} {
			if !json.Valid(body) {
				continue // the transport lets nothing else through
			}
			r, err := d.decode(body)
			if err == nil && r.finish == "" {
				t.Errorf("%T: an answer without a finish reason", d)
			}
			for _, c := range r.toolCalls {
				if c.args != nil && !json.Valid(c.args) {
					t.Errorf("%T: arguments that are not JSON: %q", d, c.args)
				}
			}
		}
		for _, p := range Providers() {
			w := p.apis[""]
			w.decodeModels(body)
			e, ok := w.(embedWire)
			if !ok {
				continue
			}
			if out, err := e.decodeEmbed(body, 2); err == nil {
				for _, v := range out.Vectors {
					if len(v) == 0 || len(v) != len(out.Vectors[0]) || slices.ContainsFunc(v, func(f float32) bool { return math.IsInf(float64(f), 0) }) {
						t.Errorf("%s: vectors %v", p.Name, out.Vectors)
					}
				}
			}
		}
		e := parseAPIError(body)
		if len(e.message) > messageLimit+len("…") || strings.ContainsAny(e.message, "\x1b\n\r") {
			t.Errorf("unfit message %q", e.message)
		}
	})
}
