package promptfoo

import (
	"testing"

	"github.com/plumb-eval/plumb/internal/doc"
)

// TestEnvironment: a key of the environment is carried over only if the template inserts it and nothing else.
func TestEnvironment(t *testing.T) {
	for template, want := range map[string]string{
		"{{ env.MY_KEY }}": "MY_KEY", "{{env.MY_KEY}}": "MY_KEY", " {{- env.MY_KEY -}}\n": "", "{{ env.A }}{{ env.B }}": "",
		"Bearer {{ env.MY_KEY }}": "", "{{ env.MY_KEY | upper }}": "", "{{ env }}": "", "{{ key.MY_KEY }}": "", "{{ env.A.B }}": "",
		"{{ env.MY_KEY": "", "sk-123": "", "{% raw %}{{ env.MY_KEY }}{% endraw %}": "", "{{ env.MY_KEY }}{{ 'x' }}": "",
	} {
		if got := environment(template); got != want {
			t.Errorf("%s: got %q, want %q", template, got, want)
		}
	}
}

// TestNumbersAsJavaScriptPrintsThem has the forms that YAML 1.2 and cells of data have. What is no number stays a text.
func TestNumbersAsJavaScriptPrintsThem(t *testing.T) {
	for text, want := range map[string]string{
		"010": "10", "+5": "5", ".5": "0.5", "1.": "1", "1.10": "1.1", "-0": "0", "-007.50": "-7.5", "1e21": "1e+21", "1.E2": "100",
		"0x1F": "31", "0o17": "15", "12345678901234567890": "12345678901234567000",
		"1e999": `"1e999"`, "0x": `"0x"`, "abc": `"abc"`, "": `""`, "1_000": `"1_000"`, "inf": `"inf"`,
	} {
		got := jsNumber(text, doc.Place{})
		if string(got.JSON()) != want {
			t.Errorf("%s: got %s, want %s", text, got.JSON(), want)
		}
	}
}
