package runner

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// priceProvider is one line of the built-in table: a provider and its models, with rules that match
// names. The first model that matches counts.
type priceProvider struct {
	ID string `json:"id"`
	// URL is a regular expression that matches the beginning of the provider's addresses.
	URL string `json:"url"`
	// Fallback names the providers whose models are searched next.
	Fallback []string     `json:"fallback"`
	Models   []priceModel `json:"models"`
}

type priceModel struct {
	ID         string           `json:"id"`
	Match      priceMatch       `json:"match"`
	Context    int64            `json:"context"`
	Deprecated bool             `json:"deprecated"`
	Prices     []priceCondition `json:"prices"`
}

// priceMatch is a rule for a model's name in lower case; one field is set.
type priceMatch struct {
	Or         []priceMatch `json:"or"`
	And        []priceMatch `json:"and"`
	Not        *priceMatch  `json:"not"`
	Equals     *string      `json:"equals"`
	StartsWith *string      `json:"starts_with"`
	EndsWith   *string      `json:"ends_with"`
	Contains   *string      `json:"contains"`
	Regex      *pattern     `json:"regex"`
}

// pattern is a regular expression that is compiled when the table is read.
type pattern struct{ *regexp.Regexp }

// UnmarshalText compiles the expression.
func (p *pattern) UnmarshalText(text []byte) (err error) {
	p.Regexp, err = regexp.Compile(string(text))
	return err
}

// priceCondition is a price with its time: from a day on, or between two hours of UTC. Of a model's
// prices the last one that applies counts, or the first one if none applies.
type priceCondition struct {
	In        *tableRate `json:"in"`
	Out       *tableRate `json:"out"`
	Read      *tableRate `json:"read"`
	Write     *tableRate `json:"write"`
	Reason    *tableRate `json:"reason"`
	KRequests *tableRate `json:"krequests"`
	From      string     `json:"from"`
	Hours     []string   `json:"hours"`
}

// tableRate is a number, or a list of the basic price and [above how many input tokens, price]
// pairs.
type tableRate struct{ Rate }

// UnmarshalJSON decodes either form.
func (r *tableRate) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] != '[' {
		return json.Unmarshal(data, &r.USD)
	}
	var parts []json.RawMessage
	if err := json.Unmarshal(data, &parts); err != nil {
		return err
	}
	for i, part := range parts {
		if i == 0 {
			if err := json.Unmarshal(part, &r.USD); err != nil {
				return err
			}
			continue
		}
		var tier [2]float64
		if err := json.Unmarshal(part, &tier); err != nil {
			return err
		}
		r.Tiers = append(r.Tiers, RateTier{Above: int64(tier[0]), USD: tier[1]})
	}
	return nil
}

func (r *tableRate) rate() *Rate {
	if r == nil {
		return nil
	}
	return &r.Rate
}

// split reads the table's first line, and the names and addresses of the others.
func (p *Prices) split(data string) error {
	p.lines, p.providers = map[string]string{}, map[string]*priceProvider{}
	head, rest, _ := strings.Cut(data, "\n")
	if err := json.Unmarshal([]byte(head), &p.source); err != nil {
		return fmt.Errorf("read the price table: %w", err)
	}
	for n := 2; rest != ""; n++ {
		var line string
		line, rest, _ = strings.Cut(rest, "\n")
		// Each line begins with id and url. The long rest is parsed when it is needed.
		start, _, ok := strings.Cut(line, `,"models":`)
		if !ok {
			return fmt.Errorf("read the price table: line %d has no models", n)
		}
		var entry priceProvider
		if err := json.Unmarshal([]byte(start+"}"), &entry); err != nil {
			return fmt.Errorf("read the price table: line %d: %w", n, err)
		}
		p.lines[entry.ID] = line
		p.urls = append(p.urls, entry)
	}
	return nil
}

// foundLimit bounds the remembered results, because a server can report any number of model names.
const foundLimit = 1024

// model returns the table's entry for a model, or nil, and remembers the result.
func (p *Prices) model(key priceKey) *priceModel {
	p.load()
	p.mu.Lock()
	defer p.mu.Unlock()
	if m, ok := p.found[key]; ok {
		return m
	}
	provider := key.provider
	if key.baseURL != "" {
		if id, ok := p.providerAt(key.baseURL); ok {
			provider = id
		}
	}
	m := p.find(provider, key.model)
	if p.found == nil {
		p.found = map[priceKey]*priceModel{}
	}
	if len(p.found) < foundLimit {
		p.found[key] = m
	}
	return m
}

// providerAt returns the provider that has the address baseURL.
func (p *Prices) providerAt(baseURL string) (id string, ok bool) {
	for _, known := range p.urls {
		if re, err := regexp.Compile("^(?:" + known.URL + ")"); err == nil && re.MatchString(baseURL) {
			return known.ID, true
		}
	}
	return "", false
}

// provider returns the table's entry for a provider, or nil. The caller holds mu.
func (p *Prices) provider(id string) *priceProvider {
	if known, ok := p.providers[id]; ok {
		return known
	}
	line, ok := p.lines[id]
	if !ok {
		return nil
	}
	entry := &priceProvider{}
	if err := json.Unmarshal([]byte(line), entry); err != nil {
		entry = nil // a test reads every line of the built-in table
	}
	p.providers[id] = entry
	return entry
}

// find returns the model of a provider with a name in lower case. The caller holds mu.
func (p *Prices) find(provider, model string) *priceModel {
	for _, name := range []string{model, dashedDate(model)} {
		if m := p.findIn(provider, name, true); m != nil {
			return m
		}
	}
	return nil
}

func (p *Prices) findIn(provider, model string, fallback bool) *priceModel {
	known := p.provider(provider)
	if known == nil {
		return nil
	}
	if i := slices.IndexFunc(known.Models, func(m priceModel) bool { return m.Match.matches(model) }); i >= 0 {
		return &known.Models[i]
	}
	if fallback {
		for _, other := range known.Fallback {
			if m := p.findIn(other, model, false); m != nil {
				return m
			}
		}
	}
	return nil
}

func (m *priceMatch) matches(name string) bool {
	switch {
	case m.Equals != nil:
		return name == *m.Equals
	case m.StartsWith != nil:
		return strings.HasPrefix(name, *m.StartsWith)
	case m.EndsWith != nil:
		return strings.HasSuffix(name, *m.EndsWith)
	case m.Contains != nil:
		return strings.Contains(name, *m.Contains)
	case m.Regex != nil:
		return m.Regex.MatchString(name)
	case m.Not != nil:
		return !m.Not.matches(name)
	case m.And != nil:
		return !slices.ContainsFunc(m.And, func(part priceMatch) bool { return !part.matches(name) })
	default:
		return slices.ContainsFunc(m.Or, func(part priceMatch) bool { return part.matches(name) })
	}
}

// at returns the model's price at a moment.
func (m *priceModel) at(now time.Time) Price {
	for i, c := range slices.Backward(m.Prices) {
		if i == 0 || c.applies(now) {
			return c.price()
		}
	}
	return Price{}
}

func (c *priceCondition) applies(now time.Time) bool {
	switch {
	case c.From != "":
		return now.Format(time.DateOnly) >= c.From
	case len(c.Hours) == 2:
		clock := now.Format(time.TimeOnly)
		from, to := strings.TrimSuffix(c.Hours[0], "Z"), strings.TrimSuffix(c.Hours[1], "Z")
		if to < from { // over midnight
			return clock >= from || clock < to
		}
		return clock >= from && clock < to
	default:
		return true
	}
}

func (c *priceCondition) price() Price {
	p := Price{
		Input: c.In.rate(), Output: c.Out.rate(), CacheRead: c.Read.rate(), CacheWrite: c.Write.rate(),
		Reasoning: c.Reason.rate(),
	}
	if c.KRequests != nil {
		p.PerRequest = c.KRequests.USD / 1000
	}
	return p
}

// dashedDate returns a name with the dates in it, "-20260131", written as "-2026-01-31".
func dashedDate(name string) string {
	parts := strings.Split(name, "-")
	for i, part := range parts {
		date, tag, tagged := strings.Cut(part, ":")
		day, err := time.Parse("20060102", date)
		if i == 0 || err != nil || !strings.HasPrefix(date, "20") {
			continue
		}
		parts[i] = day.Format(time.DateOnly)
		if tagged {
			parts[i] += ":" + tag
		}
	}
	return strings.Join(parts, "-")
}
