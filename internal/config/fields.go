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
	"github.com/plumb-eval/plumb/internal/runner"
	"github.com/plumb-eval/plumb/internal/setting"
	"github.com/plumb-eval/plumb/internal/suite/lib"
)

// topFields returns the keys of a config file. A test compares them with the JSON Schema.
func (r *reader) topFields(c *Config) []setting.Field {
	return []setting.Field{
		{Name: "$schema", Read: func(v value, path string) { r.Text(v, path) }},
		{Name: "suites", Read: func(v value, path string) { c.Suites = r.suites(v, path) }},
		{Name: "runners", Read: func(v value, path string) { c.Runners = r.runners(v, path) }},
		{Name: "judge", Read: func(v value, path string) { r.judge(v, path, c) }},
		{Name: "embedder", Read: func(v value, path string) { c.Embedder = r.embedder(v, path) }},
		{Name: "prices", Read: func(v value, path string) { c.Prices = r.prices(v, path) }},
		{Name: "run", Read: func(v value, path string) {
			r.Object(v, path, r.runFields(&c.Run))
			r.twice(v, path)
		}},
		{Name: "defaults", Read: func(v value, path string) { r.Object(v, path, r.defaultsFields(c)) }},
		{Name: "snapshots", Read: func(v value, path string) { c.Snapshots = r.snapshots(v, path) }},
		{Name: "server", Read: func(v value, path string) { r.server(v, path, &c.Server) }},
	}
}

// server reads the server for submissions: an address, or a mapping.
func (r *reader) server(v value, path string, s *Server) {
	if v.Kind != doc.Map {
		s.URL = r.address(v, path)
		return
	}
	r.Object(v, path, r.serverFields(s))
	if s.URL == "" && v.Get("url") == nil {
		r.Add(v.Place, path+".url is missing", "such as https://plumb.example.com")
	}
}

func (r *reader) serverFields(s *Server) []setting.Field {
	return []setting.Field{
		{Name: "url", Read: func(v value, path string) { s.URL = r.address(v, path) }},
		{Name: "project", Read: func(v value, path string) { s.Project = r.Text(v, path) }},
		{Name: "share", Read: func(v value, path string) { s.Share = plumb.Share(r.Choice(v, path, shares())) }},
	}
}

func shares() []string {
	var words []string
	for _, s := range plumb.Shares() {
		words = append(words, string(s))
	}
	return words
}

// suites reads the suites of a config: files, or published suites.
func (r *reader) suites(v value, path string) []string {
	refs, places := r.Words(v, path), v.List
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
				Pos: r.Position(places[i].Place), Message: fmt.Sprintf("%s: there is no file %q", path, ref),
			})
		}
	}
	return refs
}

func (r *reader) defaultsFields(c *Config) []setting.Field {
	return []setting.Field{
		{Name: "timeoutMs", Read: func(v value, path string) {
			if c.Run.TimeoutMs != 0 {
				r.Add(v.Place, path+" and run.timeoutMs set the same value", "keep one of them")
			}
			c.Run.TimeoutMs = setting.Milliseconds(r.Duration(v, path))
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
				r.Add(v.Members[at].Place, fmt.Sprintf("%s.%s and %s.%s set the same value", path, first, path, key),
					"keep one of them")
			default:
				r.Warn(v.Members[at].Place, fmt.Sprintf("%s.%s has no effect beside %s.%s", path, key, path, first),
					"leave it out")
			}
		}
	}
}

func apis() []string { return []string{"chat", "responses"} }

func (r *reader) runnerFields(c *plumb.RunnerConfig) []setting.Field {
	return []setting.Field{
		{Name: "model", Read: func(v value, path string) { c.Model = r.Text(v, path) }},
		{Name: "command", Read: func(v value, path string) { c.Command = r.command(v, path) }},
		{Name: "replay", Read: func(v value, path string) { c.Replay = r.Text(v, path) }},
		{Name: "agent", Read: func(v value, path string) { c.Agent = r.agent(v, path) }},
		{Name: "baseURL", Read: func(v value, path string) { c.BaseURL = r.address(v, path) }},
		{Name: "api", Read: func(v value, path string) { c.API = r.Choice(v, path, apis()) }},
		{Name: "apiKeyEnv", Read: func(v value, path string) { c.APIKeyEnv = r.Variable(v, path) }},
		{Name: "headers", Read: func(v value, path string) { c.Headers = r.Headers(v, path) }},
		{Name: "env", Read: func(v value, path string) { c.Env = r.Pairs(v, path) }},
		{Name: "temperature", Read: func(v value, path string) { c.Temperature, c.NoTemperature = r.Optional(v, path) }},
		{Name: "seed", Read: func(v value, path string) { c.Seed, c.NoSeed = r.Seed(v, path) }},
		{Name: "topP", Read: func(v value, path string) { c.TopP = new(r.Number(v, path, 1)) }},
		{Name: "maxOutputTokens", Read: func(v value, path string) { c.MaxOutputTokens = new(r.Whole(v, path, 1)) }},
		{Name: "reasoningEffort", Read: func(v value, path string) { c.ReasoningEffort = new(r.Text(v, path)) }},
		{Name: "timeoutMs", Read: func(v value, path string) { c.TimeoutMs = r.Duration(v, path) }},
		{Name: "maxParallel", Read: func(v value, path string) { c.MaxParallel = int(r.Whole(v, path, 1)) }},
	}
}

// prices reads the prices of models by "provider:model".
func (r *reader) prices(v value, path string) map[string]runner.Price {
	prices := map[string]runner.Price{}
	for _, m := range r.Members(v, path) {
		at := path + "." + m.Key
		if strings.TrimSpace(m.Key) == "" {
			r.Add(m.Place, "a price needs the name of a model", "")
		}
		var p runner.Price
		r.Object(m.Value, at, r.priceFields(&p))
		if m.Value.Kind == doc.Map && len(m.Value.Members) == 0 {
			r.Add(m.Value.Place, at+" gives no price", "such as {input: 1.25, output: 10}")
		}
		prices[m.Key] = p
	}
	return prices
}

func (r *reader) priceFields(p *runner.Price) []setting.Field {
	rate := func(v value, path string) *runner.Rate { return &runner.Rate{USD: r.Number(v, path, setting.NoLimit)} }
	return []setting.Field{
		{Name: "input", Read: func(v value, path string) { p.Input = rate(v, path) }},
		{Name: "output", Read: func(v value, path string) { p.Output = rate(v, path) }},
		{Name: "cacheRead", Read: func(v value, path string) { p.CacheRead = rate(v, path) }},
		{Name: "cacheWrite", Read: func(v value, path string) { p.CacheWrite = rate(v, path) }},
		{Name: "perRequest", Read: func(v value, path string) { p.PerRequest = r.Number(v, path, setting.NoLimit) }},
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
	for _, m := range r.Members(v, path) {
		at := path + "." + m.Key
		if strings.TrimSpace(m.Key) == "" {
			r.Add(m.Place, "a runner needs an id", "")
		}
		if why := doc.Unprintable(m.Key); why != "" {
			r.Add(m.Place, fmt.Sprintf("the id %q of a runner %s", m.Key, why), "use letters, digits and punctuation")
		}
		c := plumb.RunnerConfig{ID: m.Key}
		if m.Value.Kind == doc.String {
			c.Model = r.Text(m.Value, at)
		} else {
			r.runner(m.Value, at, r.runnerFields(&c))
		}
		runners = append(runners, c)
	}
	return runners
}

// runner reads the keys of one runner, and reports those that do not apply to its kind.
func (r *reader) runner(v value, path string, fields []setting.Field) {
	if !r.Is(v, path, doc.Map) {
		return
	}
	r.Object(v, path, fields)
	possible := slices.DeleteFunc([]string{"model", "command", "replay", "agent"},
		func(k string) bool { return !setting.Known(fields, k) })
	var kinds []string
	for _, m := range v.Members {
		if slices.Contains(possible, m.Key) {
			kinds = append(kinds, m.Key)
		}
	}
	switch len(kinds) {
	case 0: // an unknown key may be a misspelled kind
		if !slices.ContainsFunc(v.Members, func(m doc.Member) bool { return !setting.Known(fields, m.Key) }) {
			last := len(possible) - 1
			r.Add(v.Place, fmt.Sprintf("%s needs one of %s and %s", path, strings.Join(possible[:last], ", "),
				possible[last]), "")
		}
		return
	case 1:
	default:
		r.Add(v.Place, fmt.Sprintf("%s has %s, but a runner is one of them", path, strings.Join(kinds, " and ")), "")
		return
	}
	for _, m := range v.Members {
		if only := onlyFor(m.Key); only != nil && !slices.Contains(only, kinds[0]) {
			r.Add(m.Place, fmt.Sprintf("%s.%s has no effect on a %s runner", path, m.Key, kinds[0]),
				"it is for "+strings.Join(only, " and ")+" runners")
		}
	}
}

// judgeFields returns the keys of a runner that judges. An agent cannot judge.
func (r *reader) judgeFields(c *plumb.RunnerConfig) []setting.Field {
	return slices.DeleteFunc(r.runnerFields(c), func(f setting.Field) bool { return f.Name == "agent" })
}

func (r *reader) judge(v value, path string, c *Config) {
	if v.Kind == doc.String {
		name := r.Text(v, path)
		if c.Judge = c.Runner(name); c.Judge == nil {
			c.Judge = &plumb.RunnerConfig{Model: name}
		}
		return
	}
	if v.Kind != doc.Map {
		r.Wrong(v, path, "a model, the id of a runner, or a mapping")
		return
	}
	id := ""
	c.Judge = &plumb.RunnerConfig{}
	fields := append(r.judgeFields(c.Judge),
		setting.Field{Name: "runner", Read: func(v value, path string) { id = r.Text(v, path) }},
		setting.Field{Name: "votes", Read: func(v value, path string) {
			c.JudgeVotes = int(r.Whole(v, path, 1))
			r.Odd(v, path, c.JudgeVotes)
		}},
	)
	named := v.Get("runner")
	if named == nil {
		if r.runner(v, path, fields); c.Judge.Model == "" { // a model describes itself
			c.Judge.ID = "judge"
		}
		return
	}
	r.Object(v, path, fields)
	for _, m := range v.Members {
		if m.Key != "runner" && m.Key != "votes" && setting.Known(fields, m.Key) {
			r.Add(m.Place, fmt.Sprintf("%s.%s cannot be used together with %s.runner", path, m.Key, path),
				"the runner has its own settings")
		}
	}
	if c.Judge = c.Runner(id); c.Judge == nil && id != "" {
		var ids []string
		for _, known := range c.Runners {
			ids = append(ids, known.ID)
		}
		r.Add(named.Place, fmt.Sprintf("%s.runner: the config has no runner %q", path, id), doc.DidYouMean(id, ids))
	}
}

func (r *reader) embedderFields(e *plumb.RunnerConfig) []setting.Field {
	return []setting.Field{
		{Name: "model", Read: func(v value, path string) { e.Model = r.Text(v, path) }},
		{Name: "baseURL", Read: func(v value, path string) { e.BaseURL = r.address(v, path) }},
		{Name: "apiKeyEnv", Read: func(v value, path string) { e.APIKeyEnv = r.Variable(v, path) }},
	}
}

func (r *reader) embedder(v value, path string) *plumb.RunnerConfig {
	e := &plumb.RunnerConfig{}
	switch v.Kind {
	case doc.String:
		e.Model = r.Text(v, path)
	case doc.Map:
		before := len(r.Problems)
		r.Object(v, path, r.embedderFields(e))
		if e.Model == "" && len(r.Problems) == before {
			r.Add(v.Place, path+".model is missing", `such as "openai:text-embedding-3-small"`)
		}
	default:
		r.Wrong(v, path, "a model or a mapping")
	}
	return e
}

// address reads a URL. A URL that refers to environment variables is checked when it is used.
func (r *reader) address(v value, path string) string {
	text := r.Text(v, path)
	if text == "" || strings.Contains(text, "${") {
		return text
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		r.Add(v.Place, fmt.Sprintf("%s must be an http or https URL", path), "such as http://localhost:11434/v1")
	}
	return text
}

// command reads a program and its arguments.
func (r *reader) command(v value, path string) []string {
	if v.Kind == doc.String {
		words := fmt.Sprintf("%q", strings.Fields(v.Text()))
		r.Add(v.Place, path+" must be a list of the program and its arguments",
			"such as "+strings.ReplaceAll(words, `" "`, `", "`))
		return nil
	}
	return r.Words(v, path)
}
