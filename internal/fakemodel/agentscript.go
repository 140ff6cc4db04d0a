package fakemodel

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Script is what the model says and does while an agent talks to it. See [Agents].
type Script struct {
	// Name is the script's place in the address: /s/NAME.
	Name string `json:"name"`
	// Dir is the directory that the agent works in, and that relative paths in calls start from; "" takes the one that the
	// agent tells the model.
	Dir string `json:"dir,omitempty"`
	// Scenes are played by the prompt that the agent sends.
	Scenes []Scene `json:"scenes"`
	// MaxRequests is the number of requests above which all are rejected: an agent that the script leads into a loop would
	// send hundreds a minute. 0 means 40.
	MaxRequests int `json:"maxRequests,omitempty"`
}

// Scene is what follows one prompt.
type Scene struct {
	// Prompt is a part of the prompt that begins the scene. Agents send much else in the user's name, such as reminders and
	// the text of skills, which no script wants to answer. The scene with "" begins with the session.
	Prompt string `json:"prompt,omitempty"`
	// Turns are played one a request. The last is repeated if the agent asks for more.
	Turns []Turn `json:"turns"`
}

// Turn is one answer of the model. One without calls ends the agent's work.
type Turn struct {
	Thinking string `json:"thinking,omitempty"`
	Text     string `json:"text,omitempty"`
	Calls    []Call `json:"calls,omitempty"`
	// Tokens is what the turn takes; the zero value counts four bytes of request and answer a token.
	Tokens Tokens `json:"tokens,omitzero"`
	// Fault breaks the first Times requests for the turn, or all of them if Times is 0.
	Fault Fault `json:"fault,omitempty"`
	Times int   `json:"times,omitempty"`
}

// Tokens are the figures of one request. Input includes CacheRead and CacheWrite, Output includes Reasoning.
type Tokens struct {
	Input      int `json:"input,omitempty"`
	Output     int `json:"output,omitempty"`
	Reasoning  int `json:"reasoning,omitempty"`
	CacheRead  int `json:"cacheRead,omitempty"`
	CacheWrite int `json:"cacheWrite,omitempty"`
}

// Call is something for the agent to do, in words that fit every agent: it is made with those tools that the agent offers
// in its request. Exactly one of Run, Read, Write, Edit, Skill, Subagent, Find and Tool is set.
type Call struct {
	// Run is a shell command.
	Run string `json:"run,omitempty"`
	// Read is a file to read, with a shell command where the agent has no tool for it.
	Read string `json:"read,omitempty"`
	// Write is a file to create with Content.
	Write   string `json:"write,omitempty"`
	Content string `json:"content,omitempty"`
	// Edit is a file in which to replace the line Old by New.
	Edit string `json:"edit,omitempty"`
	Old  string `json:"old,omitempty"`
	New  string `json:"new,omitempty"`
	// Skill is the name of a skill to use. Where the agent has no tool for it the model reads the skill's file, from where
	// the agent says that it is.
	Skill string `json:"skill,omitempty"`
	// Subagent is the prompt for a subagent; a scene of its own answers it.
	Subagent string `json:"subagent,omitempty"`
	// Find is what to search for among the tools that the agent holds back until they are searched for.
	Find string `json:"find,omitempty"`
	// Tool is the name of a tool to call with Args, whether the agent has it or not. Of a tool of an MCP server it is the
	// server's name for it.
	Tool string          `json:"tool,omitempty"`
	Args json.RawMessage `json:"args,omitempty"`
}

// ReadScripts reads scripts, as JSON objects one after the other.
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

// check reports what makes a script unplayable.
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
					return fmt.Errorf("scene %d, turn %d: a call is one of run, read, write, edit, skill, subagent, find and tool, not %d of them", i+1, j+1, n)
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

// at finds the turn for a scene in which so many tool results have come back.
func (s *Scene) at(results int) int {
	for i := range s.Turns {
		if i == len(s.Turns)-1 || results < len(s.Turns[i].Calls) || len(s.Turns[i].Calls) == 0 {
			return i
		}
		results -= len(s.Turns[i].Calls)
	}
	return 0
}
