package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/plumb-eval/plumb/internal/compare"
	"github.com/plumb-eval/plumb/internal/results"
	"github.com/plumb-eval/plumb/internal/text"
)

// Compared is what the reports of a comparison are made of.
type Compared struct {
	*compare.Comparison
	// Matching has all pairs. The html report lists them.
	Matching *compare.Matching
	// Baseline and Candidate read the sessions of the two sides. They are nil for sides that are not
	// runs.
	Baseline, Candidate results.Sessions
}

// FindDifferences looks for the first event at which the sessions of a case differ, for the cases
// that reports show with it. It reads only their sessions, and only if both sides are runs.
func (c *Compared) FindDifferences() error {
	if c.Baseline == nil || c.Candidate == nil {
		return nil
	}
	for _, list := range [][]compare.CaseResult{c.Cases.Regressed, c.Cases.Fixed} {
		for i := range list[:min(shownCases, len(list))] {
			if err := compare.FindDifference(&list[i], compare.Sessions(c.Baseline), compare.Sessions(c.Candidate)); err != nil {
				return err
			}
		}
	}
	return nil
}

// comparisonKind is one kind of report of a comparison.
type comparisonKind struct {
	name  string
	write func(o *Options, c *Compared) error
	// mixes is set if the report can share standard output with another one.
	mixes bool
}

// comparisonKinds is the only list of the reports of a comparison.
func comparisonKinds() []comparisonKind {
	return []comparisonKind{
		{name: Terminal, write: func(o *Options, c *Compared) error { return WriteComparison(*o, c.Comparison) }},
		{name: JSON, write: writeComparisonJSON},
		{name: Markdown, write: func(o *Options, c *Compared) error {
			_, err := io.WriteString(o.Out, comparisonMarkdown(o, c.Comparison))
			return err
		}},
		{name: HTML, write: writeComparisonHTML, mixes: true},
		{name: JUnit, write: writeComparisonJUnit},
		{name: GitHubActions, write: writeComparisonActions, mixes: true},
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
		if err := k.write(&o, c); err != nil {
			return fmt.Errorf("write %s report: %w", name, err)
		}
		return nil
	}
	return fmt.Errorf("unknown report %q of a comparison", name)
}

// writeComparisonJSON writes the document of a comparison.
func writeComparisonJSON(o *Options, c *Compared) error {
	var doc bytes.Buffer
	enc := json.NewEncoder(&doc)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(without(o.Redact, c.Comparison)); err != nil {
		return fmt.Errorf("write the comparison: %w", err)
	}
	_, err := o.Out.Write(text.EscapeJSON(doc.Bytes()))
	return err
}

// The limits of a comparison in Markdown.
const (
	markdownCases   = 30 // cases listed of each kind of change
	markdownDetails = 10 // of them with the first difference between the sessions
)

// conclusionMark returns the mark of a conclusion, for pages that show emoji.
func conclusionMark(c *compare.Comparison) markup {
	switch c.ExitCode {
	case 0:
		return "✅"
	case 1:
		return "❌"
	default:
		return "⚠️"
	}
}

// comparisonMarkdown renders a comparison for a comment on a pull request. All texts with untrusted
// parts are inside code.
func comparisonMarkdown(o *Options, c *compare.Comparison) string {
	c = without(o.Redact, c)
	m := &page{limit: markdownSize}
	word, rest := conclusionWord(c)
	m.add("## %s Plumb: %s\n\n%s\n\n", conclusionMark(c), word, code(rest))
	m.add("Baseline %s · candidate %s\n\n", code(c.Baseline.Name), code(c.Candidate.Name))
	for _, a := range settleWords(c) {
		m.add("- %s\n", code(a.Text))
		if a.Command != "" {
			m.part("\n" + indentBlock(fence(a.Command, "sh")) + "\n")
		}
	}
	m.comparisonFacts(c)
	for i := range c.Runners {
		m.comparisonMetrics(c, &c.Runners[i])
	}
	m.comparisonGates(c)
	m.comparisonCases(c, "Lost", c.Cases.Regressed)
	m.comparisonCases(c, "Won", c.Cases.Fixed)
	m.comparisonRest(c)
	return m.String()
}

// comparisonFacts lists what varied, what is unknown, and warnings.
func (m *page) comparisonFacts(c *compare.Comparison) {
	for i := range c.Varied[:min(len(c.Varied), summaryNotes)] {
		d := &c.Varied[i]
		m.add("- varied: %s\n", code(differenceWords(d)))
	}
	if names := unknownNames(c); len(names) > 0 {
		m.add("- not recorded on both sides, so not compared: %s\n", code(someOf(names, summaryNotes)))
	}
	for _, text := range c.Warnings {
		m.add("- ⚠️ %s\n", code(text))
	}
	for i := range c.Runners {
		if words := errorWords(&c.Runners[i].Errors); words != "" {
			m.add("- errors on %s: %s\n", code(c.Runners[i].Candidate), code(words))
		}
	}
	m.part("\n")
}

func (m *page) comparisonMetrics(c *compare.Comparison, r *compare.RunnerResult) {
	text := markup("")
	if len(c.Runners) > 1 {
		text = marked("**%s**: %s\n\n", code(r.Candidate), r.Conclusion)
	}
	text += "| | baseline | candidate | effect | p | |\n| --- | ---: | ---: | ---: | ---: | --- |\n"
	for i := range c.Metrics {
		if f := &c.Metrics[i]; f.Runner == r.Candidate {
			row := metricCells(f)
			text += cells(setCell(row[0]), row[1:]...)
		}
	}
	if notes := testNotes(c); len(notes) > 0 {
		text += marked("\n%s\n", strings.Join(notes, "; "))
	}
	m.part(text + "\n")
}

func (m *page) comparisonGates(c *compare.Comparison) {
	if len(c.Gates) == 0 {
		return
	}
	marks := map[compare.GateResult]markup{compare.Violated: "❌", compare.Holds: "✅", compare.Unproven: "⚠️"}
	rows := make([]markup, len(c.Gates))
	for i := range c.Gates {
		g := &c.Gates[i]
		name := g.Text
		if len(c.Runners) > 1 {
			name += " on " + g.Runner
		}
		rows[i] = marked("| %s | %s %s | %s |\n", cellText(name), marks[g.Result], g.Result, setCell(gateWords(c, g)))
	}
	text := "| gate | result | |\n| --- | --- | --- |\n" + join(rows, "")
	if unprovenPasses(c) {
		text += "\nUnproven gates do not fail, because of `--unproven pass`.\n"
	}
	m.part(text + "\n")
}

// comparisonCases lists cases by failure class, folded.
func (m *page) comparisonCases(c *compare.Comparison, title string, list []compare.CaseResult) {
	if len(list) == 0 {
		return
	}
	m.add("<details><summary>%s: %s</summary>\n\n", title, text.Plural(len(list), "case"))
	shown := list[:min(markdownCases, len(list))]
	for _, first := range classesOf(list) {
		m.add("**%s**\n\n", code(classLabel(&first.Class, "")))
		for i := range shown {
			if shown[i].Class.ID != first.Class.ID {
				continue
			}
			m.add("- %s %s\n", code(pairWords(c, &shown[i])), strings.Join(caseFacts(&shown[i]), ", "))
			if d := shown[i].Difference; d != nil && d.Event > 0 && i < markdownDetails {
				m.part("\n" + indentBlock(fence(fmt.Sprintf("event %d\n- %s\n+ %s", d.Event,
					text.Line(sessionEnd(d.Baseline), 300), text.Line(sessionEnd(d.Candidate), 300)), "diff")) + "\n")
			}
		}
		m.part("\n")
	}
	if more := len(list) - len(shown); more > 0 {
		m.add("and %s more\n\n", text.Count(more))
	}
	m.part("</details>\n\n")
}

// comparisonRest lists what is not paired or not measured, and how the comparison was made.
func (m *page) comparisonRest(c *compare.Comparison) {
	for _, l := range unpairedLists(c) {
		m.add("- %s: %s\n", l.label, code(someOf(l.names, summaryNotes)))
	}
	m.part("\n")
	for i := range c.Runners {
		m.add("<sub>%s</sub>\n", code(methodWords(&c.Runners[i])+"; "+populationWords(&c.Runners[i].Figure)))
	}
}

// checked is one line of a report for machines: a gate, or without gates the conclusion for a
// runner.
type checked struct {
	name, runner, text string
	// code is the exit code that the line alone would give.
	code int
}

// checkedLines returns the gates of a comparison, or without gates its conclusions.
func checkedLines(c *compare.Comparison) []checked {
	var lines []checked
	for i := range c.Gates {
		g := &c.Gates[i]
		line := checked{name: g.Text, runner: g.Runner, text: string(g.Result) + ": " + gateWords(c, g)}
		switch g.Result {
		case compare.Violated:
			line.code = 1
		case compare.Unproven:
			if !c.UnprovenPass {
				line.code = 3
			}
		case compare.Holds:
		}
		lines = append(lines, line)
	}
	if len(c.Gates) > 0 {
		return lines
	}
	for i := range c.Runners {
		r := &c.Runners[i]
		line := checked{name: "comparison", runner: r.Candidate}
		line.text = string(r.Conclusion) + ": " + r.Reason + "; " + figureWords(&r.Figure, r.Conclusion)
		switch r.Conclusion {
		case compare.Worse:
			line.code = 1
		case compare.NotDecisive:
			line.code = 3
		case compare.Better, compare.Equivalent:
		}
		lines = append(lines, line)
	}
	return lines
}

// writeComparisonJUnit writes one test case for each gate, or without gates for each runner. What
// fails is a failure, and what is not proven or not decisive is an error: it could not be measured.
func writeComparisonJUnit(o *Options, c *Compared) error {
	clean := without(o.Redact, c.Comparison)
	lines := checkedLines(clean)
	suite := junitSuite{Name: xmlText(text.OneLine(clean.Baseline.Name + " and " + clean.Candidate.Name)), Tests: len(lines)}
	for _, l := range lines {
		x := junitCase{Name: xmlText(text.OneLine(l.name)), ClassName: xmlText(text.OneLine(l.runner)), Time: seconds(0)}
		message := &junitMessage{Message: xmlText(text.OneLine(l.text)), Type: "comparison", Text: xmlText(l.text)}
		switch l.code {
		case 1:
			x.Failure = message
			suite.Failures++
		case 3:
			x.Error = message
			suite.Errors++
		default:
			x.SystemOut = &junitText{xmlText(l.text)}
		}
		suite.Cases = append(suite.Cases, x)
	}
	if _, err := io.WriteString(o.Out, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(o.Out)
	e.Indent("", "  ")
	root := struct {
		XMLName xml.Name `xml:"testsuites"`
		Suite   junitSuite
	}{Suite: suite}
	if err := e.Encode(root); err != nil {
		return err
	}
	_, err := io.WriteString(o.Out, "\n")
	return err
}

// junitSuite is the test suite of a comparison.
type junitSuite struct {
	XMLName  xml.Name `xml:"testsuite"`
	Name     string   `xml:"name,attr"`
	Tests    int      `xml:"tests,attr"`
	Failures int      `xml:"failures,attr"`
	Errors   int      `xml:"errors,attr"`
	Cases    []junitCase
}

// writeComparisonActions writes an annotation for each gate that does not hold, or without gates for
// each conclusion that is worse or not decisive, and appends the Markdown report to the summary of
// the step.
func writeComparisonActions(o *Options, c *Compared) error {
	clean := without(o.Redact, c.Comparison)
	for _, l := range checkedLines(clean) {
		level := map[int]string{0: "notice", 1: "error", 3: "warning"}[l.code]
		if _, err := fmt.Fprintf(o.Out, "::%s title=%s::%s\n", level,
			escapeProperty(text.OneLine(l.name+" > "+l.runner)), escapeData(text.OneLine(l.text))); err != nil {
			return err
		}
	}
	return appendSummary(o, comparisonMarkdown(o, c.Comparison))
}
