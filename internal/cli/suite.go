package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/digest"
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/files"
	"github.com/plumb-eval/plumb/internal/suite"
	"github.com/plumb-eval/plumb/internal/text"
)

func suiteCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "suite",
		Short: "Hash, check and version suites",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(suiteDiffCommand(a), suiteHashCommand(a), suiteLintCommand(a), suiteVerifyCommand(a), suiteLockCommand(a),
		suiteNewCommand(a), suiteNewVersionCommand(a))
	return cmd
}

// parts returns the suites that refs name: all tiers of a suite version without a tier.
func (a *app) parts(refs []string, tier string) []string {
	var parts []string
	for _, ref := range refs {
		parts = append(parts, suite.Parts(ref, suite.ReadOptions{Tier: tier, Dir: a.Dir})...)
	}
	return parts
}

// suiteHashCmd is plumb suite hash.
type suiteHashCmd struct{ *app }

func suiteHashCommand(a *app) *cobra.Command {
	c := &suiteHashCmd{a}
	return &cobra.Command{
		Use:   "hash FILE...",
		Short: "Print the hash of suite files, as sha256:...  FILE",
		Long: `Print the suite hash of each file: the SHA-256 of its cases in canonical form. The order of cases, white space
and line endings do not change the hash. The hash of a suite in code covers all of its files. The FILE - is
standard input. Of a suite version, all tiers are printed.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, files []string) error { return c.run(cmd.Context(), cmd.InOrStdin(), files) },
	}
}

func (c *suiteHashCmd) run(ctx context.Context, stdin io.Reader, files []string) error {
	type line struct {
		Hash string `json:"hash"`
		File string `json:"file"`
	}
	lines := []line{}
	var failed []error
	for _, file := range c.parts(files, "") {
		hash, err := c.hash(ctx, stdin, file)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		if !c.json {
			fmt.Fprintf(c.Stdout, "%s  %s\n", hash, file)
		}
		lines = append(lines, line{hash, file})
	}
	if c.json {
		failed = append(failed, c.print(lines))
	}
	return errors.Join(failed...)
}

func (c *suiteHashCmd) hash(ctx context.Context, stdin io.Reader, file string) (string, error) {
	var data []byte
	var err error
	ext := strings.ToLower(filepath.Ext(file))
	switch {
	case file == "-":
		data, err = io.ReadAll(io.LimitReader(stdin, doc.SuiteBytes))
	case ext == ".jsonl" || ext == ".json" || ext == "" && files.Exists(c.path(file)):
		data, err = doc.ReadStream(c.path(file), doc.SuiteBytes)
	default: // the hash of the other formats covers the cases, not the text
		bundle, err := suite.Read(ctx, file, suite.ReadOptions{Dir: c.Dir})
		if err != nil {
			return "", err
		}
		hash, err := bundle.Hash(ctx)
		return hash, errors.Join(err, bundle.Close())
	}
	if err != nil {
		return "", fmt.Errorf("hash suite: %w", err)
	}
	hash, err := digest.Suite(data)
	if err != nil {
		return "", fmt.Errorf("hash suite %s: %w", file, err)
	}
	return hash, nil
}

// suiteLintCmd is plumb suite lint.
type suiteLintCmd struct {
	*app
	tier string
}

func suiteLintCommand(a *app) *cobra.Command {
	c := &suiteLintCmd{app: a}
	cmd := &cobra.Command{
		Use:   "lint SUITE...",
		Short: "Find cases that would accept a wrong answer",
		Long: `Try answers on each case that no case should accept: the prompt itself, an empty answer, "yes", "no", "42", a
refusal, filler text, and the correct answers of other cases. Cases that accept one are reported. The exit code is 1
if there is such a case.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, refs []string) error { return c.run(cmd.Context(), refs) },
	}
	cmd.Flags().StringVar(&c.tier, "tier", "", "tier of a suite version")
	return cmd
}

func (c *suiteLintCmd) run(ctx context.Context, refs []string) error {
	findings := []suite.Finding{}
	bad := 0
	for _, ref := range c.parts(refs, c.tier) {
		linted, found, err := c.lint(ctx, ref)
		if err != nil {
			return err
		}
		findings = append(findings, found...)
		faults := 0
		for _, f := range found {
			level := "note"
			if !f.Info {
				level = "fault"
				faults++
			}
			if !c.json {
				fmt.Fprintf(c.Stdout, "%s [%s]\n", c.clean(f.String()), level)
			}
		}
		if bad += faults; !c.json {
			fmt.Fprintf(c.Stdout, "%s: %s, %s, %s\n", linted.Name, text.Plural(len(linted.Cases), "case"),
				text.Plural(faults, "fault"), text.Plural(len(found)-faults, "note"))
		}
	}
	if c.json {
		if err := c.print(findings); err != nil {
			return err
		}
	}
	if bad > 0 {
		return exit(exitFailed)
	}
	return nil
}

func (c *suiteLintCmd) lint(ctx context.Context, ref string) (*plumb.Suite, []suite.Finding, error) {
	p, err := c.openFor(ctx, projectFlags{}, ref)
	if err != nil {
		return nil, nil, err
	}
	bundle, err := suite.Read(ctx, ref, suite.ReadOptions{Tier: c.tier, Dir: c.Dir})
	if err != nil {
		return nil, nil, err
	}
	host := p.Host(0)
	host.ReadOnly = true // lint runs the checks of the suite on answers that no model gave
	read, warnings, err := bundle.Suite(ctx, host)
	p.Warn(warnings)
	if err != nil {
		return nil, nil, errors.Join(err, bundle.Close())
	}
	found := suite.Lint(ctx, read)
	return read, found, bundle.Close()
}

// suiteVerifyCmd is plumb suite verify.
type suiteVerifyCmd struct{ *app }

func suiteVerifyCommand(a *app) *cobra.Command {
	c := &suiteVerifyCmd{a}
	return &cobra.Command{
		Use:   "verify DIR",
		Short: "Check a suite version against its manifest",
		Long: `Check that the files of a suite version have the hashes and counts in its manifest.toml. The record that plumb suite
lock left in manifest.cases names each case that differs.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args[0]) },
	}
}

func (c *suiteVerifyCmd) run(ctx context.Context, dir string) error {
	found, err := suite.Verify(ctx, c.path(dir))
	if err != nil {
		return noManifest(err)
	}
	found = c.env().ShownIn(found)
	faults := len(doc.Problems(found).Errors())
	if c.json {
		if err := c.print(doc.Array(found)); err != nil {
			return err
		}
	} else {
		for _, f := range found {
			fmt.Fprintln(c.Stdout, c.clean(f.String()))
		}
		if faults == 0 {
			fmt.Fprintf(c.Stdout, "%s agrees with its manifest\n", dir)
		}
	}
	if faults > 0 {
		return exit(exitFailed)
	}
	return nil
}

// noManifest explains an error about a directory that is not a suite version.
func noManifest(err error) error {
	if errors.Is(err, fs.ErrNotExist) && plumb.Hint(err) == "" {
		return plumb.WithHint(err,
			"a suite version is a directory with suites and a manifest.toml, such as suites/v1.0 of Plumb")
	}
	return err
}

// suiteLockCmd is plumb suite lock.
type suiteLockCmd struct{ *app }

func suiteLockCommand(a *app) *cobra.Command {
	c := &suiteLockCmd{a}
	return &cobra.Command{
		Use:   "lock DIR",
		Short: "Publish a suite version: pin the hashes of its tiers",
		Long: `Write the hash and the counts of each tier into manifest.toml, and the hash of each case into manifest.cases. After
that the version is immutable: Plumb does not run a file whose cases have changed. Add new cases to a new version
(plumb suite new-version).`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args[0]) },
	}
}

func (c *suiteLockCmd) run(ctx context.Context, dir string) error {
	m, changed, err := suite.Lock(ctx, c.path(dir))
	if err != nil {
		return noManifest(err)
	}
	if c.json {
		return c.print(map[string]any{"changed": changed, "manifest": m})
	}
	for _, t := range m.Tiers {
		fmt.Fprintf(c.Stdout, "%s  %s (%s)\n", t.Hash, t.File, text.Plural(t.TestCount, "case"))
	}
	if !changed {
		fmt.Fprintln(c.Stdout, "nothing to do: the version was already locked")
	}
	return nil
}

func suiteNewCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "new DIR FILE...",
		Short: "Make the first version of a suite from files of JSON Lines",
		Long: `Make a directory with a suite version: a manifest.toml, and a copy of each file as a tier with its name. Publish it with
plumb suite lock. If a case is not valid in a suite version, nothing is written.`,
		Example: `  plumb suite new suites/v1.0 cheap.jsonl full.jsonl`,
		Args:    cobra.MinimumNArgs(2), //nolint:mnd // DIR and at least one FILE
		RunE: func(cmd *cobra.Command, args []string) error {
			files := make([]string, len(args)-1)
			for i, file := range args[1:] {
				files[i] = a.path(file)
			}
			dir := a.path(args[0])
			if err := suite.NewSuite(cmd.Context(), dir, files); err != nil {
				return err
			}
			if a.json {
				return a.print(map[string]string{"dir": dir})
			}
			fmt.Fprintf(a.Stdout, "made %s; describe it in its manifest.toml, then: plumb suite lock %[1]s\n", a.shown(dir))
			return nil
		},
	}
}

// suiteNewVersionCmd is plumb suite new-version.
type suiteNewVersionCmd struct {
	*app
	name string
}

func suiteNewVersionCommand(a *app) *cobra.Command {
	c := &suiteNewVersionCmd{app: a}
	cmd := &cobra.Command{
		Use:   "new-version DIR",
		Short: "Copy a suite version to the next version, to add cases",
		Args:  cobra.ExactArgs(1),
		RunE:  func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args[0]) },
	}
	cmd.Flags().StringVar(&c.name, "name", "", "`name` of the new version (default: the next number)")
	return cmd
}

func (c *suiteNewVersionCmd) run(ctx context.Context, dir string) error {
	made, err := suite.NewVersion(ctx, c.path(dir), c.name)
	if err != nil {
		return noManifest(err)
	}
	if c.json {
		return c.print(map[string]string{"dir": made})
	}
	fmt.Fprintf(c.Stdout, "made %s; add cases, then: plumb suite lock %s\n", c.shown(made), c.shown(made))
	return nil
}
