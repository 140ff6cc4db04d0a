package agentcli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/plumb-eval/plumb"
)

// adapter is what is peculiar to the start of one agent.
type adapter struct {
	agent string
	// programs are the names that the agent's program has had, newest first; install says how to get it.
	programs []string
	install  string
	// native are the files in node_modules that an npm package's script would start; PLATFORM stands for "linux-x64".
	native []string
	// skills is where the agent looks for skills in a workspace.
	skills string
	// skillDirs are all places in a workspace where it looks for them.
	skillDirs []string
	// instructions are the files that it reads in a workspace and in the directories above it, user those that it reads in
	// the user's home, machine those of the whole machine.
	instructions, user, machine []string
	// mcp are the files of a workspace that name MCP servers, userMCP those of the user's home.
	mcp, userMCP []string
	// keys are environment variables that hold its credentials or choose its provider. They reach it although their names
	// say that they are secret or belong to an agent; a * at the end stands for anything. key is the one for the key of a
	// runner.
	keys []string
	key  string
	// cloud are more of them, for accounts with a cloud provider, which reach it where the variable named first is set.
	cloud map[string][]string
	// credentials are files that hold its credentials. variable names the directory, instead of dir below the user's home;
	// in a session they are at the same place below the session's home.
	credentials []credentials
	// state are the parts of its home that hold what it keeps of a session.
	state []string
	// launch completes l with the agent's arguments, environment and files.
	launch func(l *launch) error
}

type credentials struct {
	variable, dir, file string
	// only are the members of the file's JSON object that it is about, if it holds other things too. The agent then gets a
	// copy.
	only []string
}

// adapterOf returns the adapter of an agent.
func adapterOf(agent string) (adapter, error) {
	switch agent {
	case "codex":
		return codexAdapter(), nil
	case "claude-code":
		return claudeAdapter(), nil
	case "opencode":
		return opencodeAdapter(), nil
	case "cursor-agent":
		return cursorAdapter(), nil
	case "copilot":
		return copilotAdapter(), nil
	case "gemini":
		return geminiAdapter(), nil
	case "qwen":
		return qwenAdapter(), nil
	case "":
		return adapter{}, plumb.WithHint(fmt.Errorf("the agent has no type"), "it is one of "+strings.Join(Types(), ", "))
	default:
		err := fmt.Errorf("unknown agent %q", agent)
		if near := plumb.Nearest(agent, Types()); near != "" {
			err = fmt.Errorf("%w (did you mean %q?)", err, near)
		}
		return adapter{}, plumb.WithHint(err, "the agents are "+strings.Join(Types(), ", "))
	}
}

// Reach lists the names that agents look for in the directories above the one that they work in: instructions, skills, settings.
// Of a path only its beginning counts: what else is in a directory of an agent's is meant for it, too.
func Reach() []string {
	var names []string
	for _, agent := range Types() {
		a, err := adapterOf(agent)
		if err != nil {
			continue
		}
		for _, path := range slices.Concat(a.instructions, a.skillDirs, a.mcp) {
			name, _, _ := strings.Cut(path, "/")
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
