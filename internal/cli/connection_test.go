package cli_test

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
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
			s := w.listen(p, fakemodel.Behavior{
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

// TestWrongAddress has addresses that cannot work, and what the run says about each. It asks no server
// twice, does not wait, and never prints the password of a proxy.
func TestWrongAddress(t *testing.T) {
	quiet := func() *httptest.Server {
		s := httptest.NewUnstartedServer(http.NotFoundHandler())
		s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
		return s
	}
	secure, plain := quiet(), quiet()
	secure.StartTLS()
	plain.Start()
	defer secure.Close()
	defer plain.Close()
	// A server that ends plain connections without a reply, as those of OpenSSL do.
	silent, err := tls.Listen("tcp", "127.0.0.1:0", secure.TLS)
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	go func() {
		for {
			c, err := silent.Accept()
			if err != nil {
				return
			}
			if tlsConn, ok := c.(*tls.Conn); ok && tlsConn.Handshake() != nil {
				_ = tlsConn.NetConn().Close()
			}
			_ = c.Close()
		}
	}()
	other := func(url string) string { // the same port with the other scheme
		if rest, ok := strings.CutPrefix(url, "https://"); ok {
			return "http://" + rest
		}
		return "https://" + strings.TrimPrefix(url, "http://")
	}
	for name, c := range map[string]struct {
		base, proxy string
		want        []string
	}{
		"closed proxy":          {"https://example.com/v1", "http://ana:s3cret-pw@127.0.0.1:1", []string{"the proxy refused the connection", "check HTTPS_PROXY, or add example.com to NO_PROXY"}},
		"proxy that refuses":    {"https://example.com/v1", plain.URL, []string{"the proxy refused the connection: 404 Not Found", "HTTPS_PROXY"}},
		"self-signed":           {secure.URL + "/v1", "", []string{"certificate", "SSL_CERT_FILE"}},
		"plain for HTTPS":       {other(secure.URL) + "/v1", "", []string{"the server expects HTTPS, but the base URL says http://", "use " + secure.URL + "/v1 (baseURL, or OPENAI_BASE_URL)"}},
		"plain for HTTPS, dumb": {"http://" + silent.Addr().String() + "/v1", "", []string{"the server expects HTTPS", "use https://"}},
		"HTTPS for plain":       {other(plain.URL) + "/v1", "", []string{"the server answers in plain HTTP, but the base URL says https://", "use " + plain.URL + "/v1"}},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "self-signed" && (runtime.GOOS == "windows" || runtime.GOOS == "darwin") {
				t.Skip("the system decides which certificates are trusted")
			}
			w := newWorld(t)
			w.write("suite.jsonl", `{"id":"a","input":"Capital of France?","ideal":"Paris","assertion":{"type":"contains"}}`+"\n")
			w.point(strings.TrimSuffix(c.base, "/v1"))
			if c.proxy != "" {
				w.env["HTTPS_PROXY"] = c.proxy
			}
			code, stdout, stderr := w.plumb("run", "suite.jsonl", "--model", "openai:gpt-4o")
			for _, want := range c.want {
				if !strings.Contains(stdout, want) {
					t.Errorf("there is no %q", want)
				}
			}
			if code != 3 || !strings.Contains(stdout, "Unreachable") || strings.Contains(stdout, "attempts") || strings.Contains(stdout+stderr, "s3cret") {
				t.Errorf("exit code %d", code)
			}
			if t.Failed() {
				t.Logf("%s\n%s", stdout, stderr)
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
