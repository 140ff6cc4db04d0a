package cli

import (
	"context"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/compare"
	"github.com/plumb-eval/plumb/internal/config"
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/project"
	"github.com/plumb-eval/plumb/internal/runlog"
	"github.com/plumb-eval/plumb/internal/runner/modelapi"
	"github.com/plumb-eval/plumb/internal/suite"
	"github.com/plumb-eval/plumb/internal/suite/lib"
	"github.com/plumb-eval/plumb/internal/text"
)

// candidates returns what an argument or flag can be, after the arguments before it. Each is a
// value, with a description behind a tab. It uses the files of the project; it executes no code of them and
// uses no network. What cannot be read has no candidates.
type candidates func(c *completer, args []string) []string

// completer has the project of the command line that the shell completes.
type completer struct {
	*project.Project
	ctx  context.Context //nolint:containedctx // it lives for one completion
	word string          // what the user has typed of it
	read suite.ReadOptions
}

// argumentCandidates returns what the arguments of the commands can be, by the path of the command.
// The last entry of a list is repeated if the command takes more arguments.
func argumentCandidates() map[string][]candidates {
	oneRun, sides := []candidates{runs}, []candidates{sides}
	return map[string][]candidates{
		"resume": oneRun, "score": oneRun, "report": oneRun, "view": oneRun,
		"show": {runs, casesOfRun}, "explain": {runs, casesOfRun},
		"compare":      sides,
		"baseline set": {baselines, runs}, "baseline rm": {baselines},
		"run": {suites}, "validate": {suites}, "list": {suites, nothing}, "plan": {suitesAndRuns, suites},
		"suite lint": {suites}, "suite hash": {suites}, "suite diff": {suites, suites, nothing},
	}
}

// flagCandidates returns what flags can be, by name; the same name means the same everywhere.
func flagCandidates() map[string]candidates {
	return map[string]candidates{
		"runner": runners, "model": models, "judge": models, "baseline": baselines, "against": sides, "baseline-from": runs,
		"replay": runs, "tier": tiers, "case": casesOfSuite,
		"tag":      ofCases(func(c *plumb.Case) []string { return c.Tags }),
		"category": ofCases(func(c *plumb.Case) []string { return []string{c.Category} }),
		"prompt":   ofCases(func(c *plumb.Case) []string { return []string{c.PromptName} }),
		"prompts":  ofCases(func(c *plumb.Case) []string { return []string{c.PromptName} }),
	}
}

// completes adds the candidates to all commands.
func (a *app) completes(root *cobra.Command) {
	arguments, flags := argumentCandidates(), flagCandidates()
	var add func(cmd *cobra.Command)
	add = func(cmd *cobra.Command) {
		if known := arguments[strings.TrimPrefix(cmd.CommandPath(), root.Name()+" ")]; known != nil {
			cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
				return a.complete(cmd, known[min(len(args), len(known)-1)], args, word)
			}
		}
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			known := flags[f.Name]
			if _, taken := cmd.GetFlagCompletionFunc(f.Name); known == nil || taken {
				return
			}
			_ = cmd.RegisterFlagCompletionFunc(f.Name, // the flag exists
				func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
					return a.complete(cmd, known, args, word)
				})
		})
		for _, sub := range cmd.Commands() {
			add(sub)
		}
	}
	add(root)
}

// complete returns the candidates that begin with word. Without one, the shell offers files.
func (a *app) complete(cmd *cobra.Command, known candidates, args []string, word string,
) ([]string, cobra.ShellCompDirective) {
	quiet := *a
	quiet.Stderr, quiet.Stdout = io.Discard, io.Discard
	words := func(flag string) string {
		if f := cmd.Flag(flag); f != nil {
			return f.Value.String()
		}
		return ""
	}
	p, err := quiet.completed(cmd.Context(), words("config"), words("output-dir"))
	if err != nil {
		return nil, cobra.ShellCompDirectiveDefault
	}
	a.closers = append(a.closers, p)
	found := known(&completer{p, cmd.Context(), word, suite.ReadOptions{Tier: words("tier"), Dir: a.Dir}}, args)
	found = slices.DeleteFunc(found, func(s string) bool {
		name, _, _ := strings.Cut(s, "\t")
		return !strings.HasPrefix(s, word) || doc.Unprintable(name) != "" // the shell would insert it
	})
	for i, s := range found {
		if name, about, ok := strings.Cut(s, "\t"); ok {
			found[i] = name + "\t" + text.Line(about, 80)
		}
	}
	if len(found) == 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	return found, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

// completed opens the project for a completion. It does not execute a config in code. Then, and if
// the config is broken, the project has no runners and no suites, but its runs are found.
func (a *app) completed(ctx context.Context, file, outputDir string) (*project.Project, error) {
	if file = a.path(file); file == "" {
		var err error
		if file, err = config.Find(a.Dir); err != nil {
			return nil, err
		}
	}
	read := &config.Config{Dir: a.Dir}
	if file != "" {
		read.Dir = filepath.Dir(file)
		if !lib.IsCode(file) {
			if c, err := project.ReadConfig(ctx, a.env(), file); err == nil {
				read = c
			}
		}
	}
	return a.project(read, outputDir)
}

func nothing(*completer, []string) []string { return nil }

func runs(c *completer, _ []string) []string {
	ids, err := runlog.List(c.Runs())
	if err != nil || len(ids) == 0 {
		return nil
	}
	slices.Reverse(ids)
	found := []string{"last\tthe latest run"}
	for _, id := range ids {
		var s project.Spec
		if runlog.ReadSpec(filepath.Join(c.Runs(), id), &s) == nil {
			id += "\t" + s.Suite
		}
		found = append(found, id)
	}
	return found
}

func sides(c *completer, args []string) []string {
	found := append(baselines(c, args), runs(c, args)...)
	if len(found) > 1 {
		found = append(found, "prev\tthe run before the latest")
	}
	return found
}

func suitesAndRuns(c *completer, args []string) []string {
	return append(suites(c, args), runs(c, args)...)
}

func baselines(c *completer, _ []string) []string {
	all, err := compare.Baselines(c.Baselines())
	if err != nil {
		return nil
	}
	var found []string
	for _, b := range all {
		found = append(found, b.Name+"\tbaseline")
	}
	return found
}

// casesOfRun returns the cases of the run in the first argument, those that are not green first.
func casesOfRun(c *completer, args []string) []string {
	path, err := runlog.Find(c.Runs(), args[0])
	if err != nil {
		return nil
	}
	state, err := runlog.At(path).Fold(nil)
	if err != nil {
		return nil
	}
	var red, green []string
	for i := range state.Cases {
		id, worst := state.Cases[i].ID, plumb.OutcomePass
		for r := range state.Info.Runners {
			if o := state.Executions[i*len(state.Info.Runners)+r].Outcome; o != plumb.OutcomePass && o != "" {
				worst = o
			}
		}
		if worst == plumb.OutcomePass {
			green = append(green, id+"\tpass")
		} else {
			red = append(red, id+"\t"+string(worst))
		}
	}
	return append(red, green...)
}

// runners returns the runners of the run in the first argument, or those of the config.
func runners(c *completer, args []string) []string {
	var found []string
	if path, err := runlog.Find(c.Runs(), runOf(args)); err == nil && len(args) > 0 {
		if state, err := runlog.At(path).Fold(nil); err == nil {
			for i := range state.Info.Runners {
				found = append(found, state.Info.Runners[i].ID)
			}
		}
	}
	for i := range c.Config.Runners {
		if id := c.Config.Runners[i].ID; !slices.Contains(found, id) {
			found = append(found, id)
		}
	}
	return found
}

func models(*completer, []string) []string {
	var found []string
	for _, m := range modelapi.KnownModels() {
		if !m.Embedding {
			found = append(found, m.ID+"\t"+m.Provider)
		}
	}
	return found
}

// suites returns the published suites with the letters that the user has typed. Without one, the
// shell offers files.
func suites(c *completer, _ []string) []string {
	published, err := suite.Published()
	if err != nil || c.word == "" {
		return nil
	}
	var found []string
	for _, m := range published {
		for _, t := range m.Tiers {
			found = append(found, m.Version+"/"+t.Name+"\tpublished suite")
		}
	}
	return found
}

func tiers(*completer, []string) []string {
	published, err := suite.Published()
	if err != nil {
		return nil
	}
	var found []string
	for _, m := range published {
		for _, t := range m.Tiers {
			if line := t.Name + "\t" + t.Description; !slices.Contains(found, line) {
				found = append(found, line)
			}
		}
	}
	return found
}

func casesOfSuite(c *completer, args []string) []string {
	return ofCases(func(x *plumb.Case) []string { return []string{x.ID} })(c, args)
}

// ofCases returns the distinct values of the cases of the suites in the arguments, or without
// arguments of those in the config. It executes no suite in code, so it finds nothing in one.
func ofCases(values func(c *plumb.Case) []string) candidates {
	return func(c *completer, args []string) []string {
		var refs []string
		for _, ref := range args {
			refs = append(refs, suite.Parts(ref, c.read)...)
		}
		if len(args) == 0 {
			for _, ref := range c.Config.Suites {
				refs = append(refs, suite.Parts(suiteRef(c.Project, ref), c.read)...)
			}
			if len(refs) == 0 && c.read.Tier != "" {
				refs = []string{""} // the newest published suite
			}
		}
		var found []string
		for _, ref := range refs {
			if lib.IsCode(ref) {
				continue
			}
			source, err := c.Read(c.ctx, ref, c.read.Tier, 0)
			if err != nil {
				continue
			}
			for i := range source.Suite.Cases {
				found = append(found, values(&source.Suite.Cases[i])...)
			}
			_ = source.Close() // nothing was written
		}
		slices.Sort(found)
		return slices.DeleteFunc(slices.Compact(found), func(s string) bool { return s == "" })
	}
}
