package ci

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/analyze"
	"github.com/plumb-eval/plumb/internal/compare"
	"github.com/plumb-eval/plumb/internal/files"
	"github.com/plumb-eval/plumb/internal/redact"
	"github.com/plumb-eval/plumb/internal/report"
	"github.com/plumb-eval/plumb/internal/results"
	"github.com/plumb-eval/plumb/internal/text"
)

// GitHub shows at most this many annotations of a step, per level.
const annotations = 10

// WriteActions writes annotations for the log of a GitHub workflow and appends the Markdown report
// to the step summary.
func WriteActions(out io.Writer, getenv func(string) string, src *report.Source, run *plumb.Run) error {
	w := &actionsWriter{bufio.NewWriter(out), src.Redact}
	if lines := report.DecisionLines(src, run); len(lines) > 0 {
		level := "notice"
		if c := run.Decision.Conclusion; c == string(compare.Worse) || c == string(compare.Violated) {
			level = "error"
		}
		w.annotate(level, report.SuiteTitle(&run.Info, " "), "", strings.Join(lines, "\n"))
	}
	for _, l := range report.GateLines(run, " · ", "–") {
		level := map[analyze.GateResult]string{
			analyze.Holds: "notice", analyze.Violated: "error", analyze.Unproven: "warning",
		}[l.Result]
		w.annotate(level, "gate", "", l.Words)
	}
	f := analyze.Find(run, annotations)
	left := map[string]int{"error": annotations, "warning": annotations}
	for _, section := range report.SectionsOf(&f) {
		level := "warning"
		if section.Failed {
			level = "error"
		}
		for _, g := range section.Groups {
			for _, x := range g.Executions[:min(len(g.Executions), left[level])] {
				left[level]--
				c := report.CellAt(run, x)
				rec, decided, err := c.Decided(src.Sessions)
				if err != nil {
					return err
				}
				w.annotate(level, text.OneLine(c.Info.ID)+" > "+text.OneLine(c.Runner.ID),
					annotationPlace(getenv("GITHUB_WORKSPACE"), src.Project, &c, decided),
					annotation(&c, section.Title, rec, decided))
			}
		}
	}
	for _, c := range report.ConclusionsOf(src, run) {
		if c.Warning {
			w.annotate("warning", c.Label, "", c.Text)
		}
	}
	return w.end(getenv, func() (string, error) { return markdown(src, run) })
}

// WriteActionsComparison writes an annotation for each gate, or without gates for each conclusion,
// and appends the Markdown report to the summary of the step.
func WriteActionsComparison(out io.Writer, getenv func(string) string, c *compare.Comparison) error {
	w := &actionsWriter{bufio.NewWriter(out), nil}
	for _, l := range checkedLines(c) {
		level := map[int]string{0: "notice", 1: "error", 3: "warning"}[l.code]
		w.annotate(level, text.OneLine(l.name+" > "+l.runner), "", text.OneLine(l.text))
	}
	return w.end(getenv, func() (string, error) { return MarkdownComparison(c), nil })
}

// actionsWriter writes commands of a GitHub workflow.
type actionsWriter struct {
	*bufio.Writer
	redact *redact.Redactor
}

// annotate writes an annotation. place has the properties after the title, with a comma before each.
func (w *actionsWriter) annotate(level, title, place, message string) {
	fmt.Fprintf(w, "::%s title=%s%s::%s\n", level, escapeProperty(w.redact.String(title)), place,
		escapeData(w.redact.String(message)))
}

// end appends what markdown returns to the summary of the workflow step, if there is one.
func (w *actionsWriter) end(getenv func(string) string, markdown func() (string, error)) error {
	name := getenv("GITHUB_STEP_SUMMARY")
	if err := w.Flush(); err != nil || name == "" {
		return err
	}
	text, err := markdown()
	if err != nil {
		return err
	}
	f, err := files.OpenOutput(name, os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("open step summary: %w", err)
	}
	_, err = io.WriteString(f, text+"\n")
	return errors.Join(err, f.Close())
}

// sourceOf returns the source position of the check that failed, or nil.
func sourceOf(s *results.Session) *plumb.Position {
	if s == nil {
		return nil
	}
	if s.Judgement != nil {
		for i := range s.Judgement.Verdicts {
			v := &s.Judgement.Verdicts[i]
			if !v.Pass && v.Error == nil && v.Source != nil {
				return v.Source
			}
		}
	}
	if f := s.Trouble(); f != nil {
		return f.Source
	}
	return nil
}

// annotationPlace returns the properties that attach an annotation to the line of the check, or else
// of the case. GitHub expects paths relative to the repository.
func annotationPlace(workspace, project string, c *report.Cell, s *results.Session) string {
	p := sourceOf(s)
	if p == nil {
		at := c.Info.Source
		if workspace != "" && project != "" && at.File != "" && !filepath.IsAbs(at.File) {
			at.File = filepath.Join(project, at.File)
		}
		p = &at
	}
	if p.File == "" {
		return ""
	}
	file := filepath.ToSlash(text.OneLine(report.PlainPath(p.File)))
	if workspace != "" {
		file = strings.TrimPrefix(file, strings.TrimSuffix(filepath.ToSlash(workspace), "/")+"/")
	}
	text := ",file=" + escapeProperty(file)
	if p.Line > 0 {
		text += fmt.Sprintf(",line=%d", p.Line)
		if p.Column > 0 {
			text += fmt.Sprintf(",col=%d", p.Column)
		}
	}
	return text
}

// annotation returns the message of one annotation: why, and then the documented lines.
func annotation(c *report.Cell, word string, rec *results.Recording, decided *results.Session) string {
	class, why := classID(c.Execution), ""
	if c.Status == plumb.StatusUnexpectedPassed {
		class, word = plumb.ClassUnexpectedPass().ID, results.UnexpectedPass
	} else {
		why = text.Clip(whyText(c.Execution, decided), markdownText)
	}
	lines := []string{strings.TrimSuffix(word+": "+why, ": "), "failure class: " + text.OneLine(class)}
	if target := c.Repeats(); target > 1 {
		lines = append(lines, fmt.Sprintf("repeats: %d/%d", len(rec.Repetitions), target))
	}
	if s, ok := analyze.SamplesOf(c.Run, c.Index); ok && s.Label == analyze.Flaky {
		lines = append(lines, "flaky: "+report.FlakyWords(&s))
	}
	if n := rec.Retries(); n > 0 {
		lines = append(lines, fmt.Sprintf("retries: %d", n))
	}
	if c.Origin != "" {
		lines = append(lines, "failure origin: "+text.OneLine(string(c.Origin)))
	}
	if dir := c.Dir(c.Run.Info.ArtifactDir); dir != "" && decided != nil {
		lines = append(lines,
			"artifact directory: "+text.OneLine(plumb.SessionDir(dir, decided.Repetition, decided.Number)),
			"execution artifact directory: "+text.OneLine(dir))
	}
	return strings.Join(lines, "\n")
}

// escapeData escapes the message of a workflow command, and escapeProperty escapes a property.
func escapeData(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(s)
}

func escapeProperty(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C").Replace(s)
}
