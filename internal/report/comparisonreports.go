package report

import (
	"fmt"
	"io"
	"slices"

	"github.com/plumb-eval/plumb/internal/compare"
)

// comparisonKind is one kind of report of a comparison.
type comparisonKind struct {
	name  string
	write func(o *Options, c *Compared, clean *compare.Comparison) error
	// mixes is set if the report can share standard output with another one.
	mixes bool
}

// comparisonKinds is the only list of the reports of a comparison.
func comparisonKinds() []comparisonKind {
	return []comparisonKind{
		{name: Terminal, write: func(o *Options, _ *Compared, clean *compare.Comparison) error {
			return WriteComparison(o.Screen, clean)
		}},
		{name: JSON, write: func(o *Options, _ *Compared, clean *compare.Comparison) error {
			return WriteComparisonJSON(o.Out, clean)
		}},
		{name: Markdown, write: func(o *Options, _ *Compared, clean *compare.Comparison) error {
			_, err := io.WriteString(o.Out, comparisonMarkdown(clean))
			return err
		}},
		{name: HTML, write: func(o *Options, c *Compared, _ *compare.Comparison) error {
			return writeComparisonHTML(o.Out, o.RunDir, &o.Source, c)
		}, mixes: true},
		{name: JUnit, write: func(o *Options, _ *Compared, clean *compare.Comparison) error {
			return writeComparisonJUnit(o.Out, clean)
		}},
		{name: GitHubActions, write: func(o *Options, _ *Compared, clean *compare.Comparison) error {
			return writeComparisonActions(o.Out, o.Getenv, clean)
		}, mixes: true},
	}
}

// ComparisonNames returns the names of the reports of a comparison.
func ComparisonNames() []string {
	var names []string
	for _, k := range comparisonKinds() {
		names = append(names, k.name)
	}
	return names
}

// ComparisonMixes reports whether a report of a comparison can share standard output.
func ComparisonMixes(name string) bool {
	return slices.ContainsFunc(comparisonKinds(), func(k comparisonKind) bool { return k.name == name && k.mixes })
}

// NewComparison writes the report with the given name, one of [ComparisonNames], to o.Out.
func NewComparison(name string, o Options, c *Compared) error {
	for _, k := range comparisonKinds() {
		if k.name != name {
			continue
		}
		if err := k.write(&o, c, Without(o.Redact, c.Comparison)); err != nil {
			return fmt.Errorf("write %s report: %w", name, err)
		}
		return nil
	}
	return fmt.Errorf("unknown report %q of a comparison", name)
}
