package reporting

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/compare"
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/project"
	"github.com/plumb-eval/plumb/internal/report"
	"github.com/plumb-eval/plumb/internal/report/kind"
	"github.com/plumb-eval/plumb/internal/results"
)

// ComparisonReports are the reports of a comparison that the user wants: "name" or "name:path".
type ComparisonReports []string

// Check checks the names, before anything is compared. It adds the terminal report if no other
// writes to standard output.
func (r ComparisonReports) Check() (ComparisonReports, error) {
	stdout := ""
	for _, spec := range r {
		name, path, toFile := strings.Cut(spec, ":")
		known := kind.ComparisonNames()
		if !slices.Contains(known, name) {
			hint := "reports of a comparison: " + strings.Join(known, ", ")
			if near := plumb.Nearest(name, known); near != "" {
				hint = "did you mean " + near + "? " + hint
			}
			return nil, plumb.WithHint(fmt.Errorf("--report: unknown report %q", name), hint)
		}
		if toFile && path == "" {
			return nil, plumb.WithHint(fmt.Errorf("report %s has no file name", spec),
				"--report "+name+":FILE, or --report "+name+" for standard output")
		}
		if toFile || kind.Mixes(name) {
			continue
		}
		if stdout != "" {
			return nil, plumb.WithHint(fmt.Errorf("the reports %s and %s both write to standard output", stdout, name),
				"give one a file: --report "+name+":FILE")
		}
		stdout = name
	}
	if stdout == "" {
		r = append(slices.Clone(r), kind.Terminal)
	}
	return r, nil
}

// Compare concludes from a matching, and finds the first event at which the sessions of the cases
// differ that reports show.
func Compare(p *project.Project, m *compare.Matching, o compare.Choices) (*report.Compared, error) {
	o.Flags = p.Flags
	c := &report.Compared{
		Comparison: compare.Analyze(m, o), Matching: m, Baseline: sessionsOf(p, m.Base), Candidate: sessionsOf(p, m.Cand),
	}
	return c, c.FindDifferences()
}

// sessionsOf reads the sessions of a side without secrets. It returns nil if the side is not a run.
func sessionsOf(p *project.Project, s *compare.Side) results.Sessions {
	if s.Kind != compare.SourceRun {
		return nil
	}
	return Sessions(s.Path).Without(p.RedactorOf(s.Path))
}

// WriteComparison writes the reports of a comparison, which [ComparisonReports.Check] returned.
// The html report without a file name is comparison.html in the directory of the candidate.
func WriteComparison(p *project.Project, c *report.Compared, reports ComparisonReports) error {
	var all []error
	for _, spec := range reports {
		name, path, toFile := strings.Cut(spec, ":")
		o := Setup(p, "")
		o.Out = p.Env.Stdout
		if c.Matching.Cand.Kind == compare.SourceRun {
			o.RunDir = c.Matching.Cand.Path
		}
		var file *doc.File
		if toFile {
			path = p.Env.Path(path)
			err := os.MkdirAll(filepath.Dir(path), 0o700)
			if err == nil {
				file, err = doc.Create(path)
			}
			if err != nil {
				all = append(all, fmt.Errorf("report %s: %w", name, err))
				continue
			}
			o.Out, o.Terminal, o.Color, o.RunDir, o.Unicode = file, false, false, "", true
		}
		err := kind.Compare(name, o, c)
		switch {
		case file == nil:
		case err == nil:
			err = file.Commit()
		default:
			err = errors.Join(err, file.Discard())
		}
		all = append(all, err)
	}
	return errors.Join(all...)
}
