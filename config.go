package plumb

// RunnerConfig describes one runner as the user wrote it, in a config file or on the command line.
// Exactly one of Model, Command, Replay and Agent is set.
type RunnerConfig struct {
	// ID names the runner in results; it is the key in the config file.
	ID string `json:"id,omitempty" yaml:"-" redact:"-"`
	// Model is "provider:model", an alias such as "opus", or a model name that the built-in table
	// knows.
	Model string `json:"model,omitempty" yaml:"model,omitempty" redact:"-"`
	// Command is a program with its arguments. It reads a prompt and writes an answer.
	Command []string `json:"command,omitempty" yaml:"command,omitempty"`
	// Replay is the directory of an earlier run. The runner plays its sessions back.
	Replay string `json:"replay,omitempty" yaml:"replay,omitempty" redact:"-"`
	// Agent is a coding-agent CLI. Of the fields below, only TimeoutMs and MaxParallel apply to it.
	Agent *AgentConfig `json:"agent,omitempty" yaml:"agent,omitempty"`

	// BaseURL replaces the provider's own address.
	BaseURL string `json:"baseURL,omitempty" yaml:"baseURL,omitempty"`
	// API selects an interface of the provider: "chat" or "responses" for openai.
	API string `json:"api,omitempty" yaml:"api,omitempty" redact:"-"`
	// APIKeyEnv names the environment variable that holds the key, instead of the provider's usual
	// one.
	APIKeyEnv string `json:"apiKeyEnv,omitempty" yaml:"apiKeyEnv,omitempty" redact:"-"`
	// Headers are added to each request. A value may refer to environment variables as ${NAME}.
	Headers map[string]string `json:"headers,omitempty" yaml:"headers,omitempty"`
	// Env is added to the environment of a command.
	Env map[string]string `json:"env,omitempty" yaml:"env,omitempty"`

	// Temperature and Seed default to 0 and 42. They are pointers, so that null in the config file
	// can leave them to the provider; see NoTemperature and NoSeed.
	Temperature     *float64 `json:"temperature,omitempty" yaml:"temperature,omitempty"`
	Seed            *int64   `json:"seed,omitempty" yaml:"seed,omitempty"`
	TopP            *float64 `json:"topP,omitempty" yaml:"topP,omitempty"`
	MaxOutputTokens *int64   `json:"maxOutputTokens,omitempty" yaml:"maxOutputTokens,omitempty"`
	ReasoningEffort *string  `json:"reasoningEffort,omitempty" yaml:"reasoningEffort,omitempty" redact:"-"`
	// NoTemperature and NoSeed mean that the parameter is not sent.
	NoTemperature bool `json:"noTemperature,omitempty" yaml:"-"`
	NoSeed        bool `json:"noSeed,omitempty" yaml:"-"`

	// TimeoutMs limits one request; 0 means the default.
	TimeoutMs int64 `json:"timeoutMs,omitempty" yaml:"timeoutMs,omitempty"`
	// MaxParallel limits the concurrent requests to this runner; 0 means that only the run limits
	// them.
	MaxParallel int `json:"maxParallel,omitempty" yaml:"maxParallel,omitempty"`
}

// AgentConfig describes a coding-agent CLI.
type AgentConfig struct {
	// Type is the name of the agent, such as "codex". docs/agents.md lists them.
	Type string `json:"type" redact:"-"`
	// Model is the agent's own name for the model.
	Model string `json:"model" redact:"-"`
	// Command is the program, a name or a path; "" is the agent's usual program. CommandArgs come
	// before all other arguments, for launchers such as npx. Args come after the agent's
	// sub-command and before the prompt.
	Command     string            `json:"command,omitempty"`
	CommandArgs []string          `json:"commandArgs,omitempty"`
	Args        []string          `json:"args,omitempty"`
	Env         map[string]string `json:"env,omitempty"`
	// Version pins the version of the CLI: any other version is an error. "2.1" matches 2.1.328.
	Version string `json:"version,omitempty" redact:"-"`
	// Permissions is "bypass" or "default". "bypass" lets the agent act without asking; it is used
	// when Permissions is empty. "default" applies the agent's own rules.
	Permissions string `json:"permissions,omitempty" redact:"-"`
	// Skills are directories with a SKILL.md to offer to the agent. MCPServers are servers to
	// offer, by name.
	Skills     []string             `json:"skills,omitempty"`
	MCPServers map[string]MCPServer `json:"mcpServers,omitempty"`
	// Without is what the runner withholds from the agent, although the suite, the runner or the
	// workspace offers it: "skill", "instructions", "mcp", "skill=NAME" or "mcp=NAME". --ablate sets
	// it; no config has it.
	Without string `json:"without,omitempty" redact:"-"`
	// InheritConfig lets the agent use the user's own configuration, skills and memory.
	InheritConfig bool `json:"inheritConfig,omitempty"`
	// BaseURL sends the requests for the model to another address: a gateway, or a server on this
	// machine. APIKeyEnv names the environment variable that holds the key for it.
	BaseURL   string `json:"baseURL,omitempty"`
	APIKeyEnv string `json:"apiKeyEnv,omitempty" redact:"-"`
}

// MCPServer is a server that offers tools to an agent: a program, or an address.
type MCPServer struct {
	Command string            `json:"command,omitempty"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	URL     string            `json:"url,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
}
