package fakemodel

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/plumb-eval/plumb/internal/wire"
)

// problem is a reason to reject a request, independent of the provider.
type problem struct {
	kind problemKind
	// param is the rejected parameter, detail further text for the message.
	param, detail string
	// date is set if Retry-After must be a date.
	date bool
}

// problemKind is the name of a problem in errors.json. The empty one is a request that is invalid in
// another way, which the detail states.
type problemKind string

const (
	badJSON              problemKind = "badJSON"
	tooLarge             problemKind = "tooLarge"
	noSuchPath           problemKind = "noSuchPath"
	wrongMethod          problemKind = "wrongMethod"
	noKey                problemKind = "noKey"
	wrongKey             problemKind = "wrongKey"
	unauthorized         problemKind = "unauthorized"
	noSuchModel          problemKind = "noSuchModel"
	noQuota              problemKind = "noQuota"
	rateLimited          problemKind = "rateLimited"
	requestTimeout       problemKind = "requestTimeout"
	conflict             problemKind = "conflict"
	serverError          problemKind = "serverError"
	badGateway           problemKind = "badGateway"
	overloaded           problemKind = "overloaded"
	noModel              problemKind = "noModel"
	missingParameter     problemKind = "missingParameter"
	emptyArray           problemKind = "emptyArray"
	badRole              problemKind = "badRole"
	badInput             problemKind = "badInput"
	unrecognized         problemKind = "unrecognized"
	unknownParameter     problemKind = "unknownParameter"
	unsupportedParameter problemKind = "unsupportedParameter"
	unsupportedValue     problemKind = "unsupportedValue"
	promptBlocked        problemKind = "promptBlocked"
)

//go:embed errors.json
var errorsJSON []byte

// wordings are how the providers word the problems, from errors.json. Those of any provider have the
// usual statuses. All other problems are a bad request.
type wordings map[wire.Provider]map[problemKind]wording

const anyProvider wire.Provider = "any"

func readWordings() wordings {
	var all wordings
	if err := json.Unmarshal(errorsJSON, &all); err != nil {
		panic(err) // the file is a part of the program
	}
	return all
}

// wording is how a provider words a problem. Names in braces are data of the request; see
// [exchange.words].
type wording struct {
	// Status replaces the usual one, unless it is 0.
	Status int
	// Type is the type or status in the error object; "" means that of an invalid request.
	Type, Code string
	// Message is "" if it is the detail of the problem.
	Message string
	// Details are a further member of the error. Body is the whole reply, if it has another form.
	Details, Body json.RawMessage
}

// words returns the wording of a problem for the first provider that has one, with the data of the
// request. An unauthorized request is worded like a wrong key if the provider does not distinguish
// them.
func (x *exchange) words(p problem, providers ...wire.Provider) wording {
	var w wording
	for _, provider := range providers {
		table := x.s.wordings[provider]
		var ok bool
		if w, ok = table[p.kind]; !ok && p.kind == unauthorized {
			w, ok = table[wrongKey]
		}
		if ok {
			break
		}
	}
	x.status = cmp.Or(w.Status, x.status)
	at := ""
	if p.detail != "" {
		at = " at '" + p.detail + "'"
	}
	operation := "generateContent"
	if x.ask.Endpoint == wire.Embeddings {
		operation = "batchEmbedContents"
	}
	limit, _ := x.limits()
	data := []string{
		"{model}", x.ask.Model, "{param}", p.param, "{snake}", snake(p.param), "{detail}", p.detail, "{at}", at,
		"{key}", maskKey(p.detail), "{method}", x.r.Method, "{path}", x.r.URL.Path, "{operation}", operation,
		"{limit}", strconv.Itoa(limit),
		"{wait}", x.s.options.RetryAfter.String(), "{seconds}", strconv.Itoa(x.s.retrySeconds()),
	}
	w.Message = strings.NewReplacer(data...).Replace(cmp.Or(w.Message, "{detail}"))
	quote := func(s string) string { return string(wire.Append(nil, s, false)) }
	data = append(data, `"{model}"`, quote(x.ask.Model), `"{message}"`, quote(w.Message))
	w.Details = []byte(strings.NewReplacer(data...).Replace(string(w.Details)))
	return w
}

// keyProblem reports what is wrong with the API key of the request; nil if it is want.
func (x *exchange) keyProblem(want string) *problem {
	switch key := x.ask.Key(x.r); key {
	case "":
		return &problem{kind: noKey}
	case want:
		return nil
	default:
		return &problem{kind: wrongKey, detail: key}
	}
}

// gatewayPage is the page of a proxy in front of an unavailable API.
const gatewayPage = "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n" +
	"<center><h1>502 Bad Gateway</h1></center>\r\n<hr><center>cloudflare</center>\r\n</body>\r\n</html>\r\n"

// put makes an object the reply.
func (x *exchange) put(indented bool, members ...any) {
	x.out = wire.Reply{
		ContentType: x.ask.Provider.ContentType(), Body: wire.Append(nil, wire.Object(members), indented),
	}
}

// fail rejects the request with the problem.
func (x *exchange) fail(p problem) {
	x.reject(p)
	x.send()
}

// reject makes the problem the reply, in the format of the provider.
func (x *exchange) reject(p problem) {
	x.status = cmp.Or(x.s.wordings[anyProvider][p.kind].Status, http.StatusBadRequest)
	if p.kind == rateLimited {
		x.retryAfter(p.date)
	}
	switch {
	case p.kind == badGateway:
		x.out, x.proxied = wire.Reply{ContentType: "text/html", Body: []byte(gatewayPage)}, true
	case x.ask.Provider == wire.Anthropic:
		x.anthropicError(p)
	case x.ask.Provider == wire.Google:
		x.googleError(p)
	case x.ask.Provider == wire.Azure:
		x.azureError(p)
	case x.ask.Provider == wire.Ollama:
		x.ollamaError(p)
	default:
		x.openAIError(p)
	}
}

// openAIError writes an error of api.openai.com.
func (x *exchange) openAIError(p problem) {
	w := x.words(p, wire.OpenAI)
	switch {
	case p.kind == unrecognized, p.kind == noModel:
		p.param = ""
	case p.kind == noSuchModel && x.ask.Endpoint == wire.Responses:
		w.Message, p.param = "The requested model '"+x.ask.Model+"' does not exist.", "model"
	case p.kind == unsupportedParameter && p.param == "max_tokens":
		w.Message += " Use 'max_completion_tokens' instead."
	case p.kind == unsupportedParameter && x.ask.Endpoint == wire.Responses:
		w.Code = ""
	}
	x.put(true, "error", w.openAI(p.param))
}

// openAI is the error in the format of OpenAI.
func (w wording) openAI(param string) wire.Object {
	return wire.Object{
		"message", w.Message, "type", cmp.Or(w.Type, "invalid_request_error"), "param", wire.OrNull(param),
		"code", wire.OrNull(w.Code),
	}
}

// azureError writes an error of Azure's gateway, which passes on most of those of OpenAI.
func (x *exchange) azureError(p problem) {
	switch p.kind {
	case noKey, unauthorized:
		p.kind = wrongKey
	case noQuota:
		p.kind = rateLimited
	default:
	}
	if _, ok := x.s.wordings[wire.Azure][p.kind]; !ok {
		x.openAIError(p)
		return
	}
	w := x.words(p, wire.Azure)
	x.put(false, "error", wire.Object{"code", w.Code, "message", w.Message})
	if w.Body != nil {
		x.out.Body = w.Body
	}
}

// ollamaError writes an error of Ollama's OpenAI-compatible API.
func (x *exchange) ollamaError(p problem) {
	if p.kind == noSuchPath {
		x.out = wire.Reply{ContentType: "text/plain", Body: []byte("404 page not found")}
		return
	}
	x.put(false, "error", x.words(p, wire.Ollama, wire.OpenAI).openAI(""))
	x.out.Body = append(x.out.Body, '\n')
}

// anthropicError writes an error of the messages API.
func (x *exchange) anthropicError(p problem) {
	w := x.words(p, wire.Anthropic)
	x.put(false, "type", "error", "error", wire.Object{
		"type", cmp.Or(w.Type, "invalid_request_error"), "message", w.Message,
	}, "request_id", x.requestID())
}

// googleNoPath is the page for an unknown path.
const googleNoPath = "<!DOCTYPE html>\n<html lang=en>\n  <title>Error 404 (Not Found)!!1</title>\n" +
	"  <p><b>404.</b> <ins>That's an error.</ins>\n"

// googleError writes an error of Google's APIs.
func (x *exchange) googleError(p problem) {
	if p.kind == noSuchPath || p.kind == wrongMethod {
		x.status = http.StatusNotFound
		x.out = wire.Reply{ContentType: "text/html; charset=UTF-8", Body: []byte(googleNoPath)}
		return
	}
	w := x.words(p, wire.Google)
	said := wire.Object{"code", x.status, "message", w.Message, "status", cmp.Or(w.Type, "INVALID_ARGUMENT")}
	if len(w.Details) > 0 {
		said = append(said, "details", wire.Raw(w.Details))
	}
	x.put(true, "error", said)
	x.out.Body = append(x.out.Body, '\n')
}

// retryAfter sets the header with the time of the next attempt.
func (x *exchange) retryAfter(date bool) {
	h, wait, seconds := x.w.Header(), x.s.options.RetryAfter, x.s.retrySeconds()
	if date {
		h.Set("Retry-After", time.Now().Add(time.Duration(seconds)*time.Second).UTC().Format(http.TimeFormat))
		return
	}
	h.Set("Retry-After", strconv.Itoa(seconds))
	if x.ask.Provider == wire.OpenAI && wait%time.Second != 0 {
		h.Set("Retry-After-Ms", strconv.FormatInt(wait.Milliseconds(), 10))
	}
}

// retrySeconds is RetryAfter in whole seconds, rounded up.
func (s *Server) retrySeconds() int { return int(math.Ceil(s.options.RetryAfter.Seconds())) }

// maskKey hides a key as OpenAI's errors do.
func maskKey(key string) string {
	if len(key) <= 12 {
		return key[:min(4, len(key))] + "****"
	}
	return key[:8] + "********" + key[len(key)-4:]
}

// snake turns lowerCamel into snake_case.
func snake(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r >= 'A' && r <= 'Z' {
			b.WriteByte('_')
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}
