package modelapi

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/plumb-eval/plumb"
)

// failure returns the reason why a session has no answer, and a hint for the user.
func (t *target) failure(p *problem) *plumb.Failure {
	origin := plumb.OriginRunner
	switch {
	case p.kind == stopped, p.kind == timedOut:
		origin = plumb.OriginTimeout
	case p.kind == refusedByAPI && p.api.unknownModel(p.status):
		origin = plumb.OriginModelRejected
	}
	text := p.describe()
	if p.kind == stopped {
		text = t.timeLimitText(p)
	}
	err := errors.New(t.provider.Name + ": " + t.safe(text))
	switch {
	case p.lasts():
		err = &described{err.Error(), errors.Join(plumb.ErrUnavailable, p.err)}
	case p.err != nil:
		err = &described{err.Error(), p.err}
	}
	f := plumb.Failed(origin, err)
	if origin == plumb.OriginRunner {
		f.Class = p.class()
	}
	f.Hint = t.hint(p)
	f.Provider, f.Attempts = t.provider.Name, p.attempts
	f.HTTPStatus, f.RequestID = p.status, p.requestID
	return f
}

// described is an error with its own text and a cause.
type described struct {
	text  string
	cause error
}

func (d *described) Error() string { return d.text }
func (d *described) Unwrap() error { return d.cause }

// timeLimitText describes the state of the request when the time limit ended.
func (t *target) timeLimitText(p *problem) string {
	text := "the time limit ended before an answer arrived"
	var more []string
	switch {
	case len(p.partial) > 0:
		text = "the time limit ended while the answer arrived"
	case p.arrived > 0:
		text = fmt.Sprintf("the time limit ended before any text of the answer arrived, after %d bytes of the reply",
			p.arrived)
	}
	if p.status >= 300 {
		more = append(more, fmt.Sprintf("last: %d %s", p.status, cmp.Or(p.api.summary(), statusText(p.status))))
	}
	switch p.attempts {
	case 0:
		more = append(more, "no request sent: the limits of the provider were reached")
	case 1:
	default:
		more = append(more, fmt.Sprintf("%d attempts", p.attempts))
	}
	if len(more) > 0 {
		text += " (" + strings.Join(more, "; ") + ")"
	}
	return text
}

// safe removes the key from text, because providers repeat what they receive.
func (t *target) safe(text string) string {
	if len(t.key) >= 8 {
		text = strings.ReplaceAll(text, t.key, "[key]")
	}
	return text
}

func (t *target) hint(p *problem) string {
	switch p.kind {
	case stopped:
		if p.attempts == 0 {
			return "raise the time limit of the case, or lower --parallel"
		}
		return "raise the time limit of the case if the model is slow"
	case timedOut:
		return "raise timeoutMs of the runner if the model is slow"
	case oversized:
		return "lower maxOutputTokens"
	case malformed:
		return t.addressHint()
	case network:
		return t.connectionHint(p)
	default:
		return t.statusHint(p)
	}
}

func (t *target) statusHint(p *problem) string {
	switch {
	case p.api.unknownModel(p.status):
		return "check the name: `plumb models --live` lists what this key can use" + t.pullHint()
	case p.api.outOfMoney(), p.status == http.StatusPaymentRequired:
		hint := "the account has no quota left: check its plan and billing at " + t.provider.BillingURL
		return strings.TrimSuffix(hint, " at ")
	case p.status == http.StatusUnauthorized, p.rejectsKey():
		if t.key == "" {
			return keyHint(t.provider)
		}
		return "the key was rejected: check " + strings.Join(t.provider.KeyEnv, " and ") + madeAt(t.provider)
	case p.status == http.StatusForbidden:
		return "the key does not have this permission: check its permissions and the region" + madeAt(t.provider)
	case p.status < 300: // an error with a status of success
		return "the provider is having problems: continue later with `plumb resume`"
	case p.status < 400, p.status == http.StatusNotFound, p.status == http.StatusMethodNotAllowed:
		return t.addressHint()
	case p.status == http.StatusRequestEntityTooLarge, p.api.code == "context_length_exceeded":
		return "the prompt and maxOutputTokens together are too long for the model"
	case p.throttles():
		return "the provider's rate limits are too low for this load: lower --parallel, " +
			"or continue later with `plumb resume`"
	case p.status == http.StatusBadRequest, p.status == http.StatusUnprocessableEntity:
		return "the provider rejected the request: read its message, and check the parameters of the runner"
	case p.status >= 500:
		return "the provider is having problems: continue later with `plumb resume`"
	}
	return ""
}

func (t *target) pullHint() string {
	if t.provider.pull != "" {
		return "; fetch it with `" + t.provider.pull + " " + t.model + "`"
	}
	return ""
}

func (t *target) addressHint() string {
	return "check the base URL " + t.base.String() + t.addressSetting()
}

// addressSetting names the settings of the base URL, in parentheses.
func (t *target) addressSetting() string {
	if t.provider.BaseURLEnv == "" {
		return ""
	}
	return " (baseURL, or " + t.provider.BaseURLEnv + ")"
}

func keyHint(p Provider) string {
	return "set " + strings.Join(p.KeyEnv, " or ") + madeAt(p)
}

func madeAt(p Provider) string {
	if p.KeyURL == "" {
		return ""
	}
	return " (create keys at " + p.KeyURL + ")"
}
