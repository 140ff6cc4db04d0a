package runner

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/redact"
)

// fake is a model that counts what it is asked.
type fake struct {
	asked  atomic.Int64
	id     string
	answer func(plumb.Request) (*plumb.SessionReport, error)
}

func (f *fake) Info() plumb.RunnerInfo { return plumb.RunnerInfo{ID: f.id, Kind: plumb.RunnerModel} }

func (f *fake) Run(_ context.Context, req plumb.Request) (*plumb.SessionReport, error) {
	n := f.asked.Add(1)
	if f.answer != nil {
		return f.answer(req)
	}
	return answered(f.Info(), req, fmt.Sprintf("answer %d", n)), nil
}

func answered(info plumb.RunnerInfo, req plumb.Request, text string) *plumb.SessionReport {
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	return &plumb.SessionReport{
		Runner: info, Prompt: plumb.PromptText(req.Messages), FinalOutput: text, FinishReason: plumb.FinishStop,
		Files:          plumb.Files{ObservedReads: []string{}, ObservedSkillReads: []string{}},
		DetectedSkills: []plumb.SkillDetection{}, Events: []plumb.SessionEvent{{Type: plumb.SessionMessage, Text: text}},
		StartedAt: &at, DurationMs: 1200, LatencyMs: 1100, Model: "m-2026", Fingerprint: "fp", RequestID: "req-1", CostUSD: new(0.5),
		Usage: plumb.Usage{InputTokens: new(int64(10)), OutputTokens: new(int64(5)), Source: plumb.UsageSource{Input: "provider"}},
		Sent:  plumb.Parameters{Temperature: new(0.0)}, Refused: []string{"seed"}, Requests: 1,
	}
}

func caching(t *testing.T, inner plumb.Runner) *cached {
	t.Helper()
	return &cached{
		Runner: inner, cache: &Cache{Dir: filepath.Join(t.TempDir(), "cache")},
		target: cacheTarget{Provider: "openai", Model: "m", Parameters: plumb.Parameters{Temperature: new(0.0), Seed: new(int64(42))}},
	}
}

func TestCacheAnswersTheSameQuestionOnce(t *testing.T) {
	inner := &fake{id: "one"}
	c := caching(t, inner)
	first, err := c.Run(t.Context(), ask("x"))
	if err != nil || first.Cached || *first.CostUSD != 0.5 {
		t.Fatalf("%+v, %v", first, err)
	}
	inner.id = "two" // the runner may be called something else in the next run
	second, err := c.Run(t.Context(), ask("x"))
	if err != nil {
		t.Fatal(err)
	}
	if inner.asked.Load() != 1 {
		t.Errorf("asked %d times", inner.asked.Load())
	}
	want := *first
	want.Runner.ID, want.Cached, want.CostUSD = "two", true, new(0.0)
	if diff := cmp.Diff(&want, second); diff != "" {
		t.Error(diff)
	}
}

func TestCacheKeepsApartWhatDiffers(t *testing.T) {
	base := ask("x")
	change := func(f func(c *cached, r *plumb.Request)) func(*cached, *plumb.Request) { return f }
	for name, differ := range map[string]func(*cached, *plumb.Request){
		"text":        change(func(_ *cached, r *plumb.Request) { r.Messages[0].Content = "y" }),
		"role":        change(func(_ *cached, r *plumb.Request) { r.Messages[0].Role = plumb.RoleSystem }),
		"one more":    change(func(_ *cached, r *plumb.Request) { r.Messages = append(r.Messages, plumb.Message{Role: "user"}) }),
		"repetition":  change(func(_ *cached, r *plumb.Request) { r.Repetition = 2 }),
		"session":     change(func(_ *cached, r *plumb.Request) { r.Session = 2 }),
		"cap":         change(func(_ *cached, r *plumb.Request) { r.MaxOutputTokens = 9 }),
		"provider":    change(func(c *cached, _ *plumb.Request) { c.target.Provider = "azure" }),
		"model":       change(func(c *cached, _ *plumb.Request) { c.target.Model = "n" }),
		"address":     change(func(c *cached, _ *plumb.Request) { c.target.BaseURL = "http://localhost" }),
		"api":         change(func(c *cached, _ *plumb.Request) { c.target.API = "responses" }),
		"header":      change(func(c *cached, _ *plumb.Request) { c.target.Headers = map[string]string{"beta": "1"} }),
		"temperature": change(func(c *cached, _ *plumb.Request) { c.target.Parameters.Temperature = new(0.1) }),
		"no seed":     change(func(c *cached, _ *plumb.Request) { c.target.Parameters.Seed = nil }),
		"effort":      change(func(c *cached, _ *plumb.Request) { c.target.Parameters.ReasoningEffort = new("high") }),
	} {
		t.Run(name, func(t *testing.T) {
			inner := &fake{}
			c := caching(t, inner)
			if _, err := c.Run(t.Context(), base); err != nil {
				t.Fatal(err)
			}
			req := base
			req.Messages = append([]plumb.Message(nil), base.Messages...)
			differ(c, &req)
			if report, err := c.Run(t.Context(), req); err != nil || report.Cached {
				t.Errorf("%+v, %v: answered from the cache", report, err)
			}
		})
	}
	t.Run("case id does not count", func(t *testing.T) {
		c := caching(t, &fake{})
		req := base
		for i, id := range []string{"a", "b"} {
			req.CaseID = id
			if report, err := c.Run(t.Context(), req); err != nil || report.Cached != (i == 1) {
				t.Errorf("%s: %+v, %v", id, report, err)
			}
		}
	})
}

func TestCacheKeepsNoErrors(t *testing.T) {
	req := ask("x")
	for name, answer := range map[string]func() (*plumb.SessionReport, error){
		"error":   func() (*plumb.SessionReport, error) { return nil, errors.New("down") },
		"failure": func() (*plumb.SessionReport, error) { return nil, plumb.Failuref(plumb.OriginRunner, "down") },
		"broke off": func() (*plumb.SessionReport, error) {
			return answered(plumb.RunnerInfo{}, req, "half"), errors.New("cut")
		},
	} {
		t.Run(name, func(t *testing.T) {
			inner := &fake{answer: func(plumb.Request) (*plumb.SessionReport, error) { return answer() }}
			c := caching(t, inner)
			for range 2 {
				if _, err := c.Run(t.Context(), req); err == nil {
					t.Error("no error")
				}
			}
			if inner.asked.Load() != 2 {
				t.Errorf("asked %d times", inner.asked.Load())
			}
			if _, err := os.Stat(c.cache.Dir); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("something was kept: %v", err)
			}
		})
	}
	for _, finish := range []plumb.FinishReason{plumb.FinishTruncated, plumb.FinishRefused} {
		inner := &fake{answer: func(req plumb.Request) (*plumb.SessionReport, error) {
			r := answered(plumb.RunnerInfo{}, req, "")
			r.FinishReason = finish
			return r, nil
		}}
		c := caching(t, inner)
		for range 2 {
			if report, err := c.Run(t.Context(), req); err != nil || report.FinishReason != finish {
				t.Errorf("%+v, %v", report, err)
			}
		}
		if inner.asked.Load() != 1 {
			t.Errorf("%s is an answer, and was asked for %d times", finish, inner.asked.Load())
		}
	}
}

func TestCacheOnly(t *testing.T) {
	inner := &fake{}
	c := caching(t, inner)
	if _, err := c.Run(t.Context(), ask("known")); err != nil {
		t.Fatal(err)
	}
	c.only = true
	if report, err := c.Run(t.Context(), ask("known")); err != nil || !report.Cached {
		t.Errorf("%+v, %v", report, err)
	}
	report, err := c.Run(t.Context(), ask("unknown"))
	f := failure(t, err)
	if report != nil || f.Origin != plumb.OriginRunner || f.Class.ID != "not-cached" || !strings.Contains(f.Hint, "--cache on") {
		t.Errorf("%+v, %+v", report, f)
	}
	if inner.asked.Load() != 1 {
		t.Errorf("the model was asked %d times", inner.asked.Load())
	}
}

// TestCacheDamage changes, cuts and swaps entries: none is trusted, and each is written anew.
func TestCacheDamage(t *testing.T) {
	inner := &fake{}
	c := caching(t, inner)
	if _, err := c.Run(t.Context(), ask("x")); err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob(filepath.Join(c.cache.Dir, "*", "*.json"))
	if len(files) != 1 {
		t.Fatalf("%d files", len(files))
	}
	good, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	flip := func(i int) []byte {
		b := bytes.Clone(good)
		b[i] ^= 1
		return b
	}
	damaged := [][]byte{{}, []byte("{}"), good[:len(good)/2], append(bytes.Clone(good), "x"...), bytes.Replace(good, []byte("answer 1"), []byte("answer 9"), 1)}
	for i := 0; i < len(good); i += 13 {
		damaged = append(damaged, flip(i))
	}
	for _, data := range damaged {
		if bytes.Equal(data, good) {
			t.Fatal("not damaged")
		}
		if err := os.WriteFile(files[0], data, 0o600); err != nil {
			t.Fatal(err)
		}
		asked := inner.asked.Load()
		report, err := c.Run(t.Context(), ask("x"))
		if err != nil || report.Cached || inner.asked.Load() != asked+1 {
			t.Fatalf("a damaged entry was used: %q", data)
		}
		if report, err := c.Run(t.Context(), ask("x")); err != nil || !report.Cached {
			t.Fatalf("a damaged entry was not replaced: %v", err)
		}
	}
	// The entry of another question is not the answer to this one.
	if _, err := c.Run(t.Context(), ask("y")); err != nil {
		t.Fatal(err)
	}
	other, _ := filepath.Glob(filepath.Join(c.cache.Dir, "*", "*.json"))
	for _, name := range other {
		if name != files[0] {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(files[0], data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	if report, err := c.Run(t.Context(), ask("x")); err != nil || report.Cached {
		t.Errorf("the answer to another question was given")
	}
}

func TestCacheFiles(t *testing.T) {
	c := caching(t, &fake{})
	c.cache.Redact = redact.New([]redact.Secret{{Name: "KEY", Value: "to-the-secret-question"}})
	const secret = "to-the-secret-question" // in what is asked
	if report, err := c.Run(t.Context(), ask(secret)); err != nil || !strings.Contains(report.Prompt, secret) {
		t.Fatalf("the answer is not as it came: %+v, %v", report, err)
	}
	var wait sync.WaitGroup
	for i := range 40 {
		wait.Go(func() {
			if _, err := c.Run(t.Context(), ask(fmt.Sprint(i%10))); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	n := 0
	err := filepath.WalkDir(c.cache.Dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		switch mode := info.Mode().Perm(); {
		case d.IsDir() && mode != 0o700, !d.IsDir() && mode != 0o600:
			t.Errorf("%s: mode %o", path, mode)
		case !d.IsDir():
			n++
			if data, err := os.ReadFile(path); err != nil || bytes.Contains(data, []byte(secret)) {
				t.Errorf("%s holds the secret, or %v", path, err)
			}
			if !strings.HasSuffix(path, ".json") {
				t.Errorf("%s was left behind", path)
			}
		}
		return nil
	})
	if err != nil || n != 10 {
		t.Errorf("%d entries, %v", n, err)
	}
}

func TestCacheThatCannotBeWritten(t *testing.T) {
	c := caching(t, &fake{})
	if err := os.WriteFile(c.cache.Dir, nil, 0o600); err != nil { // a file where the directory should be
		t.Fatal(err)
	}
	var notes []plumb.Note
	c.note = func(n plumb.Note) { notes = append(notes, n) }
	for i := range 3 {
		if report, err := c.Run(t.Context(), ask(fmt.Sprint(i))); err != nil || report == nil {
			t.Errorf("%+v, %v: the answer is lost", report, err)
		}
	}
	if len(notes) != 1 || notes[0].Level != "warning" || !strings.Contains(notes[0].Hint, c.cache.Dir) {
		t.Errorf("notes %+v", notes)
	}
}

func TestCacheEnded(t *testing.T) {
	c := caching(t, &fake{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if report, err := c.Run(ctx, ask("x")); report != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("%+v, %v", report, err)
	}
}

func TestParseCacheMode(t *testing.T) {
	for text, want := range map[string]CacheMode{"": CacheOff, "off": CacheOff, "on": CacheOn, "only": CacheOnly} {
		if got, err := ParseCacheMode(text); got != want || err != nil {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
	if _, err := ParseCacheMode("of"); err == nil || plumb.Hint(err) == "" {
		t.Errorf("error %v", err)
	}
}

func FuzzOpenEntry(f *testing.F) {
	key, err := keyOf("x")
	if err != nil {
		f.Fatal(err)
	}
	good := sealEntry(key, []byte(`{"finalOutput":"x"}`))
	for _, seed := range [][]byte{{}, good, good[:40], good[:len(good)-1], append(bytes.Clone(good), '\n'), []byte(`{"key":"`), []byte(`{"key":"` + strings.Repeat("0", 300))} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		body, err := openEntry(key, data)
		if err == nil && !bytes.Equal(sealEntry(key, body), data) {
			t.Fatalf("%q was taken for an entry", data)
		}
	})
}

func BenchmarkCache(b *testing.B) {
	answer := strings.Repeat("a plain sentence of some length. ", 12)
	inner := &fake{answer: func(req plumb.Request) (*plumb.SessionReport, error) {
		return answered(plumb.RunnerInfo{ID: "m"}, req, answer), nil
	}}
	prompt := strings.Repeat("what do you think of this? ", 12)
	b.Run("hit", func(b *testing.B) {
		c := &cached{Runner: inner, cache: &Cache{Dir: b.TempDir()}}
		for b.Loop() {
			if _, err := c.Run(b.Context(), ask(prompt)); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("miss and keep", func(b *testing.B) {
		c := &cached{Runner: inner, cache: &Cache{Dir: b.TempDir()}}
		i := 0
		for b.Loop() {
			i++
			if _, err := c.Run(b.Context(), ask(prompt+fmt.Sprint(i))); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("without", func(b *testing.B) {
		for b.Loop() {
			if _, err := inner.Run(b.Context(), ask(prompt)); err != nil {
				b.Fatal(err)
			}
		}
	})
}
