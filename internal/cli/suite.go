package cli

import (
	"bytes"
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
	"github.com/plumb-eval/plumb/internal/config"
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/report"
	"github.com/plumb-eval/plumb/internal/suite"
)

func (a *app) suiteCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "suite",
		Short: "Hash, check and version suites",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.suiteHash(), a.suiteLint(), a.suiteVerify(), a.suiteLock(), a.suiteNewVersion())
	return cmd
}

func (a *app) suiteHash() *cobra.Command {
	return &cobra.Command{
		Use:   "hash FILE...",
		Short: "Print the hash of suite files, as sha256:...  FILE",
		Long: `Print the suite hash of each file: the SHA-256 of its cases in canonical form, whatever the order of cases,
the spacing and the line ends. The hash of a suite in code is that of all files it is made of. The FILE - is standard
input.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, files []string) error {
			type line struct {
				Hash string `json:"hash"`
				File string `json:"file"`
			}
			lines := []line{}
			var failed []error
			for _, file := range files {
				hash, err := a.hash(cmd.InOrStdin(), file)
				if err != nil {
					failed = append(failed, err)
					continue
				}
				if !a.json {
					fmt.Fprintf(a.Stdout, "%s  %s\n", hash, file)
				}
				lines = append(lines, line{hash, file})
			}
			if a.json {
				failed = append(failed, a.print(lines))
			}
			return errors.Join(failed...)
		},
	}
}

func (a *app) hash(stdin io.Reader, file string) (string, error) {
	var data []byte
	var err error
	switch strings.ToLower(filepath.Ext(file)) {
	case "", ".jsonl", ".json":
		if file == "-" {
			data, err = io.ReadAll(io.LimitReader(stdin, doc.SuiteBytes))
		} else {
			data, err = doc.ReadStream(a.path(file), doc.SuiteBytes)
		}
	default: // what is hashed of the others is what they mean
		bundle, err := suite.Read(file, suite.ReadOptions{Dir: a.Dir})
		if err != nil {
			return "", err
		}
		hash, err := bundle.Hash()
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

func (a *app) suiteLint() *cobra.Command {
	var tier string
	cmd := &cobra.Command{
		Use:   "lint SUITE...",
		Short: "Find cases that wrong answers pass",
		Long: `Try answers that no case should accept on each case: the prompt itself, nothing, "yes", "no", "42", a refusal,
filler text, and the right answers to other cases. Cases that accept one do not discriminate, and are reported.
The exit code is 1 when there is such a case.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, refs []string) error {
			findings := []suite.Finding{}
			bad := 0
			for _, ref := range refs {
				p, err := a.openFor(cmd.Context(), "", "", ref)
				if err != nil {
					return err
				}
				bundle, err := suite.Read(ref, suite.ReadOptions{Tier: tier, Dir: a.Dir})
				if err != nil {
					return err
				}
				host := a.host(p)
				host.ReadOnly = true // its checks are tried on answers that nobody gave
				read, warnings, err := bundle.SuiteIn(cmd.Context(), host)
				a.warn(warnings)
				if err != nil {
					return errors.Join(err, bundle.Close())
				}
				found := suite.Lint(cmd.Context(), read)
				if err := bundle.Close(); err != nil {
					return err
				}
				findings = append(findings, found...)
				faults := 0
				for _, f := range found {
					if !f.Info {
						faults++
					}
					if !a.json {
						level := "fault"
						if f.Info {
							level = "note"
						}
						fmt.Fprintf(a.Stdout, "%s [%s]\n", a.clean(f.String()), level)
					}
				}
				if bad += faults; !a.json {
					fmt.Fprintf(a.Stdout, "%s: %s, %s, %s\n", read.Name, plural(len(read.Cases), "case"), plural(faults, "fault"),
						plural(len(found)-faults, "note"))
				}
			}
			if a.json {
				if err := a.print(findings); err != nil {
					return err
				}
			}
			if bad > 0 {
				return exit(exitFailed)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&tier, "tier", "", "tier of a suite version")
	return cmd
}

func (a *app) suiteVerify() *cobra.Command {
	return &cobra.Command{
		Use:   "verify DIR",
		Short: "Check a suite version against its manifest",
		Long:  `Check that the files of a suite version have the hashes, counts and sums that its manifest.toml names.`,
		Args:  cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			found, err := suite.Verify(a.path(args[0]))
			if err != nil {
				return noManifest(err)
			}
			found = a.near(found)
			if a.json {
				if err := a.print(list(found)); err != nil {
					return err
				}
			}
			faults := len(doc.Problems(found).Errors())
			if !a.json {
				for _, f := range found {
					fmt.Fprintln(a.Stdout, a.clean(f.String()))
				}
				if faults == 0 {
					fmt.Fprintf(a.Stdout, "%s agrees with its manifest\n", args[0])
				}
			}
			if faults > 0 {
				return exit(exitFailed)
			}
			return nil
		},
	}
}

// noManifest says what a suite version is where there is none.
func noManifest(err error) error {
	if errors.Is(err, fs.ErrNotExist) && plumb.Hint(err) == "" {
		return plumb.WithHint(err, "a suite version is a directory with suites and a manifest.toml, such as suites/v1.0 of plumb itself")
	}
	return err
}

func (a *app) suiteLock() *cobra.Command {
	return &cobra.Command{
		Use:   "lock DIR",
		Short: "Publish a suite version: pin the hashes of its tiers",
		Long: `Pin the hash of each tier in manifest.toml, with the counts. From then on the version is immutable: a file whose
bytes mean something else does not run, and new cases belong in a new version (plumb suite new-version).`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			m, changed, err := suite.Lock(a.path(args[0]))
			if err != nil {
				return noManifest(err)
			}
			if a.json {
				return a.print(map[string]any{"changed": changed, "manifest": m})
			}
			for _, t := range m.Tiers {
				fmt.Fprintf(a.Stdout, "%s  %s (%s)\n", t.Hash, t.File, plural(t.TestCount, "case"))
			}
			if !changed {
				fmt.Fprintln(a.Stdout, "nothing to do: it was locked already")
			}
			return nil
		},
	}
}

func (a *app) suiteNewVersion() *cobra.Command {
	var name string
	cmd := &cobra.Command{
		Use:   "new-version DIR",
		Short: "Copy a suite version to the next one, to add cases to",
		Args:  cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			made, err := suite.NewVersion(a.path(args[0]), name)
			if err != nil {
				return noManifest(err)
			}
			if a.json {
				return a.print(map[string]string{"dir": made})
			}
			fmt.Fprintf(a.Stdout, "made %s; add cases, then: plumb suite lock %s\n", a.shown(made), a.shown(made))
			return nil
		},
	}
	cmd.Flags().StringVar(&name, "name", "", "`name` of the new version (default: the next number)")
	return cmd
}

func (a *app) validateCommand() *cobra.Command {
	var configPath, tier string
	cmd := &cobra.Command{
		Use:   "validate [SUITE...]",
		Short: "Check suites and the config, without running anything",
		Args:  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, refs []string) error {
			read, err := a.config(cmd.Context(), configPath)
			var problems doc.Problems
			if err != nil && !errors.As(err, &problems) {
				return err
			}
			if read == nil {
				read = &config.Config{Dir: a.Dir}
			}
			p, err := a.project(read, "")
			if err != nil {
				return err
			}
			if len(refs) == 0 {
				for _, s := range p.config.Suites {
					refs = append(refs, p.suite(s))
				}
				if p.config.Path == "" && problems == nil && len(refs) == 0 && tier == "" {
					return plumb.WithHint(errors.New("there is nothing to validate"), "plumb validate suite.jsonl, or a plumb.yaml in this folder")
				}
				if tier != "" && len(refs) == 0 {
					refs = []string{""}
				}
			}
			return a.validate(cmd.Context(), p, problems, refs, tier)
		},
	}
	cmd.Flags().StringVar(&configPath, "config", "", "config `file`")
	cmd.Flags().StringVar(&tier, "tier", "", "tier of a suite version")
	return cmd
}

// validated is what plumb validate says of one suite.
type validated struct {
	suite.Summary
	Problems []doc.Problem `json:"problems"`
}

// validate checks suites. broken are the problems of the config.
func (a *app) validate(ctx context.Context, p *project, broken doc.Problems, refs []string, tier string) error {
	all := []validated{}
	invalid := len(broken)
	if !a.json {
		a.list(broken)
	}
	for _, ref := range refs {
		bundle, err := suite.Read(ref, suite.ReadOptions{Tier: tier, Dir: a.Dir, Stream: true}) //nolint:contextcheck // to read YAML executes nothing
		if err != nil {
			return err
		}
		summary, problems := bundle.ValidateIn(ctx, a.host(p))
		faults := len(doc.Problems(problems).Errors())
		invalid += faults
		all = append(all, validated{summary, list(problems)})
		if a.json {
			continue
		}
		a.list(problems)
		if faults == 0 {
			fmt.Fprintf(a.Stdout, "%s: %s, %s\n", bundle.Name, plural(summary.Cases, "case"), summary.Hash)
		} else {
			fmt.Fprintf(a.Stdout, "%s: invalid, %s\n", bundle.Name, plural(faults, "problem"))
		}
	}
	if a.json {
		if err := a.print(map[string]any{"config": p.config.Path, "configProblems": list(broken), "suites": all}); err != nil {
			return err
		}
	} else if p.config.Path != "" {
		fmt.Fprintf(a.Stdout, "%s: valid, %s\n", a.shown(p.config.Path), plural(len(p.config.Runners), "runner"))
	}
	if invalid > 0 {
		return exit(exitUsage)
	}
	return nil
}

// list prints the problems of one file.
func (a *app) list(problems []doc.Problem) {
	for i, problem := range problems {
		const most = 1000
		if i == most {
			fmt.Fprintf(a.Stderr, "... and %d more\n", len(problems)-most)
			break
		}
		fmt.Fprintln(a.Stderr, a.clean(problem.String()))
	}
}

// listed is one case as plumb list prints it.
type listed struct {
	ID         string   `json:"id" redact:"-"`
	Hash       string   `json:"hash" redact:"-"`
	Category   string   `json:"category,omitempty"`
	Difficulty string   `json:"difficulty,omitempty"`
	Tags       []string `json:"tags,omitempty"`
	Checks     int      `json:"checks"`
	Prompt     string   `json:"prompt"`
}

func (a *app) listCommand() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "list [SUITE]",
		Short: "List the cases of a suite, or the published suites and the config's runners",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := a.openFor(cmd.Context(), f.config, "", first(args))
			if err != nil {
				return err
			}
			if len(args) == 0 && f.tier == "" {
				return a.listAll(p)
			}
			bundle, suite, err := a.readSuite(cmd.Context(), p, first(args), f.tier)
			if err != nil {
				return err
			}
			defer bundle.Close()
			cases, err := f.filter.Select(suite)
			if err != nil {
				return err
			}
			a.redact = p.redactor((&spec{}).words(suite))
			return a.listCases(suite, cases)
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&f.config, "config", "", "config `file`")
	fs.StringVar(&f.tier, "tier", "", "tier of a suite version")
	fs.Var((*words)(&f.filter.Tags), "tag", "list only cases with one of these tags")
	fs.Var((*words)(&f.filter.Categories), "category", "list only cases of these categories")
	fs.Var((*words)(&f.filter.Difficulties), "difficulty", "list only cases of these difficulties")
	fs.IntVar(&f.filter.Limit, "limit", 0, "list only the first `n`")
	return cmd
}

func (a *app) listAll(p *project) error {
	published, err := suite.Published()
	if err != nil {
		return err
	}
	var runners []string
	for i := range p.config.Runners {
		runners = append(runners, p.config.Runners[i].ID)
	}
	if a.json {
		return a.print(map[string]any{
			"published": published, "suites": list(p.config.Suites), "runners": list(runners),
		})
	}
	fmt.Fprintln(a.Stdout, "Published suites:")
	w := report.NewColumns(a.Stdout)
	for _, m := range published {
		for _, t := range m.Tiers {
			fmt.Fprintf(w, "  %s/%s\t%s\t%s\n", m.Version, t.Name, plural(t.TestCount, "case"), t.Description)
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if p.config.Path == "" {
		fmt.Fprintln(a.Stdout, "No config here; plumb init writes one.")
		return nil
	}
	fmt.Fprintf(a.Stdout, "Config %s:\n  suites: %s\n  runners: %s\n", a.shown(p.config.Path),
		orDash(strings.Join(p.config.Suites, ", ")), orDash(strings.Join(runners, ", ")))
	return nil
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func (a *app) listCases(suite *plumb.Suite, cases []plumb.Case) error {
	lines := make([]listed, len(cases))
	for i := range cases {
		c := &cases[i]
		lines[i] = listed{c.ID, c.Hash, c.Category, c.Difficulty, c.Tags, len(c.Assertions), c.Prompt()}
	}
	if a.json {
		return a.print(map[string]any{"suite": suite.Name, "hash": suite.Hash, "cases": lines})
	}
	w := report.NewColumns(a.Stdout)
	fmt.Fprintln(w, "CASE\tCATEGORY\tDIFFICULTY\tTAGS\tPROMPT")
	for _, l := range lines {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", l.ID, orDash(a.line(l.Category, 40)),
			orDash(a.line(l.Difficulty, 20)), orDash(a.line(strings.Join(l.Tags, ","), 40)),
			a.line(l.Prompt, 60))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(a.Stdout, "%d of %d cases of %s, %s\n", len(cases), len(suite.Cases), suite.Name, suite.Hash)
	return nil
}

// problems prints the problems of a file as they are: each line begins with its place.
func (a *app) problems(found doc.Problems) {
	var b bytes.Buffer
	fmt.Fprintln(&b, a.clean(doc.Problems(a.near(found)).Error()))
	fmt.Fprintf(&b, "plumb: %s; nothing was run\n", plural(len(found.Errors()), "problem"))
	_, _ = a.Stderr.Write(b.Bytes()) // nothing can be said where it is said
}
