package project

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/agent/proof"
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/runlog"
)

// Distrusted describes an agent whose adapter misreports, as plumb doctor --agents found. Runs do
// not measure such an agent: they note it, and list it in run.json.
type Distrusted struct {
	// Runner is the id of the runner in the run; "" in the user's cache.
	Runner  string    `json:"runner,omitempty"`
	Agent   string    `json:"agent"`
	Version string    `json:"version"`
	Error   string    `json:"error"`
	At      time.Time `json:"at"`
}

// failure returns the reason why the sessions of the agent are not measured.
func (d *Distrusted) failure() *plumb.Failure {
	f := plumb.Failuref(plumb.OriginNormalization, "Plumb misreads %s %s: on %s, plumb doctor --agents found that %s",
		d.Agent, d.Version, d.At.Format(time.DateOnly), d.Error)
	f.Hint = "use a version of the agent that Plumb supports, or a newer Plumb; plumb doctor --agents checks again"
	return f
}

// userCache returns a path in the user's cache directory, or "" if the user has no home directory.
func (p *Project) userCache(path ...string) string {
	dir := p.Env.Getenv("XDG_CACHE_HOME")
	if dir == "" {
		dir = p.Env.Getenv("LOCALAPPDATA")
	}
	if home := p.Env.Getenv("HOME"); dir == "" && home != "" {
		dir = filepath.Join(home, ".cache")
	}
	if dir == "" {
		return ""
	}
	return filepath.Join(append([]string{dir, "plumb"}, path...)...)
}

// distrustFile returns the file in the user's cache with the distrusted agents by
// [Project.programState]. An entry ends to apply when the agent or Plumb changes.
func (p *Project) distrustFile() string { return p.userCache("agents", "distrust.json") }

// readDistrust returns the distrusted agents. A file that cannot be read counts as empty.
func (p *Project) readDistrust() map[string]Distrusted {
	known := map[string]Distrusted{}
	file := p.distrustFile()
	if file == "" {
		return known
	}
	if doc.DecodeFile(file, &known) != nil {
		return map[string]Distrusted{}
	}
	return known
}

// KeepDistrust records in the user's cache the agents whose adapter misreports, and removes those
// whose adapter works.
func (p *Project) KeepDistrust(ctx context.Context, proofs []proof.Result) error {
	change := func(known map[string]Distrusted) (changed bool) {
		for _, r := range proofs {
			key, ok := p.programState(r.Config.Agent)
			if !ok {
				continue
			}
			_, was := known[key]
			switch {
			case r.Misreports:
				known[key] = Distrusted{
					Agent: r.Config.Agent.Type, Version: r.Version, Error: r.Error, At: p.Env.Now().UTC(),
				}
				changed = true
			case r.OK && was:
				delete(known, key)
				changed = true
			}
		}
		return changed
	}
	file := p.distrustFile()
	if file == "" || !change(p.readDistrust()) {
		return nil
	}
	err := doc.Update(ctx, file, func(file string) error {
		known := p.readDistrust()
		change(known)
		data, err := json.MarshalIndent(known, "", "  ")
		if err != nil {
			return err
		}
		return runlog.WriteFile(file, data)
	})
	if err != nil {
		return fmt.Errorf("record the state of the agents: %w", err)
	}
	return nil
}

// programState identifies the program of an agent, its arguments, its version and that of Plumb. It
// returns false if there is no such program.
func (p *Project) programState(agent *plumb.AgentConfig) (string, bool) {
	path, ok := p.AgentPath(agent.Type, agent.Command)
	if !ok {
		return "", false
	}
	path, err := filepath.EvalSymlinks(path)
	info, errInfo := os.Stat(path)
	if errors.Join(err, errInfo) != nil {
		return "", false
	}
	started := strings.Join(append(append([]string{path}, agent.CommandArgs...), agent.Args...), " ")
	return fmt.Sprintf("%s of plumb %s: %s, %d bytes of %s", agent.Type, Version(), started, info.Size(),
		info.ModTime().UTC().Format(time.RFC3339Nano)), true
}

// distrusts returns what plumb doctor --agents found wrong with the agent of a runner, or nil.
func (p *Project) distrusts(c plumb.RunnerConfig) *Distrusted {
	if c.Agent == nil {
		return nil
	}
	key, ok := p.programState(c.Agent)
	if !ok {
		return nil
	}
	if d, ok := p.readDistrust()[key]; ok {
		return &d
	}
	return nil
}
