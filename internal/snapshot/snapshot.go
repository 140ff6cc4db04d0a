// Package snapshot keeps token baselines: how many tokens each case took on each runner when that was last accepted. A run
// that takes more than the tolerance allows fails; one that takes fewer never does.
//
// The file is documented and shared with other tools: JSON, one entry for "<case>::<runner>".
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

	"github.com/plumb-eval/plumb/internal/agent"

	"github.com/gofrs/flock"
	"golang.org/x/text/collate"
	"golang.org/x/text/language"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/doc"
)

// FileName is what the file of baselines is called unless the config says otherwise. It is beside the config.
const FileName = "plumb.snapshots.json"

// DefaultMetric is compared unless the config says otherwise.
const DefaultMetric = "totalTokens"

// Metrics lists what can be compared: the token counts of [plumb.Usage], by their JSON keys.
func Metrics() []string {
	return []string{DefaultMetric, "inputTokens", "outputTokens", "reasoningTokens", "cacheTokens"}
}

// Options say what is compared, and how.
type Options struct {
	Path   string
	Metric string // "" is DefaultMetric
	// Absolute and Percent are how much more than the baseline is allowed; with both, either can be exceeded. One of them is set.
	Absolute, Percent *float64
	// Update makes what is measured the new baseline.
	Update bool
	// Note takes what the user should know. Optional.
	Note func(plumb.Note)
	// Now is the clock; nil is that of the system.
	Now func() time.Time
}

// countedGross is how plumb counts: see [plumb.Usage].
const countedGross = "gross"

// entry is one baseline. Its keys are documented; agentVersion and counting are ours.
type entry struct {
	CaseID       string  `json:"caseId"`
	RunnerID     string  `json:"runnerId"`
	Metric       string  `json:"metric"`
	Value        float64 `json:"value"`
	AgentType    string  `json:"agentType"`
	Model        string  `json:"model"`
	AgentVersion string  `json:"agentVersion,omitempty"`
	// Counting is countedGross. A baseline of skillgym has none, and is compared with what skillgym would have counted.
	Counting  string `json:"counting,omitempty"`
	UpdatedAt string `json:"updatedAt"`
}

// file is what is on disk.
type file struct {
	Version int     `json:"version"`
	Entries entries `json:"entries"`
}

type entries map[string]entry

// MarshalJSON writes the entries in the documented order, that of a dictionary, so that a file in version control changes
// only where baselines do.
func (e entries) MarshalJSON() ([]byte, error) {
	order := collate.New(language.Und)
	keys := slices.SortedFunc(maps.Keys(e), func(a, b string) int {
		return cmp.Or(order.CompareString(a, b), strings.Compare(a, b))
	})
	data := []byte{'{'}
	for i, key := range keys {
		if i > 0 {
			data = append(data, ',')
		}
		k, err := marshal(key)
		if err != nil {
			return nil, err
		}
		v, err := marshal(e[key])
		if err != nil {
			return nil, err
		}
		data = append(append(append(data, k...), ':'), v...)
	}
	return append(data, '}'), nil
}

// marshal encodes a value as JavaScript does, which leaves the characters of HTML alone.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(v)
	return b.Bytes(), err
}

// Baselines are those of one file. They are safe for concurrent use.
type Baselines struct {
	o Options

	mu      sync.Mutex
	entries map[string]entry
	changed map[string]entry
}

// Open reads the file of baselines. One that does not exist has none.
func Open(o Options) (*Baselines, error) {
	o.Metric = cmp.Or(o.Metric, DefaultMetric)
	if !slices.Contains(Metrics(), o.Metric) {
		return nil, fmt.Errorf("snapshots: unknown metric %q: expected one of %s", o.Metric, strings.Join(Metrics(), ", "))
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
		return nil, plumb.WithHint(fmt.Errorf("Failed to load snapshots from %s: %w", path, err), //nolint:staticcheck // the documented text
			"mend the file, or delete it and accept what is measured next")
	}
	return f.Entries, nil
}

func key(caseID, runnerID string) string { return caseID + "::" + runnerID }

// Verify compares the sessions that decided an execution with its baseline, which they become if there is none. It returns
// what is wrong: more tokens than allowed, or that they cannot be told.
func (b *Baselines) Verify(c *plumb.Case, r plumb.RunnerInfo, sessions []*plumb.SessionReport) *plumb.Failure {
	b.mu.Lock()
	defer b.mu.Unlock()
	k := key(c.ID, r.ID)
	was, known := b.entries[k]
	agent := ""
	if known && !b.o.Update && was.Counting != countedGross {
		agent = r.Agent.Type
	}
	actual, version, ok := mean(sessions, b.o.Metric, agent)
	if !ok {
		f := plumb.Failuref(plumb.OriginCollection, "Snapshot check requires provider token metric %s, which %s did not report for case %s",
			b.o.Metric, r.ID, c.ID)
		f.Class = plumb.OriginSnapshot.Class()
		f.Hint = "choose another metric under snapshots in the config"
		return f
	}
	if !known || b.o.Update {
		now := entry{
			CaseID: c.ID, RunnerID: r.ID, Metric: b.o.Metric, Value: actual, AgentType: r.Agent.Type, Model: r.Agent.Model,
			AgentVersion: version, Counting: countedGross, UpdatedAt: b.o.Now().UTC().Format("2006-01-02T15:04:05.000Z"),
		}
		b.entries[k], b.changed[k] = now, now
		return nil
	}
	if was.Metric != b.o.Metric {
		f := plumb.Failuref(plumb.OriginCollection, "the baseline of %s on %s counts %s, and the config says %s", c.ID, r.ID, was.Metric, b.o.Metric)
		f.Class = plumb.OriginSnapshot.Class()
		f.Hint = "accept the new metric with --update-snapshots"
		return f
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
	text := fmt.Sprintf("Snapshot mismatch for %s:\nactual %s > allowed %s\nbaseline %s, +%s tokens (+%.1f%%)\nkey: %s / %s\n"+
		"Accept it with --update-snapshots", was.Metric, number(actual), number(allowed), number(was.Value), number(more), percent, c.ID, r.ID)
	if differs != "" {
		text += "; " + differs
	}
	return plumb.Failuref(plumb.OriginSnapshot, "%s", text)
}

// exceeded returns the limit that actual exceeds, if it does.
func (b *Baselines) exceeded(was, actual float64) (limit float64, ok bool) {
	if a := b.o.Absolute; a != nil && actual > was+*a {
		return was + *a, true
	}
	if p := b.o.Percent; p != nil && actual > was*(1+*p/100) {
		return was * (1 + *p/100), true
	}
	return 0, false
}

// differs says how what was measured is not what the baseline was measured on, or "".
func (e *entry) differs(r plumb.RunnerInfo, version string) string {
	var parts []string
	for _, f := range []struct{ what, was, is string }{
		{"agent", e.AgentType, r.Agent.Type}, {"model", e.Model, r.Agent.Model}, {"agent version", e.AgentVersion, version},
	} {
		if f.was != f.is && f.was != "" && f.is != "" {
			parts = append(parts, fmt.Sprintf("the baseline is of %s %s, this is %s", f.what, f.was, f.is))
		}
	}
	return strings.Join(parts, "; ")
}

// mean returns the mean of a metric over sessions, and the version of their agent. With skillgymAgent it is counted as skillgym
// counts that agent's tokens.
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

// number renders whole numbers plainly, others with two decimals.
func number(f float64) string {
	if f = math.Round(f*100) / 100; f == math.Trunc(f) {
		return strconv.FormatFloat(f, 'f', 0, 64)
	}
	return strconv.FormatFloat(f, 'f', 2, 64)
}

// Save writes the baselines that are new or changed, and leaves those that others wrote meanwhile alone. Without any it
// does nothing.
func (b *Baselines) Save(ctx context.Context) (err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.changed) == 0 {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(b.o.Path), 0o755); err != nil { //nolint:gosec // it is the user's project
		return fmt.Errorf("save snapshots: %w", err)
	}
	lock := flock.New(lockOf(b.o.Path))
	if _, err := lock.TryLockContext(ctx, 50*time.Millisecond); err != nil {
		return fmt.Errorf("save snapshots: lock %s: %w", b.o.Path, err)
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	entries, err := read(b.o.Path)
	if err != nil {
		return err
	}
	maps.Copy(entries, b.changed)
	data, err := marshal(file{1, entries})
	if err != nil {
		return fmt.Errorf("save snapshots: %w", err)
	}
	temp, err := os.CreateTemp(filepath.Dir(b.o.Path), ".snapshots-*")
	if err != nil {
		return fmt.Errorf("save snapshots: %w", err)
	}
	_, err = temp.Write(data)
	if err == nil {
		err = temp.Chmod(0o644) // it is committed to the project
	}
	if cerr := temp.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(temp.Name(), b.o.Path)
	}
	if err != nil {
		_ = os.Remove(temp.Name())
		return fmt.Errorf("save snapshots: %w", err)
	}
	clear(b.changed)
	return nil
}

// lockOf returns the lock that writers of the file share. It is not beside the file, which is in a project.
func lockOf(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	sum := sha256.Sum256([]byte(path))
	return filepath.Join(os.TempDir(), "plumb-snapshots-"+hex.EncodeToString(sum[:8])+".lock")
}

// Changed counts the baselines that are new or changed and not saved yet.
func (b *Baselines) Changed() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.changed)
}
