package lib

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// What skillgym 0.8.1 itself says to commands, reports and matchers that were made by chance: which checks hold, and what was
// observed. The prose around that is ours.

func readProbes[T any](t *testing.T, name string) []T {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	var probes []T
	if err := json.Unmarshal(data, &probes); err != nil {
		t.Fatal(err)
	}
	return probes
}

func TestCommandsAreShownAsBySkillgym(t *testing.T) {
	v := probe(t)
	for _, p := range readProbes[[2]string](t, "skillgym-commands.json") {
		message := call[string](t, v, "match", p[0], `{"executable":"\u0001never"}`)
		if _, got, _ := strings.Cut(message, "Observed commands: "); got != p[1] {
			t.Errorf("%q is shown as %q, want %q", p[0], got, p[1])
		}
	}
}

func TestChecksAreThoseOfSkillgym(t *testing.T) {
	v := probe(t)
	for _, p := range readProbes[struct {
		Check        string
		Report, Args json.RawMessage
		Observed     *string
	}](t, "skillgym-checks.json") {
		message := call[*string](t, v, "check", p.Check, string(p.Report), string(p.Args))
		switch {
		case (message == nil) != (p.Observed == nil):
			t.Errorf("%s %s of %s: failed %v, want %v", p.Check, p.Args, p.Report, message != nil, p.Observed != nil)
		case message != nil && !strings.HasSuffix(*message, *p.Observed):
			t.Errorf("%s %s: %q does not end in %q", p.Check, p.Args, *message, *p.Observed)
		}
	}
}
