// Package wire reads the requests and writes the replies of the model APIs: chat completions and
// responses of OpenAI (also of Azure and Ollama), messages of Anthropic, and generateContent of
// Google, with and without streams. It hides how each API says the same things. What a model
// answers, and what a server rejects, is up to its users.
package wire

import (
	"net/http"
	"strings"
)

// Provider is the owner of an API.
type Provider string

// The providers. A request to an OpenAI path is for Ollama below the prefix /ollama, for Azure with
// an api-key header or below /openai/deployments, and for OpenAI otherwise.
const (
	OpenAI    Provider = "openai"
	Azure     Provider = "azure"
	Anthropic Provider = "anthropic"
	Google    Provider = "google"
	Ollama    Provider = "ollama"
)

// ContentType is the content type of the provider's replies, except streams.
func (p Provider) ContentType() string {
	if p == Google {
		return "application/json; charset=UTF-8"
	}
	return "application/json"
}

// Endpoint is the operation of a path.
type Endpoint string

// The endpoints. The empty one means that no provider has such a path.
const (
	Chat       Endpoint = "chat"
	Responses  Endpoint = "responses"
	Messages   Endpoint = "messages"
	Generate   Endpoint = "generateContent"
	Count      Endpoint = "count_tokens"
	Embeddings Endpoint = "embeddings"
	Models     Endpoint = "models"
)

// Route is the target of a request.
type Route struct {
	Provider Provider
	Endpoint Endpoint
	// Model is the model in the path.
	Model string
	// Stream is set if the path requests a stream, and Events if this must be a stream of events
	// where Google also has a growing array.
	Stream, Events bool
}

// RouteOf returns the target of a request.
func RouteOf(r *http.Request) Route {
	out := Route{Provider: OpenAI}
	path, isOllama := strings.CutPrefix(strings.TrimSuffix(r.URL.Path, "/"), "/ollama")
	if after, ok := strings.CutPrefix(path, "/openai/deployments/"); ok {
		out.Provider = Azure
		out.Model, path, _ = strings.Cut(after, "/")
		path = "/v1/" + path
	}
	if _, call, ok := strings.Cut(path, "/v1beta/models"); ok {
		out.Provider, out.Events = Google, r.URL.Query().Get("alt") == "sse"
		var method string
		out.Model, method, _ = strings.Cut(strings.TrimPrefix(call, "/"), ":")
		out.Stream = method == "streamGenerateContent"
		out.Endpoint = map[string]Endpoint{
			"": Models, "generateContent": Generate, "streamGenerateContent": Generate, "countTokens": Count,
			"batchEmbedContents": Embeddings,
		}[method]
		return out
	}
	for _, known := range []struct {
		suffix   string
		endpoint Endpoint
	}{
		{"/chat/completions", Chat},
		{"/responses", Responses},
		{"/messages", Messages},
		{"/messages/count_tokens", Count},
		{"/embeddings", Embeddings},
		{"/models", Models},
	} {
		if strings.HasSuffix(path, known.suffix) {
			out.Endpoint = known.endpoint
		}
	}
	if out.Endpoint == "" && strings.Contains(path, "/models/") { // one of them
		out.Endpoint = Models
	}
	switch {
	case isOllama:
		out.Provider = Ollama
	case r.Header.Get("Api-Key") != "":
		out.Provider = Azure
	case strings.Contains(path, "/messages"), out.Endpoint == Models && r.Header.Get("Anthropic-Version") != "":
		out.Provider = Anthropic
	}
	return out
}

// Key returns the API key of a request, in the provider's own header or as a bearer token.
func (rt Route) Key(r *http.Request) string {
	header := map[Provider]string{Anthropic: "X-Api-Key", Azure: "Api-Key", Google: "X-Goog-Api-Key"}[rt.Provider]
	if key := r.Header.Get(header); key != "" || rt.Provider == Google {
		return key
	}
	key, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return key
}
