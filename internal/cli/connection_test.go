package cli_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/plumb-eval/plumb/internal/fakemodel"
)

// TestConnectionsThatBreak runs against servers of each protocol that break the connection of each
// request once, in every way that a connection can break, and that close idle connections. The run
// measures everything, and is not interrupted.
func TestConnectionsThatBreak(t *testing.T) {
	t.Parallel()
	var suite strings.Builder
	const cases = 40
	for i := range cases {
		fmt.Fprintf(&suite, `{"id":"factual-%03d","category":"factual","input":"Capital of France? %d","ideal":"Paris","assertion":{"type":"contains"}}`+"\n", i, i)
	}
	for _, p := range fakemodel.Protocols() {
		t.Run(string(p), func(t *testing.T) {
			t.Parallel()
			if p != fakemodel.HTTP && (runtime.GOOS == "windows" || runtime.GOOS == "darwin") {
				t.Skip("the system decides which certificates are trusted")
			}
			w := newWorld(t)
			w.write("suite.jsonl", suite.String())
			s := w.listen(p, fakemodel.Options{
				Answer: func(fakemodel.Ask) string { return "Paris. " + strings.Repeat("word ", 10_000) }, Seed: 1,
				IdleTimeout: time.Millisecond, MaxStreams: 4, Latency: 5 * time.Millisecond,
				Faults: fakemodel.Faults{Rate: 1, MaxConsecutive: 1, Kinds: []fakemodel.Fault{
					fakemodel.FaultReset, fakemodel.FaultTruncated, fakemodel.FaultAborted, fakemodel.FaultDropped,
					fakemodel.FaultCut, fakemodel.FaultGoAway, fakemodel.FaultClosing,
				}},
			})
			code, stdout, stderr := w.process("run", "suite.jsonl", "--model", "openai:gpt-4o", "--parallel", "8")
			if code != 0 || !strings.Contains(stdout, fmt.Sprintf("%[1]d/%[1]d pass", cases)) || strings.Contains(stdout, "interrupted") {
				t.Errorf("exit code %d\n%s\n%s", code, stdout, stderr)
			}
			exactlyOnce(t, w.runDir(), cases, cases)
			stats := s.Stats()
			if got := stats.Total(); got < cases*3/2 {
				t.Errorf("%d requests: too few connections broke", got)
			}
		})
	}
}

// TestUnsolicitedResponse runs against a provider that sends an extra response with the key on an
// open connection. The run measures everything, and does not print the extra response.
func TestUnsolicitedResponse(t *testing.T) {
	w := newWorld(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				for in := bufio.NewReader(c); ; {
					r, err := http.ReadRequest(in)
					if err != nil {
						return
					}
					if _, err := in.Discard(int(r.ContentLength)); err != nil {
						return
					}
					const body = `{"id":"x","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Paris"},"finish_reason":"stop"}]}`
					fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
					fmt.Fprintf(c, "unasked: %s", r.Header.Get("Authorization"))
				}
			}()
		}
	}()
	w.point("http://" + l.Addr().String())
	var suite strings.Builder
	for i := range 40 {
		fmt.Fprintf(&suite, `{"id":"factual-%03d","category":"factual","input":"Capital of France? %d","ideal":"Paris","assertion":{"type":"contains"}}`+"\n", i, i)
	}
	w.write("suite.jsonl", suite.String())
	code, stdout, stderr := w.process("run", "suite.jsonl", "--model", "openai:gpt-4o", "--parallel", "1")
	if code != 0 || !strings.Contains(stdout, "40/40 pass") {
		t.Errorf("exit code %d\n%s", code, stdout)
	}
	if strings.Contains(stdout+stderr, "unasked") || strings.Contains(stdout+stderr, "sk-test") {
		t.Errorf("what came unasked is printed:\n%s\n%s", stdout, stderr)
	}
}
