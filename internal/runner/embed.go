package runner

import (
	"context"
	"fmt"
	"strings"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/runner/modelapi"
)

// NewEmbedder returns the embedder that cfg describes. Model is "provider:model", or only a
// provider, which means its default embedding model. With a cache each text is requested once.
// Vectors from the cache cost nothing.
func NewEmbedder(cfg plumb.RunnerConfig, env Env) (*plumb.Embedder, error) {
	e, err := openEmbedder(cfg, env.withDefaults())
	if err != nil {
		return nil, fmt.Errorf("embedder: %w", err)
	}
	return e, nil
}

// DefaultEmbedder returns the configuration of the default embedder of a runner's provider, and
// whether the provider has one.
func DefaultEmbedder(cfg plumb.RunnerConfig) (plumb.RunnerConfig, bool) {
	provider, ok := providerOf(cfg.Model)
	if !ok {
		return plumb.RunnerConfig{}, false
	}
	name, ok := modelapi.DefaultEmbedding(provider.Name)
	if !ok {
		return plumb.RunnerConfig{}, false
	}
	return plumb.RunnerConfig{
		Model: provider.Name + ":" + name, BaseURL: cfg.BaseURL, APIKeyEnv: cfg.APIKeyEnv, Headers: cfg.Headers,
		TimeoutMs: cfg.TimeoutMs,
	}, true
}

func openEmbedder(cfg plumb.RunnerConfig, env Env) (*plumb.Embedder, error) {
	kind, err := check(cfg)
	if err != nil {
		return nil, err
	}
	if kind != plumb.RunnerModel {
		return nil, plumb.WithHint(fmt.Errorf("%s cannot embed", article(kind)),
			`name an embedding model, such as "openai:text-embedding-3-small"`)
	}
	target, err := embeddingTarget(cfg.Model)
	if err != nil {
		return nil, err
	}
	config, err := modelConfig(cfg, env, target)
	if err != nil {
		return nil, err
	}
	inner, err := modelapi.NewEmbedder(config)
	if err != nil {
		return nil, err
	}
	e := &embedder{
		inner: inner, target: target, baseURL: withoutPassword(config.BaseURL), prices: env.Prices, note: env.Note,
		cache: env.Cache, only: env.CacheMode == CacheOnly,
	}
	return &plumb.Embedder{Name: inner.Name, Embed: e.embed}, nil
}

// embeddingTarget reads "provider:model", or a provider, which means its default embedding model.
func embeddingTarget(name string) (modelapi.Target, error) {
	provider, model, named := strings.Cut(name, ":")
	known, ok := modelapi.ProviderNamed(provider)
	if !ok {
		return modelapi.Resolve(name)
	}
	if named && model != "" {
		return modelapi.Target{Provider: known.Name, Model: model}, nil
	}
	model, _ = modelapi.DefaultEmbedding(known.Name) // modelapi.NewEmbedder reports that there is none
	return modelapi.Target{Provider: known.Name, Model: model}, nil
}

// embedder is an embedding model with its price and its cache.
type embedder struct {
	inner   *plumb.Embedder
	target  modelapi.Target
	baseURL string
	prices  *Prices
	note    func(plumb.Note)
	// cache is nil if there is none. If only is set, no request is sent.
	cache *Cache
	only  bool
}

// embedded is the entry of one text in the cache.
type embedded struct {
	Model  string    `json:"model"`
	Vector []float32 `json:"vector"`
}

// embed returns the vectors of the texts, and requests only those that the cache lacks.
func (e *embedder) embed(ctx context.Context, texts []string) (plumb.Embedding, error) {
	all := plumb.Embedding{Vectors: make([][]float32, len(texts))}
	keys := make([]cacheKey, len(texts))
	var missing []int
	for i, text := range texts {
		if e.cache == nil {
			missing = append(missing, i)
			continue
		}
		key, err := keyOf(struct {
			Provider  string `json:"provider"`
			Model     string `json:"model"`
			BaseURL   string `json:"baseURL"`
			Embedding string `json:"embedding"`
		}{e.target.Provider, e.target.Model, e.baseURL, text})
		if err != nil {
			return plumb.Embedding{}, err
		}
		keys[i] = key
		var kept embedded
		if e.cache.read(key, &kept) && len(kept.Vector) > 0 {
			all.Vectors[i], all.Model = kept.Vector, kept.Model
			continue
		}
		missing = append(missing, i)
	}
	if len(missing) == 0 {
		all.CostUSD = new(0.0)
		return all, nil
	}
	if e.only {
		f := plumb.Failuref(plumb.OriginJudge, "the cache has no embedding of this text from %s", e.target)
		f.Hint = "run with --cache on to ask the model and store its answer"
		return plumb.Embedding{}, f
	}
	ask := make([]string, len(missing))
	for n, i := range missing {
		ask[n] = texts[i]
	}
	got, err := e.inner.Embed(ctx, ask)
	if err != nil {
		return plumb.Embedding{}, err
	}
	if len(got.Vectors) != len(ask) {
		return plumb.Embedding{}, plumb.Failuref(plumb.OriginJudge, "%s returned %d vectors for %d texts",
			e.target, len(got.Vectors), len(ask))
	}
	for n, i := range missing {
		all.Vectors[i] = got.Vectors[n]
		if e.cache != nil {
			if err := e.cache.write(keys[i], embedded{got.Model, got.Vectors[n]}); err != nil {
				e.cache.warn(e.note, err)
			}
		}
	}
	all.Model, all.Requests, all.Usage, all.CostUSD = got.Model, got.Requests, got.Usage, got.CostUSD
	e.price(&all)
	return all, nil
}

// price sets the cost of an embedding, which is that of its input. A caller whose texts were part
// of another caller's request paid nothing.
func (e *embedder) price(got *plumb.Embedding) {
	switch {
	case got.CostUSD != nil:
	case got.Requests == 0:
		got.CostUSD = new(0.0)
	case got.Usage.InputTokens != nil:
		price, _ := e.prices.lookup(e.target.Provider, e.baseURL, e.target.Model)
		usage := plumb.Usage{InputTokens: got.Usage.InputTokens, OutputTokens: new(int64)}
		if usd, known := price.Cost(usage); known {
			got.CostUSD = &usd
		}
	}
}
