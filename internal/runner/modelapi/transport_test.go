package modelapi

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plumb-eval/plumb"
)

const overloaded = `{"error":{"message":"slow down","type":"rate_limit","code":"rate_limit_exceeded"}}`

// talker is a model on the given carrier, for a bubble where time is a fake.
func talker(t *testing.T, base http.RoundTripper, opts TransportOptions) *Model {
	t.Helper()
	opts.Base = base
	tr := NewTransport(opts)
	t.Cleanup(tr.Close)
	m, err := New(Config{Provider: "openai", Model: "gpt-4o", APIKey: "sk-test-0123456789", Transport: tr, RequestTimeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestWaits has replies that say how long to wait, and the time that passes until the answer.
func TestWaits(t *testing.T) {
	t.Parallel()
	good := step(http.StatusOK, string(recorded(t, "chat.json")))
	for name, c := range map[string]struct {
		first    func() (*http.Response, error)
		min, max time.Duration
	}{
		"seconds":               {step(429, overloaded, "Retry-After", "7"), 7 * time.Second, 7 * time.Second},
		"fractions of seconds":  {step(503, `{}`, "Retry-After", "2.5"), 2500 * time.Millisecond, 2500 * time.Millisecond},
		"date":                  {step(429, overloaded, "Retry-After", "Sat, 01 Jan 2000 00:00:09 GMT"), 9 * time.Second, 9 * time.Second},
		"date by another clock": {step(429, overloaded, "Date", "Mon, 02 Jan 2023 10:00:00 GMT", "Retry-After", "Mon, 02 Jan 2023 10:00:05 GMT"), 5 * time.Second, 5 * time.Second},
		"milliseconds first":    {step(429, overloaded, "Retry-After-Ms", "1800", "Retry-After", "60"), 1800 * time.Millisecond, 1800 * time.Millisecond},
		"reset header":          {step(429, overloaded, "X-Ratelimit-Remaining-Requests", "0", "X-Ratelimit-Reset-Requests", "6.5s"), 6500 * time.Millisecond, 6500 * time.Millisecond},
		"google's detail":       {step(429, `{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"m","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34s"}]}}`), 34 * time.Second, 34 * time.Second},
		"reset of a refill":     {step(429, overloaded, "X-Ratelimit-Remaining-Requests", "0", "X-Ratelimit-Reset-Requests", "8m38s"), time.Minute, time.Minute},
		"negative reset":        {step(429, overloaded, "X-Ratelimit-Remaining-Requests", "0", "X-Ratelimit-Reset-Requests", "-72h"), 250 * time.Millisecond, 750 * time.Millisecond},
		"past date":             {step(429, overloaded, "Retry-After", "Fri, 31 Dec 1999 23:00:00 GMT"), 250 * time.Millisecond, 750 * time.Millisecond},
		"senseless":             {step(429, overloaded, "Retry-After", "soon"), 250 * time.Millisecond, 750 * time.Millisecond},
		"negative":              {step(500, `{}`, "Retry-After", "-5"), 250 * time.Millisecond, 750 * time.Millisecond},
		"not a number":          {step(500, `{}`, "Retry-After", "NaN"), 250 * time.Millisecond, 750 * time.Millisecond},
		"nothing":               {step(500, `oops`), 250 * time.Millisecond, 750 * time.Millisecond},
		"a moment":              {step(500, `oops`, "Retry-After-Ms", "1"), time.Millisecond, time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			base := script(c.first, good)
			synctest.Test(t, func(t *testing.T) {
				m := talker(t, base, TransportOptions{})
				began := time.Now()
				rep, err := m.Run(t.Context(), say("hi"))
				if err != nil {
					t.Fatal(err)
				}
				if took := time.Since(began); took < c.min || took > c.max {
					t.Errorf("took %v, want %v to %v", took, c.min, c.max)
				}
				if rep.Requests != 2 || rep.DurationMs < c.min.Milliseconds() || rep.LatencyMs != 0 {
					t.Errorf("%d requests in %d ms, the last in %d ms", rep.Requests, rep.DurationMs, rep.LatencyMs)
				}
			})
		})
	}
}

func TestBackoffDoubles(t *testing.T) {
	t.Parallel()
	var at []time.Time
	base := always(500, `{}`)
	base.answer = func(int, *http.Request, []byte) (*http.Response, error) {
		at = append(at, time.Now())
		return respond(500, `{}`), nil
	}
	synctest.Test(t, func(t *testing.T) {
		m := talker(t, base, TransportOptions{})
		if _, err := m.Run(t.Context(), say("hi")); err == nil {
			t.Fatal("no error")
		}
	})
	mean := 500 * time.Millisecond
	for i := 1; i < len(at); i++ {
		if gap := at[i].Sub(at[i-1]); gap < mean/2 || gap > mean*3/2 {
			t.Errorf("wait %d is %v, want %v give or take half", i, gap, mean)
		}
		mean *= 2
	}
	if len(at) != defaultMaxAttempts {
		t.Errorf("%d attempts", len(at))
	}
}

// TestFinality has every kind of fault, and whether the request is made again.
func TestFinality(t *testing.T) {
	t.Parallel()
	quota := `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}`
	reset := &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	for name, c := range map[string]struct {
		step     func() (*http.Response, error)
		attempts int
		class    string
		hint     string
	}{
		"400":                {step(400, `{"error":{"message":"bad"}}`), 1, "request-rejected", ""},
		"401":                {step(401, `{"error":{"message":"Incorrect API key provided: sk-test-0123456789"}}`), 1, "authentication", "the key was rejected: check OPENAI_API_KEY"},
		"402":                {step(402, `{}`), 1, "quota", "billing"},
		"403":                {step(403, `{"error":{"message":"Country not supported"}}`), 1, "permission", "permissions"},
		"403 model":          {step(403, `{"error":{"message":"Project does not have access to model x","code":"model_not_found"}}`), 1, "model-rejected", "plumb models"},
		"404 model":          {step(404, `{"error":{"message":"The model x does not exist","code":"model_not_found"}}`), 1, "model-rejected", "plumb models"},
		"404 address":        {step(404, `404 page not found`), 1, "unreachable", "check the base URL"},
		"404 anthropic":      {step(404, `{"type":"error","error":{"type":"not_found_error","message":"model: x"}}`), 1, "model-rejected", "plumb models"},
		"404 google":         {step(404, `[{"error":{"code":404,"message":"models/x is not found for API version v1beta","status":"NOT_FOUND"}}]`), 1, "model-rejected", "plumb models"},
		"404 vllm":           {step(404, `{"object":"error","message":"The model x does not exist.","type":"NotFoundError","code":404}`), 1, "model-rejected", "plumb models"},
		"400 model":          {step(400, `{"error":{"message":"x is not a valid model ID","code":400}}`), 1, "model-rejected", "plumb models"},
		"405":                {step(405, ``), 1, "unreachable", "base URL"},
		"413":                {step(413, `{}`), 1, "request-rejected", "too long"},
		"422":                {step(422, `{"detail":[{"loc":["body","messages"],"msg":"bad"}]}`), 1, "request-rejected", ""},
		"429 quota":          {step(429, quota), 1, "quota", "billing"},
		"429 day quota":      {step(429, `{"error":{"code":429,"message":"m","status":"RESOURCE_EXHAUSTED","details":[{"violations":[{"quotaId":"GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]}]}}`), 1, "quota", "billing"},
		"429 far future":     {step(429, overloaded, "Retry-After", "86400"), 1, "rate-limit", "rate limits"},
		"501":                {step(501, ``), 1, "provider-error", ""},
		"redirect":           {step(307, ``, "Location", "https://elsewhere.test/"), 1, "unreachable", "base URL"},
		"408":                {step(408, ``), 6, "provider-error", ""},
		"409":                {step(409, ``), 6, "provider-error", ""},
		"500":                {step(500, `{"error":null}`), 6, "provider-error", "plumb resume"},
		"502":                {step(502, `<html>`), 6, "provider-error", "plumb resume"},
		"503":                {step(503, ``), 6, "provider-error", "plumb resume"},
		"504":                {step(504, ``), 6, "provider-error", "plumb resume"},
		"429":                {step(429, overloaded), 12, "rate-limit", "--parallel"},
		"529":                {step(529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`), 12, "provider-error", "--parallel"},
		"reset":              {broken(reset), 6, "connection", "network"},
		"unexpected EOF":     {broken(io.ErrUnexpectedEOF), 6, "connection", "network"},
		"nobody listens":     {broken(refused), 1, "unreachable", "base URL"},
		"no such host":       {broken(&net.DNSError{Err: "no such host", Name: "x", IsNotFound: true}), 1, "unreachable", "base URL"},
		"name not found now": {broken(&net.DNSError{Err: "server misbehaving", Name: "x", IsTemporary: true}), 3, "unreachable", "base URL"},
		"bad certificate":    {broken(&tls.CertificateVerificationError{Err: errors.New("expired")}), 1, "unreachable", "base URL"},
		"plain for TLS":      {broken(errors.New("http: server gave HTTP response to HTTPS client")), 1, "unreachable", "use http://"},
		"torn content":       {step(200, `{"id":`), 6, "provider-error", "base URL"},
		"broken off in body": {tornBody(200), 6, "connection", "network"},
		"torn complaint":     {tornBody(400), 6, "connection", "network"},
		"torn denial":        {tornBody(401), 6, "connection", "network"},
		"torn 500":           {tornBody(500), 6, "provider-error", "plumb resume"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			base := script(c.step)
			synctest.Test(t, func(t *testing.T) {
				m := talker(t, base, TransportOptions{})
				rep, err := m.Run(t.Context(), say("hi"))
				var f *plumb.Failure
				if rep != nil || !errors.As(err, &f) {
					t.Fatalf("report %v, error %v", rep, err)
				}
				if len(base.requests) != c.attempts || f.Attempts != c.attempts || f.Class.ID != c.class {
					t.Errorf("%d requests, %d told, class %s: %v", len(base.requests), f.Attempts, f.Class.ID, f)
				}
				if !strings.Contains(f.Hint, c.hint) {
					t.Errorf("hint %q, want %q in it", f.Hint, c.hint)
				}
				if !strings.HasPrefix(f.Message, "openai: ") || f.Provider != "openai" || strings.Contains(f.Message, "sk-test") {
					t.Errorf("message %q", f.Message)
				}
			})
		})
	}
}

func tornBody(status int) func() (*http.Response, error) {
	return func() (*http.Response, error) {
		res := respond(status, "")
		res.Body = io.NopCloser(io.MultiReader(strings.NewReader(`{"id":"x","cho`), errReader{io.ErrUnexpectedEOF}))
		res.ContentLength = 5000
		return res, nil
	}
}

type errReader struct{ err error }

func (r errReader) Read([]byte) (int, error) { return 0, r.err }

func TestMessageSaysEverything(t *testing.T) {
	t.Parallel()
	m := model(t, always(401, `{"error":{"message":"Incorrect API key\u001b[31m provided: sk-test-0123456789.","type":"invalid_request_error","code":"invalid_api_key"}}`, "x-request-id", "req_x"), Config{Provider: "openai", Model: "gpt-4o"})
	_, err := m.Run(t.Context(), say("hi"))
	var f *plumb.Failure
	if !errors.As(err, &f) {
		t.Fatal(err)
	}
	want := "openai: 401 Unauthorized: Incorrect API key provided: [key]. [invalid_api_key] (request req_x)"
	if f.Message != want || f.HTTPStatus != 401 || f.RequestID != "req_x" {
		t.Errorf("message %q, want %q; status %d, request %q", f.Message, want, f.HTTPStatus, f.RequestID)
	}
}

// TestLanePauses: one request is told to wait, and all of that key do.
func TestLanePauses(t *testing.T) {
	t.Parallel()
	good := string(recorded(t, "chat.json"))
	for name, first := range map[string]func() (*http.Response, error){
		"after 429":             step(429, overloaded, "Retry-After", "20"),
		"after the last of it":  step(200, good, "X-Ratelimit-Remaining-Tokens", "0", "X-Ratelimit-Reset-Tokens", "20s"),
		"anthropic's timestamp": step(200, good, "Date", "Mon, 02 Jan 2023 10:00:00 GMT", "Anthropic-Ratelimit-Requests-Remaining", "0", "Anthropic-Ratelimit-Requests-Reset", "2023-01-02T10:00:20Z"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			base := script(first, step(200, good))
			synctest.Test(t, func(t *testing.T) {
				m := talker(t, base, TransportOptions{})
				began := time.Now()
				var wg sync.WaitGroup
				wg.Go(func() { m.Run(t.Context(), say("one")) })
				synctest.Wait()
				wg.Go(func() { m.Run(t.Context(), say("two")) })
				synctest.Wait()
				s := m.transport.stats()
				if s.InFlight != 0 || s.Waiting != 1 || !s.PausedUntil.Equal(began.Add(20*time.Second)) {
					t.Errorf("stats %+v", s)
				}
				wg.Wait()
				if took := time.Since(began); took != 20*time.Second {
					t.Errorf("took %v", took)
				}
			})
		})
	}
}

func TestKeysDoNotShareLanes(t *testing.T) {
	t.Parallel()
	tr := NewTransport(TransportOptions{Base: always(200, `{}`)})
	a, b := tr.lane("openai", "h", "k1"), tr.lane("openai", "h", "k2")
	if a == b || a != tr.lane("openai", "h", "k1") || a == tr.lane("groq", "h", "k1") {
		t.Error("lanes are mixed up")
	}
}

// TestLimiterAdapts: half of the most at first, doubling each round trip; half of that after a
// complaint, whatever else was in flight then; one more a round trip from there on.
func TestLimiterAdapts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, limiterAdapts) // where a wait without end is noticed
}

func limiterAdapts(t *testing.T) {
	t.Helper()
	l := newLimiter(64, 0)
	round := func(n int, e effect) {
		t.Helper()
		var epochs []uint64
		for range n {
			epoch, err := l.acquire(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			epochs = append(epochs, epoch)
		}
		for _, epoch := range epochs {
			l.release(epoch, e)
		}
	}
	limit := func(want int) {
		t.Helper()
		if _, _, got, _ := l.state(); got != want {
			t.Errorf("limit %d, want %d", got, want)
		}
	}
	limit(32)
	round(8, relaxed)
	limit(32) // it was not in the way
	round(32, neutral)
	limit(32)
	for range 40 {
		epochs := make([]uint64, 0, 64)
		for inFlight, _, most, _ := l.state(); inFlight < most; inFlight++ {
			epoch, _ := l.acquire(t.Context())
			epochs = append(epochs, epoch)
		}
		l.release(epochs[0], relaxed)
		for _, e := range epochs[1:] {
			l.release(e, neutral)
		}
	}
	limit(64) // never above the most
	round(64, congested)
	limit(32) // one complaint, though 64 came at once
	round(32, congested)
	limit(16)
	for range 10 {
		round(1, congested)
	}
	limit(1)
	for range 3 {
		round(1, relaxed)
	}
	limit(2) // 1, 2, and 2 is not in the way of one at a time
	l.limit = 8
	for step := range 9 {
		for range 8 {
			if _, err := l.acquire(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		l.release(l.epoch, relaxed)
		for range 7 {
			l.release(l.epoch, neutral)
		}
		if step == 0 {
			limit(8)
		}
	}
	limit(9) // an eighth or so with each answer: one a round trip
}

// TestPlaceIsHandedOn: who gives up at the moment of being admitted passes the place to the next.
func TestPlaceIsHandedOn(t *testing.T) {
	t.Parallel()
	for range 100 {
		synctest.Test(t, func(t *testing.T) {
			l := newLimiter(1, 0)
			epoch, err := l.acquire(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			var wg sync.WaitGroup
			wg.Go(func() {
				if epoch, err := l.acquire(ctx); err == nil {
					l.release(epoch, neutral)
				}
			})
			synctest.Wait()
			wg.Go(func() {
				epoch, err := l.acquire(t.Context())
				if err != nil {
					t.Error(err)
				}
				l.release(epoch, neutral)
			})
			synctest.Wait()
			cancel()
			l.release(epoch, neutral)
			wg.Wait()
			if inFlight, waiting, _, _ := l.state(); inFlight != 0 || waiting != 0 {
				t.Errorf("%d in flight, %d waiting", inFlight, waiting)
			}
		})
	}
}

func TestLimiterStarts(t *testing.T) {
	t.Parallel()
	for most, want := range map[int]int{0: 1, 1: 1, 3: 3, 4: 4, 7: 4, 8: 4, 10: 5, 256: 128} {
		if _, _, got, _ := newLimiter(most, 0).state(); got != want {
			t.Errorf("of %d: %d, want %d", most, got, want)
		}
	}
	for start, want := range map[int]int{1: 1, 9: 9, 256: 256, 300: 256} {
		if _, _, got, _ := newLimiter(256, start).state(); got != want {
			t.Errorf("from %d: %d, want %d", start, got, want)
		}
	}
}

// TestSlotIsHeldOnTheWireOnly: many wait for the next attempt while others go on, and never are
// more on the wire than allowed.
func TestSlotIsHeldOnTheWireOnly(t *testing.T) {
	t.Parallel()
	var inFlight, most atomic.Int64
	good := string(recorded(t, "chat.json"))
	base := &carrier{answer: func(n int, req *http.Request, _ []byte) (*http.Response, error) {
		now := inFlight.Add(1)
		defer inFlight.Add(-1)
		for old := most.Load(); now > old && !most.CompareAndSwap(old, now); old = most.Load() {
		}
		if err := sleep(req.Context(), time.Second); err != nil {
			return nil, err
		}
		if n <= 40 {
			return respond(500, `{}`), nil
		}
		return respond(200, good), nil
	}}
	synctest.Test(t, func(t *testing.T) {
		m := talker(t, base, TransportOptions{MaxInFlight: 8})
		began := time.Now()
		var wg sync.WaitGroup
		for range 80 {
			wg.Go(func() {
				if _, err := m.Run(t.Context(), say("hi")); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		// 120 requests of a second, at most 8 at once: 15 s, and a little for the slow start and
		// the waits.
		if took := time.Since(began); took < 15*time.Second || took > 22*time.Second {
			t.Errorf("took %v", took)
		}
	})
	if most.Load() != 8 {
		t.Errorf("at most %d on the wire, want 8", most.Load())
	}
}

// TestRetryBudget: a provider that is down gets hardly more requests than there are cases.
func TestRetryBudget(t *testing.T) {
	t.Parallel()
	base := always(500, `{}`)
	synctest.Test(t, func(t *testing.T) {
		m := talker(t, base, TransportOptions{MaxInFlight: 16})
		for range 2000 {
			_, err := m.Run(t.Context(), say("hi"))
			var f *plumb.Failure
			if !errors.As(err, &f) || f.Origin != plumb.OriginRunner {
				t.Fatal(err)
			}
		}
	})
	if n := len(base.requests); n > 2200 || n < 2000 {
		t.Errorf("%d requests for 2000 cases", n)
	}
}

// TestRetryBudgetIsRefilled: what fails each first time and works each second never runs out of
// retries.
func TestRetryBudgetIsRefilled(t *testing.T) {
	t.Parallel()
	good := string(recorded(t, "chat.json"))
	base := &carrier{answer: func(n int, _ *http.Request, _ []byte) (*http.Response, error) {
		if n%2 == 1 {
			return respond(500, `{}`), nil
		}
		return respond(200, good), nil
	}}
	synctest.Test(t, func(t *testing.T) {
		m := talker(t, base, TransportOptions{MaxInFlight: 16})
		for range 500 {
			if _, err := m.Run(t.Context(), say("hi")); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestRequestTimeLimit(t *testing.T) {
	t.Parallel()
	hang := &carrier{answer: func(_ int, req *http.Request, _ []byte) (*http.Response, error) {
		<-req.Context().Done()
		return nil, req.Context().Err()
	}}
	synctest.Test(t, func(t *testing.T) {
		m := talker(t, hang, TransportOptions{MaxAttempts: 2})
		began := time.Now()
		rep, err := m.Run(t.Context(), say("hi"))
		var f *plumb.Failure
		if rep != nil || !errors.As(err, &f) || f.Origin != plumb.OriginTimeout || f.Origin.Outcome(rep.Began()) != plumb.OutcomeError {
			t.Fatalf("report %v, error %v", rep, err)
		}
		if took := time.Since(began); took < 2*time.Minute || took > 2*time.Minute+time.Second || f.Attempts != 2 {
			t.Errorf("took %v, %d attempts", took, f.Attempts)
		}
	})
}

// TestCaseTimeLimit tells silence, which measures nothing, from an answer that came too late.
func TestCaseTimeLimit(t *testing.T) {
	t.Parallel()
	limits := map[string]func(context.Context, time.Duration) (context.Context, context.CancelFunc){
		"deadline": context.WithTimeout, "working time": plumb.WithTimeLimit,
	}
	for name, c := range map[string]struct {
		body  string
		began bool
		limit string
	}{
		"silence":                       {"", false, "deadline"},
		"kept alive only":               {"  \n\n ", false, "deadline"},
		"head of a reply":               {`{"id":"chatcmpl-1","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"`, false, "deadline"},
		"head only, working time":       {`{"id":"chatcmpl-1",   `, false, "working time"},
		"an error that drips":           {`{"error":{"message":"The server is ov`, false, "deadline"},
		"half of a reply":               {`{"id":"chatcmpl-1","choices":[{"message":{"content":"It is`, true, "deadline"},
		"half of a reply, working time": {`{"id":"chatcmpl-1","choices":[{"message":{"content":"It is`, true, "working time"},
		"no reply at all":               {"-", false, "deadline"},
		"no reply at all, working time": {"-", false, "working time"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			base := &carrier{answer: func(_ int, req *http.Request, _ []byte) (*http.Response, error) {
				if c.body == "-" {
					<-req.Context().Done()
					return nil, req.Context().Err()
				}
				r, w := io.Pipe()
				context.AfterFunc(req.Context(), func() { w.CloseWithError(req.Context().Err()) })
				go io.WriteString(w, c.body)
				res := respond(200, "")
				res.Body, res.ContentLength = r, -1
				return res, nil
			}}
			synctest.Test(t, func(t *testing.T) {
				m := talker(t, base, TransportOptions{})
				ctx, cancel := limits[c.limit](t.Context(), 3*time.Second)
				defer cancel()
				began := time.Now()
				rep, err := m.Run(ctx, say("hi"))
				if took := time.Since(began); took != 3*time.Second {
					t.Errorf("took %v", took)
				}
				var f *plumb.Failure
				if !errors.As(err, &f) || f.Origin != plumb.OriginTimeout {
					t.Fatalf("error %v", err)
				}
				if rep.Began() != c.began {
					t.Errorf("began: %v, want %v", rep.Began(), c.began)
				}
				if c.began && (rep.FinishReason != plumb.FinishTimeout || rep.Events[0].Text != c.body || rep.FinalOutput != "") {
					t.Errorf("report %+v", rep)
				}
			})
		})
	}
}

// TestLongWaits: a provider that asks to wait for longer than a request may take is not asked
// again, and the message says for how long it asks.
func TestLongWaits(t *testing.T) {
	t.Parallel()
	const day = `{"error":{"code":429,"message":"m","details":[{"retryDelay":"259200s"}]}}`
	for name, c := range map[string]struct {
		step func() (*http.Response, error)
		want string
	}{
		"minutes":          {step(429, overloaded, "Retry-After", "660"), "asks to wait 11m"},
		"hours":            {step(503, `{}`, "Retry-After", "28000"), "asks to wait 7h 46m"},
		"a day":            {step(429, overloaded, "Retry-After", "86400"), "asks to wait 24h"},
		"days":             {step(429, overloaded, "Retry-After", "259200"), "asks to wait 3d"},
		"on 529":           {step(529, `{}`, "Retry-After", "259200"), "asks to wait 3d"},
		"on 500":           {step(500, `{}`, "Retry-After", "259200"), "asks to wait 3d"},
		"milliseconds":     {step(429, overloaded, "Retry-After-Ms", "259200000"), "asks to wait 3d"},
		"a date":           {step(429, overloaded, "Retry-After", "Tue, 04 Jan 2000 00:00:00 GMT"), "asks to wait 3d"},
		"a date far off":   {step(429, overloaded, "Retry-After", "Fri, 31 Dec 9999 23:59:59 GMT"), "asks to wait a year or more"},
		"absurd":           {step(429, overloaded, "Retry-After", "1e18"), "asks to wait a year or more"},
		"more digits":      {step(429, overloaded, "Retry-After", strings.Repeat("9", 400)), "asks to wait a year or more"},
		"infinite":         {step(429, overloaded, "Retry-After", "Inf"), "asks to wait a year or more"},
		"google's detail":  {step(429, day), "asks to wait 3d"},
		"reset of quota":   {step(429, overloaded, "X-Ratelimit-Remaining-Requests", "0", "X-Ratelimit-Reset-Requests", "72h0m0s"), "asks to wait 3d"},
		"reset in seconds": {step(429, overloaded, "X-Ratelimit-Remaining-Tokens", "0", "X-Ratelimit-Reset-Tokens", "1e18"), "asks to wait a year or more"},
		"reset as a time":  {step(429, `{}`, "Anthropic-Ratelimit-Requests-Remaining", "0", "Anthropic-Ratelimit-Requests-Reset", "2000-01-04T00:00:00Z"), "asks to wait 3d"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			base := script(c.step)
			synctest.Test(t, func(t *testing.T) {
				m := talker(t, base, TransportOptions{})
				began := time.Now()
				for range 3 { // the next ones do not wait either
					rep, err := m.Run(t.Context(), say("hi"))
					var f *plumb.Failure
					if rep != nil || !errors.As(err, &f) || f.Origin != plumb.OriginRunner || !strings.Contains(f.Message, c.want) {
						t.Errorf("report %v, error %v, want %q in it", rep, err, c.want)
					}
				}
				if took := time.Since(began); took != 0 || len(base.requests) != 3 {
					t.Errorf("%d requests in %v", len(base.requests), took)
				}
			})
		})
	}
}

// TestNoAttemptAfterTheTimeLimit: waiting for what cannot come is a waste.
func TestNoAttemptAfterTheTimeLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := talker(t, always(429, overloaded, "Retry-After", "120"), TransportOptions{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		began := time.Now()
		_, err := m.Run(ctx, say("hi"))
		if took := time.Since(began); took != 0 || err == nil || !strings.Contains(err.Error(), "429") {
			t.Errorf("took %v: %v", took, err)
		}
	})
}

func TestInterruptedIsNotMeasured(t *testing.T) {
	t.Parallel()
	why := errors.New("the user pressed Ctrl-C")
	hang := func(_ int, req *http.Request, _ []byte) (*http.Response, error) {
		<-req.Context().Done()
		return nil, req.Context().Err()
	}
	for name, base := range map[string]*carrier{
		"on the wire":            {answer: hang},
		"waiting to try again":   always(429, overloaded, "Retry-After", "120"),
		"waiting for the others": {answer: hang},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m := talker(t, base, TransportOptions{MaxInFlight: 1})
				ctx, cancel := context.WithCancelCause(t.Context())
				var wg sync.WaitGroup
				for range 1 + strings.Count(name, "others") {
					wg.Go(func() {
						rep, err := m.Run(ctx, say("hi"))
						var f *plumb.Failure
						if rep != nil || errors.As(err, &f) || !errors.Is(err, context.Canceled) || !errors.Is(err, why) {
							t.Errorf("report %v, error %v", rep, err)
						}
					})
				}
				synctest.Wait()
				began := time.Now()
				cancel(why)
				wg.Wait()
				if took := time.Since(began); took != 0 {
					t.Errorf("returned after %v", took)
				}
				if s := m.transport.stats(); s.InFlight != 0 || s.Waiting != 0 {
					t.Errorf("left behind: %+v", s)
				}
			})
		})
	}
}

func TestMaxParallel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		good := string(recorded(t, "chat.json"))
		var inFlight, most atomic.Int64
		base := &carrier{answer: func(_ int, req *http.Request, _ []byte) (*http.Response, error) {
			most.Store(max(most.Load(), inFlight.Add(1)))
			defer inFlight.Add(-1)
			return respond(200, good), sleep(req.Context(), time.Second)
		}}
		tr := NewTransport(TransportOptions{Base: base})
		defer tr.Close()
		m, err := New(Config{Provider: "ollama", Model: "x", Transport: tr, MaxParallel: 2})
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() { m.Run(t.Context(), say("hi")) })
		}
		began := time.Now()
		wg.Wait()
		if most.Load() != 2 || time.Since(began) != 5*time.Second {
			t.Errorf("%d at once, in %v", most.Load(), time.Since(began))
		}
	})
}

func TestReplyIsBounded(t *testing.T) {
	t.Parallel()
	base := script(func() (*http.Response, error) {
		res := respond(200, "")
		res.Body, res.ContentLength = io.NopCloser(io.LimitReader(endless{}, maxBody+1000)), -1
		return res, nil
	})
	m := model(t, base, Config{Provider: "openai", Model: "gpt-4o"})
	_, err := m.Run(t.Context(), say("hi"))
	if err == nil || !strings.Contains(err.Error(), "larger than 64 MiB") || len(base.requests) != 1 {
		t.Errorf("%d requests, error %v", len(base.requests), err)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	copy(p, bytes.Repeat([]byte(" "), len(p)))
	return len(p), nil
}

func TestProxies(t *testing.T) {
	t.Parallel()
	env := map[string]string{"https_proxy": "http://proxy.test:3128", "NO_PROXY": "inside.test"}
	base := newBase(TransportOptions{Getenv: func(k string) string { return env[k] }})
	for address, want := range map[string]string{
		"https://api.openai.com/v1": "http://proxy.test:3128",
		"https://inside.test/v1":    "<nil>",
		"http://127.0.0.1:11434/v1": "<nil>",
	} {
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, address, nil)
		got, err := base.Proxy(req)
		if err != nil || fmt.Sprint(got) != want {
			t.Errorf("%s goes through %v (%v), want %s", address, got, err, want)
		}
	}
	if newBase(TransportOptions{}).Proxy != nil {
		t.Error("a proxy without an environment")
	}
}

// TestThroughput: the slow start costs a fraction of one round trip, and nothing else stands idle.
func TestThroughput(t *testing.T) {
	t.Parallel()
	const cases, parallel, latency = 10_000, 256, 200 * time.Millisecond
	good := string(recorded(t, "chat.json"))
	base := &carrier{answer: func(_ int, req *http.Request, _ []byte) (*http.Response, error) {
		return respond(200, good), sleep(req.Context(), latency)
	}}
	synctest.Test(t, func(t *testing.T) {
		m := talker(t, base, TransportOptions{MaxInFlight: parallel})
		began := time.Now()
		var left atomic.Int64
		left.Store(cases)
		var wg sync.WaitGroup
		for range parallel {
			wg.Go(func() {
				for left.Add(-1) >= 0 {
					if _, err := m.Run(t.Context(), say("hi")); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		ideal := cases * latency / parallel
		if took := time.Since(began); took > ideal*105/100 {
			t.Errorf("took %v, more than 5 %% above %v", took, ideal)
		} else {
			t.Logf("took %v, ideally %v", took, ideal)
		}
	})
}

// TestWaiting checks what the transport says while a request waits to be retried.
func TestWaiting(t *testing.T) {
	t.Parallel()
	base := script(step(429, overloaded, "Retry-After", "12"), step(http.StatusOK, string(recorded(t, "chat.json"))))
	synctest.Test(t, func(t *testing.T) {
		m := talker(t, base, TransportOptions{})
		ended := make(chan error)
		go func() {
			_, err := m.Run(t.Context(), say("hi"))
			ended <- err
		}()
		time.Sleep(2500 * time.Millisecond)
		if got, want := m.transport.Waiting(), "waiting for openai: 429 Too Many Requests, 10 s left, attempt 2"; got != want {
			t.Errorf("%q, want %q", got, want)
		}
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		if got := m.transport.Waiting(); got != "" {
			t.Errorf("after the answer: %q", got)
		}
	})
}

// transportStats shows how busy a transport is, for all its providers and keys together.
type transportStats struct {
	// InFlight counts requests that were sent, Waiting those that wait for a place, Limit the
	// places.
	InFlight, Waiting, Limit int
	// PausedUntil is the end of the last pause that a provider requested; zero if there is none.
	PausedUntil time.Time
}

// stats returns the current figures.
func (t *Transport) stats() transportStats {
	var s transportStats
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	for _, l := range t.lanes {
		inFlight, waiting, limit, until := l.state()
		s.InFlight += inFlight
		s.Waiting += waiting
		s.Limit += limit
		if until.After(now) && until.After(s.PausedUntil) {
			s.PausedUntil = until
		}
	}
	return s
}
