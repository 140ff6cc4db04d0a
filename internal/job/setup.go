package job

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/check"
	"github.com/plumb-eval/plumb/internal/agent"
	"github.com/plumb-eval/plumb/internal/files"
	"github.com/plumb-eval/plumb/internal/run"
	"github.com/plumb-eval/plumb/internal/runlog"
	"github.com/plumb-eval/plumb/internal/runner"
)

// unknownHash replaces the hash of a file that cannot be read.
const unknownHash = "unknown"

// setup returns what the run records for a later comparison. It reads the workspace template and
// the skills.
func (j *Job) setup() *plumb.Setup {
	s := &j.Spec
	out := &plumb.Setup{
		Scoring: plumb.ScoringVersion, AllRepetitions: s.AllRepetitions, TimeoutMs: int64(s.TimeoutMs),
	}
	if out.TimeoutMs == 0 {
		out.TimeoutMs = run.DefaultTimeout.Milliseconds()
	}
	if j.options.Info.SelfJudged || j.options.Judge != nil {
		out.Judge = &plumb.JudgeSetup{Votes: max(1, s.JudgeVotes), Question: short(check.JudgeTemplateHash())}
		if j.options.Judge != nil {
			out.Judge.Config = short(j.options.Judge.Info().Config)
		}
	}
	if j.options.Embedder != nil && s.Embedder != nil {
		out.Embedder = short(runner.ConfigHash(*s.Embedder))
	}
	var offered offered
	if w := j.options.Workspaces.Config; w.TemplateDir != "" {
		out.Template = offered.readTemplate(w.TemplateDir)
	} else {
		offered.readRoot(w.Cwd)
	}
	for _, dir := range j.Suite.Skills {
		offered.skills = append(offered.skills, skillContent(dir))
	}
	for i, r := range j.runners {
		var c plumb.RunnerConfig
		if i < len(s.Runners) {
			c = s.Runners[i]
		}
		if c.Replay != "" {
			out.Runners = append(out.Runners, recordedSetup(c.Replay, r.Info().ID))
			continue
		}
		out.Runners = append(out.Runners, j.runnerSetup(&c, &offered))
	}
	return out
}

// recordedSetup returns the setup of the runner that a replay plays. It is empty if the recorded
// run has none.
func recordedSetup(ref, id string) plumb.RunnerSetup {
	dir, recorded, chosen := strings.Cut(ref, "#")
	if chosen {
		id = recorded
	}
	info, err := runlog.At(dir).Info()
	if err != nil || info.Setup == nil {
		return plumb.RunnerSetup{}
	}
	i := slices.IndexFunc(info.Runners, func(r plumb.RunnerInfo) bool { return r.ID == id })
	if i < 0 && len(info.Runners) == 1 {
		i = 0
	}
	if i < 0 || i >= len(info.Setup.Runners) {
		return plumb.RunnerSetup{}
	}
	return info.Setup.Runners[i]
}

// runnerSetup returns the setup of the runner with the configuration c.
func (j *Job) runnerSetup(c *plumb.RunnerConfig, o *offered) plumb.RunnerSetup {
	r := plumb.RunnerSetup{API: c.API, TimeoutMs: c.TimeoutMs}
	program := map[string]any{}
	add := func(name string, words []string) {
		if len(words) > 0 {
			program[name] = j.withoutSecrets(words)
		}
	}
	add("command", c.Command)
	add("headers", slices.Sorted(maps.Keys(c.Headers)))
	if env := runner.PublicEnv(c.Env); len(env) > 0 {
		program["env"] = env
	}
	if a := c.Agent; a != nil {
		r.Version, r.InheritConfig = a.Version, a.InheritConfig
		if r.Permissions = a.Permissions; r.Permissions == "" {
			r.Permissions = "bypass"
		}
		if a.Command != "" {
			add("program", []string{a.Command})
		}
		add("commandArgs", a.CommandArgs)
		add("args", a.Args)
		if env := runner.PublicEnv(a.Env); len(env) > 0 {
			program["agentEnv"] = env
		}
		for _, dir := range a.Skills {
			if !filepath.IsAbs(dir) {
				dir = filepath.Join(j.project.Config.Dir, dir)
			}
			r.Skills = append(r.Skills, skillContent(dir))
		}
		for name, server := range a.MCPServers {
			server.Env = runner.PublicEnv(server.Env)
			server.Args = j.withoutSecrets(server.Args)
			server.URL = j.factory.Redact.String(server.URL)
			headers := slices.Sorted(maps.Keys(server.Headers))
			server.Headers = nil
			r.MCPServers = append(r.MCPServers, plumb.Content{Name: name, Hash: hashJSON([]any{server, headers})})
		}
	}
	var without agent.Withheld
	if c.Agent != nil {
		without, _ = agent.ParseWithheld(c.Agent.Without) // the runner was made with it
	}
	if len(program) > 0 {
		r.Program = hashJSON(program)
	}
	if c.Agent != nil || len(c.Command) > 0 {
		r.Skills = append(r.Skills, o.skills...)
		r.Instructions = slices.Clone(o.instructions)
		r.MCPServers = append(r.MCPServers, o.servers...)
	}
	withheld := func(kind string, all []plumb.Content) []plumb.Content {
		return slices.DeleteFunc(all, func(c plumb.Content) bool { return without.Has(kind, c.Name) })
	}
	r.Skills = withheld(agent.WithholdSkill, r.Skills)
	r.Instructions = withheld(agent.WithholdInstructions, r.Instructions)
	r.MCPServers = withheld(agent.WithholdMCP, r.MCPServers)
	sortContents(r.Skills)
	sortContents(r.Instructions)
	sortContents(r.MCPServers)
	return r
}

func (j *Job) withoutSecrets(words []string) []string {
	var out []string
	for _, w := range words {
		out = append(out, j.factory.Redact.String(w))
	}
	return out
}

func sortContents(c []plumb.Content) {
	slices.SortFunc(c, func(a, b plumb.Content) int {
		if n := strings.Compare(a.Name, b.Name); n != 0 {
			return n
		}
		return strings.Compare(a.Hash, b.Hash)
	})
}

// offered is what the suite and its workspace offer to each runner that works in a directory.
type offered struct{ skills, instructions, servers []plumb.Content }

// readTemplate adds the instructions, skills and servers in a workspace template, for any agent. It
// returns the hash of the other files.
func (o *offered) readTemplate(dir string) string {
	skillDirs := map[string]bool{}
	special := func(rel string) bool {
		if slices.Contains(strings.Split(rel, "/"), run.Home) {
			return true
		}
		if agent.OffersIn(rel, func(s *agent.Spec) []string { return s.Instructions }) {
			o.instructions = append(o.instructions, plumb.Content{Name: rel, Hash: hashFile(filepath.Join(dir, rel))})
			return true
		}
		if agent.OffersIn(rel, func(s *agent.Spec) []string { return s.MCP }) {
			o.servers = append(o.servers, plumb.Content{Name: rel, Hash: hashFile(filepath.Join(dir, rel))})
			return true
		}
		skill, ok := skillOf(rel)
		if ok && !skillDirs[skill] {
			skillDirs[skill] = true
			o.skills = append(o.skills, plumb.Content{
				Name: path.Base(skill), Hash: hashTree(filepath.Join(dir, filepath.FromSlash(skill))),
			})
		}
		return ok
	}
	return hashFiles(dir, special)
}

// readRoot adds the instructions and the servers in a directory that Plumb does not make. Its other
// content is not known to matter, and may be large.
func (o *offered) readRoot(dir string) {
	if dir == "" {
		return
	}
	seen := map[string]bool{}
	add := func(to *[]plumb.Content, names []string) {
		for _, name := range names {
			file := filepath.Join(dir, filepath.FromSlash(name))
			if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && !seen[name] {
				seen[name] = true
				*to = append(*to, plumb.Content{Name: name, Hash: hashFile(file)})
			}
		}
	}
	for _, s := range agent.All() {
		add(&o.instructions, s.Instructions)
		add(&o.servers, s.MCP)
	}
}

// skillOf returns the directory of the skill that a path of a template belongs to.
func skillOf(rel string) (string, bool) {
	for _, s := range agent.All() {
		for _, dir := range s.SkillDirs {
			if rest, ok := strings.CutPrefix(rel, dir+"/"); ok {
				if name, _, ok := strings.Cut(rest, "/"); ok {
					return dir + "/" + name, true
				}
			}
		}
	}
	return "", false
}

// hashTree returns the hash of the files in a directory.
func hashTree(dir string) string { return hashFiles(dir, func(string) bool { return false }) }

// skillContent returns the name of the skill in a directory, and the hash of what an agent sees of
// it.
func skillContent(dir string) plumb.Content {
	return plumb.Content{
		Name: agent.SkillName(dir), Hash: hashFiles(dir, func(rel string) bool { return !agent.SkillFile(rel) }),
	}
}

// hashFiles returns the hash of the names, the contents and the executable bits of the files in a
// directory, without those that skip names. A symbolic link counts with its target.
func hashFiles(dir string, skip func(rel string) bool) string {
	sum := sha256.New()
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		if rel = filepath.ToSlash(rel); skip(rel) {
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		content := ""
		switch {
		case info.Mode()&fs.ModeSymlink != 0:
			content, err = os.Readlink(name)
		case info.Mode().IsRegular():
			content = hashFile(name)
		}
		fmt.Fprintf(sum, "%q %t %q\n", rel, info.Mode()&0o100 != 0, content)
		return err
	})
	if err != nil {
		return unknownHash
	}
	return short(hex.EncodeToString(sum.Sum(nil)))
}

func hashFile(name string) string {
	f, err := files.Open(name)
	if err != nil {
		return unknownHash
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return unknownHash
	}
	return short(hex.EncodeToString(sum.Sum(nil)))
}

func hashJSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return unknownHash
	}
	sum := sha256.Sum256(text)
	return short(hex.EncodeToString(sum[:]))
}

// short returns the first 16 hex digits of a hash.
func short(hash string) string {
	hash = strings.TrimPrefix(hash, "sha256:")
	return hash[:min(len(hash), 16)]
}
