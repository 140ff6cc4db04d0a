package kind_test

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/report"
	"github.com/plumb-eval/plumb/internal/report/kind"
	"github.com/plumb-eval/plumb/internal/report/terminal"
	"github.com/plumb-eval/plumb/plumbtest"
)

// TestContract holds every reporter to what reporters owe.
func TestContract(t *testing.T) {
	for _, name := range kind.Names() {
		t.Run(name, func(t *testing.T) {
			plumbtest.TestReporter(t, func(w io.Writer) (plumb.Reporter, error) {
				sessions := func(caseID, runnerID string, yield func(plumb.Event) error) error {
					for _, ev := range plumbtest.Events() {
						session := ev.Type == plumb.EventSessionFinished || ev.Type == plumb.EventSessionJudged
						if session && ev.Case == caseID && ev.Runner == runnerID {
							if err := yield(ev); err != nil {
								return err
							}
						}
					}
					return nil
				}
				now := func() time.Time { return time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC) }
				return kind.New(name, kind.Setup{
					Source: report.Source{Sessions: sessions}, Screen: terminal.Screen{Out: w, Unicode: true, Now: now},
				})
			})
		})
	}
}

// TestReportsAreDocumented checks that docs/reports.md has a section about each reporter.
func TestReportsAreDocumented(t *testing.T) {
	manual, err := os.ReadFile(filepath.FromSlash("../../../docs/reports.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range kind.Names() {
		if !regexp.MustCompile(`(?m)^## (.*, )?` + name + `(,.*)?$`).Match(manual) {
			t.Errorf("docs/reports.md has no section about the reporter %s", name)
		}
	}
}
