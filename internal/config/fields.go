package config

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/run"
	"github.com/plumb-eval/plumb/internal/runner"
	"github.com/plumb-eval/plumb/internal/suite/lib"
)

// field is a key of a section of the config, with the function that reads its value.
type field struct {
	name string
	read func(v value, path string)
}

// topFields returns the keys of a config file. A test compares them with the JSON Schema.
func (r *reader) topFields(c *Config) []field {
	return []field{
		{"$schema", func(v value, path string) { r.text(v, path) }},
		{"suites", func(v value, path string) { c.Suites = r.suites(v, path) }},
		{"runners", func(v value, path string) { c.Runners = r.runners(v, path) }},
		{"judge", func(v value, path string) { r.judge(v, path, c) }},
		{"embedder", func(v value, path string) { c.Embedder = r.embedder(v, path) }},
		{"prices", func(v value, path string) { c.Prices = r.prices(v, path) }},
		{"run", func(v value, path string) {
			r.object(v, path, r.runFields(&c.Run))
			r.twice(v, path)
		}},
		{"defaults", func(v value, path string) { r.object(v, path, r.defaultsFields(c)) }},
		{"snapshots", func(v value, path string) { c.Snapshots = r.snapshots(v, path) }},
	}
}

// suites reads the suites of a config: files, or published suites.
func (r *reader) suites(v value, path string) []string {
	refs, places := r.words(v, path), v.List
	if v.Kind == doc.String {
		places = []value{v}
	}
	for i, ref := range refs {
		ext := strings.ToLower(filepath.Ext(ref))
		if !lib.IsCode(ref) && !slices.Contains([]string{".jsonl", ".json", ".yaml", ".yml"}, ext) {
			continue
		}
		if _, err := os.Stat(r.absolute(ref)); err != nil {
			r.absent = append(r.absent, doc.Problem{
				Pos: r.position(places[i].Place), Message: fmt.Sprintf("%s: there is no file %q", path, ref),
			})
		}
	}
	return refs
}

func (r *reader) defaultsFields(c *Config) []field {
	return []field{
		{"timeoutMs", func(v value, path string) {
			if c.Run.TimeoutMs != 0 {
				r.add(v.Place, path+" and run.timeoutMs set the same value", "keep one of them")
			}
			c.Run.TimeoutMs = run.Milliseconds(r.duration(v, path))
		}},
	}
}

// twice reports keys of run that have the same meaning. Of two names from other tools the first one
// counts.
func (r *reader) twice(v value, path string) {
	for _, s := range new(Settings).List() {
		first := ""
		for _, key := range s.Keys() {
			at := slices.IndexFunc(v.Members, func(m doc.Member) bool { return m.Key == key })
			switch {
			case at < 0:
			case first == "":
				first = key
			case first == s.Key:
				r.add(v.Members[at].Place, fmt.Sprintf("%s.%s and %s.%s set the same value", path, first, path, key),
					"keep one of them")
			default:
				r.warn(v.Members[at].Place, fmt.Sprintf("%s.%s has no effect beside %s.%s", path, key, path, first),
					"leave it out")
			}
		}
	}
}

// Categories returns the categories of the cases of suite versions.
func Categories() []string {
	return []string{"reasoning", "factual", "instruction_following", "coding", "safety", "creative"}
}

// Difficulties returns the difficulties of the cases of suite versions.
func Difficulties() []string { return []string{"easy", "medium", "hard"} }

func apis() []string { return []string{"chat", "responses"} }

func (r *reader) runnerFields(c *plumb.RunnerConfig) []field {
	return []field{
		{"model", func(v value, path string) { c.Model = r.text(v, path) }},
		{"command", func(v value, path string) { c.Command = r.command(v, path) }},
		{"replay", func(v value, path string) { c.Replay = r.text(v, path) }},
		{"agent", func(v value, path string) { c.Agent = r.agent(v, path) }},
		{"baseURL", func(v value, path string) { c.BaseURL = r.address(v, path) }},
		{"api", func(v value, path string) { c.API = r.choice(v, path, apis()) }},
		{"apiKeyEnv", func(v value, path string) { c.APIKeyEnv = r.variable(v, path) }},
		{"headers", func(v value, path string) { c.Headers = r.headers(v, path) }},
		{"env", func(v value, path string) { c.Env = r.pairs(v, path) }},
		{"temperature", func(v value, path string) { c.Temperature, c.NoTemperature = r.optional(v, path) }},
		{"seed", func(v value, path string) { c.Seed, c.NoSeed = r.seed(v, path) }},
		{"topP", func(v value, path string) { c.TopP = new(r.number(v, path, 1)) }},
		{"maxOutputTokens", func(v value, path string) { c.MaxOutputTokens = new(r.whole(v, path, 1)) }},
		{"reasoningEffort", func(v value, path string) { c.ReasoningEffort = new(r.text(v, path)) }},
		{"timeoutMs", func(v value, path string) { c.TimeoutMs = r.duration(v, path) }},
		{"maxParallel", func(v value, path string) { c.MaxParallel = int(r.whole(v, path, 1)) }},
	}
}

// prices reads the prices of models by "provider:model".
func (r *reader) prices(v value, path string) map[string]runner.Price {
	prices := map[string]runner.Price{}
	for _, m := range r.members(v, path) {
		at := path + "." + m.Key
		if strings.TrimSpace(m.Key) == "" {
			r.add(m.Place, "a price needs the name of a model", "")
		}
		var p runner.Price
		r.object(m.Value, at, r.priceFields(&p))
		if m.Value.Kind == doc.Map && len(m.Value.Members) == 0 {
			r.add(m.Value.Place, at+" gives no price", "such as {input: 1.25, output: 10}")
		}
		prices[m.Key] = p
	}
	return prices
}

func (r *reader) priceFields(p *runner.Price) []field {
	rate := func(v value, path string) *runner.Rate { return &runner.Rate{USD: r.number(v, path, noLimit)} }
	return []field{
		{"input", func(v value, path string) { p.Input = rate(v, path) }},
		{"output", func(v value, path string) { p.Output = rate(v, path) }},
		{"cacheRead", func(v value, path string) { p.CacheRead = rate(v, path) }},
		{"cacheWrite", func(v value, path string) { p.CacheWrite = rate(v, path) }},
		{"perRequest", func(v value, path string) { p.PerRequest = r.number(v, path, noLimit) }},
	}
}

// onlyFor returns the kinds of runners that a key applies to; nil means all.
func onlyFor(key string) []string {
	switch key {
	case "baseURL", "api", "apiKeyEnv", "headers":
		return []string{"model"}
	case "env":
		return []string{"command"}
	case "temperature", "seed", "topP", "maxOutputTokens", "reasoningEffort":
		return []string{"model", "command"}
	}
	return nil
}

func (r *reader) runners(v value, path string) []plumb.RunnerConfig {
	var runners []plumb.RunnerConfig
	for _, m := range r.members(v, path) {
		at := path + "." + m.Key
		if strings.TrimSpace(m.Key) == "" {
			r.add(m.Place, "a runner needs an id", "")
		}
		if why := doc.Unprintable(m.Key); why != "" {
			r.add(m.Place, fmt.Sprintf("the id %q of a runner %s", m.Key, why), "use letters, digits and punctuation")
		}
		c := plumb.RunnerConfig{ID: m.Key}
		if m.Value.Kind == doc.String {
			c.Model = r.text(m.Value, at)
		} else {
			r.runner(m.Value, at, r.runnerFields(&c))
		}
		runners = append(runners, c)
	}
	return runners
}

// runner reads the keys of one runner, and reports those that do not apply to its kind.
func (r *reader) runner(v value, path string, fields []field) {
	if !r.is(v, path, doc.Map) {
		return
	}
	r.object(v, path, fields)
	possible := slices.DeleteFunc([]string{"model", "command", "replay", "agent"},
		func(k string) bool { return !known(fields, k) })
	var kinds []string
	for _, m := range v.Members {
		if slices.Contains(possible, m.Key) {
			kinds = append(kinds, m.Key)
		}
	}
	switch len(kinds) {
	case 0: // an unknown key may be a misspelled kind
		if !slices.ContainsFunc(v.Members, func(m doc.Member) bool { return !known(fields, m.Key) }) {
			last := len(possible) - 1
			r.add(v.Place, fmt.Sprintf("%s needs one of %s and %s", path, strings.Join(possible[:last], ", "),
				possible[last]), "")
		}
		return
	case 1:
	default:
		r.add(v.Place, fmt.Sprintf("%s has %s, but a runner is one of them", path, strings.Join(kinds, " and ")), "")
		return
	}
	for _, m := range v.Members {
		if only := onlyFor(m.Key); only != nil && !slices.Contains(only, kinds[0]) {
			r.add(m.Place, fmt.Sprintf("%s.%s has no effect on a %s runner", path, m.Key, kinds[0]),
				"it is for "+strings.Join(only, " and ")+" runners")
		}
	}
}

func known(fields []field, key string) bool {
	return slices.ContainsFunc(fields, func(f field) bool { return f.name == key })
}

// judgeFields returns the keys of a runner that judges. An agent cannot judge.
func (r *reader) judgeFields(c *plumb.RunnerConfig) []field {
	return slices.DeleteFunc(r.runnerFields(c), func(f field) bool { return f.name == "agent" })
}

func (r *reader) judge(v value, path string, c *Config) {
	if v.Kind == doc.String {
		name := r.text(v, path)
		if c.Judge = c.Runner(name); c.Judge == nil {
			c.Judge = &plumb.RunnerConfig{Model: name}
		}
		return
	}
	if v.Kind != doc.Map {
		r.wrong(v, path, "a model, the id of a runner, or a mapping")
		return
	}
	id := ""
	c.Judge = &plumb.RunnerConfig{}
	fields := append(r.judgeFields(c.Judge),
		field{"runner", func(v value, path string) { id = r.text(v, path) }},
		field{"votes", func(v value, path string) {
			c.JudgeVotes = int(r.whole(v, path, 1))
			r.odd(v, path, c.JudgeVotes)
		}},
	)
	named := v.Get("runner")
	if named == nil {
		if r.runner(v, path, fields); c.Judge.Model == "" { // a model describes itself
			c.Judge.ID = "judge"
		}
		return
	}
	r.object(v, path, fields)
	for _, m := range v.Members {
		if m.Key != "runner" && m.Key != "votes" && known(fields, m.Key) {
			r.add(m.Place, fmt.Sprintf("%s.%s cannot be used together with %s.runner", path, m.Key, path),
				"the runner has its own settings")
		}
	}
	if c.Judge = c.Runner(id); c.Judge == nil && id != "" {
		var ids []string
		for _, known := range c.Runners {
			ids = append(ids, known.ID)
		}
		r.add(named.Place, fmt.Sprintf("%s.runner: the config has no runner %q", path, id), doc.DidYouMean(id, ids))
	}
}

func (r *reader) embedderFields(e *plumb.RunnerConfig) []field {
	return []field{
		{"model", func(v value, path string) { e.Model = r.text(v, path) }},
		{"baseURL", func(v value, path string) { e.BaseURL = r.address(v, path) }},
		{"apiKeyEnv", func(v value, path string) { e.APIKeyEnv = r.variable(v, path) }},
	}
}

func (r *reader) embedder(v value, path string) *plumb.RunnerConfig {
	e := &plumb.RunnerConfig{}
	switch v.Kind {
	case doc.String:
		e.Model = r.text(v, path)
	case doc.Map:
		before := len(r.problems)
		r.object(v, path, r.embedderFields(e))
		if e.Model == "" && len(r.problems) == before {
			r.add(v.Place, path+".model is missing", `such as "openai:text-embedding-3-small"`)
		}
	default:
		r.wrong(v, path, "a model or a mapping")
	}
	return e
}

// address reads a URL. A URL that refers to environment variables is checked when it is used.
func (r *reader) address(v value, path string) string {
	text := r.text(v, path)
	if text == "" || strings.Contains(text, "${") {
		return text
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		r.add(v.Place, fmt.Sprintf("%s must be an http or https URL", path), "such as http://localhost:11434/v1")
	}
	return text
}

// command reads a program and its arguments.
func (r *reader) command(v value, path string) []string {
	if v.Kind == doc.String {
		words := fmt.Sprintf("%q", strings.Fields(v.Text()))
		r.add(v.Place, path+" must be a list of the program and its arguments",
			"such as "+strings.ReplaceAll(words, `" "`, `", "`))
		return nil
	}
	return r.words(v, path)
}
