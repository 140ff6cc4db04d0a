package runner

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/runner/modelapi"
)

// commandAnswer is an answer of a command as an object. Its keys are documented and never renamed.
type commandAnswer struct {
	Output       string
	Model        string
	Usage        plumb.Usage
	CostUSD      *float64
	FinishReason string
	// Error is the reason for a missing answer: in JSON a text, or an object with a message.
	Error string

	unknown []string
}

// answerKeys are the known keys of an answer.
func answerKeys() []string {
	return []string{
		"output", "model", "costUsd", "finishReason", "error", "usage", "usage.inputTokens", "usage.outputTokens",
		"usage.reasoningTokens", "usage.cacheTokens", "usage.cacheWriteTokens", "usage.totalTokens",
	}
}

// maxCost is the greatest cost of an answer that Plumb accepts, in dollars.
const maxCost = 1e9

// textAnswer returns a plain answer: stdout without the newlines at its end, as in a shell.
func textAnswer(stdout []byte) string {
	return strings.TrimRight(strings.ToValidUTF8(string(stdout), "\uFFFD"), "\r\n")
}

// parseAnswer distinguishes the two forms of an answer. It is an object if stdout without white
// space is one JSON object with a key "output" or "error". Everything else, including other JSON,
// is text. The error reports a mistake in the object.
func parseAnswer(stdout []byte) (answer commandAnswer, isObject bool, err error) {
	object := jsonObject(stdout)
	_, hasOutput := object["output"]
	_, hasError := object["error"]
	if !hasOutput && !hasError {
		return answer, false, nil
	}
	for _, key := range slices.Sorted(maps.Keys(object)) {
		value := object[key]
		switch key {
		case "output":
			err = decodeKey(key, value, &answer.Output, "a string")
		case "model":
			err = decodeKey(key, value, &answer.Model, "a string")
		case "finishReason":
			err = decodeKey(key, value, &answer.FinishReason, "a string")
		case "costUsd":
			err = decodeKey(key, value, &answer.CostUSD, "a number")
			if c := answer.CostUSD; err == nil && c != nil && (*c < 0 || *c > maxCost) {
				err = fmt.Errorf("%q of the answer is %g, which is not a valid cost", key, *c)
			}
		case "usage":
			err = answer.decodeUsage(value)
		case "error":
			answer.Error, err = decodeError(value)
		default:
			answer.unknown = append(answer.unknown, key)
		}
		if err != nil {
			return answer, true, err
		}
	}
	word := answer.FinishReason
	if word != string(plumb.FinishTimeout) && answer.Error == "" && modelapi.BrokeOff(word) {
		return answer, true, fmt.Errorf(`the answer broke off: its "finishReason" is %q`, word)
	}
	if answer.Error == "" && (!hasOutput || isNull(object["output"])) {
		return answer, true, fmt.Errorf(`the answer is an object with neither an "output" nor an "error"`)
	}
	return answer, true, nil
}

// jsonObject returns the members of data if it is one JSON object. It is a map because
// encoding/json ignores the case of letters for structs.
func jsonObject(data []byte) map[string]json.RawMessage {
	var object map[string]json.RawMessage
	if trimmed := bytes.TrimSpace(data); len(trimmed) > 0 && trimmed[0] == '{' {
		_ = json.Unmarshal(trimmed, &object) // everything else is text
	}
	return object
}

func decodeKey(key string, value json.RawMessage, into any, kind string) error {
	if err := json.Unmarshal(value, into); err != nil {
		return fmt.Errorf("%q of the answer is not %s", key, kind)
	}
	return nil
}

func (a *commandAnswer) decodeUsage(value json.RawMessage) error {
	var counts map[string]json.RawMessage
	if err := json.Unmarshal(value, &counts); err != nil {
		return fmt.Errorf(`"usage" of the answer is not an object`)
	}
	var total *int64 // is computed from the others
	known := map[string]**int64{
		"inputTokens": &a.Usage.InputTokens, "outputTokens": &a.Usage.OutputTokens, "totalTokens": &total,
		"reasoningTokens": &a.Usage.ReasoningTokens, "cacheTokens": &a.Usage.CacheTokens,
		"cacheWriteTokens": &a.Usage.CacheWriteTokens,
	}
	for _, key := range slices.Sorted(maps.Keys(counts)) {
		into := known[key]
		if into == nil {
			a.unknown = append(a.unknown, "usage."+key)
			continue
		}
		if err := decodeKey("usage."+key, counts[key], into, "a whole number"); err != nil {
			return err
		}
		if n := *into; n != nil && (*n < 0 || *n > modelapi.MaxTokens) {
			return fmt.Errorf("%q of the answer is %d, which is not a valid token count", "usage."+key, *n)
		}
	}
	if in, cached := a.Usage.InputTokens, a.Usage.CacheTokens; in != nil && cached != nil && *cached > *in {
		return fmt.Errorf(`"usage" of the answer has %d cacheTokens among %d inputTokens`, *cached, *in)
	}
	return nil
}

// decodeError reads a message, or an object with one.
func decodeError(value json.RawMessage) (string, error) {
	if isNull(value) || bytes.Equal(value, []byte("false")) {
		return "", nil
	}
	var text string
	if json.Unmarshal(value, &text) == nil {
		if text == "" {
			text = "an error without a message"
		}
		return text, nil
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(value, &object); err != nil {
		return "", fmt.Errorf(`"error" of the answer is neither a string nor an object with a "message"`)
	}
	if json.Unmarshal(object["message"], &text) != nil || text == "" {
		text = "an error without a message: " + strings.ToValidUTF8(string(value), "\uFFFD")
	}
	return text, nil
}

func isNull(value json.RawMessage) bool { return bytes.Equal(bytes.TrimSpace(value), []byte("null")) }

// finishReason reads the finish reason of an answer. A word of a provider is also returned as such.
func finishReason(word string) (reason plumb.FinishReason, provider string) {
	switch reason = plumb.FinishReason(word); reason {
	case "":
		return plumb.FinishStop, ""
	case plumb.FinishStop, plumb.FinishTruncated, plumb.FinishRefused, plumb.FinishToolCalls, plumb.FinishTimeout,
		plumb.FinishOther:
		return reason, ""
	case "length", "max_tokens":
		return plumb.FinishTruncated, word
	case "content_filter", "refusal":
		return plumb.FinishRefused, word
	case "end_turn", "stop_sequence":
		return plumb.FinishStop, word
	case "tool_calls", "tool_use":
		return plumb.FinishToolCalls, word
	default:
		return plumb.FinishOther, word
	}
}
