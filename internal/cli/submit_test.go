package cli_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/rogpeppe/go-internal/testscript"
)

// hub is a server for submissions, as far as plumb submit sees of it: POST /api/v1/runs and GET
// /api/v1/me. It knows the token plumb_good.
type hub struct {
	mu       sync.Mutex
	says     []int             // the statuses of the next submissions
	logs     map[string][]byte // by digest
	last     []byte
	context  string
	project  string
	requests int
	address  string
	server   *http.Server
}

func problem(w http.ResponseWriter, status int, detail string, faults ...string) {
	p := map[string]any{"title": http.StatusText(status), "status": status, "detail": detail}
	var errors []map[string]string
	for _, f := range faults {
		errors = append(errors, map[string]string{"message": f, "location": "line 3"})
	}
	p["errors"] = errors
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(p)
}

func (h *hub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.requests++
	token := r.Header.Get("Authorization")
	if token != "Bearer plumb_good" {
		problem(w, http.StatusUnauthorized, "the token "+strings.TrimPrefix(token, "Bearer ")+" is not known")
		return
	}
	if r.URL.Path == "/api/v1/me" {
		_, _ = io.WriteString(w, `{"name":"ada","scopes":["submit"]}`)
		return
	}
	if len(h.says) > 0 {
		status := h.says[0]
		h.says = h.says[1:]
		switch status {
		case 0: // it never answers
			h.mu.Unlock()
			<-r.Context().Done()
			h.mu.Lock()
		case http.StatusTooManyRequests:
			w.Header().Set("Retry-After", time.Now().Add(time.Second).UTC().Format(http.TimeFormat))
			problem(w, status, "too many submissions")
		case http.StatusUnprocessableEntity:
			problem(w, status, "the log is malformed", "unknown case")
		case http.StatusTemporaryRedirect:
			http.Redirect(w, r, "/elsewhere", status)
		default:
			problem(w, status, "")
		}
		return
	}
	if err := h.accept(r); err != nil {
		problem(w, http.StatusUnprocessableEntity, err.Error())
		return
	}
	digest := r.Header.Get("Plumb-Digest")
	if h.logs[digest] == nil {
		w.WriteHeader(http.StatusCreated)
	}
	h.logs[digest] = h.last
	fmt.Fprintf(w, `{"id":"r1","address":"/runs/r1","state":"ok","trust":"known","results":%d,"notes":[]}`, bytes.Count(h.last, []byte(`"execution-finished"`)))
}

// accept checks a submission as the specification wants it.
func (h *hub) accept(r *http.Request) error {
	if r.Method != http.MethodPost || r.URL.Path != "/api/v1/runs" || r.Header.Get("Content-Encoding") != "zstd" {
		return fmt.Errorf("%s %s, %s", r.Method, r.URL, r.Header.Get("Content-Encoding"))
	}
	sent, err := time.Parse(time.RFC3339, r.Header.Get("Plumb-Sent"))
	if err != nil || time.Since(sent).Abs() > time.Minute {
		return fmt.Errorf("sent at %s", sent)
	}
	context, err := base64.RawURLEncoding.DecodeString(r.Header.Get("Plumb-Context"))
	if err != nil {
		return err
	}
	z, err := zstd.NewReader(r.Body)
	if err != nil {
		return err
	}
	defer z.Close()
	log, err := io.ReadAll(z)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(log)
	if got := "sha256:" + hex.EncodeToString(sum[:]); got != r.Header.Get("Plumb-Digest") {
		return fmt.Errorf("the digest is %s", got)
	}
	h.last, h.context, h.project = log, string(context), r.URL.Query().Get("project")
	return nil
}

type hubKey struct{}

// controlHub starts a server for submissions: hub start, which sets HUB to its address. hub stop stops
// it, and the next start has the same address. hub says 429 422 sets the statuses of its next replies.
func controlHub(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: hub start|stop|says STATUS...")
	}
	h := ts.Value(hubKey{}).(*hub)
	switch args[0] {
	case "start":
		h.mu.Lock()
		at := h.address
		h.mu.Unlock()
		if at == "" {
			at = "127.0.0.1:0"
		}
		l, err := net.Listen("tcp", at)
		ts.Check(err)
		h.address, h.server = l.Addr().String(), &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}
		ts.Setenv("HUB", "http://"+h.address)
		go func(s *http.Server) { _ = s.Serve(l) }(h.server)
		ts.Defer(func() { _ = h.server.Close() })
	case "stop":
		ts.Check(h.server.Close())
	case "says":
		h.mu.Lock()
		defer h.mu.Unlock()
		h.says = nil
		for _, word := range args[1:] {
			status, err := strconv.Atoi(word)
			ts.Check(err)
			h.says = append(h.says, status)
		}
	}
}

// received checks how many different logs the server for submissions has, and that the last one, its
// context or its project match patterns: received 1 log PATTERN. The negation wants no match.
func received(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 && len(args) != 3 {
		ts.Fatalf("usage: received N [log|context|project PATTERN]")
	}
	h := ts.Value(hubKey{}).(*hub)
	h.mu.Lock()
	defer h.mu.Unlock()
	if got := strconv.Itoa(len(h.logs)); got != args[0] {
		ts.Fatalf("the server has %s logs, want %s", got, args[0])
	}
	if len(args) == 1 {
		return
	}
	text := map[string]string{"log": string(h.last), "context": h.context, "project": h.project}[args[1]]
	if regexp.MustCompile(args[2]).MatchString(text) == neg {
		ts.Fatalf("match of %s in the %s: %v\n%s", args[2], args[1], !neg, text)
	}
}

// TestConsent: on a terminal the first submission to a server asks once, and names the server and the
// level; a larger level asks again.
func TestConsent(t *testing.T) {
	h := &hub{logs: map[string][]byte{}}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
	w := newWorld(t)
	w.terminal = true
	w.env["HOME"], w.env["PLUMB_TOKEN"], w.env["PLUMB_SERVER"] = w.dir, "plumb_good", "http://"+l.Addr().String()
	w.write("suite.jsonl", `{"id":"a","input":"2+2?","ideal":"2","assertion":{"type":"contains"}}`)
	w.must(0, "run", "suite.jsonl", "--command", "cat")
	for _, test := range []struct {
		answer, share string
		code          int
		asks          bool
		logs          int
	}{
		{"\n", "scores", 2, true, 0},
		{"no\n", "scores", 2, true, 0},
		{"y\n", "scores", 0, true, 1},
		{"", "scores", 0, false, 1},
		{"", "answers", 2, true, 1},
		{"yes\n", "answers", 0, true, 2},
		{"", "scores", 0, false, 2},
	} {
		w.stdin = test.answer
		code, out, stderr := w.plumb("submit", "--share", test.share)
		if out += stderr; code != test.code {
			t.Fatalf("%q, %s: exit code %d\n%s", test.answer, test.share, code, out)
		}
		asked := strings.Contains(out, "[y/N]")
		if asked != test.asks || asked && (!strings.Contains(out, l.Addr().String()) || !strings.Contains(out, "level "+test.share)) {
			t.Errorf("%q, %s: %s", test.answer, test.share, out)
		}
		if len(h.logs) != test.logs {
			t.Errorf("%q, %s: the server has %d logs", test.answer, test.share, len(h.logs))
		}
	}
}
