package modelapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/golden"
)

// vectors answers OpenAI's embedding requests after a second each: a text's vector is its length
// and its first byte. It lists the vectors backwards, as the index allows.
func vectors(each time.Duration) *carrier {
	return &carrier{answer: func(_ int, req *http.Request, body []byte) (*http.Response, error) {
		if err := sleep(req.Context(), each); err != nil {
			return nil, err
		}
		var in struct{ Input []string }
		if err := json.Unmarshal(body, &in); err != nil {
			return nil, err
		}
		var data []string
		for i, text := range slices.Backward(in.Input) {
			if strings.HasPrefix(text, "bad") {
				return respond(400, openaiError("This model's maximum input length is 8192 tokens", "input", "")), nil
			}
			data = append(data, fmt.Sprintf(`{"object":"embedding","index":%d,"embedding":[%d,%d]}`, i, len(text), text[0]))
		}
		return respond(200, fmt.Sprintf(`{"object":"list","model":"text-embedding-3-small","data":[%s],"usage":{"prompt_tokens":%d,"total_tokens":1}}`,
			strings.Join(data, ","), len(in.Input))), nil
	}}
}

func newEmbedder(t *testing.T, base http.RoundTripper, provider string) *plumb.Embedder {
	t.Helper()
	tr := NewTransport(TransportOptions{Base: base})
	t.Cleanup(tr.Close)
	e, err := NewEmbedder(Config{Provider: provider, APIKey: "sk-test-0123456789", Transport: tr})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestEmbed(t *testing.T) {
	t.Parallel()
	base := vectors(0)
	e := newEmbedder(t, base, "openai")
	got, err := e.Embed(t.Context(), []string{"abc", "z", "abc"})
	if err != nil {
		t.Fatal(err)
	}
	want := [][]float32{{3, 'a'}, {1, 'z'}, {3, 'a'}}
	if diff := cmp.Diff(want, got.Vectors); diff != "" {
		t.Error(diff)
	}
	if e.Name != "openai:text-embedding-3-small" || got.Model != "text-embedding-3-small" || got.Requests != 1 || *got.Usage.InputTokens != 2 || got.Usage.InputChars != 4 {
		t.Errorf("%s: %+v", e.Name, got)
	}
	again, err := e.Embed(t.Context(), []string{"z"})
	if err != nil || again.Requests != 0 || again.Usage.InputTokens != nil || len(base.requests) != 1 {
		t.Errorf("asked again: %+v, %v", again, err)
	}
	golden.Equal(t, "testdata/requests/openai-embeddings.json", string(indented(t, base.bodies[0])))
	if none, err := e.Embed(t.Context(), nil); err != nil || len(none.Vectors) != 0 {
		t.Errorf("%+v, %v", none, err)
	}
}

// TestEmbedGathers: a thousand callers with few different texts make few requests.
func TestEmbedGathers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		base := vectors(time.Second)
		e := newEmbedder(t, base, "openai")
		var wg sync.WaitGroup
		var mu sync.Mutex
		var requests int
		var tokens int64
		for i := range 1000 {
			wg.Go(func() {
				text := strings.Repeat("x", 1+i%300)
				got, err := e.Embed(t.Context(), []string{text, "ideal"})
				if err != nil || got.Vectors[0][0] != float32(len(text)) || got.Vectors[1][1] != 'i' {
					t.Errorf("%v, %v", got.Vectors, err)
				}
				mu.Lock()
				defer mu.Unlock()
				requests += got.Requests
				if got.Usage.InputTokens != nil {
					tokens += *got.Usage.InputTokens
				}
			})
		}
		wg.Wait()
		if len(base.requests) > embedLanes+1+300/embedBatch || requests != len(base.requests) || tokens != 301 {
			t.Errorf("%d requests, %d told, %d texts sent", len(base.requests), requests, tokens)
		}
	})
}

// TestEmbedOneCallersEnd: who gives up does not spoil it for others, and who asks for the
// impossible fails alone.
func TestEmbedOneCallersEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := newEmbedder(t, vectors(time.Second), "openai")
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := e.Embed(ctx, []string{"shared", "own"}); err == nil {
				t.Error("an answer after the time limit")
			}
		})
		synctest.Wait()
		for range 5 {
			wg.Go(func() {
				if got, err := e.Embed(t.Context(), []string{"shared"}); err != nil || got.Vectors[0][1] != 's' {
					t.Errorf("%v, %v", got.Vectors, err)
				}
			})
		}
		wg.Wait()

		for i := range embedLanes { // fill the lanes, so that the next texts share a request
			wg.Go(func() { e.Embed(t.Context(), []string{fmt.Sprint(i, " fills")}) })
		}
		synctest.Wait()
		for i := range 8 {
			wg.Go(func() {
				if _, err := e.Embed(t.Context(), []string{fmt.Sprint(i, " good")}); err != nil {
					t.Error(err)
				}
			})
		}
		gone, leave := context.WithCancel(t.Context())
		wg.Go(func() { e.Embed(gone, []string{"bad text of somebody who is gone"}) })
		synctest.Wait()
		leave()
		wg.Go(func() {
			_, err := e.Embed(t.Context(), []string{"bad text"})
			var f *plumb.Failure
			if !errors.As(err, &f) || f.HTTPStatus != 400 {
				t.Errorf("error %v", err)
			}
		})
		wg.Wait()
	})
}

func TestEmbedForgets(t *testing.T) {
	t.Parallel()
	base := vectors(0)
	e := newEmbedder(t, base, "openai")
	var texts []string
	for i := range embedKept + 50 {
		texts = append(texts, fmt.Sprint(i))
	}
	if _, err := e.Embed(t.Context(), texts); err != nil {
		t.Fatal(err)
	}
	before := len(base.requests)
	if before != (embedKept+50+embedBatch-1)/embedBatch {
		t.Errorf("%d requests", before)
	}
	e.Embed(t.Context(), texts[len(texts)-10:])
	if len(base.requests) != before {
		t.Error("asked again for what is kept")
	}
	e.Embed(t.Context(), texts[:1])
	if len(base.requests) != before+1 {
		t.Error("kept more than it should")
	}
}

// TestEmbedBadReplies: never a vector that is not one.
func TestEmbedBadReplies(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ provider, body string }{
		"none":             {"openai", `{"data":[]}`},
		"too few":          {"openai", `{"data":[{"index":0,"embedding":[1]}]}`},
		"twice":            {"openai", `{"data":[{"index":0,"embedding":[1]},{"index":0,"embedding":[1]}]}`},
		"index too large":  {"openai", `{"data":[{"index":0,"embedding":[1]},{"index":7,"embedding":[1]}]}`},
		"index negative":   {"openai", `{"data":[{"index":0,"embedding":[1]},{"index":-1,"embedding":[1]}]}`},
		"empty":            {"openai", `{"data":[{"index":0,"embedding":[1]},{"index":1,"embedding":[]}]}`},
		"of other lengths": {"openai", `{"data":[{"index":0,"embedding":[1]},{"index":1,"embedding":[1,2]}]}`},
		"google none":      {"google", `{}`},
		"google too few":   {"google", `{"embeddings":[{"values":[1]}]}`},
		"google null":      {"google", `{"embeddings":[{"values":[1]},null]}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				base := always(200, c.body)
				_, err := newEmbedder(t, base, c.provider).Embed(t.Context(), []string{"a", "b"})
				var f *plumb.Failure
				if !errors.As(err, &f) || f.Origin != plumb.OriginRunner || len(base.requests) != defaultMaxAttempts {
					t.Errorf("%d requests, %v", len(base.requests), err)
				}
			})
		})
	}
}

func TestEmbedGoogle(t *testing.T) {
	t.Parallel()
	base := always(200, `{"embeddings":[{"values":[0.5,1]},{"values":[0.25,-1]}]}`)
	got, err := newEmbedder(t, base, "google").Embed(t.Context(), []string{"a", "b"})
	if err != nil || got.Vectors[1][0] != 0.25 || got.Model != "gemini-embedding-001" {
		t.Fatalf("%+v, %v", got, err)
	}
	if got := base.requests[0].URL.Path; got != "/v1beta/models/gemini-embedding-001:batchEmbedContents" {
		t.Errorf("path %s", got)
	}
	golden.Equal(t, "testdata/requests/google-embeddings.json", string(indented(t, base.bodies[0])))
}

func TestNewEmbedder(t *testing.T) {
	t.Parallel()
	tr := NewTransport(TransportOptions{Base: always(200, "{}")})
	for provider, want := range map[string]struct{ text, hint string }{
		"anthropic": {"anthropic has no default embedding model", "openai:text-embedding-3-small"},
		"groq":      {"groq has no default embedding model", "embedder setting"},
		"nobody":    {`unknown provider "nobody"`, "the providers are"},
	} {
		_, err := NewEmbedder(Config{Provider: provider, APIKey: "k", Transport: tr})
		if err == nil || !strings.Contains(err.Error(), want.text) || !strings.Contains(plumb.Hint(err), want.hint) {
			t.Errorf("%v, hint %q", err, plumb.Hint(err))
		}
	}
	if _, err := NewEmbedder(Config{Provider: "anthropic", Model: "m", APIKey: "k", Transport: tr}); err == nil || !strings.Contains(err.Error(), "anthropic has no embedding models") {
		t.Error(err)
	}
	if e, err := NewEmbedder(Config{Provider: "vllm", Model: "bge-m3", Transport: tr}); err != nil || e.Name != "vllm:bge-m3" {
		t.Errorf("%v, %v", e, err)
	}
}
