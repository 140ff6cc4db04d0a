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
// Run is called from many goroutines at once, each call for one repetition or retry, and returns soon after ctx ends.
// It returns a report whenever a session took place, even a bad one. A nil report means that no session could be had,
// and the error, never nil then, is a *[Failure] when its origin is known. Both together mean that the session broke
// off: the report holds what was obtained, the error says why. Retrying what is worth retrying is the runner's own
// business; while it waits for its turn it says so with [Waiting], since ctx carries the case's time limit.
type Runner interface {
	Info() RunnerInfo
	Run(ctx context.Context, req Request) (*SessionReport, error)
}

// An Explainer is a Runner that can resume a session to ask about it. It is optional: callers find it by a type
// assertion. Explain is called after the run, once a question, from one goroutine a session.
type Explainer interface {
	Runner
	Explain(ctx context.Context, s SessionRef, question string) (*SessionReport, error)
}

// An Assertion judges a finished session: one verdict for each thing it looked at.
//
// Assert may be called from many goroutines at once, for many sessions. An error means that it could not judge, never
// that the session failed; it is a *[Failure] when its origin is known, and otherwise counts as [OriginAssertHook].
type Assertion interface {
	Assert(ctx context.Context, ev Evidence) ([]Verdict, error)
}

// A RedactedAssertion can judge a session from whose stored texts secrets were removed; see [SessionReport.Redacted].
// It is optional. For an assertion that does not say so, such a session is an error, and Assert is not called: the
// assertion would take what is left for what came.
type RedactedAssertion interface {
	Assertion
	JudgesRedacted() bool
}

// An AskingAssertion says whether it asks a judge or an embedder; see [Evidence]. It is optional. A
// run makes neither for an assertion that does not say so.
type AskingAssertion interface {
	Assertion
	Needs() (judge, embedder bool)
}

// A Reporter renders a run.
//
// Report is called once for each event, in order, never concurrently; run is the state after ev and must be neither
// changed nor kept. An error ends the run. Close is called once, after the last event, also when the run broke off.
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

// RunnerKind tells the families of runners apart.
type RunnerKind string

// The runner kinds.
const (
	RunnerModel   RunnerKind = "model"
	RunnerAgent   RunnerKind = "agent"
	RunnerCommand RunnerKind = "command"
	RunnerReplay  RunnerKind = "replay"
)

// RunnerInfo identifies a runner and what it was configured to do.
type RunnerInfo struct {
	ID string `json:"id" redact:"-"`
	// PathKey is the runner's name in artifact paths; see [PathKey].
	PathKey string     `json:"pathKey" redact:"-"`
	Kind    RunnerKind `json:"kind"`
	Agent   AgentInfo  `json:"agent"`
	// BaseURL is set where it is not the provider's own.
	BaseURL string `json:"baseUrl,omitempty"`
	// Parameters are the requested ones.
	Parameters Parameters `json:"parameters,omitzero"`
	// Config is the hash of the whole runner configuration, secrets left out.
	Config string `json:"config,omitempty" redact:"-"`
}

// AgentInfo says what a runner drives: the provider ("openai") or agent CLI ("codex") and the model asked for.
type AgentInfo struct {
	Type  string `json:"type" redact:"-"`
	Model string `json:"model" redact:"-"`
}

// PathKey returns the name that a runner id has in artifact paths: a slug and the first 8 hex digits of its SHA-256.
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

// ExecutionDir returns the artifact directory of one case on one runner, below the directory of the run.
func ExecutionDir(runDir, caseID string, r *RunnerInfo) string {
	safe := strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("._-", c) {
			return c
		}
		return '-'
	}, caseID)
	return filepath.Join(runDir, safe, r.PathKey)
}

// SessionDir returns the artifact directory of one session, below that of its execution: repeat-N, and session-M in it for
// retries.
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
	// Repetition counts planned samples from 1. Session counts the sessions of one repetition from 1; above 1 it is a
	// retry.
	Repetition, Session int
	// Workspace and ArtifactDir are directories of this session; "" where there are none.
	Workspace, ArtifactDir string
	// MaxSteps stops an agent that takes more steps; 0 is no limit.
	MaxSteps int
	// Marker is the value of the environment variable [MarkerEnv] in all processes of the session, by which they are found
	// when nobody else knows of them. It is in the log before the session begins.
	Marker string
	// Skills are what the suite offers beside what the runner does: directories with a SKILL.md.
	Skills []string
}

// MarkerEnv is the environment variable that marks the processes of a session. It holds "<id>/<n>": the id stands for the run,
// and only this machine's plumb knows for which.
const MarkerEnv = "PLUMB_SESSION"

// SessionRef names a session that can be resumed.
type SessionRef struct {
	SessionID   string `json:"sessionId"`
	Workspace   string `json:"workspace"`
	ArtifactDir string `json:"artifactDir"`
}

// Evidence is all that an assertion may look at.
type Evidence struct {
	Case   *Case
	Report *SessionReport
	// Judge answers questions about the session. It is never nil when a suite that needs one runs.
	Judge *Judge
	// Embedder is nil where none is configured and no assertion needs one.
	Embedder *Embedder
	// Workspace is the directory the session worked in; "" for models.
	Workspace string
	// Secrets returns the names of the secrets that a text holds, in order; nil for none. The Secrets
	// function itself is nil where the run knows no secret that it could find.
	Secrets func(text string) []string
	// Redact returns a text without those secrets. Whoever repeats a part of a text, such as its beginning, cuts what is left,
	// since a part of a secret cannot be found any more. It is nil where Secrets is.
	Redact func(text string) string
}

// Judge is the model that answers the questions of llm_judge.
type Judge struct {
	Runner Runner
	// Self says that the model under test judges its own answers.
	Self bool
	// Votes is how many answers are taken; 0 means 1.
	Votes int
}

// Embedder turns texts into vectors. Embed is called from many goroutines at once, and returns one vector a text, in
// order, with what it used in all.
type Embedder struct {
	// Name is "provider:model".
	Name  string
	Embed func(ctx context.Context, texts []string) (Embedding, error)
}

// Embedding is the answer of an [Embedder].
type Embedding struct {
	Vectors [][]float32
	// Model is as the provider reported it.
	Model    string
	Requests int
	Usage    Usage
	CostUSD  *float64
}
