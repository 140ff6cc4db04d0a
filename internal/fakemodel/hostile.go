package fakemodel

import (
	"encoding/json"
	"net/http"
)

// The hostile replies have status 200 and are JSON, or nearly, and hold no answer, or an error beside one: a client that
// reads no more than the text judges what is none. They are made of the right answer, for requests that do not stream;
// others meet a server error.
const (
	// HostileErrorBeside puts an error beside the whole answer, HostileErrorText sends an error that is a text,
	// HostileOverloaded the error that goes with the status 529.
	HostileErrorBeside Fault = "error-beside"
	HostileErrorText   Fault = "error-text"
	HostileOverloaded  Fault = "overloaded-ok"
	// HostileBrokeOff ends the whole answer with a word that says that the provider broke it off.
	HostileBrokeOff Fault = "broke-off"
	// HostileNull, HostileAbsent and HostileEmpty have null, nothing, and an empty list where the answer should be,
	// HostileNumber has a number, and HostileList wraps the whole reply in a list.
	HostileNull   Fault = "null"
	HostileAbsent Fault = "absent"
	HostileEmpty  Fault = "empty-list"
	HostileNumber Fault = "number"
	HostileList   Fault = "list"
	// HostileStream is the answer as one event of a stream.
	HostileStream Fault = "streamed"
)

// HostileReplies returns every kind of hostile reply.
func HostileReplies() []Fault {
	return []Fault{
		HostileErrorBeside, HostileErrorText, HostileOverloaded, HostileBrokeOff, HostileNull, HostileAbsent, HostileEmpty,
		HostileNumber, HostileList, HostileStream,
	}
}

// hostile sends a hostile reply, and reports whether the fault is one.
func (x *exchange) hostile(fault Fault) bool {
	var reply map[string]any
	known := true
	switch fault {
	case HostileErrorText:
		reply = map[string]any{"error": "the model is loading"}
	case HostileOverloaded:
		reply = map[string]any{"type": "error", "error": map[string]any{"type": "overloaded_error", "message": "Overloaded"}}
	case HostileErrorBeside, HostileBrokeOff, HostileNull, HostileAbsent, HostileEmpty, HostileNumber, HostileList, HostileStream:
		known = json.Unmarshal(x.out, &reply) == nil
	default:
		return false
	}
	if !known || x.ask.Stream {
		x.fail(problem{kind: serverError})
		return true
	}
	body := x.out
	switch fault {
	case HostileStream:
		body = append(append([]byte("data: "), body...), "\n\ndata: [DONE]\n\n"...)
	case HostileList:
		body = append(append([]byte("["), body...), ']')
	default:
		x.spoil(fault, reply)
		body, _ = json.Marshal(reply) //nolint:errchkjson // came from JSON, or is made of texts
	}
	x.whole(http.StatusOK, x.kind, body)
	return true
}

// spoil changes a right reply.
func (x *exchange) spoil(fault Fault, reply map[string]any) {
	holder, place := reply, x.place()
	end, word := "status", "failed" // what says how the answer ended
	switch x.rt.op {
	case opChat:
		holder, end, word = first(reply, "choices"), "finish_reason", "error"
		place = "message"
	case opMessages:
		end, word = "stop_reason", "error"
	case opGenerate:
		holder, end, word = first(reply, "candidates"), "finishReason", "MALFORMED_RESPONSE"
		place = "content"
	default: // responses, embeddings
	}
	switch fault {
	case HostileErrorBeside:
		reply["error"] = map[string]any{"code": http.StatusBadGateway, "message": "Upstream died."}
	case HostileBrokeOff:
		if holder[end] = word; x.rt.op.embeds() {
			delete(reply, x.place()) // vectors do not end
		}
	case HostileNull:
		holder[place] = nil
	case HostileAbsent:
		delete(holder, place)
	case HostileEmpty:
		reply[x.place()] = []any{}
	case HostileNumber:
		holder[place] = 5
	default: // nothing of it is right already
	}
}

// place is the member of a reply that holds its answers.
func (x *exchange) place() string {
	switch x.rt.op {
	case opChat:
		return "choices"
	case opResponses:
		return "output"
	case opMessages:
		return "content"
	case opGenerate:
		return "candidates"
	case opEmbeddings:
		return "data"
	case opEmbedContent:
		return "embedding"
	case opOllamaChat:
		return "message"
	default:
		return "embeddings"
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
