package lib

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
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

// Pieces of suites with what the compiler says to them and to skillgym's own types: + for what they take, - for what they refuse.
func TestTypesTakeWhatSkillgymTakes(t *testing.T) {
	data, err := os.ReadFile("testdata/skillgym-types.txt")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	types, err := filepath.Abs("../plumb.d.ts")
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"--ignoreConfig", "--noEmit", "--strict", "--target", "esnext", "--module", "nodenext", types}
	pieces := strings.Split(strings.TrimSpace(string(data)), "\n")
	for i, piece := range pieces {
		name := fmt.Sprintf("p%d.mts", i)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(skillgymImports+piece[2:]+"\nexport {};\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, name)
	}
	cmd := exec.CommandContext(t.Context(), tsc(t), args...)
	cmd.Dir = dir
	out, _ := cmd.CombinedOutput() // many are refused
	said := map[string]string{}
	for line := range strings.Lines(string(out)) {
		if name, rest, ok := strings.Cut(line, "("); ok && said[name] == "" {
			said[name] = rest
		}
	}
	for i, piece := range pieces {
		if message := said[fmt.Sprintf("p%d.mts", i)]; (message != "") != (piece[0] == '-') {
			t.Errorf("%s\n%s", piece, message)
		}
	}
}

const skillgymImports = `import {
	assert, commandMatcher, CommandMatcherBuilder, loadConfig, parseConfig, loadReporter, createStandardReporter,
	createJsonReporter, createGitHubActionsReporter, BUILT_IN_REPORTER_NAMES, type Case, type Suite, type TestCase,
	type TestSuite, type SessionReport, type SessionEvent, type AssertionContext, type FailureClass, type RunnerResult,
	type RunnerSessionResult, type SuiteRunResult, type CaseResult, type RunnerSummary, type RepetitionResult,
	type RunnerResultStatus, type RunnerFailureOrigin, type SkillGymConfig, type BenchmarkReporter, type ReporterContext,
	type RunnerFinishEvent, type SuiteFinishEvent, type CaseFinishEvent, type SuiteErrorEvent, type SuiteWorkspaceConfig,
	type WorkspaceBootstrapConfig, type AgentConfig, type AgentType, type RunnerConfig, type RunnerId, type RunnerInfo,
	type ScheduleMode, type Matcher, type CommandMatcher, type StructuredCommandMatcher, type ToolCallMatcher,
	type SkillConfidence, type SkillDetection, type SkillGymAssert, type SkillGymSoftAssert, type CommandAssertions,
	type ExplainOptions, type AssertionOptions, type CommandValueMatcher, type CommandMatcherBuilderLike, type SkillAssertions,
	type FileReadAssertions, type ToolCallAssertions, type OutputAssertions, type SkillAssertionOptions,
	type ClaudeCodeAgentConfig, type CaseStartEvent, type SuiteStartEvent, type RunnerStartEvent,
} from "skillgym";
declare const r: SessionReport; declare const c: AssertionContext; declare const res: RunnerSessionResult; declare const rr: RunnerResult; declare const sr: SuiteRunResult;
`
