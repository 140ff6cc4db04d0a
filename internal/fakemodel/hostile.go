package fakemodel

import (
	"cmp"
	"encoding/json"
	"net/http"

	"github.com/plumb-eval/plumb/internal/wire"
)

// The hostile replies have status 200 and are JSON, or nearly. They contain no answer, or an error
// beside one, so a client that reads only the text would judge a wrong answer. They are derived
// from the right answer. A stream to an agent becomes a server error.
const (
	// hostileErrorBeside adds an error to the complete answer, hostileErrorText sends an error that
	// is a text, hostileOverloaded the error of status 529.
	hostileErrorBeside Fault = "error-beside"
	hostileErrorText   Fault = "error-text"
	hostileOverloaded  Fault = "overloaded-ok"
	// hostileBrokeOff ends the complete answer with a reason that means that the provider broke it
	// off.
	hostileBrokeOff Fault = "broke-off"
	// hostileNull, hostileAbsent and hostileEmpty have null, nothing, and an empty list in place of
	// the answer, hostileNumber has a number, and hostileList wraps the reply in a list.
	hostileNull   Fault = "null"
	hostileAbsent Fault = "absent"
	hostileEmpty  Fault = "empty-list"
	hostileNumber Fault = "number"
	hostileList   Fault = "list"
	// hostileStream is the answer as one event of a stream.
	hostileStream Fault = "streamed"
)

// HostileReplies returns every kind of hostile reply.
func HostileReplies() []Fault {
	return []Fault{
		hostileErrorBeside, hostileErrorText, hostileOverloaded, hostileBrokeOff, hostileNull, hostileAbsent,
		hostileEmpty, hostileNumber, hostileList, hostileStream,
	}
}

// hostile sends a hostile reply.
func (x *exchange) hostile(fault Fault) {
	var reply map[string]any
	if x.out.Border != "" || json.Unmarshal(x.out.Body, &reply) != nil {
		x.fail(problem{kind: serverError})
		return
	}
	switch fault {
	case hostileStream:
		x.out.Body = append(append([]byte("data: "), x.out.Body...), "\n\ndata: [DONE]\n\n"...)
	case hostileList:
		x.out.Body = append(append([]byte("["), x.out.Body...), ']')
	case hostileErrorText:
		x.out.Body = []byte(`{"error":"the model is loading"}`)
	case hostileOverloaded:
		x.out.Body = []byte(`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`)
	default:
		x.spoil(fault, reply)
		x.out.Body, _ = json.Marshal(reply) //nolint:errchkjson // derived from JSON
	}
	x.send()
}

// spoil breaks a right reply. The answers are in its member list; holder is the object with the
// text and with the finish reason, which are its members place and end.
func (x *exchange) spoil(fault Fault, reply map[string]any) {
	list, holder, place := "data", reply, ""
	end, word := "status", "failed"
	switch x.ask.Endpoint {
	case wire.Chat:
		list, place, end, word = "choices", "message", "finish_reason", "error"
		holder = first(reply, list)
	case wire.Responses:
		list = "output"
	case wire.Messages:
		list, end, word = "content", "stop_reason", "error"
	case wire.Generate:
		list, place, end, word = "candidates", "content", "finishReason", "MALFORMED_RESPONSE"
		holder = first(reply, list)
	default:
		if x.ask.Provider == wire.Google {
			list = "embeddings"
		}
	}
	place = cmp.Or(place, list)
	switch fault {
	case hostileErrorBeside:
		reply["error"] = map[string]any{"code": http.StatusBadGateway, "message": "Upstream died."}
	case hostileBrokeOff:
		if holder[end] = word; x.ask.Endpoint == wire.Embeddings {
			delete(reply, list) // vectors have no finish reason
		}
	case hostileNull:
		holder[place] = nil
	case hostileAbsent:
		delete(holder, place)
	case hostileEmpty:
		reply[list] = []any{}
	case hostileNumber:
		holder[place] = 5
	default: // the others replace the whole reply
	}
}

// first returns the first object of a list, or an empty one.
func first(reply map[string]any, name string) map[string]any {
	if list, ok := reply[name].([]any); ok && len(list) > 0 {
		if m, ok := list[0].(map[string]any); ok {
			return m
		}
	}
	return map[string]any{}
}
