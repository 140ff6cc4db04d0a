package plumb

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// The roles of a [Message].
const (
	RoleSystem    = "system"
	RoleDeveloper = "developer"
	RoleUser      = "user"
	RoleAssistant = "assistant"
)

// Message is one turn of a conversation.
type Message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// Suite is an ordered list of cases with what identifies them.
type Suite struct {
	// Name is the label that results carry, such as "v1.0-cheap".
	Name string
	// Path is the file the suite was read from, as the user named it; "" for a suite made in Go.
	Path string
	// Version and Tier come from the suite version's manifest; "" where there is none.
	Version, Tier string
	// Hash identifies the content: "sha256:" and 64 hex digits, by the rules of package digest.
	Hash  string
	Cases []Case
	// Workspace says where sessions work; nil leaves it to the run.
	Workspace *WorkspaceConfig
	// Skills are what the suite offers to agents: directories with a SKILL.md, as absolute paths.
	Skills []string
}

// WorkspaceMode says what directory sessions work in.
type WorkspaceMode string

// The workspace modes: a directory that nobody prepares, one for the whole run, one for each session.
const (
	WorkspaceNone     WorkspaceMode = "none"
	WorkspaceShared   WorkspaceMode = "shared"
	WorkspaceIsolated WorkspaceMode = "isolated"
)

// WorkspaceConfig says where sessions work and how that place is made.
type WorkspaceConfig struct {
	Mode WorkspaceMode `json:"mode"`
	// Cwd is a directory that is there already: allowed for none and shared. It is never deleted.
	Cwd string `json:"cwd,omitempty" redact:"-"`
	// TemplateDir is copied into the workspace, and Bootstrap is run in it, for shared and isolated.
	TemplateDir string     `json:"templateDir,omitempty" redact:"-"`
	Bootstrap   *Bootstrap `json:"bootstrap,omitempty"`
}

// Bootstrap is a program that prepares a workspace. It runs there, without a shell and with nothing on its stdin.
type Bootstrap struct {
	Command string   `json:"command"`
	Args    []string `json:"args,omitempty"`
	// TimeoutMs is in milliseconds; 0 leaves it to the case.
	TimeoutMs int64             `json:"timeoutMs,omitempty"`
	Env       map[string]string `json:"env,omitempty"`
}

// Tags returns the tags that the cases of s declare, each once, in order of first appearance.
func (s *Suite) Tags() []string {
	tags, seen := []string{}, map[string]bool{}
	for i := range s.Cases {
		for _, t := range s.Cases[i].Tags {
			if !seen[t] {
				seen[t] = true
				tags = append(tags, t)
			}
		}
	}
	return tags
}

// Case is one prompt and its checks.
type Case struct {
	// ID names the case within its suite. In paths it is as [ExecutionDir] has it, which tells all cases of the suite apart.
	ID string
	// Hash identifies what is asked and how it is judged, whatever the id, the tier or the suite version.
	Hash       string
	Category   string
	Difficulty string
	Tags       []string
	// Messages is the whole conversation to send, the system prompt first if there is one.
	Messages []Message
	// MaxOutputTokens caps the answer; 0 leaves it to the runner.
	MaxOutputTokens int
	// Timeout limits one session; 0 leaves it to the run.
	Timeout time.Duration
	// MaxSteps stops an agent that takes more steps; 0 leaves it to the run.
	MaxSteps int
	// ExpectedFail marks a known gap: a failed assertion leaves the suite green, a pass does not.
	ExpectedFail bool
	// Repeat is the number of planned samples; 0 leaves it to the run.
	Repeat int
	// TokensEstimate is the author's guess at what the case costs, in tokens.
	TokensEstimate int
	// Assertions must all hold.
	Assertions []Assertion
	// Classify, if set, names the class of a failure; nil leaves it as it is. It is called once for each session that failed
	// or could not be measured.
	Classify func(ctx context.Context, s FailedSession) (*FailureClass, error)
	// Own is what its author put into a case beside what is known here, as a JSON object for those who report; nil is nothing.
	Own json.RawMessage
	// Source is where the case was written.
	Source Position
}

// FailedSession is what [Case.Classify] looks at.
type FailedSession struct {
	Evidence  Evidence
	Judgement *Judgement
	// ArtifactDir and ExecutionArtifactDir are "" where there are none.
	ArtifactDir, ExecutionArtifactDir string
}

// Prompt returns the conversation as one text: the content of a lone user message as it is, otherwise each message
// under its role.
func (c *Case) Prompt() string { return PromptText(c.Messages) }

// PromptText returns a conversation as one text: the content of a lone user message as it is, otherwise each message
// under its role.
func PromptText(messages []Message) string {
	if len(messages) == 1 && messages[0].Role == RoleUser {
		return messages[0].Content
	}
	var b strings.Builder
	for i, m := range messages {
		if i > 0 {
			b.WriteString("\n\n")
		}
		b.WriteString(m.Role)
		b.WriteString(": ")
		b.WriteString(m.Content)
	}
	return b.String()
}

// Position is a place in a file a person wrote. Line and Column count from 1; 0 means unknown.
type Position struct {
	File   string `json:"file,omitempty" redact:"-"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
}

// String renders the position as file:line:column, leaving out what is unknown.
func (p Position) String() string {
	switch {
	case p.Line == 0:
		return p.File
	case p.Column == 0:
		return fmt.Sprintf("%s:%d", p.File, p.Line)
	default:
		return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
	}
}

// Question is one that a failed check leaves for the agent; see [Explainer].
type Question struct {
	Question string   `json:"question"`
	Source   Position `json:"source"`
}

// Verdict is what one assertion says of one thing it looked at.
type Verdict struct {
	// Name tells the check apart from others of its case, such as "contains" or the name the author gave it.
	Name string `json:"name"`
	Pass bool   `json:"pass"`
	// Score is the degree to which the check holds, from 0 to 1.
	Score float64 `json:"score"`
	// Weight of the score within the case; 0 counts as 1.
	Weight float64 `json:"weight,omitempty"`
	// Reason says in one sentence why the check holds or does not.
	Reason string `json:"reason"`
	// Expected and Got are what a person would compare. Both are optional, and may be shortened.
	Expected string `json:"expected,omitempty"`
	Got      string `json:"got,omitempty"`
	// Details has the documented keys of the assertion type, as a JSON object. Optional.
	Details json.RawMessage `json:"details,omitempty" redact:"values"`
	// Class groups the failure with others of its cause. Optional.
	Class *FailureClass `json:"class,omitempty"`
	// Source is where the check that did not hold is written, Stack the whole way there. Both are for suites in code.
	Source *Position `json:"source,omitempty"`
	Stack  string    `json:"stack,omitempty"`
	// Questions can be put to the agent afterwards, about why the check does not hold.
	Questions []Question `json:"questions,omitempty"`
	// Error says that the check could not be made: Pass and Score then mean nothing.
	Error *Failure `json:"error,omitempty"`
	// Asked records the questions put to a judge model or an embedder. Optional.
	Asked *Asked `json:"asked,omitempty"`
	// At is where the check was written. Optional.
	At *Position `json:"at,omitempty"`
}

// Asked records what was asked of a judge model or an embedder for one verdict, and what it cost.
type Asked struct {
	// Model is the judge or embedding model as the provider reported it.
	Model string `json:"model"`
	// Self says that the model under test was its own judge.
	Self bool `json:"self,omitempty"`
	// PromptHash is the hash of the judge prompt.
	PromptHash string `json:"promptHash,omitempty" redact:"-"`
	// Replies are the judge's answers, in order, those that could not be used included.
	Replies []string `json:"replies,omitempty"`
	// Yes and No are the votes.
	Yes int `json:"yes,omitempty"`
	No  int `json:"no,omitempty"`
	// Requests counts the requests made, and Usage and CostUSD what they used.
	Requests int      `json:"requests"`
	Usage    Usage    `json:"usage"`
	CostUSD  *float64 `json:"costUsd,omitempty"`
}
