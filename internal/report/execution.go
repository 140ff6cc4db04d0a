package report

import (
	"fmt"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/analyze"
	"github.com/plumb-eval/plumb/internal/results"
	"github.com/plumb-eval/plumb/internal/text"
)

// cell is one execution of a run, with its case and its runner.
type cell struct{ results.Cell }

func cellAt(run *plumb.Run, at int) cell { return cell{results.CellAt(run, at)} }

// name returns the shortest name: the case, with the runner when there are several.
func (c *cell) name() string {
	if len(c.Run.Info.Runners) == 1 {
		return text.OneLine(c.Info.ID)
	}
	return text.OneLine(c.Info.ID) + " > " + text.OneLine(c.Runner.ID)
}

// explain returns the command that asks the agent about a session, or "" when that is not possible:
// the session must be of an agent and have taken place in this run.
func (c *cell) explain(o *Options, repetition, number int) string {
	dir := c.SessionDir(o.dir(c.Run), repetition, number)
	if dir == "" || c.Runner.Kind != plumb.RunnerAgent || c.Run.Info.ScoredFrom != "" || o.recorded(c.Run) {
		return ""
	}
	if c.Repeats() > 1 || c.Sessions > 1 { // the command asks about this session, and not about the last one
		return "plumb explain " + ShellWord(dir) + o.flags()
	}
	return c.command("explain", o)
}

// command returns the command of plumb with a name that is about this execution alone.
func (c *cell) command(name string, o *Options) string {
	text := "plumb " + name + " " + ShellWord(c.Run.Info.ID) + " " + ShellWord(c.Info.ID)
	if len(c.Run.Info.Runners) > 1 {
		text += " --runner " + ShellWord(c.Runner.ID)
	}
	return text + o.flags()
}

// askAbout is explain for a session with checks that have questions.
func (c *cell) askAbout(o *Options, s *results.Session) string {
	if s == nil || s.Judgement == nil || !excerptOf(s.Judgement).asks {
		return ""
	}
	return c.explain(o, s.Repetition, s.Number)
}

// tried returns the number of repetitions that ended.
func (c *cell) tried() int { return int(c.Passed + c.Failed + c.Errored) }

// counts returns the number of repetitions and sessions when there is more than one. It counts
// planned repetitions, not attempted ones.
func (c *cell) counts() []string {
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
		words = append(words, "flaky ("+sureWords(s.Sure)+")")
	}
	return words
}
