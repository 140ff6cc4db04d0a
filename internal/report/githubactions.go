package report

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
	"github.com/plumb-eval/plumb/internal/results"
	"github.com/plumb-eval/plumb/internal/text"
)

// GitHub shows at most this many annotations of a step, per level.
const annotations = 10

// writeActions writes annotations for the log of a GitHub workflow and appends the Markdown report
// to the step summary.
func writeActions(o Options, run *plumb.Run) error {
	w := bufio.NewWriter(o.Out)
	if lines := decisionLines(&o, run); len(lines) > 0 {
		level := "notice"
		if c := run.Decision.Conclusion; c == string(compare.Worse) || c == string(compare.Violated) {
			level = "error"
		}
		fmt.Fprintf(w, "::%s title=%s::%s\n", level, escapeProperty(o.Redact.String(suiteTitle(&run.Info, " "))),
			escapeData(o.Redact.String(strings.Join(lines, "\n"))))
	}
	for _, l := range gateLines(run, " · ", "–") {
		level := map[analyze.GateResult]string{
			analyze.Holds: "notice", analyze.Violated: "error", analyze.Unproven: "warning",
		}[l.result]
		fmt.Fprintf(w, "::%s title=gate::%s\n", level, escapeData(o.Redact.String(l.words)))
	}
	f := analyze.Find(run, annotations)
	left := map[string]int{"error": annotations, "warning": annotations}
	for _, section := range sectionsOf(&f) {
		level := "warning"
		if section.failed {
			level = "error"
		}
		for _, g := range section.groups {
			for _, x := range g.Executions[:min(len(g.Executions), left[level])] {
				left[level]--
				c := cellAt(run, x)
				rec, decided, err := c.Decided(o.Sessions)
				if err != nil {
					return fmt.Errorf("write github-actions report: %w", err)
				}
				fmt.Fprintf(w, "::%s title=%s%s::%s\n", level,
					escapeProperty(o.Redact.String(text.OneLine(c.Info.ID)+" > "+text.OneLine(c.Runner.ID))),
					o.annotationPlace(&c, decided),
					escapeData(o.Redact.String(annotation(&c, section.title, rec, decided))))
			}
		}
	}
	for _, c := range conclusionsOf(&o, run) {
		if c.warning {
			fmt.Fprintf(w, "::warning title=%s::%s\n", escapeProperty(c.label), escapeData(o.Redact.String(c.text)))
		}
	}
	err := w.Flush()
	if err == nil {
		err = appendStepSummary(&o, run)
	}
	if err != nil {
		return fmt.Errorf("write github-actions report: %w", err)
	}
	return nil
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
func (o *Options) annotationPlace(c *cell, s *results.Session) string {
	p, workspace := sourceOf(s), o.Getenv("GITHUB_WORKSPACE")
	if p == nil {
		at := c.Info.Source
		if workspace != "" && o.Project != "" && at.File != "" && !filepath.IsAbs(at.File) {
			at.File = filepath.Join(o.Project, at.File)
		}
		p = &at
	}
	if p.File == "" {
		return ""
	}
	file := filepath.ToSlash(text.OneLine(plainPath(p.File)))
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
func annotation(c *cell, word string, rec *results.Recording, decided *results.Session) string {
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
		lines = append(lines, "flaky: "+flakyWords(&s))
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

// appendStepSummary appends the Markdown report to the summary of the workflow step, if there is
// one.
func appendStepSummary(o *Options, run *plumb.Run) error {
	if o.Getenv("GITHUB_STEP_SUMMARY") == "" {
		return nil
	}
	text, err := markdown(o, run)
	if err != nil {
		return err
	}
	return appendSummary(o, text)
}

// appendSummary appends a text to the summary of the workflow step, if there is one.
func appendSummary(o *Options, text string) error {
	name := o.Getenv("GITHUB_STEP_SUMMARY")
	if name == "" {
		return nil
	}
	f, err := files.OpenOutput(name, os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("open step summary: %w", err)
	}
	_, err = io.WriteString(f, text+"\n")
	return errors.Join(err, f.Close())
}
