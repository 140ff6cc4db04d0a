// Package plumb is the vocabulary of Plumb, a tool that tests language models and coding agents and
// reports when they change.
//
// It holds data and four small interfaces, uses only the standard library, and does no I/O. The
// rest of the program is built around one sequence:
//
//	suite -> cases -> x runners -> executions -> sessions -> session reports -> verdicts
//	  -> events -> reports
//
// A [Suite] is an ordered list of [Case] values. A [Runner] turns one prompt into one session,
// recorded as a [SessionReport]. An [Assertion] checks a finished session and returns [Verdict]
// values. A run is a stream of [Event] values; [Run] is the fold over that stream, and a [Reporter]
// renders it.
//
// Plumb keeps three kinds of trouble apart. A [Verdict] that does not pass is the result of a check
// on a session. A [Failure] means that a session failed or could not be measured, and gives the
// reason. An error means that the tool cannot continue.
package plumb

import (
	"errors"
	"fmt"
	"strings"
)

// Outcome is the result of a finished session or execution.
type Outcome string

// The outcomes. OutcomeError means "could not measure" and counts neither as a pass nor as a fail.
const (
	OutcomePass    Outcome = "pass"
	OutcomeFail    Outcome = "fail"
	OutcomeError   Outcome = "error"
	OutcomeSkipped Outcome = "skipped"
)

// Measured reports whether o is a result of the model: a pass or a fail.
func (o Outcome) Measured() bool { return o == OutcomePass || o == OutcomeFail }

// Status is the documented result of an execution. It takes the expected result into account.
type Status string

// The statuses. An execution that could not be measured has StatusFailed; use its [Outcome] to see
// the difference.
const (
	StatusPassed           Status = "passed"
	StatusFailed           Status = "failed"
	StatusExpectedFailed   Status = "expected-failed"
	StatusUnexpectedPassed Status = "unexpected-passed"
	StatusSkipped          Status = "skipped"
)

// OK reports whether an execution with status s leaves the suite green.
func (s Status) OK() bool { return s == StatusPassed || s == StatusExpectedFailed }

// StatusOf combines an outcome with the expected result of the case. Only a failed assertion can be
// expected: an execution that broke in any other way has StatusFailed, whatever the case expects.
func StatusOf(outcome Outcome, origin Origin, expectedFail bool) Status {
	switch {
	case outcome == OutcomeSkipped:
		return StatusSkipped
	case outcome == OutcomePass && expectedFail:
		return StatusUnexpectedPassed
	case outcome == OutcomePass:
		return StatusPassed
	case outcome == OutcomeFail && origin == OriginAssertion && expectedFail:
		return StatusExpectedFailed
	default:
		return StatusFailed
	}
}

// Origin is the source of a failure of a session.
type Origin string

// The failure origins, as written in the session results.
const (
	OriginAssertion          Origin = "assertion"
	OriginAssertHook         Origin = "assert-hook"
	OriginMaxSteps           Origin = "max-steps"
	OriginTimeout            Origin = "timeout"
	OriginJudge              Origin = "judge"
	OriginRunner             Origin = "runner"
	OriginModelRejected      Origin = "model-rejected"
	OriginWorkspace          Origin = "workspace"
	OriginWorkspaceBootstrap Origin = "workspace-bootstrap"
	OriginCollection         Origin = "collection"
	OriginNormalization      Origin = "normalization"
	OriginSnapshot           Origin = "snapshot"
)

// Outcome returns the outcome of a session that failed with origin o. began means that the model
// had begun to answer. It decides the outcome of a time limit: before the first sign of an answer
// nothing was measured.
func (o Origin) Outcome(began bool) Outcome {
	switch o {
	case OriginAssertion, OriginMaxSteps, OriginSnapshot:
		return OutcomeFail
	case OriginTimeout:
		if began {
			return OutcomeFail
		}
		return OutcomeError
	default:
		return OutcomeError
	}
}

// FailureClass groups failures with the same cause. Suites may define their own classes.
type FailureClass struct {
	ID    string `json:"id"`
	Label string `json:"label,omitempty"`
}

// Class returns the default class of a failure with origin o. A suite can set another one.
func (o Origin) Class() FailureClass {
	switch o {
	case OriginAssertion:
		return FailureClass{"assertion", "Assertion failure"}
	case OriginAssertHook:
		return FailureClass{"assert-hook", "Assert hook crash"}
	case OriginMaxSteps:
		return FailureClass{"max-steps", "Max steps exceeded"}
	case OriginTimeout:
		return FailureClass{"timeout", "Timeout"}
	case OriginJudge:
		return FailureClass{"judge", "Judge unavailable"}
	case OriginModelRejected:
		return FailureClass{"model-rejected", "Rejected model"}
	case OriginWorkspace:
		return FailureClass{"workspace", "Workspace"}
	case OriginWorkspaceBootstrap:
		return FailureClass{"workspace-bootstrap", "Workspace bootstrap"}
	case OriginCollection:
		return FailureClass{"collection", "Artifact collection"}
	case OriginNormalization:
		return FailureClass{"normalization", "Report normalization"}
	case OriginSnapshot:
		return FailureClass{"snapshot", "Snapshot verification"}
	default:
		return FailureClass{"runner-crash", "Runner crash"}
	}
}

// ErrorName returns the documented name of an error with origin o that has no name of its own.
// Scripts use it to distinguish failed assertions, time limits and step limits.
func (o Origin) ErrorName() string {
	switch o {
	case OriginAssertion:
		return "AssertionError"
	case OriginMaxSteps:
		return "MaxStepsExceededError"
	case OriginTimeout:
		return "CommandTimeoutError"
	default:
		return "Error"
	}
}

// ClassUnexpectedPass is the class of a pass of a case that is expected to fail.
func ClassUnexpectedPass() FailureClass { return FailureClass{"unexpected-passed", "Unexpected pass"} }

// ClassTruncated is the class of a failed check on an answer that a token cap cut off.
func ClassTruncated() FailureClass { return FailureClass{"truncated", "Truncated answer"} }

// ClassRefused is the class of a failed check on an answer that the provider blocked.
func ClassRefused() FailureClass { return FailureClass{"refused", "Refused answer"} }

// ClassRedacted is the class of a check that could not judge a session because secrets were removed
// from it.
func ClassRedacted() FailureClass { return FailureClass{"redacted", "Secrets were removed"} }

// ClassIncomplete is the class of a check that could not judge a session because the session does not
// have what the check needs.
func ClassIncomplete() FailureClass { return FailureClass{"incomplete", "Incomplete evidence"} }

// ErrUnavailable means that no session with a runner can succeed: nothing answers at its address, or
// what answers refuses every request. A [Failure] that wraps it stops the runner, unless an earlier
// session of the same process had an answer.
var ErrUnavailable = errors.New("the runner cannot be used")

// A Failure explains why one session failed or could not be measured. It is an error, so that a
// [Runner] can return it, and it is data, so that it can be recorded.
type Failure struct {
	Origin  Origin       `json:"origin"`
	Class   FailureClass `json:"class"`
	Message string       `json:"message"`
	// Hint is what the user can do about it. Optional.
	Hint string `json:"hint,omitempty"`
	// Provider, HTTPStatus and RequestID name the reply of a model API that caused the failure.
	// Optional.
	Provider   string `json:"provider,omitempty" redact:"-"`
	HTTPStatus int    `json:"httpStatus,omitempty"`
	RequestID  string `json:"requestId,omitempty"`
	// NotAsked means that this session was not made, because the runner had already failed for good.
	NotAsked bool `json:"notAsked,omitempty"`
	// Attempts is the number of requests before the runner gave up; 0 if it is not known.
	Attempts int `json:"attempts,omitempty"`
	// LogPath is the artifact that the user should read first. Optional.
	LogPath string `json:"logPath,omitempty" redact:"-"`
	// Name is the name of the error in the suite's own language, such as "AssertionError". Source
	// and Stack are the place where it was thrown. Only suites in code set them.
	Name   string    `json:"name,omitempty"`
	Source *Position `json:"source,omitempty"`
	Stack  string    `json:"stack,omitempty"`

	cause error
}

// Failed wraps err as a failure with the given origin and the default class of that origin. If err
// already is a *Failure, Failed returns it unchanged: the innermost failure wins. A nil err gives
// nil.
func Failed(origin Origin, err error) *Failure {
	if err == nil {
		return nil
	}
	if f, ok := errors.AsType[*Failure](err); ok {
		return f
	}
	return &Failure{Origin: origin, Class: origin.Class(), Message: err.Error(), Hint: Hint(err), cause: err}
}

// Failuref is [Failed] with a formatted message; %w works as in [fmt.Errorf].
func Failuref(origin Origin, format string, args ...any) *Failure {
	err := fmt.Errorf(format, args...)
	return &Failure{Origin: origin, Class: origin.Class(), Message: err.Error(), Hint: Hint(err), cause: err}
}

func (f *Failure) Error() string { return f.Message }

// Unwrap returns the error that f was made from, or nil when f was read from a log.
func (f *Failure) Unwrap() error { return f.cause }

// WithHint adds advice to err. The command line prints it below the error.
func WithHint(err error, hint string) error {
	if err == nil || hint == "" {
		return err
	}
	return &hinted{err, hint}
}

// An Adviser is an error that knows what the user can do about it. [Hint] finds its advice.
type Adviser interface {
	error
	Advice() string
}

// Hint returns the advice attached to err or to an error it wraps, outermost first, or "".
func Hint(err error) string {
	if h, ok := errors.AsType[Adviser](err); ok {
		return h.Advice()
	}
	return ""
}

type hinted struct {
	error
	hint string
}

func (h *hinted) Unwrap() error  { return h.error }
func (h *hinted) Advice() string { return h.hint }

// Advice returns the failure's hint; it makes [Hint] find it.
func (f *Failure) Advice() string { return f.Hint }

// Nearest returns the known word that is closest to word, for "did you mean" hints, or "" when none
// is close. At most a third of the letters may differ, and one difference is always allowed.
func Nearest(word string, known []string) string {
	best, bestDistance := "", max(1, len([]rune(word))/3)+1
	for _, k := range known {
		if d := distance(word, k); d < bestDistance {
			best, bestDistance = k, d
		}
	}
	if best != "" || len(word) < 3 {
		return best
	}
	for _, k := range known { // a word may be the beginning of a longer one
		if strings.HasPrefix(k, word) && (best == "" || len(k) < len(best)) {
			best = k
		}
	}
	return best
}

// distance is the optimal string alignment distance. It counts insertions, deletions, substitutions
// and swaps of adjacent letters.
func distance(a, b string) int {
	s, t := []rune(a), []rune(b)
	before, prev, cur := make([]int, len(t)+1), make([]int, len(t)+1), make([]int, len(t)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(s); i++ {
		cur[0] = i
		for j := 1; j <= len(t); j++ {
			cost := 1
			if s[i-1] == t[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && s[i-1] == t[j-2] && s[i-2] == t[j-1] {
				cur[j] = min(cur[j], before[j-2]+1)
			}
		}
		before, prev, cur = prev, cur, before
	}
	return prev[len(t)]
}
