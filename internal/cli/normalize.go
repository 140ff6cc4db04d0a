package cli

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strings"

	json2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"
	"github.com/spf13/cobra"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/agent"
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/redact"
)

// normalizeCmd is plumb normalize.
type normalizeCmd struct {
	*app
	transcript        agent.Transcript
	agent, promptFile string
	exitCode          int
}

func normalizeCommand(a *app) *cobra.Command {
	c := &normalizeCmd{app: a}
	cmd := &cobra.Command{
		Use:     "normalize --agent AGENT --stdout FILE",
		Aliases: []string{"normalise"},
		Short:   "Convert an agent's logs into a session report",
		Long: `Convert the output of a coding agent, and the files that it stored about its session, into a session report, as
JSON. The report has two more keys than usual: outcome, which is "pass" if the agent finished its work and "error" if
the session was not measured, and failureOrigin. Secrets in the environment are removed from the report.

The exit code is 0 if the session was measured, 3 if it was not, and 2 if there is nothing to read.`,
		Example: `  plumb normalize --agent codex --stdout stdout.log --session codex-home --exit-code 0
  plumb normalize --agent claude-code --stdout stream.jsonl | jq .events`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("exit-code") {
				c.transcript.ExitCode = &c.exitCode
			}
			return c.run()
		},
	}
	fs, t := cmd.Flags(), &c.transcript
	fs.SortFlags = false
	fs.StringVar(&c.agent, "agent", "", "the agent: "+strings.Join(agent.Types(), ", "))
	fs.StringVar(&t.Stdout, "stdout", "", "`file` with the standard output of the agent, in its JSON format")
	fs.StringVar(&t.Stderr, "stderr", "", "`file` with the standard error of the agent")
	fs.StringVar(&t.Session, "session", "",
		"`directory` with the session files of the agent; subdirectories are read, too")
	fs.StringVar(&t.Cwd, "cwd", "",
		"`directory` in which the agent worked, the base of relative paths (default: from the transcript)")
	fs.StringVar(&t.Prompt, "prompt", "", "`text` of the prompt")
	fs.StringVar(&c.promptFile, "prompt-file", "", "`file` with the text of the prompt")
	numberVar(fs, &c.exitCode, "exit-code", "", 0,
		"exit code of the agent; leave it out if a signal ended it or the code is unknown")
	fs.BoolVar(&t.Resumed, "resumed", false, "the session continues an earlier one, whose turns are left out")
	complete := cobra.FixedCompletions(agent.Types(), cobra.ShellCompDirectiveNoFileComp)
	if err := cmd.RegisterFlagCompletionFunc("agent", complete); err != nil {
		panic(err) // the flag is not defined above
	}
	return cmd
}

func (c *normalizeCmd) run() error {
	t := &c.transcript
	if c.agent == "" {
		return plumb.WithHint(errors.New("no agent given"), "--agent "+strings.Join(agent.Types(), ", --agent "))
	}
	if err := checkWord("agent", c.agent, agent.Types()); err != nil {
		return err
	}
	if t.Stdout == "" && t.Session == "" {
		return plumb.WithHint(errors.New("nothing to normalize"),
			"give the output of the agent with --stdout, or the directory of its session files with --session")
	}
	for _, file := range []*string{&t.Stdout, &t.Stderr, &t.Session} {
		*file = c.path(*file)
		if *file == "" {
			continue
		}
		info, err := os.Stat(*file)
		switch wantDir := file == &t.Session; {
		case err != nil:
			return fmt.Errorf("read the transcript: %w", err)
		case wantDir && !info.IsDir():
			return fmt.Errorf("read the transcript: %s is not a directory", *file)
		case !wantDir && info.IsDir():
			return fmt.Errorf("read the transcript: %s is a directory, and should be a file", *file)
		}
	}
	if c.promptFile != "" {
		data, err := doc.ReadStream(c.path(c.promptFile), doc.DataBytes)
		if err != nil {
			return fmt.Errorf("read the prompt: %w", err)
		}
		t.Prompt = string(data)
	}
	return c.normalize()
}

// normalize prints the session report of the transcript.
func (c *normalizeCmd) normalize() error {
	tuneTranscript()
	name, t := c.agent, &c.transcript
	session, err := agent.Normalize(name, *t)
	if session == nil {
		session = &plumb.SessionReport{Prompt: t.Prompt, Runner: plumb.RunnerInfo{Kind: plumb.RunnerAgent}}
		session.Usage.Total()
	}
	session.Runner = plumb.RunnerInfo{
		ID: name, PathKey: plumb.PathKey(name), Kind: plumb.RunnerAgent,
		Agent: plumb.AgentInfo{Type: name, Model: session.Model},
	}
	session.RawArtifacts.StdoutPath, session.RawArtifacts.StderrPath = t.Stdout, t.Stderr
	session.Events, session.DetectedSkills = doc.Array(session.Events), doc.Array(session.DetectedSkills)
	session.Files.ObservedReads = doc.Array(session.Files.ObservedReads)
	session.Files.ObservedSkillReads = doc.Array(session.Files.ObservedSkillReads)
	doc := struct {
		Outcome       plumb.Outcome       `json:"outcome"`
		FailureOrigin plumb.Origin        `json:"failureOrigin,omitempty"`
		FailureClass  *plumb.FailureClass `json:"failureClass,omitempty"`
		Error         *plumb.Failure      `json:"error,omitempty"`
		*plumb.SessionReport
	}{Outcome: plumb.OutcomePass, SessionReport: session}
	if err != nil {
		f := plumb.Failed(plumb.OriginNormalization, err)
		doc.Outcome, doc.FailureOrigin = f.Origin.Outcome(session.Began()), f.Origin
		doc.FailureClass, doc.Error = &f.Class, f
	}
	clean, names := redact.Clean(c.secrets(), doc)
	if names != nil {
		report := *clean.SessionReport
		report.Redacted = names
		clean.SessionReport = &report
	}
	out := bufio.NewWriterSize(c.Stdout, 64<<10)
	if err := json2.MarshalWrite(out, clean, jsonv1.DefaultOptionsV1(), jsontext.WithIndent("  ")); err != nil {
		return err
	}
	_ = out.WriteByte('\n') // Flush returns its error
	if err := out.Flush(); err != nil {
		return err
	}
	if doc.Outcome == plumb.OutcomeError {
		return exit(exitNotMeasured)
	}
	return nil
}
