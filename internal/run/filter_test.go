package run_test

import (
	"strings"
	"testing"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/run"
)

func TestFilter(t *testing.T) {
	s := suite(4)
	s.Cases[1].Tags, s.Cases[2].Tags = []string{"math"}, []string{"logic", "math"}
	s.Cases[3].Category = "coding"
	for _, test := range []struct {
		f    run.Filter
		want string
	}{
		{run.Filter{}, "case-000 case-001 case-002 case-003"},
		{run.Filter{Limit: 2}, "case-000 case-001"},
		{run.Filter{IDs: []string{"case-002", "case-000"}}, "case-000 case-002"},
		{run.Filter{Tags: []string{"logic", "math"}, Limit: 1}, "case-001"},
		{run.Filter{Categories: []string{"coding"}}, "case-003"},
		{
			run.Filter{Categories: []string{"coding"}, Tags: []string{"math"}},
			"error: no case of suite test matches the filters",
		},
		{run.Filter{Tags: []string{"maths"}}, `error: suite test has no tag "maths" (did you mean math?)`},
		{
			run.Filter{IDs: []string{"case-009", "case-001"}},
			`error: suite test has no case "case-009" (did you mean case-000?)`,
		},
	} {
		cases, err := test.f.Select(s)
		var ids []string
		for _, c := range cases {
			ids = append(ids, c.ID)
		}
		got := strings.Join(ids, " ")
		if err != nil {
			got = "error: " + err.Error()
			if h := plumb.Hint(err); strings.HasPrefix(h, "did you mean") {
				got += " (" + h + ")"
			}
		}
		if got != test.want {
			t.Errorf("%+v: got %s, want %s", test.f, got, test.want)
		}
	}
}
