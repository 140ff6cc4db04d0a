package store

import (
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	code := m.Run()
	stopPostgres()
	os.Exit(code)
}

// clock is a clock of tests.
type clock struct{ ms atomic.Int64 }

func newClock(t time.Time) *clock {
	c := &clock{}
	c.ms.Store(t.UnixMilli())
	return c
}

func (c *clock) now() time.Time          { return time.UnixMilli(c.ms.Load()).UTC() }
func (c *clock) advance(d time.Duration) { c.ms.Add(d.Milliseconds()) }

// everywhere runs a test on all databases.
func everywhere(t *testing.T, test func(t *testing.T, s *Store, c *clock)) {
	t.Helper()
	begin := time.Date(2026, 11, 3, 12, 0, 0, 0, time.UTC)
	t.Run("memory", func(t *testing.T) {
		c := newClock(begin)
		test(t, opened(t, Options{Now: c.now}), c)
	})
	t.Run("disk", func(t *testing.T) {
		c := newClock(begin)
		test(t, opened(t, Options{File: filepath.Join(t.TempDir(), "plumb.db"), Now: c.now}), c)
	})
	t.Run("postgres", func(t *testing.T) {
		c := newClock(begin)
		test(t, opened(t, Options{Postgres: database(t), Now: c.now}), c)
	})
}

func opened(tb testing.TB, o Options) *Store {
	tb.Helper()
	s, err := Open(tb.Context(), o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})
	return s
}
