package plumb

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"strconv"
	"strings"
)

// A Runner turns one prompt into one session.
//
// Run is called from many goroutines at once, each call for one repetition or retry. It returns
// soon after ctx ends. It returns a report whenever a session took place, even a bad one. If there
// was no session, the report is nil and the error is not; the error is a *[Failure] if its origin
// is known. If the session broke off, Run returns both: the report holds what was received, and the
// error gives the reason. The runner itself retries requests that are worth it. While it waits for
// its turn, it reports that with [Waiting], because ctx carries the time limit of the case.
type Runner interface {
	Info() RunnerInfo
	Run(ctx context.Context, req Request) (*SessionReport, error)
}

// An Explainer is a Runner that can resume a session to ask a question about it. It is optional:
// callers find it by a type assertion. Explain is called after the run, once per question, from one
// goroutine per session.
type Explainer interface {
	Runner
	Explain(ctx context.Context, s SessionRef, question string) (*SessionReport, error)
}

// An Assertion judges a finished session. It returns one verdict for each thing that it checked.
//
// Assert may be called from many goroutines at once, for many sessions. An error means that the
// check could not be made, never that the session failed. It is a *[Failure] if its origin is
// known, and otherwise counts as [OriginAssertHook].
type Assertion interface {
	Assert(ctx context.Context, ev Evidence) ([]Verdict, error)
}

// A RedactedAssertion can judge a session whose stored texts have lost their secrets; see
// [SessionReport.Redacted]. It is optional. For any other assertion such a session is an error, and
// Assert is not called, because the assertion would judge the changed text as the model's answer.
type RedactedAssertion interface {
	Assertion
	JudgesRedacted() bool
}

// An AskingAssertion reports whether it asks a judge or an embedder; see [Evidence]. It is
// optional. A run makes neither for any other assertion.
type AskingAssertion interface {
	Assertion
	Needs() (judge, embedder bool)
}

// A Reporter renders a run.
//
// Report is called once for each event, in order, never concurrently. run is the state after ev;
// Report must neither change nor keep it. An error ends the run. Close is called once, after the
// last event, even if the run broke off.
type Reporter interface {
	Report(ev Event, run *Run) error
	Close() error
}

// An AbortReporter can report why a run ended early. It is optional. Broke is called at most once,
// before Close.
type AbortReporter interface {
	Reporter
	Broke(err error)
}

// RunnerKind is the kind of a runner.
type RunnerKind string

// The runner kinds.
const (
	RunnerModel   RunnerKind = "model"
	RunnerAgent   RunnerKind = "agent"
	RunnerCommand RunnerKind = "command"
	RunnerReplay  RunnerKind = "replay"
)

// RunnerInfo identifies a runner and its configuration.
type RunnerInfo struct {
	ID string `json:"id" redact:"-"`
	// PathKey is the name of the runner in artifact paths; see [PathKey].
	PathKey string     `json:"pathKey" redact:"-"`
	Kind    RunnerKind `json:"kind"`
	Agent   AgentInfo  `json:"agent"`
	// BaseURL is set if it is not the provider's own address. In a log that left its machine it is
	// the [AddressHash].
	BaseURL string `json:"baseUrl,omitempty"`
	// Parameters are the requested parameters.
	Parameters Parameters `json:"parameters,omitzero"`
	// Config is the hash of the whole runner configuration, without secrets.
	Config string `json:"config,omitempty" redact:"-"`
	// RecordedKind is the kind of the runner that a replay runner plays.
	RecordedKind RunnerKind `json:"recordedKind,omitempty"`
}

// AddressHash returns the hash of an address, which tells only those who know the address which one
// it is. That of "" is "", and a hash stays as it is.
func AddressHash(address string) string {
	const prefix = "sha256:"
	if address == "" || strings.HasPrefix(address, prefix) {
		return address
	}
	sum := sha256.Sum256([]byte(address))
	return prefix + hex.EncodeToString(sum[:])
}

// AgentInfo names the provider ("openai") or agent CLI ("codex") of a runner, and the requested
// model.
type AgentInfo struct {
	Type  string `json:"type" redact:"-"`
	Model string `json:"model" redact:"-"`
}

// PathKey returns the name of a runner id in artifact paths: a slug and the first 8 hex digits of
// its SHA-256.
func PathKey(id string) string {
	var slug strings.Builder
	gap := false
	for _, r := range strings.ToLower(strings.TrimSpace(id)) {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			if gap && slug.Len() > 0 {
				slug.WriteByte('-')
			}
			gap = false
			slug.WriteRune(r)
		} else {
			gap = true
		}
	}
	if slug.Len() == 0 {
		slug.WriteString("runner")
	}
	sum := sha256.Sum256([]byte(id))
	return slug.String() + "--" + hex.EncodeToString(sum[:4])
}

// ExecutionDir returns the artifact directory of one case on one runner, below the directory of the
// run.
func ExecutionDir(runDir, caseID string, r *RunnerInfo) string {
	safe := strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("._-", c) {
			return c
		}
		return '-'
	}, caseID)
	return filepath.Join(runDir, safe, r.PathKey)
}

// SessionDir returns the artifact directory of one session, below that of its execution: repeat-N,
// and for retries session-M in it.
func SessionDir(executionDir string, repetition, session int) string {
	dir := filepath.Join(executionDir, "repeat-"+strconv.Itoa(repetition))
	if session > 1 {
		dir = filepath.Join(dir, "session-"+strconv.Itoa(session))
	}
	return dir
}

// Request is one prompt for a runner.
type Request struct {
	CaseID   string
	Messages []Message
	// MaxOutputTokens caps the answer; 0 leaves it to the runner.
	MaxOutputTokens int
	// Repetition counts planned samples from 1. Session counts the sessions of one repetition from
	// 1; a session above 1 is a retry.
	Repetition, Session int
	// Workspace and ArtifactDir are directories of this session; "" if it has none.
	Workspace, ArtifactDir string
	// MaxSteps stops an agent that takes more steps; 0 means no limit.
	MaxSteps int
	// Marker is the value of the environment variable [MarkerEnv] in all processes of the session.
	// Plumb uses it to find processes that it has lost track of. It is in the log before the
	// session begins.
	Marker string
	// Skills are directories with a SKILL.md that the suite offers in addition to those of the
	// runner.
	Skills []string
}

// MarkerEnv is the environment variable that marks the processes of a session. It holds "<id>/<n>".
// The id identifies the run; only Plumb on this machine can look the run up.
const MarkerEnv = "PLUMB_SESSION"

// SessionRef names a session that can be resumed.
type SessionRef struct {
	SessionID   string `json:"sessionId"`
	Workspace   string `json:"workspace"`
	ArtifactDir string `json:"artifactDir"`
}

// Evidence is the input of an assertion.
type Evidence struct {
	Case   *Case
	Report *SessionReport
	// Judge answers questions about the session. It is never nil for a suite that needs one.
	Judge *Judge
	// Embedder is nil if none is configured and no assertion needs one.
	Embedder *Embedder
	// Workspace is the directory in which the session worked; "" for models.
	Workspace string
	// Secrets returns the names of the secrets in a text, in order, or nil. The Secrets function
	// itself is nil if the run has no secrets to find.
	Secrets func(text string) []string
	// Redact returns a text without those secrets. A caller that repeats a part of a text, such as
	// its beginning, must redact before it cuts, because a part of a secret cannot be found. It is
	// nil if Secrets is nil.
	Redact func(text string) string
}

// Judge is the model that answers the questions of llm_judge.
type Judge struct {
	Runner Runner
	// Self means that the model under test judges its own answers.
	Self bool
	// Votes is the number of answers to take; 0 means 1.
	Votes int
}

// Embedder turns texts into vectors. Embed is called from many goroutines at once. It returns one
// vector per text, in order, and the total usage.
type Embedder struct {
	// Name is "provider:model".
	Name  string
	Embed func(ctx context.Context, texts []string) (Embedding, error)
}

// Embedding is the answer of an [Embedder].
type Embedding struct {
	Vectors [][]float32
	// Model is the name that the provider reported.
	Model    string
	Requests int
	Usage    Usage
	CostUSD  *float64
}
