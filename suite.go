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

// Suite is an ordered list of cases and their identity.
type Suite struct {
	// Name is the label in results, such as "v1.0-cheap".
	Name string
	// Path is the file of the suite as the user named it; "" for a suite made in Go.
	Path string
	// Version and Tier come from the manifest of the suite version; "" if there is none.
	Version, Tier string
	// Hash identifies the content: "sha256:" and 64 hex digits, by the rules of package digest.
	Hash  string
	Cases []Case
	// Workspace is where sessions work; nil means that the run decides.
	Workspace *WorkspaceConfig
	// Skills are directories with a SKILL.md that the suite offers to agents, as absolute paths.
	Skills []string
}

// WorkspaceMode is the way in which sessions get a directory.
type WorkspaceMode string

// The workspace modes: a directory that Plumb does not prepare, one directory for the whole run, or
// one for each session.
const (
	WorkspaceNone     WorkspaceMode = "none"
	WorkspaceShared   WorkspaceMode = "shared"
	WorkspaceIsolated WorkspaceMode = "isolated"
)

// WorkspaceConfig describes where sessions work and how that directory is made.
type WorkspaceConfig struct {
	Mode WorkspaceMode `json:"mode"`
	// Cwd is an existing directory, allowed for none and shared. It is never deleted.
	Cwd string `json:"cwd,omitempty" redact:"-"`
	// TemplateDir is copied into the workspace and Bootstrap runs in it, for shared and isolated.
	TemplateDir string     `json:"templateDir,omitempty" redact:"-"`
	Bootstrap   *Bootstrap `json:"bootstrap,omitempty"`
}

// Bootstrap is a program that prepares a workspace. It runs there, without a shell and with an
// empty stdin.
type Bootstrap struct {
	Command string   `json:"command"`
	Args    []string `json:"args,omitempty"`
	// TimeoutMs is in milliseconds; 0 means the limit of the case.
	TimeoutMs int64             `json:"timeoutMs,omitempty"`
	Env       map[string]string `json:"env,omitempty"`
}

// Tags returns the tags of the cases of s, each once, in order of first appearance.
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
	// ID names the case within its suite. [ExecutionDir] turns it into the name in paths, which is
	// different for each case of the suite.
	ID string
	// Hash identifies the prompt and the checks. It does not depend on the id, the tier or the
	// suite version.
	Hash string
	// PromptHash identifies the messages and the cap of the answer, and ChecksHash the checks: 16
	// hex digits each. They are "" if Hash is.
	PromptHash, ChecksHash string
	// PromptName is the label of the prompt of a suite with prompts; "" in other suites.
	PromptName string
	// Item is the id of the case as its author wrote it, which is the same for all prompts; "" if it
	// equals ID.
	Item string

	Category   string
	Difficulty string
	Tags       []string
	// Messages is the whole conversation to send. It begins with the system prompt, if there is
	// one.
	Messages []Message
	// MaxOutputTokens caps the answer; 0 leaves it to the runner.
	MaxOutputTokens int
	// Timeout limits one session; 0 means the limit of the run.
	Timeout time.Duration
	// MaxSteps stops an agent that takes more steps; 0 means the limit of the run.
	MaxSteps int
	// ExpectedFail marks a known gap: a failed assertion leaves the suite green, a pass does not.
	ExpectedFail bool
	// Repeat is the number of planned samples; 0 means the number of the run.
	Repeat int
	// TokensEstimate is the author's estimate of the tokens that the case uses.
	TokensEstimate int
	// All Assertions must pass, or, with a MinScore, the weighted mean of their scores must be at
	// least MinScore, which is from 0 to 1.
	Assertions []Assertion
	MinScore   *float64
	// Transform, if set, returns the output that the assertions get in place of the answer.
	Transform func(ctx context.Context, ev Evidence) (output string, err error)
	// Classify, if set, returns the class of a failure; nil means no change. It is called once for
	// each session that failed or could not be measured.
	Classify func(ctx context.Context, s FailedSession) (*FailureClass, error)
	// Own holds the keys of the case that Plumb does not use, as a JSON object for reporters; nil
	// if there are none.
	Own json.RawMessage
	// Metadata are the author's own keys with a text, a number or a boolean; nil if there are none.
	Metadata map[string]string `json:"-"`
	// Source is the place where the case is written.
	Source Position
}

// FailedSession is the input of [Case.Classify].
type FailedSession struct {
	Evidence  Evidence
	Judgement *Judgement
	// ArtifactDir and ExecutionArtifactDir are "" if the session has none.
	ArtifactDir, ExecutionArtifactDir string
}

// Prompt returns the conversation as one text, as [PromptText] does.
func (c *Case) Prompt() string { return PromptText(c.Messages) }

// PromptText returns a conversation as one text. A single user message is returned as it is;
// otherwise each message follows its role.
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

// Position is a place in a source file. Line and Column count from 1; 0 means unknown.
type Position struct {
	File   string `json:"file,omitempty" redact:"-"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
}

// String returns the position as file:line:column, without unknown parts.
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

// Question is a question to the agent about a failed check; see [Explainer].
type Question struct {
	Question string   `json:"question"`
	Source   Position `json:"source"`
}

// Verdict is the result of one assertion for one thing that it checked.
type Verdict struct {
	// Name identifies the check within its case, such as "contains" or a name that the author
	// chose.
	Name string `json:"name"`
	Pass bool   `json:"pass"`
	// Score is the degree to which the check passes, from 0 to 1.
	Score float64 `json:"score"`
	// Weight of the score within the case; 0 counts as 1.
	Weight float64 `json:"weight,omitempty"`
	// Reason explains the result in one sentence.
	Reason string `json:"reason"`
	// Expected and Got are texts for a person to compare. Both are optional, and may be shortened.
	Expected string `json:"expected,omitempty"`
	Got      string `json:"got,omitempty"`
	// Details has the documented keys of the assertion type, as a JSON object. Optional.
	Details json.RawMessage `json:"details,omitempty" redact:"values"`
	// Class groups failures with the same cause. Optional.
	Class *FailureClass `json:"class,omitempty"`
	// Source is the place of the failed check, and Stack is the call stack there. Only suites in
	// code set them.
	Source *Position `json:"source,omitempty"`
	Stack  string    `json:"stack,omitempty"`
	// Questions can be put to the agent after the run, about the failed check.
	Questions []Question `json:"questions,omitempty"`
	// Error means that the check could not be made. Pass and Score then have no meaning.
	Error *Failure `json:"error,omitempty"`
	// Asked records the requests to a judge model or an embedder. Optional.
	Asked *Asked `json:"asked,omitempty"`
	// At is the place where the check is written. Optional.
	At *Position `json:"at,omitempty"`
}

// Asked records the requests to a judge model or an embedder for one verdict, and their cost.
type Asked struct {
	// Model is the name of the judge or embedding model that the provider reported.
	Model string `json:"model"`
	// Self means that the model under test was its own judge.
	Self bool `json:"self,omitempty"`
	// PromptHash is the hash of the judge prompt.
	PromptHash string `json:"promptHash,omitempty" redact:"-"`
	// Replies are the judge's answers, in order, including unusable ones.
	Replies []string `json:"replies,omitempty"`
	// Votes is the number of answers that the judge was asked for. Yes and No are those it gave.
	Votes int `json:"votes,omitempty"`
	Yes   int `json:"yes,omitempty"`
	No    int `json:"no,omitempty"`
	// Requests counts the requests. Usage and CostUSD are their usage and cost.
	Requests int      `json:"requests"`
	Usage    Usage    `json:"usage"`
	CostUSD  *float64 `json:"costUsd,omitempty"`
}
