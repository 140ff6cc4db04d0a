package cli_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
)

// TestUnsolicitedResponse has a provider send more than it was asked for on a connection that is kept: the run measures
// everything, and what came unasked, the key in it, is printed nowhere.
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
