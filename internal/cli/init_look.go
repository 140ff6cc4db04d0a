package cli

import (
	"bytes"
	_ "embed"
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/agent"
	"github.com/plumb-eval/plumb/internal/convert"
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/files"
	"github.com/plumb-eval/plumb/internal/suite/lib"
)

// skillSuite is a suite for skills, with SKILLS and CASES in place of its lists.
//
//go:embed init/skill.ts
var skillSuite string

// instructionSuite is a suite for the instructions of a folder.
//
//go:embed init/instructions.ts
var instructionSuite []byte

// foreign finds a file of another tool. It returns the file with its format, and what to do with
// it, or two empty strings.
func (c *initCmd) foreign() (found, do string) {
	for _, pattern := range []string{
		"promptfooconfig.*", "evals.json", "evals/evals.json", "skills/*/evals/evals.json", "*.jsonl", "*.json",
	} {
		files, _ := filepath.Glob(filepath.Join(c.Dir, filepath.FromSlash(pattern)))
		for _, file := range files {
			data, err := doc.Read(file, doc.DataBytes)
			if err != nil {
				continue
			}
			name := filepath.ToSlash(c.shown(file))
			if convert.Data(name, data) != nil {
				continue
			}
			if format, _, ok := convert.Suggest(name, data); ok {
				return name + ": " + format, "plumb convert " + name
			}
		}
	}
	return "", ""
}

// skillgymSuites returns the modules that import skillgym, in the folder and one level below it, as
// arguments of plumb run.
func (c *initCmd) skillgymSuites() string {
	var suites []string
	for _, pattern := range []string{"*", "*/*"} {
		files, _ := filepath.Glob(filepath.Join(c.Dir, filepath.FromSlash(pattern)))
		for _, file := range files {
			name := filepath.ToSlash(c.shown(file))
			if !lib.IsCode(name) || strings.Contains(name, ".config.") || strings.HasPrefix(name, "node_modules/") {
				continue
			}
			if data, err := doc.Read(file, doc.SourceBytes); err == nil && importsSkillgym.Match(data) {
				suites = append(suites, name)
			}
		}
	}
	if len(suites) == 0 {
		return "SUITE.ts"
	}
	return strings.Join(suites, " ")
}

var importsSkillgym = regexp.MustCompile(`(?:from|require\()\s*["']skillgym["']`)

// chooseAgent chooses the agent of the flag, or the first one on the PATH, if possible one that is
// logged in, and otherwise Claude Code. The comment says what has to be done before it can run; missing means that it
// is not on the PATH.
func (c *initCmd) chooseAgent(found []finding, environ []string) (runner, comment string, missing bool) {
	name, model, _ := strings.Cut(c.agent, ":")
	signIn := map[string]string{}
	for _, spec := range agent.All() {
		signIn[spec.Name] = agent.SignIn(spec, environ)
	}
	i := slices.IndexFunc(found, func(f finding) bool {
		return f.Kind == "agent" && f.OK && name == "" && signIn[f.Name] == ""
	})
	if i < 0 {
		i = slices.IndexFunc(found, func(f finding) bool {
			return f.Kind == "agent" && (f.Name == name || f.OK && name == "")
		})
	}
	if i < 0 {
		i = slices.IndexFunc(found, func(f finding) bool { return f.Kind == "agent" && f.Name == "claude-code" })
	}
	f := found[i]
	if model == "" {
		model = usualAgentModel(f.Name)
	}
	var todo []string
	if model == "MODEL" {
		todo = append(todo, "set a model of "+f.Name+" in plumb.yaml")
	}
	if !f.OK {
		todo = append(todo, "install an agent, such as "+f.Name+" ("+f.Fix+")")
	}
	if signIn[f.Name] != "" {
		todo = append(todo, signIn[f.Name])
	}
	return f.Name + ":" + model, strings.Join(todo, "; "), !f.OK
}

// usualAgentModel returns a model of an agent to start with, or MODEL.
func usualAgentModel(name string) string {
	switch name {
	case "claude-code":
		return "sonnet"
	case "codex":
		return "gpt-5.5"
	case "gemini":
		return "gemini-3-pro"
	default:
		return "MODEL"
	}
}

// agentSuite returns a suite for the skills of the folder, or else for its instructions. It is not
// ok if there are neither, or only instructions and no agent.
func (c *initCmd) agentSuite(missing bool) (text []byte, ok bool) {
	skills := c.skillsHere()
	if len(skills) == 0 {
		for _, name := range []string{"AGENTS.md", "CLAUDE.md", "GEMINI.md"} {
			ok = ok || !missing && files.Exists(c.path(name))
		}
		return instructionSuite, ok
	}
	var dirs, cases strings.Builder
	ids := map[string]bool{}
	for i, s := range skills {
		if i > 0 {
			dirs.WriteString(", ")
		}
		fmt.Fprintf(&dirs, "%q", s.dir)
		id := "uses-" + s.name
		for n := 2; ids[id]; n++ {
			id = fmt.Sprintf("uses-%s-%d", s.name, n)
		}
		ids[id] = true
		fmt.Fprintf(&cases, `
  {
    id: %q,
    // Replace the prompt with a task that needs the skill and does not name it, as your users would ask.
    prompt: %q,
    maxSteps: 20,
    assert(report) {
      assert.skills.has(report, %q);
      // Check the result, too, such as assert.commands.succeeded(report, "npm test").
      assert.output.notEmpty(report);
    },
  },`, id, "Do a small example of this task: "+s.description, s.name)
	}
	return []byte(strings.NewReplacer("SKILLS", dirs.String(), "CASES", cases.String()+"\n").Replace(skillSuite)), true
}

// skill is a skill in the folder: its directory relative to the folder, and what its SKILL.md says.
type skill struct{ dir, name, description string }

// skillsHere finds the skills of the folder, each once.
func (c *initCmd) skillsHere() (found []skill) {
	patterns := []string{"SKILL.md", "skills/*/SKILL.md"}
	for _, spec := range agent.All() {
		for _, dir := range spec.SkillDirs {
			patterns = append(patterns, path.Join(dir, "*", "SKILL.md"))
		}
	}
	for _, pattern := range patterns {
		files, _ := filepath.Glob(filepath.Join(c.Dir, filepath.FromSlash(pattern)))
		for _, file := range files {
			data, err := doc.Read(file, doc.DataBytes)
			if err != nil {
				continue
			}
			dir, err := filepath.Rel(c.Dir, filepath.Dir(file))
			if err != nil {
				continue
			}
			s := skill{
				dir:  strings.TrimSuffix("./"+filepath.ToSlash(dir), "/."),
				name: agent.SkillName(filepath.Dir(file)), description: describedTask(data),
			}
			if !slices.ContainsFunc(found, func(o skill) bool { return o.name == s.name }) {
				found = append(found, s)
			}
		}
	}
	return found
}

// describedTask returns the description at the top of a SKILL.md.
func describedTask(data []byte) string {
	const none = "describe the task here"
	data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
	front, ok := bytes.CutPrefix(data, []byte("---\n"))
	front, _, closed := bytes.Cut(front, []byte("\n---"))
	if !ok || !closed {
		return none
	}
	v, problem := doc.ParseYAML("SKILL.md", front, 1000)
	if problem != nil {
		return none
	}
	if text := v.Get("description"); text != nil && text.Kind == doc.String && text.Text() != "" {
		return strings.Join(strings.Fields(text.Text()), " ")
	}
	return none
}

// checkFlags checks --agent and --ci.
func (c *initCmd) checkFlags() error {
	if name, _, _ := strings.Cut(c.agent, ":"); c.agent != "" {
		var known []string
		for _, spec := range agent.All() {
			known = append(known, spec.Name)
		}
		if !slices.Contains(known, name) {
			return unknownValue("--agent", name, known)
		}
	}
	if known := []string{"github", "gitlab"}; c.ci != "" && !slices.Contains(known, c.ci) {
		return unknownValue("--ci", c.ci, known)
	}
	return nil
}

// unknownValue returns the error for a value of a flag that is not one of the known ones.
func unknownValue(flag, value string, known []string) error {
	hint := "known are " + strings.Join(known, ", ")
	if near := plumb.Nearest(value, known); near != "" {
		hint = "did you mean " + near + "? " + hint
	}
	return plumb.WithHint(fmt.Errorf("%s: unknown value %q", flag, value), hint)
}
