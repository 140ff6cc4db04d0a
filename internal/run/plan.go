package run

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/plumb-eval/plumb"
)

// Schedule decides which executions may overlap.
type Schedule string

// The schedules. Serial runs one session at a time, in suite order; parallel as many as allowed;
// isolated-by-runner one at a time per runner.
const (
	Serial           Schedule = "serial"
	Parallel         Schedule = "parallel"
	IsolatedByRunner Schedule = "isolated-by-runner"
)

// Schedules lists the schedules by name.
func Schedules() []string {
	return []string{string(Serial), string(Parallel), string(IsolatedByRunner)}
}

// DefaultTimeout limits the working time of one session if neither the case nor the run sets a
// limit.
const DefaultTimeout = 2 * time.Minute

// Filter selects cases. Its fields combine with AND, the values of one field with OR. An empty
// field selects all cases. The id of a case without its prompt selects it with all prompts.
type Filter struct {
	IDs          []string `json:"ids,omitempty"`
	Prompts      []string `json:"prompts,omitempty"`
	Tags         []string `json:"tags,omitempty"`
	Categories   []string `json:"categories,omitempty"`
	Difficulties []string `json:"difficulties,omitempty"`
	// Limit keeps only this number of selected cases, the first ones; 0 keeps all.
	Limit int `json:"limit,omitempty"`
}

// Select returns the cases of the suite that f selects, in suite order. It returns an error for an
// id that the suite does not have, and if no case is left.
func (f Filter) Select(s *plumb.Suite) ([]plumb.Case, error) {
	if len(s.Cases) == 0 {
		return nil, fmt.Errorf("suite %s has no cases", s.Name)
	}
	if err := f.check(s); err != nil {
		return nil, err
	}
	if len(f.IDs)+len(f.Prompts)+len(f.Tags)+len(f.Categories)+len(f.Difficulties) == 0 && f.Limit == 0 {
		return s.Cases, nil
	}
	var selected []plumb.Case
	for _, c := range s.Cases {
		if f.Limit > 0 && len(selected) == f.Limit {
			break
		}
		if wants(f.IDs, c.ID, cmp.Or(c.Item, c.ID)) && wants(f.Prompts, c.PromptName) && wants(f.Tags, c.Tags...) &&
			wants(f.Categories, c.Category) && wants(f.Difficulties, c.Difficulty) {
			selected = append(selected, c)
		}
	}
	if len(selected) == 0 {
		return nil, plumb.WithHint(
			fmt.Errorf("no case of suite %s matches the filters", s.Name), "list the cases with: plumb list",
		)
	}
	return selected, nil
}

// check finds filter values that no case has, usually typing errors.
func (f Filter) check(s *plumb.Suite) error {
	for _, field := range []struct {
		name   string
		wanted []string
		of     func(*plumb.Case) []string
	}{
		{"case", f.IDs, func(c *plumb.Case) []string { return []string{c.ID, cmp.Or(c.Item, c.ID)} }},
		{"prompt", f.Prompts, func(c *plumb.Case) []string { return []string{c.PromptName} }},
		{"tag", f.Tags, func(c *plumb.Case) []string { return c.Tags }},
		{"category", f.Categories, func(c *plumb.Case) []string { return []string{c.Category} }},
		{"difficulty", f.Difficulties, func(c *plumb.Case) []string { return []string{c.Difficulty} }},
	} {
		if len(field.wanted) == 0 {
			continue
		}
		known := map[string]bool{}
		for i := range s.Cases {
			for _, v := range field.of(&s.Cases[i]) {
				known[v] = true
			}
		}
		delete(known, "") // a case without one
		missing := slices.DeleteFunc(slices.Clone(field.wanted), func(w string) bool { return known[w] })
		// documented: one matching tag is enough, because a config may serve several suites
		if len(missing) == 0 || field.name == "tag" && len(missing) < len(field.wanted) {
			continue
		}
		names := slices.Sorted(maps.Keys(known))
		hint := "list the cases with: plumb list"
		switch near := plumb.Nearest(missing[0], names); {
		case near != "":
			hint = "did you mean " + near + "?"
		case len(names) == 0:
			hint = "no case of the suite has a " + field.name
		case len(names) <= 20:
			hint = "it has: " + strings.Join(names, ", ")
		}
		return plumb.WithHint(fmt.Errorf("suite %s has no %s %q", s.Name, field.name, missing[0]), hint)
	}
	return nil
}

// wants reports whether one of the values is selected. An empty list selects all.
func wants(wanted []string, values ...string) bool {
	return len(wanted) == 0 || slices.ContainsFunc(values, func(v string) bool { return slices.Contains(wanted, v) })
}
