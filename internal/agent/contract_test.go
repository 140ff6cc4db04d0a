package agent

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/plumb-eval/plumb"
)

// folderOf returns the folder of an agent in internal/agent and in testdata.
func folderOf(agent string) string {
	named := map[string]string{"claude-code": "claude", "qwen": "claude", "cursor-agent": "cursor"}
	return cmp.Or(named[agent], agent)
}

// TestRecordings reads the recorded sessions of each agent. We wrote those of Cursor by hand, after
// its documentation.
func TestRecordings(t *testing.T) {
	for _, s := range All() {
		if s.Name != "qwen" { // vectors.json has its records
			sameAsRecorded(t, s.Name, folderOf(s.Name))
		}
	}
}

// TestSpecsAreComplete fails when an agent is registered incompletely, and names the file to complete.
func TestSpecsAreComplete(t *testing.T) {
	installs, realTests := fileText(t, "../../.ci/agents.sh"), fileText(t, "real_test.go")
	seen := map[string]bool{}
	for _, s := range All() {
		folder := folderOf(s.Name)
		need := func(file, what string, ok bool) {
			t.Helper()
			if !ok {
				t.Errorf("agent %q: %s: %s", s.Name, file, what)
			}
		}
		file := "internal/agent/" + folder + "/spec.go"
		if s.Name == "qwen" {
			file = "internal/agent/claude/qwen_spec.go"
		}
		need(file, "Name is missing or not unique", s.Name != "" && !seen[s.Name])
		seen[s.Name] = true
		need(file, "Programs is empty", len(s.Programs) > 0 && !slices.Contains(s.Programs, ""))
		need(file, "Install is missing", s.Install != "")
		need(file, "Login is missing", s.Login != "")
		need(file, "KeyHelp is missing", s.KeyHelp != "")
		need(file, "Keys is empty", len(s.Keys) > 0)
		need(file, "Key is not one of Keys", s.Key == "" || matchesAny(s.Keys, s.Key))
		need(file, "Credentials is empty", len(s.Credentials) > 0)
		need(file, "State is empty", len(s.State) > 0)
		need(file, "Skills is not one of SkillDirs", slices.Contains(s.SkillDirs, s.Skills))
		need(file, "Instructions is empty", len(s.Instructions) > 0)
		need(file, "MCP or UserMCP is empty", len(s.MCP) > 0 && len(s.UserMCP) > 0)
		need(file, "PriceOf is missing; NoPrice is for an agent without prices", s.PriceOf != nil)
		need(file, "SkillgymUsage is missing; SkillgymUnknown is for an agent that skillgym does not support", s.SkillgymUsage != nil)
		need(file, "Proof needs a Model, or says why the proof is Impossible", (s.Proof.Model == "") != (s.Proof.Impossible == ""))
		need(file, "Launch is missing", s.Launch != nil)
		need(file, "Read is missing in Format", s.Read != nil)
		need(file, "Step is missing in Format", s.Step != nil)
		need(file, "Terminal is missing in Format; set NoTerminal for an agent without a terminal record", (len(s.Terminal) == 0) == s.NoTerminal)
		if s.SkillgymUsage != nil {
			s.SkillgymUsage(&plumb.Usage{}) // it accepts usage without figures
		}
		for _, dir := range []string{folder, "launch"} {
			pattern := filepath.Join("testdata", dir, "*")
			if dir == "launch" {
				pattern = filepath.Join("testdata", dir, s.Name+"-default.txt")
			}
			found, err := filepath.Glob(pattern)
			need("internal/agent/"+filepath.ToSlash(pattern), "there is no recording", err == nil && len(found) > 0)
		}
		quoted := `"` + s.Name + `"`
		if strings.Contains(realTests, quoted) {
			need(".ci/agents.sh", "it has no version to install", strings.Contains(installs, "\t"+folder+")"))
		}
	}
}

func fileText(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.FromSlash(path))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
