package ci

import (
	"encoding/xml"
	"io"
	"strings"
	"testing"

	"github.com/plumb-eval/plumb/internal/report"
	"github.com/plumb-eval/plumb/internal/report/reporttest"
)

// TestJUnitReads parses what was written and checks its counts against its elements.
func TestJUnitReads(t *testing.T) {
	type testcase struct {
		Name    string    `xml:"name,attr"`
		Failure *struct{} `xml:"failure"`
		Error   *struct{} `xml:"error"`
		Skipped *struct {
			Message string `xml:"message,attr"`
		} `xml:"skipped"`
		Out string `xml:"system-out"`
	}
	var doc struct {
		Tests  int `xml:"tests,attr"`
		Suites []struct {
			Name     string     `xml:"name,attr"`
			Tests    int        `xml:"tests,attr"`
			Failures int        `xml:"failures,attr"`
			Errors   int        `xml:"errors,attr"`
			Skipped  int        `xml:"skipped,attr"`
			Cases    []testcase `xml:"testcase"`
		} `xml:"testsuite"`
	}
	l := reporttest.Mixed()
	l.Execute("gap-002", "gpt-5-mini", reporttest.Answer("nul \x00 \ufffe ]]> \x1b[1m"+strings.Repeat("x", junitOutput), 1),
		reporttest.Failed(reporttest.Verdict("a\x01b", false, "c\x02]]>", "", "")))
	l.End("", 0)
	text := rendered(t, func(w io.Writer) error { return WriteJUnit(w, &report.Source{Sessions: l.Sessions}, l.Run(t)) })
	if err := xml.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	if doc.Tests != 12 || len(doc.Suites) != 2 {
		t.Fatalf("%d tests, %d suites", doc.Tests, len(doc.Suites))
	}
	for _, s := range doc.Suites {
		failures, errs, skipped := 0, 0, 0
		for _, c := range s.Cases {
			if c.Failure != nil {
				failures++
			}
			if c.Error != nil {
				errs++
			}
			if c.Skipped != nil {
				skipped++
				if c.Skipped.Message == "" {
					t.Errorf("%s: skipped without a reason", c.Name)
				}
			}
			if len(c.Out) > junitOutput+200 {
				t.Errorf("%s: %d bytes of output", c.Name, len(c.Out))
			}
		}
		if len(s.Cases) != s.Tests || failures != s.Failures || errs != s.Errors || skipped != s.Skipped {
			t.Errorf("%s: counts %d %d %d %d, elements %d %d %d %d", s.Name, s.Tests, s.Failures, s.Errors, s.Skipped,
				len(s.Cases), failures, errs, skipped)
		}
	}
}

func TestComparisonJUnit(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		gates                   []string
		tests, failures, errors int
	}{
		{nil, 1, 1, 0},
		{[]string{"pass_rate >= -5pp", "errors <= 5%", "pass_rate >= 90%", "broken <= 0"}, 4, 1, 2},
	} {
		text := rendered(t, func(w io.Writer) error {
			return WriteJUnitComparison(w, reporttest.LostRun(t, test.gates...).Comparison)
		})
		var doc struct {
			Suite struct {
				Tests    int `xml:"tests,attr"`
				Failures int `xml:"failures,attr"`
				Errors   int `xml:"errors,attr"`
				Cases    []struct {
					Failure *struct{} `xml:"failure"`
					Error   *struct{} `xml:"error"`
				} `xml:"testcase"`
			} `xml:"testsuite"`
		}
		if err := xml.Unmarshal([]byte(text), &doc); err != nil {
			t.Fatalf("%v:\n%s", err, text)
		}
		s := doc.Suite
		if s.Tests != test.tests || s.Failures != test.failures || s.Errors != test.errors || len(s.Cases) != test.tests {
			t.Errorf("%v: got %+v\n%s", test.gates, s, text)
		}
	}
}
