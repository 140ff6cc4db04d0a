package convert

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/convert/draft"
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/promptfoo"
	"github.com/plumb-eval/plumb/internal/text"
)

// records returns the rows of a file.
func (w *work) records(data []byte) ([]draft.Node, error) {
	root, problems := doc.ParseData(w.File, data, doc.ParseYAML)
	if len(problems) > 0 {
		return nil, problems
	}
	return draft.Node{File: w.File, Value: &root}.All(), nil
}

// top is the position of what concerns the whole file.
func (w *work) top() plumb.Position { return doc.Place{Line: 1, Column: 1}.In(w.File) }

var unsafeID = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// add adds a case with an id that is safe and free.
func (w *work) add(n draft.Node, id string, number int) *draft.Case {
	id = strings.Trim(unsafeID.ReplaceAllString(id, "-"), "-.")
	if id == "" || slices.ContainsFunc(w.Cases, func(c *draft.Case) bool { return strings.EqualFold(c.ID, id) }) {
		id = fmt.Sprintf("case-%d", number)
	}
	c := &draft.Case{ID: id, At: n.At()}
	w.Cases = append(w.Cases, c)
	return c
}

// finds makes a check that looks for texts.
func finds(kind string, ideals []doc.Value) doc.Value {
	v := draft.Check(doc.Place{}, kind)
	v.Set("ideal", doc.Value{Kind: doc.List, List: ideals})
	return v
}

// insensitive is a check for which upper and lower case are the same.
func insensitive(v doc.Value) doc.Value {
	v.Set("case_sensitive", doc.NewBool(false, doc.Place{}))
	return v
}

// input sets the input of a case: a text or messages.
func (w *work) input(c *draft.Case, n draft.Node) {
	if n.Is(doc.String) {
		c.Keys.Set("input", *n.Value)
		return
	}
	if n.Is(doc.List) {
		if messages := draft.Chat(n.Value); messages != nil {
			c.Keys.Set("input", doc.Value{Kind: doc.List, List: messages})
			return
		}
	}
	w.Refuse(c, c.At, "an input that is neither a text nor messages with role and content", "")
}

// texts returns a text or a list of texts; nil for any other value.
func texts(n draft.Node) []doc.Value {
	if n.Is(doc.String) {
		return []doc.Value{*n.Value}
	}
	if !n.Is(doc.List) || slices.ContainsFunc(n.List, func(e doc.Value) bool { return e.Kind != doc.String }) {
		return nil
	}
	return n.List
}

// others keeps the remaining keys of a record as metadata.
func others(c *draft.Case, n draft.Node, known ...string) {
	for _, m := range n.Keys() {
		if slices.Contains(known, m.Key) {
			continue
		}
		from := []doc.Member{m}
		if m.Key == "metadata" && m.Value.Kind == doc.Map {
			from = m.Value.Members
		}
		for _, m := range from {
			if m.Value.Kind != doc.Null {
				c.Describe(m.Key, m.Value)
			}
		}
	}
}

// openaiEvals converts the samples of OpenAI evals. Their eval, which is registered elsewhere, says
// how answers are compared: Match, the most frequent one, wants an answer that begins with an
// ideal.
func openaiEvals(w *work, data []byte) error {
	records, err := w.records(data)
	if err != nil {
		return err
	}
	w.Comment = []string{
		"An answer must start with the ideal, as the eval class Match has it. For Includes, use contains_any.",
	}
	w.Tell(w.top(), "the file does not say how answers are compared; the cases use starts_with, as Match does",
		"for Includes, replace starts_with by contains_any")
	for k, n := range records {
		c := w.add(n, "", k+1)
		w.input(c, n.Get("input"))
		ideals := texts(n.Get("ideal"))
		if ideals == nil {
			w.Refuse(c, c.At, "an ideal that is neither a text nor a list of texts", "")
		}
		c.Checks = []doc.Value{finds("starts_with", ideals)}
		others(c, n, "input", "ideal")
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
	w.Comment = []string{"An answer must contain the target, as the scorer includes() has it."}
	w.Tell(w.top(), "a dataset does not say how answers are scored; the cases look for the target, as includes() does",
		"for other scorers, replace contains_any by exact_match, regex or llm_judge")
	for k, n := range records {
		c := w.add(n, n.Get("id").Text(), k+1)
		input := n.Get("input")
		targets := texts(n.Get("target"))
		if targets == nil {
			w.Refuse(c, c.At, "a record without a target that is a text or a list of texts", "")
		}
		for _, key := range []string{"sandbox", "files", "setup"} {
			if v := n.Get(key); v.OK() {
				w.Refuse(c, v.At(), key+" of a record cannot be carried over", "use a workspace with a template directory")
			}
		}
		w.input(c, input)
		c.Checks = []doc.Value{insensitive(finds("contains_any", targets))}
		if choices := n.Get("choices"); choices.OK() {
			w.choices(c, input, choices, targets)
		}
		others(c, n, "id", "input", "target", "choices", "sandbox", "files", "setup")
	}
	return nil
}

// choices makes a question with lettered answers, and checks the letter on the last line.
func (w *work) choices(c *draft.Case, input, choices draft.Node, targets []doc.Value) {
	answers, letters, one := texts(choices), "ABCDEFGHIJKLMNOPQRSTUVWXYZ", ""
	if len(targets) == 1 {
		one = targets[0].Text()
	}
	if len(answers) == 0 || len(answers) > len(letters) || len(one) != 1 ||
		!strings.Contains(letters[:len(answers)], one) || !input.Is(doc.String) {
		w.Refuse(c, choices.At(), "choices whose target is not the letter of one answer", "write the question by hand")
		return
	}
	var b strings.Builder
	b.WriteString(input.Text() + "\n\n")
	for k := range answers {
		fmt.Fprintf(&b, "%c) %s\n", letters[k], answers[k].Text())
	}
	b.WriteString("\nEnd with a line of the form: ANSWER: LETTER")
	c.Keys.Set("input", doc.NewString(b.String(), doc.Place{}))
	c.Checks = []doc.Value{insensitive(draft.Check(doc.Place{}, "regex", "pattern", `(?m)^\W*ANSWER\W*`+one+`\W*$`))}
}

// skillEvals converts the evals.json of skill-creator. Each expectation becomes a question to a
// judge.
func skillEvals(w *work, data []byte) error {
	v, problem := doc.ParseJSON(w.File, data)
	if problem != nil {
		return doc.Problems{*problem}
	}
	root := draft.Node{File: w.File, Value: &v}
	w.Comment = []string{"Skill: " + text.OneLine(root.Get("skill_name").Text())}
	for k, n := range root.Get("evals").All() {
		if !n.Is(doc.Map) {
			w.Lose(n.At(), "an eval must be an object", "")
			continue
		}
		c := w.add(n, "eval-"+n.Get("id").Text(), k+1)
		w.input(c, n.Get("prompt"))
		if files := n.Get("files"); len(files.All()) > 0 {
			w.Refuse(c, files.At(), "files of an eval cannot be carried over",
				"put them into the template directory of a workspace")
		}
		expectations := n.Get("expectations")
		if !expectations.OK() {
			expectations = n.Get("assertions")
		}
		statements := texts(expectations)
		if statements == nil {
			for _, e := range expectations.All() {
				if t := e.Get("text"); t.Is(doc.String) {
					statements = append(statements, *t.Value)
				}
			}
		}
		if expected := n.Get("expected_output"); len(statements) == 0 && expected.Is(doc.String) && !expected.Empty() {
			statements = []doc.Value{*expected.Value}
		}
		for _, s := range statements {
			question := "Does this hold for the answer? " + s.Text()
			c.Checks = append(c.Checks, draft.Check(doc.Place{}, "llm_judge", "judge_prompt", question))
		}
		if len(c.Checks) == 0 {
			w.Refuse(c, c.At, "an eval without expectations", "add expectations")
		}
		others(c, n, "id", "prompt", "files", "expectations", "assertions")
	}
	w.Tell(root.At(), "the suite names no agent and offers no skill",
		"plumb init --agent claude-code writes a config with the skills of this folder")
	return nil
}

// csvSuite converts a CSV file with a column for the prompt and one for the ideal, or with the
// columns of promptfoo.
func csvSuite(w *work, data []byte) error {
	columns, problems := doc.Columns(w.File, data)
	if len(problems) > 0 {
		return problems
	}
	find := func(names ...string) string {
		for _, column := range columns {
			if slices.Contains(names, strings.ToLower(column.Text())) {
				return column.Text()
			}
		}
		return ""
	}
	input, ideal := find(promptColumns()...), find(idealColumns()...)
	if input == "" {
		return doc.Problems{{
			Pos: w.top(), Message: "no column is the prompt",
			Hint: "name a column input, prompt or question; or name the file as data of a suite with prompts: docs/suites.md",
		}}
	}
	rows, err := w.records(data)
	if err != nil {
		return err
	}
	for k, n := range rows {
		cell := func(column string) string {
			if column == "" {
				return ""
			}
			return n.Get(column).Text()
		}
		c := w.add(n, cell(find("id")), k+1)
		row := promptfoo.ReadRow(n.Value)
		c.Keys.Set("input", doc.NewString(row.Around(cell(input)), doc.Place{}))
		row.Judge(&w.Draft, c, n, w.invalidRegExp)
		if want := cell(ideal); want != "" {
			c.Checks = append(c.Checks, insensitive(draft.Check(doc.Place{}, "contains", "ideal", want)))
		}
		if len(c.Checks) == 0 && len(c.Lost) == 0 {
			w.Refuse(c, c.At, "a row that says nothing about the answer", "add a column ideal or __expected")
		}
		for _, m := range append(row.Vars, row.Metadata...) {
			if m.Key != input && m.Key != ideal && m.Key != "id" && m.Key != "" && !m.Value.Empty() {
				c.Describe(m.Key, m.Value)
			}
		}
	}
	if ideal != "" {
		w.Tell(w.top(), "an answer must contain the text of the column "+ideal,
			"replace contains by exact_match if it must be equal")
	}
	return nil
}
