// Package modelapi runs prompts on language models over HTTP: OpenAI, Anthropic, Google, and every server that speaks
// OpenAI's wire format.
//
// Each wire format is one dialect, a pair of functions between the vocabulary of Plumb and the bytes on the wire. Requests
// have the types of the providers' own SDKs; replies have types that tell an absent member from one that is null or of
// another type, since a reply without an answer must never be judged. One [Transport] carries the requests of all of them: it finds out how many at once a provider stands, waits
// when told to, and makes again what failed in passing. A [Model] joins the two, drops parameters that the model does
// not take, and writes the session report.
//
// Nothing here reads the environment: keys and addresses come in with the [Config].
package modelapi

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/plumb-eval/plumb"
)

const (
	// DefaultMaxOutputTokens caps an answer where nobody says otherwise. It leaves room for a model to think.
	DefaultMaxOutputTokens = 4096
	// DefaultRequestTimeout limits one request where nobody says otherwise. It is long because a request is not
	// streamed, so that a model which thinks for minutes is silent for minutes.
	DefaultRequestTimeout = 5 * time.Minute
)

// Config describes a model to ask. Provider, Model and Transport are required.
type Config struct {
	// ID names the runner; "" takes "provider:model".
	ID string
	// Provider and Model are what [Resolve] returns. The provider may be any name or alias of [ProviderNamed].
	Provider, Model string
	// BaseURL replaces the provider's own address.
	BaseURL string
	// API is "chat" or "responses" for servers of OpenAI's family; "" means "chat".
	API    string
	APIKey string
	// Headers are added to each request, and replace those that would be sent otherwise.
	Headers map[string]string
	// Parameters are what the run asks for. Nil fields are left to the provider, except that a nil MaxOutputTokens means
	// DefaultMaxOutputTokens. A MaxOutputTokens of 0 sends no cap where the provider can do without.
	Parameters plumb.Parameters
	// RequestTimeout limits one request, the reading of its answer included; 0 means DefaultRequestTimeout.
	RequestTimeout time.Duration
	// MaxParallel bounds the calls to Run that are under way at once; 0 leaves it to the caller.
	MaxParallel int
	Transport   *Transport
	// Note is called, at most once for each text, with what the user should know. It may be nil. It is called from the
	// goroutines of Run.
	Note func(plumb.Note)
}

// Model asks one model. It is a [plumb.Runner].
type Model struct {
	target
	info     plumb.RunnerInfo
	url      *url.URL
	timeout  time.Duration
	refused  refusals
	parallel *semaphore.Weighted
	note     func(plumb.Note)
}

// target is where requests go, and what is needed to talk about it.
type target struct {
	provider  Provider
	wire      wire
	model     string
	base      *url.URL
	header    http.Header
	key       string
	transport *Transport
	lane      *lane
}

// New returns the model that cfg describes. It makes no request. Its errors are mistakes in the configuration.
func New(cfg Config) (*Model, error) {
	t, err := newTarget(cfg)
	if err != nil {
		return nil, err
	}
	m := &Model{target: t, timeout: cfg.RequestTimeout, note: cfg.Note}
	if m.timeout <= 0 {
		m.timeout = DefaultRequestTimeout
	}
	if cfg.MaxParallel > 0 {
		m.parallel = semaphore.NewWeighted(int64(cfg.MaxParallel))
	}
	m.url = t.at(t.wire.path(cfg.Model))
	m.header.Set("Content-Type", "application/json")
	p := cfg.Parameters
	if p.MaxOutputTokens == nil {
		p.MaxOutputTokens = new(int64(DefaultMaxOutputTokens))
	}
	if p.Seed != nil && t.wire.parameters().seed32 && (*p.Seed > math.MaxInt32 || *p.Seed < math.MinInt32) {
		return nil, fmt.Errorf("seed %d does not fit the 32 bits that %s accepts", *p.Seed, t.provider.Name)
	}
	id := cfg.ID
	if id == "" {
		id = t.provider.Name + ":" + cfg.Model
	}
	m.info = plumb.RunnerInfo{
		ID: id, PathKey: plumb.PathKey(id), Kind: plumb.RunnerModel,
		Agent: plumb.AgentInfo{Type: t.provider.Name, Model: cfg.Model}, Parameters: p,
	}
	if own, err := t.provider.endpoint(""); err != nil || own.String() != t.base.String() {
		m.info.BaseURL = t.base.String()
	}
	m.info.Config = configHash(m.info, cfg)
	return m, nil
}

func newTarget(cfg Config) (target, error) {
	p, ok := ProviderNamed(cfg.Provider)
	switch {
	case !ok:
		return target{}, unknownProvider(cfg.Provider)
	case cfg.Model == "":
		return target{}, fmt.Errorf("%s: no model named", p.Name)
	case cfg.Transport == nil:
		return target{}, fmt.Errorf("%s:%s: no transport", p.Name, cfg.Model)
	}
	w, err := p.wire(strings.ToLower(cfg.API))
	if err != nil {
		return target{}, err
	}
	base, err := p.endpoint(cfg.BaseURL)
	if err != nil {
		return target{}, err
	}
	t := target{provider: p, wire: w, model: cfg.Model, base: base, key: cfg.APIKey, transport: cfg.Transport, header: http.Header{}}
	t.header.Set("Accept", "application/json")
	if ua := cfg.Transport.opts.UserAgent; ua != "" {
		t.header.Set("User-Agent", ua)
	}
	if base.User != nil {
		password, _ := base.User.Password()
		t.header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(base.User.Username()+":"+password)))
		base.User = nil
	}
	w.authorize(t.header, cfg.APIKey)
	for name, value := range cfg.Headers {
		if !validHeader(name, value) {
			return target{}, fmt.Errorf("%s: header %q is not one that can be sent", p.Name, name)
		}
		t.header.Set(name, value)
	}
	if !validHeader("Authorization", cfg.APIKey) {
		return target{}, plumb.Failuref(plumb.OriginRunner, "%s: the API key has characters that no key has: line breaks, perhaps", p.Name)
	}
	if cfg.APIKey == "" && !carriesKey(cfg.Headers) && p.NeedsKey(cfg.BaseURL) {
		return target{}, plumb.Failed(plumb.OriginRunner, plumb.WithHint(fmt.Errorf("%s: no API key", p.Name), keyHint(p)))
	}
	t.lane = cfg.Transport.lane(p.Name, base.Scheme+"://"+base.Host, cfg.APIKey)
	return t, nil
}

// carriesKey reports whether headers of the user's own stand in for the key.
func carriesKey(headers map[string]string) bool {
	for name := range headers {
		switch http.CanonicalHeaderKey(name) {
		case "Authorization", "X-Api-Key", "Api-Key", "X-Goog-Api-Key":
			return true
		}
	}
	return false
}

// validHeader keeps out what would make every request fail before it is sent.
func validHeader(name, value string) bool {
	return name != "" && !strings.ContainsAny(name, " \t\r\n:") && !strings.ContainsFunc(value, func(r rune) bool {
		return r < ' ' && r != '\t' || r == 0x7f
	})
}

// at returns the address of a path below the base URL.
func (t *target) at(path string) *url.URL {
	u := *t.base
	u.Path = strings.TrimRight(u.Path, "/") + path
	return &u
}

// name is "provider:model".
func (t *target) name() string { return t.provider.Name + ":" + t.model }

// configHash identifies a runner configuration without its secrets: of headers it knows the names only.
func configHash(info plumb.RunnerInfo, cfg Config) string {
	doc, _ := json.Marshal(map[string]any{ //nolint:errchkjson // made of strings and numbers
		"provider": info.Agent.Type, "model": info.Agent.Model, "baseURL": info.BaseURL, "api": strings.ToLower(cfg.API),
		"headers": slices.Sorted(maps.Keys(cfg.Headers)), "parameters": info.Parameters,
	})
	sum := sha256.Sum256(doc)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Info says what the model is and was configured to do.
func (m *Model) Info() plumb.RunnerInfo { return m.info }

// Run asks the model one question. See [plumb.Runner] for the contract.
func (m *Model) Run(ctx context.Context, req plumb.Request) (*plumb.SessionReport, error) {
	if m.parallel != nil {
		resume := plumb.Waiting(ctx)
		err := m.parallel.Acquire(ctx, 1)
		resume()
		if err != nil {
			return m.broken(ctx, newSession(m, req), &problem{kind: stopped, err: err})
		}
		defer m.parallel.Release(1)
	}
	s := newSession(m, req)
	if err := s.check(); err != nil {
		return nil, plumb.Failed(plumb.OriginRunner, err)
	}
	for {
		a := s.next()
		body, err := m.wire.encode(a)
		if err != nil {
			return nil, plumb.Failuref(plumb.OriginRunner, "write a request to %s: %w", m.name(), err)
		}
		c := call{
			lane: m.lane, method: http.MethodPost, url: m.url, header: m.header, body: body, timeout: m.timeout,
			decode: func(b []byte) (err error) {
				s.reply, err = m.wire.decode(b)
				return err
			},
		}
		ex, p := m.transport.do(ctx, &c)
		s.attempts += ex.attempts
		switch {
		case p == nil:
			return s.report(ex), nil
		case s.yields(p, a):
			continue
		case p.kind == refusedByAPI && p.api.blocked():
			s.reply = reply{finish: plumb.FinishRefused, word: firstOf(p.api.code, p.api.message)}
			return s.report(ex), nil
		}
		p.attempts = s.attempts
		return m.broken(ctx, s, p)
	}
}

// broken ends a session without an answer. An answer that had begun to arrive when the time was up is kept.
func (m *Model) broken(ctx context.Context, s *session, p *problem) (*plumb.SessionReport, error) {
	if p.kind == stopped && !outOfTime(ctx) {
		if cause := context.Cause(ctx); cause != nil && !errors.Is(p.err, cause) {
			return nil, fmt.Errorf("ask %s: %w: %w", m.name(), p.err, cause)
		}
		return nil, fmt.Errorf("ask %s: %w", m.name(), p.err)
	}
	f := m.failure(p)
	if p.kind == stopped && len(p.partial) > 0 {
		return s.cutOff(p), f
	}
	return nil, f
}
