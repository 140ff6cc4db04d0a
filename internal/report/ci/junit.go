package ci

import (
	"bufio"
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/analyze"
	"github.com/plumb-eval/plumb/internal/compare"
	"github.com/plumb-eval/plumb/internal/report"
	"github.com/plumb-eval/plumb/internal/results"
	"github.com/plumb-eval/plumb/internal/text"
)

// junitOutput limits the output of one test case, in bytes. CI systems read whole files into
// memory.
const junitOutput = 16 << 10

type junitProperty struct {
	XMLName xml.Name `xml:"property" redact:"-"`
	Name    string   `xml:"name,attr" redact:"-"`
	Value   string   `xml:"value,attr"`
}

type junitMessage struct {
	Message string `xml:"message,attr,omitempty"`
	Type    string `xml:"type,attr,omitempty"`
	Text    string `xml:",cdata"`
}

type junitText struct {
	Text string `xml:",cdata"`
}

type junitProperties struct {
	List []junitProperty `xml:"property"`
}

// junitCase is one execution. The order of its fields follows the schema that most readers use.
type junitCase struct {
	XMLName    xml.Name         `xml:"testcase" redact:"-"`
	Name       string           `xml:"name,attr"`
	ClassName  string           `xml:"classname,attr"`
	Time       string           `xml:"time,attr" redact:"-"`
	File       string           `xml:"file,attr,omitempty" redact:"-"`
	Line       int              `xml:"line,attr,omitempty"`
	Properties *junitProperties `xml:"properties"`
	Skipped    *junitMessage    `xml:"skipped"`
	Error      *junitMessage    `xml:"error"`
	Failure    *junitMessage    `xml:"failure"`
	SystemOut  *junitText       `xml:"system-out"`
}

// WriteJUnit writes one test suite per runner. A failed execution is a failure, one that could not
// be measured is an error, and one that did not run is skipped. An expected failure is skipped too,
// with a message: it did not pass and does not break the build, and JUnit has no better word. An
// unexpected pass is a failure.
func WriteJUnit(out io.Writer, src *report.Source, run *plumb.Run) error {
	root := start("testsuites", "name", report.SuiteTitle(&run.Info, " "))
	root.Attr = append(root.Attr, junitCounts(analyze.Rates(run).Overall)...)
	root.Attr = append(root.Attr, attr("time", seconds(results.DurationMs(run))))
	return writeSuites(out, root, func(w *junitWriter) {
		for r := range run.Info.Runners {
			w.suite(src, run, r)
		}
	})
}

// WriteJUnitComparison writes one test case for each gate, or without gates for each runner. What
// fails is a failure, and what is not proven or not decisive is an error: it could not be measured.
func WriteJUnitComparison(out io.Writer, c *compare.Comparison) error {
	var cases []junitCase
	failures, errs := 0, 0
	for _, l := range checkedLines(c) {
		x := junitCase{Name: xmlText(text.OneLine(l.name)), ClassName: xmlText(text.OneLine(l.runner)), Time: seconds(0)}
		message := &junitMessage{Message: xmlText(text.OneLine(l.text)), Type: "comparison", Text: xmlText(l.text)}
		switch l.code {
		case 1:
			x.Failure = message
			failures++
		case 3:
			x.Error = message
			errs++
		default:
			x.SystemOut = &junitText{xmlText(l.text)}
		}
		cases = append(cases, x)
	}
	suite := start("testsuite", "name", text.OneLine(c.Baseline.Name+" and "+c.Candidate.Name),
		"tests", strconv.Itoa(len(cases)), "failures", strconv.Itoa(failures), "errors", strconv.Itoa(errs))
	return writeSuites(out, start("testsuites"), func(w *junitWriter) {
		w.token(suite)
		for _, x := range cases {
			w.element(x)
		}
		w.token(suite.End())
	})
}

// writeSuites writes a document whose test suites write writes.
func writeSuites(to io.Writer, root xml.StartElement, write func(*junitWriter)) error {
	out := bufio.NewWriterSize(to, 64<<10)
	w := &junitWriter{Encoder: xml.NewEncoder(out)}
	w.Indent("", "  ")
	_, w.err = out.WriteString(xml.Header)
	w.token(root)
	write(w)
	w.token(root.End())
	if w.err == nil {
		w.err = w.Close()
	}
	_, _ = out.WriteString("\n") // Flush returns the error
	return cmp.Or(w.err, out.Flush())
}

// junitWriter writes XML and keeps the first error.
type junitWriter struct {
	*xml.Encoder
	err error
}

func (w *junitWriter) token(t xml.Token) {
	if w.err == nil {
		w.err = w.EncodeToken(t)
	}
}

func (w *junitWriter) element(v any) {
	if w.err == nil {
		w.err = w.Encode(v)
	}
}

// suite writes the executions of the runner at index r.
func (w *junitWriter) suite(src *report.Source, run *plumb.Run, r int) {
	runner := &run.Info.Runners[r]
	n := len(run.Info.Runners)
	rate := analyze.RunnerRates(run, r).Overall
	var ms int64
	for c := range run.Cases {
		ms += run.Executions[c*n+r].DurationMs
	}
	suite := start("testsuite", "name", runner.ID)
	suite.Attr = append(suite.Attr, junitCounts(rate)...)
	suite.Attr = append(suite.Attr, attr("time", seconds(ms)))
	if !run.StartedAt.IsZero() {
		suite.Attr = append(suite.Attr, attr("timestamp", run.StartedAt.UTC().Format("2006-01-02T15:04:05")))
	}
	w.token(suite)
	cells, more := report.RateCells(rate, "-"), []string{}
	for _, x := range report.RepeatRows(run, rate, true, "-") {
		more = append(more, x.Key, x.Cells[0], x.Key+".rate", x.Cells[1], x.Key+".interval95", x.Cells[2],
			x.Key+".coverage", x.Cells[3])
	}
	properties := start("properties")
	w.token(properties)
	for _, c := range report.ConclusionsOf(src, run) {
		more = append(more, c.Key, c.Text)
	}
	for _, p := range nonEmpty(append([]string{
		"run", run.Info.ID, "plumb", run.Info.PlumbVersion, "suite", run.Info.SuiteName,
		"suite.version", run.Info.SuiteVersion, "suite.tier", run.Info.Tier, "suite.hash", run.Info.SuiteHash,
		"model", runner.Agent.Model, "provider", runner.Agent.Type, "runner.config", runner.Config,
		"judge", report.JudgeTitle(&run.Info), "embedder", run.Info.Embedder,
		"recorded", flag(src.IsRecording(run)), "stop", report.StopWords(run),
		"decision", strings.Join(report.DecisionLines(src, run), "; "), "gates", gatesText(run),
		"passed", cells[0], "passRate", cells[1], "interval95", cells[2], "coverage", cells[3],
	}, more...)...) {
		w.element(report.Without(src.Redact, p))
	}
	w.token(properties.End())
	for i := r; i < len(run.Executions) && w.err == nil; i += n {
		c := report.CellAt(run, i)
		var x junitCase
		if x, w.err = junitCaseOf(src, &c); w.err == nil {
			w.element(report.Without(src.Redact, x))
		}
	}
	w.token(suite.End())
}

// junitCounts returns the counts that readers expect on a suite.
func junitCounts(r analyze.Rate) []xml.Attr {
	failures := r.Failed - r.ExpectedFailed + r.UnexpectedPassed
	return []xml.Attr{
		attr("tests", strconv.Itoa(r.Planned)), attr("failures", strconv.Itoa(failures)),
		attr("errors", strconv.Itoa(r.Errored)), attr("skipped", strconv.Itoa(r.NotRun()+r.ExpectedFailed)),
	}
}

func junitCaseOf(src *report.Source, c *report.Cell) (junitCase, error) {
	x := junitCase{Name: xmlText(c.Info.ID), ClassName: xmlText(c.Info.Category), Time: seconds(c.DurationMs)}
	x.File, x.Line = xmlText(c.Info.Source.File), c.Info.Source.Line
	if x.ClassName == "" {
		x.ClassName = xmlText(report.SuiteTitle(&c.Run.Info, " "))
	}
	reason := xmlText(text.OneLine(c.Reason))
	if c.State != plumb.ExecutionDone || c.Outcome == plumb.OutcomeSkipped {
		if reason == "" {
			reason = strings.TrimSuffix("not run: "+report.StopWords(c.Run), ": ")
		}
		x.Skipped = &junitMessage{Message: reason}
		return x, nil
	}
	_, decided, err := c.Decided(src.Sessions)
	if err != nil {
		return x, err
	}
	x.Properties = &junitProperties{caseProperties(c, decided)}
	if out := decided.Output(); out != "" {
		short := text.Clip(out, junitOutput)
		x.SystemOut = &junitText{xmlText(short)}
		if missing := len(out) - len(short); missing > 0 {
			x.SystemOut.Text += fmt.Sprintf("\n(%s more bytes: %s)", text.Count(missing), xmlText(c.Command("show", src)))
		}
	}
	message := &junitMessage{
		Message: reason, Type: xmlText(classID(c.Execution)), Text: xmlText(whyText(c.Execution, decided)),
	}
	switch {
	case c.Status == plumb.StatusUnexpectedPassed:
		x.Failure = &junitMessage{Message: results.UnexpectedPass, Type: plumb.ClassUnexpectedPass().ID}
	case c.Status == plumb.StatusExpectedFailed:
		x.Skipped = &junitMessage{Message: strings.TrimSuffix("expected failure: "+reason, ": ")}
	case c.Outcome == plumb.OutcomeFail:
		x.Failure = message
	case c.Outcome == plumb.OutcomeError:
		x.Error = message
	}
	return x, nil
}

// caseProperties describes what produced a result.
func caseProperties(c *report.Cell, s *results.Session) []junitProperty {
	pairs := []string{
		"outcome", string(c.Outcome), "status", string(c.Status), "case.hash", c.Info.Hash,
		"difficulty", c.Info.Difficulty, "prompt", c.Info.Prompt, "item", c.Info.Item,
	}
	if c.Priced {
		pairs = append(pairs, "costUsd", strconv.FormatFloat(text.Round(c.CostUSD), 'g', -1, 64))
	}
	if c.InputTokens+c.OutputTokens > 0 {
		pairs = append(pairs, "inputTokens", strconv.FormatInt(c.InputTokens, 10), "outputTokens",
			strconv.FormatInt(c.OutputTokens, 10))
	}
	if tried := c.Passed + c.Failed + c.Errored; tried > 1 {
		pairs = append(pairs, "repetitions.passed", fmt.Sprintf("%d/%d", c.Passed, tried))
	}
	if analyze.StoppedEarly(c.Run, c.Index) {
		tried, planned := analyze.Tried(c.Run, c.Index)
		pairs = append(pairs, "repetitions.tried", fmt.Sprintf("%d/%d", tried, planned))
	}
	if s, ok := analyze.SamplesOf(c.Run, c.Index); ok {
		pairs = append(pairs, "label", string(s.Label))
		if s.Label != analyze.Undetermined {
			pairs = append(pairs, "label.sure", strings.TrimSuffix(report.SureWords(s.Sure), " sure"))
		}
	}
	if s != nil && s.Report != nil {
		pairs = append(pairs, "model", s.Report.Model, "fingerprint", s.Report.Fingerprint,
			"requestId", s.Report.RequestID, "finishReason", string(s.Report.FinishReason),
			"cached", flag(s.Report.Cached), "recorded", flag(s.Report.Recorded))
	}
	return nonEmpty(pairs...)
}

// gatesText is the results of the gates as one text.
func gatesText(run *plumb.Run) string {
	var words []string
	for _, l := range report.GateLines(run, " / ", "-") {
		words = append(words, l.Words)
	}
	return strings.Join(words, "; ")
}

func nonEmpty(pairs ...string) []junitProperty {
	var out []junitProperty
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			out = append(out, junitProperty{Name: pairs[i], Value: xmlText(text.OneLine(pairs[i+1]))})
		}
	}
	return out
}

func flag(b bool) string {
	if b {
		return "true"
	}
	return ""
}

func start(name string, attrs ...string) xml.StartElement {
	e := xml.StartElement{Name: xml.Name{Local: name}}
	for i := 0; i+1 < len(attrs); i += 2 {
		e.Attr = append(e.Attr, attr(attrs[i], xmlText(attrs[i+1])))
	}
	return e
}

func attr(name, value string) xml.Attr { return xml.Attr{Name: xml.Name{Local: name}, Value: value} }

func seconds(ms int64) string { return strconv.FormatFloat(float64(ms)/1000, 'f', 3, 64) }

// xmlText is clean for XML, which cannot represent every character, not even escaped.
func xmlText(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t', r == '\n', 0x20 <= r && r <= 0xd7ff, 0xe000 <= r && r <= 0xfffd,
			0x10000 <= r && r <= utf8.MaxRune:
			return r
		}
		return -1
	}, text.Clean(s))
}
