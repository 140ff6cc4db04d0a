package modelapi

import (
	stdjson "encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	json "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/plumb-eval/plumb"
)

// This file has the code that the decoders of all wire formats share. docs/providers.md lists,
// member by member, how Plumb decides about a reply. The tests read that list.

// reply is what a wire format decodes.
type reply struct {
	id, model, fingerprint string
	// text is the answer, which may be incomplete.
	text      string
	thinking  []string
	toolCalls []toolCall
	finish    plumb.FinishReason
	// word is the provider's own finish reason.
	word      string
	usage     plumb.Usage
	effective plumb.Parameters
	// notes name the values of the reply that were ignored.
	notes []string
}

type toolCall struct {
	name string
	args stdjson.RawMessage
}

// member is one member of an object in a reply, or one element of a list. It distinguishes a value
// that is absent, null, or of another type than that of the wire format. Of two members with the
// same name the last one counts.
type member[T any] struct {
	// kind is the kind of the JSON value; 0 when the member is absent.
	kind jsontext.Kind
	// ok is set when the value has the right type.
	ok    bool
	value T
}

// UnmarshalJSONFrom reads the value if it has the right type, and skips it otherwise. Errors mean
// invalid JSON.
func (m *member[T]) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	*m = member[T]{kind: d.PeekKind()}
	switch reflect.TypeFor[T]().Kind() {
	case reflect.String:
		m.ok = m.kind == '"'
	case reflect.Bool:
		m.ok = m.kind == 't' || m.kind == 'f'
	case reflect.Slice:
		m.ok = m.kind == '['
	default:
		m.ok = m.kind == '{'
	}
	if !m.ok {
		return d.SkipValue()
	}
	return json.UnmarshalDecode(d, &m.value)
}

// present reports whether there is a value other than null.
func (m *member[T]) present() bool { return m.kind != 0 && m.kind != 'n' }

// wrong reports whether there is a value that the wire format does not allow.
func (m *member[T]) wrong() bool { return m.present() && !m.ok }

// kindName names a kind of value for error messages.
func kindName(k jsontext.Kind) string {
	switch k {
	case 0:
		return "absent"
	case 'n':
		return "null"
	case '"':
		return "a text"
	case '0':
		return "a number"
	case '[':
		return "a list"
	case '{':
		return "an object"
	default:
		return "true or false"
	}
}

// missing is the error of a reply with a wrong or absent value in the place of the answer.
func missing(place string, k jsontext.Kind) error { return noAnswer(place + " is " + kindName(k)) }

func noAnswer(reason string) error { return fmt.Errorf("%w: %s", errNoAnswer, reason) }

// unknownPart is the error of a reply with a part that Plumb does not know and that could be the
// answer.
func unknownPart(place string, k jsontext.Kind, kind *member[string]) error {
	switch {
	case k != '{':
		return missing(place, k)
	case !kind.ok:
		return missing(place+".type", kind.kind)
	}
	return noAnswer(fmt.Sprintf("%s has the unknown type %q", place, oneLine(kind.value)))
}

// errNoAnswer is in all errors of replies that are valid JSON without an answer.
var errNoAnswer = errors.New("the reply has no answer")

// failing has the members that mark a body with status 200 as an error.
type failing struct {
	Error  jsontext.Value `json:"error"`
	Type   member[string] `json:"type"`
	Object member[string] `json:"object"`
}

func (f failing) failed() bool {
	return isError(f.Error) || f.Type.value == "error" || f.Object.value == "error"
}

// isError reports whether the member "error" of a reply is one. Null and false mean that there is
// no error.
func isError(raw jsontext.Value) bool {
	return len(raw) > 0 && string(raw) != "null" && string(raw) != "false"
}

// parse reads a reply. It returns an error if the reply is not an object, and if it reports an
// error of the provider. For a list of errors it returns the first.
func parse[T interface{ failed() bool }](body []byte) (T, error) {
	var top member[T]
	err := json.Unmarshal(body, &top, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if err == nil && !top.ok {
		err = missing("it", top.kind)
		if top.kind == '[' {
			if api := errorWithin(body); !errors.Is(api, errNoAnswer) {
				err = api
			}
		}
	}
	if err == nil && top.value.failed() {
		err = providerError(body)
	}
	return top.value, err
}

// unanswered is the error of a reply without the member that holds answers. It has the reply's
// message, if there is one.
func unanswered(body []byte, place string, k jsontext.Kind) error {
	if k == '[' {
		return noAnswer(place + " is an empty list")
	}
	if e := parseAPIError(body); e.message != "" {
		return &e
	}
	return missing(place, k)
}

// errorWithin finds the error in a reply that looks like a success but has no answer.
func errorWithin(body []byte) error {
	var list []jsontext.Value
	first := body
	err := json.Unmarshal(body, &list, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if err == nil && len(list) > 0 {
		first = list[0] // Google wraps some errors in a list
	}
	var top member[failing]
	err = json.Unmarshal(first, &top, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if err == nil && top.value.failed() {
		return providerError(first)
	}
	return errNoAnswer
}

// providerError is the error that a provider reports in a body with status 200.
func providerError(body []byte) error {
	e := parseAPIError(body)
	if e.summary() == "" {
		e.message = "an error without a message"
	}
	return &e
}

// nestedError is providerError for the member "error" of something inside a reply.
func nestedError(raw jsontext.Value) error {
	return providerError([]byte(`{"error":` + string(raw) + `}`))
}

// BrokeOff reports whether a finish reason means that the provider, not the model, ended the
// answer, so that the answer shows nothing about the model. The words are those of OpenRouter,
// vLLM, SGLang, DeepSeek, Zhipu and Google.
func BrokeOff(word string) bool {
	switch strings.ToLower(word) {
	case "error", "failed", "abort", "aborted", "cancelled", "canceled", "timeout", "network_error",
		"insufficient_system_resource", "malformed_response":
		return true
	}
	return false
}

// endedBy reads a finish reason. It is an error when its type is wrong or the provider broke the
// answer off.
func endedBy(place string, m *member[string]) (word string, err error) {
	switch {
	case m.wrong():
		return "", missing(place, m.kind)
	case BrokeOff(m.value):
		text := fmt.Sprintf("the provider ended the answer early: %s is %q", place, oneLine(m.value))
		return "", &apiError{message: text}
	}
	return m.value, nil
}

// complete decides about a reply when all members have been read. place is where its text should
// be, given reports whether a text is there, even an empty one, and k is the kind of another value
// there. A reply without a text is an answer if the model called a tool, or if the provider reports
// that it truncated or withheld the text.
func (r *reply) complete(place string, given bool, k jsontext.Kind) error {
	switch {
	case len(r.toolCalls) > 0:
		if r.finish == plumb.FinishStop && r.text == "" {
			r.finish = plumb.FinishToolCalls
		}
	case r.finish == plumb.FinishToolCalls && r.text == "":
		return noAnswer(fmt.Sprintf("it ends with %q and calls no tool", r.word))
	case !given && r.finish != plumb.FinishTruncated && r.finish != plumb.FinishRefused:
		return missing(place, k)
	}
	r.dropContradictions()
	return nil
}

// MaxTokens is the greatest count of tokens that Plumb accepts.
const MaxTokens = 1 << 40

// count reads a count of tokens. It is nil if the member is absent, and if it is not a count, which
// it notes.
func (r *reply) count(name string, raw jsontext.Value) *int64 {
	if len(raw) == 0 || raw.Kind() == 'n' {
		return nil
	}
	if raw.Kind() == '0' {
		f, err := strconv.ParseFloat(string(raw), 64)
		if n := int64(f); err == nil && f >= 0 && f <= MaxTokens && float64(n) == f {
			return &n
		}
	}
	r.noteInvalid(name, raw)
	return nil
}

// checkUsage notes a usage that is not an object.
func (r *reply) checkUsage(name string, k jsontext.Kind) {
	if k != 0 && k != 'n' && k != '{' {
		r.notes = append(r.notes, "in the reply, "+name+" is "+kindName(k)+": Plumb ignores it")
	}
}

func (r *reply) noteInvalid(name string, raw jsontext.Value) {
	const most = 40
	shown := oneLine(string(raw))
	if len(shown) > most {
		shown = oneLine(shown[:most]) + "…"
	}
	r.notes = append(r.notes, fmt.Sprintf(
		"in the reply, %s is %s, which is not a valid token count: Plumb ignores it", name, shown))
}

// dropContradictions drops figures that contradict each other: a text has at least one token, and a
// part is not more than the whole.
func (r *reply) dropContradictions() {
	u := &r.usage
	if u.InputTokens != nil && *u.InputTokens > MaxTokens {
		r.noteInvalid("the sum of all input tokens", jsontext.Value(strconv.FormatInt(*u.InputTokens, 10)))
		u.InputTokens = nil
	}
	if u.InputTokens != nil && *u.InputTokens == 0 {
		u.InputTokens = nil
	}
	if u.OutputTokens != nil && *u.OutputTokens == 0 && r.text != "" {
		u.OutputTokens = nil
	}
	if u.OutputTokens != nil && *u.OutputTokens > MaxTokens {
		r.noteInvalid("the sum of all output tokens", jsontext.Value(strconv.FormatInt(*u.OutputTokens, 10)))
		u.OutputTokens = nil
	}
	for _, part := range []**int64{&u.CacheTokens, &u.CacheWriteTokens} {
		if n := *part; n != nil && u.InputTokens != nil && *n > *u.InputTokens {
			r.notes = append(r.notes, fmt.Sprintf(
				"in the reply, %d of %d input tokens are cached, which is impossible: Plumb ignores it",
				*n, *u.InputTokens))
			*part = nil
		}
	}
}

// arguments keeps the arguments of a tool call: a JSON value, or a text that should be one.
func arguments(raw jsontext.Value) []byte {
	switch {
	case len(raw) == 0 || raw.Kind() == 'n':
		return nil
	case raw.Kind() != '"':
		return raw
	}
	s := textOf([]byte(raw))
	switch {
	case s == "":
		return nil
	case stdjson.Valid([]byte(s)):
		return []byte(s)
	}
	quoted, _ := stdjson.Marshal(s) //nolint:errchkjson // a string always has a form
	return quoted
}

// number reads a number; nil for anything else.
func number(raw jsontext.Value) *float64 {
	if raw.Kind() != '0' {
		return nil
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	if err != nil {
		return nil
	}
	return &f
}
