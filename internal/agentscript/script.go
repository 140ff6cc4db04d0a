// Package agentscript is a model server that plays scripts for coding agents. A script says what
// the model answers and which tools it calls; the server speaks the API of the agent and calls the
// tools that the agent offers. The doctor uses it to verify that Plumb sees what an agent does, and
// tests use it in place of a model.
package agentscript

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/plumb-eval/plumb/internal/wire"
)

// Script is the part of the model in a conversation with an agent. See [Server].
type Script struct {
	// Name is part of the script's address: /s/NAME.
	Name string `json:"name"`
	// Dir is the agent's working directory and the base of relative paths in calls. The default is
	// the directory that the agent names in its request.
	Dir string `json:"dir,omitempty"`
	// Scenes are selected by the prompt that the agent sends.
	Scenes []Scene `json:"scenes"`
	// MaxRequests limits the number of requests, because an agent in a loop sends hundreds per
	// minute. The server rejects all requests above it. 0 means 40.
	MaxRequests int `json:"maxRequests,omitempty"`
}

// Scene is the conversation that follows one prompt.
type Scene struct {
	// Prompt is a part of the prompt that starts the scene. Agents send other messages in the
	// user's name, such as reminders and the text of skills, which start no scene. The scene with
	// "" starts with the session.
	Prompt string `json:"prompt,omitempty"`
	// Turns are played one per request. The last turn repeats if the agent sends more requests.
	Turns []Turn `json:"turns"`
}

// Turn is one answer of the model. A turn without calls ends the agent's work.
type Turn struct {
	Thinking string `json:"thinking,omitempty"`
	Text     string `json:"text,omitempty"`
	Calls    []Call `json:"calls,omitempty"`
	// Tokens is the usage of the turn. The zero value means an estimate of four bytes per token.
	Tokens wire.Tokens `json:"tokens,omitzero"`
	// Fault names the way in which the first Times replies of the turn break, or all of them if Times
	// is 0. [Server.Send] knows what it means.
	Fault string `json:"fault,omitempty"`
	Times int    `json:"times,omitempty"`
}

// Call is an action for the agent, described independently of the agent. The server makes the call
// with the tools that the agent offers in its request. Exactly one of Run, Read, Write, Edit,
// Skill, Subagent, Find and Tool is set.
type Call struct {
	// Run is a shell command.
	Run string `json:"run,omitempty"`
	// Read is a file to read, with a shell command if the agent has no tool for it.
	Read string `json:"read,omitempty"`
	// Write is a file to create with Content.
	Write   string `json:"write,omitempty"`
	Content string `json:"content,omitempty"`
	// Edit is a file in which to replace the line Old by New.
	Edit string `json:"edit,omitempty"`
	Old  string `json:"old,omitempty"`
	New  string `json:"new,omitempty"`
	// Skill is the name of a skill to use. If the agent has no tool for skills, the model reads the
	// skill's file at the path that the agent's request contains.
	Skill string `json:"skill,omitempty"`
	// Subagent is the prompt for a subagent. A separate scene answers it.
	Subagent string `json:"subagent,omitempty"`
	// Find is a query for the agent's tool search, which reveals further tools.
	Find string `json:"find,omitempty"`
	// Tool is the name of a tool to call with Args, even if the agent does not have it. For a tool
	// of an MCP server it is the server's own name.
	Tool string          `json:"tool,omitempty"`
	Args json.RawMessage `json:"args,omitempty"`
}

// ReadScripts reads scripts from a sequence of JSON objects.
func ReadScripts(r io.Reader) ([]Script, error) {
	var out []Script
	in := json.NewDecoder(r)
	in.DisallowUnknownFields()
	for {
		var s Script
		if err := in.Decode(&s); errors.Is(err, io.EOF) {
			return out, nil
		} else if err != nil {
			return nil, fmt.Errorf("script %d: %w", len(out)+1, err)
		}
		if err := s.check(); err != nil {
			return nil, fmt.Errorf("script %d: %w", len(out)+1, err)
		}
		out = append(out, s)
	}
}

// check returns an error if the script cannot be played.
func (s *Script) check() error {
	if s.Name == "" || len(s.Scenes) == 0 {
		return errors.New("a script needs a name and scenes")
	}
	for i, scene := range s.Scenes {
		if len(scene.Turns) == 0 {
			return fmt.Errorf("scene %d has no turns", i+1)
		}
		for j, turn := range scene.Turns {
			for _, c := range turn.Calls {
				if n := c.kinds(); n != 1 {
					return fmt.Errorf("scene %d, turn %d: "+
						"a call is one of run, read, write, edit, skill, subagent, find and tool, "+
						"not %d of them", i+1, j+1, n)
				}
			}
		}
	}
	return nil
}

func (c *Call) kinds() int {
	n := 0
	for _, s := range []string{c.Run, c.Read, c.Write, c.Edit, c.Skill, c.Subagent, c.Find, c.Tool} {
		if s != "" {
			n++
		}
	}
	return n
}

// at returns the turn to play after the given number of tool results.
func (s *Scene) at(results int) int {
	for i := range s.Turns {
		if i == len(s.Turns)-1 || results < len(s.Turns[i].Calls) || len(s.Turns[i].Calls) == 0 {
			return i
		}
		results -= len(s.Turns[i].Calls)
	}
	return 0
}
