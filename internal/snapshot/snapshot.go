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
	"crypto/sha256"
	"encoding/hex"
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

	"github.com/gofrs/flock"
	"golang.org/x/text/collate"
	"golang.org/x/text/language"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/agent"
	"github.com/plumb-eval/plumb/internal/doc"
)

// FileName is the default name of the file of baselines. It is beside the config.
const FileName = "plumb.snapshots.json"

// defaultMetric is the metric if the config names none.
const defaultMetric = "totalTokens"

// metrics lists the available metrics: the token counts of [plumb.Usage], by their JSON keys.
func metrics() []string {
	return []string{defaultMetric, "inputTokens", "outputTokens", "reasoningTokens", "cacheTokens"}
}

// Options describe the comparison.
type Options struct {
	Path   string `json:"path"`
	Metric string `json:"metric,omitempty"` // "" means defaultMetric
	// Absolute and Percent are the allowed increase over the baseline. If both are set, a result
	// within either of them passes. At least one is set.
	Absolute *float64 `json:"absolute,omitempty"`
	Percent  *float64 `json:"percent,omitempty"`
	// Update stores the measured values as the new baseline.
	Update bool `json:"update,omitempty"`
	// Note is called with information for the user. Optional.
	Note func(plumb.Note) `json:"-"`
	// Now is the clock; nil means time.Now.
	Now func() time.Time `json:"-"`
}

// countedGross is the way in which Plumb counts tokens: see [plumb.Usage].
const countedGross = "gross"

// entry is one baseline. Its keys are documented. Only Plumb has agentVersion and counting.
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
	Counting  string `json:"counting,omitempty"`
	UpdatedAt string `json:"updatedAt"`
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
	o Options

	mu      sync.Mutex
	entries map[string]entry
	changed map[string]entry
}

// Open reads the file of baselines. If it does not exist, there are no baselines.
func Open(o Options) (*Baselines, error) {
	o.Metric = cmp.Or(o.Metric, defaultMetric)
	if !slices.Contains(metrics(), o.Metric) {
		return nil, fmt.Errorf(
			"snapshots: unknown metric %q: expected one of %s", o.Metric, strings.Join(metrics(), ", "),
		)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	entries, err := read(o.Path)
	if err != nil {
		return nil, err
	}
	return &Baselines{o: o, entries: entries, changed: map[string]entry{}}, nil
}

func read(path string) (map[string]entry, error) {
	data, err := doc.Read(path, doc.StateBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return map[string]entry{}, nil
	}
	var f file
	if err == nil {
		err = json.Unmarshal(data, &f)
	}
	switch {
	case err != nil:
	case f.Version != 1:
		err = fmt.Errorf("its version is %d, not 1", f.Version)
	case f.Entries == nil:
		err = errors.New("it has no entries")
	}
	if err != nil {
		err = fmt.Errorf("Failed to load snapshots from %s: %w", path, err) //nolint:staticcheck // documented
		return nil, plumb.WithHint(err,
			"repair the file, or delete it to accept the next measurement as the baseline")
	}
	return f.Entries, nil
}

// Verify compares the sessions that decided an execution with its baseline. If there is no
// baseline, they become it. It returns a failure if they used more tokens than allowed, or if the
// count is not known.
func (b *Baselines) Verify(c *plumb.Case, r plumb.RunnerInfo, sessions []*plumb.SessionReport) *plumb.Failure {
	b.mu.Lock()
	defer b.mu.Unlock()
	k := c.ID + "::" + r.ID
	was, known := b.entries[k]
	agent := ""
	if known && !b.o.Update && was.Counting != countedGross {
		agent = r.Agent.Type
	}
	actual, version, ok := mean(sessions, b.o.Metric, agent)
	switch {
	case !ok:
		return notMeasured("choose another metric in the config, under snapshots",
			"Snapshot check requires provider token metric %s, which %s did not report for case %s",
			b.o.Metric, r.ID, c.ID)
	case !known || b.o.Update:
		now := entry{
			CaseID: c.ID, RunnerID: r.ID, Metric: b.o.Metric, Value: actual, AgentType: r.Agent.Type,
			Model: r.Agent.Model, AgentVersion: version, Counting: countedGross,
			UpdatedAt: b.o.Now().UTC().Format("2006-01-02T15:04:05.000Z"),
		}
		b.entries[k], b.changed[k] = now, now
		return nil
	case was.Metric != b.o.Metric:
		return notMeasured("accept the new metric with --update-snapshots",
			"the baseline of %s on %s has the metric %s, but the config has %s", c.ID, r.ID, was.Metric, b.o.Metric)
	}
	differs := was.differs(r, version)
	if differs != "" && b.o.Note != nil {
		b.o.Note(plumb.Note{Level: "info", Text: fmt.Sprintf("snapshot of %s on %s: %s", c.ID, r.ID, differs)})
	}
	allowed, ok := b.exceeded(was.Value, actual)
	if !ok {
		return nil
	}
	more := actual - was.Value
	percent := 0.0
	if was.Value != 0 {
		percent = more / was.Value * 100
	}
	text := fmt.Sprintf("Snapshot mismatch for %s:\nactual %s > allowed %s\n"+
		"baseline %s, +%s tokens (+%.1f%%)\nkey: %s / %s\n"+
		"Accept it with --update-snapshots",
		was.Metric, number(actual), number(allowed), number(was.Value), number(more), percent, c.ID, r.ID)
	if differs != "" {
		text += "; " + differs
	}
	return plumb.Failuref(plumb.OriginSnapshot, "%s", text)
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

// mean returns the mean of a metric over sessions, and the version of their agent. If
// skillgymAgent is not "", it counts as skillgym counts the tokens of that agent.
func mean(sessions []*plumb.SessionReport, metric, skillgymAgent string) (value float64, version string, ok bool) {
	for _, s := range sessions {
		usage := s.Usage
		if spec, err := agent.Find(skillgymAgent); err == nil {
			spec.SkillgymUsage(&usage)
		}
		n := figure(&usage, metric)
		if n == nil {
			return 0, "", false
		}
		value += float64(*n)
		version = s.AgentVersion
	}
	return value / float64(len(sessions)), version, len(sessions) > 0
}

func figure(u *plumb.Usage, metric string) *int64 {
	switch metric {
	case "inputTokens":
		return u.InputTokens
	case "outputTokens":
		return u.OutputTokens
	case "reasoningTokens":
		return u.ReasoningTokens
	case "cacheTokens":
		return u.CacheTokens
	default:
		return u.TotalTokens
	}
}

// number formats whole numbers without decimals, others with two.
func number(f float64) string {
	if f = math.Round(f*100) / 100; f == math.Trunc(f) {
		return strconv.FormatFloat(f, 'f', 0, 64)
	}
	return strconv.FormatFloat(f, 'f', 2, 64)
}

// Save writes the new and changed baselines, and keeps those that other processes wrote in the
// meantime. Without changes it does nothing.
func (b *Baselines) Save(ctx context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.changed) == 0 {
		return nil
	}
	if err := b.save(ctx); err != nil {
		return fmt.Errorf("save snapshots: %w", err)
	}
	clear(b.changed)
	return nil
}

func (b *Baselines) save(ctx context.Context) (err error) {
	if err := os.MkdirAll(filepath.Dir(b.o.Path), 0o755); err != nil { //nolint:gosec // the user's project
		return err
	}
	lock := flock.New(lockOf(b.o.Path))
	if _, err := lock.TryLockContext(ctx, 50*time.Millisecond); err != nil {
		return fmt.Errorf("lock %s: %w", b.o.Path, err)
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	entries, err := read(b.o.Path)
	if err != nil {
		return err
	}
	maps.Copy(entries, b.changed)
	data, err := marshal(file{1, entries})
	if err != nil {
		return err
	}
	return doc.Write(b.o.Path, func(f *doc.File) error {
		_, err := f.Write(data)
		return errors.Join(err, f.Chmod(0o644)) // the file is part of the project
	})
}

// lockOf returns the lock that writers of the file share. It is not beside the file, which is in a
// project.
func lockOf(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	sum := sha256.Sum256([]byte(path))
	return filepath.Join(os.TempDir(), "plumb-snapshots-"+hex.EncodeToString(sum[:8])+".lock")
}

// Changed counts the new and changed baselines that are not saved yet.
func (b *Baselines) Changed() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.changed)
}
