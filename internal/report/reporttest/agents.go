package reporttest

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/plumb-eval/plumb"
)

// transcript builds the report of an agent session, one event a second.
type transcript struct {
	r  plumb.SessionReport
	at time.Time
}

func newTranscript(prompt string) *transcript {
	at := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	return &transcript{at: at, r: plumb.SessionReport{
		Prompt: prompt, SessionID: "5b1e0f7c-0d5b-4c62-9a53-2f7c7c0e9d11", StartedAt: &at, Model: "claude-haiku-4-5",
		AgentVersion: "2.1.328", FinishReason: plumb.FinishStop, ExitCode: new(0),
		DetectedSkills: []plumb.SkillDetection{}, Files: plumb.Files{
			ObservedReads:      []string{},
			ObservedSkillReads: []string{},
		},
		RawArtifacts: plumb.RawArtifacts{StdoutPath: "/runs/r1/stdout.log", SessionPath: "/runs/r1/session.jsonl"},
	}}
}

func (t *transcript) add(ev plumb.SessionEvent) {
	t.at = t.at.Add(1300 * time.Millisecond)
	ev.At = new(t.at)
	t.r.Events = append(t.r.Events, ev)
}

func (t *transcript) say(phase, text string) {
	t.add(plumb.SessionEvent{Type: plumb.SessionMessage, Role: "assistant", Phase: phase, Text: text})
}

// run adds a shell call with its command and result.
func (t *transcript) run(sub, call, command string, exit int, output string) {
	args := encoded(map[string]string{"command": command, "description": "run it"})
	t.add(plumb.SessionEvent{Type: plumb.SessionToolCall, Tool: "Bash", CallID: call, Args: args, Subagent: sub})
	t.add(plumb.SessionEvent{
		Type: plumb.SessionCommand, Command: command, CallID: call, ExitCode: &exit,
		Subagent: sub,
	})
	t.add(plumb.SessionEvent{
		Type: plumb.SessionToolResult, Tool: "Bash", CallID: call, Output: output,
		IsError: exit != 0, Subagent: sub,
	})
}

func (t *transcript) read(call, path, text string) {
	args := encoded(map[string]string{"file_path": path})
	t.add(plumb.SessionEvent{Type: plumb.SessionToolCall, Tool: "Read", CallID: call, Args: args})
	t.add(plumb.SessionEvent{Type: plumb.SessionFileRead, Path: path, CallID: call})
	t.r.Files.ObservedReads = append(t.r.Files.ObservedReads, path)
	t.add(plumb.SessionEvent{Type: plumb.SessionToolResult, Tool: "Read", CallID: call, Output: text})
}

// end finishes the session with its answer and what it used.
func (t *transcript) end(answer string, requests int) *plumb.SessionReport {
	t.say("final", answer)
	r := &t.r
	r.FinalOutput, r.EndedAt, r.DurationMs, r.Steps, r.Requests = answer, new(t.at),
		t.at.Sub(*r.StartedAt).Milliseconds(), requests, requests
	r.CostUSD = new(0.0123 * float64(requests))
	for i := range requests {
		q := plumb.RequestUsage{
			Model: r.Model, InputTokens: new(int64(8000 + 900*i)), OutputTokens: new(int64(150 + 130*(i%3))),
			ReasoningTokens: new(int64(40 * (i % 2))), CacheTokens: new(int64(7000 + 800*i)),
		}
		r.RequestUsage = append(r.RequestUsage, q)
		r.Usage.Add(plumb.Usage{
			InputTokens: q.InputTokens, OutputTokens: q.OutputTokens,
			ReasoningTokens: q.ReasoningTokens, CacheTokens: q.CacheTokens,
		})
	}
	r.Usage.CacheWriteTokens = new(int64(1200))
	r.Usage.InputChars, r.Usage.OutputChars = int64(len(r.Prompt)), int64(len(answer))
	r.Usage.Total()
	return r
}

const releasePrompt = "Release version 1.4.0: update CHANGELOG.md, tag the commit, and tell me what is new. Follow the release skill."

// Release is a session of an agent at work; good says whether it does what it should.
func Release(ws string, good bool) *plumb.SessionReport {
	t := newTranscript(releasePrompt)
	t.add(plumb.SessionEvent{Type: plumb.SessionMessage, Role: "user", Text: releasePrompt})
	t.say("thinking", "The user wants a release. There is a release skill, so I should read it first and then do exactly what it says: changelog, tag, summary.")
	t.say("commentary", "I'll follow the release skill. Let me read it first.")
	t.add(plumb.SessionEvent{
		Type: plumb.SessionToolCall, Tool: "Skill", CallID: "c1",
		Args: json.RawMessage(`{"skill":"release"}`),
	})
	t.add(plumb.SessionEvent{Type: plumb.SessionSkill, Skill: "release", Signal: "tool:skill", CallID: "c1"})
	t.add(plumb.SessionEvent{
		Type: plumb.SessionToolResult, Tool: "Skill", CallID: "c1",
		Output: "# Release\n\n1. Update CHANGELOG.md\n2. `git tag -a vX.Y.Z -m ...`\n3. Summarise",
	})
	t.read("c2", ws+"/CHANGELOG.md", "# Changelog\n\n## 1.3.0\n\n- Faster start\n")
	t.run("", "c3", "git log --oneline v1.3.0..HEAD", 0,
		"a1b2c3d fix: torn last line\n9f8e7d6 feat: HTML report\n0c1d2e3 docs: walk through")
	t.add(plumb.SessionEvent{
		Type: plumb.SessionToolCall, Tool: "Task", CallID: "c4",
		Args: json.RawMessage(`{"description":"Check the tests","subagent_type":"tester","prompt":"Run the tests and say whether they pass."}`),
	})
	t.run("agent-1", "s1", "go test ./...", 0, "ok  \texample.com/app\t0.41s\nok  \texample.com/app/log\t0.08s")
	t.add(plumb.SessionEvent{
		Type: plumb.SessionMessage, Role: "assistant", Phase: "final", Text: "All tests pass.",
		Subagent: "agent-1",
	})
	t.add(plumb.SessionEvent{Type: plumb.SessionToolResult, Tool: "Task", CallID: "c4", Output: "All tests pass."})
	edit := encoded(map[string]string{
		"file_path": ws + "/CHANGELOG.md", "old_string": "# Changelog\n",
		"new_string": "# Changelog\n\n## 1.4.0\n\n- HTML report\n- A torn last line is dropped\n",
	})
	t.add(plumb.SessionEvent{Type: plumb.SessionToolCall, Tool: "Edit", CallID: "c5", Args: edit})
	t.add(plumb.SessionEvent{Type: plumb.SessionFileChange, Path: ws + "/CHANGELOG.md", Change: "update", CallID: "c5"})
	t.add(plumb.SessionEvent{
		Type: plumb.SessionToolResult, Tool: "Edit", CallID: "c5",
		Output: "The file has been updated.",
	})
	answer := "Released **1.4.0**.\n\n- HTML report\n- A torn last line of the log is dropped"
	if good {
		t.run("", "c6", `git tag -a v1.4.0 -m "1.4.0"`, 0, "")
	} else {
		t.run("", "c6", "git tag v1.4.0", 128,
			"fatal: no tag message?\nPlease supply the message using either -m or -F option.")
		t.add(plumb.SessionEvent{
			Type: plumb.SessionToolCall, Tool: "WebFetch", CallID: "c7",
			Args: json.RawMessage(`{"url":"https://git-scm.com/docs/git-tag"}`),
		})
		t.add(plumb.SessionEvent{
			Type: plumb.SessionDenial, Tool: "WebFetch", CallID: "c7",
			Text: "Permission to use WebFetch has been denied.",
		})
		t.r.PermissionDenials = []plumb.PermissionDenial{{
			Tool: "WebFetch", CallID: "c7",
			Message: "Permission to use WebFetch has been denied.",
		}}
		t.say("thinking", "The tag failed, and I cannot look it up. I will tell the user that the changelog is updated.")
		answer = "I updated the changelog for 1.4.0. Tagging did not work:\n\n```\nfatal: no tag message?\n```\n\nPlease tag it yourself."
	}
	r := t.end(answer, 7)
	r.DetectedSkills = []plumb.SkillDetection{{
		Skill: "release", Confidence: "explicit",
		Evidence: []string{"Loaded via Skill tool", "Read " + ws + "/.claude/skills/release/SKILL.md"},
	}}
	r.Offered = []plumb.Offer{
		{Kind: plumb.OfferSkill, Name: "release", Source: "project", Path: ws + "/.claude/skills/release"},
		{Kind: plumb.OfferSkill, Name: "holiday-planner", Source: "user", Undeclared: true},
		{Kind: plumb.OfferMCPServer, Name: "github"},
		{Kind: plumb.OfferInstructions, Name: "CLAUDE.md", Path: ws + "/CLAUDE.md"},
	}
	r.Subagents = []plumb.Subagent{{
		ID: "agent-1", Type: "tester",
		Usage: &plumb.Usage{InputTokens: new(int64(3100)), OutputTokens: new(int64(90))},
	}}
	r.Files.Changed = []plumb.FileChange{
		{
			Path: ws + "/CHANGELOG.md", Kind: "update",
			Diff: "--- a/CHANGELOG.md\n+++ b/CHANGELOG.md\n@@ -1,5 +1,10 @@\n # Changelog\n \n+## 1.4.0\n+\n+- HTML report\n+- A torn last line is dropped\n+\n ## 1.3.0\n \n-- Faster start\n+- Starts faster\n",
		},
		{Path: ws + "/logo.png", Kind: "add"},
	}
	r.Notes = []string{"1 record of an unknown kind was skipped"}
	return r
}

// AgentLog is a run of two agents with repetitions, retries, an error and a recordable failure.
func AgentLog() *Log {
	i := Info()
	i.SuiteName, i.SuitePath, i.SuiteVersion, i.Tier, i.Judge = "skills", "/home/ana/app/evals/skills.suite.ts", "", "",
		"openai:gpt-5-mini"
	i.Repeat, i.Parallel, i.ArtifactDir = 2, 4, "/home/ana/app/.plumb/runs/20260301-090000-ab12"
	for _, r := range [][3]string{{"claude", "claude-code", "haiku"}, {"codex", "codex", "gpt-5-codex"}} {
		i.Runners = append(i.Runners, plumb.RunnerInfo{
			ID: r[0], PathKey: plumb.PathKey(r[0]), Kind: plumb.RunnerAgent,
			Agent: plumb.AgentInfo{Type: r[1], Model: r[2]},
		})
	}
	l := NewLog(i,
		plumb.CaseInfo{ID: "release", Category: "skills", Tags: []string{"smoke", "git"}},
		plumb.CaseInfo{ID: "find-the-config", Category: "search", Tags: []string{"smoke"}},
		plumb.CaseInfo{ID: "explain-error", Category: "search"},
		plumb.CaseInfo{ID: "known-gap", Category: "skills", ExpectedFail: true, Repeat: 1},
	)
	at := &plumb.Position{File: "/home/ana/app/evals/skills.suite.ts", Line: 42, Column: 18}
	bad := Failed(plumb.Verdict{
		Name: "commands.includes", Reason: "Expected a command matching: git tag -a v1.4.0\nObserved commands:\n- git log --oneline v1.3.0..HEAD\n- git tag v1.4.0",
		Expected: "git tag -a v1.4.0", Got: "git log --oneline v1.3.0..HEAD\ngit tag v1.4.0", Source: at,
		Stack:     "AssertionError: Expected a command matching: git tag -a v1.4.0\n    at assert (/home/ana/app/evals/skills.suite.ts:42:18)\n    at run (/home/ana/app/evals/skills.suite.ts:12:3)",
		Questions: []plumb.Question{{Question: "Why did you not annotate the tag?", Source: *at}},
	}, plumb.Verdict{Name: "skills.includes", Pass: true, Score: 1, Reason: "used release"}, plumb.Verdict{
		Name: "judge", Pass: true, Score: .8, Reason: "the judge says yes",
		Asked: &plumb.Asked{Model: "gpt-5-mini", Replies: []string{"YES. The summary names both changes."}, Yes: 1},
	})
	bad.Failure.Name, bad.Failure.Source, bad.Failure.Message = "AssertionError", at, bad.Verdicts[0].Reason
	bad.Failure.Stack = bad.Verdicts[0].Stack
	good := Passed(Verdict("commands.includes", true, "ran git tag -a", "git tag -a v1.4.0", "git tag -a v1.4.0"))
	result := func(sessions int, j *plumb.Judgement, passes, fails int, r *plumb.SessionReport) plumb.ExecutionResult {
		res := ResultOf(sessions, r.CostUSD, j)
		res.Passed, res.Failed, res.DurationMs, res.LatencyMs, res.Usage, res.Steps = passes, fails, r.DurationMs, 0,
			r.Usage, r.Steps*sessions
		for range sessions - 1 {
			res.Usage.Add(r.Usage)
		}
		return res
	}
	pass, fail := Release("/tmp/plumb-ws-1/release", true), Release("/tmp/plumb-ws-2/release", false)
	l.Session("release", "claude", 1, 1, Release("/tmp/plumb-ws-1/release", true), nil, good)
	l.Session("release", "claude", 2, 1, Release("/tmp/plumb-ws-2/release", false), nil, bad)
	l.Session("release", "claude", 2, 2, Release("/tmp/plumb-ws-3/release", false), nil, bad)
	l.Finish("release", "claude", result(3, bad, 1, 1, fail))
	l.Session("release", "codex", 1, 1, pass, nil, good)
	l.Session("release", "codex", 2, 1, pass, nil, good)
	l.Finish("release", "codex", result(2, good, 2, 0, pass))
	for n, id := range []string{"find-the-config", "explain-error"} {
		t := newTranscript("Where is the port set? Answer with file and line.")
		t.add(plumb.SessionEvent{Type: plumb.SessionMessage, Role: "user", Text: t.r.Prompt})
		t.run("", "g1", "rg -n port --glob '*.toml'", 0, "config/server.toml:7:port = 8080")
		r := t.end("`config/server.toml:7`", 2+n)
		l.Session(id, "claude", 1, 1, r, nil, good)
		l.Session(id, "claude", 2, 1, r, nil, good)
		l.Finish(id, "claude", result(2, good, 2, 0, r))
	}
	crash := &plumb.Failure{
		Origin: plumb.OriginModelRejected, Class: plumb.OriginModelRejected.Class(),
		Message: "codex: the model gpt-5-codex is not available to this account",
		Hint:    "name another model, or log in with codex login",
		LogPath: "/home/ana/app/.plumb/runs/20260301-090000-ab12/find-the-config/codex/repeat-1/stderr.log",
	}
	l.Session("find-the-config", "codex", 1, 1, nil, crash, Broken(crash))
	l.Finish("find-the-config", "codex", ResultOf(1, nil, Broken(crash)))
	poor := Failed(Verdict("output.includes", false, "the answer differs", "line one\nline two\nline three\n",
		"line one\nline 2\nline three\n"))
	t := newTranscript("Explain the error.")
	t.add(plumb.SessionEvent{Type: plumb.SessionMessage, Role: "user", Text: t.r.Prompt})
	t.run("", "g1", "cat error.log", 1, strings.Repeat("cat: error.log: No such file or directory\n", 20))
	r := t.end("line one\nline 2\nline three\n", 3)
	l.Session("explain-error", "codex", 1, 1, r, nil, poor)
	l.Finish("explain-error", "codex", result(1, poor, 0, 1, r))
	gap := Failed(Verdict("files.exists", false, "CHANGES.md does not exist", "", ""))
	gap.Status = plumb.StatusExpectedFailed
	l.Session("known-gap", "claude", 1, 1, r, nil, gap)
	l.Finish("known-gap", "claude", result(1, gap, 0, 1, r))
	odd := Passed(Verdict("files.exists", true, "CHANGES.md exists", "", ""))
	odd.Status = plumb.StatusUnexpectedPassed
	l.Session("known-gap", "codex", 1, 1, r, nil, odd)
	l.Finish("known-gap", "codex", result(1, odd, 1, 0, r))
	l.Note("warning", "the session of claude was offered 1 skill that the suite does not declare",
		"see the report, or set inheritConfig: false")
	return l.End("", 0)
}

// BigSession is a session of n events.
func BigSession(n int) *plumb.SessionReport {
	t := newTranscript("Work for a very long time.")
	t.r.Events = make([]plumb.SessionEvent, 0, n)
	for i := 0; len(t.r.Events) < n-4; i++ {
		switch i % 3 {
		case 0:
			t.say("commentary", fmt.Sprintf("Step %d: I look at the next file and then decide what to do about it.", i))
		case 1:
			t.run("", fmt.Sprintf("call-%d", i), fmt.Sprintf("sed -n %d,%dp internal/file_%d.go", i, i+20, i%97), 0,
				fmt.Sprintf("line %d\n%s", i, strings.Repeat("code ", i%40)))
		default:
			t.read(fmt.Sprintf("call-%d", i), fmt.Sprintf("/ws/internal/file_%d.go", i), "package x\n")
		}
	}
	return t.end("done", 40)
}
