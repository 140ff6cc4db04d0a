package runner

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plumb-eval/plumb"
)

func noon(t *testing.T) *Prices {
	t.Helper()
	return &Prices{Now: func() time.Time { return time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC) }}
}

// TestPricesAgreeWithTheirSource compares costs with those that the package itself computes, which
// testdata/costs.jsonl has. Where a price of tokens that were used is missing the package counts
// nothing, and we say that it is not known.
func TestPricesAgreeWithTheirSource(t *testing.T) {
	f, err := os.Open("testdata/costs.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	prices := noon(t)
	compared := 0
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var want struct {
			Provider, Model                                 string
			Input, Output, CacheRead, CacheWrite, Reasoning int64
			USD                                             *float64
		}
		if err := json.Unmarshal(lines.Bytes(), &want); err != nil {
			t.Fatal(err)
		}
		name := fmt.Sprintf("%s:%s in=%d out=%d", want.Provider, want.Model, want.Input, want.Output)
		price, found := prices.Lookup(want.Provider, want.Model)
		got, known := price.Cost(plumb.Usage{
			InputTokens: &want.Input, OutputTokens: &want.Output, ReasoningTokens: &want.Reasoning,
			CacheTokens: &want.CacheRead, CacheWriteTokens: &want.CacheWrite,
		})
		switch {
		case want.USD == nil:
			if found {
				t.Errorf("%s: found %+v, want no price", name, price)
			}
		case !found:
			if *want.USD != 0 {
				t.Errorf("%s: no price, want %g", name, *want.USD)
			}
		case !known:
			if price.Input != nil && price.Output != nil {
				t.Errorf("%s: not known, want %g", name, *want.USD)
			}
		default:
			compared++
			if math.Abs(got-*want.USD) > 1e-9*max(1, *want.USD) {
				t.Errorf("%s: %.9f, want %.9f", name, got, *want.USD)
			}
		}
	}
	if compared < 500 {
		t.Errorf("only %d costs could be compared", compared)
	}
}

// TestPriceTable reads every line of the built-in table.
func TestPriceTable(t *testing.T) {
	p := &Prices{}
	p.load()
	if p.err != nil {
		t.Fatal(p.err)
	}
	source := p.Source()
	if source.Name != "npm:@pydantic/genai-prices" || source.Version == "" {
		t.Errorf("source %+v", source)
	}
	if _, err := time.Parse(time.DateOnly, source.Date); err != nil {
		t.Errorf("date: %v", err)
	}
	if len(p.lines) < 30 || len(p.urls) != len(p.lines) {
		t.Errorf("%d providers, %d addresses", len(p.lines), len(p.urls))
	}
	for id := range p.lines {
		entry := p.provider(id)
		if entry == nil || len(entry.Models) == 0 {
			t.Errorf("%s cannot be read", id)
			continue
		}
		if _, err := regexp.Compile(entry.URL); err != nil {
			t.Errorf("%s: %v", id, err)
		}
		for _, m := range entry.Models {
			for _, c := range m.Prices {
				if err := c.price().check(); err != nil {
					t.Errorf("%s %s: %v", id, m.ID, err)
				}
				if c.Hours != nil && len(c.Hours) != 2 {
					t.Errorf("%s %s: hours %v", id, m.ID, c.Hours)
				}
			}
		}
	}
}

func TestPriceCost(t *testing.T) {
	n := func(v int64) *int64 { return &v }
	rate := func(usd float64, tiers ...RateTier) *Rate { return &Rate{usd, tiers} }
	full := Price{Input: rate(10), Output: rate(100), CacheRead: rate(1), CacheWrite: rate(12), Reasoning: rate(50)}
	for _, tt := range []struct {
		name  string
		price Price
		usage plumb.Usage
		want  float64
		known bool
	}{
		{"plain", full, plumb.Usage{InputTokens: n(1e6), OutputTokens: n(1e6)}, 110, true},
		{"parts are taken out of the whole", full, plumb.Usage{
			InputTokens: n(3e6), OutputTokens: n(2e6), CacheTokens: n(1e6), CacheWriteTokens: n(1e6), ReasoningTokens: n(1e6),
		}, 10 + 1 + 12 + 100 + 50, true},
		{"parts without a price cost what the whole does", Price{Input: rate(10), Output: rate(100)}, plumb.Usage{
			InputTokens: n(3e6), OutputTokens: n(2e6), CacheTokens: n(1e6), CacheWriteTokens: n(1e6), ReasoningTokens: n(1e6),
		}, 230, true},
		{"a part larger than the whole", full, plumb.Usage{InputTokens: n(1e6), OutputTokens: n(0), CacheTokens: n(5e6)}, 1, true},
		{"a negative part", full, plumb.Usage{InputTokens: n(1e6), OutputTokens: n(0), CacheTokens: n(-5)}, 10, true},
		{"no figures", full, plumb.Usage{}, 0, false},
		{"output not reported", full, plumb.Usage{InputTokens: n(10)}, 0, false},
		{"output without a price", Price{Input: rate(10)}, plumb.Usage{InputTokens: n(10), OutputTokens: n(1)}, 0, false},
		{"no output, as of embeddings", Price{Input: rate(10)}, plumb.Usage{InputTokens: n(1e6), OutputTokens: n(0)}, 10, true},
		{"no price", Price{}, plumb.Usage{InputTokens: n(10), OutputTokens: n(1)}, 0, false},
		{"free", freePrice(), plumb.Usage{}, 0, true},
		{"each request", Price{Input: rate(10), Output: rate(1), PerRequest: 0.005}, plumb.Usage{InputTokens: n(1e6), OutputTokens: n(0)}, 10.005, true},
		{"at the border of a tier", Price{Input: rate(1, RateTier{1e6, 2}), Output: rate(0)}, plumb.Usage{InputTokens: n(1e6), OutputTokens: n(0)}, 1, true},
		{"above it, for all tokens", Price{Input: rate(1, RateTier{1e6, 2}), Output: rate(3, RateTier{1e6, 4})}, plumb.Usage{InputTokens: n(2e6), OutputTokens: n(1e6)}, 8, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, known := tt.price.Cost(tt.usage)
			if math.Abs(got-tt.want) > 1e-12 || known != tt.known {
				t.Errorf("got %g, %t; want %g, %t", got, known, tt.want, tt.known)
			}
		})
	}
}

func TestPriceLookup(t *testing.T) {
	p := noon(t)
	for _, tt := range []struct {
		provider, baseURL, model string
		found                    bool
	}{
		{"openai", "", "gpt-4o", true},
		{"OpenAI", "", " GPT-4o ", true},
		{"openai", "http://127.0.0.1:9/v1", "gpt-4o", true}, // a gateway nobody knows: by the provider's name
		{"openai", "https://api.deepseek.com/v1", "deepseek-chat", true},
		{"openai", "", "deepseek-chat", false},
		{"openai", "https://api.deepseek.com/v1", "gpt-4o", false}, // the address decides
		{"openai", "", "made-up", false},
		{"nobody", "", "gpt-4o", false},
		{"ollama", "", "qwen3", true},
	} {
		if _, ok := p.lookup(tt.provider, tt.baseURL, tt.model); ok != tt.found {
			t.Errorf("%s %s %s: found %t, want %t", tt.provider, tt.baseURL, tt.model, ok, tt.found)
		}
	}
	if price, _ := p.Lookup("ollama", "anything"); !price.free() {
		t.Errorf("a local model costs %+v", price)
	}
}

func TestPriceConditions(t *testing.T) {
	usd := func(v float64) *tableRate { return &tableRate{Rate{USD: v}} }
	m := priceModel{Prices: []priceCondition{{In: usd(1)}, {In: usd(2), From: "2026-08-21"}, {In: usd(3), Hours: []string{"22:00:00Z", "02:00:00Z"}}}}
	for at, want := range map[string]float64{
		"2026-08-20T12:00:00Z": 1, "2026-08-21T02:00:00Z": 2, "2026-08-20T23:00:00Z": 3, "2026-09-01T01:59:59Z": 3, "2026-09-01T02:00:00Z": 2,
	} {
		now, err := time.Parse(time.RFC3339, at)
		if err != nil {
			t.Fatal(err)
		}
		if got := m.at(now).Input.USD; got != want {
			t.Errorf("at %s: %g, want %g", at, got, want)
		}
	}
}

func TestPriceOverride(t *testing.T) {
	p := noon(t)
	var own map[string]Price
	const text = `{"openai:GPT-4o": {"input": 7, "output": {"usd": 8, "tiers": [{"above": 10, "usd": 9}]}}, "ollama:big": {"input": 1, "output": 1}}`
	if err := json.Unmarshal([]byte(text), &own); err != nil {
		t.Fatal(err)
	}
	if err := p.Override(own); err != nil {
		t.Fatal(err)
	}
	got, _ := p.Lookup("openai", "gpt-4o")
	want := Price{Input: &Rate{USD: 7}, Output: &Rate{8, []RateTier{{10, 9}}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got, _ := p.Lookup("ollama", "big"); got.Input.USD != 1 {
		t.Errorf("the user's price of a local model is not taken: %+v", got)
	}
	listed := false
	for _, m := range p.Models("openai") {
		if m.Overridden {
			listed = m.Model == "gpt-4o" && m.Price.Input.USD == 7
		}
	}
	if !listed {
		t.Error("the list of models does not have the user's price")
	}
	for name, price := range map[string]Price{
		"gpt-4o": {Input: &Rate{}}, ":x": {Input: &Rate{}}, "openai:": {Input: &Rate{}}, "openai:x": {},
		"openai:neg": {Input: &Rate{USD: -1}}, "openai:nan": {Output: &Rate{USD: math.NaN()}},
		"openai:tiers": {Input: &Rate{1, []RateTier{{5, 1}, {5, 2}}}},
	} {
		err := p.Override(map[string]Price{name: price})
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	data, err := json.Marshal(want)
	if err != nil || string(data) != `{"input":7,"output":{"usd":8,"tiers":[{"above":10,"usd":9}]}}` {
		t.Errorf("%s, %v", data, err)
	}
}

func TestPriceEstimate(t *testing.T) {
	p := noon(t)
	if err := p.Override(map[string]Price{"openai:x": {Input: &Rate{USD: 1}, Output: &Rate{USD: 10}}}); err != nil {
		t.Fatal(err)
	}
	info := plumb.RunnerInfo{Kind: plumb.RunnerModel, Agent: plumb.AgentInfo{Type: "openai", Model: "x"}}
	if usd, ok := p.Estimate(info, 4, 4e6, 1e6); math.Abs(usd-14) > 1e-9 || !ok {
		t.Errorf("%g, %t", usd, ok)
	}
	if usd, ok := p.Estimate(plumb.RunnerInfo{Kind: plumb.RunnerReplay}, 4, 4e6, 1e6); usd != 0 || !ok {
		t.Errorf("a replay: %g, %t", usd, ok)
	}
	if _, ok := p.Estimate(plumb.RunnerInfo{Kind: plumb.RunnerCommand}, 4, 4e6, 1e6); ok {
		t.Error("the price of a command is not known")
	}
}

// TestPriceMost checks that no usage within the bounds costs more than the most, whatever is
// cached, reasoned, or long, and at whatever hour.
func TestPriceMost(t *testing.T) {
	p := noon(t)
	tiered := Price{
		Input: &Rate{1, []RateTier{{100, 3}, {200, 2}}}, Output: &Rate{USD: 4}, CacheWrite: &Rate{USD: 2.5}, Reasoning: &Rate{USD: 5}, PerRequest: 0.01,
	}
	if err := p.Override(map[string]Price{"openai:tiered": tiered}); err != nil {
		t.Fatal(err)
	}
	info := plumb.RunnerInfo{Kind: plumb.RunnerModel, Agent: plumb.AgentInfo{Type: "openai", Model: "tiered"}}
	for _, input := range []int64{0, 50, 101, 150, 201, 1000} {
		most, known := p.Most(info, input, 300)
		if !known {
			t.Fatal("not known")
		}
		for in := int64(0); in <= input; in += 25 {
			for _, write := range []int64{0, in / 2, in} {
				for _, thought := range []int64{0, 300} {
					usd, _ := tiered.Cost(plumb.Usage{
						InputTokens: &in, OutputTokens: new(int64(300)), CacheWriteTokens: &write, ReasoningTokens: &thought,
					})
					if usd > most+1e-12 {
						t.Errorf("%d tokens, %d written, cost %g; %g at most", in, write, usd, most)
					}
				}
			}
		}
	}
	for provider := range p.lines {
		for _, m := range p.Models(provider) {
			info := plumb.RunnerInfo{Kind: plumb.RunnerModel, Agent: plumb.AgentInfo{Type: provider, Model: m.Model}}
			now := p.now()
			most, known := p.Most(info, 300_000, 5000)
			for hour := range 24 {
				p.Now = func() time.Time { return now.Add(time.Duration(hour) * time.Hour) }
				if usd, ok := p.Estimate(info, 1, 300_000, 5000); known && ok && usd > most+1e-9 {
					t.Errorf("%s:%s costs %g in %d hours; %g at most", provider, m.Model, usd, hour, most)
				}
			}
			p.Now = func() time.Time { return now }
		}
	}
	if _, known := p.Most(plumb.RunnerInfo{Kind: plumb.RunnerCommand}, 1, 1); known {
		t.Error("the price of a command is not known")
	}
}

func TestDashedDate(t *testing.T) {
	for name, want := range map[string]string{
		"gpt-5-20260131": "gpt-5-2026-01-31", "a-20261399": "a-20261399", "a-20260131:free": "a-2026-01-31:free",
		"20260131": "20260131", "a-19990101": "a-19990101", "": "",
	} {
		if got := dashedDate(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

func BenchmarkPricesFirstLookup(b *testing.B) {
	for _, provider := range []string{"openai", "openrouter"} {
		b.Run(provider, func(b *testing.B) {
			for b.Loop() {
				(&Prices{}).Lookup(provider, "gpt-5")
			}
		})
	}
}
