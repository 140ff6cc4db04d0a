package cli

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/config"
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/files"
	"github.com/plumb-eval/plumb/internal/suite"
	"github.com/plumb-eval/plumb/internal/suite/lib"
	"github.com/plumb-eval/plumb/schema"
)

// firstSuite is the prompt suite that plumb init creates: two prompts, and three cases that show
// three kinds of checks.
//
//go:embed init/suite.yaml
var firstSuite []byte

// written is the result of plumb init. Its keys are documented.
type written struct {
	Files  []string `json:"files"`
	Runner string   `json:"runner"`
	Suites []string `json:"suites"`
	// Found is what the folder has of another tool, with its format.
	Found string `json:"found,omitempty"`
	Next  string `json:"next"`
}

// initCmd is plumb init.
type initCmd struct {
	*app
	force, types, goTest bool
	agent, ci            string
}

func initCommand(a *app) *cobra.Command {
	c := &initCmd{app: a}
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Create a starter config and suite in this folder",
		Long: `Look at this folder and at what plumb doctor finds, and create a plumb.yaml, and a suite if there is none:

  a SKILL.md, or an AGENTS.md and an agent CLI    a skills.suite.ts for the agent
  files of promptfoo, skill-creator, skillgym     nothing: the command says how to convert or run them
  data: a CSV file, or JSON lines                 a suite.yaml that asks each row, for a model
  anything else                                   a suite.yaml with prompts and variables, for a model

If something is missing before the suite can run, such as a key, the command says what. Existing files are replaced only
with --force.

With --ci, also create a CI job, and with --go a Go test that runs the suites; both work for a config that exists, too.
With --types, create plumb.d.ts, the types for suites in TypeScript, and a tsconfig.json if there is none.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context()) },
	}
	cmd.Flags().BoolVar(&c.force, "force", false, "replace existing files")
	cmd.Flags().StringVar(&c.agent, "agent", "", "create a suite for this `agent`, such as codex or claude-code:opus")
	cmd.Flags().StringVar(&c.ci, "ci", "", "create the job of a CI `service`: github or gitlab")
	cmd.Flags().BoolVar(&c.goTest, "go", false, "create a Go test that runs the suite")
	cmd.Flags().BoolVar(&c.types, "types", false, "create only the types for suites in TypeScript")
	return cmd
}

func (c *initCmd) run(ctx context.Context) error {
	if c.types {
		return c.runTypes()
	}
	w, err := c.create(ctx)
	if err != nil {
		return err
	}
	if c.json {
		return c.print(w)
	}
	for _, f := range w.Files {
		fmt.Fprintf(c.Stdout, "wrote %s\n", f)
	}
	if w.Found != "" {
		fmt.Fprintf(c.Stdout, "found %s\n", c.clean(w.Found))
	}
	if w.Runner != "" {
		fmt.Fprintf(c.Stdout, "suites: %s\nrunner: %s\n", c.clean(strings.Join(w.Suites, ", ")), w.Runner)
	}
	fmt.Fprintf(c.Stdout, "\nNext: %s\n", c.clean(w.Next))
	if files.Exists(c.path("go.mod")) && !c.goTest {
		fmt.Fprintln(c.Stdout, "As a Go test: plumb init --go")
	}
	return nil
}

// runTypes is plumb init --types.
func (c *initCmd) runTypes() error {
	files, err := c.writeTypes()
	if err != nil {
		return err
	}
	if c.json {
		return c.print(map[string][]string{"files": files})
	}
	for _, f := range files {
		fmt.Fprintf(c.Stdout, "wrote %s\n", f)
	}
	if !slices.Contains(files, tsconfigFile) {
		fmt.Fprintf(c.Stdout, "%s exists and was not changed: make sure that it includes %s\n", tsconfigFile, typesFile)
	}
	fmt.Fprintln(c.Stdout, `
A suite is a module such as skills.suite.ts:

  import { assert, type Case } from "plumb";

  export const workspace = { mode: "isolated" } as const;
  const suite: Case[] = [{
    id: "says-hello",
    prompt: "Run the command: echo hello",
    assert(report) { assert.commands.includes(report, "echo hello"); },
  }];
  export default suite;

Next: plumb run skills.suite.ts --agent codex:gpt-5.5`)
	return nil
}

// create creates the config, the suite and the CI job, each if it is wanted.
func (c *initCmd) create(ctx context.Context) (*written, error) {
	w := &written{Files: []string{}, Suites: []string{}}
	if err := c.checkFlags(); err != nil {
		return nil, err
	}
	old := c.oldConfig()
	var err error
	switch {
	case (c.ci != "" || c.goTest) && old != "":
		w.Next = "commit the files"
	case old != "" && strings.HasPrefix(old, "skillgym."):
		w.Found, w.Next = old+": a skillgym config, which Plumb reads as it is", "plumb run "+c.skillgymSuites()
		return w, nil
	case old != "" && (!c.force || old != "plumb.yaml"):
		return nil, plumb.WithHint(fmt.Errorf("%s exists already", old),
			"edit it, or replace it with plumb init --force")
	default:
		err = c.createProject(ctx, w)
	}
	if len(w.Files) == 0 && w.Found != "" {
		return w, err
	}
	if err == nil && c.goTest {
		err = c.writeGoTest(ctx, w)
	}
	if err == nil && c.ci != "" {
		err = c.writeJob(ctx, w)
	}
	return w, err
}

// oldConfig returns the name of a config in the working directory, or "".
func (c *initCmd) oldConfig() string {
	for _, name := range config.Names() {
		if files.Exists(c.path(name)) {
			return name
		}
	}
	return ""
}

// createProject creates the config and, if there is none, the suite.
func (c *initCmd) createProject(ctx context.Context, w *written) error {
	p, err := c.project(&config.Config{Dir: c.Dir}, "")
	if err != nil {
		return err
	}
	if w.Suites, err = c.suitesHere(ctx); err != nil {
		return err
	}
	if len(w.Suites) == 0 && c.agent == "" {
		if w.Found, w.Next = c.foreign(); w.Found != "" {
			return nil
		}
	}
	found := c.doctor().diagnose(ctx, p)
	agent, comment, missing := c.chooseAgent(found, p.Environ())
	name, text, todo := "suite.yaml", firstSuite, ""
	rows, rowsTodo, data := c.dataSuite()
	switch {
	case len(w.Suites) > 0:
		if c.agent == "" && (missing || slices.ContainsFunc(w.Suites, func(s string) bool { return !lib.IsCode(s) })) {
			agent = ""
		}
	case c.agent == "" && data != "" && len(c.skillsHere()) == 0:
		agent, text, todo, w.Found = "", rows, rowsTodo, data+": data"
	default:
		var ok bool
		if text, ok = c.agentSuite(missing); ok || c.agent != "" {
			name = "skills.suite.ts"
		} else {
			agent, text = "", firstSuite
		}
	}
	if len(w.Suites) == 0 {
		if files.Exists(c.path(name)) && !c.force {
			return plumb.WithHint(fmt.Errorf("%s exists already and is not a valid suite", name), "plumb validate "+name)
		} else if err := c.write(name, text); err != nil {
			return err
		}
		w.Suites, w.Files = []string{name}, append(w.Files, name)
	}
	kind := "agent"
	if w.Runner = agent; agent == "" {
		kind = "model"
		w.Runner, comment = chooseModel(found)
	}
	w.Next = "plumb run"
	if todo = strings.Trim(todo+"; "+comment, "; "); todo != "" {
		w.Next = todo + ", then: plumb run"
	}
	w.Files = append(w.Files, "plumb.yaml")
	var skills []string // of a suite in code, the suite itself offers them
	for _, s := range c.skillsHere() {
		if kind == "agent" && !slices.ContainsFunc(w.Suites, lib.IsCode) {
			skills = append(skills, fmt.Sprintf("%q", s.dir))
		}
	}
	return c.write("plumb.yaml", configText(kind, w.Runner, comment, w.Suites, skills))
}

// write writes a file in the working directory that the user may share.
func (c *initCmd) write(name string, data []byte) error {
	if err := files.Write(c.path(name), data, 0o644); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// suitesHere returns the valid suites in the working directory.
func (c *initCmd) suitesHere(ctx context.Context) ([]string, error) {
	var files []string
	for _, pattern := range []string{
		"*.jsonl", "suite.yaml", "*.suite.yaml", "*.suite.yml", "*.suite.ts", "*.suite.mts", "*.suite.js", "*.suite.mjs",
	} {
		found, err := filepath.Glob(filepath.Join(c.Dir, pattern))
		if err != nil {
			return nil, fmt.Errorf("look for suites: %w", err)
		}
		files = append(files, found...)
	}
	var suites []string
	for _, f := range files {
		bundle, err := suite.Read(ctx, filepath.Base(f), suite.ReadOptions{Dir: c.Dir})
		if err != nil {
			continue // another kind of file, or a changed copy of a published suite
		}
		summary, problems := bundle.Validate(ctx, lib.Host{Environ: c.Environ})
		if summary.Cases > 0 && len(doc.Problems(problems).Errors()) == 0 {
			suites = append(suites, filepath.Base(f))
		}
	}
	slices.Sort(suites)
	return suites, nil
}

// chooseModel chooses a model that can run now, or a model and a comment with what has to be done
// before it can run.
func chooseModel(found []finding) (model, comment string) {
	for _, f := range found {
		if f.OK && f.Kind == "server" && len(f.Models) > 0 {
			model = f.Name + ":" + f.Models[0]
			break
		}
	}
	for _, usual := range []string{"openai", "anthropic", "google"} {
		if slices.ContainsFunc(found, func(f finding) bool { return f.OK && f.Kind == "provider" && f.Name == usual }) {
			return usual + ":" + usualModel(usual), ""
		}
	}
	if model != "" {
		return model, ""
	}
	for _, f := range found {
		if f.OK && f.Kind == "provider" {
			return f.Name + ":MODEL",
				"set a model of " + f.Name + " in plumb.yaml (plumb models --live " + f.Name + " lists them)"
		}
	}
	return "openai:gpt-5.4-mini", "set OPENAI_API_KEY, or another model in plumb.yaml (plumb doctor shows what can run)"
}

// configText returns a config with a runner of the kind "model" or "agent".
func configText(kind, runner, comment string, suites, skills []string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# yaml-language-server: $schema=%s\n\n", schema.ConfigURL)
	fmt.Fprintln(&b, "# What to run. A suite is a .jsonl file, a directory with a manifest.toml, "+
		"or a published suite such as v1.0/cheap.")
	fmt.Fprintln(&b, "suites:")
	for _, s := range suites {
		fmt.Fprintf(&b, "  - %q\n", s)
	}
	fmt.Fprintln(&b, "\n# What to run it on: models, agents, or programs that answer prompts.")
	if comment != "" {
		fmt.Fprintf(&b, "# To do: %s.\n", comment)
	}
	if name, model, _ := strings.Cut(runner, ":"); kind == "agent" {
		offer := ""
		if len(skills) > 0 {
			offer = ", skills: [" + strings.Join(skills, ", ") + "]"
		}
		fmt.Fprintf(&b, "runners:\n  main:\n    agent: {type: %s, model: %q%s}\n", name, model, offer)
	} else {
		fmt.Fprintf(&b, "runners:\n  main:\n    model: %q\n", runner)
	}
	fmt.Fprintln(&b, "\n# Each flag of plumb run is a key here, in camelCase.\nrun:\n  repeat: 1")
	return b.Bytes()
}
