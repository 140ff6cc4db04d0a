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
	w := bufio.NewWriterSize(o.Out, 64<<10)
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	total := analyze.Rates(run).Overall
	root := start("testsuites", "name", suiteTitle(&run.Info, " "))
	root.Attr = append(root.Attr, junitCounts(total)...)
	root.Attr = append(root.Attr, attr("time", seconds(durationMs(run))))
	if _, err := w.WriteString(xml.Header); err != nil {
		return fmt.Errorf("write junit report: %w", err)
	}
	err := enc.EncodeToken(root)
	for r := range run.Info.Runners {
		if err == nil {
			err = junitSuite(enc, &o, run, r)
		}
	}
	if err == nil {
		err = enc.EncodeToken(root.End())
	}
	if err == nil {
		err = enc.Close()
	}
	if err == nil {
		_, err = w.WriteString("\n")
	}
	if err == nil {
		err = w.Flush()
	}
	if err != nil {
		return fmt.Errorf("write junit report: %w", err)
	}
	return nil
}

func junitSuite(enc *xml.Encoder, o *Options, run *plumb.Run, r int) error {
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
	if err := enc.EncodeToken(suite); err != nil {
		return err
	}
	passed, share, interval, coverage := rateCells(rate, "-")
	properties := start("properties")
	if err := enc.EncodeToken(properties); err != nil {
		return err
	}
	for _, p := range nonEmpty(
		"run", run.Info.ID, "plumb", run.Info.PlumbVersion, "suite", run.Info.SuiteName,
		"suite.version", run.Info.SuiteVersion, "suite.tier", run.Info.Tier, "suite.hash", run.Info.SuiteHash,
		"model", runner.Agent.Model, "provider", runner.Agent.Type, "runner.config", runner.Config,
		"judge", judgeTitle(&run.Info), "embedder", run.Info.Embedder,
		"recorded", flag(o.recorded(run)), "stop", stopWords(run),
		"passed", passed, "passRate", share, "interval95", interval, "coverage", coverage,
	) {
		if err := enc.Encode(without(o.Redact, p)); err != nil {
			return err
		}
	}
	if err := enc.EncodeToken(properties.End()); err != nil {
		return err
	}
	for c := range run.Cases {
		x, err := junitCaseOf(o, run, c*n+r)
		if err != nil {
			return err
		}
		if err := enc.Encode(without(o.Redact, x)); err != nil {
			return err
		}
	}
	return enc.EncodeToken(suite.End())
}

// junitCounts returns the counts that readers expect on a suite.
func junitCounts(r analyze.Rate) []xml.Attr {
	failures := r.Failed - r.ExpectedFailed + r.UnexpectedPassed
	return []xml.Attr{
		attr("tests", strconv.Itoa(r.Planned)), attr("failures", strconv.Itoa(failures)),
		attr("errors", strconv.Itoa(r.Errored)), attr("skipped", strconv.Itoa(r.NotRun()+r.ExpectedFailed)),
	}
}

func junitCaseOf(o *Options, run *plumb.Run, i int) (junitCase, error) {
	n := len(run.Info.Runners)
	e, info, runner := &run.Executions[i], &run.Cases[i/n], &run.Info.Runners[i%n]
	x := junitCase{Name: xmlText(info.ID), ClassName: xmlText(info.Category), Time: seconds(e.DurationMs)}
	if x.ClassName == "" {
		x.ClassName = xmlText(suiteTitle(&run.Info, " "))
	}
	if e.State != plumb.ExecutionDone || e.Outcome == plumb.OutcomeSkipped {
		message := oneLine(e.Reason)
		if message == "" {
			message = "not run"
			if words := stopWords(run); words != "" {
				message += ": " + words
			}
		}
		x.Skipped = &junitMessage{Message: xmlText(message)}
		return x, nil
	}
	rec, err := record(o.Sessions, info.ID, runner.ID)
	if err != nil {
		return x, err
	}
	decided := rec.deciding(e.Outcome)
	x.Properties = &junitProperties{caseProperties(run, i, decided)}
	if out, missing := shorten(decided.output(), junitOutput); out != "" {
		x.SystemOut = &junitText{xmlText(out)}
		if missing > 0 {
			x.SystemOut.Text += fmt.Sprintf("\n(%s more bytes: plumb show %s %s)", count(missing), oneLine(run.Info.ID),
				oneLine(info.ID))
		}
	}
	message := &junitMessage{
		Message: xmlText(oneLine(e.Reason)), Type: xmlText(classID(e)),
		Text: xmlText(whyText(e, decided)),
	}
	switch {
	case e.Status == plumb.StatusUnexpectedPassed:
		x.Failure = &junitMessage{Message: unexpectedPass, Type: plumb.ClassUnexpectedPass().ID}
	case e.Status == plumb.StatusExpectedFailed:
		x.Skipped = &junitMessage{Message: xmlText(strings.TrimSuffix("expected failure: "+oneLine(e.Reason), ": "))}
	case e.Outcome == plumb.OutcomeFail:
		x.Failure = message
	case e.Outcome == plumb.OutcomeError:
		x.Error = message
	}
	return x, nil
}

// caseProperties describes what produced a result.
func caseProperties(run *plumb.Run, i int, s *session) []junitProperty {
	e, info := &run.Executions[i], &run.Cases[i/len(run.Info.Runners)]
	pairs := []string{
		"outcome", string(e.Outcome), "status", string(e.Status), "case.hash", info.Hash, "difficulty", info.Difficulty,
	}
	if e.Priced {
		pairs = append(pairs, "costUsd", strconv.FormatFloat(e.CostUSD, 'g', -1, 64))
	}
	if e.InputTokens+e.OutputTokens > 0 {
		pairs = append(pairs, "inputTokens", strconv.FormatInt(e.InputTokens, 10), "outputTokens",
			strconv.FormatInt(e.OutputTokens, 10))
	}
	if e.Passed+e.Failed+e.Errored > 1 {
		pairs = append(pairs, "repetitions.passed", fmt.Sprintf("%d/%d", e.Passed, e.Passed+e.Failed+e.Errored))
	}
	if s != nil && s.report != nil {
		pairs = append(pairs, "model", s.report.Model, "fingerprint", s.report.Fingerprint,
			"requestId", s.report.RequestID, "finishReason", string(s.report.FinishReason),
			"cached", flag(s.report.Cached), "recorded", flag(s.report.Recorded))
	}
	return nonEmpty(pairs...)
}

// whyText explains in full why an execution did not pass.
func whyText(e *plumb.Execution, s *session) string {
	x := whyOf(e, s)
	lines := x.lines(newTheme(false, true), 0)
	for i := range lines {
		_, lines[i], _ = strings.Cut(lines[i], "│ ")
	}
	return strings.Join(lines, "\n")
}

func classID(e *plumb.Execution) string {
	if e.Class != nil {
		return e.Class.ID
	}
	return e.Origin.Class().ID
}

func nonEmpty(pairs ...string) []junitProperty {
	var out []junitProperty
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			out = append(out, junitProperty{Name: pairs[i], Value: xmlText(oneLine(pairs[i+1]))})
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
	}, Clean(s))
}
