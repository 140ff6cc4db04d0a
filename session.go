package plumb

import (
	"encoding/json"
	"math"
	"slices"
	"time"
)

// SessionReport is the normalised record of one session. Its JSON keys are documented and never renamed.
type SessionReport struct {
	Runner RunnerInfo `json:"runner"`
	// SessionID is the name the provider or the agent gave the session.
	SessionID string `json:"sessionId,omitempty"`
	// Prompt is what was asked, as one text.
	Prompt         string           `json:"prompt"`
	Usage          Usage            `json:"usage"`
	Files          Files            `json:"files"`
	DetectedSkills []SkillDetection `json:"detectedSkills"`
	Events         []SessionEvent   `json:"events"`
	// FinalOutput is the answer: the last final message of the main thread.
	FinalOutput string     `json:"finalOutput"`
	StartedAt   *time.Time `json:"startedAt,omitempty"`
	EndedAt     *time.Time `json:"endedAt,omitempty"`
	// DurationMs spans the whole session, waits for rate limits and retries included; LatencyMs only the request that
	// was answered.
	DurationMs   int64        `json:"durationMs"`
	LatencyMs    int64        `json:"latencyMs,omitempty"`
	RawArtifacts RawArtifacts `json:"rawArtifacts"`

	// Model and Fingerprint are as the provider reported them, RequestID is its name for the request.
	Model        string       `json:"model,omitempty"`
	Fingerprint  string       `json:"fingerprint,omitempty"`
	RequestID    string       `json:"requestId,omitempty"`
	FinishReason FinishReason `json:"finishReason,omitempty"`
	// ProviderFinishReason is the provider's own word where it differs from FinishReason.
	ProviderFinishReason string `json:"providerFinishReason,omitempty"`
	// Requested is what the run asked for, Sent what went over the wire, Effective what the provider says it used.
	// Refused names the parameters that the provider did not take.
	Requested Parameters `json:"requested,omitzero"`
	Sent      Parameters `json:"sent,omitzero"`
	Effective Parameters `json:"effective,omitzero"`
	Refused   []string   `json:"refused,omitempty" redact:"-"`
	// Requests is the number of requests or attempts that the session took.
	Requests int `json:"requests,omitempty"`
	// CostUSD is nil where no price is known.
	CostUSD *float64 `json:"costUsd,omitempty"`
	// Cached says that the answer came from the local cache, and cost nothing now.
	Cached bool `json:"cached,omitempty"`
	// Recorded says that the answer is a replay of an earlier session.
	Recorded bool `json:"recorded,omitempty"`

	// The rest is for sessions of agents. AgentVersion is the version of the agent CLI.
	AgentVersion string `json:"agentVersion,omitempty"`
	// Workspace is the directory that the session worked in; it may be gone.
	Workspace string `json:"workspace,omitempty" redact:"-"`
	// ExitCode is how the agent's process ended; nil when a signal ended it or nobody knows.
	ExitCode *int `json:"exitCode,omitempty"`
	// Steps counts what the agent calls a step; each agent has its own definition.
	Steps int `json:"steps,omitempty"`
	// RequestUsage is the usage of each request to the model, in order, where the agent tells. Subagents are included.
	RequestUsage []RequestUsage `json:"requestUsage,omitempty"`
	// Offered lists what the agent found when it began: skills, MCP servers, memory, instructions.
	Offered []Offer `json:"offered,omitempty"`
	// PermissionDenials are what the agent was not allowed to do.
	PermissionDenials []PermissionDenial `json:"permissionDenials,omitempty"`
	// Subagents are those that the session started. What they did is among Events, marked with their ID.
	Subagents []Subagent `json:"subagents,omitempty"`
	// Incomplete names the kinds of events of which the report does not have all, and "finalOutput" where that was cut off. What is
	// absent from those says nothing.
	Incomplete []string `json:"incomplete,omitempty" redact:"-"`
	// Redacted names the secrets that were removed from this record before it was stored. A session is
	// judged before anything is removed, so this is set only in what was read back from storage.
	Redacted []string `json:"redacted,omitempty" redact:"-"`
	// Notes say what a reader of the report should know: requests that were tried again, records that were not
	// understood, texts that were cut short.
	Notes []string `json:"notes,omitempty"`
}

// RequestUsage is what one request to the model used; nil figures were not reported.
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

// OfferKind tells apart what a session can be offered.
type OfferKind string

// The kinds of what a session can be offered.
const (
	OfferSkill        OfferKind = "skill"
	OfferMCPServer    OfferKind = "mcp-server"
	OfferMemory       OfferKind = "memory"
	OfferInstructions OfferKind = "instructions"
	OfferPlugin       OfferKind = "plugin"
)

// Offer is something that the agent had at hand, whether it used it or not.
type Offer struct {
	Kind OfferKind `json:"kind"`
	Name string    `json:"name"`
	// Path is where it came from, where that is known.
	Path string `json:"path,omitempty"`
	// Source is the agent's own word for where it came from, such as "project", "user" or "builtin".
	Source string `json:"source,omitempty"`
	// Undeclared says that neither the suite nor the runner brought it: it leaked in from the machine.
	Undeclared bool `json:"undeclared,omitempty"`
}

// PermissionDenial is something that the agent wanted to do and was not allowed to.
type PermissionDenial struct {
	Tool    string     `json:"tool"`
	CallID  string     `json:"callId,omitempty"`
	Message string     `json:"message,omitempty"`
	At      *time.Time `json:"at,omitempty"`
}

// Subagent is an agent that the session started for a part of its work.
type Subagent struct {
	// ID is what marks its events.
	ID   string `json:"id"`
	Type string `json:"type,omitempty"`
	// Usage is what it used, where the agent tells; it is not part of the session's own.
	Usage *Usage `json:"usage,omitempty"`
}

// Began reports whether the model had begun to answer: whether the session shows any sign of it. What the user said is none.
func (r *SessionReport) Began() bool {
	return r != nil && (r.FinalOutput != "" || slices.ContainsFunc(r.Events, func(e SessionEvent) bool {
		return e.Type != SessionMessage || e.Role != RoleUser
	}))
}

// FinishReason says why the model stopped, in one vocabulary for all providers.
type FinishReason string

// The finish reasons. FinishTruncated is an answer cut off by a token cap, FinishRefused one that the provider blocked.
const (
	FinishStop      FinishReason = "stop"
	FinishTruncated FinishReason = "truncated"
	FinishRefused   FinishReason = "refused"
	FinishToolCalls FinishReason = "tool-calls"
	FinishTimeout   FinishReason = "timeout"
	FinishOther     FinishReason = "other"
)

// Parameters are the sampling parameters of a session. A nil field was not given.
type Parameters struct {
	Temperature     *float64 `json:"temperature,omitempty"`
	TopP            *float64 `json:"topP,omitempty"`
	Seed            *int64   `json:"seed,omitempty"`
	MaxOutputTokens *int64   `json:"maxOutputTokens,omitempty"`
	ReasoningEffort *string  `json:"reasoningEffort,omitempty" redact:"-"`
}

// IsZero reports whether no parameter is given.
func (p Parameters) IsZero() bool { return p == Parameters{} }

// Usage counts what a session used, by one convention for all providers. InputTokens is gross: it includes what was read
// from (CacheTokens) and written to (CacheWriteTokens) a prompt cache. OutputTokens is gross: it includes
// ReasoningTokens. TotalTokens is what was not served from a cache: input + output - cache. A nil field was not reported.
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

// UsageSource says where each figure comes from: "provider" or "chars".
type UsageSource struct {
	Input     string `json:"input" redact:"-"`
	Output    string `json:"output" redact:"-"`
	Reasoning string `json:"reasoning" redact:"-"`
}

// Tokens returns gross input plus gross output tokens: all that the session moved. Unknown figures count as 0.
func (u Usage) Tokens() int64 { return sum(value(u.InputTokens), value(u.OutputTokens)) }

// Total fills TotalTokens and Source from the figures that are known.
func (u *Usage) Total() {
	u.Source = UsageSource{source(u.InputTokens), source(u.OutputTokens), source(u.ReasoningTokens)}
	if u.InputTokens != nil && u.OutputTokens != nil {
		u.TotalTokens = new(u.Tokens() - max(value(u.CacheTokens), 0))
	}
}

// Add adds v to u. A figure that only one of them knows is kept. Negative figures count as 0, and a sum stops at the largest
// number that there is.
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

// sum adds two counts. A negative one counts as 0, and the sum does not overflow.
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

// Files lists what a session touched, as absolute paths.
type Files struct {
	ObservedReads      []string `json:"observedReads"`
	ObservedSkillReads []string `json:"observedSkillReads"`
	// Changed lists what is different in the workspace after the session, or, where that cannot be compared, what the
	// agent says that it changed.
	Changed []FileChange `json:"changed,omitempty"`
}

// FileChange is one file that a session changed.
type FileChange struct {
	Path string `json:"path"`
	// Kind is "add", "update" or "delete".
	Kind string `json:"kind" redact:"-"`
	// Diff is a unified diff, shortened; "" for files that are not text, or not known before and after.
	Diff string `json:"diff,omitempty"`
}

// SkillDetection says that a session used a skill, and how sure that is.
type SkillDetection struct {
	Skill string `json:"skill"`
	// Confidence is "explicit", "strong", "medium" or "weak".
	Confidence string   `json:"confidence" redact:"-"`
	Evidence   []string `json:"evidence"`
}

// SessionEventType tells session events apart.
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

// SessionEvent is one thing observed in a session. Which fields are set depends on Type.
type SessionEvent struct {
	Type SessionEventType `json:"type"`
	At   *time.Time       `json:"at,omitempty"`
	// Role and Phase belong to messages; Phase is "thinking", "commentary" or "final".
	Role  string `json:"role,omitempty" redact:"-"`
	Phase string `json:"phase,omitempty" redact:"-"`
	Text  string `json:"text,omitempty"`
	// Tool, Args and Output belong to tool calls and their results. CallID joins a call, its result, and what else was
	// derived from it. IsError says that the agent reported the result as an error.
	Tool    string          `json:"tool,omitempty"`
	Args    json.RawMessage `json:"args,omitempty"`
	Output  string          `json:"output,omitempty"`
	CallID  string          `json:"callId,omitempty"`
	IsError bool            `json:"isError,omitempty"`
	// Truncated says that a text of the event was cut off.
	Truncated bool `json:"truncated,omitempty"`
	// Subagent is the ID of the subagent that did it; "" is the main thread.
	Subagent string `json:"subagent,omitempty"`
	// Command and ExitCode belong to commands, Path to file reads and changes, Change ("add", "update", "delete") to file
	// changes, Skill and Signal to skill signals.
	Command  string `json:"command,omitempty"`
	ExitCode *int   `json:"exitCode,omitempty"`
	Path     string `json:"path,omitempty"`
	Change   string `json:"change,omitempty" redact:"-"`
	Skill    string `json:"skill,omitempty"`
	Signal   string `json:"signal,omitempty"`
}

// RawArtifacts are the paths of what a session was normalised from. Model sessions have none.
type RawArtifacts struct {
	StdoutPath    string `json:"stdoutPath,omitempty" redact:"-"`
	StderrPath    string `json:"stderrPath,omitempty" redact:"-"`
	SessionPath   string `json:"sessionPath,omitempty" redact:"-"`
	ExportPath    string `json:"exportPath,omitempty" redact:"-"`
	TelemetryPath string `json:"telemetryPath,omitempty" redact:"-"`
}
