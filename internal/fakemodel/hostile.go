package fakemodel

import (
	"encoding/json"
	"net/http"
)

// The hostile replies have status 200 and are JSON, or nearly. They contain no answer, or an error
// beside one, so a client that reads only the text would judge a wrong answer. They are derived
// from the right answer of a request without a stream; a request for a stream gets a server error.
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
		hostileEmpty,
		hostileNumber, hostileList, hostileStream,
	}
}

// hostile sends a hostile reply, and reports whether the fault is one.
func (x *exchange) hostile(fault Fault) bool {
	var reply map[string]any
	known := true
	switch fault {
	case hostileErrorText:
		reply = map[string]any{"error": "the model is loading"}
	case hostileOverloaded:
		reply = map[string]any{"type": "error", "error": map[string]any{
			"type":    "overloaded_error",
			"message": "Overloaded",
		}}
	case hostileErrorBeside, hostileBrokeOff, hostileNull, hostileAbsent, hostileEmpty, hostileNumber, hostileList,
		hostileStream:
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
	case hostileStream:
		body = append(append([]byte("data: "), body...), "\n\ndata: [DONE]\n\n"...)
	case hostileList:
		body = append(append([]byte("["), body...), ']')
	default:
		x.spoil(fault, reply)
		body, _ = json.Marshal(reply) //nolint:errchkjson // derived from JSON, or made of texts
	}
	x.whole(http.StatusOK, x.kind, body)
	return true
}

// spoil breaks a right reply.
func (x *exchange) spoil(fault Fault, reply map[string]any) {
	holder, place := reply, x.place()
	end, word := "status", "failed" // the member that tells how the answer ended
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
	case hostileErrorBeside:
		reply["error"] = map[string]any{"code": http.StatusBadGateway, "message": "Upstream died."}
	case hostileBrokeOff:
		if holder[end] = word; x.rt.op.embeds() {
			delete(reply, x.place()) // vectors have no finish reason
		}
	case hostileNull:
		holder[place] = nil
	case hostileAbsent:
		delete(holder, place)
	case hostileEmpty:
		reply[x.place()] = []any{}
	case hostileNumber:
		holder[place] = 5
	default: // none of its content is valid already
	}
}

// place is the member of a reply that contains its answers.
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
