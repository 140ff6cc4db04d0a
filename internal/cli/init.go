package cli

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/config"
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/suite"
	"github.com/plumb-eval/plumb/internal/suite/lib"
)

// schemaURL is where the JSON Schema of the config is published, for editors.
const schemaURL = "https://raw.githubusercontent.com/plumb-eval/plumb/main/schema/plumb.config.schema.json"

// firstSuite is what plumb init writes: three cases that show three ways to judge.
const firstSuite = `{"id":"reasoning-001","category":"reasoning","input":"A train leaves at 09:47 and arrives at 13:05. How many minutes does the journey take? Answer with the number only.","ideal":"198","assertion":{"type":"numeric"},"metadata":{"difficulty":"easy","tokens_est":40,"tags":["arithmetic"]}}
{"id":"instruction_following-001","category":"instruction_following","input":"Reply with a JSON object that has exactly the keys \"name\" (a string) and \"primes\" (the first four prime numbers). Reply with the JSON only.","assertions":[{"type":"json_schema","schema":{"type":"object","required":["name","primes"],"additionalProperties":false,"properties":{"name":{"type":"string"},"primes":{"const":[2,3,5,7]}}}}],"metadata":{"difficulty":"easy","tokens_est":60,"tags":["json"]}}
{"id":"factual-001","category":"factual","input":"Which chemical element has the symbol W? Answer with one word.","ideal":["tungsten","wolfram"],"assertion":{"type":"contains_any","case_sensitive":false},"metadata":{"difficulty":"easy","tokens_est":25,"tags":["chemistry"]}}
`

// written is what plumb init says of its work.
type written struct {
	Files  []string `json:"files"`
	Runner string   `json:"runner"`
	Suites []string `json:"suites"`
	Next   string   `json:"next"`
}

func (a *app) initCommand() *cobra.Command {
	var force, types bool
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Write the smallest config and suite that run here",
		Long: `Look at this folder, and at what plumb doctor finds, and write a plumb.yaml and, where the folder has no suite
yet, a suite.jsonl of three cases. Files that exist are left alone unless --force is given.

With --types, write the types that suites in TypeScript import, plumb.d.ts, and a tsconfig.json where there is none.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if types {
				return a.initTypes(force)
			}
			w, err := a.initialise(cmd.Context(), force)
			if err != nil {
				return err
			}
			if a.json {
				return a.print(w)
			}
			for _, f := range w.Files {
				fmt.Fprintf(a.Stdout, "wrote %s\n", f)
			}
			fmt.Fprintf(a.Stdout, "suites: %s\nrunner: %s\n\nNext: %s\n", strings.Join(w.Suites, ", "), w.Runner, w.Next)
			return nil
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "replace files that exist")
	cmd.Flags().BoolVar(&types, "types", false, "write the types for suites in TypeScript instead")
	return cmd
}

// initTypes writes the types for suites in TypeScript, and says so.
func (a *app) initTypes(force bool) error {
	files, err := a.writeTypes(force)
	if err != nil {
		return err
	}
	if a.json {
		return a.print(map[string][]string{"files": files})
	}
	for _, f := range files {
		fmt.Fprintf(a.Stdout, "wrote %s\n", f)
	}
	if !slices.Contains(files, tsconfigFile) {
		fmt.Fprintf(a.Stdout, "%s is there already, and stays as it is: it must include %s\n", tsconfigFile, typesFile)
	}
	fmt.Fprintln(a.Stdout, `
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

func (a *app) initialise(ctx context.Context, force bool) (*written, error) {
	for _, name := range config.Names() {
		if path := a.path(name); exists(path) && (!force || name != "plumb.yaml") {
			return nil, plumb.WithHint(fmt.Errorf("%s exists already", name), "edit it, or plumb init --force to write it anew")
		}
	}
	p, err := a.project(&config.Config{Dir: a.Dir}, "")
	if err != nil {
		return nil, err
	}
	w := &written{}
	if w.Suites, err = a.suitesHere(ctx); err != nil {
		return nil, err
	}
	if len(w.Suites) == 0 {
		const name = "suite.jsonl"
		if path := a.path(name); exists(path) && !force {
			return nil, plumb.WithHint(fmt.Errorf("%s exists already, and is not a valid suite", name), "plumb validate "+name)
		} else if err := os.WriteFile(path, []byte(firstSuite), 0o644); err != nil { //nolint:gosec // the user's own file, to be shared
			return nil, fmt.Errorf("write %s: %w", name, err)
		}
		w.Suites, w.Files = []string{name}, append(w.Files, name)
	}
	model, comment := chooseModel(a.diagnose(ctx, p))
	w.Runner, w.Next = model, "plumb run"
	if comment != "" {
		w.Next = comment + ", then: plumb run"
	}
	if err := os.WriteFile(a.path("plumb.yaml"), configText(model, comment, w.Suites), 0o644); err != nil { //nolint:gosec // the user's own file, to be shared
		return nil, fmt.Errorf("write plumb.yaml: %w", err)
	}
	w.Files = append(w.Files, "plumb.yaml")
	return w, nil
}

// suitesHere returns the valid suites in the working directory.
func (a *app) suitesHere(ctx context.Context) ([]string, error) {
	var files []string
	for _, pattern := range []string{"*.jsonl", "*.suite.yaml", "*.suite.yml", "*.suite.ts", "*.suite.mts", "*.suite.js", "*.suite.mjs"} {
		found, err := filepath.Glob(filepath.Join(a.Dir, pattern))
		if err != nil {
			return nil, fmt.Errorf("look for suites: %w", err)
		}
		files = append(files, found...)
	}
	var suites []string
	for _, f := range files {
		bundle, err := suite.Read(filepath.Base(f), suite.ReadOptions{Dir: a.Dir}) //nolint:contextcheck // to read YAML executes nothing
		if err != nil {
			continue // another kind of file, or a published suite that has changed
		}
		if summary, problems := bundle.ValidateIn(ctx, lib.Host{Environ: a.Environ}); summary.Cases > 0 && len(doc.Problems(problems).Errors()) == 0 {
			suites = append(suites, filepath.Base(f))
		}
	}
	slices.Sort(suites)
	return suites, nil
}

// chooseModel picks what can run now; with a comment, what has to be done before it can.
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
			return f.Name + ":MODEL", "put a model of " + f.Name + " into plumb.yaml (plumb models --live " + f.Name + ")"
		}
	}
	return "openai:gpt-5.4-mini", "set OPENAI_API_KEY, or put another model into plumb.yaml (plumb doctor)"
}

func configText(model, comment string, suites []string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# yaml-language-server: $schema=%s\n\n", schemaURL)
	fmt.Fprintln(&b, "# What to run. A suite is a .jsonl file, a directory with a manifest.toml, or a published one such as v1.0/cheap.")
	fmt.Fprintln(&b, "suites:")
	for _, s := range suites {
		fmt.Fprintf(&b, "  - %q\n", s)
	}
	fmt.Fprintln(&b, "\n# What to run it on: models, or programs that answer prompts.")
	if comment != "" {
		fmt.Fprintf(&b, "# To do: %s.\n", comment)
	}
	fmt.Fprintf(&b, "runners:\n  main:\n    model: %q\n", model)
	fmt.Fprintln(&b, "\n# Each flag of plumb run is a key here, in camelCase.\nrun:\n  repeat: 1")
	return b.Bytes()
}
