package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/redact"
	"github.com/plumb-eval/plumb/internal/run"
)

// explanationsFile is the artifact that holds the answers.
const explanationsFile = "explanations.json"

// explanations is that artifact. Its keys are documented.
type explanations struct {
	run.Explanation
	CreatedAt string        `json:"createdAt"`
	Questions []explanation `json:"questions"`
}

type explanation struct {
	run.Question
	Answer       string             `json:"answer"`
	SessionID    string             `json:"sessionId,omitempty"`
	StartedAt    *time.Time         `json:"startedAt,omitempty"`
	EndedAt      *time.Time         `json:"endedAt,omitempty"`
	DurationMs   int64              `json:"durationMs,omitempty"`
	RawArtifacts plumb.RawArtifacts `json:"rawArtifacts"`
}

func (a *app) explainCommand() *cobra.Command {
	var config, outputDir string
	var rerun bool
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "explain DIR",
		Short: "Ask an agent why it did what made a check fail",
		Long: `Resume a session that failed, and ask the agent the questions that its failed checks left: why it did what it did.
DIR is the artifact directory of a session, of an execution or of a case, or of a run with one such failure; among the
sessions of an execution, the last one is asked.

The agent works in the workspace of the session again, with the rights that the runner gives it. Answers are kept in
explanations.json beside the questions, and shown from there the next time; --rerun asks again.`,
		Example: "  plumb explain .plumb/runs/20261120-101500-ab12cd/open-main/codex--1a2b3c4d\n  plumb explain DIR --rerun",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, err := explainable(a.path(args[0]))
			if err != nil {
				return err
			}
			if _, err := os.Stat(filepath.Join(dir, explanationsFile)); err == nil && !rerun {
				return a.showExplanations(dir)
			}
			ctx, cancel := a.whileRead(cmd.Context())
			defer cancel()
			return a.explain(ctx, dir, config, outputDir, timeout)
		},
	}
	cmd.Flags().BoolVar(&rerun, "rerun", false, "ask again, and replace the answers that are kept")
	cmd.Flags().StringVar(&config, "config", "", "config `file` (default: the one nearest to the suite)")
	cmd.Flags().StringVar(&outputDir, "output-dir", "", "`directory` of runs and cache (default .plumb)")
	cmd.Flags().DurationVar(&timeout, "timeout", 5*time.Minute, "time limit of one answer")
	return cmd
}

// explainable finds the session that dir means: dir itself, or the one below it that left questions. Of the retries and
// repetitions of one execution the last is meant.
func explainable(dir string) (string, error) {
	if info, err := os.Stat(dir); err != nil {
		return "", fmt.Errorf("read the artifact directory: %w", err)
	} else if !info.IsDir() {
		return "", fmt.Errorf("%s is not a directory", dir)
	}
	last := map[string]string{} // the session by execution
	var executions []string
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "explain" || d.Name() == run.BundleDir || strings.HasPrefix(d.Name(), "agent-")) {
			return fs.SkipDir
		}
		if d.Name() != run.ExplainFile || d.IsDir() {
			return nil
		}
		session := filepath.Dir(name)
		execution := session
		for strings.HasPrefix(filepath.Base(execution), "repeat-") || strings.HasPrefix(filepath.Base(execution), "session-") {
			execution = filepath.Dir(execution)
		}
		if len(execution) < len(dir) {
			execution = dir
		}
		was, known := last[execution]
		if !known {
			executions = append(executions, execution)
		}
		if !known || later(session, was) {
			last[execution] = session
		}
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("look for questions: %w", err)
	}
	switch len(executions) {
	case 0:
		return "", plumb.WithHint(fmt.Errorf("no %s in %s or below it: no check that failed there left a question", run.ExplainFile, dir),
			"questions are left by the grouped checks of suites in code, such as assert.commands.includes")
	case 1:
		return last[executions[0]], nil
	default:
		var shown []string
		for _, e := range executions[:min(len(executions), 5)] {
			shown = append(shown, "plumb explain "+last[e])
		}
		return "", plumb.WithHint(fmt.Errorf("%d executions in %s have questions; name one of them", len(executions), dir), strings.Join(shown, "\n"))
	}
}

// later reports whether the session in directory a came after that in b: by the numbers of repetition and retry.
func later(a, b string) bool {
	key := func(dir string) []int {
		var key []int
		for part := range strings.SplitSeq(filepath.ToSlash(dir), "/") {
			var n int
			if _, err := fmt.Sscanf(part, "repeat-%d", &n); err == nil {
				key = append(key[:0], n, 1)
			} else if _, err := fmt.Sscanf(part, "session-%d", &n); err == nil && len(key) == 2 {
				key[1] = n
			}
		}
		return key
	}
	return slices.Compare(key(a), key(b)) > 0
}

// explain asks the questions of the session in dir, one after the other in the one resumed session.
func (a *app) explain(ctx context.Context, dir, config, outputDir string, timeout time.Duration) error {
	var asked run.Explanation
	if err := readJSON(filepath.Join(dir, run.ExplainFile), &asked); err != nil {
		return err
	}
	switch {
	case len(asked.Questions) == 0:
		return fmt.Errorf("%s has no questions", filepath.Join(dir, run.ExplainFile))
	case asked.SessionID == "":
		return fmt.Errorf("%s has no sessionId: the agent never said which session it was", filepath.Join(dir, run.ExplainFile))
	}
	if _, err := os.Stat(asked.Cwd); err != nil {
		return plumb.WithHint(fmt.Errorf("the workspace of the session is gone: %w", err), "an agent is resumed where it worked; keep it with --keep-workspaces")
	}
	runner, err := a.explainer(ctx, dir, config, outputDir, &asked)
	if err != nil {
		return err
	}
	defer runner.shop.close()
	if !a.json {
		fmt.Fprintf(a.Stdout, "Case                %s\nRunner              %s\nArtifact Directory  %s\nQuestions           %d\n",
			asked.CaseID, asked.RunnerID, a.shown(dir), len(asked.Questions))
	}
	out := explanations{Explanation: asked}
	ref := plumb.SessionRef{SessionID: asked.SessionID, Workspace: asked.Cwd, ArtifactDir: dir}
	for i, q := range asked.Questions {
		if !a.json {
			fmt.Fprintf(a.Stdout, "\nQuestion %d (%s)\n%s\n", i+1, a.place(q.Source), q.Question)
			fmt.Fprintf(a.Stderr, "Waiting for %s...\n", asked.RunnerID)
		}
		limited, cancel := context.WithTimeout(ctx, timeout)
		answer, err := runner.agent.Explain(limited, ref, q.Question)
		cancel()
		if err != nil {
			return plumb.WithHint(fmt.Errorf("question %d: %w", i+1, err), plumb.Hint(err))
		}
		if answer.SessionID != "" {
			ref.SessionID = answer.SessionID
		}
		out.Questions = append(out.Questions, explanation{
			Question: q, Answer: answer.FinalOutput, SessionID: answer.SessionID, StartedAt: answer.StartedAt,
			EndedAt: answer.EndedAt, DurationMs: answer.DurationMs, RawArtifacts: answer.RawArtifacts,
		})
		if !a.json {
			fmt.Fprintf(a.Stdout, "\nAgent\n%s\n", a.clean(answer.FinalOutput))
		}
	}
	out, _ = redact.Clean(runner.shop.redact, out)
	out.CreatedAt = a.Now().UTC().Format("2006-01-02T15:04:05.000Z")
	data, err := json.MarshalIndent(out, "", "  ")
	if err != nil {
		return err
	}
	if err := run.WriteFile(filepath.Join(dir, explanationsFile), append(data, '\n')); err != nil {
		return err
	}
	if a.json {
		return a.print(out)
	}
	fmt.Fprintf(a.Stdout, "\nSaved explanations %s\n", a.shown(filepath.Join(dir, explanationsFile)))
	return nil
}

// explaining is what answers questions.
type explaining struct {
	shop  *workshop
	agent plumb.Explainer
}

// explainer makes the runner of the session in dir: as the run in which it took place describes it, or as the config that
// the user names does. An artifact directory from elsewhere is not trusted to say what to start.
func (a *app) explainer(ctx context.Context, dir, config, outputDir string, asked *run.Explanation) (*explaining, error) {
	p, err := a.open(ctx, config, outputDir)
	if err != nil {
		return nil, err
	}
	cfg := p.config.Runner(asked.RunnerID)
	if rel, err := filepath.Rel(p.runs(), dir); err == nil && filepath.IsLocal(rel) && config == "" && run.MadeHere(p.runs(), runOf(p, rel)) {
		var s spec
		if err := run.ReadSpec(runOf(p, rel), &s); err != nil {
			return nil, err
		}
		for _, r := range s.Runners {
			if r.ID != asked.RunnerID {
				continue
			}
			if err := p.withSecrets(&r); err != nil {
				return nil, err
			}
			c := r.config()
			cfg = &c
		}
	} else if config == "" {
		return nil, plumb.WithHint(fmt.Errorf("%s is not in the runs of this project", dir),
			"name the config whose runner is to be asked with --config, or the directory of runs with --output-dir")
	}
	if cfg == nil {
		return nil, plumb.WithHint(fmt.Errorf("No runner config matches explain runner id: %s", asked.RunnerID), //nolint:staticcheck // the documented text
			"name the config with --config")
	}
	shop, err := a.workshop(p, "off", 1, false, p.redactor(nil, cfg))
	if err != nil {
		return nil, err
	}
	made, _, err := shop.runners([]plumb.RunnerConfig{*cfg}) //nolint:contextcheck // a version is asked for with a time limit of its own
	if err != nil {
		shop.close()
		return nil, err
	}
	agent, ok := made[0].(plumb.Explainer)
	if !ok {
		shop.close()
		return nil, fmt.Errorf("runner %s cannot be asked about a session", asked.RunnerID)
	}
	return &explaining{shop, agent}, nil
}

// runOf returns the directory of the run that a path below the directory of runs leads into.
func runOf(p *project, rel string) string {
	id, _, _ := strings.Cut(filepath.ToSlash(rel), "/")
	return filepath.Join(p.runs(), id)
}

// place is where a check stands, as the user would write it.
func (a *app) place(s run.Source) string {
	s.FilePath = a.shown(strings.TrimPrefix(s.FilePath, "file://"))
	return s.String()
}

// showExplanations prints the answers that are kept.
func (a *app) showExplanations(dir string) error {
	var kept explanations
	if err := readJSON(filepath.Join(dir, explanationsFile), &kept); err != nil {
		return err
	}
	if a.json {
		return a.print(kept)
	}
	fmt.Fprintf(a.Stdout, "Case                %s\nRunner              %s\nArtifact Directory  %s\nQuestions           %d\n",
		kept.CaseID, kept.RunnerID, a.shown(dir), len(kept.Questions))
	for i, q := range kept.Questions {
		fmt.Fprintf(a.Stdout, "\nQuestion %d (%s)\n%s\n\nAgent\n%s\n", i+1, a.place(q.Source), q.Question.Question, q.Answer)
	}
	fmt.Fprintf(a.Stdout, "\nThese answers are from %s; --rerun asks again\n", kept.CreatedAt)
	return nil
}

func readJSON(path string, v any) error {
	data, err := doc.Read(path, doc.StateBytes)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, v); err != nil {
		if e, ok := errors.AsType[*json.SyntaxError](err); ok {
			return fmt.Errorf("read %s: byte %d: %w", path, e.Offset, err)
		}
		return fmt.Errorf("read %s: %w", path, err)
	}
	return nil
}
