package modelapi

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/plumb-eval/plumb"
)

// instant answers each request at once, without a network.
type instant struct{ body []byte }

func (s instant) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		io.Copy(io.Discard, req.Body)
		req.Body.Close()
	}
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(bytes.NewReader(s.body)), ContentLength: int64(len(s.body)), Request: req,
	}, nil
}

func benchRequest() plumb.Request {
	return plumb.Request{Messages: []plumb.Message{
		{Role: plumb.RoleSystem, Content: "Be short."},
		{Role: plumb.RoleUser, Content: "What is the capital of France? Answer in one sentence, and say where it lies."},
	}}
}

func benchModel(b *testing.B, base http.RoundTripper, provider, model, api, address string) *Model {
	b.Helper()
	tr := NewTransport(TransportOptions{Base: base, MaxInFlight: 256})
	b.Cleanup(tr.Close)
	m, err := New(Config{
		Provider: provider, Model: model, API: api, APIKey: "sk-bench", BaseURL: address, Transport: tr,
		Parameters: plumb.Parameters{Temperature: new(0.0), Seed: new(int64(42))},
	})
	if err != nil {
		b.Fatal(err)
	}
	return m
}

// BenchmarkRun is what a model costs above the network: all of Run, on a carrier that answers at
// once.
func BenchmarkRun(b *testing.B) {
	for _, c := range []struct{ name, provider, model, api, reply string }{
		{"chat", "openai", "gpt-4.1", "", "chat.json"},
		{"responses", "openai", "gpt-4.1", "responses", "responses.json"},
		{"anthropic", "anthropic", "claude-opus-4-5", "", "anthropic.json"},
		{"google", "google", "gemini-2.5-flash", "", "google.json"},
	} {
		b.Run(c.name, func(b *testing.B) {
			m := benchModel(b, instant{recorded(b, c.reply)}, c.provider, c.model, c.api, "")
			b.ReportAllocs()
			done := cpu(b)
			for b.Loop() {
				if _, err := m.Run(b.Context(), benchRequest()); err != nil {
					b.Fatal(err)
				}
			}
			done()
		})
	}
}

// BenchmarkBare is the least a client can do on the same carrier: post prepared bytes, decode two
// fields.
func BenchmarkBare(b *testing.B) {
	body, _ := chat{}.encode(request{model: "gpt-4.1", messages: benchRequest().Messages})
	client := &http.Client{Transport: instant{recorded(b, "chat.json")}}
	b.ReportAllocs()
	done := cpu(b)
	for b.Loop() {
		bare(b, client, "http://model.test/v1/chat/completions", body)
	}
	done()
}

func bare(b *testing.B, client *http.Client, address string, body []byte) {
	b.Helper()
	req, _ := http.NewRequestWithContext(context.Background(), http.MethodPost, address, bytes.NewReader(body))
	req.Header.Set("Authorization", "Bearer sk-bench")
	req.Header.Set("Content-Type", "application/json")
	res, err := client.Do(req)
	if err != nil {
		b.Fatal(err)
	}
	defer res.Body.Close()
	var out struct {
		Choices []struct{ Message struct{ Content string } }
	}
	if err := json.NewDecoder(res.Body).Decode(&out); err != nil || len(out.Choices) == 0 {
		b.Fatal(err)
	}
}

// BenchmarkServer asks a server in the same process over the loopback, with and without the model
// between.
func BenchmarkServer(b *testing.B) {
	reply := recorded(b, "chat.json")
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		w.Write(reply)
	}))
	defer srv.Close()
	b.Run("bare", func(b *testing.B) {
		client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
		body, _ := chat{}.encode(request{model: "gpt-4.1", messages: benchRequest().Messages})
		b.SetParallelism(16)
		done := cpu(b)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				bare(b, client, srv.URL, body)
			}
		})
		done()
	})
	b.Run("model", func(b *testing.B) {
		m := benchModel(b, nil, "openai", "gpt-4.1", "", srv.URL)
		b.SetParallelism(16)
		done := cpu(b)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if _, err := m.Run(b.Context(), benchRequest()); err != nil {
					b.Fatal(err)
				}
			}
		})
		done()
	})
}
