package compare

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	json2 "github.com/go-json-experiment/json"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/analyze"
	"github.com/plumb-eval/plumb/internal/doc"
)

const (
	// BaselinesDir is the default directory of baselines. It is beside the config.
	BaselinesDir = "plumb.baselines"
	// baselineSchema is the version of the format of baseline files.
	baselineSchema = 1
	// historyLimit is the most repetitions that a baseline keeps of a case on a runner.
	historyLimit = 20
	baselineExt  = ".jsonl"
)

// BaselinePath returns the file of a baseline in the directory of baselines.
func BaselinePath(dir, name string) string { return filepath.Join(dir, name+baselineExt) }

// baselineHeader is the first line of a baseline file: what the runs were made with.
type baselineHeader struct {
	Schema  int              `json:"schema"`
	Name    string           `json:"name"`
	Suite   string           `json:"suite"`
	Runs    []baselineRun    `json:"runs"`
	Facts   []Fact           `json:"facts"`
	Runners []baselineRunner `json:"runners"`
}

// baselineRun is one of the runs of a baseline, the oldest first.
type baselineRun struct {
	ID        string    `json:"id"`
	StartedAt time.Time `json:"startedAt"`
	EndedAt   time.Time `json:"endedAt"`
}

type baselineRunner struct {
	ID     string           `json:"id"`
	Kind   plumb.RunnerKind `json:"kind"`
	Agent  plumb.AgentInfo  `json:"agent"`
	Config string           `json:"config,omitempty"`
	Facts  []Fact           `json:"facts"`
}

// baselineCase is any other line: one case on one runner.
type baselineCase struct {
	Case         string            `json:"case"`
	Runner       string            `json:"runner"`
	Hash         string            `json:"hash,omitempty"`
	Prompt       string            `json:"promptHash,omitempty"`
	Checks       string            `json:"checksHash,omitempty"`
	Category     string            `json:"category,omitempty"`
	Difficulty   string            `json:"difficulty,omitempty"`
	Tags         []string          `json:"tags,omitempty"`
	Metadata     map[string]string `json:"metadata,omitempty"`
	Repeat       int               `json:"repeat,omitzero"`
	ExpectedFail bool              `json:"expectedFail,omitzero"`
	TimeoutMs    int64             `json:"timeoutMs,omitzero"`
	MaxSteps     int               `json:"maxSteps,omitzero"`
	Repetitions  []baselineSample  `json:"repetitions"`
}

// baselineSample is one repetition. A figure that was not reported is null; so are the cost and the
// latency of an answer from a cache.
type baselineSample struct {
	Run     string        `json:"run"`
	At      time.Time     `json:"at"`
	Outcome plumb.Outcome `json:"outcome"`
	Score   *float64      `json:"score"`
	Tokens  *float64      `json:"tokens"`
	Cost    *float64      `json:"cost"`
	Latency *float64      `json:"latency"`
}

// baselineFile is the content of a baseline file.
type baselineFile struct {
	baselineHeader
	cases []baselineCase
}

// Baseline describes a baseline for a list.
type Baseline struct {
	Name    string    `json:"name"`
	Path    string    `json:"path"`
	Suite   string    `json:"suite"`
	Runs    []string  `json:"runs"`
	Runners []string  `json:"runners"`
	Cases   int       `json:"cases"`
	Samples int       `json:"samples"`
	Updated time.Time `json:"updatedAt"`
	// Error says why the file cannot be read.
	Error string `json:"error,omitempty"`
}

// validName checks the name of a baseline.
func validName(name string) error {
	ok := name != "" && len(name) <= 100 && name[0] != '.' && name[0] != '-' &&
		strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == ""
	if !ok {
		return plumb.WithHint(fmt.Errorf("%q is not a name for a baseline", name),
			"use letters, digits, dots, hyphens and underscores")
	}
	if name == "last" || name == "prev" {
		return plumb.WithHint(fmt.Errorf("%q is not a name for a baseline: it names a run", name), "such as main")
	}
	return nil
}

// Baselines lists the baselines in a directory by name. If it does not exist, there are none.
func Baselines(dir string) ([]Baseline, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the baselines: %w", err)
	}
	var all []Baseline
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), baselineExt)
		if !ok || e.IsDir() || validName(name) != nil {
			continue
		}
		b := Baseline{Name: name, Path: filepath.Join(dir, e.Name()), Runs: []string{}, Runners: []string{}}
		if f, err := readBaseline(b.Path); err != nil {
			b.Error = err.Error()
		} else {
			f.describe(&b)
		}
		all = append(all, b)
	}
	return all, nil
}

func (f *baselineFile) describe(b *Baseline) {
	b.Suite = f.Suite
	for _, r := range f.Runs {
		b.Runs = append(b.Runs, r.ID)
		if r.EndedAt.After(b.Updated) {
			b.Updated = r.EndedAt
		}
	}
	for _, r := range f.Runners {
		b.Runners = append(b.Runners, r.ID)
	}
	seen := map[string]bool{}
	for i := range f.cases {
		seen[f.cases[i].Case] = true
		b.Samples += len(f.cases[i].Repetitions)
	}
	b.Cases = len(seen)
}

// RemoveBaseline deletes a baseline.
func RemoveBaseline(dir, name string) error {
	if err := validName(name); err != nil {
		return err
	}
	err := os.Remove(BaselinePath(dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return noBaseline(dir, name)
	}
	if err != nil {
		return fmt.Errorf("delete the baseline %s: %w", name, err)
	}
	return nil
}

// noBaseline is the error for a name without a file.
func noBaseline(dir, name string) error {
	err := fmt.Errorf("there is no baseline %q in %s", name, dir)
	all, _ := Baselines(dir) // the hint is optional
	names := make([]string, len(all))
	for i := range all {
		names[i] = all[i].Name
	}
	if near := plumb.Nearest(name, names); near != "" {
		return plumb.WithHint(err, "did you mean "+near+"?")
	}
	if len(names) == 0 {
		return plumb.WithHint(err, "make one with: plumb baseline set "+name+" RUN")
	}
	return plumb.WithHint(err, "there are "+strings.Join(names, ", "))
}

// readBaseline reads a baseline file. An error names the line and the key.
func readBaseline(path string) (*baselineFile, error) {
	data, err := doc.Read(path, doc.SuiteBytes)
	if err != nil {
		return nil, fmt.Errorf("read the baseline %s: %w", path, err)
	}
	return parseBaseline(path, data)
}

func parseBaseline(path string, data []byte) (*baselineFile, error) {
	f := &baselineFile{}
	runners, seen := map[string]bool{}, map[[2]string]bool{}
	n := 0
	for text := range bytes.Lines(data) {
		n++
		if text = bytes.TrimSpace(text); len(text) == 0 {
			continue
		}
		if f.Schema == 0 {
			if err := f.readHeader(path, n, text); err != nil {
				return nil, err
			}
			for i := range f.Runners {
				runners[f.Runners[i].ID] = true
			}
			continue
		}
		var c baselineCase
		err := decode(path, n, text, &c)
		bad := func(format string, args ...any) {
			if err == nil {
				err = problem(path, n, text, fmt.Sprintf(format, args...))
			}
		}
		if c.Case == "" {
			bad("case is missing")
		}
		if !runners[c.Runner] {
			bad("runner: %q is not in the first line of the file", c.Runner)
		}
		if key := [2]string{c.Case, c.Runner}; seen[key] {
			bad("case %s on %s is in the file twice", c.Case, c.Runner)
		} else {
			seen[key] = true
		}
		if why := badSample(c.Repetitions); why != "" {
			bad("repetitions: %s", why)
		}
		if err != nil {
			return nil, err
		}
		f.cases = append(f.cases, c)
	}
	if f.Schema == 0 {
		return nil, problem(path, 1, nil, "the file is empty")
	}
	return f, nil
}

func (f *baselineFile) readHeader(path string, line int, text []byte) error {
	if err := decode(path, line, text, &f.baselineHeader); err != nil {
		return err
	}
	message := ""
	switch {
	case f.Schema <= 0:
		message = "schema is missing: the first line of a baseline describes its runs"
	case f.Schema > baselineSchema:
		message = fmt.Sprintf("schema: version %d is of a later Plumb; this one reads version %d", f.Schema,
			baselineSchema)
	case len(f.Runners) == 0:
		message = "runners is missing or empty"
	}
	ids := map[string]bool{}
	for _, r := range f.Runners {
		if r.ID == "" || ids[r.ID] {
			message = fmt.Sprintf("runners: the id %q is empty, or in the list twice", r.ID)
		}
		ids[r.ID] = true
	}
	if message != "" {
		return problem(path, line, text, message)
	}
	return nil
}

// badSample says what is wrong with the repetitions of a line, or returns "".
func badSample(all []baselineSample) string {
	for i := range all {
		s := &all[i]
		switch s.Outcome {
		case plumb.OutcomePass, plumb.OutcomeFail, plumb.OutcomeError:
		default:
			return fmt.Sprintf("outcome %q is none of pass, fail, error", s.Outcome)
		}
		for _, figure := range []struct {
			name string
			p    *float64
			most float64
		}{
			{"score", s.Score, 1},
			{"tokens", s.Tokens, math.MaxFloat64},
			{"cost", s.Cost, math.MaxFloat64},
			{"latency", s.Latency, math.MaxFloat64},
		} {
			if figure.p != nil && (*figure.p < 0 || *figure.p > figure.most) {
				return fmt.Sprintf("%s is %v", figure.name, *figure.p)
			}
		}
	}
	return ""
}

// openBaseline returns the side of a baseline.
func openBaseline(dir, name string) (*Side, error) {
	path := BaselinePath(dir, name)
	f, err := readBaseline(path)
	if err != nil {
		return nil, err
	}
	return f.side(path), nil
}

func (f *baselineFile) side(path string) *Side {
	s := &Side{
		Name: f.Name, Kind: SourceBaseline, Path: path, Suite: f.Suite, Facts: f.Facts, History: len(f.Runs) > 1,
	}
	if len(f.Runs) > 0 {
		last := f.Runs[len(f.Runs)-1]
		s.ID, s.Started, s.Ended = last.ID, last.StartedAt, last.EndedAt
	}
	at := map[string]int{}
	for i := range f.Runners {
		r := &f.Runners[i]
		at[r.ID] = i
		s.Runners = append(s.Runners, Runner{ID: r.ID, Kind: r.Kind, Agent: r.Agent, Config: r.Config, Facts: r.Facts})
	}
	index := map[string]int{}
	for i := range f.cases {
		c := &f.cases[i]
		n, ok := index[c.Case]
		if !ok {
			n = len(s.Cases)
			index[c.Case] = n
			s.Cases = append(s.Cases, plumb.CaseInfo{
				ID: c.Case, Hash: c.Hash, PromptHash: c.Prompt, ChecksHash: c.Checks, Category: c.Category,
				Difficulty: c.Difficulty, Tags: c.Tags, Metadata: c.Metadata, Repeat: c.Repeat,
				ExpectedFail: c.ExpectedFail, TimeoutMs: c.TimeoutMs, MaxSteps: c.MaxSteps,
			})
			s.Samples = append(s.Samples, make([][]analyze.Sample, len(f.Runners))...)
			s.runs = append(s.runs, make([][]string, len(f.Runners))...)
		}
		x := n*len(f.Runners) + at[c.Runner]
		for j := range c.Repetitions {
			s.Samples[x] = append(s.Samples[x], c.Repetitions[j].sample(int32(j+1), c.ExpectedFail))
			s.runs[x] = append(s.runs[x], c.Repetitions[j].Run)
		}
	}
	return s
}

func (b *baselineSample) sample(repetition int32, expectedFail bool) analyze.Sample {
	origin := plumb.OriginRunner
	if b.Outcome == plumb.OutcomeFail {
		origin = plumb.OriginAssertion
	}
	none := math.NaN()
	return analyze.Sample{
		Repetition: repetition, Session: 1, Outcome: b.Outcome,
		Green: plumb.StatusOf(b.Outcome, origin, expectedFail).OK(),
		Score: share(b.Score), Tokens: figure(b.Tokens), InputTokens: none, OutputTokens: none,
		CostUSD: figure(b.Cost), LatencyMs: figure(b.Latency), Steps: none,
	}
}

// SetBaseline adds runs to a baseline, the oldest first, and returns notes for the user. It makes
// the baseline if there is none. Of a case with another hash, and of a run that the baseline has
// already, it replaces the repetitions. A run that was made with something else starts the baseline
// over, but the given runs must agree with each other.
func SetBaseline(ctx context.Context, dir, name string, runs []*Side) (notes []string, err error) {
	if err := validName(name); err != nil {
		return nil, err
	}
	if len(runs) == 0 {
		return nil, errors.New("a baseline needs at least one run")
	}
	for _, s := range runs {
		if s.Kind != SourceRun {
			return nil, plumb.WithHint(fmt.Errorf("%s is not a run", s.Name), "a baseline is made of runs; list them "+
				"with: plumb runs")
		}
		if s.Run.Totals.Finished < s.Run.Totals.Planned {
			notes = append(notes, fmt.Sprintf("run %s is not complete: %d of %d executions", s.ID,
				s.Run.Totals.Finished, s.Run.Totals.Planned))
		}
	}
	runs = slices.SortedFunc(slices.Values(runs), func(a, b *Side) int {
		return cmp.Or(a.Started.Compare(b.Started), strings.Compare(a.ID, b.ID))
	})
	runs = slices.CompactFunc(runs, func(a, b *Side) bool { return a.ID == b.ID })
	for _, s := range runs[1:] {
		if found := differences(runs[0], s); len(found) > 0 {
			r := &Refused{Differences: found, Kinds: kindsOf(found)}
			return nil, plumb.WithHint(fmt.Errorf("runs %s and %s cannot be one baseline: %w", runs[0].ID, s.ID, r),
				"keep each in a baseline of its own")
		}
	}
	err = doc.Update(ctx, BaselinePath(dir, name), func(path string) error {
		f, err := readBaseline(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if f != nil {
			if found := differences(f.side(path), runs[0]); len(found) > 0 {
				notes = append(notes, "the baseline starts over: "+found[0].String())
				f = nil
			}
		}
		if f == nil {
			f = &baselineFile{}
		}
		var changed []string
		for _, s := range runs {
			changed = append(changed, f.add(s)...)
		}
		if note := restarted(changed); note != "" {
			notes = append(notes, note)
		}
		f.Schema, f.Name = baselineSchema, name
		return f.write(path)
	})
	return notes, err
}

// restarted says which cases start over.
func restarted(ids []string) string {
	slices.Sort(ids)
	ids = slices.Compact(ids)
	const most = 5
	why := " because the prompt or the checks changed: " + strings.Join(ids[:min(most, len(ids))], ", ")
	switch n := len(ids); {
	case n == 0:
		return ""
	case n == 1:
		return "1 case starts over" + why
	case n > most:
		return fmt.Sprintf("%d cases start over%s and %d more", n, why, n-most)
	default:
		return fmt.Sprintf("%d cases start over%s", n, why)
	}
}

// add adds the samples of a run. It returns the ids of the cases that start over.
func (f *baselineFile) add(s *Side) (changed []string) {
	f.Suite, f.Facts = s.Suite, s.Facts
	f.Runs = slices.DeleteFunc(f.Runs, func(r baselineRun) bool { return r.ID == s.ID })
	f.Runs = append(f.Runs, baselineRun{s.ID, s.Started.UTC(), s.Ended.UTC()})
	for i := range s.Runners {
		r := &s.Runners[i]
		f.Runners = slices.DeleteFunc(f.Runners, func(b baselineRunner) bool { return b.ID == r.ID })
		f.Runners = append(f.Runners, baselineRunner{r.ID, r.Kind, r.Agent, r.Config, r.Facts})
	}
	index := map[[2]string]int{}
	for i := range f.cases {
		index[[2]string{f.cases[i].Case, f.cases[i].Runner}] = i
	}
	for i := range s.Cases {
		c := &s.Cases[i]
		for r := range s.Runners {
			key := [2]string{c.ID, s.Runners[r].ID}
			line := baselineCase{
				Case: c.ID, Runner: key[1], Hash: c.Hash, Prompt: c.PromptHash, Checks: c.ChecksHash, Category: c.Category,
				Difficulty: c.Difficulty, Tags: c.Tags, Metadata: c.Metadata, Repeat: c.Repeat,
				ExpectedFail: c.ExpectedFail, TimeoutMs: c.TimeoutMs, MaxSteps: c.MaxSteps,
				Repetitions: []baselineSample{},
			}
			n, known := index[key]
			if same := known && f.cases[n].Hash == c.Hash && f.cases[n].ExpectedFail == c.ExpectedFail; known && !same {
				changed = append(changed, c.ID)
			} else if same {
				line.Repetitions = slices.DeleteFunc(f.cases[n].Repetitions, func(b baselineSample) bool {
					return b.Run == s.ID
				})
			}
			line.Repetitions = append(line.Repetitions, baselineSamples(s, s.At(i, r))...)
			line.Repetitions = line.Repetitions[max(0, len(line.Repetitions)-historyLimit):]
			if known {
				f.cases[n] = line
			} else {
				f.cases = append(f.cases, line)
			}
		}
	}
	f.tidy(s)
	return changed
}

// tidy removes the cases that a complete run of the suite does not have, and the runs of which
// nothing is left.
func (f *baselineFile) tidy(s *Side) {
	if s.Run.Info.Cases == s.Run.Info.SuiteCases {
		f.cases = slices.DeleteFunc(f.cases, func(c baselineCase) bool { return s.Run.Case(c.Case) == nil })
	}
	left := map[string]bool{s.ID: true}
	for i := range f.cases {
		for j := range f.cases[i].Repetitions {
			left[f.cases[i].Repetitions[j].Run] = true
		}
	}
	f.Runs = slices.DeleteFunc(f.Runs, func(r baselineRun) bool { return !left[r.ID] })
}

// baselineSamples returns the finished samples of an execution in the form of a baseline.
func baselineSamples(s *Side, samples []analyze.Sample) []baselineSample {
	var all []baselineSample
	for i := range samples {
		x := &samples[i]
		if x.Outcome == "" || x.Outcome == plumb.OutcomeSkipped {
			continue
		}
		b := baselineSample{
			Run: s.ID, At: s.Ended.UTC(), Outcome: x.Outcome, Score: known(x.Score), Tokens: known(x.Tokens),
		}
		if !x.Cached {
			b.Cost, b.Latency = known(x.CostUSD), known(x.LatencyMs)
		}
		all = append(all, b)
	}
	return all
}

func known(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

// write writes the file, with its lines in the order of their cases and runners, so that a file in
// version control changes only where results do.
func (f *baselineFile) write(path string) error {
	slices.SortStableFunc(f.cases, func(a, b baselineCase) int {
		return cmp.Or(strings.Compare(a.Case, b.Case), strings.Compare(a.Runner, b.Runner))
	})
	slices.SortFunc(f.Runners, func(a, b baselineRunner) int { return strings.Compare(a.ID, b.ID) })
	err := doc.Write(path, func(w *doc.File) error {
		line := func(v any) error {
			text, err := json2.Marshal(v, json2.Deterministic(true))
			if err != nil {
				return err
			}
			_, err = w.Write(append(text, '\n'))
			return err
		}
		if err := line(&f.baselineHeader); err != nil {
			return err
		}
		for i := range f.cases {
			if err := line(&f.cases[i]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("write the baseline %s: %w", path, err)
	}
	return nil
}
