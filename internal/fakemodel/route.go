package fakemodel

import (
	"net/http"
	"strings"
)

// operation is the operation of a path, by its name in [Stats] and [Ask].
type operation string

const (
	opNone       operation = ""
	opChat       operation = "chat"
	opResponses  operation = "responses"
	opMessages   operation = "messages"
	opGenerate   operation = "generateContent"
	opEmbeddings operation = "embeddings"
	opModels     operation = "models"
)

// route is the target of a request.
type route struct {
	provider Provider
	op       operation
	// model is the model in the path.
	model string
}

// routeOf parses a path. The operation is opNone if no provider has such a path.
func routeOf(r *http.Request) route {
	out := route{provider: OpenAI}
	path, isOllama := strings.CutPrefix(strings.TrimSuffix(r.URL.Path, "/"), "/ollama")
	if after, ok := strings.CutPrefix(path, "/openai/deployments/"); ok {
		out.provider = Azure
		out.model, path, _ = strings.Cut(after, "/")
		path = "/v1/" + path
	}
	if _, call, ok := strings.Cut(path, "/v1beta/models"); ok {
		out.provider = Google
		var method string
		out.model, method, _ = strings.Cut(strings.TrimPrefix(call, "/"), ":")
		switch method {
		case "":
			out.op = opModels
		case "generateContent":
			out.op = opGenerate
		case "batchEmbedContents":
			out.op = opEmbeddings
		}
		return out
	}
	switch {
	case strings.HasSuffix(path, "/chat/completions"):
		out.op = opChat
	case strings.HasSuffix(path, "/responses"):
		out.op = opResponses
	case strings.HasSuffix(path, "/messages"):
		out.op = opMessages
	case strings.HasSuffix(path, "/embeddings"):
		out.op = opEmbeddings
	case strings.HasSuffix(path, "/models"):
		out.op = opModels
	}
	switch {
	case isOllama:
		out.provider = Ollama
	case r.Header.Get("Api-Key") != "":
		out.provider = Azure
	case strings.Contains(path, "/messages"), out.op == opModels && r.Header.Get("Anthropic-Version") != "":
		out.provider = Anthropic
	}
	return out
}

// keyProblem reports what is wrong with the API key in the provider's header; nil if it is want.
func (rt route) keyProblem(r *http.Request, want string) *problem {
	key, hasKey := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	own := ""
	switch rt.provider {
	case Anthropic:
		own = r.Header.Get("X-Api-Key")
	case Azure:
		own = r.Header.Get("Api-Key")
	case Google:
		own, hasKey = r.Header.Get("X-Goog-Api-Key"), false
	default: // only a bearer token
	}
	if own != "" {
		key, hasKey = own, true
	}
	switch {
	case !hasKey || key == "":
		return &problem{kind: noKey}
	case key != want:
		return &problem{kind: wrongKey, detail: key}
	}
	return nil
}
