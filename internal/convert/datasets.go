package convert

import (
	"bytes"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/text"
)

// records returns the objects of a file of JSON lines, or of a JSON file with a list.
func (w *work) records(data []byte) ([]node, error) {
	src := &source{name: w.file}
	if !bytes.HasPrefix(bytes.TrimSpace(data), []byte("[")) {
		var all []node
		for i, line := range bytes.Split(data, []byte("\n")) {
			if len(bytes.TrimSpace(line)) == 0 {
				continue
			}
			v, problems, ok := (&doc.JSON{File: w.file}).Parse(line, i+1)
			if !ok || len(problems) > 0 {
				return nil, problems
			}
			all = append(all, node{src, &v})
		}
		return all, nil
	}
	root, problem := doc.ParseJSON(w.file, data)
	if problem != nil {
		return nil, doc.Problems{*problem}
	}
	return node{src, &root}.list(), nil
}

// add adds a case with an id that is safe and free.
func (w *work) add(n node, id string, number int) *item {
	id = strings.Trim(regexp.MustCompile(`[^A-Za-z0-9._-]+`).ReplaceAllString(id, "-"), "-.")
	taken := func(id string) bool {
		return slices.ContainsFunc(w.cases, func(i *item) bool { return strings.EqualFold(i.id, id) })
	}
	if id == "" || taken(id) {
		id = fmt.Sprintf("case-%d", number)
	}
	i := &item{id: id, place: n.place(), file: n.src.name}
	w.cases = append(w.cases, i)
	return i
}

// input sets the input of a case: a text or messages.
func (w *work) input(i *item, n node) {
	switch n.kind() { //nolint:exhaustive // the others are refused below
	case doc.String:
		i.keys.set("input", n.Text())
		return
	case doc.List:
		if messages, ok := chat(n); ok {
			i.keys.set("input", messages)
			return
		}
	}
	w.refuse(i, i.file, i.place, "an input that is neither a text nor messages with role and content", "")
}

// texts returns a text or a list of texts.
func texts(n node) ([]any, bool) {
	if n.kind() == doc.String {
		return []any{n.Text()}, true
	}
	var all []any
	for _, e := range n.list() {
		if e.kind() != doc.String {
			return nil, false
		}
		all = append(all, e.Text())
	}
	return all, len(all) > 0
}

// others keeps the remaining keys of a record as metadata.
func (w *work) others(i *item, n node, known ...string) {
	meta := object{}
	for _, m := range n.Members {
		if slices.Contains(known, m.Key) {
			continue
		}
		from := []doc.Member{m}
		if m.Key == "metadata" && m.Value.Kind == doc.Map {
			from = m.Value.Members
		}
		for j := range from {
			v := node{n.src, &from[j].Value}.js()
			if _, ok := printed(v); ok && v != nil && !slices.Contains([]string{"difficulty", "tags", "tokens_est"}, from[j].Key) {
				meta.set(from[j].Key, v)
			}
		}
	}
	if len(meta) > 0 {
		i.keys.set("metadata", meta)
	}
}

// openaiEvals converts the samples of OpenAI evals. Their eval, which is registered elsewhere, says
// how answers are compared: Match, the most frequent one, wants an answer that begins with an ideal.
func openaiEvals(w *work, data []byte) error {
	records, err := w.records(data)
	if err != nil {
		return err
	}
	w.comment = []string{
		"Converted from " + filepath.Base(w.file) + " by plumb convert.",
		"An answer must start with the ideal, as the eval class Match has it. For Includes, use contains_any.",
	}
	w.tell(w.file, doc.Place{Line: 1, Column: 1}, "the file does not say how answers are compared; the cases use starts_with, as Match does",
		"for Includes, replace starts_with by contains_any")
	for k, n := range records {
		i := w.add(n, "", k+1)
		w.input(i, n.get("input"))
		ideals, ok := texts(n.get("ideal"))
		if !ok {
			w.refuse(i, i.file, i.place, "an ideal that is neither a text nor a list of texts", "")
		}
		i.checks = []any{object{{"type", "starts_with"}, {"ideal", ideals}}}
		w.others(i, n, "input", "ideal")
	}
	return nil
}

// inspect converts a dataset of Inspect. The scorer of its task says how answers are compared; that
// of a record with choices is the letter of the answer.
func inspect(w *work, data []byte) error {
	records, err := w.records(data)
	if err != nil {
		return err
	}
	w.comment = []string{
		"Converted from " + filepath.Base(w.file) + " by plumb convert.",
		"An answer must contain the target, as the scorer includes() has it.",
	}
	w.tell(w.file, doc.Place{Line: 1, Column: 1}, "a dataset does not say how answers are scored; the cases look for the target, as includes() does",
		"for other scorers, replace contains_any by exact_match, regex or llm_judge")
	for k, n := range records {
		id := n.get("id")
		i := w.add(n, id.text(), k+1)
		input := n.get("input")
		targets, ok := texts(n.get("target"))
		if !ok {
			w.refuse(i, i.file, i.place, "a record without a target that is a text or a list of texts", "")
		}
		for _, key := range []string{"sandbox", "files", "setup"} {
			if v := n.get(key); v.ok() {
				w.refuse(i, i.file, v.place(), key+" of a record cannot be carried over", "use a workspace with a template directory")
			}
		}
		w.input(i, input)
		i.checks = []any{object{{"type", "contains_any"}, {"ideal", targets}, {"case_sensitive", false}}}
		if choices := n.get("choices"); choices.ok() {
			w.choices(i, input, choices, targets)
		}
		w.others(i, n, "id", "input", "target", "choices", "sandbox", "files", "setup")
	}
	return nil
}

// choices makes a question with lettered answers, and checks the letter on the last line.
func (w *work) choices(i *item, input, choices node, targets []any) {
	answers, ok := texts(choices)
	letters := "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	one, _ := firstText(targets)
	if !ok || len(answers) > len(letters) || len(targets) != 1 || len(one) != 1 || !strings.Contains(letters[:len(answers)], one) || input.kind() != doc.String {
		w.refuse(i, i.file, choices.place(), "choices whose target is not the letter of one answer", "write the question by hand")
		return
	}
	var b strings.Builder
	b.WriteString(input.Text() + "\n\n")
	for k, a := range answers {
		fmt.Fprintf(&b, "%c) %s\n", letters[k], a)
	}
	b.WriteString("\nEnd with a line of the form: ANSWER: LETTER")
	i.keys.set("input", b.String())
	i.checks = []any{object{{"type", "regex"}, {"pattern", `(?m)^\W*ANSWER\W*` + one + `\W*$`}, {"case_sensitive", false}}}
}

func firstText(list []any) (string, bool) {
	if len(list) == 0 {
		return "", false
	}
	text, ok := list[0].(string)
	return text, ok
}

// skillEvals converts the evals.json of skill-creator. Each expectation becomes a question to a
// judge.
func skillEvals(w *work, data []byte) error {
	root, err := parse(w.file, data)
	if err != nil {
		return err
	}
	skill := root.get("skill_name").text()
	w.comment = []string{"Converted from " + filepath.Base(w.file) + " by plumb convert. Skill: " + text.OneLine(skill)}
	for k, n := range root.get("evals").list() {
		if n.kind() != doc.Map {
			w.lose(w.file, n.place(), "an eval must be an object", "")
			continue
		}
		i := w.add(n, "eval-"+n.get("id").text(), k+1)
		w.input(i, n.get("prompt"))
		if files := n.get("files"); files.ok() && len(files.list()) > 0 {
			w.refuse(i, i.file, files.place(), "files of an eval cannot be carried over", "put them into the template directory of a workspace")
		}
		expectations := n.get("expectations")
		if !expectations.ok() {
			expectations = n.get("assertions")
		}
		statements, ok := texts(expectations)
		if !ok {
			var all []any
			for _, e := range expectations.list() {
				if text := e.get("text"); text.kind() == doc.String {
					all = append(all, text.Text())
				}
			}
			statements = all
		}
		if expected := n.get("expected_output"); len(statements) == 0 && expected.kind() == doc.String && !expected.Empty() {
			statements = []any{expected.Text()}
		}
		for _, s := range statements {
			i.checks = append(i.checks, object{{"type", "llm_judge"}, {"judge_prompt", "Does this hold for the answer? " + asText(s)}})
		}
		if len(i.checks) == 0 {
			w.refuse(i, i.file, i.place, "an eval without expectations", "add expectations")
		}
		w.others(i, n, "id", "prompt", "files", "expectations", "assertions")
	}
	w.tell(w.file, root.place(), "the suite names no agent and offers no skill",
		"plumb init --agent claude-code writes a config with the skills of this folder")
	return nil
}

// csvSuite converts a CSV file with a column for the prompt and one for the ideal, or with columns
// __expected.
func csvSuite(w *work, data []byte) error {
	t, err := readTable(w.file, data)
	if err != nil {
		return err
	}
	find := func(names ...string) int {
		return slices.IndexFunc(t.columns, func(c string) bool { return slices.Contains(names, strings.ToLower(c)) })
	}
	input, ideal := find(promptColumns()...), find(idealColumns()...)
	if input < 0 {
		return doc.Problems{{
			Pos: doc.Place{Line: 1, Column: 1}.In(w.file), Message: "no column is the prompt",
			Hint: "name a column input, prompt or question; or name the file as data of a suite with prompts: docs/suites.md",
		}}
	}
	w.comment = []string{"Converted from " + filepath.Base(w.file) + " by plumb convert."}
	p := &foo{work: w}
	wrong := "" // one mistake of the header is one problem
	for i, column := range t.columns {
		if why := refusedColumn(column); why != "" {
			w.lose(w.file, t.header[i], why, "")
			wrong = why
		}
	}
	for k, row := range t.rows {
		at := node{&source{name: w.file}, &doc.Value{Kind: doc.Map, Place: doc.Place{Line: int32(t.lines[k]), Column: 1}}} //nolint:gosec // a line
		cell := func(i int) string {
			if i < 0 || i >= len(row) {
				return ""
			}
			return row[i]
		}
		id := cell(find("id"))
		i := w.add(at, id, k+1)
		i.keys.set("input", cell(input))
		if wrong != "" {
			i.lost = append(i.lost, wrong)
			continue
		}
		test, why := csvTest(t.columns, row)
		if why != "" {
			w.refuse(i, i.file, i.place, why, "")
			continue
		}
		c := &fooTest{item: i, node: at}
		if asserts, ok := test.get("assert"); ok {
			v, problem := doc.ParseJSON(w.file, []byte(quoteJSON(asserts)))
			if problem == nil {
				v.MoveTo(at.Place)
				for _, a := range (node{at.src, &v}).list() {
					if check, _ := p.assert(c, a); check != nil {
						i.checks = append(i.checks, check)
					}
				}
			}
		}
		if text := cell(ideal); text != "" {
			i.checks = append(i.checks, object{{"type", "contains"}, {"ideal", text}, {"case_sensitive", false}})
		}
		if len(i.checks) == 0 && len(i.lost) == 0 {
			w.refuse(i, i.file, i.place, "a row that says nothing about the answer", "add a column ideal or __expected")
		}
		if threshold, ok := test.get("threshold"); ok {
			i.keys.set("min_score", threshold)
		}
		meta := object{}
		for c, column := range t.columns {
			if c != input && c != ideal && column != "id" && !strings.HasPrefix(column, "__") && column != "" && cell(c) != "" {
				meta.set(column, cell(c))
			}
		}
		if len(meta) > 0 {
			i.keys.set("metadata", meta)
		}
	}
	if ideal >= 0 {
		w.tell(w.file, doc.Place{Line: 1, Column: 1}, "an answer must contain the text of the column "+t.columns[ideal],
			"replace contains by exact_match if it must be equal")
	}
	return nil
}
