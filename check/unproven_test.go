package check

import (
	"testing"

	"github.com/plumb-eval/plumb"
)

// TestUnproven: no check concludes from a file that the agent asked for, or from a skill whose file it is, in either direction.
func TestUnproven(t *testing.T) {
	report := &plumb.SessionReport{
		UnprovenReads:  []string{"/w/.agents/skills/foo/SKILL.md"},
		DetectedSkills: []plumb.SkillDetection{{Skill: "sure", Confidence: "strong"}},
		Files:          plumb.Files{ObservedReads: []string{"/w/a.md"}},
		Events:         []plumb.SessionEvent{{Type: plumb.SessionFileRead, Path: "/w/a.md"}},
	}
	for spec, want := range map[string]string{
		`{"type":"used_skill","skill":"foo"}`:                                 "unmeasured",
		`{"type":"used_skill","skill":"foo","not":true}`:                      "unmeasured",
		`{"type":"used_skill","skill":"foo","min_confidence":"weak"}`:         "unmeasured",
		`{"type":"used_skill","skill":"foo","min_confidence":"explicit"}`:     "fail",
		`{"type":"used_skill","skill":"sure"}`:                                "pass",
		`{"type":"used_skill","skill":"other"}`:                               "fail",
		`{"type":"used_skill","skill":"other","not":true}`:                    "pass",
		`{"type":"used_skill","skill":"sure","only":true}`:                    "unmeasured",
		`{"type":"used_skill","skill":"foo","count":0}`:                       "unmeasured",
		`{"type":"read_file","path":"foo/SKILL.md"}`:                          "unmeasured",
		`{"type":"read_file","path":"foo/SKILL.md","not":true}`:               "unmeasured",
		`{"type":"read_file","path":"a.md"}`:                                  "pass",
		`{"type":"read_file","path":"b.md","not":true}`:                       "pass",
		`{"type":"read_file","count":1}`:                                      "unmeasured",
		`{"type":"read_file","path":"foo/SKILL.md","before":{"path":"a.md"}}`: "unmeasured",
	} {
		verdicts, err := mustParse(t, spec).Assert(t.Context(), plumb.Evidence{Report: report, Workspace: "/w"})
		if err != nil || len(verdicts) != 1 {
			t.Fatal(spec, verdicts, err)
		}
		v, got := verdicts[0], "fail"
		if v.Error != nil {
			got = "unmeasured"
		} else if v.Pass {
			got = "pass"
		}
		if got != want {
			t.Errorf("%s: %s, want %s (%+v)", spec, got, want, v)
		}
	}
}
