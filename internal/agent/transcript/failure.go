package transcript

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/text"
)

// Trouble is a kind of failure that users can fix.
type Trouble struct {
	origin plumb.Origin
	class  plumb.FailureClass
	status int  // the HTTP status of a provider's reply
	sure   bool // the status also applies if the agent did not send a request
	hint   string
	says   []string // the messages of agents and providers, in lower case
}

// Troubles returns the kinds of failure in the order in which they are tried: the specific ones
// first.
func (r *Recorder) Troubles() []Trouble {
	return []Trouble{
		{
			plumb.OriginModelRejected, plumb.OriginModelRejected.Class(), 404, true,
			"check the runner's model: the agent, or the account that it uses, does not have it",
			[]string{
				"model is not supported", "model not found", "model_not_found", "providermodelnotfounderror",
				"cannot use this model",
				"issue with the selected model", "no such model", "invalid model", "unknown model", "unsupported model",
				"model does not exist",
				"is not a valid model", "model not available", "model is not available",
				"does not have access to the model",
			},
		},
		{
			plumb.OriginRunner,
			plumb.FailureClass{ID: "quota", Label: "Quota exceeded"},
			402, false,
			"the provider account has no credit or quota left: raise it, or use another key",
			[]string{
				"quota exceeded", "exceeded your current quota", "insufficient_quota", "insufficient quota",
				"credit balance is too low",
				"payment required", "usage limit", "session limit", "weekly limit", "hit your limit",
				"billing_hard_limit", "out of credits", "quota_exceeded", "resource_exhausted", "exhausted your",
			},
		},
		{
			plumb.OriginRunner,
			plumb.FailureClass{ID: "authentication", Label: "Not logged in"},
			401, true,
			fmt.Sprintf("log in with `%s`, or set %s for the runner", r.Format.Login, r.Format.KeyHelp),
			[]string{
				"not logged in", "unauthorized", "authentication_error", "invalid api key", "invalid_api_key",
				"incorrect api key",
				"invalid x-api-key", "missing environment variable", "no authentication information",
				"please run /login", "authentication failed",
				"authentication required", "api key not valid", "not authenticated", "please set an auth method",
				"permission_denied: api",
				"missing bearer", "api_key environment variable", "token has expired", "must be logged in",
				"login required", "invalid authentication",
			},
		},
		{
			plumb.OriginRunner,
			plumb.FailureClass{ID: "permission", Label: "Permission refused"},
			0, false,
			"the agent does not work here with these permissions: set the runner's permissions, or run as another " +
				"user or in another directory",
			[]string{
				"cannot be used with root", "not inside a trusted directory", "workspace trust",
				"workspace is not trusted", "directory is not trusted", "folder is not trusted",
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

// noModel matches messages about a model with its name. It does not match a parameter that a model
// does not support.
var noModel = regexp.MustCompile(`\bmodels?[\s:/]+["'\x60]?[\w./:@-]+["'\x60]?` +
	`(?: from --model flag)? (?:is|was) not (?:available|found|supported)`)

// FailureOf makes the failure for a message of the agent. The HTTP status of the provider's reply
// (0 if it is not known) and the message decide its kind. Do not pass messages of the model.
func (r *Recorder) FailureOf(message string, status int) *plumb.Failure {
	message = strings.TrimSpace(message)
	f := plumb.Failuref(plumb.OriginRunner, "%s", text.Clip(message, 4<<10))
	if message == "" {
		f.Message = r.Format.Name + " reports a failure without a reason"
	}
	if status == 0 {
		status = StatusIn(message)
	}
	f.HTTPStatus = status
	low := strings.ToLower(message)
	for _, kind := range r.Troubles() {
		if containsAny(low, kind.says...) {
			return kind.Apply(f)
		}
	}
	// Most messages name the model in between: "The requested model 'x' does not exist."
	if strings.Contains(low, "model") && (status == 404 || strings.Contains(low, "does not exist") ||
		noModel.MatchString(low)) {
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

// hintOf returns a hint for a failure without a kind.
func hintOf(low string, status int) string {
	switch {
	case containsAny(low, "context window", "context length", "context_length", "prompt is too long", "maximum context",
		"token limit",
		"input is too long", "maximum number of tokens"):
		return "the session is longer than the model's context: give the agent less to read, or use a model with a " +
			"larger context"
	case status >= 500, containsAny(low, "high demand", "overloaded", "internal server error", "server_error",
		"temporarily unavailable"):
		return "the provider failed; try again later"
	case containsAny(low, "timed out", "timeout", "stream disconnected", "connection", "terminated", "fetch failed",
		"econnre", "enotfound", "network"):
		return "the provider did not answer in time, or the connection broke: check its address and the network, " +
			"and try again"
	case containsAny(low, "no conversation found", "session not found", "no rollout found", "no session, task",
		"invalid session identifier"):
		return "the session to resume does not exist: a session needs the state directory, and usually the working " +
			"directory, in which it began"
	case containsAny(low, "interrupted", "aborted", "cancelled", "canceled"):
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

// StatusIn finds the HTTP status in an error message: the first separate number from 400 to 599
// after a word such as "status", "error" or "http".
func StatusIn(message string) int {
	low := strings.ToLower(message)
	for i := 0; i+3 <= len(low); i++ {
		if low[i] != '4' && low[i] != '5' {
			continue
		}
		n, err := strconv.Atoi(low[i : i+3])
		if err != nil || n < 400 || i > 0 && wordy(low[i-1]) || i+3 < len(low) && wordy(low[i+3]) {
			continue
		}
		if containsAny(low[max(0, i-24):i], "status", "error", "http", "code") {
			return n
		}
	}
	return 0
}

func wordy(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c == '_' || c == '.' || c == '-'
}
