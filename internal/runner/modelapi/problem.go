package modelapi

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/text"
)

// problemKind is the way in which a request failed.
type problemKind int

const (
	network      problemKind = iota // no reply, or one that broke off
	timedOut                        // the time limit of one request
	malformed                       // a reply that cannot be read
	oversized                       // a reply above the bound
	refusedByAPI                    // an error status, or an error in a reply that looks like a success
	stopped                         // the context ended
)

// problem is the reason why a call has no answer.
type problem struct {
	kind      problemKind
	status    int
	api       apiError
	requestID string
	// wait is how long the provider asks to wait, or 0.
	wait time.Duration
	// arrived is how many bytes of an incomplete reply were received. partial is its beginning if
	// that has some text of the answer, and nil otherwise.
	arrived int
	partial []byte
	// shared is set when the connection that broke also carried other requests.
	shared   bool
	err      error
	attempts int
	// givenUp is the reason why the call was not retried.
	givenUp string
}

// effect returns what the end of a request means for the lane; p is nil for an answer.
func (p *problem) effect() effect {
	switch {
	case p == nil:
		return relaxed
	case p.throttles(), p.kind == refusedByAPI && p.status == http.StatusServiceUnavailable:
		return congested
	default:
		return neutral
	}
}

// statusOverloaded is Anthropic's own status.
const statusOverloaded = 529

// throttles reports whether the provider only asks for fewer requests.
func (p *problem) throttles() bool {
	return p.kind == refusedByAPI && (p.status == http.StatusTooManyRequests || p.status == statusOverloaded) &&
		!p.api.outOfMoney()
}

// temporary reports whether the same request may succeed later.
func (p *problem) temporary() bool {
	switch p.kind {
	case malformed, timedOut:
		return true
	case network:
		return !isPermanent(p.err)
	case refusedByAPI:
		if p.status < 300 { // an error of unknown kind with a status of success
			return !p.api.outOfMoney() && !p.api.blocked() && !p.api.unknownModel(p.status)
		}
		switch p.status {
		case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooManyRequests, http.StatusInternalServerError,
			http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout, statusOverloaded,
			520, 521, 522, 523, 524: // the last ones are Cloudflare's
			return !p.api.outOfMoney()
		}
	default: // oversized, stopped: a retry gives the same, or is not wanted
	}
	return false
}

// unreachable reports whether no server listens at the address.
func (p *problem) unreachable() bool {
	var dns *net.DNSError
	return p.kind == network && (errors.Is(p.err, syscall.ECONNREFUSED) || errors.As(p.err, &dns))
}

// lasts reports whether every other request with the same address and key has this problem, too, as
// far as one reply can tell.
func (p *problem) lasts() bool {
	switch {
	case p.kind == network:
		return p.unreachable() || isPermanent(p.err)
	case p.kind != refusedByAPI || p.api.blocked():
		return false
	}
	switch p.status {
	case http.StatusUnauthorized, http.StatusPaymentRequired, http.StatusForbidden, http.StatusNotFound,
		http.StatusMethodNotAllowed:
		return true
	}
	return p.rejectsKey() || p.api.outOfMoney() || p.redirects()
}

func (p *problem) redirects() bool { return p.status >= 300 && p.status < 400 }

// class returns the class of a session that has no answer.
func (p *problem) class() plumb.FailureClass {
	switch {
	case p.kind == network && (p.unreachable() || isPermanent(p.err)):
		return plumb.FailureClass{ID: "unreachable", Label: "Unreachable"}
	case p.kind == network:
		return plumb.FailureClass{ID: "connection", Label: "Connection lost"}
	case p.kind != refusedByAPI:
		return plumb.FailureClass{ID: "provider-error", Label: "Provider error"}
	case p.api.outOfMoney(), p.status == http.StatusPaymentRequired:
		return plumb.FailureClass{ID: "quota", Label: "Quota exceeded"}
	case p.status == http.StatusUnauthorized, p.rejectsKey():
		return plumb.FailureClass{ID: "authentication", Label: "Key rejected"}
	case p.status == http.StatusForbidden:
		return plumb.FailureClass{ID: "permission", Label: "Permission refused"}
	case p.status == http.StatusTooManyRequests:
		return plumb.FailureClass{ID: "rate-limit", Label: "Rate limit"}
	case p.redirects(), p.status == http.StatusNotFound, p.status == http.StatusMethodNotAllowed:
		return plumb.FailureClass{ID: "unreachable", Label: "Wrong address"}
	case p.status >= 400 && p.status < 500 && !p.temporary():
		return plumb.FailureClass{ID: "request-rejected", Label: "Request rejected"}
	default:
		return plumb.FailureClass{ID: "provider-error", Label: "Provider error"}
	}
}

// rejectsKey reports whether Google rejects the key, which it does with status 400.
func (p *problem) rejectsKey() bool { return strings.Contains(p.api.details, "API_KEY_INVALID") }

// brokeConnection reports whether a whole connection broke, and not only one HTTP/2 stream on it.
func (p *problem) brokeConnection() bool {
	return p.kind == network && !p.unreachable() && !isPermanent(p.err) &&
		!strings.Contains(p.err.Error(), "stream error: ")
}

// isTemporary reports whether looking up the name of the server failed for now only.
func isTemporary(err error) bool {
	dns, ok := errors.AsType[*net.DNSError](err)
	return ok && !dns.IsNotFound
}

// describe returns what happened, as text that follows "provider: ".
func (p *problem) describe() string {
	var b strings.Builder
	switch p.kind {
	case refusedByAPI:
		b.WriteString(strconv.Itoa(p.status))
		if text := statusText(p.status); text != "" {
			b.WriteString(" " + text)
		}
		if m := p.api.summary(); m != "" {
			b.WriteString(": " + m)
		}
	case timedOut:
		b.WriteString("no complete answer within the time limit of one request")
	case stopped:
		b.WriteString(p.err.Error())
	case malformed, oversized:
		b.WriteString("unreadable reply: " + p.err.Error())
	default:
		b.WriteString(connectionText(p.err))
	}
	var more []string
	if p.requestID != "" {
		more = append(more, "request "+p.requestID)
	}
	if p.attempts > 1 {
		more = append(more, strconv.Itoa(p.attempts)+" attempts")
	}
	if p.givenUp != "" && p.givenUp != "all attempts failed" {
		more = append(more, p.givenUp)
	}
	if len(more) > 0 {
		b.WriteString(" (" + strings.Join(more, "; ") + ")")
	}
	return b.String()
}

// reason returns what happened in a few words, without text of the provider.
func (p *problem) reason() string {
	if p.kind == refusedByAPI {
		return strings.TrimSpace(strconv.Itoa(p.status) + " " + statusText(p.status))
	}
	return strings.ToLower(p.class().Label)
}

func statusText(status int) string {
	if status == statusOverloaded {
		return "Overloaded"
	}
	return http.StatusText(status)
}

// apiError is an error that a provider reports, in any of the formats in use.
type apiError struct {
	message, code, kind, param string
	// details is everything else, as JSON.
	details string
	number  int
}

func (e *apiError) Error() string { return e.summary() }

// status returns the HTTP status for an error in a reply with a status of success.
func (e *apiError) status(fallback int) int {
	if e.number >= 400 && e.number < 600 {
		return e.number
	}
	for _, word := range []string{e.code, e.kind} {
		if status := statusOf(word); status != 0 {
			return status
		}
	}
	return fallback
}

// statusOf returns the HTTP status for a provider's name of a kind of error, or 0. The names are
// those of OpenAI, Anthropic, Google, vLLM and LiteLLM.
func statusOf(word string) int {
	word = strings.NewReplacer("_", "", "-", "", " ", "").Replace(strings.ToLower(word))
	switch strings.TrimSuffix(word, "error") {
	case "invalidrequest", "badrequest", "invalidprompt", "invalidargument", "failedprecondition", "outofrange",
		"contextlengthexceeded", "unsupportedparameter", "unsupportedvalue":
		return http.StatusBadRequest
	case "authentication", "unauthenticated", "unauthorized", "invalidapikey":
		return http.StatusUnauthorized
	case "billing", "insufficientcredits", "billinghardlimitreached", "billingnotactive":
		return http.StatusPaymentRequired
	case "permission", "permissiondenied", "forbidden":
		return http.StatusForbidden
	case "notfound", "modelnotfound":
		return http.StatusNotFound
	case "conflict", "aborted":
		return http.StatusConflict
	case "requesttoolarge":
		return http.StatusRequestEntityTooLarge
	case "ratelimit", "ratelimited", "ratelimitexceeded", "toomanyrequests", "resourceexhausted", "insufficientquota":
		return http.StatusTooManyRequests
	case "server", "internal", "internalserver", "api", "apiconnection", "unknown":
		return http.StatusInternalServerError
	case "unavailable", "serviceunavailable":
		return http.StatusServiceUnavailable
	case "timeout", "deadlineexceeded", "vectorstoretimeout":
		return http.StatusGatewayTimeout
	case "overloaded":
		return statusOverloaded
	}
	return 0
}

func (e *apiError) summary() string {
	switch {
	case e.message == "":
		return cmp.Or(e.code, e.kind)
	case e.code != "" && e.number == 0 && !strings.Contains(e.message, e.code):
		return e.message + " [" + e.code + "]"
	}
	return e.message
}

// outOfMoney reports whether the quota of an account is used up, so that waiting does not help.
func (e *apiError) outOfMoney() bool {
	for _, word := range []string{
		"insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "insufficient_credits",
		"billing_error",
	} {
		if e.code == word || e.kind == word {
			return true
		}
	}
	return strings.Contains(e.details, "PerDay") // Google's quota of a day
}

// blocked reports whether the provider refuses to answer this prompt.
func (e *apiError) blocked() bool {
	switch e.code {
	case "content_filter", "content_policy_violation", "ResponsibleAIPolicyViolation":
		return true
	}
	return strings.Contains(e.message, "content filtering policy") ||
		e.code == "invalid_prompt" && strings.Contains(e.message, "policy")
}

// unknownModel reports whether an error with the given status means that this key cannot use the
// model.
func (e *apiError) unknownModel(status int) bool {
	switch e.code {
	case "model_not_found", "model_decommissioned", "model_terms_required", "DeploymentNotFound":
		return true
	}
	text := strings.ToLower(e.message)
	switch status {
	case http.StatusNotFound:
		return e.kind == "not_found_error" || e.kind == "NOT_FOUND" || e.code == "NOT_FOUND" ||
			strings.Contains(text, "model")
	case http.StatusOK, http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusForbidden:
		if !strings.Contains(text, "model") {
			return false
		}
		for _, phrase := range []string{
			"does not exist", "not found", "not a valid model", "invalid model", "unknown model", "no such model",
			"not have access to model", "model_not_found",
		} {
			if strings.Contains(text, phrase) {
				return true
			}
		}
	}
	return false
}

// parseAPIError reads the body of an error. It never fails: text that is not JSON becomes the
// message.
func parseAPIError(body []byte) apiError {
	body = bytes.TrimSpace(body)
	if len(body) > 0 && body[0] == '[' { // Google wraps some errors in a list
		var list []json.RawMessage
		if json.Unmarshal(body, &list) == nil && len(list) > 0 {
			body = list[0]
		}
	}
	var top map[string]json.RawMessage
	if json.Unmarshal(body, &top) != nil {
		return apiError{message: plainText(body)}
	}
	fields := top
	if inner, ok := top["error"]; ok {
		var nested map[string]json.RawMessage
		if json.Unmarshal(inner, &nested) == nil && nested != nil {
			fields = nested
		} else if isError(jsontext.Value(inner)) {
			s := cmp.Or(textOf(inner), "an error without a message: "+string(inner))
			fields = map[string]json.RawMessage{"code": top["code"], "type": top["type"]}
			fields["message"], _ = json.Marshal(s) //nolint:errchkjson // a string always has a form
		}
	}
	e := apiError{
		message: oneLine(cmp.Or(textOf(fields["message"]), textOf(fields["detail"]), textOf(fields["error_message"]))),
		code:    textOf(fields["code"]),
		kind:    cmp.Or(textOf(fields["type"]), textOf(fields["status"])),
		param:   textOf(fields["param"]),
	}
	if e.param == "None" { // a relay written in Python
		e.param = ""
	}
	if n, err := strconv.Atoi(e.code); err == nil {
		e.number, e.code = n, ""
	}
	if n, err := strconv.Atoi(textOf(fields["status"])); err == nil && e.number == 0 {
		e.number = n
	}
	for _, name := range []string{"details", "detail", "metadata", "innererror"} {
		if raw, ok := fields[name]; ok {
			e.details += string(raw)
		}
	}
	if e.message == "" {
		e.message = oneLine(e.details)
	}
	return e
}

// text returns a JSON string, or a number as it is written; "" for anything else.
func textOf(raw json.RawMessage) string {
	var s string
	if len(raw) > 0 && raw[0] == '"' && json.Unmarshal(raw, &s) == nil {
		return s
	}
	var n json.Number
	if len(raw) > 0 && json.Unmarshal(raw, &n) == nil {
		return n.String()
	}
	return ""
}

// messageLimit bounds the text of a provider's error, in bytes.
const messageLimit = 600

// oneLine makes text of a provider safe for an error message.
func oneLine(s string) string { return text.Shorten(text.OneLine(s), messageLimit) }

// plainText is the message of a body that is not JSON.
func plainText(body []byte) string {
	if !looksLikeHTML(body) {
		return oneLine(string(body))
	}
	lower := bytes.ToLower(body)
	if from := bytes.Index(lower, []byte("<title>")); from >= 0 {
		if to := bytes.Index(lower[from:], []byte("</title>")); to >= 0 && len(lower) == len(body) {
			return "a web page: " + oneLine(string(body[from+len("<title>"):from+to]))
		}
	}
	return "a web page"
}

func looksLikeHTML(body []byte) bool {
	body = bytes.TrimSpace(body)
	return len(body) > 0 && body[0] == '<'
}

// looksLikeStream reports whether a body is a stream of server-sent events.
func looksLikeStream(contentType string, body []byte) bool {
	body = bytes.TrimSpace(body)
	return strings.Contains(contentType, "event-stream") || bytes.HasPrefix(body, []byte("data:")) ||
		bytes.HasPrefix(body, []byte("event:")) || bytes.HasPrefix(body, []byte(": "))
}

// notJSON explains a reply that is not JSON.
func notJSON(contentType string, body []byte) error {
	switch {
	case looksLikeStream(contentType, body):
		return errors.New("a stream of events instead of one JSON object: " +
			"the server streams although Plumb did not request a stream")
	case looksLikeHTML(body):
		return fmt.Errorf("%s instead of JSON", plainText(body))
	case contentType != "" && !strings.Contains(contentType, "json"):
		return fmt.Errorf("%s instead of JSON", oneLine(contentType))
	}
	var v json.RawMessage
	return fmt.Errorf("broken JSON: %w", json.Unmarshal(body, &v))
}

// statusProblem reads an error reply.
func statusProblem(res *http.Response, body []byte, requestID string) *problem {
	p := &problem{kind: refusedByAPI, status: res.StatusCode, requestID: requestID, api: parseAPIError(body)}
	if res.StatusCode < 400 {
		p.api.message = "the address redirects to " + oneLine(res.Header.Get("Location"))
	}
	now := time.Now()
	p.wait = retryAfter(res.Header, now)
	if p.wait == 0 && p.throttles() {
		if p.wait = retryDelay(p.api.details); p.wait == 0 {
			p.wait = quotaWait(spentQuota(res.Header, now))
		}
	}
	return p
}

// OutOfTime reports whether ctx reached a time limit, rather than being canceled.
func OutOfTime(ctx context.Context) bool {
	cause := context.Cause(ctx)
	return errors.Is(cause, plumb.ErrTimeLimit) || errors.Is(cause, context.DeadlineExceeded) ||
		errors.Is(ctx.Err(), context.DeadlineExceeded)
}
