package reporting

import (
	"path/filepath"
	"strings"

	"github.com/plumb-eval/plumb/internal/config"
	"github.com/plumb-eval/plumb/internal/project"
	"github.com/plumb-eval/plumb/internal/report/kind"
)

// CheckOutputs checks the files of the reports of a comparison of two sides.
func (r ComparisonReports) CheckOutputs(p *project.Project, sides ...string) error {
	return CheckOutputs(p, &kind.Outputs{Reads: sides, Comparison: true}, r, "")
}

// CheckOutputs checks the files of reports and of --output, if it is not "".
func CheckOutputs(p *project.Project, o *kind.Outputs, reports []string, output string) error {
	if c := p.Config; c != nil {
		o.Reads = append(o.Reads, c.Path, filepath.Join(c.Dir, ".env"))
	}
	if output != "" {
		if err := o.Blocks(output, p.Env.Shown(output)); err != nil {
			return err
		}
	}
	for _, spec := range reports {
		name, path, toFile := strings.Cut(spec, ":")
		if config.IsModule(spec) || !toFile || path == "" {
			continue
		}
		if name == "standard" {
			name = kind.Terminal
		}
		if err := o.Report(name, p.Env.Path(path), path); err != nil {
			return err
		}
	}
	return nil
}
