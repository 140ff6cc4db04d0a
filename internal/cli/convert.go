package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/config"
	"github.com/plumb-eval/plumb/internal/convert"
	"github.com/plumb-eval/plumb/internal/convert/draft"
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/files"
	"github.com/plumb-eval/plumb/internal/report/kind"
	"github.com/plumb-eval/plumb/internal/suite"
	"github.com/plumb-eval/plumb/internal/suite/lib"
	"github.com/plumb-eval/plumb/internal/text"
)

// convertCmd is plumb convert.
type convertCmd struct {
	*app
	out   string
	force bool
}

// converted is the result of plumb convert. Its keys are documented.
type converted struct {
	Format  string       `json:"format"`
	Files   []string     `json:"files"`
	Cases   int          `json:"cases"`
	LeftOut int          `json:"leftOut"`
	Lost    doc.Problems `json:"lost"`
	Next    string       `json:"next,omitempty"`
}

func convertCommand(a *app) *cobra.Command {
	c := &convertCmd{app: a}
	cmd := &cobra.Command{
		Use:   "convert FILE",
		Short: "Convert a promptfoo config, evals.json, or a data set into a suite",
		Long: `Write a suite.yaml, and for promptfoo a plumb.yaml, with the cases of a file of another tool: a promptfoo config
(YAML, JSON, JavaScript, TypeScript), the evals.json of skill-creator, data of OpenAI evals (JSON lines), a dataset of
Inspect (JSON, JSON lines), or a CSV file.

A converted case gets the same verdict as the original. A test with a part that cannot be carried over is left out; the
command lists each such part with its place, and the suite has the test as a comment.

The exit code is 0 if everything was carried over, 1 if something was not (the rest is written), and 2 if the file
cannot be read.`,
		Example: `  plumb convert promptfooconfig.yaml
  plumb convert evals/evals.json -o plumb/`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args[0]) },
	}
	cmd.Flags().StringVarP(&c.out, "output-dir", "o", "", "write to this `directory` (default: the current one)")
	cmd.Flags().BoolVar(&c.force, "force", false, "replace the files of an earlier conversion")
	return cmd
}

func (c *convertCmd) run(ctx context.Context, file string) error {
	r, err := convert.File(ctx, c.path(file), convert.Tools{
		Host: lib.Host{Environ: c.Environ, Dir: c.Dir}, Check: Rejected,
	})
	if err != nil {
		if problems, ok := errors.AsType[doc.Problems](err); ok {
			c.relative(problems)
		}
		return err
	}
	c.relative(r.Lost)
	w := converted{Format: r.Format, Files: []string{}, Cases: r.Cases, LeftOut: len(r.LeftOut), Lost: r.Lost}
	if err := c.write(&w, r); err != nil {
		return err
	}
	if w.Cases > 0 {
		w.Next = "plumb run"
		if r.Config == nil {
			w.Next = c.nextWithoutConfig(r.Format)
		} else if c.out != "" {
			w.Next = "plumb run --config " + filepath.ToSlash(filepath.Join(c.out, draft.ConfigFile))
		}
	}
	if c.json {
		if err := c.print(w); err != nil {
			return err
		}
	} else {
		c.show(&w)
	}
	if len(r.Lost.Errors()) > 0 || len(r.LeftOut) > 0 {
		return exit(exitFailed)
	}
	return nil
}

// nextWithoutConfig returns the command after the conversion of a file that names no models: a config
// is there already, or plumb init creates one beside the suite.
func (c *convertCmd) nextWithoutConfig(format string) string {
	if path, err := config.Find(cmp.Or(c.path(c.out), c.Dir)); err == nil && path != "" {
		return "plumb run " + filepath.ToSlash(filepath.Join(c.out, draft.SuiteFile))
	}
	next := "plumb init"
	if strings.Contains(format, "skill-creator") {
		next += " --agent claude-code"
	}
	if c.out != "" {
		next = "cd " + filepath.ToSlash(c.out) + " && " + next
	}
	return next
}

// relative names files as the user would.
func (c *convertCmd) relative(problems doc.Problems) {
	for i := range problems {
		problems[i].Pos.File = c.shown(problems[i].Pos.File)
	}
}

// write writes the files of a conversion, or none if one exists.
func (c *convertCmd) write(w *converted, r *convert.Result) error {
	dir := c.path(c.out)
	if dir == "" {
		dir = c.Dir
	}
	made := []struct {
		name string
		text []byte
	}{{draft.SuiteFile, r.Suite}, {draft.ConfigFile, r.Config}}
	outputs := kind.Outputs{Reads: r.Reads}
	for _, f := range made {
		path := filepath.Join(dir, f.name)
		if f.text == nil || r.Suite == nil {
			continue
		}
		if files.Exists(path) && !c.force {
			return plumb.WithHint(fmt.Errorf("%s exists already", c.shown(path)), "replace it with --force, or write to another directory with -o")
		}
		if err := outputs.Converted(path); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // not a secret
		return fmt.Errorf("write the suite: %w", err)
	}
	for _, f := range made {
		if f.text == nil || r.Suite == nil {
			continue
		}
		path := filepath.Join(dir, f.name)
		err := doc.Write(path, func(w *doc.File) error {
			_, err := w.Write(f.text)
			return errors.Join(err, w.Chmod(0o644)) // not a secret
		})
		if err != nil {
			return fmt.Errorf("write the suite: %w", err)
		}
		w.Files = append(w.Files, c.shown(path))
	}
	return nil
}

func (c *convertCmd) show(w *converted) {
	for _, f := range w.Files {
		fmt.Fprintf(c.Stdout, "wrote %s\n", c.clean(f))
	}
	fmt.Fprintf(c.Stdout, "%s: %s", w.Format, text.Plural(w.Cases, "case"))
	if w.LeftOut > 0 {
		fmt.Fprintf(c.Stdout, ", %s left out", text.Plural(w.LeftOut, "test"))
	}
	fmt.Fprintln(c.Stdout)
	if errs := w.Lost.Errors(); len(errs) > 0 {
		fmt.Fprintf(c.Stdout, "\nNot carried over:\n%s\n", c.clean(errs.Error()))
	}
	if warnings := w.Lost.Warnings(); len(warnings) > 0 {
		fmt.Fprintf(c.Stdout, "\nNotes:\n%s\n", c.clean(warnings.Error()))
	}
	if w.Next != "" {
		fmt.Fprintf(c.Stdout, "\nNext: %s\n", c.clean(w.Next))
	}
}

var caseStart = regexp.MustCompile(`^ *- \{?id: "?([^",} ]+)"?`)

// Rejected returns the cases of a suite in YAML that Plumb does not accept. One without an id stands
// for the whole suite. It is the check of a conversion.
func Rejected(ctx context.Context, text []byte) []convert.Rejected {
	_, problems := suite.NewBundle("suite", draft.SuiteFile, text).Validate(ctx, lib.Host{})
	lines := bytes.Split(text, []byte("\n"))
	var found []convert.Rejected
	for _, p := range doc.Problems(problems).Errors() {
		r := convert.Rejected{Message: p.Message}
		for i := min(p.Pos.Line, len(lines)) - 1; i >= 0; i-- {
			if m := caseStart.FindSubmatch(lines[i]); m != nil {
				r.ID = string(m[1])
				break
			}
		}
		found = append(found, r)
	}
	return found
}
