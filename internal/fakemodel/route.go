package fakemodel

import (
	"net/http"
	"strings"
)

// operation is the operation of a path.
type operation int

const (
	opNone operation = iota
	opChat
	opResponses
	opEmbeddings
	opMessages
	opCountTokens
	opGenerate
	opEmbedContent
	opBatchEmbedContents
	opOllamaChat
	opOllamaEmbed
	opModels
	opModel
	opTags
	opVersion
)

// String is the operation's name in [Stats] and [Ask].
func (o operation) String() string {
	switch o {
	case opChat, opOllamaChat:
		return "chat"
	case opResponses:
		return "responses"
	case opEmbeddings, opEmbedContent, opBatchEmbedContents, opOllamaEmbed:
		return "embeddings"
	case opMessages:
		return "messages"
	case opCountTokens:
		return "count_tokens"
	case opGenerate:
		return "generateContent"
	case opModels, opModel, opTags:
		return "models"
	case opVersion:
		return "version"
	default:
		return "unknown"
	}
}

// asks reports whether the operation calls a model, and so counts, waits and breaks.
func (o operation) asks() bool {
	switch o {
	case opModels, opModel, opTags, opVersion, opNone:
		return false
	default:
		return true
	}
}

// embeds reports whether the operation returns vectors.
func (o operation) embeds() bool {
	switch o {
	case opEmbeddings, opEmbedContent, opBatchEmbedContents, opOllamaEmbed:
		return true
	default:
		return false
	}
}

// route is the target of a request.
type route struct {
	provider Provider
	op       operation
	// model is the model in the path.
	model  string
	stream bool
}

// routeOf parses a path. The operation is opNone if no provider has such a path.
func routeOf(r *http.Request) route {
	path := strings.TrimSuffix(r.URL.Path, "/")
	if path == "/v1/chat/completions" && r.Header["Api-Key"] == nil { // most requests of a benchmark
		return route{provider: OpenAI, op: opChat}
	}
	out := route{provider: OpenAI}
	rest, isOllama := strings.CutPrefix(path, "/ollama")
	if isOllama {
		out.provider = Ollama
	} else if r.Header.Get("Api-Key") != "" || r.URL.Query().Has("api-version") {
		out.provider = Azure
	}
	if after, ok := strings.CutPrefix(rest, "/openai/deployments/"); ok {
		out.provider = Azure
		out.model, rest, _ = strings.Cut(after, "/")
		rest = "/v1/" + rest
	}
	if native, ok := strings.CutPrefix(rest, "/api/"); ok {
		if op := ollamaOperation(native); op != opNone {
			return route{provider: Ollama, op: op}
		}
	}
	if r.Header.Get("Anthropic-Version") != "" || strings.Contains(rest, "/v1/messages") {
		out.provider = Anthropic
	}
	if after, ok := cutAfter(rest, "/v1beta/models", "/v1alpha/models"); ok {
		return googleRoute(after)
	}
	if after, ok := cutAfter(rest, "/v1/models"); ok {
		switch {
		case strings.Contains(after, ":generateContent"), strings.Contains(after, ":streamGenerateContent"),
			strings.Contains(after, "mbedContent"), r.Header.Get("X-Goog-Api-Key") != "":
			return googleRoute(after)
		case after == "":
			out.op = opModels
		default:
			out.op, out.model = opModel, strings.TrimPrefix(after, "/")
		}
		return out
	}
	switch {
	case strings.HasSuffix(rest, "/messages"):
		out.op = opMessages
	case strings.HasSuffix(rest, "/messages/count_tokens"):
		out.op = opCountTokens
	case strings.HasSuffix(rest, "/chat/completions"):
		out.op = opChat
	case strings.HasSuffix(rest, "/responses"):
		out.op = opResponses
	case strings.HasSuffix(rest, "/embeddings"):
		out.op = opEmbeddings
	}
	return out
}

// cutAfter returns the text after the first marker in path.
func cutAfter(path string, markers ...string) (string, bool) {
	for _, m := range markers {
		if _, after, ok := strings.Cut(path, m); ok {
			return after, true
		}
	}
	return "", false
}

func googleRoute(after string) route {
	out := route{provider: Google}
	if after == "" {
		out.op = opModels
		return out
	}
	model, method, _ := strings.Cut(strings.TrimPrefix(after, "/"), ":")
	out.model = model
	switch method {
	case "":
		out.op = opModel
	case "generateContent":
		out.op = opGenerate
	case "streamGenerateContent":
		out.op, out.stream = opGenerate, true
	case "embedContent":
		out.op = opEmbedContent
	case "batchEmbedContents":
		out.op = opBatchEmbedContents
	case "countTokens":
		out.op = opCountTokens
	}
	return out
}

func ollamaOperation(path string) operation {
	switch path {
	case "chat":
		return opOllamaChat
	case "embed":
		return opOllamaEmbed
	case "tags":
		return opTags
	case "version":
		return opVersion
	}
	return opNone
}

// method is the HTTP method of the operation.
func (o operation) method() string {
	if o.asks() {
		return http.MethodPost
	}
	return http.MethodGet
}

// key returns the API key of the request in the provider's header, and whether there is one.
func (rt route) key(r *http.Request) (string, bool) {
	bearer, hasBearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	own := ""
	switch rt.provider {
	case Anthropic:
		own = r.Header.Get("X-Api-Key")
	case Azure:
		own = r.Header.Get("Api-Key")
	case Google:
		if own = r.Header.Get("X-Goog-Api-Key"); own == "" {
			own = r.URL.Query().Get("key")
		}
		hasBearer = false
	default: // only a bearer token
	}
	if own != "" {
		return own, true
	}
	return bearer, hasBearer
}
