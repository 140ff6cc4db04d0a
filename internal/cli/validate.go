package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/config"
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/project"
	"github.com/plumb-eval/plumb/internal/suite"
	"github.com/plumb-eval/plumb/internal/suite/cases"
	"github.com/plumb-eval/plumb/internal/text"
)

// validateCmd is plumb validate.
type validateCmd struct {
	*app
	config, tier string
}

func validateCommand(a *app) *cobra.Command {
	c := &validateCmd{app: a}
	cmd := &cobra.Command{
		Use:   "validate [SUITE...]",
		Short: "Check suites and the config, without running anything",
		Args:  cobra.ArbitraryArgs,
		RunE:  func(cmd *cobra.Command, refs []string) error { return c.run(cmd.Context(), refs) },
	}
	cmd.Flags().StringVar(&c.config, "config", "", "config `file`")
	cmd.Flags().StringVar(&c.tier, "tier", "", "tier of a suite version")
	return cmd
}

func (c *validateCmd) run(ctx context.Context, refs []string) error {
	read, err := project.ReadConfig(ctx, c.env(), c.config)
	var broken doc.Problems
	if err != nil && !errors.As(err, &broken) {
		return err
	}
	if read == nil {
		read = &config.Config{Dir: c.Dir}
	}
	p, err := c.project(read, "")
	if err != nil {
		return err
	}
	if len(refs) == 0 {
		for _, s := range read.Suites {
			refs = append(refs, suiteRef(p, s))
		}
		if read.Path == "" && broken == nil && len(refs) == 0 && c.tier == "" {
			return plumb.WithHint(errors.New("nothing to validate"),
				"plumb validate suite.jsonl, or create a plumb.yaml in this folder")
		}
		if c.tier != "" && len(refs) == 0 {
			refs = []string{""}
		}
	}
	return c.validate(ctx, p, broken, refs)
}

// validated is the result for one suite. Its keys are documented.
type validated struct {
	cases.Summary
	Problems []doc.Problem `json:"problems"`
}

// validate checks suites. broken are the problems of the config.
func (c *validateCmd) validate(ctx context.Context, p *project.Project, broken doc.Problems, refs []string) error {
	all := []validated{}
	invalid := len(broken)
	if !c.json {
		c.listProblems(broken)
	}
	for _, ref := range c.parts(refs, c.tier) {
		bundle, err := suite.Read(ctx, ref, suite.ReadOptions{Tier: c.tier, Dir: c.Dir, Stream: true})
		if err != nil {
			return err
		}
		summary, problems := bundle.Validate(ctx, p.Host(0))
		problems = append(problems, p.Planted(bundle, func() *plumb.Suite {
			read, _, _ := bundle.Suite(ctx, p.Host(0)) // problems has what is wrong with it
			_ = bundle.Close()
			return read
		})...)
		faults := len(doc.Problems(problems).Errors())
		invalid += faults
		all = append(all, validated{summary, doc.Array(problems)})
		if c.json {
			continue
		}
		c.listProblems(problems)
		if faults == 0 {
			fmt.Fprintf(c.Stdout, "%s: %s, %s\n", bundle.Name, text.Plural(summary.Cases, "case"), summary.Hash)
		} else {
			fmt.Fprintf(c.Stdout, "%s: invalid, %s\n", bundle.Name, text.Plural(faults, "problem"))
		}
	}
	if c.json {
		result := map[string]any{"config": p.Config.Path, "configProblems": doc.Array(broken), "suites": all}
		if err := c.print(result); err != nil {
			return err
		}
	} else if p.Config.Path != "" {
		fmt.Fprintf(c.Stdout, "%s: valid, %s\n", c.shown(p.Config.Path), text.Plural(len(p.Config.Runners), "runner"))
	}
	if invalid > 0 {
		return exit(exitUsage)
	}
	return nil
}
