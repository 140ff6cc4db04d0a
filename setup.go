package plumb

// ScoringVersion is the version of the meaning of the checks. It is raised when the same session
// can get another verdict, so that runs with different versions are not compared by accident.
const ScoringVersion = 1

// Setup records what a run was made with, as far as the other fields of [RunInfo] do not say it:
// what must be equal in two runs, so that a difference between their results has one cause. Runs of
// earlier versions have none.
//
// A hash is the beginning of a SHA-256 in hex digits. No hash covers a secret.
type Setup struct {
	// Scoring is the [ScoringVersion] of the run.
	Scoring int `json:"scoring"`
	// TimeoutMs limits a session whose case sets no limit.
	TimeoutMs int64 `json:"timeoutMs,omitempty"`
	// AllRepetitions means that agents perform all planned repetitions.
	AllRepetitions bool `json:"allRepetitions,omitempty"`
	// Judge is nil if the cases need no judge.
	Judge *JudgeSetup `json:"judge,omitempty"`
	// Embedder is the hash of the configuration of the embedder; "" if the cases need none.
	Embedder string `json:"embedder,omitempty" redact:"-"`
	// Template is the hash of the workspace template, without the instructions, skills and servers
	// in it; "" without a template.
	Template string `json:"template,omitempty" redact:"-"`
	// Runners are in the order of [RunInfo.Runners].
	Runners []RunnerSetup `json:"runners"`
}

// JudgeSetup records how the judge is asked.
type JudgeSetup struct {
	// Votes is the number of answers to each question that does not set one.
	Votes int `json:"votes"`
	// Question is the hash of the template of the questions, and Config the hash of the
	// configuration of the judge; "" if each runner judges its own answers.
	Question string `json:"question" redact:"-"`
	Config   string `json:"config,omitempty" redact:"-"`
}

// RunnerSetup records the configuration of one runner.
type RunnerSetup struct {
	// API is the interface of the provider that the configuration selects.
	API string `json:"api,omitempty" redact:"-"`
	// Program is the hash of the program with its arguments, of the names of headers, and of the
	// environment without secrets; "" if the configuration has none of them.
	Program string `json:"program,omitempty" redact:"-"`
	// TimeoutMs limits one request.
	TimeoutMs int64 `json:"timeoutMs,omitempty"`
	// Permissions, Version and InheritConfig are those of [AgentConfig].
	Permissions   string `json:"permissions,omitempty" redact:"-"`
	Version       string `json:"version,omitempty" redact:"-"`
	InheritConfig bool   `json:"inheritConfig,omitempty"`
	// Skills, Instructions and MCPServers are what the suite, the runner and the workspace template
	// offer to the runner, sorted by name.
	Skills       []Content `json:"skills,omitempty"`
	Instructions []Content `json:"instructions,omitempty"`
	MCPServers   []Content `json:"mcpServers,omitempty"`
}

// Content is something with a name, and the hash of its content.
type Content struct {
	Name string `json:"name"`
	Hash string `json:"hash" redact:"-"`
}
