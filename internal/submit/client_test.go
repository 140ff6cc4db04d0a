package submit_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/report/reporttest"
	"github.com/plumb-eval/plumb/internal/runlog"
	"github.com/plumb-eval/plumb/internal/submit"
)

func TestOrigin(t *testing.T) {
	for address, want := range map[string]string{
		"https://Plumb.example.com":      "https://plumb.example.com",
		"https://plumb.example.com:443/": "https://plumb.example.com",
		"plumb.example.com:8443":         "https://plumb.example.com:8443",
		"http://localhost:8420":          "http://localhost:8420",
		"http://127.3.2.1":               "http://127.3.2.1",
		"http://[::1]:80":                "http://[::1]",
		"http://plumb.example.com":       "", // not encrypted
		"http://localhost.evil.com":      "",
		"http://127.0.0.1.evil.com":      "",
		"http://0.0.0.0:8420":            "",
		"https://user:pass@p.example":    "",
		"https://p.example/path":         "",
		"https://p.example/?q":           "",
		"ftp://p.example":                "",
		"https://":                       "",
		"":                               "",
		"file:///etc/passwd":             "",
		"https://p.example#x":            "",
	} {
		if got, err := submit.Origin(address); got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v", address, got, err)
		}
	}
}

// run returns the directory of a run that is complete.
func run(tb testing.TB) string {
	tb.Helper()
	dir := tb.TempDir()
	log := logOf(tb, reporttest.Simple(3).Events...)
	if err := os.Rename(log.Name, filepath.Join(dir, runlog.EventsFile)); err != nil {
		tb.Fatal(err)
	}
	return dir
}

// client returns a client for a server that answers with fn. The waits of the client are recorded, and
// take no time.
func client(tb testing.TB, fn http.HandlerFunc) (c *submit.Client, waits *[]time.Duration) {
	tb.Helper()
	s := httptest.NewServer(fn)
	tb.Cleanup(s.Close)
	waits = new([]time.Duration)
	return &submit.Client{
		Origin: s.URL, Token: "plumb_secret", UserAgent: "plumb/test", HTTP: submit.NewHTTP(func(string) string { return "" }),
		Sleep: func(_ context.Context, d time.Duration) error {
			*waits = append(*waits, d)
			return nil
		},
	}, waits
}

func wanted(c *submit.Client) submit.Wanted {
	return submit.Wanted{Server: c.Origin, Project: "default", Share: plumb.ShareScores}
}

// send submits the run at path.
func send(ctx context.Context, c *submit.Client, path string) (*submit.Submission, error) {
	s, err := submit.Prepare(path, wanted(c), false, nil, nil)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	return s, s.Send(ctx, c, time.Now)
}

// TestRetries: what passes is tried again, with the whole body, and as late as the server asks.
func TestRetries(t *testing.T) {
	type reply struct {
		status int
		header string
	}
	date := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	for name, test := range map[string]struct {
		replies  []reply // the last one repeats
		attempts int
		least    []time.Duration
		pending  bool
		ok       bool
	}{
		"accepted":        {replies: []reply{{status: 201}}, attempts: 1, ok: true},
		"known":           {replies: []reply{{status: 200}}, attempts: 1, ok: true},
		"busy":            {replies: []reply{{503, ""}, {502, ""}, {201, ""}}, attempts: 3, least: []time.Duration{1, 1}, ok: true},
		"timeout":         {replies: []reply{{408, ""}, {425, ""}, {429, ""}, {201, ""}}, attempts: 4, ok: true},
		"seconds":         {replies: []reply{{429, "7"}, {201, ""}}, attempts: 2, least: []time.Duration{7 * time.Second}, ok: true},
		"date":            {replies: []reply{{503, date.Add(9 * time.Second).Format(http.TimeFormat)}, {201, ""}}, attempts: 2, least: []time.Duration{9 * time.Second}, ok: true},
		"past":            {replies: []reply{{503, date.Add(-time.Hour).Format(http.TimeFormat)}, {201, ""}}, attempts: 2, ok: true},
		"too late":        {replies: []reply{{429, "3600"}}, attempts: 1, pending: true},
		"always busy":     {replies: []reply{{500, ""}}, attempts: 6, pending: true},
		"ten minutes":     {replies: []reply{{429, "250"}}, attempts: 3, pending: true},
		"no account":      {replies: []reply{{401, ""}}, attempts: 1, pending: true},
		"no role":         {replies: []reply{{403, ""}}, attempts: 1, pending: true},
		"malformed":       {replies: []reply{{422, ""}}, attempts: 1},
		"another log":     {replies: []reply{{409, ""}}, attempts: 1},
		"too large":       {replies: []reply{{413, ""}}, attempts: 1},
		"no Plumb server": {replies: []reply{{204, ""}}, attempts: 1, pending: true},
	} {
		t.Run(name, func(t *testing.T) {
			attempts, body := 0, ""
			c, waits := client(t, func(w http.ResponseWriter, r *http.Request) {
				data, err := io.ReadAll(r.Body)
				if body == "" {
					body = string(data)
				}
				if err != nil || string(data) != body || int64(len(data)) != r.ContentLength {
					t.Error(err, len(data))
				}
				one := test.replies[min(attempts, len(test.replies)-1)]
				attempts++
				w.Header().Set("Date", date.Format(http.TimeFormat))
				w.Header().Set("Retry-After", one.header)
				w.WriteHeader(one.status)
				_, _ = io.WriteString(w, `{"id":"x","address":"/runs/x","results":3}`)
			})
			dir := run(t)
			s, err := send(t.Context(), c, dir)
			if (err == nil) != test.ok || attempts != test.attempts || (s.State == submit.Pending) != test.pending {
				t.Errorf("%v, %d attempts, %s", err, attempts, s.State)
			}
			for i, least := range test.least {
				if len(*waits) <= i || (*waits)[i] < least {
					t.Errorf("waits %v, want at least %v", *waits, test.least)
				}
			}
			records, err := submit.Records(dir)
			if err != nil || len(records) != 1 || records[0].Pending != test.pending || records[0].Digest == "" ||
				(records[0].Address == c.Origin+"/runs/x") != test.ok {
				t.Error(err, records)
			}
			left, err := filepath.Glob(filepath.Join(dir, ".sub*"))
			if err != nil || len(left) > 0 {
				t.Error(err, left)
			}
		})
	}
}

// TestBroken: a connection that breaks is tried again, and one that nobody answers three times.
func TestBroken(t *testing.T) {
	var attempts atomic.Int64
	c, _ := client(t, func(w http.ResponseWriter, r *http.Request) {
		if attempts.Add(1) < 3 {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			_ = conn.Close()
			return
		}
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, `{"id":"x"}`)
	})
	dir := run(t)
	if _, err := send(t.Context(), c, dir); err != nil || attempts.Load() != 3 {
		t.Error(err, attempts.Load())
	}
	gone, waits := client(t, nil)
	gone.Origin = "http://127.0.0.1:1"
	s, err := send(t.Context(), gone, dir)
	if err == nil || s.State != submit.Pending || len(*waits) != 2 {
		t.Error(err, *waits)
	}
	if records, err := submit.Records(dir); err != nil || len(records) != 2 {
		t.Error(err, records)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("interrupted"))
	if s, err := send(ctx, c, dir); err == nil || s.State != submit.Pending {
		t.Error("an interrupted submission is not pending", err)
	}
}

// TestTokenStays: neither a redirect nor a message takes the token to another place.
func TestTokenStays(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("another server got %s %s with %q", r.Method, r.URL, r.Header.Get("Authorization"))
	}))
	defer elsewhere.Close()
	for _, status := range []int{301, 302, 303, 307, 308} {
		c, waits := client(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, elsewhere.URL, status) })
		s, err := send(t.Context(), c, run(t))
		if err == nil || s.State == submit.Pending || len(*waits) > 0 || !strings.Contains(err.Error(), "redirects") {
			t.Error(status, err)
		}
		if _, err := c.Me(t.Context()); err == nil {
			t.Error(status)
		}
	}
	c, _ := client(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
		_ = json.NewEncoder(w).Encode(map[string]any{
			"detail": "wrong: " + r.Header.Get("Authorization"),
			"errors": []map[string]string{{"message": r.Header.Get("Authorization") + "\x1b[2J\nplumb: done"}},
		})
	})
	if _, err := c.Me(t.Context()); err == nil || strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "\x1b") ||
		strings.Contains(err.Error(), "\nplumb:") {
		t.Errorf("%q", err)
	}
}

func TestContext(t *testing.T) {
	env := map[string]string{
		"GITLAB_CI": "true", "CI_PROJECT_URL": "https://gitlab.com/o/r", "CI_COMMIT_SHA": "abc", "CI_COMMIT_REF_NAME": "topic",
		"CI_MERGE_REQUEST_IID": "7", "CI_JOB_NAME": "eval", "CI_JOB_URL": "https://gitlab.com/o/r/-/jobs/1",
	}
	want := submit.Context{
		Repository: "https://gitlab.com/o/r", Commit: "abc", Branch: "topic", PullRequest: "7", CI: "gitlab", Job: "eval",
		URL: "https://gitlab.com/o/r/-/jobs/1",
	}
	if diff := cmp.Diff(want, submit.OfCI(func(name string) string { return env[name] })); diff != "" {
		t.Error(diff)
	}
	c, _ := client(t, func(http.ResponseWriter, *http.Request) { t.Error("a context that is too large was sent") })
	s, err := submit.Prepare(run(t), wanted(c), false, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	s.Context = &submit.Context{Labels: map[string]string{"long": strings.Repeat("x", 8<<10)}}
	if err := s.Send(t.Context(), c, time.Now); err == nil || !strings.Contains(err.Error(), "8 KiB") {
		t.Error(err)
	}
}

func TestCredentials(t *testing.T) {
	dir := t.TempDir()
	path := submit.CredentialsFile(func(name string) string { return map[string]string{"XDG_CONFIG_HOME": dir, "HOME": "/no"}[name] })
	if path != filepath.Join(dir, "plumb", "credentials.json") {
		t.Fatal(path)
	}
	if got := submit.CredentialsFile(func(string) string { return "" }); got != "" {
		t.Error(got)
	}
	keep := func(origin, token string) {
		t.Helper()
		err := submit.UpdateCredentials(t.Context(), path, func(c *submit.Credentials) {
			c.Servers[origin] = submit.Credential{Token: token}
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	keep("https://a.example", "1")
	keep("https://b.example", "2")
	c, err := submit.ReadCredentials(path)
	if err != nil || len(c.Servers) != 2 || c.Servers["https://a.example"].Token != "1" {
		t.Error(c, err)
	}
	if runtime.GOOS == "windows" {
		return
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info.Mode(), err)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := submit.ReadCredentials(path); err == nil || !strings.Contains(plumb.Hint(err), "chmod 600") {
		t.Error(err)
	}
}
