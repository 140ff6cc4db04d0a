package runner

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/runner/modelapi"
	"github.com/plumb-eval/plumb/internal/text"
	genaiprices "github.com/plumb-eval/plumb/third_party/genai-prices"
)

// Prices has the prices of models. The zero value has the built-in table, whose providers are
// parsed at the first use. A Prices is safe for concurrent use after its overrides are set.
type Prices struct {
	// Now returns the time for prices that change with the date or the hour; nil means [time.Now].
	Now func() time.Time

	overrides map[string]Price

	once   sync.Once
	err    error
	source PriceSource
	lines  map[string]string // of the built-in table, by provider
	urls   []priceProvider   // with ID and URL only
	local  map[string]bool   // providers on the user's own machine, by name

	mu        sync.Mutex
	providers map[string]*priceProvider
	found     map[priceKey]*priceModel
}

// priceKey is the key of a price.
type priceKey struct{ provider, baseURL, model string }

// PriceSource is the source of the built-in prices.
type PriceSource struct {
	Name    string `json:"source"`
	Version string `json:"version"`
	// Date is the day the figures were published, as YYYY-MM-DD.
	Date string `json:"date"`
}

// Price is the price of a model, in US dollars per million tokens. A nil field is unknown. If the
// price of cached or reasoning tokens is unknown, they cost as much as other input or output
// tokens.
type Price struct {
	Input      *Rate `json:"input,omitempty"`
	Output     *Rate `json:"output,omitempty"`
	CacheRead  *Rate `json:"cacheRead,omitempty"`
	CacheWrite *Rate `json:"cacheWrite,omitempty"`
	Reasoning  *Rate `json:"reasoning,omitempty"`
	// PerRequest is the price of each request in US dollars, in addition to its tokens.
	PerRequest float64 `json:"perRequest,omitempty"`
}

// Rate is the price of a million tokens of one kind. In JSON it is a number, or an object if it has
// tiers.
type Rate struct {
	USD float64 `json:"usd"`
	// Tiers replace USD for all tokens of a request with more input tokens than Above. The last
	// tier that applies counts.
	Tiers []RateTier `json:"tiers,omitempty"`
}

// RateTier is the price of a million tokens in a long request.
type RateTier struct {
	Above int64   `json:"above"`
	USD   float64 `json:"usd"`
}

// ModelPrice is one line of the price list.
type ModelPrice struct {
	Provider string `json:"provider"`
	Model    string `json:"model"`
	Price    Price  `json:"price"`
	// ContextTokens is the size of the model's context window; 0 if it is unknown.
	ContextTokens int64 `json:"contextTokens,omitempty"`
	Deprecated    bool  `json:"deprecated,omitempty"`
	// Overridden is set if the price comes from the user.
	Overridden bool `json:"overridden,omitempty"`
}

// rate returns the price of a million tokens in a request with the given input tokens.
func (r *Rate) rate(input int64) float64 {
	usd := r.USD
	for _, t := range r.Tiers {
		if input > t.Above {
			usd = t.USD
		}
	}
	return usd
}

// MarshalJSON encodes a rate without tiers as a number.
func (r Rate) MarshalJSON() ([]byte, error) {
	if len(r.Tiers) == 0 {
		return json.Marshal(r.USD)
	}
	type plain Rate
	return json.Marshal(plain(r))
}

// UnmarshalJSON decodes a number, or an object with usd and tiers.
func (r *Rate) UnmarshalJSON(data []byte) error {
	if err := json.Unmarshal(data, &r.USD); err == nil {
		r.Tiers = nil
		return nil
	}
	type plain Rate
	return json.Unmarshal(data, (*plain)(r))
}

// Cost returns the cost of a request with the given usage, in US dollars. It is unknown if a count
// or a needed price is unknown.
func (p Price) Cost(u plumb.Usage) (usd float64, known bool) {
	if p.free() {
		return 0, true
	}
	if u.InputTokens == nil || u.OutputTokens == nil {
		return 0, false
	}
	input, output := *u.InputTokens, *u.OutputTokens
	if input < 0 || output < 0 {
		return 0, false
	}
	// If a provider reports a part that exceeds the whole, the whole was billed.
	read := min(tokens(u.CacheTokens), input)
	write := min(tokens(u.CacheWriteTokens), input-read)
	reasoning := min(tokens(u.ReasoningTokens), output)

	usd, known = p.PerRequest, true
	add := func(n int64, rate, otherwise *Rate) {
		if rate == nil {
			rate = otherwise
		}
		switch {
		case n == 0:
		case rate == nil:
			known = false
		default:
			usd += float64(n) / 1e6 * rate.rate(input)
		}
	}
	add(input-read-write, p.Input, nil)
	add(read, p.CacheRead, p.Input)
	add(write, p.CacheWrite, p.Input)
	add(output-reasoning, p.Output, nil)
	add(reasoning, p.Reasoning, p.Output)
	if !known {
		return 0, false
	}
	return text.Round(usd), true
}

// most returns the highest cost of a request with at most the given tokens: each token at the
// highest rate of input or output, in all tiers of requests of at most this size.
func (p Price) most(input, output int64) (usd float64, known bool) {
	if p.free() {
		return 0, true
	}
	if p.Input == nil || p.Output == nil && output > 0 {
		return 0, false
	}
	highest := func(rates ...*Rate) (usd float64) {
		for _, r := range rates {
			if r == nil {
				continue
			}
			usd = max(usd, r.USD)
			for _, t := range r.Tiers {
				if input > t.Above {
					usd = max(usd, t.USD)
				}
			}
		}
		return usd
	}
	usd = p.PerRequest + float64(input)/1e6*highest(p.Input, p.CacheRead, p.CacheWrite)
	return usd + float64(output)/1e6*highest(p.Output, p.Reasoning), true
}

// free reports whether all requests are known to cost nothing.
func (p Price) free() bool {
	if p.Input == nil || p.Output == nil || p.PerRequest != 0 {
		return false
	}
	return !slices.ContainsFunc([]*Rate{p.Input, p.Output, p.CacheRead, p.CacheWrite, p.Reasoning}, func(r *Rate) bool {
		return r != nil && (r.USD != 0 || len(r.Tiers) > 0)
	})
}

// known reports whether the price has a rate for text tokens.
func (p Price) known() bool { return p.Input != nil || p.Output != nil }

// freePrice is the price of models on the user's own machine.
func freePrice() Price { return Price{Input: &Rate{}, Output: &Rate{}} }

// tokens returns a count, or 0 if it is unknown or invalid.
func tokens(p *int64) int64 {
	if p == nil || *p < 0 {
		return 0
	}
	return *p
}

// Source returns the source and the date of the built-in prices.
func (p *Prices) Source() PriceSource {
	p.load()
	return p.source
}

// Override sets the user's own prices, by "provider:model". They take precedence over the built-in
// table. Override is not safe for concurrent use with other methods.
func (p *Prices) Override(prices map[string]Price) error {
	for _, name := range slices.Sorted(maps.Keys(prices)) {
		provider, model, ok := strings.Cut(name, ":")
		if !ok || provider == "" || model == "" {
			err := fmt.Errorf("price of %q: not the name of a model", name)
			return plumb.WithHint(err, `write "provider:model", such as "openai:gpt-5"`)
		}
		price := prices[name]
		if !price.known() {
			return plumb.WithHint(fmt.Errorf("price of %q: it has neither input nor output", name),
				`write the price of a million tokens in US dollars, such as {"input": 1.25, "output": 10}`)
		}
		if err := price.check(); err != nil {
			return fmt.Errorf("price of %q: %w", name, err)
		}
		if p.overrides == nil {
			p.overrides = map[string]Price{}
		}
		p.overrides[strings.ToLower(name)] = price
	}
	return nil
}

func (p Price) check() error {
	bad := func(usd float64) bool { return usd < 0 || math.IsNaN(usd) || math.IsInf(usd, 0) }
	for name, r := range map[string]*Rate{
		"input": p.Input, "output": p.Output, "cacheRead": p.CacheRead, "cacheWrite": p.CacheWrite,
		"reasoning":  p.Reasoning,
		"perRequest": {USD: p.PerRequest},
	} {
		if r == nil {
			continue
		}
		if bad(r.USD) {
			return fmt.Errorf("%s is %g, which is not a price", name, r.USD)
		}
		for i, t := range r.Tiers {
			if bad(t.USD) || t.Above < 0 || i > 0 && t.Above <= r.Tiers[i-1].Above {
				return fmt.Errorf("%s: the tiers are not in rising order of tokens with valid prices", name)
			}
		}
	}
	return nil
}

// Lookup returns the price of a provider's model, by the name in requests or in replies. Models on
// the user's own machine are free.
func (p *Prices) Lookup(provider, model string) (Price, bool) {
	return p.lookup(provider, "", model)
}

// lookup is Lookup for a provider at the address baseURL; "" is its own address. If the table has
// the address, it determines the provider instead of the name.
func (p *Prices) lookup(provider, baseURL, model string) (Price, bool) {
	provider, model = normal(provider), normal(model)
	if price, ok := p.overrides[provider+":"+model]; ok {
		return price, true
	}
	if p.load(); p.local[provider] {
		return freePrice(), true
	}
	m := p.model(priceKey{provider, baseURL, model})
	if m == nil {
		return Price{}, false
	}
	price := m.at(p.now())
	return price, price.known()
}

// normal is a name as the price table has it.
func normal(name string) string { return strings.ToLower(strings.TrimSpace(name)) }

// Of returns the price of a runner's model. A replay costs nothing, and the price of a command is
// unknown.
func (p *Prices) Of(info plumb.RunnerInfo) (Price, bool) {
	switch info.Kind {
	case plumb.RunnerReplay:
		return freePrice(), true
	case plumb.RunnerModel:
		return p.lookup(info.Agent.Type, info.BaseURL, info.Agent.Model)
	default:
		return Price{}, false
	}
}

// Estimate returns the cost of requests to a runner that use the given tokens in total, for a plan.
// Long requests can cost more if prices have tiers.
func (p *Prices) Estimate(
	info plumb.RunnerInfo, requests int, inputTokens, outputTokens int64,
) (usd float64, known bool) {
	price, ok := p.Of(info)
	if !ok || requests <= 0 {
		return 0, ok
	}
	usd, known = price.Cost(plumb.Usage{
		InputTokens:  new(inputTokens / int64(requests)),
		OutputTokens: new(outputTokens / int64(requests)),
	})
	return usd * float64(requests), known
}

// Most returns the highest cost of a request to a runner with at most the given tokens: each token
// at the highest rate that can apply, with surcharges for caches, tiers, and other hours.
func (p *Prices) Most(info plumb.RunnerInfo, inputTokens, outputTokens int64) (usd float64, known bool) {
	price, ok := p.Of(info)
	if !ok {
		return 0, false
	}
	if usd, known = price.most(inputTokens, outputTokens); !known {
		return 0, false
	}
	if info.Kind == plumb.RunnerModel {
		for _, price := range p.atOtherTimes(info) {
			other, _ := price.most(inputTokens, outputTokens)
			usd = max(usd, other)
		}
	}
	return usd, true
}

// atOtherTimes returns the prices of a model that can apply before a session that starts now ends.
func (p *Prices) atOtherTimes(info plumb.RunnerInfo) (others []Price) {
	provider, model := normal(info.Agent.Type), normal(info.Agent.Model)
	if _, own := p.overrides[provider+":"+model]; own || p.local[provider] {
		return nil
	}
	m := p.model(priceKey{provider, info.BaseURL, model})
	if m == nil || len(m.Prices) < 2 {
		return nil
	}
	others = append(others, m.at(p.now().Add(24*time.Hour)))
	if slices.ContainsFunc(m.Prices, func(c priceCondition) bool { return len(c.Hours) > 0 }) {
		for i := range m.Prices {
			others = append(others, m.Prices[i].price())
		}
	}
	return others
}

// Models lists the models of a provider that have a price, by name, with the user's own prices.
func (p *Prices) Models(provider string) []ModelPrice {
	p.load()
	provider = strings.ToLower(provider)
	p.mu.Lock()
	known := p.provider(provider)
	p.mu.Unlock()
	byName := map[string]ModelPrice{}
	if known != nil {
		for i := range known.Models {
			m := &known.Models[i]
			if price := m.at(p.now()); price.known() {
				byName[strings.ToLower(m.ID)] = ModelPrice{
					Provider: provider, Model: m.ID, Price: price, ContextTokens: m.Context, Deprecated: m.Deprecated,
				}
			}
		}
	}
	for name, price := range p.overrides {
		if of, model, _ := strings.Cut(name, ":"); of == provider {
			line := byName[model]
			if line.Model == "" {
				line = ModelPrice{Provider: provider, Model: model}
			}
			line.Price, line.Overridden = price, true
			byName[model] = line
		}
	}
	return slices.SortedFunc(maps.Values(byName), func(a, b ModelPrice) int {
		return strings.Compare(strings.ToLower(a.Model), strings.ToLower(b.Model))
	})
}

func (p *Prices) now() time.Time {
	if p.Now != nil {
		return p.Now().UTC()
	}
	return time.Now().UTC()
}

// price sets the cost of a session if it is unknown and can be computed.
func (p *Prices) price(info plumb.RunnerInfo, report *plumb.SessionReport) {
	if report == nil || report.CostUSD != nil {
		return
	}
	price, ok := p.Of(info)
	if !ok && report.Model != "" { // for example a deployment with its own name, or the choice of a router
		price, ok = p.lookup(info.Agent.Type, info.BaseURL, report.Model)
	}
	if !ok {
		return
	}
	if usd, known := price.Cost(report.Usage); known {
		report.CostUSD = &usd
	}
}

// load splits the built-in table into providers.
func (p *Prices) load() {
	p.once.Do(func() {
		p.err = p.split(genaiprices.Data())
		p.local = map[string]bool{}
		for _, provider := range modelapi.Providers() {
			p.local[provider.Name] = provider.Local
		}
	})
}
