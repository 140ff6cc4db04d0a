package promptfoo

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/plumb-eval/plumb/internal/convert/draft"
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/template"
)

// test is a test of promptfoo with one combination of its variables.
type test struct {
	*draft.Case
	node           draft.Node
	prefix, suffix string
	// prompts are the labels of the prompts of the test; none for all.
	prompts []string
	scored  bool
	// pushed is the transform of a test whose checks need its value, which may be no text; "" if the
	// case has the transform.
	pushed string
}

// readTests makes cases of the tests and of the scenarios.
func (p *conversion) readTests() {
	for _, m := range p.defaults.Get("vars").Keys() {
		v := m.Value.Copy()
		trimEnd(&v)
		p.Vars.Set(m.Key, v)
	}
	tests := p.root.Get("tests")
	switch {
	case !tests.OK():
		if !p.root.Get("scenarios").OK() {
			p.test(draft.Node{File: p.root.File, Value: &doc.Value{Kind: doc.Map, Place: p.root.Place}}, draft.Node{})
		}
	case tests.Is(doc.String):
		p.testFiles(tests)
	case tests.Is(doc.List):
		for _, t := range tests.All() {
			p.testOrFiles(t)
		}
	default:
		p.Lose(tests.At(), "tests that a generator makes cannot be carried over",
			"write the tests to a file, and name that file")
	}
	for _, s := range p.root.Get("scenarios").All() {
		if !s.Is(doc.Map) {
			p.Lose(s.At(), "a scenario from a file cannot be carried over", "write it into the config")
			p.whole = append(p.whole, "scenarios")
			continue
		}
		for _, config := range s.Get("config").All() {
			for _, t := range s.Get("tests").All() {
				if !t.Is(doc.Map) || !config.Is(doc.Map) {
					p.Lose(t.At(), "tests of a scenario from a file cannot be carried over", "write them into the config")
					continue
				}
				p.test(t, config)
			}
		}
	}
	for _, t := range p.tests {
		t.Lost = append(t.Lost, p.whole...)
	}
}

func (p *conversion) testOrFiles(t draft.Node) {
	switch {
	case t.Is(doc.String):
		p.testFiles(t)
	case t.Is(doc.Map):
		if !slices.ContainsFunc(t.Members, func(m doc.Member) bool {
			return slices.Contains([]string{"assert", "vars", "options", "metadata", "provider", "providerOutput", "threshold", "path"}, m.Key)
		}) {
			p.whole = append(p.whole, "an empty test")
			p.Lose(t.At(), "a test with neither vars nor assert, with which promptfoo runs nothing", "remove it, or write vars: {}")
		}
		if t.Get("path").OK() && !t.Get("vars").OK() {
			p.Lose(t.At(), "tests that a generator makes cannot be carried over", "write the tests to a file")
			return
		}
		p.test(t, draft.Node{})
	default:
		p.Lose(t.At(), "a test must be a mapping or a file, not "+t.Kind.String(), "")
	}
}

// testFiles reads the tests of the files that a text names.
func (p *conversion) testFiles(n draft.Node) {
	ref := n.Text()
	refuse := func(message, hint string) { p.Lose(n.At(), ref+": "+message, hint) }
	if strings.Contains(strings.TrimPrefix(ref, "file://"), "://") || strings.HasPrefix(ref, "huggingface:") {
		refuse("tests from a service cannot be carried over", "save them as a CSV file, and name that file")
		return
	}
	files, err := p.glob(ref)
	if err != nil {
		refuse(err.Error()+"; promptfoo runs no test then, and passes", "correct the path")
		return
	}
	for _, name := range files {
		data, err := p.Read(name)
		if err != nil {
			refuse(doc.Cause(err).Error(), "")
			continue
		}
		ext := strings.ToLower(filepath.Ext(name))
		if !slices.Contains([]string{".csv", ".jsonl", ".yaml", ".yml", ".json"}, ext) {
			refuse("tests in a "+ext+" file cannot be carried over", "write the tests as CSV, JSON or YAML")
			continue
		}
		root, problems := doc.ParseData(name, data, doc.ParseWritten)
		if len(problems) > 0 {
			if strings.HasPrefix(problems[0].Message, "duplicate key") {
				p.twice = append(p.twice, problems...)
			}
			if ext == ".csv" { // promptfoo refuses the file, and runs nothing
				p.whole = append(p.whole, problems[0].Message)
			}
			refuse(problems.Error(), "")
			continue
		}
		root = root.Copy()
		resolve(&root)
		if root.Kind == doc.Map {
			p.test(draft.Node{File: name, Value: &root}, draft.Node{})
		}
		for _, t := range (draft.Node{File: name, Value: &root}).All() {
			switch ext {
			case ".csv": // a row becomes the mapping that it stands for
				r := ReadRow(t.Value)
				test, problems := r.test(t)
				p.test(test, draft.Node{}, problems...)
			case ".jsonl":
				p.test(t, draft.Node{})
			default:
				p.testOrFiles(t)
			}
		}
	}
}

// test makes cases of a test: one for each combination of its variables. config is that of the
// scenario of the test. The cases are left out if there are refusals.
func (p *conversion) test(t, config draft.Node, refusals ...doc.Problem) {
	vars := doc.Value{Kind: doc.Map, Members: slices.Clone(p.Vars.Members)}
	known := []string{"description", "vars", "assert", "options", "threshold", "metadata", "prompts"}
	refuse := func(n draft.Node, message, hint string) {
		refusals = append(refusals, doc.Problem{Pos: n.At(), Message: message, Hint: hint})
	}
	for _, level := range []draft.Node{p.defaults, config, t} {
		given := level.Get("vars")
		if given.OK() && !given.Is(doc.Map) {
			refuse(given, "vars must be a mapping", "")
		}
		for _, m := range given.Keys() {
			vars.Set(m.Key, p.variable(draft.Node{File: given.File, Value: &m.Value}, refuse))
		}
		for _, m := range level.Keys() {
			if n := (draft.Node{File: level.File, Value: &m.Value}); !slices.Contains(known, m.Key) {
				refuse(n, "the key "+m.Key+" of a test cannot be carried over", "remove it")
			}
		}
	}
	whole := p.option(t, config, "disableVarExpansion")
	if whole && slices.ContainsFunc(vars.Members, func(m doc.Member) bool { return multiplies(&m.Value) }) {
		refuse(t, "a list of texts that disableVarExpansion keeps whole: Plumb makes a case of each", "join the texts")
	}
	all, ok := []doc.Value{vars}, true
	if !whole {
		all, ok = combinations(vars)
	}
	if !ok {
		refuse(t, "a test with more than 10,000 combinations of variables", "split the test")
	}
	for _, combination := range all {
		id := "test-" + strconv.Itoa(len(p.tests)+1)
		c := &test{Case: &draft.Case{ID: id, At: t.At(), Vars: combination}, node: t}
		if only := p.onlyPrompt(); only != "" {
			c.Written = id + "." + only
		}
		p.Cases, p.tests = append(p.Cases, c.Case), append(p.tests, c)
		for _, r := range refusals {
			p.Refuse(c.Case, r.Pos, r.Message, r.Hint)
		}
		p.fill(c, config)
	}
}

// trimEnd removes the line break at the end of a text, as promptfoo does with each variable.
func trimEnd(v *doc.Value) {
	if v.Kind == doc.String {
		v.SetText(strings.TrimSuffix(v.Text(), "\n"))
	}
	for i := range v.List {
		trimEnd(&v.List[i])
	}
}

// variable returns the value of a variable, with the content of the file that it names.
func (p *conversion) variable(n draft.Node, refuse func(n draft.Node, message, hint string)) doc.Value {
	v := n.Copy()
	if hasDate(&v) {
		refuse(n, "an unquoted date: promptfoo inserts it as [object Object]", "put the date in quotes")
	}
	texts := 0
	for i := range v.List {
		if v.List[i].Kind == doc.String {
			texts++
			if strings.HasPrefix(v.List[i].Text(), "file://") {
				refuse(n, "a list of files as a variable", "write the values into the test")
			}
		}
	}
	if texts > 0 && texts < len(v.List) {
		refuse(n, "a variable with a list of texts and other values", "put all values in quotes")
	}
	ref := v.Text()
	switch ext := strings.ToLower(filepath.Ext(ref)); {
	case v.Kind != doc.String || !strings.HasPrefix(ref, "file://"):
		trimEnd(&v)
		return v
	case strings.ContainsAny(ref, "*?[{"):
		refuse(n, "a pattern of files as a variable", "write the values into the test")
	case !slices.Contains([]string{".txt", ".md", ".json", ".html", ".csv", ".xml"}, ext):
		refuse(n, "a variable from a "+ext+" file", "write the value into the test")
	default:
		_, data, err := p.open(ref)
		if err != nil {
			refuse(n, ref+": "+err.Error(), "")
		}
		return doc.NewString(strings.TrimSpace(string(data)), n.Place)
	}
	return doc.NewString("", n.Place)
}

// multiplies reports whether promptfoo makes a test of each element of a list.
func multiplies(v *doc.Value) bool { return len(v.List) > 0 && v.List[0].Kind == doc.String }

// combinations returns the combinations of the variables that are lists of texts.
func combinations(vars doc.Value) ([]doc.Value, bool) {
	const most = 10_000
	all := []doc.Value{{Kind: doc.Map}}
	for _, m := range vars.Members {
		values := []doc.Value{m.Value}
		if multiplies(&m.Value) {
			values = m.Value.List
		}
		if len(all)*len(values) > most {
			return []doc.Value{vars}, false
		}
		var next []doc.Value
		for _, combination := range all {
			for _, v := range values {
				with := combination
				with.Members = append(slices.Clip(with.Members), doc.Member{Key: m.Key, Value: v})
				next = append(next, with)
			}
		}
		all = next
	}
	return all, true
}

// option reports whether an option of a test is true: its own, that of its scenario, or the
// default.
func (p *conversion) option(t, config draft.Node, key string) bool {
	for _, level := range []draft.Node{t, config, p.defaults} {
		if o := level.Get("options").Get(key); o.Value != nil {
			return o.Kind == doc.Bool && o.Text() == "true"
		}
	}
	return false
}

// fill reads everything but the variables of a test.
func (p *conversion) fill(c *test, config draft.Node) {
	t := c.node
	levels := []draft.Node{p.defaults, config, t}
	for i := range c.Vars.Members {
		m := &c.Vars.Members[i]
		if m.Value.Kind != doc.String || !template.Is(m.Value.Text()) {
			continue
		}
		value, ok := render(m.Value.Text(), &c.Vars)
		if !ok || template.Is(value) {
			p.Refuse(c.Case, t.At(), "the variable "+m.Key+" is a template", "write its value")
		}
		m.Value = doc.NewString(value, m.Place)
	}
	for _, level := range levels {
		if d := level.Get("description"); d.Is(doc.String) && level.Value == t.Value {
			c.Describe("description", *d.Value)
		}
		for _, m := range level.Get("metadata").Keys() {
			c.Describe(m.Key, m.Value)
		}
		if list := level.Get("prompts"); list.OK() {
			c.prompts = nil
			for _, e := range list.All() {
				c.prompts = append(c.prompts, e.Text())
			}
		}
		options := level.Get("options")
		for _, m := range options.Keys() {
			p.testOption(c, draft.Node{File: options.File, Value: &m.Value}, m.Key, levels)
		}
	}
	p.threshold(c, levels)
	p.choosePrompts(c)
	p.asserts(c, levels)
	p.needed(c)
}

// threshold makes a threshold of a test the lowest score of the case.
func (p *conversion) threshold(c *test, levels []draft.Node) {
	for _, level := range slices.Backward(levels) {
		n := level.Get("threshold")
		if !n.OK() {
			continue
		}
		if f, err := strconv.ParseFloat(n.Text(), 64); n.Kind != doc.Number || err != nil || f < 0 || f > 1 {
			p.Refuse(c.Case, n.At(), "a threshold of a test that is not a number from 0 to 1", "")
			return
		}
		c.scored = true
		c.Keys.Set("min_score", *n.Value)
		return
	}
}

// testOption reads an option of a test.
func (p *conversion) testOption(c *test, n draft.Node, key string, levels []draft.Node) {
	refuse := func(message, hint string) { p.Refuse(c.Case, n.At(), message, hint) }
	switch key {
	case "disableVarExpansion", "disableDefaultAsserts", "disableConversationVar":
	case "prefix", "suffix":
		text := n.Text()
		if template.Is(text) {
			refuse("a "+key+" with a template", "write it into the prompt")
		}
		if key == "prefix" && text != "" {
			c.prefix = text
		} else if text != "" {
			c.suffix = text
		}
	case "transform", "postprocess":
		transform := func(expr string) { c.Keys.Set("transform", doc.NewString(template.Literal(expr), n.Place)) }
		expr, why, hint := source(n.Value, &c.Vars)
		switch {
		case why != "":
			refuse(why, hint)
		case textMethods().MatchString(expr):
			c.pushed = ""
			transform(expr)
		case slices.ContainsFunc(levels, func(l draft.Node) bool { return needsValue(l.Get("assert")) }):
			c.pushed = expr
			c.Keys.Members = slices.DeleteFunc(c.Keys.Members, func(m doc.Member) bool { return m.Key == "transform" })
		default: // Plumb makes JSON of other values, as promptfoo does
			transform("((r) => typeof r === \"number\" || typeof r === \"boolean\" ? String(r) : r)(" + expr + ")")
		}
	default:
		refuse("the option "+key+" of a test cannot be carried over", "")
	}
}

// asserts makes checks of the assertions of a test: those of the defaults, of the scenario and its
// own.
func (p *conversion) asserts(c *test, levels []draft.Node) {
	dropped := false
	for i, level := range levels {
		if i == 0 && p.option(c.node, levels[1], "disableDefaultAsserts") {
			continue
		}
		list := level.Get("assert")
		if list.OK() && !list.Is(doc.List) {
			p.Refuse(c.Case, list.At(), "assert must be a list", "")
		}
		for _, n := range list.All() {
			check, weightless := p.assert(c, n)
			if weightless {
				dropped = true
				p.Tell(n.At(), "an assertion with weight 0 is left out: it always passes", "")
			}
			if check.Kind == doc.Map {
				c.Checks = append(c.Checks, check)
			}
		}
		if i == 0 {
			c.Defaults = len(c.Checks)
		}
	}
	if len(c.Checks) > 0 {
		return
	}
	if dropped && c.scored {
		p.Refuse(c.Case, c.At, "a threshold over assertions that all have weight 0", "give them a weight")
	}
	// Without an assertion, promptfoo passes any answer.
	c.Checks = []doc.Value{draft.Check(doc.Place{}, "js", "expr", "true", "name", "any answer")}
}

// assert makes the check of an assertion. Without one, weightless is set or the case is left out.
func (p *conversion) assert(c *test, n draft.Node) (check doc.Value, weightless bool) {
	a := &assertion{of: p, test: c, scored: c.scored}
	check, weightless = a.convert(n)
	if a.why != "" {
		p.Refuse(c.Case, n.At(), a.why, a.hint)
		return doc.Value{}, false
	}
	return check, weightless
}

// needed reports the variables that the prompts of a test use and that it does not have.
func (p *conversion) needed(c *test) {
	for i := range p.prompts {
		prompt := &p.prompts[i]
		if prompt.lost || len(c.prompts) > 0 && !slices.Contains(c.prompts, prompt.label) {
			continue
		}
		for _, text := range prompt.texts() {
			names, trouble := undefined(text, &c.Vars)
			if trouble != "" {
				p.Refuse(c.Case, prompt.at, trouble+" cannot be carried over", "write what it renders")
			}
			for _, name := range names {
				plain, used := inserted(text)
				once := used[name] == 1 && slices.ContainsFunc(plain, func(u template.Use) bool {
					return len(u.Path) == 1 && u.Path[0] == name
				})
				if !once {
					p.Refuse(c.Case, c.At, "the variable "+name+" of a prompt is not defined", "define it in vars")
					continue
				}
				p.Tell(c.At, "the variable "+name+" is not defined: promptfoo inserts nothing, and so does the suite",
					"define it in vars")
				c.Vars.Set(name, doc.NewString("", doc.Place{}))
			}
			p.wholeObjects(c, text)
		}
	}
}

// wholeObjects refuses a template that inserts an object as a text.
func (p *conversion) wholeObjects(c *test, text string) {
	uses, _ := inserted(text)
	for _, use := range uses {
		path := strings.Join(use.Path, ".")
		if c.Vars.Get(use.Path[0]) == nil {
			continue
		}
		v := lookup(&c.Vars, use.Path)
		if v == nil {
			p.Refuse(c.Case, c.At, path+" is not defined: promptfoo inserts nothing", "define it in vars")
		} else if _, useful := printed(v); !useful {
			p.Refuse(c.Case, c.At, path+" is an object: promptfoo inserts [object Object]", "insert one of its members")
		} else if v.Kind == doc.Null {
			p.Refuse(c.Case, c.At, path+" is null: promptfoo inserts nothing", `write ""`)
		}
	}
}

// affixes puts the prefixes and suffixes of tests around the prompts.
func (p *conversion) affixes() {
	has := func(t *test) bool { return t.prefix != "" || t.suffix != "" }
	if !slices.ContainsFunc(p.tests, has) {
		return
	}
	first := p.tests[0]
	same := !slices.ContainsFunc(p.tests, func(t *test) bool {
		return t.prefix != first.prefix || t.suffix != first.suffix
	})
	for i := range p.prompts {
		prompt := &p.prompts[i]
		switch {
		case prompt.messages != nil:
			for _, t := range p.tests {
				if has(t) {
					p.Refuse(t.Case, prompt.at,
						"a prefix or suffix around chat messages, which makes them plain text", "write it into the messages")
				}
			}
		case same:
			prompt.text = first.prefix + prompt.text + first.suffix
		default:
			prompt.text = "{{ prompt_prefix }}" + prompt.text + "{{ prompt_suffix }}"
		}
	}
	if same {
		return
	}
	for _, t := range p.tests {
		t.Vars.Set("prompt_prefix", doc.NewString(t.prefix, doc.Place{}))
		t.Vars.Set("prompt_suffix", doc.NewString(t.suffix, doc.Place{}))
	}
}
