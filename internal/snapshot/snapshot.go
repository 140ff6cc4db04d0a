// Package snapshot keeps token baselines: the number of tokens of each case on each runner when it
// was last accepted. A run that uses more than the tolerance allows fails; a run that uses fewer
// never does.
//
// The file is documented and shared with other tools: JSON, with one entry for "<case>::<runner>".
package snapshot

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/text/collate"
	"golang.org/x/text/language"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/agent"
	"github.com/plumb-eval/plumb/internal/doc"
)

// defaultMetric is the metric if the config names none.
const defaultMetric = "totalTokens"

// mostSamples is the number of samples that a baseline keeps, the newest ones.
const mostSamples = 20

// Metrics lists the available metrics: the token counts of [plumb.Usage], by their JSON keys. Those
// of OnlyAuto need the tolerance auto.
func Metrics() []string {
	return append([]string{defaultMetric, "inputTokens", "outputTokens", "reasoningTokens", "cacheTokens"},
		OnlyAuto()...)
}

// OnlyAuto lists the metrics that vary from session to session, also for equal work.
func OnlyAuto() []string { return []string{plumb.MetricCostUSD, plumb.MetricLatencyMs} }

// Settings describe the comparison.
type Settings struct {
	Path   string `json:"path"`
	Metric string `json:"metric,omitempty"` // "" means defaultMetric
	// Absolute and Percent are the allowed increase over the baseline. If both are set, a result
	// within either of them passes. At least one is set, unless Auto is.
	Absolute *float64 `json:"absolute,omitempty"`
	Percent  *float64 `json:"percent,omitempty"`
	// Auto compares with the samples of the baseline, whose variance decides what is allowed.
	Auto bool `json:"auto,omitempty"`
	// Update stores the measured values as the new baseline. With Auto it adds them to the samples.
	Update bool `json:"update,omitempty"`
	// Reset stores the measured values as the new baseline, without the earlier samples.
	Reset bool `json:"reset,omitempty"`
	// Decide returns the test of the executions of one runner. samples are those of all cases of
	// the runner. Required with Auto.
	Decide func(metric string, samples [][]float64) Test `json:"-"`
	// Note is called with information for the user. Optional.
	Note func(plumb.Note) `json:"-"`
	// Now is the clock; nil means time.Now.
	Now func() time.Time `json:"-"`
}

// A Test compares the repetitions of an execution with the samples of its baseline. words say how
// they compare.
type Test func(measured, samples []float64) (c plumb.SnapshotCheck, words string)

// countedGross is the way in which Plumb counts tokens: see [plumb.Usage].
const countedGross = "gross"

// entry is one baseline. Its keys are documented. Only Plumb has agentVersion, counting and
// samples.
type entry struct {
	CaseID       string  `json:"caseId"`
	RunnerID     string  `json:"runnerId"`
	Metric       string  `json:"metric"`
	Value        float64 `json:"value"`
	AgentType    string  `json:"agentType"`
	Model        string  `json:"model"`
	AgentVersion string  `json:"agentVersion,omitempty"`
	// Counting is countedGross. A baseline of skillgym has no Counting, and is compared with the
	// count that skillgym would have reported.
	Counting string `json:"counting,omitempty"`
	// Samples are the values of single green repetitions, newest last; Value is their mean. A
	// baseline without samples counts as one sample, its Value.
	Samples   []float64 `json:"samples,omitempty"`
	UpdatedAt string    `json:"updatedAt"`
}

func (e *entry) samples() []float64 {
	if len(e.Samples) > 0 {
		return e.Samples
	}
	return []float64{e.Value}
}

// file is the content of the file.
type file struct {
	Version int     `json:"version"`
	Entries entries `json:"entries"`
}

type entries map[string]entry

// MarshalJSON writes the entries in the documented order, that of a dictionary, so that a file in
// version control only changes where baselines do.
func (e entries) MarshalJSON() ([]byte, error) {
	order := collate.New(language.Und)
	keys := slices.SortedFunc(maps.Keys(e), func(a, b string) int {
		return cmp.Or(order.CompareString(a, b), strings.Compare(a, b))
	})
	var members [][]byte
	for _, key := range keys {
		k, err := marshal(key)
		if err != nil {
			return nil, err
		}
		v, err := marshal(e[key])
		if err != nil {
			return nil, err
		}
		members = append(members, slices.Concat(k, []byte{':'}, v))
	}
	return slices.Concat([]byte{'{'}, bytes.Join(members, []byte{','}), []byte{'}'}), nil
}

// marshal encodes a value as JavaScript does: without escaping the characters of HTML.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(v)
	return b.Bytes(), err
}

// Baselines are the baselines of one file. They are safe for concurrent use.
type Baselines struct {
	o Settings

	mu      sync.Mutex
	entries map[string]entry
	// measured are the new measurements by baseline, which [Baselines.Save] adds to the file.
	measured map[string][]measurement
	// tests are the tests by runner. They rest on the samples in the file, so that the order in
	// which executions end changes nothing.
	tests map[string]Test
}

// Open reads the file of baselines. If it does not exist, there are no baselines.
func Open(o Settings) (*Baselines, error) {
	o.Metric = cmp.Or(o.Metric, defaultMetric)
	if !slices.Contains(Metrics(), o.Metric) {
		return nil, fmt.Errorf(
			"snapshots: unknown metric %q: expected one of %s", o.Metric, strings.Join(Metrics(), ", "),
		)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	entries, err := read(o.Path)
	if err != nil {
		return nil, err
	}
	b := &Baselines{o: o, entries: entries, measured: map[string][]measurement{}, tests: map[string]Test{}}
	if o.Auto {
		b.prepare()
	}
	return b, nil
}

// prepare makes the tests of the runners in the file.
func (b *Baselines) prepare() {
	samples := map[string][][]float64{}
	for _, key := range slices.Sorted(maps.Keys(b.entries)) {
		if e := b.entries[key]; e.Metric == b.o.Metric {
			samples[e.RunnerID] = append(samples[e.RunnerID], e.samples())
		}
	}
	for runner, s := range samples {
		b.tests[runner] = b.o.Decide(b.o.Metric, s)
	}
}

func read(path string) (map[string]entry, error) {
	data, err := doc.Read(path, doc.StateBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return map[string]entry{}, nil
	}
	var f file
	if err == nil {
		err = doc.Decode(path, 1, data, &f)
	}
	switch {
	case err != nil:
	case f.Version != 1:
		err = fmt.Errorf("its version is %d, not 1", f.Version)
	case f.Entries == nil:
		err = errors.New("it has no entries")
	default:
		err = negative(path, data, f.Entries)
	}
	if err != nil {
		// The documented words stay before the place, which an error of type Problems would replace.
		err = fmt.Errorf("Failed to load snapshots from %s: %v", path, err) //nolint:errorlint,staticcheck // documented
		return nil, plumb.WithHint(err,
			"repair the file, or delete it to accept the next measurement as the baseline")
	}
	return f.Entries, nil
}

// negative returns the error of a baseline below 0, which no session could have measured.
func negative(path string, data []byte, entries map[string]entry) error {
	for _, key := range slices.Sorted(maps.Keys(entries)) {
		for _, n := range append(slices.Clone(entries[key].Samples), entries[key].Value) {
			if n >= 0 {
				continue
			}
			root, _ := doc.ParseJSON(path, bytes.TrimPrefix(data, []byte("\xEF\xBB\xBF")))
			return doc.Problems{{
				Pos: root.Get("entries").Get(key).In(path), Message: fmt.Sprintf("the baseline %s has the value %v, which is below 0", key, n),
			}}
		}
	}
	return nil
}

// Verify compares the sessions that decided an execution with its baseline. If there is no
// baseline, they become it. It returns a failure if they used more than allowed, or if the metric
// is not known. With the tolerance auto it also returns the comparison.
func (b *Baselines) Verify(
	c *plumb.Case, r plumb.RunnerInfo, sessions []*plumb.SessionReport,
) (*plumb.SnapshotCheck, *plumb.Failure) {
	b.mu.Lock()
	defer b.mu.Unlock()
	k := c.ID + "::" + r.ID
	was, known := b.entries[k]
	accept := !known || b.o.Update || b.o.Reset
	agent := ""
	if !accept && was.Counting != countedGross {
		agent = r.Agent.Type
	}
	// A cached answer that is measured again is not another sample.
	again := b.o.Auto && known && b.o.Update && !b.o.Reset
	actual, version, ok := b.measure(sessions, agent, again || slices.Contains(OnlyAuto(), b.o.Metric))
	switch {
	case !ok:
		kind := "provider token metric"
		if slices.Contains(OnlyAuto(), b.o.Metric) {
			kind = "metric"
		}
		return nil, notMeasured("choose another metric in the config, under snapshots",
			"Snapshot check requires %s %s, which %s did not report for case %s", kind, b.o.Metric, r.ID, c.ID)
	case len(actual) == 0: // only answers from the cache
		return nil, nil
	case accept:
		m := measurement{c.ID, r, actual, version, !known && !b.o.Update && !b.o.Reset}
		b.measured[k] = append(b.measured[k], m)
		b.entries[k] = b.entry(&m, was)
		if !b.o.Auto {
			return nil, nil
		}
		return &plumb.SnapshotCheck{Metric: b.o.Metric, Repetitions: len(actual)}, nil
	case was.Metric != b.o.Metric:
		return nil, notMeasured("accept the new metric with --update-snapshots",
			"the baseline of %s on %s has the metric %s, but the config has %s", c.ID, r.ID, was.Metric, b.o.Metric)
	}
	differs := was.differs(r, version)
	if differs != "" && b.o.Note != nil {
		b.o.Note(plumb.Note{Level: "info", Text: fmt.Sprintf("snapshot of %s on %s: %s", c.ID, r.ID, differs)})
	}
	var check *plumb.SnapshotCheck
	var text string
	if b.o.Auto {
		check, text = b.test(&was, actual)
	} else {
		text = b.mismatch(&was, mean(actual))
	}
	if text == "" {
		return check, nil
	}
	text = fmt.Sprintf("Snapshot mismatch for %s:\n%s\nkey: %s / %s\n%s",
		was.Metric, text, c.ID, r.ID, b.advice())
	if differs != "" {
		text += "; " + differs
	}
	return check, plumb.Failuref(plumb.OriginSnapshot, "%s", text)
}

// Recover adds the sessions of an execution that an earlier process of the run finished, and did not
// save, if Verify would have made a baseline of them.
func (b *Baselines) Recover(c *plumb.Case, r plumb.RunnerInfo, sessions []*plumb.SessionReport) {
	b.mu.Lock()
	_, known := b.entries[c.ID+"::"+r.ID]
	b.mu.Unlock()
	if !known || b.o.Update || b.o.Reset {
		_, _ = b.Verify(c, r, sessions) // the earlier process has reported what it says
	}
}

// advice says how to accept a measurement that was too large.
func (b *Baselines) advice() string {
	if b.o.Auto {
		return "Accept it with --reset-snapshots, or add it to the samples with --update-snapshots"
	}
	return "Accept it with --update-snapshots"
}

// A measurement is what an execution adds to its baseline.
type measurement struct {
	caseID  string
	runner  plumb.RunnerInfo
	values  []float64
	version string
	// first means that nobody asked for the measurement: there was no baseline.
	first bool
}

// entry returns the baseline was with a measurement. With the tolerance auto it keeps the samples of
// was, unless they were measured in another way.
func (b *Baselines) entry(m *measurement, was entry) entry {
	r := m.runner
	now := entry{
		CaseID: m.caseID, RunnerID: r.ID, Metric: b.o.Metric, Value: mean(m.values), AgentType: r.Agent.Type,
		Model: r.Agent.Model, AgentVersion: m.version, Counting: countedGross,
		UpdatedAt: b.o.Now().UTC().Format("2006-01-02T15:04:05.000Z"),
	}
	if !b.o.Auto {
		return now
	}
	if !b.o.Reset && b.alike(&was, m) {
		now.Samples = was.samples()
	}
	now.Samples = slices.Concat(now.Samples, m.values)
	now.Samples = now.Samples[max(0, len(now.Samples)-mostSamples):]
	now.Value = mean(now.Samples)
	return now
}

// alike reports whether the samples of a baseline were measured in the same way as m.
func (b *Baselines) alike(was *entry, m *measurement) bool {
	return was.Metric == b.o.Metric && was.Counting == countedGross && was.differs(m.runner, m.version) == ""
}

// test compares values with the samples of a baseline. The text says why they are too large, or is
// "".
func (b *Baselines) test(was *entry, values []float64) (*plumb.SnapshotCheck, string) {
	test := b.tests[was.RunnerID]
	if test == nil { // this run made the baseline
		return nil, ""
	}
	check, words := test(values, was.samples())
	if check.Metric = b.o.Metric; !check.Failed {
		return &check, ""
	}
	return &check, words
}

// mismatch says by how much a value exceeds the limit of a baseline, or returns "".
func (b *Baselines) mismatch(was *entry, actual float64) string {
	allowed, ok := b.exceeded(was.Value, actual)
	if !ok {
		return ""
	}
	more := actual - was.Value
	percent := 0.0
	if was.Value != 0 {
		percent = more / was.Value * 100
	}
	return fmt.Sprintf("actual %s > allowed %s\nbaseline %s, +%s tokens (+%.1f%%)",
		number(actual), number(allowed), number(was.Value), number(more), percent)
}

// notMeasured is the failure of a check that could not be made.
func notMeasured(hint, format string, args ...any) *plumb.Failure {
	f := plumb.Failuref(plumb.OriginCollection, format, args...)
	f.Class, f.Hint = plumb.OriginSnapshot.Class(), hint
	return f
}

// exceeded returns the limit that actual exceeds, if any.
func (b *Baselines) exceeded(was, actual float64) (limit float64, ok bool) {
	if a := b.o.Absolute; a != nil && actual > was+*a {
		return was + *a, true
	}
	if p := b.o.Percent; p != nil && actual > was*(1+*p/100) {
		return was * (1 + *p/100), true
	}
	return 0, false
}

// differs describes how the measured sessions differ from those of the baseline, or returns "".
func (e *entry) differs(r plumb.RunnerInfo, version string) string {
	var parts []string
	for _, f := range []struct{ what, was, is string }{
		{"agent", e.AgentType, r.Agent.Type},
		{"model", e.Model, r.Agent.Model},
		{"agent version", e.AgentVersion, version},
	} {
		if f.was != f.is && f.was != "" && f.is != "" {
			parts = append(
				parts, fmt.Sprintf("the baseline was measured with %s %s, this run with %s", f.what, f.was, f.is),
			)
		}
	}
	return strings.Join(parts, "; ")
}

// measure returns the metric of each session, and the version of their agent. If skillgymAgent is
// not "", it counts as skillgym counts the tokens of that agent. ok is false if a session did not
// report the metric. With fresh it leaves out sessions from the cache, which also have no cost and
// no latency.
func (b *Baselines) measure(
	sessions []*plumb.SessionReport, skillgymAgent string, fresh bool,
) (values []float64, version string, ok bool) {
	for _, s := range sessions {
		if fresh && s.Cached {
			continue
		}
		usage := s.Usage
		if spec, err := agent.Find(skillgymAgent); err == nil {
			spec.SkillgymUsage(&usage)
		}
		n, ok := figure(s, &usage, b.o.Metric)
		if !ok {
			return nil, "", false
		}
		values = append(values, n)
		version = s.AgentVersion
	}
	return values, version, len(sessions) > 0
}

// mean returns the mean of at least one value.
func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

func figure(s *plumb.SessionReport, u *plumb.Usage, metric string) (value float64, ok bool) {
	n := u.TotalTokens
	switch metric {
	case "inputTokens":
		n = u.InputTokens
	case "outputTokens":
		n = u.OutputTokens
	case "reasoningTokens":
		n = u.ReasoningTokens
	case "cacheTokens":
		n = u.CacheTokens
	case plumb.MetricCostUSD:
		if s.CostUSD == nil {
			return 0, false
		}
		return *s.CostUSD, true
	case plumb.MetricLatencyMs:
		ms := cmp.Or(s.LatencyMs, s.DurationMs)
		return float64(ms), ms > 0
	}
	if n == nil {
		return 0, false
	}
	return float64(*n), true
}

// number formats whole numbers without decimals, others with two.
func number(f float64) string {
	if f = math.Round(f*100) / 100; f == math.Trunc(f) {
		return strconv.FormatFloat(f, 'f', 0, 64)
	}
	return strconv.FormatFloat(f, 'f', 2, 64)
}

// Save adds the measurements to the file, on top of what other processes wrote in the meantime.
// Without measurements it does nothing.
func (b *Baselines) Save(ctx context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.measured) == 0 {
		return nil
	}
	err := os.MkdirAll(filepath.Dir(b.o.Path), 0o755) //nolint:gosec // the user's project
	if err == nil {
		err = doc.Update(ctx, b.o.Path, b.save)
	}
	if err != nil {
		return fmt.Errorf("save snapshots: %w", err)
	}
	clear(b.measured)
	return nil
}

func (b *Baselines) save(path string) error {
	entries, err := read(path)
	if err != nil {
		return err
	}
	for key, all := range b.measured {
		for i := range all {
			was, known := entries[key]
			if known && all[i].first && (!b.o.Auto || !b.alike(&was, &all[i])) {
				break // another run made the baseline meanwhile, and nobody asked to replace it
			}
			entries[key] = b.entry(&all[i], was)
		}
	}
	data, err := marshal(file{1, entries})
	if err != nil {
		return err
	}
	return doc.Write(path, func(f *doc.File) error {
		_, err := f.Write(data)
		return errors.Join(err, f.Chmod(0o644)) // the file is part of the project
	})
}
