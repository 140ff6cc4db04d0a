package modelapi

import (
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// startWith runs n requests at once through a transport of its own, and returns the limit that it
// starts with.
func startWith(t *testing.T, dir string, most, n int, base http.RoundTripper) (limit int) {
	t.Helper()
	tr := NewTransport(TransportOptions{MaxInFlight: most, Limits: dir, Base: base, MaxAttempts: 1, Backoff: 1})
	defer tr.Close()
	m, err := New(Config{Provider: "openai", Model: "m", APIKey: "sk-test-0123456789", Transport: tr})
	if err != nil {
		t.Fatal(err)
	}
	limit = tr.stats().Limit
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() { m.Run(t.Context(), say("x")) })
	}
	wg.Wait()
	return limit
}

// slow answers after a second, or rejects what exceeds the given number of concurrent requests.
func slow(t *testing.T, accepts int) *carrier {
	t.Helper()
	good := string(recorded(t, "chat.json"))
	var mu sync.Mutex
	inFlight := 0
	return &carrier{answer: func(int, *http.Request, []byte) (*http.Response, error) {
		mu.Lock()
		inFlight++
		over := inFlight > accepts
		mu.Unlock()
		defer func() {
			mu.Lock()
			inFlight--
			mu.Unlock()
		}()
		time.Sleep(time.Second)
		if over {
			return respond(429, `{"error":{"message":"slow down"}}`), nil
		}
		return respond(200, good), nil
	}}
}

func TestConcurrencyIsRemembered(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "limits")
	for _, run := range []struct{ most, requests, accepts, starts int }{
		{64, 100, 1000, 32}, // the first run begins with half
		{64, 3, 1000, 64},   // and reached all of it
		{64, 100, 1000, 64}, // a small run forgets nothing
		{16, 50, 1000, 16},
		{256, 900, 1000, 128},
		{256, 300, 40, 256}, // the provider complains
		{256, 1, 40, 128},
	} {
		synctest.Test(t, func(t *testing.T) {
			if got := startWith(t, dir, run.most, run.requests, slow(t, run.accepts)); got != run.starts {
				t.Errorf("%+v: starts with %d", run, got)
			}
		})
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 1 {
		t.Fatalf("%v, %v", files, err)
	}
	data, err := os.ReadFile(filepath.Join(dir, files[0].Name()))
	if n, bad := strconv.Atoi(string(data)); err != nil || bad != nil || n > 64 || strings.Contains(files[0].Name(), "sk-") {
		t.Errorf("%s has %q, %v", files[0].Name(), data, err)
	}
}

// TestDamagedMemory: what cannot be read or written changes nothing.
func TestDamagedMemory(t *testing.T) {
	t.Parallel()
	k := laneKey{"openai", "https://api.test:8080", [32]byte{1}}
	m := memory(t.TempDir())
	m.write(k, 77)
	if got := m.read(laneKey{"openai", "https://api.test:9090", [32]byte{1}}); got != 77 {
		t.Errorf("another port has %d", got)
	}
	for _, other := range []laneKey{{"groq", k.host, k.key}, {k.provider, "https://b.test", k.key}, {k.provider, k.host, [32]byte{2}}} {
		if got := m.read(other); got != 0 {
			t.Errorf("%v has %d", other, got)
		}
	}
	for _, content := range []string{"", "-5", "many", "1e3", "99999999999999999999", "20000", strings.Repeat("1", 1<<20), "\x00"} {
		if err := os.WriteFile(m.file(k), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := m.read(k); got != 0 {
			t.Errorf("%.20q is read as %d", content, got)
		}
	}
	for i := range maxRememberedFiles + 20 {
		m.write(laneKey{"openai", "https://api.test", [32]byte{2, byte(i)}}, i+1)
	}
	if files, err := os.ReadDir(string(m)); err != nil || len(files) != maxRememberedFiles {
		t.Errorf("%d files, %v", len(files), err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	memory(file).write(k, 5) // not a directory
	if got := memory(file).read(k) + memory("").read(k); got != 0 {
		t.Errorf("read %d", got)
	}
	memory("").write(k, 5)
}
