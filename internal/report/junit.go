package report

import (
	"bufio"
	"encoding/xml"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/analyze"
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

// writeJUnit writes one test suite per runner. A failed execution is a failure, one that could not
// be measured is an error, and one that did not run is skipped. An expected failure is skipped too,
// with a message: it did not pass and does not break the build, and JUnit has no better word. An
// unexpected pass is a failure.
func writeJUnit(o Options, run *plumb.Run) error {
	out := bufio.NewWriterSize(o.Out, 64<<10)
	w := &junitWriter{Encoder: xml.NewEncoder(out), o: &o}
	w.Indent("", "  ")
	_, w.err = out.WriteString(xml.Header)
	root := start("testsuites", "name", suiteTitle(&run.Info, " "))
	root.Attr = append(root.Attr, junitCounts(analyze.Rates(run).Overall)...)
	root.Attr = append(root.Attr, attr("time", seconds(results.DurationMs(run))))
	w.token(root)
	for r := range run.Info.Runners {
		w.suite(run, r)
	}
	w.token(root.End())
	if w.err == nil {
		w.err = w.Close()
	}
	_, _ = out.WriteString("\n") // Flush returns the error
	if w.err == nil {
		w.err = out.Flush()
	}
	if w.err != nil {
		return fmt.Errorf("write junit report: %w", w.err)
	}
	return nil
}

// junitWriter writes XML and keeps the first error.
type junitWriter struct {
	*xml.Encoder
	o   *Options
	err error
}

func (w *junitWriter) token(t xml.Token) {
	if w.err == nil {
		w.err = w.EncodeToken(t)
	}
}

// suite writes the executions of the runner at index r.
func (w *junitWriter) suite(run *plumb.Run, r int) {
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
	cells, more := rateCells(rate, "-"), []string{}
	for _, x := range repeatRows(run, rate, true, "-") {
		more = append(more, x.key, x.cells[0], x.key+".rate", x.cells[1], x.key+".interval95", x.cells[2],
			x.key+".coverage", x.cells[3])
	}
	properties := start("properties")
	w.token(properties)
	for _, c := range conclusionsOf(w.o, run) {
		more = append(more, c.key, c.text)
	}
	for _, p := range nonEmpty(append([]string{
		"run", run.Info.ID, "plumb", run.Info.PlumbVersion, "suite", run.Info.SuiteName,
		"suite.version", run.Info.SuiteVersion, "suite.tier", run.Info.Tier, "suite.hash", run.Info.SuiteHash,
		"model", runner.Agent.Model, "provider", runner.Agent.Type, "runner.config", runner.Config,
		"judge", judgeTitle(&run.Info), "embedder", run.Info.Embedder,
		"recorded", flag(w.o.recorded(run)), "stop", stopWords(run),
		"decision", strings.Join(decisionLines(w.o, run), "; "), "gates", gatesText(run),
		"passed", cells[0], "passRate", cells[1], "interval95", cells[2], "coverage", cells[3],
	}, more...)...) {
		if w.err == nil {
			w.err = w.Encode(without(w.o.Redact, p))
		}
	}
	w.token(properties.End())
	for i := r; i < len(run.Executions) && w.err == nil; i += n {
		c := cellAt(run, i)
		var x junitCase
		if x, w.err = junitCaseOf(w.o, &c); w.err == nil {
			w.err = w.Encode(without(w.o.Redact, x))
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

func junitCaseOf(o *Options, c *cell) (junitCase, error) {
	x := junitCase{Name: xmlText(c.Info.ID), ClassName: xmlText(c.Info.Category), Time: seconds(c.DurationMs)}
	x.File, x.Line = xmlText(c.Info.Source.File), c.Info.Source.Line
	if x.ClassName == "" {
		x.ClassName = xmlText(suiteTitle(&c.Run.Info, " "))
	}
	reason := xmlText(text.OneLine(c.Reason))
	if c.State != plumb.ExecutionDone || c.Outcome == plumb.OutcomeSkipped {
		if reason == "" {
			reason = strings.TrimSuffix("not run: "+stopWords(c.Run), ": ")
		}
		x.Skipped = &junitMessage{Message: reason}
		return x, nil
	}
	_, decided, err := c.Decided(o.Sessions)
	if err != nil {
		return x, err
	}
	x.Properties = &junitProperties{caseProperties(c, decided)}
	if out := decided.Output(); out != "" {
		short := text.Clip(out, junitOutput)
		x.SystemOut = &junitText{xmlText(short)}
		if missing := len(out) - len(short); missing > 0 {
			x.SystemOut.Text += fmt.Sprintf("\n(%s more bytes: %s)", text.Count(missing), xmlText(c.command("show", o)))
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
func caseProperties(c *cell, s *results.Session) []junitProperty {
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
			pairs = append(pairs, "label.sure", strings.TrimSuffix(sureWords(s.Sure), " sure"))
		}
	}
	if s != nil && s.Report != nil {
		pairs = append(pairs, "model", s.Report.Model, "fingerprint", s.Report.Fingerprint,
			"requestId", s.Report.RequestID, "finishReason", string(s.Report.FinishReason),
			"cached", flag(s.Report.Cached), "recorded", flag(s.Report.Recorded))
	}
	return nonEmpty(pairs...)
}

// whyText explains in full why an execution did not pass, and says what was asked.
func whyText(e *plumb.Execution, s *results.Session) string {
	x := whyOf(e, s)
	lines := x.lines(newTheme(false, true), 0)
	for i := range lines {
		_, lines[i], _ = strings.Cut(lines[i], "│ ")
	}
	if s != nil && s.Report != nil && s.Report.Prompt != "" {
		lines = append(lines, "asked     "+askedOf(s.Report.Prompt))
	}
	return strings.Join(lines, "\n")
}

func classID(e *plumb.Execution) string {
	if e.Class != nil {
		return e.Class.ID
	}
	return e.Origin.Class().ID
}

// gatesText is the results of the gates as one text.
func gatesText(run *plumb.Run) string {
	var words []string
	for _, l := range gateLines(run, " / ", "-") {
		words = append(words, l.words)
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
