// Package calibrate measures how well a judge judges: it puts questions with known answers to the
// judge, compares, stores the result under the identity of the judge, and finds the result again
// for a run with the same judge.
package calibrate

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/check"
	"github.com/plumb-eval/plumb/internal/doc"
)

// passing is the smallest label that is a pass.
const passing = 0.5

// Item is one line of a gold file: an output with the right answer to a question about it.
type Item struct {
	Place plumb.Position
	// Case is the id of the case of a suite, or "".
	Case string
	// Task is the prompt, Output an answer to it, and Other a second answer or "".
	Task, Output, Other string
	// Question is the question to the judge.
	Question string
	// Label is 1 for pass and 0 for fail, or with Numbers any value from 0 to 1.
	Label float64
	// Raters are the labels of single human raters, by their names.
	Raters map[string]float64
	// number means that the label is a number.
	number bool
}

// question returns the question to the judge, with the given number of votes.
func (i *Item) question(votes int) check.Question {
	return check.Question{Prompt: i.Question, Votes: votes, Task: i.Task, Answer: i.Output, Other: i.Other}
}

// swapped returns the question with its two parts in the other order.
func (i *Item) swapped(votes int) check.Question {
	q := i.question(votes)
	if i.Other != "" {
		q.Answer, q.Other = i.Other, i.Output
	} else {
		q.AnswerFirst = true
	}
	return q
}

// goldKeys are the keys of an item.
func goldKeys() []string {
	return []string{"input", "messages", "output", "output_b", "judge_prompt", "label", "labels", "case"}
}

// Parse reads the items of a gold file. file is the name for problems. Lines that show the same to the
// judge are one item; warnings say which ones. They are an error if their labels differ.
func Parse(file string, data []byte) (items []Item, warnings doc.Problems, err error) {
	r := &goldReader{file: file}
	p := &doc.JSON{File: file, Values: 1 << 16, What: "an item"}
	line := 0
	for text := range bytes.Lines(data) {
		line++
		if text = bytes.TrimRight(text, " \t\r\n"); len(text) == 0 {
			continue
		}
		v, problems, ok := p.Parse(text, line)
		r.problems = append(r.problems, problems...)
		if ok {
			items = append(items, r.item(&v))
		}
	}
	if err := r.problems.Err(); err != nil {
		return nil, nil, err
	}
	if len(items) == 0 {
		return nil, nil, plumb.WithHint(fmt.Errorf("%s has no items", file),
			`one item a line: {"input": …, "output": …, "judge_prompt": …, "label": "pass"}`)
	}
	for _, i := range items {
		if i.number != items[0].number {
			r.problems = append(r.problems, doc.Problem{
				Pos: i.Place, Message: "label: some labels are words and others numbers",
				Hint: "use pass and fail, or numbers from 0 to 1, in the whole file",
			})
			return nil, nil, r.problems.Err()
		}
	}
	items = r.distinct(items)
	if err := r.problems.Err(); err != nil {
		return nil, nil, err
	}
	return items, r.problems, nil
}

// distinct returns the items without copies, which count once: the answers of a judge to equal
// requests say nothing more about it. Copies with other raters add their labels to the item.
func (r *goldReader) distinct(items []Item) []Item {
	type look struct {
		question, task, output, other string
		label                         float64 // -1 if the label does not matter
	}
	var kept []Item
	at := map[look]int{}
	copies := map[int][]int{} // the lines of the copies, by index of the item
	count := 0
	for _, i := range items {
		exact := look{i.Question, i.Task, i.Output, i.Other, -1}
		// White space around a text is no difference between two items with the same label.
		near := look{shown(i.Question), shown(i.Task), shown(i.Output), shown(i.Other), i.Label}
		k, known := at[exact]
		if !known {
			k, known = at[near]
		}
		if !known {
			k = len(kept)
			kept = append(kept, i)
		}
		at[exact], at[near] = k, k
		if known {
			r.merge(&kept[k], &i)
			copies[k] = append(copies[k], i.Place.Line)
			count++
		}
	}
	if count == 0 {
		return kept
	}
	const most = 5
	var lines []string
	for _, k := range sortedKeys(copies) {
		lines = append(lines, fmt.Sprintf("%s of line %d", ranges(copies[k]), kept[k].Place.Line))
	}
	if more := len(lines) - most; more > 0 {
		lines = append(lines[:most], fmt.Sprintf("and copies of %d more", more))
	}
	r.problems = append(r.problems, doc.Problem{
		Pos: plumb.Position{File: r.file}, Warning: true,
		Message: fmt.Sprintf("%d of %d items are copies, and an item counts once: lines %s", count, len(items),
			strings.Join(lines, "; ")),
	})
	return kept
}

// merge adds a copy to an item.
func (r *goldReader) merge(item, dup *Item) {
	if item.Label != dup.Label {
		r.problems = append(r.problems, doc.Problem{
			Pos: dup.Place,
			Message: fmt.Sprintf("label: %s, but the same item has the label %s in line %d", dup.labelText(), item.labelText(),
				item.Place.Line),
			Hint: "keep one of the two lines; the labels of several people go into labels, in one line",
		})
	}
	raters := maps.Clone(item.Raters)
	for rater, label := range dup.Raters {
		if was, rated := raters[rater]; rated && was != label {
			r.problems = append(r.problems, doc.Problem{
				Pos: dup.Place, Message: fmt.Sprintf("labels.%s: the same item has another label of %[1]s in line %d", rater,
					item.Place.Line),
			})
		}
		if raters == nil {
			raters = map[string]float64{}
		}
		raters[rater] = label
	}
	item.Raters = raters
}

// ranges lists line numbers, such as "2-25, 30".
func ranges(lines []int) string {
	var all []string
	for i := 0; i < len(lines); {
		end := i
		for end+1 < len(lines) && lines[end+1] == lines[end]+1 {
			end++
		}
		if text := strconv.Itoa(lines[i]); end > i {
			all = append(all, text+"-"+strconv.Itoa(lines[end]))
		} else {
			all = append(all, text)
		}
		i = end + 1
	}
	return strings.Join(all, ", ")
}

// shown is a text without what does not change its meaning for a judge: white space around it, and the
// kind of line ends.
func shown(text string) string { return strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n")) }

func (i *Item) labelText() string {
	switch {
	case i.number:
		return strconv.FormatFloat(i.Label, 'g', -1, 64)
	case i.Label >= passing:
		return "pass"
	default:
		return "fail"
	}
}

// goldReader collects the problems of a gold file.
type goldReader struct {
	file     string
	problems doc.Problems
}

func (r *goldReader) add(at doc.Place, message, hint string) {
	r.problems = append(r.problems, doc.Problem{Pos: at.In(r.file), Message: message, Hint: hint})
}

func (r *goldReader) item(v *doc.Value) Item {
	if v.Kind != doc.Map {
		r.add(v.Place, "an item must be an object, not "+v.Kind.JSON(), "")
		return Item{}
	}
	for _, m := range v.Members {
		if !slices.Contains(goldKeys(), m.Key) {
			r.add(m.Place, fmt.Sprintf("unknown key %q", m.Key),
				doc.DidYouMean(m.Key, goldKeys()))
		}
	}
	i := Item{
		Place: v.In(r.file), Case: r.text(v, "case", false), Output: r.text(v, "output", true),
		Other: r.text(v, "output_b", false), Question: r.text(v, "judge_prompt", true), Task: r.task(v),
	}
	if v.Get("output_b") != nil && i.Other == "" {
		r.add(v.Get("output_b").Place, "output_b is empty", "leave it out for a question about one output")
	}
	if strings.TrimSpace(i.Question) == "" && v.Get("judge_prompt") != nil {
		r.add(v.Get("judge_prompt").Place, "judge_prompt is empty", "a question that YES or NO answers")
	}
	label := v.Get("label")
	if label == nil {
		r.add(v.Place, "label is missing", `"pass", "fail", or a number from 0 (fail) to 1 (pass)`)
		return i
	}
	i.Label, i.number = r.label(label, "label")
	if labels := v.Get("labels"); labels != nil {
		if labels.Kind != doc.Map {
			r.add(labels.Place, "labels must be an object from raters to labels, not "+labels.Kind.JSON(), "")
			return i
		}
		i.Raters = map[string]float64{}
		for _, m := range labels.Members {
			value, number := r.label(&m.Value, "labels."+m.Key)
			if i.Raters[m.Key] = value; number != i.number {
				r.add(m.Place, "labels."+m.Key+": the label is of another kind than label", "")
			}
		}
	}
	return i
}

// text returns the text of a key.
func (r *goldReader) text(v *doc.Value, key string, required bool) string {
	switch t := v.Get(key); {
	case t == nil && required:
		r.add(v.Place, key+" is missing", "")
	case t == nil:
	case t.Kind != doc.String:
		r.add(t.Place, key+" must be a string, not "+t.Kind.JSON(), "")
	default:
		return t.Text()
	}
	return ""
}

// task returns the prompt: input, or messages.
func (r *goldReader) task(v *doc.Value) string {
	list := v.Get("messages")
	switch {
	case list == nil && v.Get("input") == nil:
		r.add(v.Place, "input is missing", "the prompt as a string, or messages")
		return ""
	case list == nil:
		return r.text(v, "input", true)
	case v.Get("input") != nil:
		r.add(list.Place, "an item has input or messages, not both", "")
		return ""
	case list.Kind != doc.List || len(list.List) == 0:
		r.add(list.Place, "messages must be a list of objects with role and content", "")
		return ""
	}
	var messages []plumb.Message
	for i := range list.List {
		m := &list.List[i]
		if m.Kind != doc.Map {
			r.add(m.Place, "a message must be an object with role and content, not "+m.Kind.JSON(), "")
			continue
		}
		messages = append(messages, plumb.Message{Role: r.text(m, "role", true), Content: r.text(m, "content", true)})
	}
	return plumb.PromptText(messages)
}

// label returns a label as a number.
func (r *goldReader) label(v *doc.Value, name string) (value float64, number bool) {
	const expected = `"pass", "fail", or a number from 0 (fail) to 1 (pass)`
	switch {
	case v.Kind == doc.String && v.Text() == "pass":
		return 1, false
	case v.Kind == doc.String && v.Text() == "fail":
		return 0, false
	case v.Kind == doc.Number:
		if f, err := strconv.ParseFloat(v.Text(), 64); err == nil && f >= 0 && f <= 1 {
			return f, true
		}
		r.add(v.Place, fmt.Sprintf("%s: %s is not from 0 to 1", name, v.Text()), expected)
		return 0, true
	case v.Kind == doc.String:
		r.add(v.Place, fmt.Sprintf("%s: %q is not a label", name, v.Text()), expected)
	default:
		r.add(v.Place, name+" must be a label, not "+v.Kind.JSON(), expected)
	}
	return 0, false
}
