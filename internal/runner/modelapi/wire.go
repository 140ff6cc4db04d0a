package modelapi

import (
	"net/http"
	"net/url"

	json "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/plumb-eval/plumb"
)

// wire is one wire format: pure functions between the vocabulary of Plumb and the bodies in HTTP.
// Each implementation is one file, with the structs of its requests and replies.
type wire interface {
	parameters() support
	// address completes the base URL that a user wrote, for example with the version of the API.
	// Its path does not end in a slash.
	address(u *url.URL)
	// authorize sets the headers of each request: the key, unless it is "", and the version of the
	// API.
	authorize(h http.Header, key string)
	// path follows the base URL in a request for an answer.
	path(model string) string
	encode(r request) ([]byte, error)
	// decode reads a reply. An error means that the reply is not JSON or has no answer. It is an
	// *apiError if the reply reports an error, whether or not it also has an answer.
	decode(body []byte) (reply, error)
	// listQuery is the query of the first page of the list of models.
	listQuery() url.Values
	decodeModels(body []byte) (modelPage, error)
}

// embedWire is a wire format that has embeddings.
type embedWire interface {
	wire
	embedPath(model string) string
	encodeEmbed(model string, texts []string) ([]byte, error)
	decodeEmbed(body []byte, texts int) (plumb.Embedding, error)
}

// support describes the parameters of a wire format.
type support struct {
	// missing are the parameters that the format lacks, required those that each request must have.
	missing, required parameter
	// renamed are the parameters that have a second name on some servers.
	renamed parameter
	// seed32 limits the seed to 32 bits.
	seed32 bool
}

// request is what a wire format encodes.
type request struct {
	model      string
	messages   []plumb.Message
	parameters plumb.Parameters
	// renamed chooses the second name of the parameters that have one.
	renamed bool
}

// marshal writes a request. Invalid UTF-8 in it becomes the replacement character.
func marshal(v any) ([]byte, error) { return json.Marshal(v, jsontext.AllowInvalidUTF8(true)) }

// effort is the reasoning effort, or "" for none.
func effort(p plumb.Parameters) string {
	if p.ReasoningEffort == nil {
		return ""
	}
	return *p.ReasoningEffort
}

// modelPage is one page of a list of models, and the query parameter that gets the next page.
type modelPage struct {
	models       []ModelInfo
	param, value string
}
