package compare

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/analyze"
	"github.com/plumb-eval/plumb/internal/files"
	"github.com/plumb-eval/plumb/internal/redact"
	"github.com/plumb-eval/plumb/internal/runlog"
)

// OpenOptions say where [Open] looks for the sides of a comparison.
type OpenOptions struct {
	// Dir is the directory to which paths are relative. Runs is the directory of the project's
	// runs, and Baselines that of its baselines.
	Dir, Runs, Baselines string
	// RedactorOf returns the redactor for the run directory at path, for logs of earlier versions.
	// Nil removes nothing.
	RedactorOf func(path string) *redact.Redactor
}

func (o *OpenOptions) path(name string) string {
	if filepath.IsAbs(name) || o.Dir == "" {
		return name
	}
	return filepath.Join(o.Dir, name)
}

// Open opens one side of a comparison. ref is the name of a baseline, a run directory, a result
// file, "last", "prev" (the run before the last one), or the id of a run, its unique beginning or
// its unique end. "#RUNNER" at the end of ref keeps only one runner, so that two runners of one run
// can be compared.
func Open(ref string, o OpenOptions) (*Side, error) {
	name, runner := ref, ""
	if at := strings.LastIndexByte(ref, '#'); at >= 0 && !files.Exists(o.path(ref)) {
		if name, runner = ref[:at], ref[at+1:]; name == "" || runner == "" {
			return nil, plumb.WithHint(fmt.Errorf("%q names no run and runner", ref),
				"write RUN#RUNNER, such as last#gpt-5, and check that a variable is set")
		}
	}
	s, err := open(name, &o)
	if err != nil {
		return nil, err
	}
	s.Name = ref
	if runner != "" {
		return s.OfRunner(runner)
	}
	return s, nil
}

func open(name string, o *OpenOptions) (*Side, error) {
	path := o.path(name)
	if files.Exists(filepath.Join(path, runlog.SpecFile)) && name != "" {
		return openRun(path, o)
	}
	if validName(name) == nil && files.Exists(BaselinePath(o.Baselines, name)) {
		return openBaseline(o.Baselines, name)
	}
	if info, err := os.Stat(path); err == nil && name != "" {
		if runlog.IsLog(path) {
			return openRun(path, o)
		}
		if !info.IsDir() {
			return openFile(path)
		}
		if files.Exists(filepath.Join(path, runlog.EventsFile)) {
			return openRun(path, o)
		}
		if file := filepath.Join(path, runlog.ResultsFile); files.Exists(file) { // a run of skillgym
			return openFile(file)
		}
		return nil, plumb.WithHint(fmt.Errorf("%s is not a run directory", name),
			"it has neither "+runlog.SpecFile+" nor "+runlog.ResultsFile)
	}
	if name == "prev" {
		ids, err := runlog.List(o.Runs)
		if err != nil {
			return nil, err
		}
		if len(ids) < 2 {
			return nil, plumb.WithHint(fmt.Errorf("there is no run before the last one in %s", o.Runs),
				"start a run with: plumb run")
		}
		return openRun(filepath.Join(o.Runs, ids[len(ids)-2]), o)
	}
	dir, err := runlog.Find(o.Runs, name)
	if err != nil {
		return nil, notFound(name, err, o)
	}
	return openRun(dir, o)
}

// notFound explains that name is neither a run nor anything else.
func notFound(name string, err error, o *OpenOptions) error {
	if strings.ContainsAny(name, `/\`) || strings.HasSuffix(name, ".json") || strings.HasSuffix(name, ".jsonl") {
		return fmt.Errorf("there is no file %s", name)
	}
	baselines, listErr := Baselines(o.Baselines)
	if listErr != nil || name == "last" || name == "" {
		return err
	}
	if len(baselines) == 0 {
		return plumb.WithHint(fmt.Errorf("there is no baseline, run or file %q", name),
			"list the runs with: plumb runs; keep a baseline with: plumb baseline set NAME RUN")
	}
	names := make([]string, len(baselines))
	for i, b := range baselines {
		names[i] = b.Name
	}
	if near := plumb.Nearest(name, names); near != "" {
		return plumb.WithHint(fmt.Errorf("there is no baseline, run or file %q", name), "did you mean "+near+"?")
	}
	return plumb.WithHint(err, "the baselines are "+strings.Join(names, ", ")+"; "+plumb.Hint(err))
}

// openRun reads the run directory at path.
func openRun(path string, o *OpenOptions) (*Side, error) {
	var secrets *redact.Redactor
	if o.RedactorOf != nil {
		secrets = o.RedactorOf(path)
	}
	collected := &analyze.Samples{}
	state, err := runlog.At(path).Figures(secrets, collected.Report)
	if err != nil {
		return nil, err
	}
	return OfRun(state, collected, path), nil
}

// OfRun returns the side of a run from its state and the samples that were collected from its
// events.
func OfRun(state *plumb.Run, collected *analyze.Samples, path string) *Side {
	info := &state.Info
	s := &Side{
		Name: info.ID, ID: info.ID, Kind: SourceRun, Path: path, Started: state.StartedAt, Ended: state.EndedAt,
		Suite: info.SuiteName, Facts: runFacts(info), Run: state, Cases: state.Cases,
	}
	for i := range info.Runners {
		r := &info.Runners[i]
		s.Runners = append(s.Runners, Runner{
			ID: r.ID, Kind: r.Kind, Agent: r.Agent, Config: r.Config,
			Facts: runnerFacts(info, i, collected.Observed(i)),
		})
	}
	for i := range state.Cases {
		state.Cases[i].Repeat = max(state.Cases[i].Repeat, 1) // early versions recorded no single repetition
	}
	s.Samples = make([][]analyze.Sample, len(state.Executions))
	for i := range s.Samples {
		s.Samples[i] = collected.Of(i)
	}
	return s
}

// OfRunner returns the side with one of its runners.
func (s *Side) OfRunner(id string) (*Side, error) {
	at := slices.IndexFunc(s.Runners, func(r Runner) bool { return r.ID == id })
	if at < 0 {
		ids := make([]string, len(s.Runners))
		for i := range s.Runners {
			ids[i] = s.Runners[i].ID
		}
		hint := "it has " + strings.Join(ids, ", ")
		if near := plumb.Nearest(id, ids); near != "" {
			hint = "did you mean " + near + "? " + hint
		}
		if len(ids) == 0 {
			return nil, errors.New(s.Path + " has no runners")
		}
		return nil, plumb.WithHint(fmt.Errorf("%s has no runner %q", s.Path, id), hint)
	}
	return s.keep(func(*plumb.CaseInfo) bool { return true }, at, at+1), nil
}

// OfPrompt returns the side with the cases of one prompt.
func (s *Side) OfPrompt(label string) (*Side, error) {
	of := func(c *plumb.CaseInfo) bool { return c.Prompt == label }
	var labels []string
	for i := range s.Cases {
		if name := s.Cases[i].Prompt; name != "" && !slices.Contains(labels, name) {
			labels = append(labels, name)
		}
	}
	if !slices.Contains(labels, label) {
		hint := "it has " + strings.Join(labels, ", ")
		switch near := plumb.Nearest(label, labels); {
		case len(labels) == 0:
			hint = "its suite has no prompts with labels"
		case near != "":
			hint = "did you mean " + near + "? " + hint
		}
		return nil, plumb.WithHint(fmt.Errorf("%s has no prompt %q", s.Name, label), hint)
	}
	one := s.keep(of, 0, len(s.Runners))
	one.Name += " with prompt " + label
	one.prompt = label
	return one, nil
}

// keep returns the side with some of its cases, and its runners from one index to another.
func (s *Side) keep(wanted func(*plumb.CaseInfo) bool, from, to int) *Side {
	one := *s
	one.Runners = s.Runners[from:to]
	one.Cases, one.Samples, one.runs = nil, nil, nil
	for i := range s.Cases {
		if !wanted(&s.Cases[i]) {
			continue
		}
		one.Cases = append(one.Cases, s.Cases[i])
		for r := from; r < to; r++ {
			one.Samples = append(one.Samples, s.At(i, r))
			if s.runs != nil {
				one.runs = append(one.runs, s.runs[i*len(s.Runners)+r])
			}
		}
	}
	return &one
}

// PairItems returns the pairs of [MatchOptions.Map] for two sides with different prompts: the cases
// of the same item.
func PairItems(base, cand *Side) map[string]string {
	items := map[string]string{}
	for i := range cand.Cases {
		c := &cand.Cases[i]
		items[cmp.Or(c.Item, c.ID)] = c.ID
	}
	pairs := map[string]string{}
	for i := range base.Cases {
		c := &base.Cases[i]
		if to, ok := items[cmp.Or(c.Item, c.ID)]; ok {
			pairs[c.ID] = to
		}
	}
	return pairs
}
