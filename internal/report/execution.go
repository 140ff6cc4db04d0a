package report

import (
	"fmt"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/analyze"
	"github.com/plumb-eval/plumb/internal/results"
	"github.com/plumb-eval/plumb/internal/text"
)

// Cell is one execution of a run, with its case and its runner.
type Cell struct{ results.Cell }

// CellAt returns the execution at an index in a run.
func CellAt(run *plumb.Run, at int) Cell { return Cell{results.CellAt(run, at)} }

// Name returns the shortest name: the case, with the runner when there are several.
func (c *Cell) Name() string {
	if len(c.Run.Info.Runners) == 1 {
		return text.OneLine(c.Info.ID)
	}
	return text.OneLine(c.Info.ID) + " > " + text.OneLine(c.Runner.ID)
}

// Explain returns the command that asks the agent about a session, or "" when that is not possible:
// the session must be of an agent and have taken place in this run.
func (c *Cell) Explain(src *Source, repetition, number int) string {
	dir := c.SessionDir(src.Directory(c.Run), repetition, number)
	if dir == "" || c.Runner.Kind != plumb.RunnerAgent || c.Run.Info.ScoredFrom != "" || c.Run.Info.Share != "" ||
		src.IsRecording(c.Run) {
		return ""
	}
	if c.Repeats() > 1 || c.Sessions > 1 { // the command asks about this session, and not about the last one
		return "plumb explain " + ShellWord(dir) + src.flags()
	}
	return c.Command("explain", src)
}

// Command returns the command of plumb with a name that is about this execution alone.
func (c *Cell) Command(name string, src *Source) string {
	run := c.Run.Info.ID
	if c.Run.Info.Share != "" && src.Dir != "" { // it is a log without a run directory
		run = src.Dir
	}
	text := "plumb " + name + " " + ShellWord(run) + " " + ShellWord(c.Info.ID)
	if len(c.Run.Info.Runners) > 1 {
		text += " --runner " + ShellWord(c.Runner.ID)
	}
	return text + src.flags()
}

// AskAbout is [Cell.Explain] for a session with checks that have questions.
func (c *Cell) AskAbout(src *Source, s *results.Session) string {
	if s == nil || s.Judgement == nil || !ExcerptOf(s.Judgement).Asks {
		return ""
	}
	return c.Explain(src, s.Repetition, s.Number)
}

// tried returns the number of repetitions that ended.
func (c *Cell) tried() int { return int(c.Passed + c.Failed + c.Errored) }

// Counts returns the number of repetitions and sessions when there is more than one. It counts
// planned repetitions, not attempted ones.
func (c *Cell) Counts() []string {
	var words []string
	if target := c.Repeats(); target > 1 {
		passed := fmt.Sprintf("%d of %d repetitions passed", c.Passed, target)
		if tried := c.tried(); tried < target {
			passed += fmt.Sprintf(", %d not tried", target-tried)
		}
		words = append(words, passed)
	}
	if c.Sessions > 1 {
		words = append(words, text.Plural(int(c.Sessions), "session"))
	}
	if s, ok := analyze.SamplesOf(c.Run, c.Index); ok && s.Label == analyze.Flaky {
		words = append(words, "flaky ("+SureWords(s.Sure)+")")
	}
	return words
}
