package plumb

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"time"
)

// SessionReport is the normalized record of one session. Its JSON keys are documented and never
// renamed.
type SessionReport struct {
	Runner RunnerInfo `json:"runner"`
	// SessionID is the name that the provider or the agent gave to the session.
	SessionID string `json:"sessionId,omitempty"`
	// Prompt is the prompt as one text.
	Prompt         string           `json:"prompt"`
	Usage          Usage            `json:"usage"`
	Files          Files            `json:"files"`
	DetectedSkills []SkillDetection `json:"detectedSkills"`
	Events         []SessionEvent   `json:"events"`
	// FinalOutput is the answer: the last final message of the main thread.
	FinalOutput string `json:"finalOutput"`
	// AnswerHash is the SHA-256, in hex digits, of the answer in the form that drift detectors
	// compare. Only logs that left their machine have it.
	AnswerHash string     `json:"answerHash,omitempty" redact:"-"`
	StartedAt  *time.Time `json:"startedAt,omitempty"`
	EndedAt    *time.Time `json:"endedAt,omitempty"`
	// DurationMs is the time of the whole session, including waits for rate limits and retries.
	// LatencyMs is the time of the answered request only.
	DurationMs   int64        `json:"durationMs"`
	LatencyMs    int64        `json:"latencyMs,omitempty"`
	RawArtifacts RawArtifacts `json:"rawArtifacts"`

	// Model and Fingerprint are the provider's values. RequestID is the provider's name for the
	// request.
	Model        string       `json:"model,omitempty"`
	Fingerprint  string       `json:"fingerprint,omitempty"`
	RequestID    string       `json:"requestId,omitempty"`
	FinishReason FinishReason `json:"finishReason,omitempty"`
	// ProviderFinishReason is the provider's own word, if it differs from FinishReason.
	ProviderFinishReason string `json:"providerFinishReason,omitempty"`
	// Requested holds the parameters that the run requested, Sent those in the HTTP request, and
	// Effective those that the provider reports. Refused names the parameters that the provider
	// rejected.
	Requested Parameters `json:"requested,omitzero"`
	Sent      Parameters `json:"sent,omitzero"`
	Effective Parameters `json:"effective,omitzero"`
	Refused   []string   `json:"refused,omitempty" redact:"-"`
	// Requests is the number of requests or attempts that the session took.
	Requests int `json:"requests,omitempty"`
	// CostUSD is nil if no price is known.
	CostUSD *float64 `json:"costUsd,omitempty"`
	// Cached means that the answer came from the local cache or, if TakenFrom is set, from the run
	// with this id, and cost nothing now.
	Cached    bool   `json:"cached,omitempty"`
	TakenFrom string `json:"takenFrom,omitempty" redact:"-"`
	// Recorded means that the answer is a replay of an earlier session.
	Recorded bool `json:"recorded,omitempty"`

	// The fields below are for sessions of agents. AgentVersion is the version of the agent CLI.
	AgentVersion string `json:"agentVersion,omitempty"`
	// Workspace is the directory in which the session worked. It may no longer exist.
	Workspace string `json:"workspace,omitempty" redact:"-"`
	// ExitCode is the exit code of the agent; nil if a signal ended it or the code is unknown.
	ExitCode *int `json:"exitCode,omitempty"`
	// Steps counts the steps of the agent; each agent has its own definition.
	Steps int `json:"steps,omitempty"`
	// RequestUsage is the usage of each request to the model, in order, if the agent reports it. It
	// includes subagents.
	RequestUsage []RequestUsage `json:"requestUsage,omitempty"`
	// Offered lists what was available to the agent at the start: skills, MCP servers, memory,
	// instructions.
	Offered []Offer `json:"offered,omitempty"`
	// PermissionDenials are the actions that were denied to the agent.
	PermissionDenials []PermissionDenial `json:"permissionDenials,omitempty"`
	// Subagents are the agents that the session started. Their actions are among Events, marked
	// with their ID.
	Subagents []Subagent `json:"subagents,omitempty"`
	// UnprovenReads are the files that the agent asked for and of which the record does not show
	// whether it got them. They count neither as read nor as not read.
	UnprovenReads []string `json:"unprovenReads,omitempty"`
	// Incomplete names the kinds of events that the report does not hold completely, and
	// "finalOutput" if that text was cut off. The absence of such an event proves nothing.
	Incomplete []string `json:"incomplete,omitempty" redact:"-"`
	// Redacted names the secrets that were removed from this record before it was stored. A session
	// is judged before secrets are removed, so this is only set in records that were read back from
	// storage.
	Redacted []string `json:"redacted,omitempty" redact:"-"`
	// Notes are for the reader of the report: requests that were retried, records that were not
	// understood, texts that were shortened.
	Notes []string `json:"notes,omitempty"`
}

// RemovedFailure returns the failure of a check that depends on a text of r from which secrets were
// removed before it was stored.
func (r *SessionReport) RemovedFailure() *Failure {
	f := Failuref(OriginAssertHook,
		"the check depends on text from which secrets were removed before the session was stored: %s",
		strings.Join(r.Redacted, ", "))
	f.Class = ClassRedacted()
	f.Hint = "run the case again: Plumb judges a new session before it removes secrets"
	return f
}

// RequestUsage is the usage of one request to the model. A nil count was not reported.
type RequestUsage struct {
	At               *time.Time `json:"at,omitempty"`
	Model            string     `json:"model,omitempty"`
	Subagent         string     `json:"subagent,omitempty"`
	InputTokens      *int64     `json:"inputTokens,omitempty"`
	OutputTokens     *int64     `json:"outputTokens,omitempty"`
	ReasoningTokens  *int64     `json:"reasoningTokens,omitempty"`
	CacheTokens      *int64     `json:"cacheTokens,omitempty"`
	CacheWriteTokens *int64     `json:"cacheWriteTokens,omitempty"`
}

// OfferKind is the kind of an [Offer].
type OfferKind string

// The kinds of offers.
const (
	OfferSkill        OfferKind = "skill"
	OfferMCPServer    OfferKind = "mcp-server"
	OfferMemory       OfferKind = "memory"
	OfferInstructions OfferKind = "instructions"
	OfferPlugin       OfferKind = "plugin"
)

// Offer is something that was available to the agent, whether the agent used it or not.
type Offer struct {
	Kind OfferKind `json:"kind"`
	Name string    `json:"name"`
	// Path is its origin, if that is known.
	Path string `json:"path,omitempty"`
	// Source is the agent's own word for its origin, such as "project", "user" or "builtin".
	Source string `json:"source,omitempty"`
	// Undeclared means that neither the suite nor the runner declared it: it leaked in from the
	// machine.
	Undeclared bool `json:"undeclared,omitempty"`
}

// PermissionDenial is an action that was denied to the agent.
type PermissionDenial struct {
	Tool    string     `json:"tool"`
	CallID  string     `json:"callId,omitempty"`
	Message string     `json:"message,omitempty"`
	At      *time.Time `json:"at,omitempty"`
}

// Subagent is an agent that the session started for a part of its work.
type Subagent struct {
	// ID marks the events of the subagent.
	ID   string `json:"id"`
	Type string `json:"type,omitempty"`
	// Usage is the usage of the subagent, if the agent reports it. The usage of the session does
	// not include it.
	Usage *Usage `json:"usage,omitempty"`
}

// Began reports whether the model had begun to answer: whether the report has an answer or an event
// other than a message of the user.
func (r *SessionReport) Began() bool {
	return r != nil && (r.FinalOutput != "" || slices.ContainsFunc(r.Events, func(e SessionEvent) bool {
		return e.Type != SessionMessage || e.Role != RoleUser
	}))
}

// FinishReason is the reason why the model stopped, in one vocabulary for all providers.
type FinishReason string

// The finish reasons. FinishTruncated is an answer that a token cap cut off. FinishRefused is an
// answer that the provider blocked.
const (
	FinishStop      FinishReason = "stop"
	FinishTruncated FinishReason = "truncated"
	FinishRefused   FinishReason = "refused"
	FinishToolCalls FinishReason = "tool-calls"
	FinishTimeout   FinishReason = "timeout"
	FinishOther     FinishReason = "other"
)

// Parameters are the sampling parameters of a session. A nil field was not set.
type Parameters struct {
	Temperature     *float64 `json:"temperature,omitempty"`
	TopP            *float64 `json:"topP,omitempty"`
	Seed            *int64   `json:"seed,omitempty"`
	MaxOutputTokens *int64   `json:"maxOutputTokens,omitempty"`
	ReasoningEffort *string  `json:"reasoningEffort,omitempty" redact:"-"`
}

// IsZero reports whether no parameter is given.
func (p Parameters) IsZero() bool { return p == Parameters{} }

// Usage is the usage of a session, by one convention for all providers. InputTokens is gross: it
// includes the tokens that were read from a prompt cache (CacheTokens) and written to it
// (CacheWriteTokens). OutputTokens is gross: it includes ReasoningTokens. TotalTokens excludes
// tokens served from a cache: input + output - cache. A nil field was not reported.
type Usage struct {
	InputTokens      *int64 `json:"inputTokens,omitempty"`
	OutputTokens     *int64 `json:"outputTokens,omitempty"`
	ReasoningTokens  *int64 `json:"reasoningTokens,omitempty"`
	CacheTokens      *int64 `json:"cacheTokens,omitempty"`
	CacheWriteTokens *int64 `json:"cacheWriteTokens,omitempty"`
	TotalTokens      *int64 `json:"totalTokens,omitempty"`

	InputChars     int64       `json:"inputChars"`
	OutputChars    int64       `json:"outputChars"`
	ReasoningChars int64       `json:"reasoningChars"`
	Source         UsageSource `json:"source"`
}

// UsageSource is the source of each count: "provider" or "chars".
type UsageSource struct {
	Input     string `json:"input" redact:"-"`
	Output    string `json:"output" redact:"-"`
	Reasoning string `json:"reasoning" redact:"-"`
}

// Tokens returns gross input plus gross output tokens. An unknown count is 0.
func (u Usage) Tokens() int64 { return sum(value(u.InputTokens), value(u.OutputTokens)) }

// Total sets TotalTokens and Source from the known counts.
func (u *Usage) Total() {
	u.Source = UsageSource{source(u.InputTokens), source(u.OutputTokens), source(u.ReasoningTokens)}
	if u.InputTokens != nil && u.OutputTokens != nil {
		u.TotalTokens = new(u.Tokens() - max(value(u.CacheTokens), 0))
	}
}

// Add adds v to u. A count that only one of them has is kept. A negative count is 0, and a sum is
// limited to the largest int64.
func (u *Usage) Add(v Usage) {
	add := func(a **int64, b *int64) {
		if b != nil {
			*a = new(sum(value(*a), *b))
		}
	}
	add(&u.InputTokens, v.InputTokens)
	add(&u.OutputTokens, v.OutputTokens)
	add(&u.ReasoningTokens, v.ReasoningTokens)
	add(&u.CacheTokens, v.CacheTokens)
	add(&u.CacheWriteTokens, v.CacheWriteTokens)
	add(&u.TotalTokens, v.TotalTokens)
	u.InputChars = sum(u.InputChars, v.InputChars)
	u.OutputChars = sum(u.OutputChars, v.OutputChars)
	u.ReasoningChars = sum(u.ReasoningChars, v.ReasoningChars)
	u.Source = UsageSource{source(u.InputTokens), source(u.OutputTokens), source(u.ReasoningTokens)}
}

// sum adds two counts. A negative count is 0, and the sum does not overflow.
func sum(a, b int64) int64 {
	a, b = max(a, 0), max(b, 0)
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

func value(p *int64) int64 {
	if p == nil {
		return 0
	}
	return *p
}

func source(p *int64) string {
	if p == nil {
		return "chars"
	}
	return "provider"
}

// Files lists the files that a session touched, as absolute paths.
type Files struct {
	ObservedReads      []string `json:"observedReads"`
	ObservedSkillReads []string `json:"observedSkillReads"`
	// Changed lists the differences in the workspace after the session or, if Plumb cannot compare
	// the workspace, the changes that the agent reports.
	Changed []FileChange `json:"changed,omitempty"`
}

// FileChange is one file that a session changed.
type FileChange struct {
	Path string `json:"path"`
	// Kind is "add", "update" or "delete".
	Kind string `json:"kind" redact:"-"`
	// Diff is a unified diff, shortened. It is "" for a file that is not text, or whose content
	// before or after is not known.
	Diff string `json:"diff,omitempty"`
}

// SkillDetection means that a session used a skill, with a confidence.
type SkillDetection struct {
	Skill string `json:"skill"`
	// Confidence is "explicit", "strong", "medium" or "weak".
	Confidence string   `json:"confidence" redact:"-"`
	Evidence   []string `json:"evidence"`
}

// SessionEventType is the type of a session event.
type SessionEventType string

// The session event types.
const (
	SessionMessage    SessionEventType = "message"
	SessionToolCall   SessionEventType = "toolCall"
	SessionToolResult SessionEventType = "toolResult"
	SessionCommand    SessionEventType = "command"
	SessionFileRead   SessionEventType = "fileRead"
	SessionSkill      SessionEventType = "skillSignal"
	SessionFileChange SessionEventType = "fileChange"
	SessionDenial     SessionEventType = "permissionDenied"
)

// SessionEvent is one thing observed in a session. Type decides which fields are set.
type SessionEvent struct {
	Type SessionEventType `json:"type"`
	At   *time.Time       `json:"at,omitempty"`
	// Role and Phase belong to messages; Phase is "thinking", "commentary" or "final".
	Role  string `json:"role,omitempty" redact:"-"`
	Phase string `json:"phase,omitempty" redact:"-"`
	Text  string `json:"text,omitempty"`
	// Tool, Args and Output belong to tool calls and their results. CallID connects a call, its
	// result and other events derived from it. IsError means that the agent reported the result as
	// an error.
	Tool    string          `json:"tool,omitempty"`
	Args    json.RawMessage `json:"args,omitempty"`
	Output  string          `json:"output,omitempty"`
	CallID  string          `json:"callId,omitempty"`
	IsError bool            `json:"isError,omitempty"`
	// Truncated means that a text of the event was cut off.
	Truncated bool `json:"truncated,omitempty"`
	// Subagent is the ID of the subagent that caused the event; "" is the main thread.
	Subagent string `json:"subagent,omitempty"`
	// Command and ExitCode belong to commands, Path to file reads and changes, Change ("add",
	// "update", "delete") to file changes, Skill and Signal to skill signals.
	Command  string `json:"command,omitempty"`
	ExitCode *int   `json:"exitCode,omitempty"`
	Path     string `json:"path,omitempty"`
	Change   string `json:"change,omitempty" redact:"-"`
	Skill    string `json:"skill,omitempty"`
	Signal   string `json:"signal,omitempty"`
}

// RawArtifacts are the paths of the files from which a session was normalized. Model sessions have
// none.
type RawArtifacts struct {
	StdoutPath    string `json:"stdoutPath,omitempty" redact:"-"`
	StderrPath    string `json:"stderrPath,omitempty" redact:"-"`
	SessionPath   string `json:"sessionPath,omitempty" redact:"-"`
	ExportPath    string `json:"exportPath,omitempty" redact:"-"`
	TelemetryPath string `json:"telemetryPath,omitempty" redact:"-"`
}
