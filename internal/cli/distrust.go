package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/doc"
)

// distrust is what the doctor has found to be wrong with the adapters of agents, by the program and its state: once an agent
// or plumb is another version, nothing is known of it any more. It lies in the user's cache and is kept from run to run.
type distrust map[string]distrusted

type distrusted struct {
	Agent   string    `json:"agent"`
	Version string    `json:"version"`
	Error   string    `json:"error"`
	At      time.Time `json:"at"`
}

// userCache returns the path of a file or directory in the user's cache; "" where the user has no home.
func (a *app) userCache(path ...string) string {
	dir := a.Getenv("XDG_CACHE_HOME")
	if dir == "" {
		dir = a.Getenv("LOCALAPPDATA")
	}
	if home := a.Getenv("HOME"); dir == "" && home != "" {
		dir = filepath.Join(home, ".cache")
	}
	if dir == "" {
		return ""
	}
	return filepath.Join(append([]string{dir, "plumb"}, path...)...)
}

func (a *app) distrustFile() string { return a.userCache("agents", "distrust.json") }

// readDistrust returns what is known; a file that cannot be read says nothing.
func (a *app) readDistrust() distrust {
	known := distrust{}
	file := a.distrustFile()
	if file == "" {
		return known
	}
	if data, err := doc.Read(file, doc.StateBytes); err != nil || json.Unmarshal(data, &known) != nil {
		return distrust{}
	}
	return known
}

// keepDistrust adds the proofs that failed, and takes out those that did not.
func (a *app) keepDistrust(p *project, configs []plumb.RunnerConfig, proofs []proof) error {
	known, changed := a.readDistrust(), false
	for i := range proofs {
		key, ok := a.programState(p, configs[i].Agent)
		if !ok {
			continue
		}
		_, was := known[key]
		switch {
		case proofs[i].distrust:
			known[key] = distrusted{Agent: proofs[i].Agent, Version: proofs[i].Version, Error: proofs[i].Error, At: a.Now().UTC()}
			changed = true
		case proofs[i].OK && was:
			delete(known, key)
			changed = true
		}
	}
	file := a.distrustFile()
	if !changed || file == "" {
		return nil
	}
	data, err := json.MarshalIndent(known, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return fmt.Errorf("keep what is wrong with agents: %w", err)
	}
	temporary, err := os.CreateTemp(filepath.Dir(file), ".distrust-*")
	if err != nil {
		return fmt.Errorf("keep what is wrong with agents: %w", err)
	}
	_, err = temporary.Write(data)
	if err = errors.Join(err, temporary.Close()); err == nil {
		err = os.Rename(temporary.Name(), file)
	}
	if err != nil {
		return fmt.Errorf("keep what is wrong with agents: %w", errors.Join(err, os.Remove(temporary.Name())))
	}
	return nil
}

// programState names an agent's program, what it is started with, and the state it is in.
func (a *app) programState(p *project, agent *plumb.AgentConfig) (string, bool) {
	path, ok := a.agentPath(p, agent.Type, agent.Command)
	if !ok {
		return "", false
	}
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", false
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", false
	}
	started := strings.Join(append(append([]string{path}, agent.CommandArgs...), agent.Args...), " ")
	return fmt.Sprintf("%s of plumb %s: %s, %d bytes of %s", agent.Type, version(), started, info.Size(), info.ModTime().UTC().Format(time.RFC3339Nano)), true
}

// distrusts returns why the sessions of an agent would be no measurement, or nil.
func (a *app) distrusts(p *project, c plumb.RunnerConfig) *plumb.Failure {
	if c.Agent == nil {
		return nil
	}
	key, ok := a.programState(p, c.Agent)
	if !ok {
		return nil
	}
	known, ok := a.readDistrust()[key]
	if !ok {
		return nil
	}
	f := plumb.Failuref(plumb.OriginNormalization, "what %s %s does cannot be told: plumb doctor --agents found on %s that %s",
		known.Agent, known.Version, known.At.Format(time.DateOnly), known.Error)
	f.Hint = "use a version of the agent that plumb knows, or a newer plumb; plumb doctor --agents tries again"
	return f
}
