package fakemodel

import (
	"math"
	"net/http"
	"strconv"
	"time"
)

// problem is a reason to reject a request, independent of the provider.
type problem struct {
	kind problemKind
	// param is the rejected parameter, detail further text for the message.
	param, detail string
	// missing is set if there is no key, date if Retry-After must be a date.
	missing, date bool
}

type problemKind int

const (
	invalid problemKind = iota
	badJSON
	tooLarge
	noSuchPath
	wrongMethod
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

// gatewayPage is the page of a proxy in front of an unavailable API.
const gatewayPage = "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n" +
	"<center><h1>502 Bad Gateway</h1></center>\r\n<hr><center>cloudflare</center>\r\n</body>\r\n</html>\r\n"

// fail rejects the request with the problem, in the format of the provider.
func (x *exchange) fail(p problem) {
	x.problemBody(p)
	x.ask.Stream = false
	x.whole(x.status, x.kind, x.out)
}

// problemBody makes the problem the reply.
func (x *exchange) problemBody(p problem) {
	x.out, x.status, x.kind = x.out[:0], p.status(), "application/json"
	x.ask.Stream = false
	if p.kind == badGateway {
		x.out, x.kind, x.proxied = append(x.out, gatewayPage...), "text/html", true
		return
	}
	if p.kind == rateLimited {
		x.retryAfter(p.date)
	}
	switch x.rt.provider {
	case Anthropic:
		x.anthropicError(p)
	case Google:
		x.googleError(p)
	case Azure:
		x.azureError(p)
	case Ollama:
		x.ollamaError(p)
	default:
		x.openAIError(p)
	}
}

// retryAfter sets the header with the time of the next attempt.
func (x *exchange) retryAfter(date bool) {
	h, wait, seconds := x.w.Header(), x.s.options.RetryAfter, x.s.retrySeconds()
	switch {
	case date:
		h.Set("Retry-After", time.Now().Add(time.Duration(seconds)*time.Second).UTC().Format(http.TimeFormat))
	case x.rt.provider == OpenAI && wait%time.Second != 0:
		h.Set("Retry-After-Ms", strconv.FormatInt(wait.Milliseconds(), 10))
		fallthrough
	default:
		h.Set("Retry-After", itoa(seconds))
	}
}

// retrySeconds is RetryAfter in whole seconds, rounded up.
func (s *Server) retrySeconds() int { return int(math.Ceil(s.options.RetryAfter.Seconds())) }

// status is the HTTP status of the problem with most providers.
func (p problem) status() int {
	switch p.kind {
	case tooLarge:
		return http.StatusRequestEntityTooLarge
	case noSuchPath, noSuchModel:
		return http.StatusNotFound
	case wrongMethod:
		return http.StatusMethodNotAllowed
	case wrongKey, unauthorized:
		return http.StatusUnauthorized
	case noQuota, rateLimited:
		return http.StatusTooManyRequests
	case requestTimeout:
		return http.StatusRequestTimeout
	case conflict:
		return http.StatusConflict
	case serverError:
		return http.StatusInternalServerError
	case badGateway:
		return http.StatusBadGateway
	case overloaded:
		return http.StatusServiceUnavailable
	default:
		return http.StatusBadRequest
	}
}

func itoa(n int) string { return strconv.Itoa(n) }
