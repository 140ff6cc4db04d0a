package check

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/text"
)

// JSON beyond these limits is not read. The check is then an error, not a fail.
const (
	maxDepth  = 10_000 // levels of nesting, the limit of encoding/json
	maxDigits = 4_300  // digits of an integer
)

type jsonMatcher struct {
	offline
	bare bool
}

// bareKey is the key of the kinds that find JSON in a fenced block, too.
func bareKey() Key {
	return Key{
		Name: "bare", Type: "boolean", Default: "`false`",
		Doc: "`true` accepts only an output that is JSON as a whole, without a fence",
	}
}

// IsJSON passes if the output is JSON by RFC 8259, bare or in one fenced code block.
func IsJSON() *Check { return newCheck("is_json", jsonMatcher{}) }

func isJSONKind() Kind {
	return Kind{
		Name: "is_json", Doc: "the output is JSON, bare or in one fenced block", Reads: "output",
		Keys:    append(documentedKeys(), bareKey()),
		Details: "`parsed`, `type` (`dict`, `list`, `str`, `int`, `float`, `bool`, `NoneType`)", FailDetails: "`error`",
		parse: func(s *spec) matcher { return jsonMatcher{bare: s.flag("bare")} },
	}
}

func (j jsonMatcher) describe(o options) { describeBare(o, j.bare) }

func describeBare(o options, bare bool) {
	if bare {
		o["bare"] = true
	}
}

func (j jsonMatcher) match(_ context.Context, ev *plumb.Evidence) plumb.Verdict {
	text, bad := findBareJSON(ev.Report.FinalOutput, j.bare)
	if bad != nil {
		return bad.verdict(ev)
	}
	kind, name := jsonType(text)
	v := decided(true, "the output is "+name)
	v.Details = details("parsed", true, "type", kind)
	return v
}

// noJSON is why an output has no JSON that can be checked.
type noJSON struct {
	why string
	// beyond is set if the JSON is beyond the limits.
	beyond bool
}

func (n *noJSON) verdict(ev *plumb.Evidence) plumb.Verdict {
	if n.beyond {
		return unmeasured(plumb.Failuref(plumb.OriginAssertHook, "the output exceeds a limit for JSON: %s", n.why))
	}
	v := decided(false, "the output is not JSON: "+n.why)
	v.Got = text.Shorten(shown(ev, ev.Report.FinalOutput), shownLimit)
	v.Details = details("error", n.why)
	return v
}

// jsonType names the type of a JSON text: for the details in the documented words, which are
// Python's, and for reasons.
func jsonType(text string) (kind, name string) {
	switch text[0] {
	case '{':
		return "dict", "a JSON object"
	case '[':
		return "list", "a JSON array"
	case '"':
		return "str", "a JSON string"
	case 't', 'f':
		return "bool", "a JSON boolean"
	case 'n':
		return "NoneType", "JSON null"
	}
	if strings.ContainsAny(text, ".eE") {
		return "float", "a JSON number"
	}
	return "int", "a JSON number"
}

// findJSON finds the JSON of an output. It tries, in this order: the whole output; the output
// without a fence at each end, as the documented rule cuts it; the content of the only fenced
// block.
func findJSON(output string) (string, *noJSON) { return findBareJSON(output, false) }

// findBareJSON is findJSON, which tries only the whole output if bare is set.
func findBareJSON(output string, bare bool) (string, *noJSON) {
	s := strip(output)
	text, err := s, valid(s)
	if err != nil && !bare {
		if cut := cutFence(s); cut != s && valid(cut) == nil {
			text, err = cut, nil
		}
	}
	if err != nil && !bare {
		switch blocks := fencedBlocks(s); len(blocks) {
		case 0:
		case 1:
			text, err = blocks[0].text, blocks[0].err
		default:
			err = errors.New("it has several fenced blocks, and it is not clear which one is meant")
		}
	}
	deep, digits := measure(text)
	switch {
	case deep:
		return "", &noJSON{fmt.Sprintf("it is nested more than %d levels deep", maxDepth), true}
	case err != nil:
		return "", &noJSON{why: err.Error()}
	case digits > maxDigits:
		return "", &noJSON{fmt.Sprintf("an integer has %d digits, more than %d", digits, maxDigits), true}
	}
	return text, nil
}

// valid returns why s is not one JSON value with nothing around it.
func valid(s string) error {
	if s == "" {
		return errors.New("it is empty")
	}
	if strings.HasPrefix(s, "\uFEFF") {
		return errors.New("it begins with a byte order mark")
	}
	var raw json.RawMessage
	err := json.Unmarshal([]byte(s), &raw)
	if err == nil {
		return nil
	}
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		at := min(int(syntax.Offset), len(s))
		line := 1 + strings.Count(s[:at], "\n")
		return fmt.Errorf("%w, line %d column %d", err, line, at-strings.LastIndexByte(s[:at], '\n')-1)
	}
	return err
}

// measure reports whether the brackets of a JSON text nest too deep, and returns the number of
// digits of its longest integer.
func measure(text string) (deep bool, digits int) {
	d := jsontext.NewDecoder(strings.NewReader(text),
		jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	for {
		token, err := d.ReadToken()
		if err != nil {
			return d.StackDepth() >= maxDepth, digits // the decoder has the same limit
		}
		if number := token.String(); token.Kind() == '0' && !strings.ContainsAny(number, ".eE") {
			digits = max(digits, len(strings.TrimPrefix(number, "-")))
		}
	}
}

const fence = "```"

// cutFence cuts the fences at both ends of a stripped text by the documented rule. One of them may
// be missing. It does not handle other text around them, tildes, or longer fences.
func cutFence(s string) string {
	if strings.HasPrefix(s, fence) {
		_, rest, found := strings.Cut(s, "\n")
		if !found {
			return strip(s[len(fence):])
		}
		s = rest
	}
	return strip(strings.TrimSuffix(s, fence))
}

// block is one fenced code block: its JSON value, or why it has none.
type block struct {
	text string
	err  error
}

// fencedBlocks finds the first two fenced code blocks in s; no caller needs more. A fence is a run
// of three or more backticks or tildes. A block with JSON ends after its JSON value, so that a
// fence within a JSON string does not end it. A block without JSON ends as in Markdown, and counts
// only if its fence begins a line.
func fencedBlocks(s string) []block {
	var blocks []block
	for at := 0; len(blocks) < 2; {
		open := strings.IndexAny(s[at:], "`~")
		if open < 0 {
			break
		}
		open += at
		char := s[open]
		body := open + runLength(s[open:], char)
		at = body
		if body-open < len(fence) {
			continue
		}
		before := strings.TrimRight(s[:open], " \t")
		first := before == "" || strings.ContainsRune("\r\n", rune(before[len(before)-1]))
		if text, end, ok := jsonBlock(s, body, char, first); ok {
			blocks = append(blocks, block{text: text})
			at = end
		} else if first {
			text, end := plainBlock(s, body, char, body-open)
			text = strip(text)
			err := valid(text)
			if err == nil {
				err = errors.New("it is not closed properly")
			}
			blocks = append(blocks, block{text: text, err: fmt.Errorf("in the fenced block: %w", err)})
			at = end
		}
	}
	return blocks
}

// jsonBlock reads the JSON value of a block. body is the index after the opening fence, where the
// language tag may be, and first means that the fence begins a line. After the value there must be
// a closing fence or the end of s; end is the index after it.
func jsonBlock(s string, body int, char byte, first bool) (text string, end int, ok bool) {
	tag := body
	for tag < len(s) && strings.IndexByte("\r\n`~{[\" \t", s[tag]) < 0 {
		tag++
	}
	starts := []int{body, tag} // nothing, or a tag, before the value
	if first {
		if line := strings.IndexAny(s[body:], "\r\n"); line >= 0 {
			starts = append(starts, body+line) // anything on the line of the fence
		}
	}
	for _, start := range starts {
		for start < len(s) && strings.IndexByte(" \t\r\n", s[start]) >= 0 {
			start++
		}
		if start == len(s) || strings.IndexByte(`{["-0123456789tfn`, s[start]) < 0 {
			continue
		}
		decoder := json.NewDecoder(strings.NewReader(s[start:]))
		var raw json.RawMessage
		if decoder.Decode(&raw) != nil {
			continue
		}
		rest := strings.TrimLeftFunc(s[start+int(decoder.InputOffset()):], isSpace)
		closing := runLength(rest, char)
		if rest == "" || closing >= len(fence) {
			return string(raw), len(s) - len(rest) + closing, true
		}
	}
	return "", 0, false
}

// plainBlock returns the content of a block without JSON, and where it ends: at a fence on the same
// line; else at the next line that is a fence of at least the same length; else at the end of s.
func plainBlock(s string, body int, char byte, length int) (text string, end int) {
	line := len(s)
	if i := strings.IndexAny(s[body:], "\r\n"); i >= 0 {
		line = body + i
	}
	if i := strings.Index(s[body:line], strings.Repeat(string(char), len(fence))); i >= 0 {
		return s[body : body+i], body + i + runLength(s[body+i:], char)
	}
	for at := line; at < len(s); {
		at++
		next := len(s)
		if i := strings.IndexAny(s[at:], "\r\n"); i >= 0 {
			next = at + i
		}
		if l := strip(s[at:next]); runLength(l, char) >= length && len(l) == runLength(l, char) {
			return s[min(line+1, at):at], next
		}
		at = next
	}
	return s[line:], len(s)
}

func runLength(s string, char byte) int {
	n := 0
	for n < len(s) && s[n] == char {
		n++
	}
	return n
}

// decode reads a JSON text into Go values. Numbers become int64 or float64, which JSONPath filters
// understand; a number that neither is exact for stays a json.Number.
func decode(text string) (any, error) {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var v any
	if err := decoder.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("it has more than one value")
	}
	return numbers(v), nil
}

// rounded returns v with a float64 in place of numbers that are longer, for the filters of a path.
func rounded(v any) any {
	switch v := v.(type) {
	case json.Number:
		if f, err := v.Float64(); err == nil {
			return f
		}
	case []any:
		for i := range v {
			v[i] = rounded(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = rounded(v[k])
		}
	}
	return v
}

// shortest returns the shortest text that reads as f.
func shortest(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }

// decimal is the value of a JSON number of any length: its digits without zeros at both ends, and the
// power of ten of the last one. Equal numbers have equal decimals.
type decimal struct{ digits, exponent string }

func decimalOf(text string) decimal {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(text), "e")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	whole, negative := strings.CutPrefix(whole, "-")
	digits := whole + fraction
	significant := strings.TrimRight(digits, "0")
	const longest = 1000
	if len(exponent) > longest && strings.Trim(significant, "0-") != "" { // its arithmetic would be slow
		return decimal{whole + "." + fraction, exponent}
	}
	power, ok := new(big.Int).SetString(strings.TrimPrefix(exponent, "+"), 10)
	if !ok {
		power = new(big.Int) // there is no exponent
	}
	power.Add(power, big.NewInt(int64(len(digits)-len(significant)-len(fraction))))
	if significant = strings.TrimLeft(significant, "0"); significant == "" {
		return decimal{"0", "0"}
	}
	if negative {
		significant = "-" + significant
	}
	return decimal{significant, power.String()}
}

func numbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		if i, err := v.Int64(); err == nil {
			return i
		}
		f, err := v.Float64()
		if err == nil && strings.ContainsAny(v.String(), ".eE") && decimalOf(shortest(f)) == decimalOf(v.String()) {
			return f
		}
	case []any:
		for i := range v {
			v[i] = numbers(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = numbers(v[k])
		}
	}
	return v
}
