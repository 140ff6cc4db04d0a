package fakemodel

import (
	"cmp"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// problem is a reason to reject a request, independent of the provider.
type problem struct {
	kind problemKind
	// param is the rejected parameter, detail further text for the message.
	param, detail string
	// date is set if Retry-After must be a date.
	date bool
}

type problemKind int

const (
	invalid problemKind = iota
	badJSON
	tooLarge
	noSuchPath
	wrongMethod
	noKey
	wrongKey
	unauthorized
	noSuchModel
	noQuota
	rateLimited
	requestTimeout
	conflict
	serverError
	badGateway
	overloaded
	noModel
	missingParameter
	emptyArray
	badRole
	badInput
	unrecognized
	unknownParameter
	unsupportedParameter
	unsupportedValue
	promptBlocked
)

// statuses are the HTTP statuses of most providers. All other problems are a bad request.
var statuses = map[problemKind]int{
	tooLarge: http.StatusRequestEntityTooLarge, noSuchPath: http.StatusNotFound, noSuchModel: http.StatusNotFound,
	wrongMethod: http.StatusMethodNotAllowed, noKey: http.StatusUnauthorized, wrongKey: http.StatusUnauthorized,
	unauthorized: http.StatusUnauthorized, noQuota: http.StatusTooManyRequests, rateLimited: http.StatusTooManyRequests,
	requestTimeout: http.StatusRequestTimeout, conflict: http.StatusConflict,
	serverError: http.StatusInternalServerError, badGateway: http.StatusBadGateway,
	overloaded: http.StatusServiceUnavailable,
}

// wording is how a provider words a problem. Names in braces stand for data of the request; see
// [exchange.words].
type wording struct {
	// status replaces that of [statuses], unless it is 0.
	status int
	// kind is the type or status in the error object; "" means that of an invalid request.
	kind, code string
	// message is "" if it is the detail of the problem.
	message string
	// details are further members of an error, as JSON.
	details string
}

// words returns the wording of a problem in a provider's table with the data of the request. An
// unauthorized request is worded like a wrong key if the provider does not distinguish them.
func (x *exchange) words(table map[problemKind]wording, p problem) wording {
	w, ok := table[p.kind]
	if !ok && p.kind == unauthorized {
		w = table[wrongKey]
	}
	x.status = cmp.Or(w.status, x.status)
	at := ""
	if p.detail != "" {
		at = " at '" + p.detail + "'"
	}
	operation := "generateContent"
	if x.rt.op == opEmbeddings {
		operation = "batchEmbedContents"
	}
	limit, _ := x.limits()
	data := []string{
		"{model}", x.ask.Model, "{param}", p.param, "{snake}", snake(p.param), "{detail}", p.detail, "{at}", at,
		"{key}", maskKey(p.detail), "{method}", x.r.Method, "{path}", x.r.URL.Path, "{operation}", operation,
		"{limit}", strconv.Itoa(limit),
		"{wait}", x.s.options.RetryAfter.String(), "{seconds}", strconv.Itoa(x.s.retrySeconds()),
	}
	w.message = strings.NewReplacer(data...).Replace(cmp.Or(w.message, "{detail}"))
	data = append(data, `"{model}"`, quote(x.ask.Model), `"{message}"`, quote(w.message))
	w.details = strings.NewReplacer(data...).Replace(w.details)
	return w
}

// gatewayPage is the page of a proxy in front of an unavailable API.
const gatewayPage = "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n" +
	"<center><h1>502 Bad Gateway</h1></center>\r\n<hr><center>cloudflare</center>\r\n</body>\r\n</html>\r\n"

// fail rejects the request with the problem.
func (x *exchange) fail(p problem) {
	x.reject(p)
	x.send()
}

// reject makes the problem the reply, in the format of the provider.
func (x *exchange) reject(p problem) {
	x.out, x.status, x.kind = x.out[:0], cmp.Or(statuses[p.kind], http.StatusBadRequest), "application/json"
	x.border = ""
	if p.kind == rateLimited {
		x.retryAfter(p.date)
	}
	switch {
	case p.kind == badGateway:
		x.out, x.kind, x.proxied = append(x.out, gatewayPage...), "text/html", true
	case x.rt.provider == Anthropic:
		x.anthropicError(p)
	case x.rt.provider == Google:
		x.googleError(p)
	case x.rt.provider == Azure:
		x.azureError(p)
	case x.rt.provider == Ollama:
		x.ollamaError(p)
	default:
		x.openAIError(p)
	}
}

// retryAfter sets the header with the time of the next attempt.
func (x *exchange) retryAfter(date bool) {
	h, wait, seconds := x.w.Header(), x.s.options.RetryAfter, x.s.retrySeconds()
	if date {
		h.Set("Retry-After", time.Now().Add(time.Duration(seconds)*time.Second).UTC().Format(http.TimeFormat))
		return
	}
	h.Set("Retry-After", strconv.Itoa(seconds))
	if x.rt.provider == OpenAI && wait%time.Second != 0 {
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
