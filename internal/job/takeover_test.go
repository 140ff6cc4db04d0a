package job_test

import (
	"strings"
	"testing"
	"time"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/config"
	"github.com/plumb-eval/plumb/internal/job"
	"github.com/plumb-eval/plumb/internal/project"
)

// TestBaselineAge takes the repetitions of an old run over: it costs no session, and warns.
func TestBaselineAge(t *testing.T) {
	t.Parallel()
	env, _ := environment(t)
	for _, later := range []time.Duration{0, 15 * 24 * time.Hour} {
		env.Now = func() time.Time { return time.Now().Add(later) }
		p, err := project.OpenProject(t.Context(), env, "", "")
		if err != nil {
			t.Fatal(err)
		}
		source, err := p.Read(t.Context(), "suite.jsonl", "", 0)
		if err != nil {
			t.Fatal(err)
		}
		request := job.Request{Settings: config.Defaults(), OwnRunners: []plumb.Runner{answering{}}}
		if later > 0 {
			request.BaselineFrom = "last"
		}
		j, err := job.Open(t.Context(), p, source, request)
		if err != nil {
			t.Fatal(err)
		}
		result, err := j.Perform(t.Context(), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		warned := false
		for _, n := range result.Run.Notes {
			warned = warned || n.Level == "warning" && strings.Contains(n.Text, "is 15d old")
		}
		if want := later > 0; warned != want || (result.Run.Totals.Cached == 2) != want {
			t.Errorf("after %v: %d of %+v cached, notes %+v", later, result.Run.Totals.Cached, result.Run.Totals, result.Run.Notes)
		}
		j.Close()
		p.Close()
	}
}
