package cli

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/suite"
)

// suiteDiffCmd is plumb suite diff.
type suiteDiffCmd struct{ *app }

// suiteDiff is one pair of suites; "" is a tier that a version does not have. Its keys are documented.
type suiteDiff struct {
	Before string `json:"before"`
	After  string `json:"after"`
	*suite.Difference
}

func suiteDiffCommand(a *app) *cobra.Command {
	c := &suiteDiffCmd{a}
	return &cobra.Command{
		Use:   "diff OLD NEW",
		Short: "List the cases that differ between two suites",
		Long: `List the cases that were added, removed or changed from OLD to NEW, and in which part: the prompt, the checks, the
labels (category, difficulty, tags, expectations), the limits, or the metadata. OLD and NEW are suite files, or suite
versions, whose tiers are compared by name. A changed tier is compared although it does not have its pinned hash.
What a check in code does is not compared.

The exit code is 0 if no case differs, and 1 if one does.`,
		Example: `  plumb suite diff suites/v1.0 suites/v1.1
  git show HEAD:suite.jsonl > old.jsonl && plumb suite diff old.jsonl suite.jsonl`,
		Args: cobra.ExactArgs(2), //nolint:mnd // OLD and NEW
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args[0], args[1]) },
	}
}

func (c *suiteDiffCmd) run(ctx context.Context, before, after string) error {
	old, fresh := c.parts([]string{before}, ""), c.parts([]string{after}, "")
	tier := func(ref string) string {
		return strings.TrimSuffix(path.Base(filepath.ToSlash(ref)), filepath.Ext(ref))
	}
	// Each pair is one tier; "" stands for a tier that only the other version has.
	var pairs [][2]string
	versions := !slices.Equal(old, []string{before}) && !slices.Equal(fresh, []string{after})
	for _, o := range old {
		i := slices.IndexFunc(fresh, func(n string) bool { return len(old)+len(fresh) == 2 || tier(n) == tier(o) })
		switch {
		case i >= 0:
			pairs = append(pairs, [2]string{o, fresh[i]})
		case versions:
			pairs = append(pairs, [2]string{o, ""})
		default:
			return noTier(after, tier(o))
		}
	}
	for _, n := range fresh {
		switch {
		case slices.ContainsFunc(pairs, func(p [2]string) bool { return p[1] == n }):
		case versions:
			pairs = append(pairs, [2]string{"", n})
		default:
			return noTier(before, tier(n))
		}
	}
	diffs := []suiteDiff{}
	equal := true
	for _, p := range pairs {
		d, err := c.diff(ctx, p[0], p[1])
		if err != nil {
			return err
		}
		equal = equal && d.Equal()
		diffs = append(diffs, suiteDiff{p[0], p[1], d})
	}
	for _, d := range diffs {
		c.show(&d)
	}
	if c.json {
		if err := c.print(diffs); err != nil {
			return err
		}
	}
	if !equal {
		return exit(exitFailed)
	}
	return nil
}

func noTier(ref, tier string) error {
	return plumb.WithHint(fmt.Errorf("%s has no tier %s", ref, tier), "give two files or two versions")
}

func (c *suiteDiffCmd) diff(ctx context.Context, before, after string) (*suite.Difference, error) {
	old, err := c.read(ctx, before)
	if err != nil {
		return nil, err
	}
	fresh, err := c.read(ctx, after)
	if err != nil {
		return nil, err
	}
	return suite.Diff(old, fresh), nil
}

func (c *suiteDiffCmd) read(ctx context.Context, ref string) (*plumb.Suite, error) {
	if ref == "" {
		return &plumb.Suite{}, nil
	}
	p, err := c.openFor(ctx, projectFlags{}, ref)
	if err != nil {
		return nil, err
	}
	bundle, err := suite.Read(ctx, ref, suite.ReadOptions{Dir: c.Dir, Changed: true})
	if err != nil {
		return nil, err
	}
	read, _, err := bundle.Suite(ctx, p.Host(0))
	if err != nil {
		return nil, err
	}
	return read, bundle.Close()
}

func (c *suiteDiffCmd) show(d *suiteDiff) {
	if c.json {
		return
	}
	for _, id := range d.Removed {
		fmt.Fprintf(c.Stdout, "- %s\n", c.name(id))
	}
	for _, id := range d.Added {
		fmt.Fprintf(c.Stdout, "+ %s\n", c.name(id))
	}
	for _, x := range d.Changed {
		from := ""
		if x.Was != "" {
			from = " (was " + x.Was + ")"
		}
		fmt.Fprintf(c.Stdout, "~ %s: %s\n", c.name(x.ID+from), strings.Join(x.Parts, ", "))
	}
	fmt.Fprintf(c.Stdout, "%s → %s: %d added, %d removed, %d changed, %d the same\n",
		orDash(d.Before), orDash(d.After), len(d.Added), len(d.Removed), len(d.Changed), d.Same)
}
