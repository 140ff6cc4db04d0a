package submit

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
	"golang.org/x/net/http/httpproxy"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/files"
	"github.com/plumb-eval/plumb/internal/text"
)

const (
	firstWait  = 500 * time.Millisecond
	longWait   = 30 * time.Second
	maxElapsed = 10 * time.Minute
	// maxFaults is the number of attempts while a server fails, and maxDials while nothing answers.
	maxFaults, maxDials = 6, 3
	maxReply            = 1 << 20
)

// Origin returns the origin of a server as a user writes it. Plain http is only for this machine,
// because everybody on the way could read the token.
func Origin(address string) (string, error) {
	u, err := url.Parse(strings.TrimSpace(address))
	if err == nil && u.Host == "" && !strings.Contains(address, "://") {
		u, err = url.Parse("https://" + strings.TrimSpace(address))
	}
	switch {
	case err != nil || u.Hostname() == "":
		return "", plumb.WithHint(fmt.Errorf("%q is not the address of a server", address), "such as https://plumb.example.com")
	case u.User != nil:
		return "", plumb.WithHint(errors.New("the address of a server has no name and no password"), "plumb login keeps the token")
	case u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "":
		return "", plumb.WithHint(fmt.Errorf("the address of a server has no path: %s", address), "write "+u.Scheme+"://"+u.Host)
	case u.Scheme == "http" && !loopback(u.Hostname()):
		return "", plumb.WithHint(fmt.Errorf("%s is not encrypted", address), "write https://"+u.Host)
	case u.Scheme != "https" && u.Scheme != "http":
		return "", plumb.WithHint(fmt.Errorf("%s: a server has an address with https", address), "write https://"+u.Host)
	}
	host := strings.ToLower(u.Host)
	if port := u.Port(); port == "443" && u.Scheme == "https" || port == "80" && u.Scheme == "http" {
		host = strings.TrimSuffix(host, ":"+port)
	}
	return u.Scheme + "://" + host, nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

// Client speaks with one server. It sends its token to this server only, and follows no redirect.
type Client struct {
	// Origin is the address of the server; see [Origin]. Token may be "".
	Origin, Token string
	UserAgent     string
	// HTTP makes the requests; see [NewHTTP].
	HTTP *http.Client
	// Sleep waits; nil waits on the clock. Retrying is told why a request waits; it may be nil.
	Sleep    func(context.Context, time.Duration) error
	Retrying func(reason string, wait time.Duration)
}

// NewHTTP returns what makes the requests of clients, through the proxies that getenv names.
func NewHTTP(getenv func(string) string) *http.Client {
	either := func(name string) string {
		if v := getenv(name); v != "" {
			return v
		}
		return getenv(strings.ToLower(name))
	}
	proxy := (&httpproxy.Config{
		HTTPProxy: either("HTTP_PROXY"), HTTPSProxy: either("HTTPS_PROXY"), NoProxy: either("NO_PROXY"),
	}).ProxyFunc()
	return &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			Proxy:               func(r *http.Request) (*url.URL, error) { return proxy(r.URL) },
			DialContext:         (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
			TLSHandshakeTimeout: 10 * time.Second, ResponseHeaderTimeout: 2 * time.Minute, ForceAttemptHTTP2: true,
			ExpectContinueTimeout: time.Second,
		},
	}
}

// Receipt is the reply of a server to a submission.
type Receipt struct {
	ID      string `json:"id"`
	Address string `json:"address"`
	// State is "ok", or "held" if the submission counts nowhere until a maintainer looks at it.
	State   string `json:"state,omitempty"`
	Trust   string `json:"trust,omitempty"`
	Results int    `json:"results"`
	// Notes are for the user: why a submission is held, and what the server left out.
	Notes []string `json:"notes,omitempty"`
	known bool     // the server had this log already
}

// Account is who a token belongs to.
type Account struct {
	Name   string   `json:"name"`
	Scopes []string `json:"scopes"`
}

// Refusal is the reply of a server that a retry does not change.
type Refusal struct {
	Status  int
	Message string
	Faults  []string
}

func (e *Refusal) Error() string {
	return strings.Join(append([]string{e.Message}, e.Faults...), "\n  ")
}

// Advice returns what the user can do.
func (e *Refusal) Advice() string {
	switch {
	case e.Status == http.StatusUnauthorized:
		return "plumb login keeps a token for the server; PLUMB_TOKEN is used before it"
	case e.Status == http.StatusForbidden:
		return "ask a maintainer of the project for the role submitter; plumb whoami shows the account"
	case e.Status/100 == 3:
		return "give the address that it redirects to: Plumb sends a token and a log only where you say"
	}
	return ""
}

// temporary reports whether the same request can succeed a little later.
func (e *Refusal) temporary() bool {
	return slices.Contains([]int{http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests}, e.Status) || e.Status >= 500
}

// final reports whether it is useless to send the log later, by somebody who may, to a server that works.
func (e *Refusal) final() bool {
	return !e.temporary() && !slices.Contains([]int{http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound}, e.Status)
}

// Me returns the account of the token.
func (c *Client) Me(ctx context.Context) (a Account, err error) {
	_, err = c.do(ctx, http.MethodGet, "/api/v1/me", nil, nil, &a)
	return a, err
}

// submit sends a submission.
func (c *Client) submit(ctx context.Context, s *Submission, now func() time.Time) (*Receipt, error) {
	header := http.Header{}
	header.Set("Content-Type", "application/jsonl")
	header.Set("Content-Encoding", "zstd")
	header.Set("Plumb-Digest", s.Digest)
	if value, err := s.Context.header(); err != nil {
		return nil, err
	} else if value != "" {
		header.Set("Plumb-Context", value)
	}
	body := func() (io.ReadCloser, int64, error) {
		header.Set("Plumb-Sent", now().UTC().Format("2006-01-02T15:04:05.000Z07:00"))
		f, err := files.Open(s.file)
		return f, s.Packed, err
	}
	r := &Receipt{}
	status, err := c.do(ctx, http.MethodPost, "/api/v1/runs?project="+url.QueryEscape(s.Project), header, body, r)
	if err != nil {
		return nil, err
	}
	r.known = status == http.StatusOK
	if at, err := url.Parse(r.Address); err == nil && r.Address != "" && at.Host == "" {
		r.Address = c.Origin + "/" + strings.TrimPrefix(r.Address, "/")
	}
	return r, nil
}

// do makes a request, and repeats it after failures that pass. It decodes the reply into reply.
func (c *Client) do(
	ctx context.Context, method, path string, header http.Header, body func() (io.ReadCloser, int64, error), reply any,
) (status int, err error) {
	waits := &backoff.ExponentialBackOff{
		InitialInterval: firstWait, RandomizationFactor: 0.5, Multiplier: 2, MaxInterval: longWait,
	}
	sleep := c.Sleep
	if sleep == nil {
		sleep = wait
	}
	waited, faults, dials := time.Duration(0), 0, 0
	started := time.Now()
	for {
		status, again, failed := c.try(ctx, method, path, header, body, reply)
		if failed == nil || again == nil || ctx.Err() != nil {
			return status, failed
		}
		var dial *net.OpError
		switch {
		case errors.As(failed, &dial) && dial.Op == "dial":
			dials++
		case status != http.StatusTooManyRequests:
			faults++
		}
		pause := max(waits.NextBackOff(), *again)
		if faults >= maxFaults || dials >= maxDials || max(waited, time.Since(started))+pause > maxElapsed {
			return status, failed
		}
		if c.Retrying != nil {
			c.Retrying(failed.Error(), pause)
		}
		waited += pause
		if err := sleep(ctx, pause); err != nil {
			return status, errors.Join(failed, err)
		}
	}
}

func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// try makes one request. again is the least wait before another one, nil if that would be useless.
func (c *Client) try(
	ctx context.Context, method, path string, header http.Header, body func() (io.ReadCloser, int64, error), reply any,
) (status int, again *time.Duration, err error) {
	var content io.ReadCloser
	size := int64(0)
	if body != nil {
		if content, size, err = body(); err != nil {
			return 0, nil, err
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, c.Origin+path, content)
	if err != nil {
		return 0, nil, err
	}
	maps.Copy(req.Header, header)
	req.ContentLength = size
	req.Header.Set("User-Agent", c.UserAgent)
	req.Header.Set("Accept", "application/json, application/problem+json")
	if c.Token != "" {
		req.Header.Set("Authorization", "Bearer "+c.Token)
	}
	res, err := c.HTTP.Do(req)
	if err != nil {
		if cause, ok := errors.AsType[*url.Error](err); ok { // it repeats the address
			err = cause.Err
		}
		return 0, new(time.Duration(0)), fmt.Errorf("%s: %w", c.Origin, err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(io.LimitReader(res.Body, maxReply))
	switch {
	case res.StatusCode/100 == 3:
		return res.StatusCode, nil, &Refusal{Status: res.StatusCode, Message: c.Origin + " redirects to another address"}
	case res.StatusCode/100 != 2:
		refusal := c.refusal(res, data)
		if refusal.temporary() {
			again = new(retryAfter(res.Header))
		}
		return res.StatusCode, again, refusal
	case err != nil:
		return 0, new(time.Duration(0)), fmt.Errorf("%s: read the reply: %w", c.Origin, err)
	}
	if err := json.Unmarshal(data, reply); err != nil {
		return res.StatusCode, nil, plumb.WithHint(fmt.Errorf("%s does not answer as a Plumb server does", c.Origin), "check the address")
	}
	return res.StatusCode, nil, nil
}

// refusal returns what a server says about a request, without the token.
func (c *Client) refusal(res *http.Response, data []byte) *Refusal {
	var problem struct {
		Title, Detail string
		Errors        []struct{ Message, Location string }
	}
	_ = json.Unmarshal(data, &problem) // another program in between may answer with HTML
	r := &Refusal{Status: res.StatusCode, Message: c.Origin + ": " + res.Status}
	clean := func(s string) string {
		if c.Token != "" {
			s = strings.ReplaceAll(s, c.Token, "[TOKEN]")
		}
		return text.Line(s, 300)
	}
	for _, words := range []string{problem.Detail, problem.Title} {
		if words != "" && words != http.StatusText(res.StatusCode) {
			r.Message += ": " + clean(words)
			break
		}
	}
	const most = 10
	for i, e := range problem.Errors {
		if i == most {
			r.Faults = append(r.Faults, fmt.Sprintf("and %d more", len(problem.Errors)-most))
			break
		}
		r.Faults = append(r.Faults, clean(strings.TrimPrefix(e.Location+": "+e.Message, ": ")))
	}
	return r
}

// retryAfter returns how long a reply asks to wait: seconds, or a date by the server's clock.
func retryAfter(h http.Header) time.Duration {
	v := strings.TrimSpace(h.Get("Retry-After"))
	if s, err := strconv.ParseFloat(v, 64); err == nil && s > 0 && !math.IsNaN(s) {
		return time.Duration(min(s, (24*time.Hour).Seconds()) * float64(time.Second))
	}
	at, err := http.ParseTime(v)
	if err != nil {
		return 0
	}
	now, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		now = time.Now()
	}
	return max(0, at.Sub(now))
}

// Context is what a submission says about itself beside its log, because it can name people.
type Context struct {
	Repository  string            `json:"repository,omitempty"`
	Commit      string            `json:"commit,omitempty"`
	Branch      string            `json:"branch,omitempty"`
	PullRequest string            `json:"pullRequest,omitempty"`
	CI          string            `json:"ci,omitempty"`
	Job         string            `json:"job,omitempty"`
	URL         string            `json:"url,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
}

// contextBytes is the largest context as it is sent.
const contextBytes = 8 << 10

// header returns the context as it is sent: base64url, without padding, of its JSON.
func (c *Context) header() (string, error) {
	if c == nil {
		return "", nil
	}
	data, err := json.Marshal(c)
	if err != nil || string(data) == "{}" {
		return "", err
	}
	value := base64.RawURLEncoding.EncodeToString(data)
	if len(value) > contextBytes {
		return "", plumb.WithHint(fmt.Errorf("the context of the submission has %s, more than %s", text.Size(int64(len(value))),
			text.Size(contextBytes)), "use fewer or shorter labels")
	}
	return value, nil
}

// OfCI returns what the variables of a CI service say: those of GitHub Actions, which Forgejo and Gitea
// have too, and of GitLab. CI is "" anywhere else.
func OfCI(getenv func(string) string) (c Context) {
	switch {
	case getenv("GITHUB_ACTIONS") == "true":
		server := getenv("GITHUB_SERVER_URL") + "/" + getenv("GITHUB_REPOSITORY")
		c = Context{
			CI: "github", Repository: server, Commit: getenv("GITHUB_SHA"), Branch: getenv("GITHUB_HEAD_REF"),
			Job: getenv("GITHUB_JOB"), URL: server + "/actions/runs/" + getenv("GITHUB_RUN_ID"),
		}
		if c.Branch == "" {
			c.Branch = getenv("GITHUB_REF_NAME")
		}
		if n, ok := strings.CutPrefix(getenv("GITHUB_REF"), "refs/pull/"); ok {
			c.PullRequest, _, _ = strings.Cut(n, "/")
		}
	case getenv("GITLAB_CI") == "true":
		c = Context{
			CI: "gitlab", Repository: getenv("CI_PROJECT_URL"), Commit: getenv("CI_COMMIT_SHA"),
			Branch: getenv("CI_COMMIT_REF_NAME"), PullRequest: getenv("CI_MERGE_REQUEST_IID"), Job: getenv("CI_JOB_NAME"),
			URL: getenv("CI_JOB_URL"),
		}
	}
	return c
}
