package digest_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/plumb-eval/plumb/digest"
	"github.com/plumb-eval/plumb/internal/doc"
)

// otherIDs are the vectors with an id that is not a string. The tool that made them hashes such
// suites although it cannot load them. Here they are errors, because their order depends on the
// interpreter.
var otherIDs = map[string]bool{"id_int_single": true, "id_null_single": true, "id_list": true, "id_nan_sort": true}

func TestSuiteVectors(t *testing.T) {
	var vectors []struct {
		Name, Hash, Error string
		Canonical         *string // left out where it is long
		JSONL             *string
		Base64            []byte `json:"jsonl_base64"`
	}
	readJSON(t, "suite-hash-vectors.json", &vectors)
	for _, v := range vectors {
		t.Run(v.Name, func(t *testing.T) {
			data := v.Base64
			if v.JSONL != nil {
				data = []byte(*v.JSONL)
			}
			hash, err := digest.Suite(data)
			canonical, canonicalErr := digest.Canonical(data)
			if v.Error != "" || otherIDs[v.Name] {
				var syntax *digest.SyntaxError
				if !errors.As(err, &syntax) || canonicalErr == nil {
					t.Fatalf("got %q, %v and %v, want an error with a place", hash, err, canonicalErr)
				}
				return
			}
			if err != nil || canonicalErr != nil {
				t.Fatal(err, canonicalErr)
			}
			if v.Canonical != nil && string(canonical) != *v.Canonical {
				t.Errorf("canonical form\ngot  %s\nwant %s", canonical, *v.Canonical)
			}
			checkSuite(t, data, canonical)
			if hash != v.Hash {
				t.Errorf("hash %s, want %s", hash, v.Hash)
			}
		})
	}
}

func TestResultVectors(t *testing.T) {
	var vectors []struct {
		Name         string
		ModelID      string  `json:"model_id"`
		TestID       string  `json:"test_id"`
		Output       *string `json:"output"`
		OutputRepeat []any   `json:"output_repeat"`
		ResultHash   string  `json:"result_hash"`
		OutputHash   string  `json:"output_hash"`
		ResultError  string  `json:"result_error"`
	}
	readJSON(t, "result-hash-vectors.json", &vectors)
	for _, v := range vectors {
		t.Run(v.Name, func(t *testing.T) {
			var output string
			if v.Output != nil {
				output = *v.Output
			} else {
				output = strings.Repeat(v.OutputRepeat[0].(string), int(v.OutputRepeat[1].(float64)))
			}
			if v.ResultError != "" { // a lone surrogate, which encoding/json replaced
				v.ModelID, output = surrogate(v.ModelID), surrogate(output)
			}
			// Where the vectors have an error, the hash is missing.
			if got, err := digest.Result(v.ModelID, v.TestID, output); got != v.ResultHash ||
				(err == nil) != (got != "") {
				t.Errorf("result hash %q, %v, want %q", got, err, v.ResultHash)
			}
			if got, err := digest.Output(output); got != v.OutputHash || (err == nil) != (got != "") {
				t.Errorf("output hash %q, %v, want %q", got, err, v.OutputHash)
			}
		})
	}
}

func surrogate(s string) string { return strings.ReplaceAll(s, "\ufffd", "\xed\xa0\xbd") }

func TestResultErrorsNameThePart(t *testing.T) {
	for _, test := range []struct{ model, id, output, want string }{
		{"m\xff", "t", "o", "hash result: model id: invalid UTF-8 at byte 1 (0xff)"},
		{"m", "\xed\xa0\x80", "o", "hash result: test id: invalid UTF-8 at byte 0 (0xed)"},
		{"m", "t", "\ufffd\xc3", "hash result: output: invalid UTF-8 at byte 3 (0xc3)"},
	} {
		if _, err := digest.Result(test.model, test.id, test.output); err == nil || err.Error() != test.want {
			t.Errorf("got %v, want %s", err, test.want)
		}
	}
}

func TestSuiteErrors(t *testing.T) {
	deep := strings.Repeat("[", 10000) + strings.Repeat("]", 10000)
	for _, test := range []struct{ in, want string }{
		{"{\"id\":\"a\"}\r\n\r\r{\"id\":\"b\",}", `line 4:11: expected a key in double quotes, not '}'`},
		{"\n\u00a0\n{\"é\":\"ü\" 1}", `line 3:10: expected "," or "}" after a value, not '1'`},
		{
			"\ufeff{\"id\":\"a\"}",
			"line 1:1: expected a value, not a byte order mark (U+FEFF); save the file as UTF-8 without it",
		},
		{"{\"id\":\"a\xff\"}", "line 1:9: invalid UTF-8 (byte 0xff)"},
		{
			"{\"id\":\"a\nb\"}",
			"line 1:7: the string that begins here is not closed on its line; write a line break as \\n",
		},
		{"{\"id\":\"a\tb\"}", "line 1:9: control character U+0009 in a string; write it as \\u0009"},
		{`{"id":"a`, "line 1:7: the string that begins here is not closed"},
		{`{"id":"\ud8"}`, `line 1:8: \u must be followed by four hex digits`},
		{`{"id":"\x"}`, `line 1:8: unknown escape sequence: a backslash before 'x'`},
		{`{"id":"\`, "line 1:8: the text ends within an escape sequence"},
		{`{"id":"\u12`, `line 1:8: \u must be followed by four hex digits`},
		{`{"id":"\u0041`, "line 1:7: the string that begins here is not closed"},
		{`{"id":"\ "}`, `line 1:8: unknown escape sequence: a backslash before ' '`},
		{"{\"id\":\"\\\x7f\"}", `line 1:8: unknown escape sequence: a backslash before U+007F`},
		{`{"id":`, "line 1:7: expected a value, but the text ends here"},
		{`{"id":-`, "line 1:7: expected a value, not '-'"},
		{`{"id":1e`, `line 1:8: expected "," or "}" after a value, not 'e'`},
		{`{"id":1E+`, `line 1:8: expected "," or "}" after a value, not 'E'`},
		{`{"id":"a"`, `line 1:10: expected "," or "}" after a value, not the end of the text`},
		{"{\"id\":\n\"a\"}", "line 1:7: expected a value, not the end of the line"},
		{`{"id":01}`, `line 1:8: expected "," or "}" after a value, not '1'`},
		{
			`{"id":"a"} {"id":"b"}`,
			`line 1:12: unexpected '{' after the end of the record; each line holds one JSON object`,
		},
		{`[{"id":"a"}]`, "line 1:1: a record must be a JSON object, not a list"},
		{"{\"id\":\"a\"}\n{\"x\":{\"id\":\"b\"}}", `line 2:1: the record has no "id"`},
		{`{"id":12}`, `line 1:1: "id" must be a string, not a number`},
		{`{"id":"a","id":null}`, `line 1:1: "id" must be a string, not null`},
		{`{"id":"a","n":` + strings.Repeat("9", 4301) + `}`, "line 1:15: an integer of 4301 digits; 4300 are allowed"},
		{`{"id":"a","n":` + deep + `}`, "line 1:10014: values nest deeper than 10000 levels"},
	} {
		_, err := digest.Suite([]byte(test.in))
		if err == nil || err.Error() != test.want {
			t.Errorf("%.40q\ngot  %v\nwant %s", test.in, err, test.want)
		}
	}
}

func TestCanonicalEdges(t *testing.T) {
	for _, test := range []struct{ name, in, want string }{
		{"exponents that a long fraction makes up for", `{"id":"a","n":[0.` + strings.Repeat(
			"0", 123455,
		) + `1e123456,-1` + strings.Repeat("0", 20000) + `e-20000,0e99999,-0e-123456789012345678901,1e123456789012345678901,-1e-12345]}`, `[{"id":"a","n":[1.0,-1.0,0.0,-0.0,Infinity,-0.0]}]`},
		{
			"depth limit is inclusive", `{"id":"a","n":` + strings.Repeat("[", 9999) + strings.Repeat("]", 9999) + `}`,
			`[{"id":"a","n":` + strings.Repeat("[", 9999) + strings.Repeat("]", 9999) + `}]`,
		},
		{
			"duplicates at every depth, unescaped",
			`{"b":{"y":1,"x":2,"\u0079":3},"id":"z","id":"a","b":{"y":1,"x":2,"\u0079":3}}`,
			`[{"b":{"x":2,"y":3},"id":"a"}]`,
		},
		{
			"id moves when keys are sorted", `{"metadata":{"id":"no"},"id":"a","category":"x","id2":1,"i":0}`,
			`[{"category":"x","i":0,"id":"a","id2":1,"metadata":{"id":"no"}}]`,
		},
		{
			"order of keys",
			`{"id":"a","` + "\U00010000" + `":1,"\ue000":2,"\ud800":3,"` + "\ud7ff" + `":4,"A":5,"_":6,"9":7,"10":8,"\u0000":9,"\"":10,"\\":11,"\ud800x":12}`,
			`[{"\u0000":9,"\"":10,"10":8,"9":7,"A":5,"\\":11,"_":6,"id":"a","\ud7ff":4,"\ud800":3,"\ud800x":12,"\ue000":2,"\ud800\udc00":1}]`,
		},
		{
			"order of ids with escapes",
			"{\"id\":\"\\ue000\"}\n{\"id\":\"\\ud83d\\ude00\"}\n{\"id\":\"\\ud83d\"}\n{\"id\":\"a\\\"\"}\n{\"id\":\"a!\"}\n{\"id\":\"a\"}",
			`[{"id":"a"},{"id":"a!"},{"id":"a\""},{"id":"\ud83d"},{"id":"\ue000"},{"id":"\ud83d\ude00"}]`,
		},
		{
			"ids in order", "{\"id\":\"a\"}\n{\"id\":\"a!\"}\n{\"id\":\"a#\",\"n\":1}",
			`[{"id":"a"},{"id":"a!"},{"id":"a#","n":1}]`,
		},
		{
			"equal ids keep their order",
			"{\"id\":\"b\",\"n\":1}\n{\"id\":\"a\",\"n\":2}\n{\"id\":\"\\u0062\",\"n\":0}\n{\"id\":\"a\",\"n\":1}",
			`[{"id":"a","n":2},{"id":"a","n":1},{"id":"b","n":1},{"id":"b","n":0}]`,
		},
	} {
		got, err := digest.Canonical([]byte(test.in))
		if err != nil || string(got) != test.want {
			t.Errorf("%s: %v\ngot  %.300s\nwant %.300s", test.name, err, got, test.want)
		}
		checkSuite(t, []byte(test.in), got)
	}
}

// TestSuiteStreams hashes suites that are larger than one chunk, whose order breaks late, early or
// never.
func TestSuiteStreams(t *testing.T) {
	for _, last := range []string{"zzz", "case-000500", "a"} {
		var b bytes.Buffer
		for i := range 2000 {
			fmt.Fprintf(&b, "{\"id\":\"case-%06d\",\"input\":%q}\n", i, strings.Repeat("é ", i%50))
		}
		fmt.Fprintf(&b, "{\"id\":%q}\n", last)
		canonical, err := digest.Canonical(b.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		checkSuite(t, b.Bytes(), canonical)
	}
}

// TestStrings checks that each character has one canonical form, wherever it stands in a string, in
// whatever spelling, and that a control character must be escaped.
func TestStrings(t *testing.T) {
	for _, r := range "\x00\t\n\x0b\x1f !\"#[\\]~\x7f\u0080\u00af\uabcd\uffff\U00010000\U0010ffff" {
		var form, lower, upper string
		for _, unit := range utf16.Encode([]rune{r}) {
			lower += fmt.Sprintf(`\u%04x`, unit)
			upper += fmt.Sprintf(`\u%04X`, unit)
		}
		switch {
		case strings.ContainsRune("\"\\", r):
			form = `\` + string(r)
		case r == '\t':
			form = `\t`
		case r == '\n':
			form = `\n`
		case r >= ' ' && r <= '~':
			form = string(r)
		default:
			form = lower
		}
		spellings := []string{form, lower, upper, string(r)}
		if r < ' ' || form == `\`+string(r) {
			spellings = spellings[:3]
		}
		for n := range 17 { // characters are read eight at a time
			for _, record := range []string{`{"id":"a","%s%syyyyyyyy":1}`, `{"id":"a","k":"%s%s"}`} {
				in := func(s string) string { return fmt.Sprintf(record, strings.Repeat("z", n+1), s) }
				for _, spelling := range spellings {
					got, err := digest.Canonical([]byte(in(spelling)))
					if want := "[" + in(form) + "]"; err != nil || string(got) != want {
						t.Fatalf("%s: %v\ngot  %s\nwant %s", in(spelling), err, got, want)
					}
					checkSuite(t, []byte(in(spelling)), got)
				}
				if r < ' ' {
					if _, err := digest.Canonical([]byte(in(string(r)))); err == nil {
						t.Fatalf("U+%04X in a string is no error", r)
					}
				}
			}
		}
	}
}

// checkSuite checks that the hash of a suite is the one of its canonical form, also if its records
// come in blocks.
func checkSuite(t *testing.T, data, canonical []byte) {
	t.Helper()
	hash, err := digest.Suite(data)
	want := digest.Bytes(canonical)
	if hash != want || err != nil {
		t.Errorf("suite hash %s, %v; want that of the canonical form, %s", hash, err, want)
	}
	lines := bytes.FieldsFunc(data, func(r rune) bool { return r == '\n' || r == '\r' })
	lines = slices.DeleteFunc(lines, func(line []byte) bool { return !bytes.ContainsRune(line, '{') })
	var ordered []byte
	for _, line := range lines {
		record, err := digest.Canonical(line)
		if err != nil {
			t.Fatal(err)
		}
		ordered = append(append(ordered, ','), record[1:len(record)-1]...)
	}
	inOrder := len(lines) == 0 || string(ordered[1:]) == string(canonical[1:len(canonical)-1])
	for _, size := range []int{1, 2, max(1, len(lines))} {
		stream, reader := digest.NewStream(), doc.JSON{}
		var block digest.Block
		for i, line := range lines {
			v, _, ok := reader.Parse(line, i+1)
			if !ok { // such as NaN and deep nesting, which the reader of documents refuses
				return
			}
			if err := block.Add(&v); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			if (i+1)%size == 0 {
				stream.Write(&block)
				block.Reset()
			}
		}
		stream.Write(&block)
		if hash, ok := stream.Sum(); ok != inOrder || ok && hash != want {
			t.Errorf("in blocks of %d: %s, %t; want %s, %t", size, hash, ok, want, inOrder)
		}
	}
}

// TestBlockErrors checks that the error of a record has its place in the file.
func TestBlockErrors(t *testing.T) {
	const noID = `a record must be a JSON object with a string "id"`
	for _, test := range []struct{ in, want string }{
		{`["id"]`, "line 7:3: " + noID},
		{`"id"`, "line 7:3: " + noID},
		{`{"x":{"id":"a"}}`, "line 7:3: " + noID},
		{`{"id":["a"]}`, "line 7:3: " + noID},
		{
			`{"id":"a","n":[1,{"m":` + strings.Repeat("9", 4301) + `}]}`,
			"line 7:25: an integer of 4301 digits; 4300 are allowed",
		},
		{"{\"id\":\"é\xff\"}", "line 7:11: invalid UTF-8 (byte 0xff)"},
	} {
		var block digest.Block
		before, _ := doc.ParseJSON("", []byte(`{"id":"before"}`))
		if err := block.Add(&before); err != nil {
			t.Fatal(err)
		}
		v, _, ok := (&doc.JSON{}).Parse([]byte("  "+test.in), 7)
		if !ok {
			t.Fatalf("%.40q cannot be read", test.in)
		}
		if err := block.Add(&v); err == nil || err.Error() != test.want {
			t.Errorf("%.40q\ngot  %v\nwant %s", test.in, err, test.want)
		}
	}
}

func TestBytes(t *testing.T) {
	const want = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	if got := digest.Bytes(nil); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// FuzzSuite checks that the canonical form is a fixed point: written with one record per line, it
// is the same suite.
func FuzzSuite(f *testing.F) {
	var vectors []struct {
		JSONL  *string
		Base64 []byte `json:"jsonl_base64"`
	}
	readJSON(f, "suite-hash-vectors.json", &vectors)
	for _, v := range vectors {
		if v.JSONL != nil && len(*v.JSONL) < 1000 {
			f.Add([]byte(*v.JSONL))
		} else if v.Base64 != nil {
			f.Add(v.Base64)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		canonical, err := digest.Canonical(data)
		hash, suiteErr := digest.Suite(data)
		if err != nil {
			var syntax *digest.SyntaxError
			if suiteErr == nil || !errors.As(err, &syntax) || syntax.Line < 1 || syntax.Column < 1 ||
				!utf8.ValidString(syntax.Message) {
				t.Fatalf("errors %v and %v", err, suiteErr)
			}
			return
		}
		if !utf8.Valid(data) {
			t.Fatal("accepted invalid UTF-8")
		}
		if want := digest.Bytes(canonical); suiteErr != nil || hash != want {
			t.Fatalf("suite hash %s, %v; canonical form has %s", hash, suiteErr, want)
		}
		again, err := digest.Canonical(bytes.Join(split(canonical), []byte("\r\n")))
		if err != nil || !bytes.Equal(again, canonical) {
			t.Fatalf("not a fixed point: %v\n%q\n%q", err, canonical, again)
		}
	})
}

// split returns the records of a canonical form.
func split(canonical []byte) [][]byte {
	var records [][]byte
	depth, quoted, start := 0, false, 0
	for i := 0; i < len(canonical); i++ {
		switch c := canonical[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{':
			if depth++; depth == 1 {
				start = i
			}
		case c == '}':
			if depth--; depth == 0 {
				records = append(records, canonical[start:i+1])
			}
		}
	}
	return records
}

// BenchmarkSuite hashes suites shaped like the published ones: with ids in order, in random order,
// and in an order that breaks only at the end, which is the worst case.
func BenchmarkSuite(b *testing.B) {
	const cases = 100_000
	late := slices.Concat(shuffled(cases, false)[1:], []int{0})
	for _, bench := range []struct {
		name  string
		order []int
	}{{"sorted", shuffled(cases, false)}, {"shuffled", shuffled(cases, true)}, {"late", late}} {
		var data bytes.Buffer
		for _, i := range bench.order {
			fmt.Fprintf(
				&data,
				`{"id":"reasoning-%06d","category":"reasoning","input":"A train leaves at %d:15 and arrives %d minutes later. When does it arrive? Answer with the time only, as \"HH:MM\".\nDo not explain.","ideal":["%d:35","%d.35 o’clock"],"assertion":{"type":"contains_any","case_sensitive":false,"threshold":%.2f},"metadata":{"difficulty":"easy","tokens_est":%d,"tags":["time","arithmetic"]}}`+"\n",
				i, i%24, i%100, i%24, i%24, float64(i%100)/100, 20+i%80,
			)
		}
		b.Run(bench.name, func(b *testing.B) {
			b.SetBytes(int64(data.Len()))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := digest.Suite(data.Bytes()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func shuffled(n int, shuffle bool) []int {
	if shuffle {
		return rand.New(rand.NewPCG(1, 2)).Perm(n)
	}
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	return order
}

func readJSON(tb testing.TB, name string, v any) {
	tb.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err == nil {
		err = json.Unmarshal(text, v)
	}
	if err != nil {
		tb.Fatal(err)
	}
}
