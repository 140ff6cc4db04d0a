package job

import (
	"path/filepath"
	"strings"

	"github.com/plumb-eval/plumb/internal/config"
	"github.com/plumb-eval/plumb/internal/report/kind"
)

// CheckOutputs checks the files of reports, and that of --output, before the job is performed: a run
// never replaces a file that it reads, nor a file that is not such a report.
func (j *Job) CheckOutputs(reports []string) error {
	reads := j.bundle.Sources()
	if s := j.Spec.Snapshots; s != nil {
		reads = append(reads, s.Path)
	}
	return j.project.checkOutputs(&kind.Outputs{Reads: reads}, reports, j.Spec.Output)
}

// CheckOutputs checks the files of the reports of a comparison of two sides.
func (r ComparisonReports) CheckOutputs(p *Project, sides ...string) error {
	return p.checkOutputs(&kind.Outputs{Reads: sides, Comparison: true}, r, "")
}

// checkOutputs checks the files of reports and of --output, if it is not "".
func (p *Project) checkOutputs(o *kind.Outputs, reports []string, output string) error {
	if c := p.Config; c != nil {
		o.Reads = append(o.Reads, c.Path, filepath.Join(c.Dir, ".env"))
	}
	if output != "" {
		if err := o.Blocks(output, p.env.Shown(output)); err != nil {
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
		if err := o.Report(name, p.env.Path(path), path); err != nil {
			return err
		}
	}
	return nil
}
