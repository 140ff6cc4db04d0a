package cli

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	json2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"
	"github.com/spf13/cobra"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/agent"
	"github.com/plumb-eval/plumb/internal/redact"
)

func (a *app) normalizeCommand() *cobra.Command {
	var t agent.Transcript
	var name, promptFile string
	var exitCode int
	cmd := &cobra.Command{
		Use:     "normalize --agent AGENT --stdout FILE",
		Aliases: []string{"normalise"},
		Short:   "Convert an agent's logs into a session report",
		Long: `Turn the output of a coding agent, and the files it kept of its session, into a session report, as JSON. It has two keys
beside those of reports: outcome, "pass" when the agent finished its work and "error" when the session is no measurement,
and failureOrigin. What the environment holds under the names of secrets is removed from it.

The exit code is 0 when the session is a measurement, 3 when it is not, 2 when there is nothing to read.`,
		Example: `  plumb normalize --agent codex --stdout stdout.log --session codex-home --exit-code 0
  plumb normalize --agent claude-code --stdout stream.jsonl | jq .events`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if name == "" {
				return plumb.WithHint(errors.New("no agent given"), "--agent "+strings.Join(agent.Types(), ", --agent "))
			}
			if err := known("agent", name, agent.Types()); err != nil {
				return err
			}
			if t.Stdout == "" && t.Session == "" {
				return plumb.WithHint(errors.New("nothing to normalize"), "give --stdout, the agent's output, or --session, the directory of its session files")
			}
			for _, file := range []*string{&t.Stdout, &t.Stderr, &t.Session} {
				*file = a.path(*file)
				if *file == "" {
					continue
				}
				info, err := os.Stat(*file)
				if err != nil {
					return fmt.Errorf("read the transcript: %w", err)
				}
				if dir := file == &t.Session; info.IsDir() != dir {
					return fmt.Errorf("read the transcript: %s %s", *file, map[bool]string{true: "is not a directory", false: "is a directory, and should be a file"}[dir])
				}
			}
			if promptFile != "" {
				data, err := os.ReadFile(a.path(promptFile))
				if err != nil {
					return fmt.Errorf("read the prompt: %w", err)
				}
				t.Prompt = string(data)
			}
			if cmd.Flags().Changed("exit-code") {
				t.ExitCode = &exitCode
			}
			return a.normalize(name, t)
		},
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.StringVar(&name, "agent", "", "the agent: "+strings.Join(agent.Types(), ", "))
	fs.StringVar(&t.Stdout, "stdout", "", "`file` with what the agent wrote to its standard output, in its JSON format")
	fs.StringVar(&t.Stderr, "stderr", "", "`file` with what it wrote to its standard error")
	fs.StringVar(&t.Session, "session", "", "`directory` with the files it kept of the session; searched in depth")
	fs.StringVar(&t.Cwd, "cwd", "", "`directory` that it worked in, where relative paths start (default: as the transcript says)")
	fs.StringVar(&t.Prompt, "prompt", "", "`text` that it was asked")
	fs.StringVar(&promptFile, "prompt-file", "", "`file` with the text that it was asked")
	fs.IntVar(&exitCode, "exit-code", 0, "its exit code; leave it out if a signal ended the agent, or if you do not know it")
	fs.BoolVar(&t.Resumed, "resumed", false, "the session goes on with an earlier one, whose turns are left out")
	if err := cmd.RegisterFlagCompletionFunc("agent", cobra.FixedCompletions(agent.Types(), cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // a flag that is not defined above
	}
	return cmd
}

// known finds a word that is none of those that are known.
func known(what, word string, words []string) error {
	if slices.Contains(words, word) {
		return nil
	}
	return unknownWord(what, word, words)
}

// normalise prints the session report of a transcript.
func (a *app) normalize(name string, t agent.Transcript) error {
	tuneTranscript()
	session, err := agent.Normalize(name, t)
	if session == nil {
		session = &plumb.SessionReport{Prompt: t.Prompt, Runner: plumb.RunnerInfo{Kind: plumb.RunnerAgent}}
		session.Usage.Total()
	}
	session.Runner = plumb.RunnerInfo{
		ID: name, PathKey: plumb.PathKey(name), Kind: plumb.RunnerAgent, Agent: plumb.AgentInfo{Type: name, Model: session.Model},
	}
	session.RawArtifacts.StdoutPath, session.RawArtifacts.StderrPath = t.Stdout, t.Stderr
	if session.Events == nil {
		session.Events = []plumb.SessionEvent{}
	}
	if session.DetectedSkills == nil {
		session.DetectedSkills = []plumb.SkillDetection{}
	}
	if session.Files.ObservedReads == nil {
		session.Files.ObservedReads = []string{}
	}
	if session.Files.ObservedSkillReads == nil {
		session.Files.ObservedSkillReads = []string{}
	}
	doc := struct {
		Outcome       plumb.Outcome       `json:"outcome"`
		FailureOrigin plumb.Origin        `json:"failureOrigin,omitempty"`
		FailureClass  *plumb.FailureClass `json:"failureClass,omitempty"`
		Error         *plumb.Failure      `json:"error,omitempty"`
		*plumb.SessionReport
	}{Outcome: plumb.OutcomePass, SessionReport: session}
	if err != nil {
		f := plumb.Failed(plumb.OriginNormalization, err)
		doc.Outcome, doc.FailureOrigin, doc.FailureClass, doc.Error = f.Origin.Outcome(session.Began()), f.Origin, &f.Class, f
	}
	clean, names := redact.Clean(a.secrets(), doc)
	if names != nil {
		report := *clean.SessionReport
		report.Redacted = names
		clean.SessionReport = &report
	}
	out := bufio.NewWriterSize(a.Stdout, 64<<10)
	if err := json2.MarshalWrite(out, clean, jsonv1.DefaultOptionsV1(), jsontext.WithIndent("  ")); err != nil {
		return err
	}
	_ = out.WriteByte('\n') // what is wrong with it Flush tells
	if err := out.Flush(); err != nil {
		return err
	}
	if doc.Outcome == plumb.OutcomeError {
		return exit(exitNotMeasured)
	}
	return nil
}
