package job

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/analyze"
	"github.com/plumb-eval/plumb/internal/compare"
	"github.com/plumb-eval/plumb/internal/files"
	"github.com/plumb-eval/plumb/internal/runlog"
	"github.com/plumb-eval/plumb/internal/text"
)

// oldBaseline is the age of a run from which on the provider may have changed the model.
const oldBaseline = 14 * 24 * time.Hour

// takeover takes the repetitions of an earlier run over into a new one.
type takeover struct {
	job     *Job
	from    *compare.Side
	index   *runlog.Index
	runners []int // by runner of the job: the index in the earlier run, or -1
	cases   map[string]bool
	at      map[string]int // by case: the index in the earlier run
}

// takeFrom lets the run take over the repetitions of the earlier run at path that are measured, and
// made with the same checks and prompt, runner, agent version, judge and scoring version. It notes
// what differs.
func (j *Job) takeFrom(ctx context.Context, path string) error {
	p := j.project
	if !files.Exists(path) { // the run is resumed
		j.Note(plumb.Note{Level: "warning", Text: "the run of --baseline-from is gone, and the rest is measured: " + path})
		return nil
	}
	from, err := compare.Open(path, compare.OpenOptions{RedactorOf: p.RedactorOf})
	if err != nil {
		return fmt.Errorf("--baseline-from: %w", err)
	}
	if from.Run == nil {
		return plumb.WithHint(fmt.Errorf("--baseline-from %s is not a run, and has no sessions", path),
			"name a run; list the runs with: plumb runs")
	}
	t := &takeover{job: j, from: from, cases: map[string]bool{}, at: map[string]int{}}
	planned := j.plannedSide()
	for i := range j.runners {
		t.runners = append(t.runners, t.runner(ctx, planned, i))
	}
	t.compareCases()
	if !slices.ContainsFunc(t.runners, func(n int) bool { return n >= 0 }) || len(t.cases) == 0 {
		return nil
	}
	if t.index, err = runlog.At(path).Index(); err != nil {
		return err
	}
	j.closers = append(j.closers, t.index.Close)
	if age := p.Env.Now().Sub(from.Ended); age > oldBaseline {
		j.Note(plumb.Note{
			Level: "warning",
			Text: fmt.Sprintf("run %s, whose repetitions are taken over, is %s old: the provider may have "+
				"changed the model",
				from.ID, text.Duration(age)),
			Hint: "leave --baseline-from out to measure all of them",
		})
	}
	j.options.Take, j.taken = t.take, t
	t.note("taken over from run %s: %d repetitions", from.ID, t.count())
	return nil
}

// count returns the number of repetitions that are taken over.
func (t *takeover) count() (n int) {
	for i := range t.job.Suite.Cases {
		for r := range t.runners {
			n += t.reused(&t.job.Suite.Cases[i], r)
		}
	}
	return n
}

// reused returns the number of repetitions of a case on the runner at the given index that are
// taken over. A nil takeover takes over none.
func (t *takeover) reused(c *plumb.Case, runner int) (n int) {
	if t == nil || t.runners[runner] < 0 || !t.cases[c.ID] {
		return 0
	}
	for _, s := range t.from.At(t.at[c.ID], t.runners[runner]) {
		if s.Measured() && int(s.Repetition) <= t.planned(c) {
			n++
		}
	}
	return n
}

// planned returns the number of planned repetitions of a case.
func (t *takeover) planned(c *plumb.Case) int { return max(1, cmp.Or(c.Repeat, t.job.Spec.Repeat)) }

// plannedSide returns the run of the job as a side of a comparison, without samples.
func (j *Job) plannedSide() *compare.Side {
	s, info := &j.Spec, j.options.Info
	for _, r := range j.runners {
		info.Runners = append(info.Runners, r.Info())
	}
	info.Retry, info.MaxSteps, info.Setup = s.Retry, s.MaxSteps, j.setup()
	if s.Workspace != nil {
		info.Workspace = s.Workspace
	}
	return compare.OfRun(&plumb.Run{Info: info}, &analyze.Samples{}, "")
}

// runner returns the index of the runner of the earlier run that equals the runner at index i of
// the job, or -1. It notes why there is none.
func (t *takeover) runner(ctx context.Context, planned *compare.Side, i int) int {
	id := t.job.runners[i].Info().ID
	n := slices.IndexFunc(t.from.Runners, func(r compare.Runner) bool { return r.ID == id })
	if n < 0 {
		t.note("run %s has no runner %s: its cases are measured", t.from.ID, id)
		return -1
	}
	differ := t.job.differences(ctx, t.from, planned, n, i)
	if len(differ) == 0 {
		return n
	}
	t.note("nothing is taken over from run %s for %s: %s", t.from.ID, id, differenceWords(differ))
	return -1
}

// differences returns what differs between the runner at index n of an earlier run and the runner
// at index i of the job, which is planned.
func (j *Job) differences(ctx context.Context, from, planned *compare.Side, n, i int) []compare.Difference {
	differ := compare.Obstacles(from, planned, n, i)
	if j.runners[i].Info().Kind == plumb.RunnerAgent {
		was, is := from.AgentVersion(n), j.agentVersion(ctx, i)
		if was == "" || was != is {
			differ = append(differ, compare.Difference{
				Kind: compare.VaryAgentVersion, Name: "agent version", Base: orUnknown(was), Cand: orUnknown(is),
			})
		}
	}
	return differ
}

func differenceWords(differ []compare.Difference) string {
	words := make([]string, len(differ))
	for k, d := range differ {
		d.Runner = ""
		words[k] = d.String()
	}
	return strings.Join(words, "; ")
}

func orUnknown(version string) string {
	if version == "" {
		return "unknown"
	}
	return version
}

// agentVersion returns the present version of the agent of a runner, or "".
func (j *Job) agentVersion(ctx context.Context, i int) string {
	r, ok := j.runners[i].(interface {
		Version(ctx context.Context) string
	})
	if !ok {
		return ""
	}
	return r.Version(ctx)
}

// compareCases finds the cases that are equal in both runs, and notes how many are not.
func (t *takeover) compareCases() {
	known := map[string]*plumb.CaseInfo{}
	for i := range t.from.Cases {
		known[t.from.Cases[i].ID] = &t.from.Cases[i]
		t.at[t.from.Cases[i].ID] = i
	}
	var changed, added []string
	for i := range t.job.Suite.Cases {
		c := &t.job.Suite.Cases[i]
		was := known[c.ID]
		switch {
		case was == nil:
			added = append(added, c.ID)
		case was.Hash == "" || was.Hash != c.Hash || was.ExpectedFail != c.ExpectedFail ||
			was.TimeoutMs != c.Timeout.Milliseconds() || was.MaxSteps != c.MaxSteps:
			changed = append(changed, c.ID)
		default:
			t.cases[c.ID] = true
		}
	}
	if len(changed) > 0 {
		t.note("changed since run %s, and measured again: %s", t.from.ID, someOf(changed))
	}
	if len(added) > 0 {
		t.note("not in run %s, and measured: %s", t.from.ID, someOf(added))
	}
}

// someOf names the first of some cases, and counts the others.
func someOf(ids []string) string {
	const most = 5
	if n := len(ids); n > most {
		return fmt.Sprintf("%s and %d more", strings.Join(ids[:most], ", "), n-most)
	}
	return strings.Join(ids, ", ")
}

func (t *takeover) note(format string, args ...any) {
	t.job.Note(plumb.Note{Level: "info", Text: fmt.Sprintf(format, args...)})
}

// take is [run.Input.Take]: it returns the sessions of the measured repetitions of a case.
func (t *takeover) take(c *plumb.Case, runner int) ([]plumb.Event, error) {
	n := t.runners[runner]
	if n < 0 || !t.cases[c.ID] {
		return nil, nil
	}
	measured := map[int]bool{} // by repetition: its last session is a pass or a fail
	var events []plumb.Event
	err := t.index.Sessions(c.ID, t.from.Runners[n].ID, func(ev plumb.Event) error {
		measured[ev.Repetition] = ev.Judgement != nil && ev.Judgement.Outcome.Measured()
		if r := ev.Report; r != nil {
			if r.TakenFrom == "" {
				r.TakenFrom = t.from.ID
			}
			r.Cached, r.CostUSD = true, new(0.0)
		}
		if ev.Judgement != nil {
			freeJudging(ev.Judgement)
		}
		events = append(events, ev)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("take over the sessions of case %s: %w", c.ID, err)
	}
	events = slices.DeleteFunc(events, func(ev plumb.Event) bool { return !measured[ev.Repetition] })
	return events, t.copyArtifacts(c, runner, measured)
}

// freeJudging removes the cost of judging: the earlier run has paid it.
func freeJudging(j *plumb.Judgement) {
	for i := range j.Verdicts {
		if asked := j.Verdicts[i].Asked; asked != nil {
			asked.CostUSD, asked.Usage = new(0.0), plumb.Usage{}
		}
	}
}

// copyArtifacts copies the files of the sessions that are taken over.
func (t *takeover) copyArtifacts(c *plumb.Case, runner int, repetitions map[int]bool) error {
	info := t.job.runners[runner].Info()
	if info.Kind == plumb.RunnerModel {
		return nil
	}
	for n, measured := range repetitions {
		from := plumb.SessionDir(plumb.ExecutionDir(t.from.Path, c.ID, &info), n, 1)
		to := plumb.SessionDir(plumb.ExecutionDir(t.job.options.Dir.Path, c.ID, &info), n, 1)
		if !measured || n > t.planned(c) || !files.Exists(from) || files.Exists(to) {
			continue
		}
		err := os.MkdirAll(filepath.Dir(to), 0o700)
		if err == nil {
			err = os.CopyFS(to, os.DirFS(from))
		}
		if err != nil {
			return errors.Join(fmt.Errorf("copy the artifacts of case %s: %w", c.ID, err), os.RemoveAll(to))
		}
	}
	return nil
}

// Unchanged returns an error if the only runner of the job is not the one at index at of the
// earlier run at path any more, or works under other conditions.
func (j *Job) Unchanged(ctx context.Context, path string, at int) error {
	from, err := compare.Open(path, compare.OpenOptions{RedactorOf: j.project.RedactorOf})
	if err != nil {
		return err
	}
	differ := slices.DeleteFunc(j.differences(ctx, from, j.plannedSide(), at, 0), func(d compare.Difference) bool {
		return !d.Known() || d.Kind == compare.VaryJudge && !d.Used() // the cases to repeat may need no judge
	})
	if len(differ) == 0 {
		return nil
	}
	return plumb.WithHint(fmt.Errorf("run %s cannot be repeated, because something is different now: %s", from.ID,
		differenceWords(differ)), "restore it, or measure both sides again")
}
