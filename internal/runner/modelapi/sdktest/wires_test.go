// Package sdktest holds the requests and replies of internal/runner/modelapi to the types of the
// official SDKs. It is a module of its own, so that the SDKs are not dependencies of Plumb. It has
// tests only.
package sdktest

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/runner/modelapi"
)

// carrier answers each request with the same bytes, and keeps the last request.
type carrier struct{ sent, reply []byte }

func (c *carrier) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		c.sent, _ = io.ReadAll(req.Body)
		req.Body.Close()
	}
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Request: req,
		Body: io.NopCloser(bytes.NewReader(c.reply)), ContentLength: int64(len(c.reply)),
	}, nil
}

// tb is what *testing.T, *testing.F and *rapid.T have in common.
type tb interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// exchange runs Plumb on one request and one reply, and returns the bytes that it sends. The report
// is nil when the reply has no answer.
func exchange(t tb, cfg modelapi.Config, messages []plumb.Message, reply []byte) ([]byte, *plumb.SessionReport) {
	t.Helper()
	c := &carrier{reply: reply}
	cfg.APIKey = "sk-test-0123456789"
	cfg.Transport = modelapi.NewTransport(modelapi.TransportOptions{Base: c, MaxAttempts: 1, Backoff: 1})
	defer cfg.Transport.Close()
	m, err := modelapi.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	report, err := m.Run(context.Background(), plumb.Request{Messages: messages})
	if err != nil {
		report = nil
	}
	return c.sent, report
}

// conversation is a random request.
type conversation struct {
	model    string
	messages []plumb.Message
	sent     plumb.Parameters
}

func draw(t *rapid.T, model string) conversation {
	maybe := func(name string) bool { return rapid.Bool().Draw(t, name) }
	q := conversation{model: model}
	for range rapid.IntRange(1, 5).Draw(t, "messages") {
		q.messages = append(q.messages, plumb.Message{
			Role:    rapid.SampledFrom([]string{"system", "developer", "user", "assistant"}).Draw(t, "role"),
			Content: rapid.String().Draw(t, "content"),
		})
	}
	if maybe("temperature") {
		q.sent.Temperature = new(rapid.Float64Range(0, 2).Draw(t, "temperature"))
	}
	if maybe("topP") {
		q.sent.TopP = new(rapid.Float64Range(0, 1).Draw(t, "topP"))
	}
	if maybe("seed") {
		q.sent.Seed = new(int64(rapid.Int32().Draw(t, "seed")))
	}
	q.sent.MaxOutputTokens = new(rapid.Int64Range(1, 1<<31-1).Draw(t, "cap"))
	if maybe("effort") {
		q.sent.ReasoningEffort = new(rapid.SampledFrom([]string{"none", "low", "medium", "high"}).Draw(t, "effort"))
	}
	return q
}

// sameJSON compares two documents by their values.
func sameJSON(t tb, official any, ours []byte) {
	t.Helper()
	theirs, err := json.Marshal(official)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(parse(t, theirs), parse(t, ours)); diff != "" {
		t.Fatalf("(-SDK +plumb):\n%s", diff)
	}
}

func parse(t tb, doc []byte) (v any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v in %s", err, doc)
	}
	return v
}

// answered is what an SDK reads in a reply.
type answered struct {
	text                  string
	input, output, cached int64
	model                 string
	calls                 []string
	noFigures             bool
}

// agree compares the report of Plumb with what the SDK reads.
func agree(t tb, report *plumb.SessionReport, want answered, body []byte) {
	t.Helper()
	if report.FinalOutput != want.text {
		t.Fatalf("plumb reads %q, the SDK %q, in %s", report.FinalOutput, want.text, body)
	}
	if report.Model != want.model {
		t.Fatalf("plumb reads the model %q, the SDK %q, in %s", report.Model, want.model, body)
	}
	var calls []string
	for _, e := range report.Events {
		if e.Type == plumb.SessionToolCall {
			calls = append(calls, e.Tool)
		}
	}
	if diff := cmp.Diff(want.calls, calls); diff != "" {
		t.Fatalf("calls of tools (-SDK +plumb):\n%s", diff)
	}
	for name, n := range map[string]struct {
		ours   *int64
		theirs int64
	}{
		"input": {report.Usage.InputTokens, want.input}, "output": {report.Usage.OutputTokens, want.output},
		"cached": {report.Usage.CacheTokens, want.cached},
	} {
		if !want.noFigures && n.ours != nil && *n.ours != n.theirs { // Plumb drops figures that cannot be right
			t.Fatalf("plumb reads %d %s tokens, the SDK %d, in %s", *n.ours, name, n.theirs, body)
		}
	}
}
