package modelapi

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plumb-eval/plumb"
)

// chatParts is a reply in two parts, which have an answer of n bytes between them.
func chatParts() (head, tail string) {
	return `{"id":"x","object":"chat.completion","model":"gpt-4o","choices":[{"index":0,"message":{"role":"assistant","content":"`,
		`"},"finish_reason":"stop"}]}`
}

// metered is the body of a reply. It counts what was read of all replies that are not closed.
type metered struct {
	io.Reader
	read  int64
	total *atomic.Int64
	most  *atomic.Int64
}

func (c *metered) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.read += int64(n)
	total := c.total.Add(int64(n))
	for most := c.most.Load(); total > most && !c.most.CompareAndSwap(most, total); most = c.most.Load() {
	}
	return n, err
}

func (c *metered) Close() error {
	c.total.Add(-c.read)
	return nil
}

// TestLargeRepliesTakeTurns has many large replies come at once, for two keys: no more of them are
// in memory than the bound allows, whether their size is known beforehand or not, and all are read.
func TestLargeRepliesTakeTurns(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector needs minutes for 240 MB of replies")
	}
	const size, many = 30 << 20, 8
	answer := strings.Repeat("a", size)
	head, tail := chatParts()
	for name, known := range map[string]bool{"of known size": true, "of unknown size": false} {
		t.Run(name, func(t *testing.T) {
			var total, most atomic.Int64
			base := &carrier{answer: func(int, *http.Request, []byte) (*http.Response, error) {
				res := respond(200, "")
				res.ContentLength = -1
				if known {
					res.ContentLength = int64(len(head) + size + len(tail))
				}
				res.Body = &metered{io.MultiReader(strings.NewReader(head), strings.NewReader(answer), strings.NewReader(tail)), 0, &total, &most}
				return res, nil
			}}
			tr := NewTransport(TransportOptions{Base: base})
			defer tr.Close()
			var wg sync.WaitGroup
			for _, key := range []string{"sk-test-one-0123456789", "sk-test-two-0123456789"} {
				m, err := New(Config{Provider: "openai", Model: "gpt-4o", APIKey: key, Transport: tr})
				if err != nil {
					t.Fatal(err)
				}
				for range many / 2 {
					wg.Go(func() {
						rep, err := m.Run(t.Context(), say("hi"))
						if err != nil || len(rep.FinalOutput) != size {
							t.Errorf("error %v", err)
						}
					})
				}
			}
			wg.Wait()
			if got := most.Load(); got > maxHeld+many*smallReply || got < size {
				t.Errorf("%d MiB of replies were in memory at once, want %d at most", got>>20, maxHeld>>20)
			}
			if total.Load() != 0 || !tr.held.TryAcquire(maxHeld) {
				t.Error("a place was not given back")
			}
		})
	}
}

// TestWaitForRoomIsNotTheModels: neither the time limit of a case nor that of a request runs while
// a reply waits for room.
func TestWaitForRoomIsNotTheModels(t *testing.T) {
	t.Parallel()
	head, tail := chatParts()
	large := head + strings.Repeat("a", 2*smallReply) + tail
	synctest.Test(t, func(t *testing.T) {
		m := talker(t, always(200, large), TransportOptions{})
		if !m.transport.held.TryAcquire(maxHeld) {
			t.Fatal("the room is not empty")
		}
		time.AfterFunc(time.Hour, func() { m.transport.held.Release(maxHeld) })
		ctx, cancel := plumb.WithTimeLimit(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		if _, err := m.Run(ctx, say("hi")); err != nil || time.Since(began) != time.Hour {
			t.Errorf("%v after %v", err, time.Since(began))
		}

		m.transport.held.TryAcquire(maxHeld)
		stopped, stop := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Minute, func() { stop(errors.New("Ctrl-C")) })
		rep, err := m.Run(stopped, say("hi"))
		if rep != nil || !errors.Is(err, context.Canceled) {
			t.Errorf("report %v, error %v", rep, err)
		}
	})
}

// TestLargeRepliesInMemory measures the heap while eight replies of 30 MB come at once, some of
// them compressed, from a server on the network. A reply is held once while it is read, and its
// text once.
func TestLargeRepliesInMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes much memory")
	}
	const size, many = 30 << 20, 8
	head, tail := chatParts()
	body := []byte(head + strings.Repeat("a", size) + tail)
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, _ = w.Write(body)
	_ = w.Close()
	var n atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if n.Add(1)%2 == 0 {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(packed.Bytes())
			return
		}
		_, _ = w.Write(body)
	}))
	defer server.Close()
	tr := NewTransport(TransportOptions{})
	defer tr.Close()
	m, err := New(Config{Provider: "openai", Model: "gpt-4o", APIKey: "sk-test-0123456789", BaseURL: server.URL, Transport: tr})
	if err != nil {
		t.Fatal(err)
	}
	var before runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	done, peak := make(chan struct{}), make(chan uint64)
	go func() {
		var most uint64
		for {
			var now runtime.MemStats
			runtime.ReadMemStats(&now)
			most = max(most, now.HeapInuse)
			select {
			case <-done:
				peak <- most
				return
			case <-time.After(2 * time.Millisecond):
			}
		}
	}()
	var wg sync.WaitGroup
	for range many {
		wg.Go(func() {
			if rep, err := m.Run(t.Context(), say("hi")); err != nil || len(rep.FinalOutput) != size {
				t.Errorf("error %v", err)
			}
		})
	}
	wg.Wait()
	close(done)
	got := (<-peak - before.HeapInuse) >> 20
	t.Logf("%d MiB at most", got)
	if got > 800 {
		t.Errorf("%d MiB were in use for %d replies of %d MiB", got, many, size>>20)
	}
}

// TestBomb: what is compressed counts by what it becomes.
func TestBomb(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes long with the race detector, and all of it is one goroutine")
	}
	t.Parallel()
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	blank := bytes.Repeat([]byte(" "), 1<<20)
	for range maxBody>>20 + 8 {
		_, _ = w.Write(blank)
	}
	_ = w.Close()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(packed.Bytes())
	}))
	defer server.Close()
	tr := NewTransport(TransportOptions{})
	defer tr.Close()
	m, err := New(Config{Provider: "openai", Model: "gpt-4o", APIKey: "sk-test-0123456789", BaseURL: server.URL, Transport: tr})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Run(t.Context(), say("hi")); err == nil || !strings.Contains(err.Error(), "larger than 64 MiB") {
		t.Errorf("error %v", err)
	}
	if !tr.held.TryAcquire(maxHeld) {
		t.Error("a place was not given back")
	}
}
