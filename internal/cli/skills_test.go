package cli_test

import (
	"regexp"
	"testing"

	"github.com/plumb-eval/plumb/skills"
)

// TestSuitesInSkillsAreValid validates each suite that a skill shows.
func TestSuitesInSkillsAreValid(t *testing.T) {
	t.Parallel()
	suites := regexp.MustCompile("(?ms)^```(yaml|ts)\n(.*?)^```$")
	names, checked := map[string]string{"yaml": "suite.yaml", "ts": "skills.suite.ts"}, 0
	for _, s := range skills.All() {
		if s.Description == "" {
			t.Errorf("%s has no description", s.Name)
		}
		for _, m := range suites.FindAllStringSubmatch(s.Text, -1) {
			w := newWorld(t)
			w.write(names[m[1]], m[2])
			w.write("skills/release-notes/SKILL.md", "---\nname: release-notes\ndescription: d\n---\n")
			if code, _, stderr := w.plumb("validate", names[m[1]]); code != 0 {
				t.Errorf("%s: %s: code %d\n%s", s.Name, names[m[1]], code, stderr)
			}
			checked++
		}
	}
	if checked == 0 {
		t.Error("the skills show no suite")
	}
}
