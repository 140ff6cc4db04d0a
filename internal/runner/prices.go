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
	genaiprices "github.com/plumb-eval/plumb/third_party/genai-prices"
)

// Prices knows what models cost. The zero value has the built-in table, which is parsed provider by
// provider, when first asked. A Prices is safe for concurrent use once its overrides are set.
type Prices struct {
	// Now says which of the prices that change with the date or the hour holds; nil means
	// [time.Now].
	Now func() time.Time

	overrides map[string]Price

	once   sync.Once
	err    error
	source PriceSource
	lines  map[string]string // of the built-in table, by provider
	urls   []priceProvider   // of which only ID and URL are set
	local  map[string]bool   // providers on the user's own machine, by name

	mu        sync.Mutex
	providers map[string]*priceProvider
	found     map[priceKey]*priceModel
}

// priceKey is what a price is looked up by.
type priceKey struct{ provider, baseURL, model string }

// PriceSource says where the built-in prices are from.
type PriceSource struct {
	Name    string `json:"source"`
	Version string `json:"version"`
	// Date is the day the figures were published, as YYYY-MM-DD.
	Date string `json:"date"`
}

// Price is what a model costs, in US dollars for a million tokens. A nil field is not known; tokens
// read from and written to a prompt cache, and reasoning tokens, then cost what other input and
// output tokens do.
type Price struct {
	Input      *Rate `json:"input,omitempty"`
	Output     *Rate `json:"output,omitempty"`
	CacheRead  *Rate `json:"cacheRead,omitempty"`
	CacheWrite *Rate `json:"cacheWrite,omitempty"`
	Reasoning  *Rate `json:"reasoning,omitempty"`
	// PerRequest is what a request costs whatever its length, in US dollars.
	PerRequest float64 `json:"perRequest,omitempty"`
}

// Rate is the price of a million tokens of one kind. In JSON it is a number, or an object when it
// has tiers.
type Rate struct {
	USD float64 `json:"usd"`
	// Tiers replace USD for all tokens of a request with more input tokens than Above, the last
	// that applies.
	Tiers []RateTier `json:"tiers,omitempty"`
}

// RateTier is what a million tokens cost in a long request.
type RateTier struct {
	Above int64   `json:"above"`
	USD   float64 `json:"usd"`
}

// ModelPrice is one line of the price list.
type ModelPrice struct {
	Provider string `json:"provider"`
	Model    string `json:"model"`
	Price    Price  `json:"price"`
	// ContextTokens is the size of the model's context window; 0 where it is not known.
	ContextTokens int64 `json:"contextTokens,omitempty"`
	Deprecated    bool  `json:"deprecated,omitempty"`
	// Overridden says that the price is the user's own.
	Overridden bool `json:"overridden,omitempty"`
}

// rate returns what a million tokens cost in a request of the given gross input.
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

// Cost returns what a request with the given usage costs, in US dollars. It is not known where a
// figure or the price of tokens that were used is not known: never a 0 in place of a guess.
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
	// What a provider reports as a part is never more than the whole; where it is, the whole is
	// what was billed.
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
	return usd, true
}

// most returns the most that a request of at most so many tokens can cost: each token at the
// dearest rate of its side, of all tiers that a request of this size or a smaller one can be in.
func (p Price) most(input, output int64) (usd float64, known bool) {
	if p.free() {
		return 0, true
	}
	if p.Input == nil || p.Output == nil && output > 0 {
		return 0, false
	}
	dearest := func(rates ...*Rate) (usd float64) {
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
	usd = p.PerRequest + float64(input)/1e6*dearest(p.Input, p.CacheRead, p.CacheWrite)
	return usd + float64(output)/1e6*dearest(p.Output, p.Reasoning), true
}

// free reports whether the price is known to be nothing, whatever is used.
func (p Price) free() bool {
	if p.Input == nil || p.Output == nil || p.PerRequest != 0 {
		return false
	}
	for _, r := range []*Rate{p.Input, p.Output, p.CacheRead, p.CacheWrite, p.Reasoning} {
		if r != nil && (r.USD != 0 || len(r.Tiers) > 0) {
			return false
		}
	}
	return true
}

// known reports whether the price says anything of text tokens.
func (p Price) known() bool { return p.Input != nil || p.Output != nil }

// freePrice is the price of what runs on the user's own machine.
func freePrice() Price { return Price{Input: &Rate{}, Output: &Rate{}} }

// tokens returns a count, taking an unknown or impossible one as 0.
func tokens(p *int64) int64 {
	if p == nil || *p < 0 {
		return 0
	}
	return *p
}

// Source says where the built-in prices are from, and of which day they are.
func (p *Prices) Source() PriceSource {
	p.load()
	return p.source
}

// Override sets the user's own prices, by "provider:model"; they win over the built-in table.
// Override is not safe for use while p is asked.
func (p *Prices) Override(prices map[string]Price) error {
	for _, name := range slices.Sorted(maps.Keys(prices)) {
		provider, model, ok := strings.Cut(name, ":")
		if !ok || provider == "" || model == "" {
			return plumb.WithHint(fmt.Errorf("price of %q: not a model", name), `write "provider:model", such as "openai:gpt-5"`)
		}
		price := prices[name]
		if !price.known() {
			return plumb.WithHint(fmt.Errorf("price of %q: neither input nor output is given", name),
				`write what a million tokens cost in US dollars, such as {"input": 1.25, "output": 10}`)
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
		"input": p.Input, "output": p.Output, "cacheRead": p.CacheRead, "cacheWrite": p.CacheWrite, "reasoning": p.Reasoning,
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
				return fmt.Errorf("%s: the tiers are not in rising order of tokens, each with a price", name)
			}
		}
	}
	return nil
}

// Lookup returns the price of a provider's model, by the name that is sent to the provider or that
// it reports. Models on the user's own machine are free.
func (p *Prices) Lookup(provider, model string) (Price, bool) {
	return p.lookup(provider, "", model)
}

// lookup is Lookup for a provider that is reached at baseURL, "" for its own address. Whose price
// holds there is told by the address where the table knows it, and otherwise by the provider's
// name.
func (p *Prices) lookup(provider, baseURL, model string) (Price, bool) {
	provider, model = strings.ToLower(strings.TrimSpace(provider)), strings.ToLower(strings.TrimSpace(model))
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

// Of returns the price of what a runner answers with. A replay costs nothing; what a command costs
// only the command knows.
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

// Estimate returns what requests to a runner will cost that use the given tokens in all, for a
// plan. Long requests may cost more than it says where prices have tiers.
func (p *Prices) Estimate(info plumb.RunnerInfo, requests int, inputTokens, outputTokens int64) (usd float64, known bool) {
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

// Most returns the most that a request to a runner of at most so many tokens can cost: each token
// at the dearest rate that can apply, with surcharges for caches, tiers, and the prices of other
// hours.
func (p *Prices) Most(info plumb.RunnerInfo, inputTokens, outputTokens int64) (usd float64, known bool) {
	price, ok := p.Of(info)
	if !ok {
		return 0, false
	}
	if usd, known = price.most(inputTokens, outputTokens); !known {
		return 0, false
	}
	if info.Kind == plumb.RunnerModel {
		for _, other := range p.atOtherTimes(info) {
			dear, _ := other.most(inputTokens, outputTokens)
			usd = max(usd, dear)
		}
	}
	return usd, true
}

// atOtherTimes returns the prices of a model that may hold before a session that starts now has
// ended.
func (p *Prices) atOtherTimes(info plumb.RunnerInfo) (others []Price) {
	provider, model := strings.ToLower(strings.TrimSpace(info.Agent.Type)), strings.ToLower(strings.TrimSpace(info.Agent.Model))
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

// Models lists the priced models of a provider, by name, the user's own prices included.
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
	lines := make([]ModelPrice, 0, len(byName))
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		lines = append(lines, byName[name])
	}
	return lines
}

func (p *Prices) now() time.Time {
	if p.Now != nil {
		return p.Now().UTC()
	}
	return time.Now().UTC()
}

// price fills in what a session cost where that is not known yet and can be told.
func (p *Prices) price(info plumb.RunnerInfo, report *plumb.SessionReport) {
	if report == nil || report.CostUSD != nil {
		return
	}
	price, ok := p.Of(info)
	if !ok && report.Model != "" { // such as a deployment with a name of its own, or a router's choice
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
