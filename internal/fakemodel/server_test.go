package fakemodel_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/plumb-eval/plumb/internal/fakemodel"
	"github.com/plumb-eval/plumb/internal/wire"
)

// post sends a body, and returns status and body of the reply.
func post(tb testing.TB, url, body string, header http.Header) (int, string) {
	tb.Helper()
	resp, data, err := try(tb.Context(), url, body, header)
	if err != nil {
		tb.Fatal(err)
	}
	return resp.StatusCode, data
}

// head is a reply without its body.
type head struct {
	StatusCode int
	Status     string
	Header     http.Header
}

func try(ctx context.Context, url, body string, header http.Header) (*head, string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return nil, "", err
	}
	maps.Copy(req.Header, header)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, "", err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	return &head{resp.StatusCode, resp.Status, resp.Header}, string(data), err
}

// chatBody is a request to OpenAI's chat API.
func chatBody(model, prompt string) string {
	b, _ := json.Marshal(map[string]any{
		"model": model, "temperature": 0, "seed": 42, "messages": []map[string]string{{
			"role":    "user",
			"content": prompt,
		}},
	})
	return string(b)
}

// said is the text of a chat completion.
func said(tb testing.TB, body string) string {
	tb.Helper()
	var r struct {
		Choices []struct{ Message struct{ Content string } }
	}
	if err := json.Unmarshal([]byte(body), &r); err != nil || len(r.Choices) != 1 {
		tb.Fatalf("no chat completion: %v in %s", err, body)
	}
	return r.Choices[0].Message.Content
}

func TestAnswers(t *testing.T) {
	answers, err := fakemodel.ReadAnswers(strings.NewReader(`
{"prompt":"whole","answer":"by prompt"}
{"prompt":"whole","model":"other","answer":"never reached: the line above fits all models"}
{"id":"case-7","answer":"by id"}
{"contains":"a part","answer":"by part"}
{"prompt":"turns","answers":["first","second"]}

{"id":"c1","category":"coding","input":"a case","ideal":["right","also right"],"assertion":{"type":"contains_any"}}
{"id":"c2","input":[{"role":"system","content":"s"},{"role":"user","content":"messages"}],"ideal":"fine"}
`))
	if err != nil {
		t.Fatal(err)
	}
	s, url := start(t, fakemodel.Behavior{Answers: answers})
	for _, c := range []struct{ prompt, want string }{
		{"whole", "by prompt"},
		{"Please do [case-7]: now", "by id"},
		{"it has a part of it", "by part"},
		{"turns", "first"},
		{"turns", "second"},
		{"turns", "first"},
		{"a case", "right"},
		{"messages", "fine"},
		{"Did it? Answer YES or NO.", "YES"},
		{"Did it " + fakemodel.JudgeNo + "? Answer YES or NO.", "NO"},
		{"unheard of", "The fake model has nothing prepared here."},
	} {
		if _, body := post(t, url+"/v1/chat/completions", chatBody("gpt-4o", c.prompt), nil); said(t, body) != c.want {
			t.Errorf("%q was answered %q, want %q", c.prompt, said(t, body), c.want)
		}
	}
	got := s.Stats()
	if got.Requests["openai chat"] != 11 || got.Total() != 11 || got.Answered != 11 || got.Judged != 2 ||
		got.Unprepared != 1 ||
		slices.Max(slices.Collect(maps.Values(got.Prompts))) != 3 || got.Statuses[200] != 11 {
		t.Errorf("stats = %+v", got)
	}
	for _, bad := range []string{`{"answer":"to what"}`, `{`, `[]`} {
		if _, err := fakemodel.ReadAnswers(strings.NewReader("{\"id\":\"a\"}\n" + bad)); err == nil ||
			!strings.HasPrefix(err.Error(), "line 2: ") {
			t.Errorf("ReadAnswers(%s) = %v, want an error on line 2", bad, err)
		}
	}
}

func TestAsk(t *testing.T) {
	var mu sync.Mutex
	var got []fakemodel.Ask
	_, url := start(t, fakemodel.Behavior{Answer: func(a fakemodel.Ask) string {
		mu.Lock()
		defer mu.Unlock()
		a.Header = a.Header.Clone()
		got = append(got, a)
		return "ok"
	}})
	post(t, url+"/v1/chat/completions", `{"model":"m","max_completion_tokens":7,"temperature":0.5,"top_p":1,"seed":-3,"reasoning_effort":"low",
		"messages":[{"role":"developer","content":"d"},{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]},
		{"role":"assistant","content":"c"},{"role":"user","content":"last"}]}`, http.Header{"X-Extra": {"yes"}})
	post(t, url+"/v1/messages", `{"model":"m","max_tokens":7,"system":[{"type":"text","text":"s"}],"messages":[{"role":"user","content":"last"}]}`,
		http.Header{"Anthropic-Version": {"2023-06-01"}})
	post(t, url+"/v1beta/models/m:generateContent", `{"systemInstruction":{"parts":[{"text":"s"}]},
		"contents":[{"role":"user","parts":[{"text":"a"}]},{"role":"model","parts":[{"text":"b"}]},{"role":"user","parts":[{"text":"last"}]}],
		"generationConfig":{"temperature":0,"seed":42,"maxOutputTokens":7}}`, nil)
	want := []struct {
		provider wire.Provider
		endpoint wire.Endpoint
		system   string
		roles    string
		limit    int64
	}{
		{wire.OpenAI, "chat", "d", "developer user assistant user", 7},
		{wire.Anthropic, "messages", "s", "user", 7},
		{wire.Google, "generateContent", "s", "user assistant user", 7},
	}
	if len(got) != len(want) {
		t.Fatalf("asked %d times, want %d", len(got), len(want))
	}
	for i, w := range want {
		a := got[i]
		roles := []string{}
		for _, m := range a.Messages {
			roles = append(roles, m.Role)
		}
		if a.Provider != w.provider || a.Endpoint != w.endpoint || a.System != w.system ||
			strings.Join(roles, " ") != w.roles ||
			a.Prompt() != "last" || *a.Parameters.MaxOutputTokens != w.limit || a.Model != "m" {
			t.Errorf("ask %d = %+v", i, a)
		}
	}
	if a := got[0]; a.Messages[1].Content != "ab" || *a.Parameters.Seed != -3 ||
		*a.Parameters.ReasoningEffort != "low" || a.Header.Get("X-Extra") != "yes" {
		t.Errorf("ask = %+v", a)
	}
}

func TestLimits(t *testing.T) {
	s, url := start(t, fakemodel.Behavior{
		MaxConcurrent: 2, Latency: 700 * time.Millisecond,
		RetryAfter: 1500 * time.Millisecond,
	})
	var wg sync.WaitGroup
	statuses := make([]int, 5)
	for i := range statuses {
		wg.Go(func() {
			resp, _, err := try(t.Context(), url+"/v1/chat/completions", chatBody("m", strconv.Itoa(i)), nil)
			if err != nil {
				t.Error(err)
				return
			}
			statuses[i] = resp.StatusCode
			if resp.StatusCode == http.StatusTooManyRequests &&
				(resp.Header.Get("Retry-After") != "2" || resp.Header.Get("Retry-After-Ms") != "1500") {
				t.Errorf("headers of a 429: %v", resp.Header)
			}
		})
	}
	wg.Wait()
	slices.Sort(statuses)
	if want := []int{200, 200, 429, 429, 429}; !slices.Equal(statuses, want) {
		t.Errorf("statuses = %d, want %d", statuses, want)
	}
	if got := s.Stats(); got.Limited != 3 || got.MaxConcurrent != 5 || got.Answered != 2 {
		t.Errorf("stats = %+v", got)
	}

	_, url = start(t, fakemodel.Behavior{RatePerMinute: 3})
	counts := map[int]int{}
	for range 5 {
		status, _ := post(t, url+"/v1/chat/completions", chatBody("m", "p"), nil)
		counts[status]++
	}
	if counts[200] != 3 || counts[429] != 2 {
		t.Errorf("five requests where three a minute are allowed gave %v", counts)
	}
}

// TestFaults checks that a client meets what each fault says.
func TestFaults(t *testing.T) {
	t.Parallel()
	for _, kind := range fakemodel.AllFaults() {
		for _, path := range []string{"/v1/chat/completions", "/v1/messages", "/v1beta/models/m:generateContent"} {
			t.Run(string(kind)+path, func(t *testing.T) {
				t.Parallel()
				s, url := start(t, fakemodel.Behavior{
					Answers: []fakemodel.Answer{{Contains: "p", Answer: strings.Repeat("word ", 100)}},
					Faults: fakemodel.Faults{
						Rate: 1, MaxConsecutive: 1, Kinds: []fakemodel.Fault{kind}, HangFor: 200 * time.Millisecond,
						SlowFor: 200 * time.Millisecond,
					},
				})
				body := chatBody("m", "p")
				switch path {
				case "/v1/messages":
					body = `{"model":"m","max_tokens":999,"temperature":0,"messages":[{"role":"user","content":"p"}]}`
				case "/v1beta/models/m:generateContent":
					body = `{"contents":[{"parts":[{"text":"p"}]}],"generationConfig":{"seed":1}}`
				}
				begun := time.Now()
				resp, data, err := try(t.Context(), url+path, body, http.Header{"Anthropic-Version": {"2023-06-01"}})
				checkFault(t, kind, path, resp, data, err, time.Since(begun))
				if got := s.Stats().Faults[kind]; got != 1 {
					t.Errorf("counted %d faults, want 1", got)
				}
				resp, data, err = try(t.Context(), url+path, body, http.Header{"Anthropic-Version": {"2023-06-01"}})
				if err != nil || resp.StatusCode != http.StatusOK || !json.Valid([]byte(data)) {
					t.Errorf("the attempt after the fault gave %v, %v", resp, err)
				}
			})
		}
	}
}

// TestProtocols has a client trust the certificate and ask over each protocol; the connection
// breaks in each way a connection can break, and the next request is answered on another one.
func TestProtocols(t *testing.T) {
	t.Parallel()
	for _, p := range fakemodel.Protocols() {
		for kind, word := range map[fakemodel.Fault]string{
			"": "", fakemodel.FaultClosing: "", fakemodel.FaultDropped: "EOF", fakemodel.FaultCut: "",
			fakemodel.FaultReset: "", fakemodel.FaultTruncated: "", fakemodel.FaultGoAway: "",
		} {
			t.Run(string(p)+" "+string(kind), func(t *testing.T) {
				t.Parallel()
				o := fakemodel.Behavior{Answer: func(fakemodel.Ask) string { return strings.Repeat("word ", 50_000) }}
				if kind != "" {
					o.Faults = fakemodel.Faults{Rate: 1, MaxConsecutive: 1, Kinds: []fakemodel.Fault{kind}}
				}
				l, err := fakemodel.New(o).Listen(t.Context(), "127.0.0.1:0", p, nil)
				if err != nil {
					t.Fatal(err)
				}
				defer l.Close()
				trusted := x509.NewCertPool()
				trusted.AppendCertsFromPEM(l.Certificate)
				carrier := &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: trusted}}
				defer carrier.CloseIdleConnections()
				ask := func() (string, string, error) {
					req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, l.URL+"/v1/chat/completions",
						strings.NewReader(chatBody("m", "p")))
					if err != nil {
						t.Fatal(err)
					}
					req.GetBody = nil // the client must not make it again
					resp, err := carrier.RoundTrip(req)
					if err != nil {
						return "", "", err
					}
					defer resp.Body.Close()
					data, err := io.ReadAll(resp.Body)
					return resp.Proto, string(data), err
				}
				wrong := kind != "" && kind != fakemodel.FaultClosing
				// Which of the two a client sees of a closed connection depends on how far its
				// request was sent.
				_, data, err := ask()
				if (err != nil) != wrong || err != nil && !strings.Contains(err.Error(), word) &&
					!errors.Is(err, syscall.ECONNRESET) {
					t.Errorf("%d bytes, error %v, want %q", len(data), err, word)
				}
				var proto string
				proto, data, err = ask()
				want := "HTTP/1.1"
				if p == fakemodel.HTTP2 {
					want = "HTTP/2.0"
				}
				if err != nil || proto != want || !json.Valid([]byte(data)) {
					t.Errorf("%s, %d bytes, error %v", proto, len(data), err)
				}
			})
		}
	}
}

func checkFault(t *testing.T, kind fakemodel.Fault, path string, resp *head, data string, err error,
	took time.Duration,
) {
	t.Helper()
	status := 0
	if resp != nil {
		status = resp.StatusCode
	}
	want := map[fakemodel.Fault]int{
		fakemodel.FaultRateSeconds: 429, fakemodel.FaultRateDate: 429, fakemodel.FaultTimeout: 408,
		fakemodel.FaultConflict: 409,
		fakemodel.FaultServer:   500, fakemodel.FaultGateway: 502, fakemodel.FaultOverloaded: 503,
		fakemodel.FaultRefused: 400,
		fakemodel.FaultSlow:    200, fakemodel.FaultMalformed: 200, fakemodel.FaultHTML: 200, fakemodel.FaultEmpty: 200,
		fakemodel.FaultStall: 200, fakemodel.FaultTruncated: 200, fakemodel.FaultAborted: 200,
		fakemodel.FaultCut: 200, fakemodel.FaultClosing: 200, fakemodel.FaultDrip: 200,
	}[kind]
	if kind == fakemodel.FaultOverloaded && path == "/v1/messages" {
		want = 529
	}
	if kind == fakemodel.FaultTimeout && strings.HasPrefix(path, "/v1beta") {
		want = 504
	}
	if status != want {
		t.Fatalf("status = %d, %v, want %d", status, err, want)
	}
	switch kind {
	case fakemodel.FaultReset:
		if err == nil || runtime.GOOS != "windows" && !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("error = %v, want a reset", err)
		}
	case fakemodel.FaultDropped, fakemodel.FaultGoAway, fakemodel.FaultCut:
		if err == nil || json.Valid([]byte(data)) {
			t.Errorf("got %q, %v, want a connection that broke", data, err)
		}
	case fakemodel.FaultClosing:
		if err != nil || !json.Valid([]byte(data)) {
			t.Errorf("got %q, %v", data, err)
		}
	case fakemodel.FaultDrip:
		if err == nil || took < 200*time.Millisecond || len(data) < 2 || strings.TrimSpace(data) != "" {
			t.Errorf("got %q, %v after %v", data, err, took)
		}
	case fakemodel.FaultHang:
		if err == nil || took < 200*time.Millisecond {
			t.Errorf("a hang ended after %v with %v", took, err)
		}
	case fakemodel.FaultStall, fakemodel.FaultTruncated, fakemodel.FaultAborted:
		if !errors.Is(err, io.ErrUnexpectedEOF) || data == "" || json.Valid([]byte(data)) {
			t.Errorf("got %d bytes and %v, want a part and an unexpected end", len(data), err)
		}
		if kind == fakemodel.FaultStall && took < 200*time.Millisecond {
			t.Errorf("a stall took %v", took)
		}
	case fakemodel.FaultSlow:
		if err != nil || !json.Valid([]byte(data)) || took < 190*time.Millisecond {
			t.Errorf("a slow body took %v, %v", took, err)
		}
	case fakemodel.FaultMalformed, fakemodel.FaultHTML, fakemodel.FaultEmpty:
		if err != nil || json.Valid([]byte(data)) || (data == "") != (kind == fakemodel.FaultEmpty) {
			t.Errorf("got %q, %v", data, err)
		}
	case fakemodel.FaultGateway:
		if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/html") {
			t.Errorf("content type = %q", resp.Header.Get("Content-Type"))
		}
	case fakemodel.FaultRateSeconds:
		if resp.Header.Get("Retry-After") != "1" {
			t.Errorf("Retry-After = %q", resp.Header.Get("Retry-After"))
		}
	case fakemodel.FaultRateDate:
		at, err := http.ParseTime(resp.Header.Get("Retry-After"))
		if err != nil || time.Until(at) > 2*time.Second {
			t.Errorf("Retry-After = %q, %v", resp.Header.Get("Retry-After"), err)
		}
	default: // the status is all
	}
	if want >= 400 && kind != fakemodel.FaultGateway && !strings.Contains(data, `"error"`) {
		t.Errorf("body = %s", data)
	}
}

// TestTruth runs a storm and checks that each prompt meets what Truth said beforehand, whatever the
// order.
func TestTruth(t *testing.T) {
	o := fakemodel.Behavior{
		Seed: 7,
		Faults: fakemodel.Faults{
			Rate: 0.4, Permanent: 0.1, MaxConsecutive: 3, HangFor: time.Millisecond, SlowFor: time.Millisecond,
		},
	}
	s, url := start(t, o)
	const prompts = 400
	var wg sync.WaitGroup
	broken, faulty := 0, 0
	gate := make(chan struct{}, 16)
	for i := range prompts {
		prompt := fmt.Sprintf("prompt %d", i)
		truth := s.Truth(prompt)
		if truth.Broken != "" {
			broken++
		}
		if len(truth.Faults) > 1 {
			faulty++
		}
		if len(truth.Faults) > 4 {
			t.Errorf("%q meets %v: more than three faults in a row", prompt, truth.Faults)
		}
		gate <- struct{}{}
		wg.Go(func() {
			defer func() { <-gate }()
			attempts := max(len(truth.Faults), 5)
			for a := range attempts {
				resp, data, err := try(t.Context(), url+"/v1/chat/completions", chatBody("m", prompt), nil)
				ok := err == nil && resp.StatusCode == http.StatusOK && json.Valid([]byte(data))
				want := truth.Broken == "" && a == len(truth.Faults)-1
				if ok != want && a < max(len(truth.Faults), 1) {
					t.Errorf("%q, attempt %d: answered %v, want %v (%+v)", prompt, a, ok, want, truth)
				}
				if ok && truth.Broken == "" {
					break
				}
			}
		})
	}
	wg.Wait()
	if broken < prompts/20 || broken > prompts/5 || faulty < prompts/5 || faulty > prompts/2 {
		t.Errorf("of %d prompts %d are broken and %d meet faults, want about 40 and 140", prompts, broken, faulty)
	}
	if got := s.Stats(); got.Answered != int64(prompts-broken) || len(got.Prompts) != prompts {
		t.Errorf("answered %d of %d prompts, want %d of %d", got.Answered, len(got.Prompts), prompts-broken, prompts)
	}
	if a, b := o.Faults.Truth(7, "prompt 1"), fakemodel.New(o).Truth("prompt 1"); a.Broken != b.Broken ||
		!slices.Equal(a.Faults, b.Faults) {
		t.Errorf("Truth is not the same twice: %+v, %+v", a, b)
	}
}

func TestHangEndsWithClient(t *testing.T) {
	s, url := start(t, fakemodel.Behavior{Answers: []fakemodel.Answer{{Contains: "p", Fault: fakemodel.FaultHang}}})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, _, err := try(ctx, url+"/v1/chat/completions", chatBody("m", "p"), nil); !errors.Is(err,
		context.DeadlineExceeded) {
		t.Errorf("error = %v, want the client's deadline", err)
	}
	if got := s.Stats(); got.Faults[fakemodel.FaultHang] != 1 || got.Answered != 0 {
		t.Errorf("stats = %+v", got)
	}
}

func TestVector(t *testing.T) {
	cosine := func(a, b string) float64 {
		v, w := fakemodel.Vector(a, 128), fakemodel.Vector(b, 128)
		dot, norm := 0.0, 0.0
		for i := range v {
			dot += float64(v[i]) * float64(w[i])
			norm += float64(v[i]) * float64(v[i])
		}
		if math.Abs(norm-1) > 1e-5 {
			t.Errorf("the vector of %q has length %v", a, math.Sqrt(norm))
		}
		return dot
	}
	for _, c := range []struct {
		a, b     string
		min, max float64
	}{
		{"The capital of France is Paris.", "the capital of france is PARIS", 0.9999, 1.0001},
		{"The capital of France is Paris.", "Paris is the capital of France", 0.9999, 1.0001},
		{"The capital of France is Paris.", "France has Paris as its capital.", 0.5, 0.97},
		{"The capital of France is Paris.", "Photosynthesis turns light into sugar", -0.01, 0.5},
		{"", "something", -0.01, 0.3},
		{"", "", 0.9999, 1.0001},
	} {
		if got := cosine(c.a, c.b); got < c.min || got > c.max {
			t.Errorf("cosine of %q and %q = %.3f, want %.2f to %.2f", c.a, c.b, got, c.min, c.max)
		}
	}
	_, url := start(t, fakemodel.Behavior{Dimensions: 64})
	_, data := post(t, url+"/v1/embeddings", `{"model":"m","input":"some text","encoding_format":"base64"}`, nil)
	var r struct{ Data []struct{ Embedding string } }
	if err := json.Unmarshal([]byte(data), &r); err != nil {
		t.Fatal(err)
	}
	raw, err := base64.StdEncoding.DecodeString(r.Data[0].Embedding)
	if err != nil || len(raw) != 4*64 {
		t.Fatalf("packed vector: %d bytes, %v", len(raw), err)
	}
	for i, want := range fakemodel.Vector("some text", 64) {
		if got := math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:])); got != want {
			t.Fatalf("element %d = %v, want %v", i, got, want)
		}
	}
}

func TestMain(m *testing.M) {
	if os.Getenv("FAKEMODEL_TEST_POSE") != "" {
		os.Exit(fakemodel.Main(os.Args[1:], os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}
