package suite

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/check"
	"github.com/plumb-eval/plumb/internal/text"
)

// Finding is a reason why a case may accept wrong answers.
type Finding struct {
	CaseID string         `json:"caseId,omitempty"`
	Pos    plumb.Position `json:"pos"`
	// Control is the name of the negative control, such as "echo" or "refusal", or of the check of the
	// text, such as "short-term".
	Control string `json:"control"`
	Message string `json:"message"`
	// Info is set if the finding is not an error.
	Info bool `json:"info,omitempty"`
}

// String renders the finding as file:line:column: case: message.
func (f Finding) String() string {
	if f.CaseID == "" {
		return fmt.Sprintf("%s: %s", f.Pos, f.Message)
	}
	return fmt.Sprintf("%s: %s: %s", f.Pos, f.CaseID, f.Message)
}

// lintIDForm is the name of the check of ids.
const lintIDForm = "id-form"

// control is an answer that no case should accept, in one or more forms.
type control struct {
	name, what string
	answers    []string
	// refuses is set if the answer is a refusal, which safety cases may accept.
	refuses bool
}

// controls returns the negative controls that do not depend on the case.
func controls() []control {
	return []control{
		{"empty", "an empty answer", []string{"", "\n"}, false},
		{"yes", `the answer "yes"`, []string{"yes", "Yes", "Yes."}, false},
		{"no", `the answer "no"`, []string{"no", "No", "No."}, true},
		{"42", `the answer "42"`, []string{"42", "42."}, false},
		{"refusal", "a refusal", []string{
			"I'm sorry, but I can't help with that.",
			"I\u2019m sorry, but I can\u2019t assist with that request.",
			"Sorry, I cannot help you with this request.",
			"I cannot assist with that. If you have any other questions, feel free to ask!",
			"I'm unable to provide that information, because it could be harmful.",
			"As an AI language model, I am not able to do that.",
		}, true},
		{"lorem-ipsum", "filler text", []string{
			"Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod tempor incididunt ut labore et " +
				"dolore magna aliqua. Ut enim ad minim veniam, quis nostrud exercitation ullamco laboris nisi ut " +
				"aliquip ex ea commodo consequat.",
		}, false},
	}
}

// linter checks the cases of one suite.
type linter struct {
	suite *plumb.Suite
	// terms has the texts that each case accepts as an answer, as far as its checks contain them.
	terms [][]term
	// prompts has the key of the prompt of each case; see promptKey.
	prompts  []string
	findings []Finding
}

// term is a text that a check searches for.
type term struct {
	kind, text string
}

// Lint finds cases whose checks accept an answer that is certainly wrong, such as the prompt itself,
// an empty text, a refusal, or the right answer to another case. It does not use checks that ask a
// model, nor code that was loaded without [lib.Host.ReadOnly], because it may have effects. If the
// other checks of such a case accept the answer, the finding is only for information. A refusal may
// pass cases of category safety, except those tagged over-refusal. Lint also reports very short
// terms, repeated prompts and unusual ids. The findings have the order of the suite. When ctx ends,
// Lint returns the findings so far.
func Lint(ctx context.Context, suite *plumb.Suite) []Finding {
	l := &linter{suite: suite, terms: make([][]term, len(suite.Cases))}
	for i := range suite.Cases {
		for _, a := range suite.Cases[i].Assertions {
			if k, ok := a.(*check.Check); ok {
				l.terms[i] = appendTerms(l.terms[i], k.Canonical())
			}
		}
	}
	for i := range suite.Cases {
		l.prompts = append(l.prompts, promptKey(&suite.Cases[i]))
	}
	prompts := map[string]*plumb.Case{}
	for i := range suite.Cases {
		if ctx.Err() != nil {
			break
		}
		c := &suite.Cases[i]
		l.control(ctx, i)
		l.shortTerms(i)
		key := l.prompts[i]
		first := prompts[key]
		switch {
		case first == nil:
			prompts[key] = c
		case first.Hash == c.Hash:
			l.add(c, "duplicate-prompt", fmt.Sprintf("has the same prompt and checks as %s on line %d",
				first.ID, first.Source.Line), false)
		default:
			l.add(c, "duplicate-prompt", fmt.Sprintf("has the same prompt as %s on line %d",
				first.ID, first.Source.Line), true)
		}
	}
	if suite.Version != "" {
		l.idForm()
	}
	return l.findings
}

func (l *linter) add(c *plumb.Case, control, message string, info bool) {
	l.findings = append(l.findings, Finding{
		CaseID: c.ID, Pos: c.Source, Control: control, Message: message, Info: info,
	})
}

// control tries the negative controls on case i.
func (l *linter) control(ctx context.Context, i int) {
	c := &l.suite.Cases[i]
	checks := make([]plumb.Assertion, 0, len(c.Assertions))
	code := false
	for _, a := range c.Assertions {
		k, isCode := a.(*codeCheck)
		code = code || isCode
		if isCode && !k.suite.host.ReadOnly {
			continue
		}
		if k, ok := a.(plumb.AskingAssertion); ok {
			if judge, embedder := k.Needs(); judge || embedder {
				continue
			}
		}
		checks = append(checks, a)
	}
	asks := len(checks) < len(c.Assertions)
	if asks && len(checks) == 0 {
		by := "a model"
		if code {
			by = "code that may have effects, or by a model"
		}
		l.add(c, "judge", "is judged only by "+by+", so lint cannot test it", true)
		return
	}
	accepted := func(name, what, answer string) {
		message := "accepts " + what
		if answer != "" && len(answer) <= 60 && !strings.Contains(what, answer) {
			message += fmt.Sprintf(": %q", answer)
		}
		if asks {
			message += ", unless another check rejects it"
		}
		l.add(c, name, message, asks)
	}
	all := append(controls(), control{"echo", "the prompt itself as the answer", echoes(c), false})
	for _, k := range all {
		if k.refuses && mayRefuse(c) {
			continue
		}
		if code && k.name == "empty" {
			k.what = "a session in which nothing happened"
		}
		for _, answer := range k.answers {
			if passes(ctx, c, checks, answer) {
				accepted(k.name, k.what, answer)
				break
			}
		}
	}
	if other, answer, ok := l.otherIdeal(ctx, i, checks); ok {
		accepted("other-ideal", "the answer to "+other, answer)
	}
}

// mayRefuse reports whether a refusal can be a right answer to a case.
func mayRefuse(c *plumb.Case) bool {
	return c.Category == "safety" && !slices.Contains(c.Tags, "over-refusal")
}

// echoes returns the prompt of a case as an answer: all of it, and its last message alone.
func echoes(c *plumb.Case) []string {
	all := []string{c.Prompt()}
	if n := len(c.Messages); n > 1 {
		all = append(all, c.Messages[n-1].Content)
	}
	return all
}

// otherIdeal finds an answer to another case that case i accepts although its checks do not contain
// it. In large suites it tries only the nearest cases.
func (l *linter) otherIdeal(ctx context.Context, i int, checks []plumb.Assertion) (id, answer string, ok bool) {
	own := map[string]bool{}
	for _, t := range l.terms[i] {
		own[strings.ToLower(strings.TrimSpace(t.text))] = true
	}
	const most = 200
	tried := 0
	for step := 1; step < len(l.terms) && tried < most; step++ {
		j := (i + step) % len(l.terms)
		if l.prompts[i] == l.prompts[j] {
			continue // an answer to the same question may be right
		}
		for _, t := range l.terms[j] {
			if own[strings.ToLower(strings.TrimSpace(t.text))] {
				continue
			}
			tried++
			if passes(ctx, &l.suite.Cases[i], checks, t.text) {
				return l.suite.Cases[j].ID, t.text, true
			}
		}
	}
	return "", "", false
}

// passes reports whether all checks accept the answer.
func passes(ctx context.Context, c *plumb.Case, checks []plumb.Assertion, answer string) bool {
	tokens := int64(len(answer)/4 + 1)
	report := &plumb.SessionReport{
		Prompt: c.Prompt(), FinalOutput: answer, FinishReason: plumb.FinishStop, LatencyMs: 1, DurationMs: 1,
		Usage: plumb.Usage{
			InputTokens: new(int64(1)), OutputTokens: &tokens,
			OutputChars: int64(utf8.RuneCountInString(answer)),
		},
	}
	report.Usage.Total()
	for _, a := range checks {
		verdicts, err := a.Assert(ctx, plumb.Evidence{Case: c, Report: report})
		if err != nil {
			return false
		}
		for _, v := range verdicts {
			if v.Error != nil || !v.Pass {
				return false
			}
		}
	}
	return len(checks) > 0
}

// appendTerms adds the texts that a check accepts, from its canonical form.
func appendTerms(terms []term, canonical json.RawMessage) []term {
	var spec struct {
		Type       string            `json:"type"`
		Not        bool              `json:"not"`
		Ideal      []string          `json:"ideal"`
		Value      []string          `json:"value"`
		Equals     json.RawMessage   `json:"equals"`
		Assertions []json.RawMessage `json:"assertions"`
	}
	if json.Unmarshal(canonical, &spec) != nil || spec.Not {
		return terms
	}
	for _, texts := range [...][]string{spec.Ideal, spec.Value} {
		for _, text := range texts {
			terms = append(terms, term{spec.Type, text})
		}
	}
	if len(spec.Equals) > 0 {
		terms = append(terms, term{spec.Type, string(spec.Equals)})
	}
	for _, inner := range spec.Assertions {
		terms = appendTerms(terms, inner)
	}
	return terms
}

// shortTerms reports terms that almost any text contains.
func (l *linter) shortTerms(i int) {
	seen := map[string]bool{}
	for _, t := range l.terms[i] {
		if t.kind != "contains" && t.kind != "contains_any" || seen[t.text] {
			continue
		}
		seen[t.text] = true
		n := utf8.RuneCountInString(t.text)
		other := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }
		if n > 2 || strings.ContainsFunc(t.text, other) || isWide(t.text) {
			continue
		}
		message := fmt.Sprintf("%q of %s also matches inside longer words: use exact_match, regex or numeric",
			t.text, t.kind)
		l.add(&l.suite.Cases[i], "short-term", message, n > 1)
	}
}

// isWide reports whether a text has characters of a script in which one character can be a word.
func isWide(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool {
		return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul)
	})
}

func promptKey(c *plumb.Case) string {
	var b strings.Builder
	for _, m := range c.Messages {
		fmt.Fprintf(&b, "%s %d %s\n", m.Role, len(m.Content), m.Content)
	}
	return b.String()
}

// idForm reports ids that are not a category and a number, in one finding.
func (l *linter) idForm() {
	var first *plumb.Case
	n := 0
	for i := range l.suite.Cases {
		c := &l.suite.Cases[i]
		number, ok := strings.CutPrefix(c.ID, c.Category+"-")
		if c.Category == "" || ok && number != "" && strings.Trim(number, "0123456789") == "" {
			continue
		}
		n++
		if first == nil {
			first = c
		}
	}
	if n > 0 {
		l.findings = append(l.findings, Finding{
			Pos: first.Source, Control: lintIDForm, Info: true,
			Message: fmt.Sprintf("%s not in the form {category}-{num}, first %q",
				text.Plural(n, "id is", "ids are"), first.ID),
		})
	}
}
