package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/config"
	"github.com/plumb-eval/plumb/internal/report"
	"github.com/plumb-eval/plumb/internal/runner"
	"github.com/plumb-eval/plumb/internal/runner/modelapi"
)

// modelLine is one model as plumb models lists it.
type modelLine struct {
	modelapi.ModelInfo
	Price *runner.Price `json:"price"`
	// Known says that the model can be named without its provider.
	Known bool `json:"known"`
}

func (a *app) modelsCommand() *cobra.Command {
	var config string
	var live, all bool
	cmd := &cobra.Command{
		Use:   "models [PROVIDER]",
		Short: "List models with their prices",
		Long: `List the models that can be named without their provider, with prices in US dollars for a million tokens.
--all adds every model with a known price. --live asks the providers that have a key, and local servers, what
they offer; without it nothing is asked.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := a.open(cmd.Context(), config, "")
			if err != nil {
				return err
			}
			provider := strings.ToLower(first(args))
			if provider != "" {
				found, ok := modelapi.ProviderNamed(provider)
				if !ok {
					return unknownWord("provider", provider, providerNames())
				}
				provider = found.Name
			}
			if !live {
				return a.showModels(p, tableModels(p.prices, provider, all || !hasKnown(provider)), false)
			}
			lines, ok, err := a.liveModels(cmd.Context(), p, provider)
			if err != nil {
				return err
			}
			if len(lines) > 0 || a.json {
				if err := a.showModels(p, lines, true); err != nil {
					return err
				}
			}
			if !ok {
				return exit(exitNotMeasured)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&config, "config", "", "config `file`")
	cmd.Flags().BoolVar(&live, "live", false, "ask the providers what they offer now")
	cmd.Flags().BoolVar(&all, "all", false, "list every model with a known price")
	return cmd
}

func providerNames() []string {
	var names []string
	for _, p := range modelapi.Providers() {
		names = append(names, p.Name)
	}
	return names
}

func hasKnown(provider string) bool {
	return provider == "" || slices.ContainsFunc(modelapi.KnownModels(), func(m modelapi.ModelInfo) bool { return m.Provider == provider })
}

// tableModels lists the models of the built-in tables.
func tableModels(prices *runner.Prices, provider string, all bool) []modelLine {
	var lines []modelLine
	seen := map[string]bool{}
	for _, m := range modelapi.KnownModels() {
		if provider != "" && m.Provider != provider {
			continue
		}
		seen[m.Provider+":"+strings.ToLower(m.ID)] = true
		lines = append(lines, priced(prices, m, true))
	}
	for _, name := range providerNames() {
		if !all || provider != "" && name != provider {
			continue
		}
		for _, m := range prices.Models(name) {
			if !seen[name+":"+strings.ToLower(m.Model)] {
				lines = append(lines, modelLine{ModelInfo: modelapi.ModelInfo{Provider: name, ID: m.Model}, Price: &m.Price})
			}
		}
	}
	return lines
}

func priced(prices *runner.Prices, m modelapi.ModelInfo, known bool) modelLine {
	l := modelLine{ModelInfo: m, Known: known}
	if price, ok := prices.Lookup(m.Provider, m.ID); ok {
		l.Price = &price
	}
	return l
}

// liveModels asks providers what they offer, all at the same time. Those that cannot be asked, since they have no key or
// do not run here, are left out, unless one was named. Not ok says that somebody who should have answered did not.
func (a *app) liveModels(ctx context.Context, p *project, named string) (lines []modelLine, ok bool, err error) {
	transport := modelapi.NewTransport(modelapi.TransportOptions{Getenv: p.getenv, MaxAttempts: 1})
	defer transport.Close()
	var asked []modelapi.Provider
	for _, provider := range modelapi.Providers() {
		if named != "" && provider.Name != named {
			continue
		}
		if err := askable(p, provider); err == nil {
			asked = append(asked, provider)
		} else if named != "" {
			return nil, false, err
		}
	}
	models, failed := make([][]modelapi.ModelInfo, len(asked)), make([]error, len(asked))
	var all sync.WaitGroup
	for i, provider := range asked {
		patience := listTime
		if provider.Local && named == "" {
			patience = probeTime
		}
		all.Go(func() {
			limited, cancel := context.WithTimeout(ctx, patience)
			defer cancel()
			models[i], failed[i] = listLive(limited, p, provider, transport)
		})
	}
	all.Wait()
	ok = true
	for i, provider := range asked {
		_, key := provider.Key(p.getenv)
		if failed[i] != nil && (named != "" || key != "" || !provider.Local) {
			ok = false
			a.complain(plumb.WithHint(fmt.Errorf("list the models of %s: %w", provider.Name, failed[i]),
				plumb.Hint(failed[i])))
		}
		for _, m := range models[i] {
			lines = append(lines, priced(p.prices, m, false))
		}
	}
	if ok && len(lines) == 0 {
		ok = false
		a.complain(plumb.WithHint(errors.New("nobody can be asked: no key is set, and no server runs on this machine"), "plumb doctor"))
	}
	return lines, ok, nil
}

// askable says what is missing to ask a provider.
func askable(p *project, provider modelapi.Provider) error {
	address := provider.Address(p.getenv)
	key, _ := provider.Key(p.getenv)
	switch {
	case address == "":
		return plumb.WithHint(fmt.Errorf("%s has no address", provider.Name), "set "+provider.BaseURLEnv)
	case key == "" && provider.NeedsKey(address):
		return plumb.WithHint(fmt.Errorf("no key for %s", provider.Name), "set "+strings.Join(provider.KeyEnv, " or "))
	}
	return nil
}

// listLive asks one provider that is askable.
func listLive(ctx context.Context, p *project, provider modelapi.Provider, transport *modelapi.Transport) ([]modelapi.ModelInfo, error) {
	key, _ := provider.Key(p.getenv)
	return modelapi.ListModels(ctx, modelapi.Config{
		Provider: provider.Name, BaseURL: provider.Address(p.getenv), APIKey: key, Transport: transport,
	})
}

func (a *app) showModels(p *project, lines []modelLine, live bool) error {
	source := p.prices.Source()
	if a.json {
		return a.print(map[string]any{"models": list(lines), "prices": source})
	}
	slices.SortStableFunc(lines, func(x, y modelLine) int { return cmp.Compare(x.Provider, y.Provider) })
	w := report.NewColumns(a.Stdout)
	fmt.Fprintln(w, "MODEL\tALIASES\tINPUT\tOUTPUT\tCACHE READ")
	for _, l := range lines {
		in, out, cached := "?", "?", "?"
		if l.Price != nil {
			in, out, cached = rate(l.Price.Input), rate(l.Price.Output), rate(l.Price.CacheRead)
		}
		fmt.Fprintf(w, "%s:%s\t%s\t%s\t%s\t%s\n", l.Provider, l.ID, orDash(strings.Join(l.Aliases, ", ")), in, out, cached)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(a.Stdout, "\n%s. US dollars a million tokens, %s %s of %s.\n", plural(len(lines), "model"), source.Name, source.Version, source.Date)
	if !live {
		fmt.Fprintln(a.Stdout, `Any other model can be named as provider:model, such as "ollama:qwen3". What a provider offers now: plumb models --live`)
	}
	return nil
}

func rate(r *runner.Rate) string {
	if r == nil {
		return "-"
	}
	s := fmt.Sprintf("%.4g", r.USD)
	if len(r.Tiers) > 0 {
		s += "+"
	}
	return s
}

// prices turns the prices of a config into those of the table.
func prices(configured []config.Price) map[string]runner.Price {
	out := map[string]runner.Price{}
	for _, c := range configured {
		price := runner.Price{PerRequest: c.PerRequest}
		for _, part := range []struct {
			usd *float64
			to  **runner.Rate
		}{{c.Input, &price.Input}, {c.Output, &price.Output}, {c.CacheRead, &price.CacheRead}, {c.CacheWrite, &price.CacheWrite}} {
			if part.usd != nil {
				*part.to = &runner.Rate{USD: *part.usd}
			}
		}
		out[c.Model] = price
	}
	return out
}
