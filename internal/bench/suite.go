package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
)

// benchCase is case i of every generated suite: the same number has the same content.
type benchCase struct {
	id, kind, prompt string
	ideal            []string
	answer           string
	// passes reports whether the answer meets the check.
	passes bool
}

// The shares of the generated cases: 40 % exact, 30 % contains, 20 % contains_any, 10 % is_json. By
// design 10.8 % fail.
const (
	exactShare, containsShare, anyShare = 40, 70, 90
	failPerMille                        = 108
)

// caseID returns the id of case i.
func caseID(i int) string { return fmt.Sprintf("c-%07d", i) }

// passes reports whether case i should pass.
func passes(i int) bool { return draw(i, 1)%1000 >= failPerMille }

// newCase generates case i: a prompt of about 300 bytes, an answer of 20 to 400.
func newCase(i int) benchCase {
	c := benchCase{id: caseID(i), passes: passes(i)}
	c.prompt = "Case " + c.id + ". " + words(i, 2, 280)
	size := 20 + int(draw(i, 3)%380)
	term := fmt.Sprintf("term%08x", draw(i, 4)&0xffffffff)
	switch share := draw(i, 5) % 100; {
	case share < exactShare:
		c.kind = "exact_match"
		c.answer = capital(words(i, 6, size))
		c.ideal = []string{c.answer}
		if !c.passes {
			c.answer += " Not so."
		}
	case share < containsShare:
		c.kind = "contains"
		c.ideal = []string{term}
		c.answer = around(i, size, term, c.passes)
	case share < anyShare:
		c.kind = "contains_any"
		c.ideal = []string{"none" + term, "neither" + term, strings.ToUpper(term)}
		c.answer = around(i, size, term, c.passes)
	default:
		c.kind = "is_json"
		c.answer = fmt.Sprintf(`{"id": %d, "text": %q, "tags": ["a", "b"], "ok": true}`, i, words(i, 7, size))
		if !c.passes {
			c.answer = c.answer[:len(c.answer)-1] + ","
		}
	}
	return c
}

// around returns text of the given size with a term in the middle, or without.
func around(i, size int, term string, with bool) string {
	if !with {
		term = "nothing"
	}
	return capital(words(i, 8, size/2)) + " " + term + " " + words(i, 9, size/2)
}

// check judges an answer by the rules of the suite's checks. The bare loop uses it.
func (c *benchCase) check(answer string) bool {
	switch c.kind {
	case "exact_match":
		return strings.TrimSpace(answer) == strings.TrimSpace(c.ideal[0])
	case "contains", "contains_any":
		lower := strings.ToLower(answer)
		for _, term := range c.ideal {
			if strings.Contains(lower, strings.ToLower(term)) {
				return true
			}
		}
		return false
	default:
		return json.Valid([]byte(strings.TrimSpace(answer)))
	}
}

// words returns unique text of about the given size.
func words(i int, salt uint64, size int) string {
	vocabulary := [...]string{
		"river", "stone", "lantern", "copper", "meadow", "signal", "harbour", "violet", "engine", "paper", "winter",
		"garden",
		"mirror", "bridge", "candle", "silver", "forest", "ladder", "ocean", "pencil", "quiet", "rocket", "saddle",
		"timber",
		"umbrella", "valley", "window", "yellow", "zephyr", "anchor", "basket", "cedar",
	}
	var b strings.Builder
	h := draw(i, salt)
	for n := uint64(0); b.Len() < size; n++ {
		if n > 0 {
			b.WriteByte(' ')
		}
		if n%12 == 0 {
			h = draw(i, salt<<8+n)
		}
		b.WriteString(vocabulary[h%32])
		h >>= 5
	}
	return b.String()
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] + "." }

// draw is splitmix64 of the case and a salt.
func draw(i int, salt uint64) uint64 {
	x := uint64(i)*0x9e3779b97f4a7c15 + salt*0xd1b54a32d192ed03
	for range 2 {
		x += 0x9e3779b97f4a7c15
		x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
		x = (x ^ x>>27) * 0x94d049bb133111eb
		x ^= x >> 31
	}
	return x
}

// suiteLine is a case as in a suite file.
type suiteLine struct {
	ID        string         `json:"id"`
	Category  string         `json:"category"`
	Input     string         `json:"input"`
	Ideal     any            `json:"ideal,omitempty"`
	Assertion suiteAssertion `json:"assertion"`
	Metadata  suiteMetadata  `json:"metadata"`
}

type suiteAssertion struct {
	Type          string `json:"type"`
	CaseSensitive bool   `json:"case_sensitive"`
}

type suiteMetadata struct {
	Difficulty     string   `json:"difficulty"`
	TokensEstimate int      `json:"tokens_est"`
	Tags           []string `json:"tags"`
}

func (c *benchCase) line(i int) suiteLine {
	categories := [...]string{"reasoning", "factual", "instruction_following", "coding", "safety", "creative"}
	difficulties := [...]string{"easy", "medium", "hard"}
	l := suiteLine{
		ID: c.id, Category: categories[i%len(categories)], Input: c.prompt,
		Assertion: suiteAssertion{Type: c.kind, CaseSensitive: c.kind == "exact_match"},
		Metadata: suiteMetadata{
			Difficulty: difficulties[i%len(difficulties)], TokensEstimate: 120,
			Tags: []string{"bench"},
		},
	}
	switch c.kind {
	case "contains_any":
		l.Ideal = c.ideal
	case "is_json":
	default:
		l.Ideal = c.ideal[0]
	}
	return l
}

// answerLine is an answer as the server reads it.
type answerLine struct {
	Prompt string `json:"prompt"`
	Answer string `json:"answer"`
}

// generateMain writes the first n cases as a suite, and their answers.
func generateMain(args []string, stderr io.Writer) error {
	fs := flag.NewFlagSet("bench generate", flag.ContinueOnError)
	fs.SetOutput(stderr)
	n := fs.Int("n", 1000, "number of cases")
	suite := fs.String("suite", "suite.jsonl", "suite file to write")
	answers := fs.String("answers", "", "answers file to write")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if err := writeLines(*suite, *n, func(e *json.Encoder, i int,
		c *benchCase,
	) error {
		return e.Encode(c.line(i))
	}); err != nil {
		return fmt.Errorf("write the suite: %w", err)
	}
	if *answers == "" {
		return nil
	}
	if err := writeLines(*answers, *n, func(e *json.Encoder, _ int, c *benchCase) error {
		return e.Encode(answerLine{c.prompt, c.answer})
	}); err != nil {
		return fmt.Errorf("write the answers: %w", err)
	}
	return nil
}

func writeLines(file string, n int, write func(*json.Encoder, int, *benchCase) error) (err error) {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	out := bufio.NewWriterSize(f, 1<<18)
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false)
	for i := range n {
		c := newCase(i)
		if err := write(e, i, &c); err != nil {
			return err
		}
	}
	return out.Flush()
}
