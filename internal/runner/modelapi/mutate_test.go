package modelapi

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// tree is a JSON value that keeps the order of its members, and members of one name.
type tree struct {
	open  byte // '{', '[', or 0
	leaf  string
	names []string
	kids  []*tree
}

func parseTree(tb testing.TB, body string) *tree {
	tb.Helper()
	d := json.NewDecoder(strings.NewReader(body))
	d.UseNumber()
	var read func() *tree
	read = func() *tree {
		token, err := d.Token()
		if err != nil {
			tb.Fatal(err)
		}
		open, ok := token.(json.Delim)
		if !ok {
			leaf, _ := json.Marshal(token)
			return &tree{leaf: string(leaf)}
		}
		n := &tree{open: byte(open)}
		for d.More() {
			name := ""
			if open == '{' {
				token, _ := d.Token()
				name, _ = token.(string)
			}
			n.names, n.kids = append(n.names, name), append(n.kids, read())
		}
		d.Token()
		return n
	}
	return read()
}

func (n *tree) String() string {
	if n.open == 0 {
		return n.leaf
	}
	var parts []string
	for i, k := range n.kids {
		if n.open == '{' {
			parts = append(parts, quoted(n.names[i])+":"+k.String())
		} else {
			parts = append(parts, k.String())
		}
	}
	return string(n.open) + strings.Join(parts, ",") + string(n.open+2) // '}' and ']' are two after
}

func quoted(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

// places lists the containers of a tree, itself included, that hold something.
func (n *tree) places() []*tree {
	var out []*tree
	if len(n.kids) > 0 {
		out = append(out, n)
	}
	for _, k := range n.kids {
		out = append(out, k.places()...)
	}
	return out
}

// values are what a mutation puts in the place of another value.
func values() []string {
	return []string{
		`null`, `""`, `"Paris"`, `0`, `5`, `-1`, `1.5`, `1e999`, `9223372036854775808`, `true`, `false`, `[]`, `{}`, `[null]`, `[[]]`,
		`{"text":"Paris"}`, `[{"type":"text","text":"Paris"}]`, `"error"`, `"stop"`, `"length"`, `"failed"`, `"completed"`, `"incomplete"`,
		`"max_tokens"`, `"STOP"`, `"SAFETY"`, `"refusal"`, `"message"`, `"text"`, `"output_text"`, `"tool_use"`, `"abort"`, `"tool_calls"`,
		`"\ud800 half a letter"`, "\"\xff no letter\"",
	}
}

// mutate changes one thing in a tree: a member goes, becomes another value, comes twice, sinks a
// level, rises one, or an error comes beside it.
func mutate(r *rand.Rand, root *tree) {
	places := root.places()
	if len(places) == 0 {
		return
	}
	at := places[r.IntN(len(places))]
	i := r.IntN(len(at.kids))
	other := &tree{leaf: values()[r.IntN(len(values()))]}
	switch r.IntN(9) {
	case 0:
		at.names, at.kids = slices.Delete(at.names, i, i+1), slices.Delete(at.kids, i, i+1)
	case 1:
		at.kids[i] = &tree{leaf: "null"}
	case 2, 3:
		at.kids[i] = other
	case 4: // twice: the other value before or after
		name := at.names[i]
		i += r.IntN(2)
		at.names, at.kids = slices.Insert(at.names, i, name), slices.Insert(at.kids, i, other)
	case 5:
		at.kids[i] = &tree{open: '[', names: []string{""}, kids: []*tree{at.kids[i]}}
	case 6:
		at.kids[i] = &tree{open: '{', names: []string{"text"}, kids: []*tree{at.kids[i]}}
	case 7:
		from := places[r.IntN(len(places))]
		at.kids[i] = parseLeaf(from.kids[r.IntN(len(from.kids))].String())
	case 8:
		if at.open == '{' {
			error := []string{`null`, `false`, `"It broke."`, `{"code":503,"message":"Busy."}`, `{}`}[r.IntN(5)]
			at.names, at.kids = append(at.names, "error"), append(at.kids, &tree{leaf: error})
		}
	}
}

// parseLeaf is a value that no mutation looks into any more; it keeps a tree from growing without
// end.
func parseLeaf(s string) *tree {
	const most = 4000
	if len(s) > most {
		s = "null"
	}
	return &tree{leaf: s}
}

// at follows a path through maps and lists; nil where it leads nowhere.
func at(v any, path ...any) any {
	for _, p := range path {
		switch p := p.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[p]
		case int:
			l, _ := v.([]any)
			if p >= len(l) {
				return nil
			}
			v = l[p]
		}
	}
	return v
}

func elements(v any) []any { l, _ := v.([]any); return l }

// oracle says what a reply may at most be taken for, by the rules of docs/providers.md: the text of
// its answer, and whether there may be one. It knows nothing of the decoders, and reads JSON into
// maps, where the last member of a name counts.
func oracle(format string, body []byte) (text string, answer bool) {
	var top any
	in := json.NewDecoder(bytes.NewReader(body))
	in.UseNumber()
	if in.Decode(&top) != nil {
		return "", false
	}
	fails := func(v any) bool { return v != nil && v != false }
	ended := func(v any) bool { // by the model
		s, ok := v.(string)
		return v == nil || ok && !slices.Contains([]string{"error", "failed", "abort", "cancelled"}, s)
	}
	if fails(at(top, "error")) || at(top, "type") == "error" || at(top, "object") == "error" {
		return "", false
	}
	// texts joins what a list of parts says under a key; came is false where no part has one.
	texts := func(parts []any, kinds []string, key string) (joined string, came bool) {
		for _, p := range parts {
			kind, _ := at(p, "type").(string)
			if s, ok := at(p, key).(string); ok && (kinds == nil || slices.Contains(kinds, kind)) {
				joined, came = joined+s, true
			}
		}
		return joined, came
	}
	var came, called bool
	var refusal, word string
	switch format {
	case "chat":
		choice := at(top, "choices", 0)
		msg, ok := at(choice, "message").(map[string]any)
		if !ok || fails(at(choice, "error")) || !ended(at(choice, "finish_reason")) {
			return "", false
		}
		word, _ = at(choice, "finish_reason").(string)
		refusal, _ = msg["refusal"].(string)
		switch content := msg["content"].(type) {
		case string:
			text, came = content, true
		case []any:
			text, came = texts(content, []string{"text", "output_text"}, "text")
			more, _ := texts(content, []string{"refusal"}, "refusal")
			refusal += more
		case nil:
		default:
			return "", false
		}
		called = len(elements(msg["tool_calls"])) > 0 || at(msg, "function_call", "name") != nil
	case "responses":
		if s := at(top, "status"); s != nil && s != "" && s != "completed" && s != "incomplete" || elements(at(top, "output")) == nil {
			return "", false
		}
		word, _ = at(top, "incomplete_details", "reason").(string)
		for _, item := range elements(at(top, "output")) {
			if kind := at(item, "type"); kind == "message" {
				s, some := texts(elements(at(item, "content")), []string{"text", "output_text"}, "text")
				text, came = text+s, came || some
				more, _ := texts(elements(at(item, "content")), []string{"refusal"}, "refusal")
				refusal += more
			} else if kind == "function_call" || kind == "custom_tool_call" {
				called = true
			}
		}
	case "anthropic":
		if kind := at(top, "type"); kind != nil && kind != "message" || !ended(at(top, "stop_reason")) || elements(at(top, "content")) == nil {
			return "", false
		}
		word, _ = at(top, "stop_reason").(string)
		text, came = texts(elements(at(top, "content")), []string{"text"}, "text")
		_, called = texts(elements(at(top, "content")), []string{"tool_use", "server_tool_use", "mcp_tool_use"}, "name")
	case "google":
		if s, _ := at(top, "promptFeedback", "blockReason").(string); s != "" && len(elements(at(top, "candidates"))) == 0 {
			return "", true
		}
		first := at(top, "candidates", 0)
		if fails(at(first, "error")) || !ended(at(first, "finishReason")) {
			return "", false
		}
		word, _ = at(first, "finishReason").(string)
		var parts []any
		for _, p := range elements(at(first, "content", "parts")) {
			if at(p, "functionCall") != nil {
				called = true
			} else if at(p, "thought") != true {
				parts = append(parts, p)
			}
		}
		text, came = texts(parts, nil, "text")
	}
	if text == "" {
		text = refusal
	}
	cut := slices.Contains([]string{
		"length", "model_length", "content_filter", "sensitive", "max_output_tokens", "max_tokens", "model_context_window_exceeded", "refusal",
		"MAX_TOKENS", "SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII",
	}, word)
	return text, came || called || cut || refusal != ""
}

// replyFormats has the decoders by the prefix of the names of recorded replies.
func replyFormats() map[string]wire {
	return map[string]wire{
		"chat": chat{}, "responses": responses{}, "anthropic": anthropic{}, "google": google{},
	}
}

// checkDecoded holds a decoder to the oracle: an answer only where there may be one, with the text
// that is there, with figures that can be.
func checkDecoded(t *testing.T, format string, d wire, body string) {
	t.Helper()
	r, err := d.decode([]byte(body))
	if err != nil {
		if err.Error() == "" {
			t.Fatalf("an error without words: %s", body)
		}
		return
	}
	text, answer := oracle(format, []byte(body))
	if !answer || r.text != text || r.finish == "" {
		t.Fatalf("%s: decoded as %q (%s); the rules say %q, answer %v:\n%s", format, r.text, r.finish, text, answer, body)
	}
	u := r.usage
	for _, n := range []*int64{u.InputTokens, u.OutputTokens, u.CacheTokens, u.CacheWriteTokens, u.ReasoningTokens} {
		if n != nil && (*n < 0 || *n > MaxTokens) {
			t.Fatalf("%d tokens: %s", *n, body)
		}
	}
	for _, c := range r.toolCalls {
		if c.args != nil && !json.Valid(c.args) {
			t.Fatalf("arguments that are not JSON: %q in %s", c.args, body)
		}
	}
}

// seedReplies are real replies, and those of the docs, by their wire formats.
func seedReplies(tb testing.TB) map[string][]string {
	tb.Helper()
	prefixes := map[string]string{
		"Chat completions: OpenAI, Azure, and compatible servers": "chat", "Responses": "responses", "Anthropic messages": "anthropic",
		"Google generateContent": "google",
	}
	seeds := map[string][]string{}
	files, err := filepath.Glob("testdata/replies/*.json")
	if err != nil || len(files) == 0 {
		tb.Fatalf("no recorded replies: %v", err)
	}
	for _, file := range files {
		prefix, _, _ := strings.Cut(strings.TrimSuffix(filepath.Base(file), ".json"), "-")
		seeds[prefix] = append(seeds[prefix], string(recorded(tb, filepath.Base(file))))
	}
	for _, row := range replyRows(tb) {
		if prefix := prefixes[row.section]; prefix != "" {
			seeds[prefix] = append(seeds[prefix], row.reply)
		}
	}
	return seeds
}

// TestMutatedReplies decodes many thousand replies that real ones became by a few changes.
func TestMutatedReplies(t *testing.T) {
	t.Parallel()
	rounds := 15_000
	if testing.Short() {
		rounds = 2_000
	}
	seeds := seedReplies(t)
	for format, d := range replyFormats() {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			answers := 0
			for round := range rounds {
				seed := seeds[format][round%len(seeds[format])]
				checkMutant(t, format, d, seed, uint64(round), &answers)
			}
			if answers < rounds/50 || answers > rounds/2 {
				t.Errorf("%d of %d mutants are answers", answers, rounds)
			}
		})
	}
}

func checkMutant(t *testing.T, format string, d wire, body string, seed uint64, answers *int) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 7))
	root := parseTree(t, body)
	for range 1 + r.IntN(4) {
		mutate(r, root)
	}
	mutant := root.String()
	if !json.Valid([]byte(mutant)) {
		t.Fatalf("the mutant is not JSON: %s", mutant)
	}
	if _, err := d.decode([]byte(mutant)); err == nil {
		*answers++
	}
	checkDecoded(t, format, d, mutant)
}

func fuzzDecoder(f *testing.F, format string) {
	f.Helper()
	d := replyFormats()[format]
	for i, body := range seedReplies(f)[format] {
		f.Add(body, uint64(i))
	}
	f.Fuzz(func(t *testing.T, body string, seed uint64) {
		if !json.Valid([]byte(body)) {
			return // the transport lets nothing else through
		}
		checkDecoded(t, format, d, body)
		var answers int
		checkMutant(t, format, d, body, seed, &answers)
	})
}

func FuzzDecodeChat(f *testing.F)      { fuzzDecoder(f, "chat") }
func FuzzDecodeResponses(f *testing.F) { fuzzDecoder(f, "responses") }
func FuzzDecodeAnthropic(f *testing.F) { fuzzDecoder(f, "anthropic") }
func FuzzDecodeGoogle(f *testing.F)    { fuzzDecoder(f, "google") }
