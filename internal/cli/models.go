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
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/project"
	"github.com/plumb-eval/plumb/internal/runner"
	"github.com/plumb-eval/plumb/internal/runner/modelapi"
	"github.com/plumb-eval/plumb/internal/setting"
	"github.com/plumb-eval/plumb/internal/text"
)

// modelLine is one line of plumb models. Its keys are documented.
type modelLine struct {
	modelapi.ModelInfo
	Price *runner.Price `json:"price"`
	// Known means that the user can name the model without its provider.
	Known bool `json:"known"`
}

// modelsCmd is plumb models.
type modelsCmd struct {
	*app
	projectFlags
	live, all bool
}

func modelsCommand(a *app) *cobra.Command {
	c := &modelsCmd{app: a}
	cmd := &cobra.Command{
		Use:   "models [PROVIDER|NAME]",
		Short: "List models with their prices",
		Long: `List the models that you can name without their provider, with prices in US dollars per million tokens.
A NAME keeps the models with this text in their names. --all adds every model with a known price. --live asks the providers that have a key, and local servers, which models
they offer; without it, no request is made.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), first(args)) },
	}
	cmd.Flags().StringVar(&c.config, "config", "", "config `file`")
	cmd.Flags().BoolVar(&c.live, "live", false, "ask the providers which models they offer now")
	cmd.Flags().BoolVar(&c.all, "all", false, "list every model with a known price")
	return cmd
}

func (c *modelsCmd) run(ctx context.Context, provider string) error {
	p, err := c.open(ctx, c.projectFlags)
	if err != nil {
		return err
	}
	if provider = strings.ToLower(provider); provider != "" {
		found, ok := modelapi.ProviderNamed(provider)
		if !ok && !c.live {
			return c.showNamed(p, provider)
		}
		if !ok {
			return unknownWord("provider", provider, providerNames())
		}
		provider = found.Name
	}
	if !c.live {
		return c.show(p, tableModels(p.Prices, provider, c.all || !hasKnown(provider)))
	}
	lines, ok, err := c.liveModels(ctx, p, provider)
	if err != nil {
		return err
	}
	if len(lines) > 0 || c.json {
		if err := c.show(p, lines); err != nil {
			return err
		}
	}
	if !ok {
		return exit(exitNotMeasured)
	}
	return nil
}

// showNamed lists the models with a text in their names: of those that need no provider, or else of
// all.
func (c *modelsCmd) showNamed(p *project.Project, text string) error {
	for _, all := range []bool{c.all, true} {
		lines := slices.DeleteFunc(tableModels(p.Prices, "", all), func(l modelLine) bool {
			return !strings.Contains(strings.ToLower(l.Provider+":"+l.ID+" "+strings.Join(l.Aliases, " ")), text)
		})
		if len(lines) > 0 {
			return c.show(p, lines)
		}
	}
	return plumb.WithHint(fmt.Errorf("no provider and no known model has the name %q", text),
		"providers: "+setting.DidYouMean(text, providerNames())+"; plumb models --live lists what providers offer now")
}

func providerNames() []string {
	var names []string
	for _, p := range modelapi.Providers() {
		names = append(names, p.Name)
	}
	return names
}

func hasKnown(provider string) bool {
	ofProvider := func(m modelapi.ModelInfo) bool { return m.Provider == provider }
	return provider == "" || slices.ContainsFunc(modelapi.KnownModels(), ofProvider)
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
				lines = append(lines,
					modelLine{ModelInfo: modelapi.ModelInfo{Provider: name, ID: m.Model}, Price: &m.Price})
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

// liveModels asks all providers at once which models they offer. It skips providers without a key
// and local servers that do not run, except for a named one. ok is false if a provider failed.
func (c *modelsCmd) liveModels(
	ctx context.Context, p *project.Project, named string,
) (lines []modelLine, ok bool, err error) {
	transport := modelapi.NewTransport(modelapi.TransportOptions{Getenv: p.Getenv, MaxAttempts: 1})
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
		limit := listTime
		if provider.Local && named == "" {
			limit = probeTime
		}
		all.Go(func() {
			limited, cancel := context.WithTimeout(ctx, limit)
			defer cancel()
			models[i], failed[i] = listLive(limited, p, provider, transport)
		})
	}
	all.Wait()
	ok = true
	for i, provider := range asked {
		_, key := provider.Key(p.Getenv)
		if failed[i] != nil && (named != "" || key != "" || !provider.Local) {
			ok = false
			c.complain(plumb.WithHint(fmt.Errorf("list the models of %s: %w", provider.Name, failed[i]),
				plumb.Hint(failed[i])))
		}
		for _, m := range models[i] {
			lines = append(lines, priced(p.Prices, m, false))
		}
	}
	if ok && len(lines) == 0 {
		ok = false
		err := errors.New("no provider to ask: no API key is set, and no server runs on this machine")
		c.complain(plumb.WithHint(err, "plumb doctor"))
	}
	return lines, ok, nil
}

// askable returns what is missing to ask a provider, or nil.
func askable(p *project.Project, provider modelapi.Provider) error {
	address := provider.Address(p.Getenv)
	key, _ := provider.Key(p.Getenv)
	switch {
	case address == "":
		return plumb.WithHint(fmt.Errorf("%s has no address", provider.Name), "set "+provider.BaseURLEnv)
	case key == "" && provider.NeedsKey(address):
		return plumb.WithHint(fmt.Errorf("no key for %s", provider.Name), "set "+strings.Join(provider.KeyEnv, " or "))
	}
	return nil
}

// listLive asks one askable provider for its models.
func listLive(
	ctx context.Context, p *project.Project, provider modelapi.Provider, transport *modelapi.Transport,
) ([]modelapi.ModelInfo, error) {
	key, _ := provider.Key(p.Getenv)
	return modelapi.ListModels(ctx, modelapi.Config{
		Provider: provider.Name, BaseURL: provider.Address(p.Getenv), APIKey: key, Transport: transport,
	})
}

func (c *modelsCmd) show(p *project.Project, lines []modelLine) error {
	source := p.Prices.Source()
	if c.json {
		return c.print(map[string]any{"models": doc.Array(lines), "prices": source})
	}
	slices.SortStableFunc(lines, func(x, y modelLine) int { return cmp.Compare(x.Provider, y.Provider) })
	w := text.NewColumns(c.Stdout)
	fmt.Fprintln(w, "MODEL\tALIASES\tINPUT\tOUTPUT\tCACHE READ")
	for _, l := range lines {
		in, out, cached := "?", "?", "?"
		if l.Price != nil {
			in, out, cached = rate(l.Price.Input), rate(l.Price.Output), rate(l.Price.CacheRead)
		}
		fmt.Fprintf(w, "%s:%s\t%s\t%s\t%s\t%s\n", l.Provider, l.ID, orDash(strings.Join(l.Aliases, ", ")), in, out,
			cached)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(c.Stdout, "\n%s. US dollars per million tokens, %s %s of %s.\n", text.Plural(len(lines), "model"),
		source.Name, source.Version, source.Date)
	if !c.live {
		fmt.Fprintln(c.Stdout, `You can name any other model as provider:model, such as "ollama:qwen3". `+
			"To list what providers offer now: plumb models --live")
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
