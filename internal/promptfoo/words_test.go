package promptfoo

import (
	"os"
	"strings"
	"testing"

	"github.com/plumb-eval/plumb/internal/convert/draft"
	"github.com/plumb-eval/plumb/internal/doc"
)

// TestWordsAreDocumented: each type is in one row, and each that becomes a check is in the table
// for users.
func TestWordsAreDocumented(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/coming-from-promptfoo.md")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, w := range allWords() {
		for name := range strings.FieldsSeq(w.names) {
			if seen[name] {
				t.Errorf("%s is in two rows", name)
			}
			seen[name] = true
			shown := name
			if strings.HasPrefix(name, "icontains-") {
				shown = "icontains-*"
			}
			if w.check != nil && !strings.Contains(string(text), "`"+shown+"`") {
				t.Errorf("the table does not have %s", name)
			}
			if (w.check == nil) == (w.instead == "") {
				t.Errorf("%s has neither a check nor something to use in its place, or both", name)
			}
		}
	}
}

// TestScalars: scalars of YAML without quotes are those of YAML 1.2 and JavaScript, and texts in
// quotes stay.
func TestScalars(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"010": "10", "1_000": `"1_000"`, "0x1F": "31", "0o17": "15", "1.50": "1.5", "+5": "5", "-0": "0", ".5": "0.5", "5.": "5", "1e3": "1000",
		"1e21": "1e+21", "12345678901234567890": "12345678901234567000", "yes": `"yes"`, "True": "true", "FALSE": "false", "~": "null", "": "null",
		"Null": "null", "'010'": `"010"`, `"yes"`: `"yes"`, "2024-01-01": `{"[object Object]":"2024-01-01"}`, "'2024-01-01'": `"2024-01-01"`,
		"&a 010": "10", ".inf": `".inf"`, "0b1": `"0b1"`, "a b # c": `"a b"`, "[010, 'x']": `[10,"x"]`,
	} {
		v, err := Parse("a.yaml", []byte("k: "+text+"\n"))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := string(v.Get("k").JSON()); got != want {
			t.Errorf("%s is %s, want %s", text, got, want)
		}
	}
	v, err := Parse("a.json", []byte(`{"k": 1.50, "l": "010"}`))
	if got := string(v.JSON()); err != nil || got != `{"k":1.5,"l":"010"}` {
		t.Errorf("%s, %v", got, err)
	}
}

// TestTextIsEscapedOnce: a text with braces within JavaScript is the text that the config has.
func TestTextIsEscapedOnce(t *testing.T) {
	t.Parallel()
	a := &assertion{of: &conversion{}, test: &test{Case: &draft.Case{}}, transform: "output.trim()", kind: "contains"}
	v := doc.NewString("{% raw %}a {{b}}{% endraw %}", doc.Place{})
	a.value = &v
	check := a.contains()
	if got, want := check.Get("expr").Text(), `{% raw %}((output) => output.includes("a {{b}}"))(output.trim()){% endraw %}`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
