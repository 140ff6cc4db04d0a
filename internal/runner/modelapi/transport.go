package modelapi

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"
	"golang.org/x/net/http/httpproxy"
	"golang.org/x/sync/semaphore"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/text"
)

const (
	defaultMaxInFlight = 64
	defaultMaxAttempts = 6
	defaultBackoff     = 500 * time.Millisecond
	maxBackoff         = 30 * time.Second
	// throttleFactor multiplies the attempts while a provider only requests a lower load, or while
	// shared connections break.
	throttleFactor = 2
	// maxSharedBackoff bounds the wait after a shared connection broke.
	maxSharedBackoff = 4 * time.Second
	// deadAttempts is the number of attempts when a server that was there no longer listens at the
	// address, or when looking up its name fails for now. Any other unreachable address has one.
	deadAttempts = 3
	// maxElapsed ends the retries of one request, and bounds the wait that a provider can request.
	maxElapsed = 10 * time.Minute
	// maxQuotaPause bounds the pause after a reply that used up a quota.
	maxQuotaPause = time.Minute
	// maxBody bounds a response, and maxErrorBody an error response.
	maxBody      = 64 << 20
	maxErrorBody = 1 << 20
	// maxHeld bounds the large replies in memory at one time, for all lanes together. A reply up to
	// smallReply does not count. Other bytes stay in the buffers of the system and, on HTTP/2, in
	// one of maxStreamBuffer.
	maxHeld         = 2 * maxBody
	smallReply      = 256 << 10
	maxStreamBuffer = 1 << 20
	// maxKeptBuffer is the largest buffer that is reused.
	maxKeptBuffer = 1 << 20
)

// TransportOptions configure a [Transport]. The zero value works.
type TransportOptions struct {
	// MaxInFlight bounds the concurrent requests for each provider and key; 0 means 64.
	MaxInFlight int
	// Start is the number of concurrent requests that each provider and key starts with; 0 means half
	// of MaxInFlight.
	Start int
	// Getenv looks up HTTP_PROXY, HTTPS_PROXY and NO_PROXY, in upper and lower case. Nil means no
	// proxy.
	Getenv func(string) string
	// MaxAttempts is the number of attempts of a request, including the first one; 0 means 6. It is
	// doubled for the reply "too many requests".
	MaxAttempts int
	// Backoff is the mean wait before the first retry, doubled for each further one; 0 means half a
	// second.
	Backoff time.Duration
	// Limits is a directory that stores the number of concurrent requests that each provider and
	// key accepted. The next run starts with this number. "" stores nothing.
	Limits string
	// UserAgent is the name of the client in requests.
	UserAgent string
	// Base sends single requests; nil means an http.Transport for many requests to few hosts.
	Base http.RoundTripper
}

// Transport sends the requests of all models and embedders of a process. It keeps connections
// alive, learns how many concurrent requests each provider and key accepts, waits when the provider
// requests it, and retries requests after temporary failures. It is safe for concurrent use.
type Transport struct {
	opts TransportOptions
	base http.RoundTripper

	mu    sync.Mutex
	lanes map[laneKey]*lane

	buffers sync.Pool
	held    *semaphore.Weighted // counts the bytes of large replies
}

// laneKey identifies a rate limit: an address and the hash of a key.
type laneKey struct {
	provider, host string
	key            [sha256.Size]byte
}

// lane is the shared state of the requests with one provider and key.
type lane struct {
	*limiter
	remembered int // the number from an earlier run that the limiter started with
	budget     retryBudget
	// shares is set when requests share connections, as on HTTP/2. reached is set when the server has
	// replied.
	shares, reached atomic.Bool
	// trouble is why a request of the lane waits to be retried; nil after an answer.
	trouble atomic.Pointer[trouble]
}

// trouble describes a request that waits to be retried.
type trouble struct {
	reason string
	until  time.Time
	next   int // the number of the next attempt
}

// NewTransport returns a transport. Close it after use.
func NewTransport(opts TransportOptions) *Transport {
	if opts.MaxInFlight <= 0 {
		opts.MaxInFlight = defaultMaxInFlight
	}
	if opts.MaxAttempts <= 0 {
		opts.MaxAttempts = defaultMaxAttempts
	}
	if opts.Backoff <= 0 {
		opts.Backoff = defaultBackoff
	}
	t := &Transport{opts: opts, base: opts.Base, lanes: map[laneKey]*lane{}, held: semaphore.NewWeighted(maxHeld)}
	t.buffers.New = func() any { return new(bytes.Buffer) }
	if t.base == nil {
		t.base = newBase(opts)
	}
	return t
}

func newBase(opts TransportOptions) *http.Transport {
	dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}
	base := &http.Transport{
		DialContext:       dialer.DialContext,
		ForceAttemptHTTP2: true,
		HTTP2: &http.HTTP2Config{
			SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second,
			MaxReceiveBufferPerStream: maxStreamBuffer,
		},
		MaxIdleConnsPerHost:   opts.MaxInFlight,
		IdleConnTimeout:       90 * time.Second,
		TLSHandshakeTimeout:   10 * time.Second,
		ExpectContinueTimeout: time.Second,
	}
	if opts.Getenv != nil {
		either := func(upper, lower string) string {
			if v := opts.Getenv(upper); v != "" {
				return v
			}
			return opts.Getenv(lower)
		}
		proxies := &httpproxy.Config{
			HTTPProxy:  either("HTTP_PROXY", "http_proxy"),
			HTTPSProxy: either("HTTPS_PROXY", "https_proxy"),
			NoProxy:    either("NO_PROXY", "no_proxy"),
		}
		choose := proxies.ProxyFunc()
		base.Proxy = func(r *http.Request) (*url.URL, error) { return choose(r.URL) }
		base.OnProxyConnectResponse = func(_ context.Context, _ *url.URL, _ *http.Request, res *http.Response) error {
			if res.StatusCode != http.StatusOK {
				return &proxyError{oneLine(res.Status)}
			}
			return nil
		}
	}
	return base
}

// Close closes idle connections and stores the accepted numbers of concurrent requests. It does not
// end running requests.
func (t *Transport) Close() {
	if c, ok := t.base.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for k, l := range t.lanes {
		l.stop()
		// A run with few requests does not lower the stored number.
		if n, settled := l.accepted(); n > 0 && (settled || n > l.remembered) && n != l.remembered {
			memory(t.opts.Limits).write(k, n)
			l.remembered = n
		}
	}
}

// Waiting says which providers keep requests waiting, why, and for how long, such as "waiting for
// openai: 429 Too Many Requests, 12 s left, attempt 3". It is "" if none does.
func (t *Transport) Waiting() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	var all []string
	for k, l := range t.lanes {
		_, _, _, until := l.state()
		words := "its rate limit is reached"
		attempt := ""
		if p := l.trouble.Load(); p != nil && p.until.After(now) {
			words, attempt = p.reason, fmt.Sprintf(", attempt %d", p.next)
			until = p.until
		}
		if left := until.Sub(now); left > 0 {
			all = append(all, fmt.Sprintf("%s: %s, %.0f s left%s", k.provider, words, math.Ceil(left.Seconds()), attempt))
		}
	}
	if len(all) == 0 {
		return ""
	}
	slices.Sort(all)
	return "waiting for " + strings.Join(all, "; ")
}

func (t *Transport) lane(provider, host, key string) *lane {
	k := laneKey{provider, host, sha256.Sum256([]byte(key))}
	t.mu.Lock()
	defer t.mu.Unlock()
	l, ok := t.lanes[k]
	if !ok {
		n := t.opts.MaxInFlight
		l = &lane{limiter: newLimiter(n, t.opts.Start), budget: newRetryBudget(n, t.opts.MaxAttempts)}
		l.remembered = memory(t.opts.Limits).read(k)
		l.widen(l.remembered)
		t.lanes[k] = l
	}
	return l
}

// call is one request that is sent, and retried, until it has an answer.
type call struct {
	lane    *lane
	method  string
	url     *url.URL
	header  http.Header
	body    []byte
	timeout time.Duration
	// decode reads the answer. Its error means that the reply is not JSON or has no answer, so the
	// request is retried. An *apiError is an error that the provider reports. decode must not keep
	// the bytes.
	decode func([]byte) error
}

// exchange describes the last attempt of a call.
type exchange struct {
	attempts  int
	latency   time.Duration
	requestID string
}

// do makes the call. It returns soon after ctx ends. The problem is nil when the call was answered.
func (t *Transport) do(ctx context.Context, c *call) (exchange, *problem) {
	var own, others *backoff.ExponentialBackOff // after errors of this request, and of its connection
	started, faults := time.Now(), 0
	var ex exchange
	for {
		epoch, err := c.lane.acquire(ctx)
		if err != nil {
			return ex, &problem{kind: stopped, err: err, attempts: ex.attempts}
		}
		ex.attempts++
		p := t.send(ctx, c, &ex)
		if ex.attempts == 1 && misses(c.url, p) && !c.lane.reached.Load() && t.expectsTLS(ctx, c.url) {
			p.err = errExpectsTLS
		}
		c.lane.release(epoch, p.effect())
		if p == nil {
			c.lane.budget.refund()
			if c.lane.trouble.Load() != nil {
				c.lane.trouble.Store(nil)
			}
			return ex, nil
		}
		p.attempts, p.shared = ex.attempts, c.lane.shares.Load() && p.brokeConnection()
		switch {
		case p.throttles(): // it asks for a lower load
		case p.shared: // any request on the connection can be the cause
		default:
			faults++
		}
		if p.kind == stopped || !p.temporary() {
			return ex, p
		}
		pause := p.wait
		if pause > 0 {
			if pause <= maxElapsed { // all requests of the lane wait
				c.lane.pause(time.Now().Add(pause))
			}
		} else {
			wait, most := &own, maxBackoff
			if p.shared {
				wait, most = &others, maxSharedBackoff
			}
			if *wait == nil {
				*wait = &backoff.ExponentialBackOff{
					InitialInterval: t.opts.Backoff, RandomizationFactor: 0.5, Multiplier: 2, MaxInterval: most,
				}
			}
			pause = (*wait).NextBackOff()
		}
		if p.givenUp = t.giveUp(ctx, c, p, faults, ex.attempts, time.Since(started), pause); p.givenUp != "" {
			return ex, p
		}
		c.lane.trouble.Store(&trouble{p.reason(), time.Now().Add(pause), ex.attempts + 1})
		resume := func() {}
		if p.throttles() { // the time limit of a case does not include this wait
			resume = plumb.Waiting(ctx)
		}
		err = sleep(ctx, pause)
		resume()
		if err != nil {
			p.kind, p.err = stopped, err
			return ex, p
		}
	}
}

// giveUp returns the reason why a call is not retried, or "".
func (t *Transport) giveUp(
	ctx context.Context, c *call, p *problem, faults, attempts int, elapsed, pause time.Duration,
) string {
	limit := t.opts.MaxAttempts
	switch {
	case p.wait > maxElapsed:
		return "the provider asks to wait " + waitWords(p.wait)
	case (p.throttles() || p.shared) && attempts >= throttleFactor*limit, faults >= limit,
		p.unreachable() && faults >= min(limit, deadAttempts),
		p.unreachable() && !c.lane.reached.Load() && !isTemporary(p.err):
		return "all attempts failed"
	case elapsed+pause > maxElapsed:
		return "no answer in " + text.Duration(elapsed)
	}
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < pause {
		return "the next attempt would be after the time limit"
	}
	if !p.throttles() && !c.lane.budget.take() {
		return "too many requests to this provider fail to retry each one"
	}
	return ""
}

// sleep waits for d. It is an error if ctx or its run ends before.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-plumb.Stopping(ctx):
		return plumb.ErrStopping
	case <-timer.C:
		return nil
	}
}

// send makes one attempt. The problem is nil when it was answered.
func (t *Transport) send(ctx context.Context, c *call, ex *exchange) *problem {
	attempt, cancel := plumb.WithTimeLimit(ctx, c.timeout)
	defer cancel()
	req := &http.Request{
		Method: c.method, URL: c.url, Host: c.url.Host, Header: c.header,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}
	if c.body != nil {
		req.ContentLength = int64(len(c.body))
		req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(c.body)), nil }
		req.Body, _ = req.GetBody()
	}
	began := time.Now()
	ex.requestID = ""
	res, err := t.base.RoundTrip(req.WithContext(attempt))
	if err != nil {
		return interrupted(ctx, attempt, err)
	}
	defer res.Body.Close()
	if !c.lane.reached.Load() {
		c.lane.reached.Store(true)
	}
	if shares := res.ProtoMajor >= 2; shares != c.lane.shares.Load() {
		c.lane.shares.Store(shares)
	}
	ex.requestID = requestID(res.Header)
	buf, _ := t.buffers.Get().(*bytes.Buffer)
	buf.Reset()
	defer func() {
		if buf.Cap() <= maxKeptBuffer {
			t.buffers.Put(buf)
		}
	}()
	done, err := t.receive(ctx, attempt, res, buf)
	defer done()
	ex.latency = time.Since(began)
	now := time.Now()
	if wait := spentQuota(res.Header, now); wait > 0 && (res.StatusCode < 300 || wait <= maxElapsed) {
		c.lane.pause(now.Add(min(wait, maxQuotaPause)))
	}
	if res.StatusCode >= 300 {
		p := statusProblem(res, buf.Bytes(), ex.requestID)
		if rejectsPlainHTTP(p) {
			return &problem{kind: network, err: errExpectsTLS}
		}
		if err == nil || p.temporary() {
			return p
		}
		// The reason for the rejection is unknown, because the body is incomplete.
	}
	if err != nil {
		p := interrupted(ctx, attempt, err)
		p.requestID, p.arrived = ex.requestID, buf.Len()
		if res.StatusCode < 300 {
			p.partial = begun(buf.Bytes())
		}
		return p
	}
	return t.read(c, res, buf.Bytes(), ex.requestID)
}

// receive reads the decompressed body of a reply into buf, up to its bound. A large body waits for
// free memory. The wait counts neither for the time limit of the request nor for that of the case.
// The caller calls done when it no longer needs the bytes.
func (t *Transport) receive(
	ctx, attempt context.Context, res *http.Response, buf *bytes.Buffer,
) (done func(), err error) {
	done = func() {}
	limit, size := int64(maxBody), res.ContentLength // -1 if the size is unknown, as for compressed bodies
	if res.StatusCode >= 300 {
		limit = maxErrorBody
	}
	n, err := buf.ReadFrom(io.LimitReader(res.Body, smallReply))
	if err != nil || n < smallReply {
		return done, err
	}
	if size < 0 || size > limit {
		size = limit
	}
	turn, place := plumb.Waiting(attempt), plumb.Waiting(ctx)
	err = t.held.Acquire(attempt, size)
	turn()
	place()
	if err != nil {
		return done, err
	}
	if res.ContentLength >= 0 {
		buf.Grow(int(size-n) + 1 + bytes.MinRead) // a buffer that doubles would use more memory
	}
	_, err = buf.ReadFrom(io.LimitReader(res.Body, limit+1-n))
	return func() { t.held.Release(size) }, err
}

// read decodes a complete reply.
func (t *Transport) read(c *call, res *http.Response, body []byte, requestID string) *problem {
	p := &problem{kind: malformed, status: res.StatusCode, requestID: requestID}
	switch {
	case len(body) > maxBody:
		p.kind, p.err = oversized, errors.New("the reply is larger than 64 MiB")
	case len(bytes.TrimSpace(body)) == 0:
		p.err = errors.New("the reply is empty")
	default:
		if p.err = c.decode(body); p.err == nil {
			return nil
		}
		api, ok := errors.AsType[*apiError](p.err)
		switch {
		case !json.Valid(body):
			p.err = notJSON(res.Header.Get("Content-Type"), body)
		case ok: // some relays send errors with a status of success
			p.kind, p.api, p.status = refusedByAPI, *api, api.status(res.StatusCode)
		}
	}
	return p
}

// interrupted distinguishes the reasons why an attempt was interrupted.
func interrupted(ctx, attempt context.Context, err error) *problem {
	switch {
	case ctx.Err() != nil:
		return &problem{kind: stopped, err: ctx.Err()}
	case attempt.Err() != nil:
		return &problem{kind: timedOut, err: err}
	default:
		return &problem{kind: network, err: err}
	}
}
