package transcript

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"
)

// read returns copies of the lines that readLines finds.
func readAll(tb testing.TB, r io.Reader) []string {
	tb.Helper()
	var lines []string
	if err := readLines(bufio.NewReaderSize(r, MaxString), func(line []byte) error {
		lines = append(lines, string(line))
		return nil
	}); err != nil {
		tb.Fatal(err)
	}
	return lines
}

func TestLines(t *testing.T) {
	text := "{\"a\":1}\r\n\n  \r\n{\"b\":2}\n{\"torn"
	want := []string{`{"a":1}`, `{"b":2}`, `{"torn`}
	for name, r := range map[string]io.Reader{
		"whole": strings.NewReader(text), "bytes": iotest.OneByteReader(strings.NewReader(text)),
		"halves": iotest.HalfReader(strings.NewReader(text)), "end with data": iotest.DataErrReader(strings.NewReader(text)),
	} {
		if diff := cmp.Diff(want, readAll(t, r)); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
	}
}

// TestLongLines: strings of lines longer than the buffer are cut, and what was JSON stays JSON, wherever the pieces begin.
func TestLongLines(t *testing.T) {
	long := MaxString * 3
	for name, filler := range map[string]string{
		"plain": "x", "escapes": `\n`, "unicode escapes": `\u00e4`, "pairs": `\ud83d\ude00`, "quotes": `\"`, "backslashes": `\\`,
		"runes": "ä", "wide runes": "漢", "emoji": "😀", "mixed": `a\\ä\"漢\u0041😀`,
	} {
		t.Run(name, func(t *testing.T) {
			body := strings.Repeat(filler, long/len(filler))
			line := `{"type":"x","text":"` + body + `","more":{"k":[1,2,{"s":"short"}]}}`
			whole := readAll(t, strings.NewReader(line+"\n{}\n"))
			if len(whole) != 2 || whole[1] != "{}" {
				t.Fatalf("%d lines", len(whole))
			}
			if !gjson.Valid(whole[0]) {
				t.Fatal("the JSON is broken")
			}
			rec := gjson.Parse(whole[0])
			text := rec.Get("text").String()
			if rec.Get("more.k.2.s").String() != "short" || !strings.HasSuffix(text, cutMark) || len(whole[0]) > MaxString+1000 || len(whole[0]) < MaxString/2 {
				t.Errorf("%d bytes are kept, ending %q", len(whole[0]), text[max(0, len(text)-20):])
			}
			want := gjson.Get(`{"s":"`+body+`"}`, "s").String()
			if kept := strings.TrimSuffix(text, cutMark); !strings.HasPrefix(want, strings.TrimRight(kept, "\uFFFD")) {
				t.Error("what is kept is not the beginning")
			}
			if pieces := readAll(t, iotest.OneByteReader(strings.NewReader(line))); pieces[0] != whole[0] {
				t.Error("another result byte by byte")
			}
		})
	}
}

// TestCrowdedLines: however many strings or other values a line has, what is kept of it is bounded.
func TestCrowdedLines(t *testing.T) {
	many := `{"type":"x","list":[` + strings.Repeat(`"`+strings.Repeat("y", 200<<10)+`",`, 100) + `1]}`
	lines := readAll(t, strings.NewReader(many))
	if len(lines) != 1 || len(lines[0]) > maxLine || !gjson.Valid(lines[0]) || len(gjson.Get(lines[0], "list").Array()) != 101 {
		t.Errorf("%d lines, %d bytes", len(lines), len(lines[0]))
	}
	numbers := `{"type":"x","list":[` + strings.Repeat("1,", maxLine) + `1]}`
	if lines := readAll(t, strings.NewReader(numbers+"\n{}")); len(lines) != 2 || len(lines[0]) > maxLine || lines[1] != "{}" {
		t.Errorf("%d lines, %d bytes", len(lines), len(lines[0]))
	}
}

func FuzzLines(f *testing.F) {
	f.Add([]byte("{\"a\":\"b\\\"\\u0041ä\"}\r\n{}"), uint8(3))
	f.Add([]byte(`["\\","😀",{"x":"\ud83d\ude00"}]`), uint8(1))
	f.Fuzz(func(t *testing.T, data []byte, size uint8) {
		if bytes.ContainsAny(data, "\n\r") {
			return
		}
		step := int(size%16) + 1
		limit := int(size) + 1
		c, whole := cutter{limit: limit}, cutter{limit: limit}
		whole.feed(data)
		for piece := data; len(piece) > 0; piece = piece[min(step, len(piece)):] {
			c.feed(piece[:min(step, len(piece))])
		}
		got, want := string(c.line()), string(whole.line())
		if got != want {
			t.Fatalf("in pieces of %d: %q, whole %q", step, got, want)
		}
		if gjson.ValidBytes(data) && !gjson.Valid(got) {
			t.Fatalf("%q was valid, %q is not", data, got)
		}
	})
}

func BenchmarkLines(b *testing.B) {
	for _, size := range []int{1 << 10, 100 << 10, 1 << 20} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			line := `{"type":"x","text":"` + strings.Repeat(`some text\n`, size/11) + "\"}\n"
			data := strings.Repeat(line, 4<<20/len(line))
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				if err := readLines(bufio.NewReaderSize(strings.NewReader(data), MaxString), func([]byte) error { return nil }); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
