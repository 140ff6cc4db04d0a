package doc

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// TestAppendYAML writes values of all kinds, with texts that YAML could take for something else, and reads
// them again.
func TestAppendYAML(t *testing.T) {
	t.Parallel()
	texts := []string{
		"", "yes", "no", "null", "~", "True", "NaN", "inf", "Infinity", "<<", "=", "---", "...", "? x", "- a", "1e3", "0x1", "010", ".5", "12", "2024-01-01", "a: b", "a:", ":",
		"a #b", "# b", "on", "y", "N", "é", "{{ a }}", "{a}", "[", "a, b", "\"", "'", "it's", "\\", "a\\b", "&a", "*a", "!a", "%a", "@", "`", "|", ">", " a", "a ", "\t", "a\tb",
		"a\nb", "a\nb\n", "a\n\nb\n", "a\n\n", "\na", "a\n b", " a\nb", "a\nb \n", "a\n\tb", "a\n# b\n", "a:\nb", "a\n- b: {c}\n", "a\r\nb", "a\rb", "\x00", "\x7f", "\u0085", "a\u2028b\nc", "\ufeff", "😀", "\n",
		"---\na", "\xff", "a\n---\nb", "a\n...\n", "A text that is so long that no list and no mapping with it is on one line, because it is too long",
	}
	r := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // a test that can be repeated
	text := func() string {
		if r.IntN(4) == 0 {
			return texts[r.IntN(len(texts))] + texts[r.IntN(len(texts))]
		}
		return texts[r.IntN(len(texts))]
	}
	var value func(depth int) Value
	value = func(depth int) (v Value) {
		switch kind := r.IntN(7); {
		case kind == 0 && depth > 0:
			v.Kind = List
			for range r.IntN(4) {
				v.List = append(v.List, value(depth-1))
			}
		case kind <= 2 && depth > 0:
			v.Kind = Map
			for range r.IntN(4) {
				v.Set(text(), value(depth-1))
			}
		case kind == 3:
			v, _ = NewNumber([]string{"1", "0.5", "-3", "1.5e+06", "18446744073709551615"}[r.IntN(5)], Place{})
		case kind == 4:
			v = NewBool(r.IntN(2) == 0, Place{})
		case kind == 5:
		default:
			v = NewString(text(), Place{})
		}
		return v
	}
	for i := range 20_000 {
		v := value(5)
		written := v.AppendYAML(nil)
		read, problem := ParseYAML("a.yaml", written, YAMLValues)
		if problem != nil || !bytes.Equal(read.JSON(), v.JSON()) {
			t.Fatalf("value %d: %v\nwant %s\ngot  %s\n%s", i, problem, v.JSON(), read.JSON(), written)
		}
	}
}
