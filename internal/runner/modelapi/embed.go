package modelapi

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	json "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/plumb-eval/plumb"
)

const (
	// embedBatch and embedBytes bound one request for vectors, embedLanes the concurrent requests:
	// texts that come while all are busy wait for the next request.
	embedBatch = 100
	embedBytes = 400_000
	embedLanes = 4
	// embedKept is the number of vectors in memory: those of the newest texts.
	embedKept = 4096
)

// DefaultEmbedding returns the embedding model that a provider uses unless the user names another.
// ok is false if the provider has no model that every account or server has.
func DefaultEmbedding(provider string) (model string, ok bool) {
	p, _ := ProviderNamed(provider)
	return p.embedding, p.embedding != ""
}

// NewEmbedder returns an embedder that asks the model that cfg describes; an empty Model means the
// provider's [DefaultEmbedding]. It requests each text once even if several callers want it,
// combines the texts of several callers in one request, and keeps the vectors of some thousand
// texts. The usage of a request is reported to the caller that sent it: the sum over all callers is
// right, the share of each is not.
func NewEmbedder(cfg Config) (*plumb.Embedder, error) {
	if cfg.Model == "" {
		model, ok := DefaultEmbedding(cfg.Provider)
		if !ok {
			if _, known := ProviderNamed(cfg.Provider); !known {
				return nil, unknownProvider(cfg.Provider)
			}
			err := fmt.Errorf("%s has no default embedding model", cfg.Provider)
			return nil, plumb.WithHint(err,
				"name one in the embedder setting, as provider:model, for example openai:text-embedding-3-small")
		}
		cfg.Model = model
	}
	t, err := newTarget(cfg)
	if err != nil {
		return nil, err
	}
	w, ok := t.wire.(embedWire)
	if !ok {
		err := fmt.Errorf("%s has no embedding models", t.provider.Name)
		return nil, plumb.WithHint(err,
			"name another embedder, for example openai:text-embedding-3-small or ollama:nomic-embed-text")
	}
	e := &embedder{
		target: t, wire: w, url: t.at(w.embedPath(t.model)),
		timeout: cfg.RequestTimeout, texts: map[textKey]*embedded{}, changed: make(chan struct{}),
	}
	if e.timeout <= 0 {
		e.timeout = time.Minute
	}
	e.header.Set("Content-Type", "application/json")
	return &plumb.Embedder{Name: t.name(), Embed: e.embed}, nil
}

type textKey [sha256.Size]byte

// embedded is one text, and its vector once it is known.
type embedded struct {
	key    textKey
	text   string // until it is sent
	state  embedState
	vector []float32
}

type embedState int

const (
	queued embedState = iota
	asked
	known
)

// embedder collects texts, requests their vectors and keeps them. A caller that finds a free lane
// requests all queued texts, including those of other callers, so no goroutine is needed. The other
// callers wait for a change.
type embedder struct {
	target
	wire    embedWire
	url     *url.URL
	timeout time.Duration

	mu       sync.Mutex
	texts    map[textKey]*embedded
	queue    []*embedded
	busy     int
	known    []*embedded   // in the order of their requests
	changed  chan struct{} // closed and replaced at each change
	reported string        // the model, as the provider names it
}

func (e *embedder) embed(ctx context.Context, texts []string) (plumb.Embedding, error) {
	var out plumb.Embedding
	out.Vectors = make([][]float32, len(texts))
	keys := make([]textKey, len(texts))
	for i, text := range texts {
		keys[i] = sha256.Sum256([]byte(text))
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	alone := false
	for {
		missing := e.collect(texts, keys, out.Vectors)
		if missing == 0 {
			out.Model = e.reported
			return out, nil
		}
		if len(e.queue) > 0 && e.busy < embedLanes {
			batch := e.take(alone, keys)
			e.busy++
			e.mu.Unlock()
			got, err := e.request(ctx, batch)
			e.mu.Lock()
			e.busy--
			e.settle(batch, got.Vectors)
			if err != nil {
				if len(batch) > 1 && !alone && faulty(err) {
					alone = true // another's text may be to blame
					continue
				}
				return out, err
			}
			e.reported = got.Model
			out.Requests += got.Requests
			out.Usage.Add(got.Usage)
			continue
		}
		changed := e.changed
		e.mu.Unlock()
		var err error
		select {
		case <-changed:
		case <-ctx.Done():
			err = ctx.Err()
		}
		e.mu.Lock()
		if err != nil {
			return out, fmt.Errorf("ask %s: %w", e.name(), err)
		}
	}
}

// collect fills in the known vectors, queues the texts that no caller has requested, and counts the
// missing vectors.
func (e *embedder) collect(texts []string, keys []textKey, vectors [][]float32) (missing int) {
	for i, key := range keys {
		if vectors[i] != nil {
			continue
		}
		t, ok := e.texts[key]
		if !ok {
			t = &embedded{key: key, text: texts[i]}
			e.texts[key] = t
			e.queue = append(e.queue, t)
		}
		if t.state == known {
			vectors[i] = t.vector
		} else {
			missing++
		}
	}
	return missing
}

// take removes the next batch from the queue: all that fits, or if alone is set, only one of the
// given texts.
func (e *embedder) take(alone bool, keys []textKey) []*embedded {
	var batch, rest []*embedded
	size := 0
	for _, t := range e.queue {
		fits := len(batch) == 0 || !alone && len(batch) < embedBatch && size+len(t.text) <= embedBytes
		if fits && (!alone || slices.Contains(keys, t.key)) {
			t.state = asked
			size += len(t.text)
			batch = append(batch, t)
		} else {
			rest = append(rest, t)
		}
	}
	e.queue = rest
	return batch
}

// faulty reports whether a provider rejects the content of a request, rather than its time or its
// sender.
func faulty(err error) bool {
	var f *plumb.Failure
	return errors.As(err, &f) && (f.HTTPStatus == http.StatusBadRequest ||
		f.HTTPStatus == http.StatusRequestEntityTooLarge || f.HTTPStatus == http.StatusUnprocessableEntity)
}

// settle keeps the vectors of a batch, or drops the batch if there are none. A caller that still
// needs one of its texts requests it again, so that a caller that is canceled does not fail the
// others.
func (e *embedder) settle(batch []*embedded, vectors [][]float32) {
	for i, t := range batch {
		if vectors == nil {
			delete(e.texts, t.key)
			continue
		}
		t.state, t.vector, t.text = known, vectors[i], ""
		e.known = append(e.known, t)
	}
	for len(e.known) > embedKept {
		delete(e.texts, e.known[0].key)
		e.known = e.known[1:]
	}
	close(e.changed)
	e.changed = make(chan struct{})
}

// request requests the vectors of one batch.
func (e *embedder) request(ctx context.Context, batch []*embedded) (plumb.Embedding, error) {
	texts := make([]string, len(batch))
	var chars int64
	for i, t := range batch {
		texts[i] = t.text
		chars += int64(utf8.RuneCountInString(t.text))
	}
	body, err := e.wire.encodeEmbed(e.model, texts)
	if err != nil {
		return plumb.Embedding{}, fmt.Errorf("write a request to %s: %w", e.name(), err)
	}
	var out plumb.Embedding
	ex, p := e.transport.do(ctx, &call{
		lane: e.lane, method: http.MethodPost, url: e.url, header: e.header, body: body, timeout: e.timeout,
		decode: func(b []byte) (err error) {
			out, err = e.wire.decodeEmbed(b, len(texts))
			return err
		},
	})
	if p != nil {
		if p.kind == stopped && !OutOfTime(ctx) {
			return plumb.Embedding{}, fmt.Errorf("ask %s: %w", e.name(), p.err)
		}
		return plumb.Embedding{}, e.failure(p)
	}
	out.Requests = ex.attempts
	out.Usage.InputChars = chars
	out.Usage.Total()
	if out.Model == "" {
		out.Model = e.model
	}
	return out, nil
}

var errVectors = noAnswer("it does not have one vector of the same length for each text")

// vector is a list of finite numbers; nil for anything else.
type vector []float32

// UnmarshalJSONFrom reads the numbers. Errors mean invalid JSON.
func (v *vector) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	*v = nil
	raw, err := d.ReadValue()
	if err != nil || raw.Kind() != '[' || bytes.Contains(raw, []byte("null")) { // which Unmarshal would read as 0
		return err
	}
	var numbers []float32
	if json.Unmarshal(raw, &numbers) == nil {
		*v = numbers
	}
	return nil
}

// usable checks that all vectors have the same length, and that each has a direction.
func usable(vectors [][]float32) error {
	for _, v := range vectors {
		if len(v) == 0 || len(v) != len(vectors[0]) {
			return errVectors
		}
		if !slices.ContainsFunc(v, func(f float32) bool { return f != 0 }) {
			return noAnswer("all numbers of a vector are 0")
		}
	}
	return nil
}
