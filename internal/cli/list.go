package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/project"
	"github.com/plumb-eval/plumb/internal/run"
	"github.com/plumb-eval/plumb/internal/suite"
	"github.com/plumb-eval/plumb/internal/text"
)

// listed is one line of plumb list. Its keys are documented.
type listed struct {
	ID         string   `json:"id" redact:"-"`
	Hash       string   `json:"hash" redact:"-"`
	Category   string   `json:"category,omitempty"`
	Difficulty string   `json:"difficulty,omitempty"`
	Tags       []string `json:"tags,omitempty"`
	Checks     int      `json:"checks"`
	Prompt     string   `json:"prompt"`
}

// listCmd is plumb list.
type listCmd struct {
	*app
	projectFlags
	tier   string
	filter run.Filter
}

func listCommand(a *app) *cobra.Command {
	c := &listCmd{app: a}
	cmd := &cobra.Command{
		Use:   "list [SUITE]",
		Short: "List the cases of a suite, or the published suites and the runners of the config",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("limit") && c.filter.Limit < 1 {
				return errors.New("--limit must be at least 1")
			}
			return c.run(cmd.Context(), first(args))
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&c.config, "config", "", "config `file`")
	fs.StringVar(&c.tier, "tier", "", "tier of a suite version")
	fs.Var((*words)(&c.filter.Prompts), "prompt", "list only cases with one of these prompts, by `label`")
	fs.Var((*words)(&c.filter.Tags), "tag", "list only cases with one of these tags")
	fs.Var((*words)(&c.filter.Categories), "category", "list only cases of these categories")
	fs.Var((*words)(&c.filter.Difficulties), "difficulty", "list only cases of these difficulties")
	numberVar(fs, &c.filter.Limit, "limit", "", 0, "list only the first `n` cases")
	return cmd
}

func (c *listCmd) run(ctx context.Context, suite string) error {
	p, err := c.openFor(ctx, c.projectFlags, suite)
	if err != nil {
		return err
	}
	if suite == "" && c.tier == "" {
		return c.listAll(p)
	}
	parts := c.parts([]string{suite}, c.tier)
	all := make([]map[string]any, len(parts))
	for i, part := range parts {
		if all[i], err = c.listSuite(ctx, p, part); err != nil {
			return err
		}
	}
	switch {
	case !c.json:
		return nil
	case len(all) == 1:
		return c.print(all[0])
	}
	return c.print(all)
}

// listSuite lists one suite, and returns what --json prints.
func (c *listCmd) listSuite(ctx context.Context, p *project.Project, ref string) (map[string]any, error) {
	source, err := p.Read(ctx, ref, c.tier, 0)
	if err != nil {
		return nil, err
	}
	defer source.Close()
	cases, err := c.filter.Select(source.Suite)
	if err != nil {
		return nil, err
	}
	c.know(p.RedactorFor(source.Suite))
	return c.listCases(source.Suite, cases)
}

func (c *listCmd) listAll(p *project.Project) error {
	published, err := suite.Published()
	if err != nil {
		return err
	}
	var runners []string
	for i := range p.Config.Runners {
		runners = append(runners, p.Config.Runners[i].ID)
	}
	if c.json {
		return c.print(map[string]any{
			"published": published, "suites": doc.Array(p.Config.Suites), "runners": doc.Array(runners),
		})
	}
	fmt.Fprintln(c.Stdout, "Published suites:")
	w := text.NewColumns(c.Stdout)
	for _, m := range published {
		for _, t := range m.Tiers {
			fmt.Fprintf(w, "  %s/%s\t%s\t%s\n", m.Version, t.Name, text.Plural(t.TestCount, "case"), t.Description)
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if p.Config.Path == "" {
		fmt.Fprintln(c.Stdout, "There is no config here; plumb init creates one.")
		return nil
	}
	fmt.Fprintf(c.Stdout, "Config %s:\n  suites: %s\n  runners: %s\n", c.shown(p.Config.Path),
		orDash(c.name(strings.Join(p.Config.Suites, ", "))), orDash(c.name(strings.Join(runners, ", "))))
	return nil
}

func (c *listCmd) listCases(suite *plumb.Suite, cases []plumb.Case) (map[string]any, error) {
	lines := make([]listed, len(cases))
	for i := range cases {
		x := &cases[i]
		lines[i] = listed{x.ID, x.Hash, x.Category, x.Difficulty, x.Tags, len(x.Assertions), x.Prompt()}
	}
	if c.json {
		return map[string]any{"suite": suite.Name, "hash": suite.Hash, "cases": lines}, nil
	}
	w := text.NewColumns(c.Stdout)
	fmt.Fprintln(w, "CASE\tCATEGORY\tDIFFICULTY\tTAGS\tPROMPT")
	for _, l := range lines {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", c.name(l.ID), orDash(c.line(l.Category, 40)),
			orDash(c.line(l.Difficulty, 20)), orDash(c.line(strings.Join(l.Tags, ","), 40)),
			c.line(l.Prompt, 60))
	}
	if err := w.Flush(); err != nil {
		return nil, err
	}
	fmt.Fprintf(c.Stdout, "%d of %d cases of %s, %s\n", len(cases), len(suite.Cases), c.name(suite.Name), suite.Hash)
	return nil, nil
}
