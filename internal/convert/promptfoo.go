package convert

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/suite/lib"
	"github.com/plumb-eval/plumb/internal/template"
)

// fromPromptfoo converts a configuration of promptfoo.
func fromPromptfoo(w *work, data []byte) error {
	var root node
	var err error
	if lib.IsCode(w.file) {
		root, err = w.module(w.file)
	} else {
		root, err = parse(w.file, data)
	}
	if err != nil {
		return err
	}
	if root.kind() != doc.Map {
		return doc.Problems{{Pos: root.place().In(w.file), Message: "a promptfoo config must be a mapping, not " +
			root.kind().String()}}
	}
	p := &foo{work: w, root: root}
	w.configs = true
	w.comment = append(w.comment, "Converted from "+filepath.Base(w.file)+" by plumb convert.")
	if about := root.get("description"); about.kind() == doc.String {
		w.comment = append(w.comment, strings.Split(about.text(), "\n")...)
	}
	p.topLevel()
	p.readPrompts()
	p.readProviders()
	p.readTests()
	p.affixes()
	return nil
}

// foo is the conversion of one configuration of promptfoo.
type foo struct {
	*work
	root     node
	defaults node
	tests    []*fooTest
	// whole are the reasons why no test can be carried over.
	whole []string
	count int
}

// fooTest is a test of promptfoo with one combination of its variables.
type fooTest struct {
	*item
	node    node
	vars    object
	prefix  string
	suffix  string
	prompts []string
	scored  bool
	// pushed is the transform of a test whose checks need its value, which may be no text; "" if the
	// case has the transform.
	pushed string
}

// topLevel reads the keys of the file that are neither prompts, providers nor tests.
func (p *foo) topLevel() {
	for i := range p.root.Members {
		m := &p.root.Members[i]
		n := node{p.root.src, &m.Value}
		switch m.Key {
		case "description", "prompts", "providers", "targets", "tests", "scenarios", "defaultTest", "$schema", "tags",
			"sharing", "writeLatestResults", "metadata":
		case "evaluateOptions":
			p.evaluateOptions(n)
		case "outputPath":
			p.tell(n.src.name, m.Place, "outputPath is not carried over", "plumb run --report json:results.json, html, junit or markdown")
		case "commandLineOptions", "env":
			p.lose(n.src.name, m.Place, m.Key+" is not carried over",
				map[string]string{
					"env":                "set the variables in the environment or in .env",
					"commandLineOptions": "plumb run has flags and the section run of plumb.yaml",
				}[m.Key])
		case "derivedMetrics":
			p.lose(n.src.name, m.Place, "derivedMetrics cannot be carried over", "compute them from plumb show --json")
		default:
			if strings.HasPrefix(m.Key, "x-") {
				continue // anchors are often defined there
			}
			p.whole = append(p.whole, m.Key)
			p.lose(n.src.name, m.Place, m.Key+" of the config cannot be carried over", "remove it, and convert again")
		}
	}
	p.defaults = p.root.get("defaultTest")
	if p.defaults.kind() == doc.String {
		p.defaults = p.include(p.defaults)
	}
}

// include reads the file that a text names.
func (p *foo) include(n node) node {
	name, data, err := p.open(n.text())
	if err == nil {
		var read node
		if read, err = parse(name, data); err == nil {
			return read
		}
	}
	p.whole = append(p.whole, n.text())
	p.lose(n.src.name, n.place(), fmt.Sprintf("%s: %v", n.text(), err), "")
	return node{}
}

func (p *foo) evaluateOptions(n node) {
	for i := range n.Members {
		m := &n.Members[i]
		v := node{n.src, &m.Value}
		switch m.Key {
		case "repeat", "maxConcurrency":
			key := map[string]string{"repeat": "repeat", "maxConcurrency": "parallel"}[m.Key]
			if i, ok := v.js().(json.Number); ok && regexp.MustCompile(`^[1-9][0-9]*$`).MatchString(string(i)) {
				p.run.set(key, i)
				break
			}
			p.lose(n.src.name, m.Place, "evaluateOptions."+m.Key+" must be a positive number", "")
		case "timeoutMs":
			if i, ok := v.js().(json.Number); ok && i != "0" {
				p.run.set("timeoutMs", i)
			}
		case "showProgressBar", "cache", "generateSuggestions":
		default:
			p.lose(n.src.name, m.Place, "evaluateOptions."+m.Key+" is not carried over", "plumb run --help lists the settings of a run")
		}
	}
}

// readTests makes cases of the tests and of the scenarios.
func (p *foo) readTests() {
	if p.defaults.ok() {
		for _, m := range members(p.defaults.get("vars")) {
			p.defaultVars.set(m.Key, withoutNewline(node{p.defaults.src, &m.Value}.js()))
		}
	}
	tests := p.root.get("tests")
	switch tests.kind() {
	case doc.Null:
		if !p.root.get("scenarios").ok() {
			p.test(node{p.root.src, &doc.Value{Kind: doc.Map, Place: p.root.Place}}, node{})
		}
	case doc.String:
		p.testFiles(tests)
	case doc.List:
		for _, t := range tests.list() {
			p.testOrFiles(t)
		}
	default:
		p.lose(tests.src.name, tests.place(), "tests that a generator makes cannot be carried over",
			"write the tests to a file, and name that file")
	}
	for _, s := range p.root.get("scenarios").list() {
		if s.kind() != doc.Map {
			p.lose(s.src.name, s.place(), "a scenario from a file cannot be carried over", "write it into the config")
			p.whole = append(p.whole, "scenarios")
			continue
		}
		for _, config := range s.get("config").list() {
			for _, t := range s.get("tests").list() {
				if t.kind() != doc.Map || config.kind() != doc.Map {
					p.lose(t.src.name, t.place(), "tests of a scenario from a file cannot be carried over", "write them into the config")
					continue
				}
				p.test(t, config)
			}
		}
	}
	for _, t := range p.tests {
		t.lost = append(t.lost, p.whole...)
	}
}

func members(n node) []doc.Member {
	if n.kind() != doc.Map {
		return nil
	}
	return n.Members
}

func (p *foo) testOrFiles(t node) {
	switch t.kind() {
	case doc.String:
		p.testFiles(t)
	case doc.Map:
		if !slices.ContainsFunc(t.Members, func(m doc.Member) bool {
			return slices.Contains([]string{"assert", "vars", "options", "metadata", "provider", "providerOutput", "threshold", "path"}, m.Key)
		}) {
			p.whole = append(p.whole, "an empty test")
			p.lose(t.src.name, t.place(), "a test with neither vars nor assert, with which promptfoo runs nothing", "remove it, or write vars: {}")
		}
		if t.get("path").ok() && !t.get("vars").ok() {
			p.lose(t.src.name, t.place(), "tests that a generator makes cannot be carried over", "write the tests to a file")
			return
		}
		p.test(t, node{})
	default:
		p.lose(t.src.name, t.place(), "a test must be a mapping or a file, not "+t.kind().String(), "")
	}
}

// testFiles reads the tests of the files that a text names.
func (p *foo) testFiles(n node) {
	ref := n.text()
	refuse := func(message, hint string) { p.lose(n.src.name, n.place(), ref+": "+message, hint) }
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
		data, err := p.read(name)
		if err != nil {
			refuse(doc.Cause(err).Error(), "")
			continue
		}
		switch ext := strings.ToLower(filepath.Ext(name)); ext {
		case ".csv":
			err = p.csvTests(name, data)
		case ".jsonl":
			for i, line := range strings.Split(string(data), "\n") {
				if strings.TrimSpace(line) == "" {
					continue
				}
				v, problems, ok := (&doc.JSON{File: name}).Parse([]byte(line), i+1)
				if !ok || len(problems) > 0 {
					err = problems
					break
				}
				p.test(node{&source{name: name}, &v}, node{})
			}
		case ".yaml", ".yml", ".json":
			var root node
			if root, err = parse(name, data); err != nil {
				break
			}
			if root.kind() == doc.Map {
				p.test(root, node{})
			}
			for _, t := range root.list() {
				p.testOrFiles(t)
			}
		default:
			refuse("tests in a "+ext+" file cannot be carried over", "write the tests as CSV, JSON or YAML")
		}
		if twice, ok := errors.AsType[doc.Problems](err); ok && strings.HasPrefix(twice[0].Message, "duplicate key") {
			p.twice = append(p.twice, twice...)
		}
		if err != nil {
			refuse(err.Error(), "")
		}
	}
}

// keys of a test that have a meaning here; all others are refused.
func testKeys() []string {
	return []string{"description", "vars", "assert", "options", "threshold", "metadata", "prompts"}
}

// test makes cases of a test: one for each combination of its variables. config is that of the
// scenario of the test.
func (p *foo) test(t, config node) {
	vars := slices.Clone(p.defaultVars)
	var refusals []doc.Problem
	refuse := func(n node, message, hint string) {
		refusals = append(refusals, doc.Problem{Pos: n.place().In(n.src.name), Message: message, Hint: hint})
	}
	for _, level := range []node{p.defaults, config, t} {
		if !level.ok() {
			continue
		}
		given := level.get("vars")
		if given.ok() && given.kind() != doc.Map {
			refuse(given, "vars must be a mapping", "")
		}
		for _, m := range members(given) {
			vars.set(m.Key, p.variable(node{given.src, &m.Value}, refuse))
		}
		for i := range level.Members {
			if m := &level.Members[i]; !slices.Contains(testKeys(), m.Key) {
				refuse(node{level.src, &m.Value}, "the key "+m.Key+" of a test cannot be carried over", "remove it")
			}
		}
	}
	whole := p.option(t, config, "disableVarExpansion").js() == true
	if whole && slices.ContainsFunc(vars, func(m member) bool { return isTexts(m.value) }) {
		refuse(t, "a list of texts that disableVarExpansion keeps whole: Plumb makes a case of each", "join the texts")
	}
	combos, ok := combinations(vars, whole)
	if !ok {
		refuse(t, "a test with more than 10,000 combinations of variables", "split the test")
	}
	for _, combo := range combos {
		p.count++
		c := &fooTest{item: &item{id: fmt.Sprintf("test-%d", p.count), place: t.place(), file: t.src.name}, node: t, vars: combo}
		c.only = p.onlyPrompt()
		p.cases = append(p.cases, c.item)
		p.tests = append(p.tests, c)
		for _, r := range refusals {
			c.lost = append(c.lost, r.Message)
			p.note(r)
		}
		p.fill(c, config)
	}
}

// withoutNewline removes the line break at the end of a text, as promptfoo does with each variable.
func withoutNewline(v any) any {
	switch v := v.(type) {
	case string:
		return strings.TrimSuffix(v, "\n")
	case []any:
		for i := range v {
			v[i] = withoutNewline(v[i])
		}
	}
	return v
}

// variable returns the value of a variable, with the content of the file that it names.
func (p *foo) variable(n node, refuse func(node, string, string)) any {
	v := n.js()
	if hasDate(v) {
		refuse(n, "an unquoted date: promptfoo inserts it as [object Object]", "put the date in quotes")
	}
	text, ok := v.(string)
	if list, is := v.([]any); is {
		for _, e := range list {
			if s, is := e.(string); is && strings.HasPrefix(s, "file://") {
				refuse(n, "a list of files as a variable", "write the values into the test")
			}
		}
		kinds := map[bool]bool{}
		for _, e := range list {
			_, is := e.(string)
			kinds[is] = true
		}
		if len(kinds) == 2 {
			refuse(n, "a variable with a list of texts and other values", "put all values in quotes")
		}
	}
	if !ok || !strings.HasPrefix(text, "file://") {
		return withoutNewline(v)
	}
	if strings.ContainsAny(text, "*?[{") {
		refuse(n, "a pattern of files as a variable", "write the values into the test")
		return ""
	}
	switch ext := strings.ToLower(filepath.Ext(text)); ext {
	case ".txt", ".md", ".json", ".html", ".csv", ".xml":
		_, data, err := p.open(text)
		if err != nil {
			refuse(n, text+": "+err.Error(), "")
		}
		return strings.TrimSpace(string(data))
	default:
		refuse(n, "a variable from a "+ext+" file", "write the value into the test")
		return ""
	}
}

// isTexts reports whether promptfoo makes a test of each element of a list.
func isTexts(v any) bool {
	list, ok := v.([]any)
	if !ok || len(list) == 0 {
		return false
	}
	_, ok = list[0].(string)
	return ok
}

// combinations returns the combinations of the variables that are lists of texts.
func combinations(vars object, never bool) ([]object, bool) {
	const most = 10_000
	all := []object{nil}
	for _, m := range vars {
		values := []any{m.value}
		if list, ok := m.value.([]any); ok && isTexts(m.value) && !never {
			values = list
		}
		if len(all)*len(values) > most {
			return []object{vars}, false
		}
		var next []object
		for _, combo := range all {
			for _, v := range values {
				next = append(next, combo.with(m.key, v))
			}
		}
		all = next
	}
	return all, true
}

// option returns an option of a test: its own, that of its scenario, or the default.
func (p *foo) option(t, config node, key string) node {
	for _, level := range []node{t, config, p.defaults} {
		if o := level.get("options").get(key); o.there() {
			return o
		}
	}
	return node{}
}

// fill reads everything but the variables of a test.
func (p *foo) fill(c *fooTest, config node) {
	t := c.node
	levels := []node{p.defaults, config, t}
	for i, m := range c.vars {
		text, ok := m.value.(string)
		if !ok || !isTemplate(text) {
			continue
		}
		value, ok := render(text, c.vars)
		if !ok || isTemplate(value) {
			p.refuse(c.item, t.src.name, t.place(), "the variable "+m.key+" is a template", "write its value")
		}
		c.vars[i].value = value
	}
	meta := object{}
	for _, level := range levels {
		if d := level.get("description"); d.kind() == doc.String && level.Value == t.Value {
			meta.set("description", d.text())
		}
		for _, m := range members(level.get("metadata")) {
			v := node{level.src, &m.Value}.js()
			if _, ok := printed(v); ok && !slices.Contains([]string{"difficulty", "tags", "tokens_est"}, m.Key) {
				meta.set(m.Key, v)
			}
		}
		if list := level.get("prompts"); list.ok() {
			c.prompts = nil
			for _, e := range list.list() {
				c.prompts = append(c.prompts, e.text())
			}
		}
		for _, m := range members(level.get("options")) {
			p.testOption(c, node{level.src, &m.Value}, m.Key, levels)
		}
	}
	if len(meta) > 0 {
		c.keys.set("metadata", meta)
	}
	p.threshold(c, levels)
	p.choosePrompts(c)
	p.asserts(c, levels)
	p.needed(c)
	c.item.vars = c.vars
}

// threshold makes a threshold of a test the lowest score of the case.
func (p *foo) threshold(c *fooTest, levels []node) {
	for _, level := range slices.Backward(levels) {
		n := level.get("threshold")
		if !n.ok() {
			continue
		}
		v, ok := n.js().(json.Number)
		f, err := v.Float64()
		if !ok || err != nil || f < 0 || f > 1 {
			p.refuse(c.item, n.src.name, n.place(), "a threshold of a test that is not a number from 0 to 1", "")
			return
		}
		c.scored = true
		c.keys.set("min_score", v)
		return
	}
}

// testOption reads an option of a test.
func (p *foo) testOption(c *fooTest, n node, key string, levels []node) {
	refuse := func(message, hint string) { p.refuse(c.item, n.src.name, n.place(), message, hint) }
	switch key {
	case "disableVarExpansion", "disableDefaultAsserts", "disableConversationVar":
	case "prefix", "suffix":
		text := n.text()
		if isTemplate(text) {
			refuse("a "+key+" with a template", "write it into the prompt")
		}
		if key == "prefix" && text != "" {
			c.prefix = text
		} else if text != "" {
			c.suffix = text
		}
	case "transform", "postprocess":
		source, ok := p.expression(c, n, refuse)
		switch {
		case !ok:
		case isText(source):
			c.pushed = ""
			c.keys.set("transform", literally(source))
		case slices.ContainsFunc(levels, func(l node) bool { return needsValue(l.get("assert")) }):
			c.pushed = source
			c.keys.remove("transform")
		default: // Plumb makes JSON of other values, as promptfoo does
			c.keys.set("transform", literally("((r) => typeof r === \"number\" || typeof r === \"boolean\" ? String(r) : r)("+source+")"))
		}
	default:
		refuse("the option "+key+" of a test cannot be carried over", "")
	}
}

// needed reports the variables that the prompts of a test use and that it does not have.
func (p *foo) needed(c *fooTest) {
	for _, prompt := range p.prompts {
		if prompt.lost || len(c.prompts) > 0 && !slices.Contains(c.prompts, prompt.label) {
			continue
		}
		for _, text := range prompt.texts() {
			names, trouble := undefined(text, c.vars)
			if trouble != "" {
				p.refuse(c.item, prompt.file, prompt.place, trouble+" cannot be carried over", "write what it renders")
			}
			for _, name := range names {
				plain, used := inserted(text)
				if used[name] != 1 || !slices.ContainsFunc(plain, func(u template.Use) bool { return len(u.Path) == 1 && u.Path[0] == name }) {
					p.refuse(c.item, c.file, c.place, "the variable "+name+" of a prompt is not defined", "define it in vars")
					continue
				}
				p.tell(c.file, c.place, "the variable "+name+" is not defined: promptfoo inserts nothing, and so does the suite",
					"define it in vars")
				c.vars.set(name, "")
			}
			p.wholeObjects(c, text)
		}
	}
}

// wholeObjects refuses a template that inserts an object as a text.
func (p *foo) wholeObjects(c *fooTest, text string) {
	uses, _ := inserted(text)
	for _, use := range uses {
		v, ok := lookup(c.vars, use.Path)
		path := strings.Join(use.Path, ".")
		if _, root := c.vars.get(use.Path[0]); !root {
			continue
		}
		if !ok {
			p.refuse(c.item, c.file, c.place, path+" is not defined: promptfoo inserts nothing", "define it in vars")
		} else if _, useful := printed(v); !useful {
			p.refuse(c.item, c.file, c.place, path+" is an object: promptfoo inserts [object Object]", "insert one of its members")
		} else if v == nil {
			p.refuse(c.item, c.file, c.place, path+" is null: promptfoo inserts nothing", `write ""`)
		}
	}
}

// affixes puts the prefixes and suffixes of tests around the prompts.
func (p *foo) affixes() {
	var used bool
	same := true
	for _, t := range p.tests {
		used = used || t.prefix != "" || t.suffix != ""
		same = same && t.prefix == p.tests[0].prefix && t.suffix == p.tests[0].suffix
	}
	if !used {
		return
	}
	for i := range p.prompts {
		prompt := &p.prompts[i]
		if prompt.messages != nil {
			for _, t := range p.tests {
				if t.prefix != "" || t.suffix != "" {
					p.refuse(t.item, prompt.file, prompt.place,
						"a prefix or suffix around chat messages, which makes them plain text", "write it into the messages")
				}
			}
			continue
		}
		if same {
			prompt.text = p.tests[0].prefix + prompt.text + p.tests[0].suffix
		} else {
			prompt.text = "{{ prompt_prefix }}" + prompt.text + "{{ prompt_suffix }}"
		}
	}
	if same {
		return
	}
	for _, t := range p.tests {
		t.vars.set("prompt_prefix", t.prefix)
		t.vars.set("prompt_suffix", t.suffix)
		t.item.vars = t.vars
	}
}
