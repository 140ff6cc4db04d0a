package modelapi

import (
	"errors"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plumb-eval/plumb"
)

func TestListModels(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		provider  string
		pages     []string
		addresses []string
		want      []ModelInfo
	}{
		"openai": {
			"openai",
			[]string{`{"object":"list","data":[{"id":"gpt-5","object":"model","created":1754425777,"owned_by":"system"},{"id":"a-embed","object":"model","created":0}]}`},
			[]string{"https://api.openai.com/v1/models"},
			[]ModelInfo{{Provider: "openai", ID: "a-embed", Embedding: true}, {Provider: "openai", ID: "gpt-5", Created: "2025-08-05"}},
		},
		"anthropic in pages": {
			"anthropic",
			[]string{
				`{"data":[{"type":"model","id":"b","display_name":"B","created_at":"2025-11-24T00:00:00Z"}],"has_more":true,"first_id":"b","last_id":"b"}`,
				`{"data":[{"type":"model","id":"a","display_name":"A","created_at":"1970-01-01T00:00:00Z"}],"has_more":false,"first_id":"a","last_id":"a"}`,
			},
			[]string{"https://api.anthropic.com/v1/models?limit=1000", "https://api.anthropic.com/v1/models?after_id=b&limit=1000"},
			[]ModelInfo{{Provider: "anthropic", ID: "a", Name: "A"}, {Provider: "anthropic", ID: "b", Name: "B", Created: "2025-11-24"}},
		},
		"google in pages": {
			"google",
			[]string{
				`{"models":[{"name":"models/gemini-2.5-flash","displayName":"Gemini 2.5 Flash","supportedGenerationMethods":["generateContent","countTokens"]},{"name":"models/veo","supportedGenerationMethods":["predictLongRunning"]}],"nextPageToken":"t"}`,
				`{"models":[{"name":"models/gemini-embedding-001","supportedGenerationMethods":["embedContent"]}]}`,
			},
			[]string{"https://generativelanguage.googleapis.com/v1beta/models?pageSize=1000", "https://generativelanguage.googleapis.com/v1beta/models?pageSize=1000&pageToken=t"},
			[]ModelInfo{{Provider: "google", ID: "gemini-2.5-flash", Name: "Gemini 2.5 Flash"}, {Provider: "google", ID: "gemini-embedding-001", Embedding: true}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var steps []func() (*http.Response, error)
			for _, p := range c.pages {
				steps = append(steps, step(200, p))
			}
			base := script(steps...)
			tr := NewTransport(TransportOptions{Base: base})
			got, err := ListModels(t.Context(), Config{Provider: c.provider, APIKey: "k", Transport: tr})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			var asked []string
			for _, r := range base.requests {
				if r.Method != http.MethodGet || r.Body != nil {
					t.Errorf("%s with body %v", r.Method, r.Body)
				}
				asked = append(asked, r.URL.String())
			}
			if diff := cmp.Diff(c.addresses, asked); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestListModelsFails(t *testing.T) {
	t.Parallel()
	tr := NewTransport(TransportOptions{Base: always(404, `{"error":{"message":"no models here"}}`)})
	_, err := ListModels(t.Context(), Config{Provider: "vllm", Transport: tr})
	var f *plumb.Failure
	if !errors.As(err, &f) || f.Origin != plumb.OriginRunner {
		t.Error(err)
	}
}
