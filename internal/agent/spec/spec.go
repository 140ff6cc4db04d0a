// Package spec defines what the rest of the program needs to know of an agent: [Spec], and
// [Launch], the start of a session.
package spec

import (
	"context"
	"path/filepath"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/agent/transcript"
)

// Spec describes one agent CLI. [All] lists the specs; the rest of the program reads what it needs
// to know of an agent from here.
type Spec struct {
	transcript.Format
	// Programs are the names of the agent's program, newest first. Install is the command that
	// installs it, or a sentence.
	Programs []string
	Install  string
	// Native are the files in node_modules that the npm package's script starts; PLATFORM stands
	// for "linux-x64".
	Native []string
	// Launcher is the default command when a configuration has arguments and no command.
	// LauncherArg is the argument that names the agent to a launcher such as npx. Both are
	// optional.
	Launcher, LauncherArg string
	// SharedCache makes sessions share one cache directory, for an agent that unpacks itself there.
	SharedCache bool

	// Key is the environment variable for a runner's key. Keys are all variables that hold
	// credentials or choose the provider: they reach the agent although Plumb keeps secrets and
	// variables of agents from it. A * at the end of a name stands for anything.
	Key  string
	Keys []string
	// Cloud lists more such variables for accounts with a cloud provider. They reach the agent when
	// the variable that is the map's key is set.
	Cloud map[string][]string
	// Credentials are the files that hold the agent's credentials.
	Credentials []Credentials
	// State lists the parts of the agent's home that hold the record of a session.
	State []string

	// Skills is the directory in a workspace where Plumb puts skills. SkillDirs are all directories
	// where the agent looks for them.
	Skills    string
	SkillDirs []string
	// Instructions are the files that the agent reads in a workspace and in the directories above
	// it. UserInstructions are those in the user's home, MachineInstructions those of the whole
	// machine.
	Instructions, UserInstructions, MachineInstructions []string
	// MCP are the files of a workspace that configure MCP servers, UserMCP those of the user's
	// home. InheritedMCPOnly says that the agent cannot take servers from Plumb when it inherits
	// the user's configuration.
	MCP, UserMCP     []string
	InheritedMCPOnly bool

	// PriceOf returns the provider and the model whose price applies to a runner's model, "" when
	// the price is unknown.
	PriceOf func(model string) (provider, priced string)
	// SkillgymUsage turns usage into what skillgym reports for this agent.
	SkillgymUsage func(u *plumb.Usage)
	// Proof says how `plumb doctor --agents` tests the agent.
	Proof Proof

	// Launch completes the command line, the environment and the files of a session.
	Launch func(l *Launch) error
	// Collect gets the parts of the session's record that need the agent's program, after the
	// session. Optional.
	Collect func(ctx context.Context, l *Launch, session string) error
}

// Credentials is a file that holds an agent's credentials.
type Credentials struct {
	// The file is in the directory that the environment variable Variable names, or else in Dir
	// below the user's home. In a session it is in Dir below the session's home.
	Variable, Dir, File string
	// Only lists the members of the file's JSON object that are credentials, if it holds other
	// things too. The agent then gets a copy with these members.
	Only []string
}

// Proof says how an agent plays the scripted sessions of the doctor.
type Proof struct {
	// Model is a model that the agent accepts without asking its provider.
	Model string
	// Path follows the address of the scripted model.
	Path string
	// Impossible says why the agent cannot be tested with a scripted model; "" if it can.
	Impossible string
}

// NoPrice is the PriceOf of an agent whose prices are unknown: its maker bills by subscription, or
// the model's provider does not follow from its name.
func NoPrice(string) (provider, priced string) { return "", "" }

// SkillgymUnknown is the SkillgymUsage of an agent that skillgym does not support.
func SkillgymUnknown(*plumb.Usage) {}

// SkillgymUsage returns a function that counts as skillgym does. It leaves out writes to a prompt
// cache, and adds what extra returns to the total.
func SkillgymUsage(adjust func(u *plumb.Usage, input, output, extra *int64)) func(*plumb.Usage) {
	return func(u *plumb.Usage) {
		if u.InputTokens == nil || u.OutputTokens == nil {
			return
		}
		input, output, extra := *u.InputTokens-transcript.OrZero(u.CacheWriteTokens), *u.OutputTokens, int64(0)
		if adjust != nil {
			adjust(u, &input, &output, &extra)
		}
		u.InputTokens, u.OutputTokens = &input, &output
		u.TotalTokens = new(input + output + extra - transcript.OrZero(u.CacheTokens))
	}
}

// Source returns where the user has the file.
func (c Credentials) Source(getenv func(string) string) string {
	if c.Variable != "" {
		if dir := getenv(c.Variable); dir != "" {
			return filepath.Join(dir, c.File)
		}
	}
	home := UserHome(getenv)
	if home == "" {
		return ""
	}
	return filepath.Join(home, filepath.FromSlash(c.Dir), c.File)
}

// UserHome returns the user's home directory.
func UserHome(getenv func(string) string) string {
	if home := getenv("HOME"); home != "" {
		return home
	}
	return getenv("USERPROFILE")
}
