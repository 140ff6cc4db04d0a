package transcript

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/plumb-eval/plumb"
)

// Trouble is a kind of failure that users can do something about.
type Trouble struct {
	origin plumb.Origin
	class  plumb.FailureClass
	status int  // with which a provider says so
	sure   bool // it is what a provider would have said, if the agent asked none
	hint   string
	says   []string // what agents and providers write, in lower case
}

// Troubles returns the kinds of failure in the order in which they are tried: the specific before the general.
func (r *Recorder) Troubles() []Trouble {
	return []Trouble{
		{
			plumb.OriginModelRejected, plumb.OriginModelRejected.Class(), 404, true,
			"check the runner's model: the agent, or the account that it uses, does not have it",
			[]string{
				"model is not supported", "model not found", "model_not_found", "providermodelnotfounderror", "cannot use this model",
				"issue with the selected model", "no such model", "invalid model", "unknown model", "unsupported model", "model does not exist",
				"is not a valid model", "model not available", "model is not available", "does not have access to the model",
			},
		},
		{
			plumb.OriginRunner,
			plumb.FailureClass{ID: "quota", Label: "Quota exceeded"},
			402, false,
			"the account of the provider has no credit or quota left: raise it, or use another key",
			[]string{
				"quota exceeded", "exceeded your current quota", "insufficient_quota", "insufficient quota", "credit balance is too low",
				"payment required", "usage limit", "session limit", "weekly limit", "hit your limit", "billing_hard_limit", "out of credits", "quota_exceeded", "resource_exhausted", "exhausted your",
			},
		},
		{
			plumb.OriginRunner,
			plumb.FailureClass{ID: "authentication", Label: "Not logged in"},
			401, true,
			fmt.Sprintf("log in with `%s`, or set %s for the runner", r.Format.Login, r.Format.KeyHelp),
			[]string{
				"not logged in", "unauthorized", "authentication_error", "invalid api key", "invalid_api_key", "incorrect api key",
				"invalid x-api-key", "missing environment variable", "no authentication information", "please run /login", "authentication failed",
				"authentication required", "api key not valid", "not authenticated", "please set an auth method", "permission_denied: api",
				"missing bearer", "api_key environment variable", "token has expired", "must be logged in", "login required", "invalid authentication",
			},
		},
		{
			plumb.OriginRunner,
			plumb.FailureClass{ID: "permission", Label: "Permission refused"},
			0, false,
			"the agent refuses to work here with these permissions: set the runner's permissions, or run as another user or in another directory",
			[]string{
				"cannot be used with root", "not inside a trusted directory", "workspace trust", "workspace is not trusted", "directory is not trusted", "folder is not trusted",
				"untrusted workspace", "is not a trusted",
			},
		},
		{
			plumb.OriginRunner,
			plumb.FailureClass{ID: "rate-limit", Label: "Rate limit"},
			429, true,
			"the provider limits the rate: run fewer sessions at once, or wait",
			[]string{"rate limit", "rate_limit", "too many requests", "ratelimit", "exceeded retry limit"},
		},
	}
}

// noModel matches what is said of a model by its name. That a parameter is not supported with a model is something else.
var noModel = regexp.MustCompile(`\bmodels?[\s:/]+["'\x60]?[\w./:@-]+["'\x60]?(?: from --model flag)? (?:is|was) not (?:available|found|supported)`)

// FailureOf makes the failure of what an agent said of itself, telling its kind from the status of the provider's reply, 0
// if that is not known, and from the text. It is for the words of the agent only: a model may say anything.
func (r *Recorder) FailureOf(said string, status int) *plumb.Failure {
	said = strings.TrimSpace(said)
	f := plumb.Failuref(plumb.OriginRunner, "%s", Clip(said, 4<<10))
	if said == "" {
		f.Message = r.Format.Name + " says that the session failed, and not why"
	}
	if status == 0 {
		status = StatusIn(said)
	}
	f.HTTPStatus = status
	low := strings.ToLower(said)
	for _, kind := range r.Troubles() {
		for _, words := range kind.says {
			if strings.Contains(low, words) {
				return kind.Apply(f)
			}
		}
	}
	// Most name the model in between: "The requested model 'x' does not exist."
	if strings.Contains(low, "model") && (status == 404 || strings.Contains(low, "does not exist") || noModel.MatchString(low)) {
		return r.Troubles()[0].Apply(f)
	}
	for _, kind := range r.Troubles()[1:] {
		if status != 0 && status == kind.status {
			return kind.Apply(f)
		}
	}
	if status == 403 {
		return r.Troubles()[2].Apply(f)
	}
	f.Hint = hintOf(low, status)
	return f
}

// hintOf says what can be done about a failure of no kind that has a class of its own.
func hintOf(low string, status int) string {
	says := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(low, w) })
	}
	switch {
	case says("context window", "context length", "context_length", "prompt is too long", "maximum context", "token limit", "input is too long", "maximum number of tokens"):
		return "the session has grown beyond what the model can take in: give it less to read, or a model with a larger context"
	case status >= 500, says("high demand", "overloaded", "internal server error", "server_error", "temporarily unavailable"):
		return "the provider failed; try again later"
	case says("timed out", "timeout", "stream disconnected", "connection", "terminated", "fetch failed", "econnre", "enotfound", "network"):
		return "the provider did not answer in time, or the connection to it broke; look at its address and at the network, and try again"
	case says("no conversation found", "session not found", "no rollout found", "no session, task", "invalid session identifier"):
		return "the session that was to go on is not there: a session is resumed with the state directory, and mostly in the directory, that it began in"
	case says("interrupted", "aborted", "cancelled", "canceled"):
		return "something interrupted the agent"
	default:
		return ""
	}
}

// Apply classifies f as this kind.
func (k Trouble) Apply(f *plumb.Failure) *plumb.Failure {
	f.Origin, f.Class, f.Hint = k.origin, k.class, k.hint
	if f.HTTPStatus == 0 && k.sure {
		f.HTTPStatus = k.status
	}
	return f
}

// StatusIn finds the HTTP status that an error text names: the first number from 400 to 599 that stands by itself after
// a word that announces one, such as "status", "error" or "http".
func StatusIn(said string) int {
	low := strings.ToLower(said)
	for i := 0; i+3 <= len(low); i++ {
		if low[i] != '4' && low[i] != '5' {
			continue
		}
		n, err := strconv.Atoi(low[i : i+3])
		if err != nil || n < 400 || i > 0 && wordy(low[i-1]) || i+3 < len(low) && wordy(low[i+3]) {
			continue
		}
		before := low[max(0, i-24):i]
		for _, word := range []string{"status", "error", "http", "code"} {
			if strings.Contains(before, word) {
				return n
			}
		}
	}
	return 0
}

func wordy(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c == '_' || c == '.' || c == '-'
}
