package modelapi

import (
	"container/list"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/plumb-eval/plumb"
)

const (
	// embedBatch and embedBytes bound one request for vectors, embedLanes how many of them are made at once: what
	// comes while all are busy is gathered for the next.
	embedBatch = 100
	embedBytes = 400_000
	embedLanes = 4
	// embedKept is how many vectors are kept in memory: those of the texts asked for last.
	embedKept = 4096
)

// DefaultEmbedding names the embedding model that is used with a provider unless the user names another. ok is false
// where there is none that every account or server has.
func DefaultEmbedding(provider string) (model string, ok bool) {
	p, _ := ProviderNamed(provider)
	return p.embedding, p.embedding != ""
}

// NewEmbedder returns an embedder that asks the model that cfg describes; an empty Model means the provider's
// [DefaultEmbedding]. It asks for a text once however many callers want it, puts texts of several callers in one
// request, and keeps the vectors of some thousand texts. What a request used is told to the caller who made it: the sums
// are right, the shares are not.
func NewEmbedder(cfg Config) (*plumb.Embedder, error) {
	if cfg.Model == "" {
		model, ok := DefaultEmbedding(cfg.Provider)
		if !ok {
			if _, known := ProviderNamed(cfg.Provider); !known {
				return nil, unknownProvider(cfg.Provider)
			}
			err := fmt.Errorf("%s has no default embedding model", cfg.Provider)
			return nil, plumb.WithHint(err, "name one in the embedder setting, as provider:model, for example openai:text-embedding-3-small")
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
		return nil, plumb.WithHint(err, "name another embedder, for example openai:text-embedding-3-small or ollama:nomic-embed-text")
	}
	e := &embedder{target: t, wire: w, url: t.at(w.embedPath(t.model)), timeout: cfg.RequestTimeout, texts: map[textKey]*embedded{}, changed: make(chan struct{})}
	if e.timeout <= 0 {
		e.timeout = time.Minute
	}
	e.header.Set("Content-Type", "application/json")
	return &plumb.Embedder{Name: t.name(), Embed: e.embed}, nil
}

type textKey [sha256.Size]byte

// embedded is one text on its way to a vector, or there.
type embedded struct {
	key    textKey
	text   string // until it is sent
	state  embedState
	vector []float32
	kept   *list.Element
}

type embedState int

const (
	queued embedState = iota
	asked
	known
)

// embedder gathers, asks for and keeps vectors. Whoever needs one and finds a free lane asks for all that are queued,
// others' included, so that no goroutine is needed; others wait for a change.
type embedder struct {
	target
	wire    embedWire
	url     *url.URL
	timeout time.Duration

	mu    sync.Mutex
	texts map[textKey]*embedded
	queue []*embedded
	busy  int
	// order has the known texts, the one used last in front.
	order    list.List
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

// collect fills in the vectors that are known, queues the texts that nobody has asked for, and counts what is missing.
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
			e.order.MoveToFront(t.kept)
		} else {
			missing++
		}
	}
	return missing
}

// take removes the next batch from the queue: whatever is there, or only one of the given texts.
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

// faulty reports whether a provider finds fault with what it was sent, rather than with the time or the sender.
func faulty(err error) bool {
	var f *plumb.Failure
	return errors.As(err, &f) && (f.HTTPStatus == http.StatusBadRequest ||
		f.HTTPStatus == http.StatusRequestEntityTooLarge || f.HTTPStatus == http.StatusUnprocessableEntity)
}

// settle keeps the vectors of a batch, or forgets the batch when there are none: whoever still wants one of its texts
// asks again, so that one caller's end is not everybody's.
func (e *embedder) settle(batch []*embedded, vectors [][]float32) {
	for i, t := range batch {
		if vectors == nil {
			delete(e.texts, t.key)
			continue
		}
		t.state, t.vector, t.text = known, vectors[i], ""
		t.kept = e.order.PushFront(t)
	}
	for e.order.Len() > embedKept {
		old, _ := e.order.Remove(e.order.Back()).(*embedded)
		delete(e.texts, old.key)
	}
	close(e.changed)
	e.changed = make(chan struct{})
}

// request asks for the vectors of one batch.
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
		if p.kind == stopped && !outOfTime(ctx) {
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

var errVectors = noAnswer("not one vector of numbers for each text, all of one length")

// vector is a list of finite numbers; nil for anything else.
type vector []float32

// UnmarshalJSONFrom reads the numbers, and leaves nil where one is none. Its errors are those of broken JSON.
func (v *vector) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	*v = nil
	if d.PeekKind() != '[' {
		return d.SkipValue()
	}
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	var numbers []float32
	good := true
	for d.PeekKind() != ']' {
		if d.PeekKind() != '0' {
			good = false
			if err := d.SkipValue(); err != nil {
				return err
			}
			continue
		}
		t, err := d.ReadToken()
		if err != nil {
			return err
		}
		f, err := t.Float()
		good = good && err == nil && math.Abs(f) <= math.MaxFloat32
		numbers = append(numbers, float32(f))
	}
	if good {
		*v = numbers
	}
	_, err := d.ReadToken()
	return err
}

// usable checks that there is a vector for each text, all of one length, and none without a direction.
func usable(vectors [][]float32) error {
	for _, v := range vectors {
		if len(v) == 0 || len(v) != len(vectors[0]) {
			return errVectors
		}
		if !slices.ContainsFunc(v, func(f float32) bool { return f != 0 }) {
			return noAnswer("a vector has no direction: all its numbers are 0")
		}
	}
	return nil
}
