package fakemodel

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/tidwall/gjson"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/wire"
)

// Answer is one line of the table of answers. It applies to a request that matches all of Prompt,
// Contains, ID and Model that are set.
type Answer struct {
	// Prompt is the whole last user message, Contains a part of it, and ID a word of it, such as a
	// case id.
	Prompt   string `json:"prompt,omitempty"`
	Contains string `json:"contains,omitempty"`
	ID       string `json:"id,omitempty"`
	Model    string `json:"model,omitempty"`

	// Answer is the model's answer. Answers are used in turn, cyclically, when the prompt is
	// repeated.
	Answer  string   `json:"answer,omitempty"`
	Answers []string `json:"answers,omitempty"`
	// Blocks withholds the answer.
	Blocks Block `json:"blocks,omitempty"`
	// Fault breaks each request that gets the answer.
	Fault Fault `json:"fault,omitempty"`
}

// stockAnswer is the default answer. It repeats nothing of the prompt, so that it passes no check
// by accident.
const stockAnswer = "The fake model has nothing prepared here."

// JudgeNo makes the server answer NO to a judge's question that contains this text. It answers YES
// to all others.
const JudgeNo = "(judge: no)"

// ReadAnswers reads answers, one JSON object per line. A line may also be a case of a suite. Then
// the case's ideal, or the first of several, is the answer to the last user message of its input.
func ReadAnswers(r io.Reader) ([]Answer, error) {
	var out []Answer
	in := bufio.NewScanner(r)
	in.Buffer(nil, 1<<30)
	for line := 1; in.Scan(); line++ {
		if len(bytes.TrimSpace(in.Bytes())) == 0 {
			continue
		}
		a, err := readAnswer(in.Bytes())
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		out = append(out, a)
	}
	return out, in.Err()
}

func readAnswer(data []byte) (Answer, error) {
	var a Answer
	if err := json.Unmarshal(data, &a); err != nil {
		return a, err
	}
	input := gjson.GetBytes(data, "input")
	if !input.Exists() {
		if a.Prompt == "" && a.Contains == "" && a.ID == "" {
			return a, errors.New(`one of "prompt", "contains", "id" and "input" is needed`)
		}
		return a, nil
	}
	a.ID = "" // the id of the case, which its prompt need not contain
	a.Prompt = input.Str
	for _, m := range wire.Elements(input) {
		if m.Get("role").Str == plumb.RoleUser {
			a.Prompt = wire.Text(m.Get("content"))
		}
	}
	if ideal := gjson.GetBytes(data, "ideal"); a.Answer == "" && a.Answers == nil {
		if a.Answer = ideal.Str; ideal.IsArray() {
			a.Answer = ideal.Get("0").Str
		}
	}
	return a, nil
}

// table finds answers: by prompt and by id without a search.
type table struct {
	prompts, ids map[string][]*Answer
	rest         []*Answer
}

func newTable(answers []Answer) *table {
	t := &table{prompts: make(map[string][]*Answer, len(answers)), ids: map[string][]*Answer{}}
	for i := range answers {
		switch a := &answers[i]; {
		case a.Prompt != "":
			t.prompts[a.Prompt] = append(t.prompts[a.Prompt], a)
		case a.ID != "":
			t.ids[a.ID] = append(t.ids[a.ID], a)
		default:
			t.rest = append(t.rest, a)
		}
	}
	return t
}

// find returns the answer for the request, or nil. Prompts take precedence over ids, and ids over
// parts.
func (t *table) find(ask *Ask, prompt string) *Answer {
	first := func(list []*Answer) *Answer {
		for _, a := range list {
			if (a.Model == "" || a.Model == ask.Model) && strings.Contains(prompt, a.Contains) {
				return a
			}
		}
		return nil
	}
	if a := first(t.prompts[prompt]); a != nil {
		return a
	}
	if len(t.ids) > 0 {
		for w := range strings.FieldsFuncSeq(prompt, func(r rune) bool {
			return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '-' && r != '_'
		}) {
			if a := first(t.ids[w]); a != nil {
				return a
			}
		}
	}
	return first(t.rest)
}

// isJudge reports whether the question contains YES and NO in capitals.
func isJudge(ask *Ask) bool {
	has := func(word string) bool {
		return strings.Contains(ask.System, word) || slices.ContainsFunc(ask.Messages, func(m plumb.Message) bool {
			return strings.Contains(m.Content, word)
		})
	}
	return has("YES") && has("NO")
}

// answer creates the reply to a request that does not break, or the reply that a fault then breaks.
func (x *exchange) answer() {
	x.status = http.StatusOK
	if x.ask.Endpoint == wire.Embeddings {
		x.embeddings()
		return
	}
	a := x.reply()
	if a.Finish == wire.Blocked && x.ask.Provider != wire.Google && x.ask.Provider != wire.Ollama {
		x.reject(problem{kind: promptBlocked})
		return
	}
	x.out = wire.Encode(&x.ask.Request, a)
}

// blocks returns how the answer is withheld, if it is.
func (x *exchange) blocks() Block {
	if x.entry != nil && x.entry.Blocks != "" {
		return x.entry.Blocks
	}
	return x.model.Blocks
}

// reply decides the answer and its tokens.
func (x *exchange) reply() wire.Answer {
	a := wire.Answer{
		Text: x.says(), Snapshot: x.model.Snapshot, Fingerprint: "fp_" + hex(hashText(x.model.Snapshot))[:10],
		ID: x.token(22), At: x.now,
	}
	switch {
	case x.ask.Provider == wire.Ollama:
		a.ID = strconv.FormatUint(x.id%1000, 10)
	case x.ask.Endpoint == wire.Chat:
		a.ID = x.token(29)
	case x.ask.Endpoint == wire.Responses:
		a.ID = x.hexToken(48)
	}
	t := &a.Tokens
	t.Input = 3
	for i := range x.ask.Messages {
		t.Input += 3 + tokensOf(x.ask.Messages[i].Content)
	}
	if len(x.ask.Messages) > 0 && !systemRole(x.ask.Messages[0].Role) && x.ask.System != "" {
		t.Input += 3 + tokensOf(x.ask.System)
	}
	t.CacheRead = min(x.model.CachedTokens, t.Input)
	t.CacheWrite = min(x.model.CacheWriteTokens, t.Input-t.CacheRead)
	switch x.blocks() {
	case BlockPrompt:
		a.Text, a.Finish = "", wire.Blocked
	case BlockRefusal:
		a.Text, a.Finish = "I'm sorry, but I can't help with that.", wire.Refused
	case BlockFilter:
		a.Text, a.Finish = cutText(a.Text, len(a.Text)/2), wire.Filtered
	}
	t.Reasoning = x.model.Reasoning
	t.Output = t.Reasoning + tokensOf(a.Text)
	if limit := x.ask.Parameters.MaxOutputTokens; limit != nil && *limit > 0 &&
		t.Output > int(*limit) && a.Finish != wire.Blocked {
		t.Output, a.Finish = int(*limit), wire.CutOff
		t.Reasoning = min(t.Reasoning, t.Output)
		a.Text = cutText(a.Text, 4*(t.Output-t.Reasoning))
	}
	return a
}

// says returns the model's text.
func (x *exchange) says() string {
	if f := x.s.options.Answer; f != nil {
		return f(x.ask)
	}
	switch a := x.entry; {
	case a != nil && len(a.Answers) > 0:
		return a.Answers[x.ask.Count%len(a.Answers)]
	case a != nil:
		return a.Answer
	case !x.ask.Judge:
		return stockAnswer
	case strings.Contains(x.prompt, JudgeNo):
		return "NO"
	default:
		return "YES"
	}
}

// tokensOf estimates the tokens of a text: four bytes each.
func tokensOf(s string) int { return (len(s) + 3) / 4 }

// cutText returns at most n bytes of s, cut at a character boundary.
func cutText(s string, n int) string {
	if n >= len(s) {
		return s
	}
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:n]
}
