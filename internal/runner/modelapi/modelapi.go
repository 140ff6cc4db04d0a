// Package modelapi runs prompts on language models over HTTP: OpenAI, Anthropic, Google, and every
// server that speaks OpenAI's wire format.
//
// Each wire format is one file with the structs of its requests and replies. The structs of replies
// distinguish an absent member from one that is null or of another type, because a reply without an
// answer must never be judged. One [Transport] carries all requests: it learns how many concurrent
// requests a provider accepts, waits when the provider asks for it, and retries requests after
// temporary failures. A [Model] joins the two, drops parameters that the model rejects, and writes
// the session report.
//
// The package does not read the environment: keys and addresses are in the [Config].
package modelapi

import (
	"cmp"
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

	"golang.org/x/net/http/httpguts"
	"golang.org/x/sync/semaphore"

	"github.com/plumb-eval/plumb"
)

const (
	// defaultMaxOutputTokens caps an answer by default. It leaves room for a model to think.
	defaultMaxOutputTokens = 4096
	// defaultRequestTimeout limits one request by default. It is long because replies are not
	// streamed: a model that thinks for minutes sends nothing for minutes.
	defaultRequestTimeout = 5 * time.Minute
)

// Config describes a model. Provider, Model and Transport are required.
type Config struct {
	// ID is the name of the runner; "" means "provider:model".
	ID string
	// Provider and Model are what [Resolve] returns. The provider may be any name or alias of
	// [ProviderNamed].
	Provider, Model string
	// BaseURL replaces the provider's own address.
	BaseURL string
	// API is "chat" or "responses" for servers of OpenAI's family; "" means "chat".
	API    string
	APIKey string
	// Headers are added to each request, and replace those that would be sent otherwise.
	Headers map[string]string
	// Parameters are the requested parameters. The provider chooses the nil fields, except that a
	// nil MaxOutputTokens means defaultMaxOutputTokens. With a MaxOutputTokens of 0, requests have
	// no cap if the provider does not require one.
	Parameters plumb.Parameters
	// RequestTimeout limits one request, including the reading of its answer; 0 means
	// defaultRequestTimeout.
	RequestTimeout time.Duration
	// MaxParallel bounds the concurrent calls to Run; 0 means no bound.
	MaxParallel int
	Transport   *Transport
	// Note is called with messages for the user, at most once for each text, from the goroutines of
	// Run. It may be nil.
	Note func(plumb.Note)
}

// Model sends prompts to one model. It is a [plumb.Runner].
type Model struct {
	target
	info     plumb.RunnerInfo
	url      *url.URL
	timeout  time.Duration
	refused  refusals
	parallel *semaphore.Weighted
	note     func(plumb.Note)
}

// target is the target of requests, with the data that errors name.
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

// New returns the model that cfg describes. It sends no request. Its errors report mistakes in the
// configuration.
func New(cfg Config) (*Model, error) {
	t, err := newTarget(cfg)
	if err != nil {
		return nil, err
	}
	m := &Model{target: t, timeout: cfg.RequestTimeout, note: cfg.Note}
	if m.timeout <= 0 {
		m.timeout = defaultRequestTimeout
	}
	if cfg.MaxParallel > 0 {
		m.parallel = semaphore.NewWeighted(int64(cfg.MaxParallel))
	}
	m.url = t.at(t.wire.path(cfg.Model))
	m.header.Set("Content-Type", "application/json")
	p := cfg.Parameters
	if p.MaxOutputTokens == nil {
		p.MaxOutputTokens = new(int64(defaultMaxOutputTokens))
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
		return target{}, fmt.Errorf("%s: no model name", p.Name)
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
	t := target{
		provider: p, wire: w, model: cfg.Model, base: base, key: cfg.APIKey, transport: cfg.Transport,
		header: http.Header{},
	}
	t.header.Set("Accept", "application/json")
	if ua := cfg.Transport.opts.UserAgent; ua != "" {
		t.header.Set("User-Agent", ua)
	}
	if base.User != nil {
		password, _ := base.User.Password()
		user := base64.StdEncoding.EncodeToString([]byte(base.User.Username() + ":" + password))
		t.header.Set("Authorization", "Basic "+user)
		base.User = nil
	}
	w.authorize(t.header, cfg.APIKey)
	for name, value := range cfg.Headers {
		if !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) {
			return target{}, fmt.Errorf("%s: header %q has invalid characters", p.Name, name)
		}
		t.header.Set(name, value)
	}
	if !httpguts.ValidHeaderFieldValue(cfg.APIKey) {
		return target{}, plumb.Failuref(plumb.OriginRunner,
			"%s: the API key has invalid characters, for example a line break", p.Name)
	}
	if cfg.APIKey == "" && !carriesKey(cfg.Headers) && p.NeedsKey(cfg.BaseURL) {
		err := fmt.Errorf("%s: no API key", p.Name)
		return target{}, plumb.Failed(plumb.OriginRunner, plumb.WithHint(err, keyHint(p)))
	}
	t.lane = cfg.Transport.lane(p.Name, base.Scheme+"://"+base.Host, cfg.APIKey)
	return t, nil
}

// carriesKey reports whether the user's own headers replace the key.
func carriesKey(headers map[string]string) bool {
	for name := range headers {
		switch http.CanonicalHeaderKey(name) {
		case "Authorization", "X-Api-Key", "Api-Key", "X-Goog-Api-Key":
			return true
		}
	}
	return false
}

// at returns the address of a path below the base URL.
func (t *target) at(path string) *url.URL {
	u := *t.base
	u.Path = strings.TrimRight(u.Path, "/") + path
	return &u
}

// name is "provider:model".
func (t *target) name() string { return t.provider.Name + ":" + t.model }

// configHash identifies a runner configuration without its secrets: it includes only the names of
// headers.
func configHash(info plumb.RunnerInfo, cfg Config) string {
	doc, _ := json.Marshal(map[string]any{ //nolint:errchkjson // made of strings and numbers
		"provider": info.Agent.Type, "model": info.Agent.Model, "baseURL": info.BaseURL,
		"api": strings.ToLower(cfg.API), "headers": slices.Sorted(maps.Keys(cfg.Headers)),
		"parameters": info.Parameters,
	})
	sum := sha256.Sum256(doc)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Info returns the description and the configuration of the model.
func (m *Model) Info() plumb.RunnerInfo { return m.info }

// Run sends one prompt to the model. See [plumb.Runner] for the contract.
func (m *Model) Run(ctx context.Context, req plumb.Request) (*plumb.SessionReport, error) {
	if m.parallel != nil {
		resume := plumb.Waiting(ctx)
		err := m.parallel.Acquire(ctx, 1)
		resume()
		select {
		case <-plumb.Stopping(ctx):
			if err == nil {
				m.parallel.Release(1)
				err = plumb.ErrStopping
			}
		default:
		}
		if err != nil {
			return m.broken(ctx, newConversation(m, req), &problem{kind: stopped, err: err})
		}
		defer m.parallel.Release(1)
	}
	s := newConversation(m, req)
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
			s.reply = reply{finish: plumb.FinishRefused, word: cmp.Or(p.api.code, p.api.message)}
			return s.report(ex), nil
		}
		p.attempts = s.attempts
		return m.broken(ctx, s, p)
	}
}

// broken ends a session without a complete answer. At the time limit it keeps the part that
// arrived.
func (m *Model) broken(ctx context.Context, s *conversation, p *problem) (*plumb.SessionReport, error) {
	if p.kind == stopped && !OutOfTime(ctx) {
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
