package check

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/plumb-eval/plumb/internal/text"
)

func TestLastNumber(t *testing.T) {
	tests := []struct{ text, want string }{
		{"", ""},
		{"none", ""},
		{"42", "42"},
		{"The answer is 42.", "42"},
		{"6 times 7 is 42!", "42"},
		{"42.0", "42.0"},
		{"3.14.", "3.14"},
		{".5", "0.5"},
		{"-.5", "-0.5"},
		{"-7", "-7"},
		{"+7", "7"},
		{"\u22127", "-7"},
		{"x = -7", "-7"},
		{"(-7)", "-7"},
		{"10-3", "3"},
		{"10 - 3", "3"},
		{"2024-01-15", "15"},
		{"pages 3\u20135", "5"},
		{"GPT-4", "4"},
		{"-$3.50", "-3.50"},
		{"$-3.50", "-3.50"},
		{"-\u20ac3", "-3"},
		{`\$1,234.50`, "1234.50"},
		{"$1,234.50", "1234.50"},
		{"1,234", "1234"},
		{"1,234,567", "1234567"},
		{"12,34,567", "1234567"},
		{"1,00,000", "100000"},
		{"1,2,3", "3"},
		{"1, 2, 3", "3"},
		{"1,23", "23"},
		{"1,2345", "2345"},
		{"1,234,56", "56"},
		{"1234,567", "567"},
		{"1.234,5", "1234.5"},
		{"1.234.567", "1234567"},
		{"1.234.567,89", "1234567.89"},
		{"1.234", "1.234"},
		{"1'234'567", "1234567"},
		{"1\u2019234", "1234"},
		{"1_000_000", "1000000"},
		{"1\u202f234\u202f567", "1234567"},
		{"1\u00a0234,5", "5"},
		{"1 234", "234"},
		{`1{,}234`, "1234"},
		{`\boxed{1{,}234}`, "1234"},
		{`\boxed{-12}`, "-12"},
		{`1\,234\,567`, "1234567"},
		{"**42**", "42"},
		{"1e3", "1e3"},
		{"1.5E-3", "1.5e-3"},
		{"2e+5 m", "2e5"},
		{"3em", "3"},
		{"3 eggs", "3"},
		{"1.5 \u00d7 10^3", "1.5e3"},
		{"1.5 x 10^-3.", "1.5e-3"},
		{`6.02 \times 10^{23}`, "6.02e23"},
		{`6.02 \cdot 10^{-23}$`, "6.02e-23"},
		{"6.02\u00d710\u00b2\u00b3", "6.02e23"},
		{"6.6\u00b710\u207b\u00b3\u2074 J", "6.6e-34"},
		{"3*10**8", "3e8"},
		{"10^5", "1e5"},
		{"10\u2076", "1e6"},
		{"2 x 10 = 20", "20"},
		{"50%", "50"},
		{"42km", "42"},
		{"the 3rd", "3"},
		{"12:30", "30"},
		{"It weighs 5 kg, as much as some H2O", "5"},
		{"USD42", "42"},
		{"\u7b54\u6848\u662f42\u3002", "42"},
		{"\uff14\uff12", "42"},
		{"\u0664\u0662\u066b\u0665", "42.5"},
		{"\u096a\u0968", "42"},
		{"\U0001d7d2\U0001d7d0", "42"},
		{"\xff42\xff", "42"},
		{"5.", "5"},
		{"...", ""},
		{"1..2", "0.2"},
	}
	for _, test := range tests {
		if got, _ := lastNumber(test.text); got != test.want {
			t.Errorf("%q: %q, want %q", test.text, got, test.want)
		}
	}
}

// TestLastNumberIsLinear feeds what invites to read the same digits again and again.
func TestLastNumberIsLinear(t *testing.T) {
	if testing.Short() {
		t.Skip("it measures time")
	}
	const n = 300_000
	start := time.Now()
	for _, s := range []string{
		strings.Repeat("111,", n) + "1", strings.Repeat("1", n), "1e" + strings.Repeat("1", n), "10" + strings.Repeat("²", n),
		strings.Repeat("1 ", n), strings.Repeat("1 x 10^", n), strings.Repeat("1"+strings.Repeat(" ", 50), n/50), strings.Repeat("-$", n) + "1",
	} {
		n, _ := lastNumber(s)
		if _, err := rational(n); err != nil {
			continue // it took its time already
		}
	}
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("took %s", took)
	}
}

func TestNumeric(t *testing.T) {
	tests := []struct {
		spec   string
		ideal  []string
		output string
		want   bool
	}{
		{`"value":42`, nil, "It is 42.", true},
		{`"value":42`, nil, "It is 42.0.", true},
		{`"value":42`, nil, "It is 43.", false},
		{`"value":42`, nil, "It is so.", false},
		{`"value":-0.5`, nil, "It is −.5", true},
		{`"value":1,"tolerance":0.1`, nil, "1.1", true},
		{`"value":1,"tolerance":0.1`, nil, "0.9", true},
		{`"value":1,"tolerance":0.1`, nil, "1.11", false},
		{`"value":200,"tolerance_percent":1`, nil, "198", true},
		{`"value":200,"tolerance_percent":1`, nil, "197.9", false},
		{`"value":-200,"tolerance_percent":1`, nil, "-201", true},
		{`"value":200,"tolerance_percent":1,"tolerance":5`, nil, "204", true},
		{`"value":9007199254740993`, nil, "9007199254740992", false},
		{`"value":9007199254740993`, nil, "9,007,199,254,740,993", true},
		{`"value":6.02e23,"tolerance_percent":1`, nil, `$6.022 \times 10^{23}$`, true},
		{`"value":1`, nil, "1e999999999999", false},
		{`"value":1`, nil, strings.Repeat("1", 100_000), false},
		{`"tolerance":0`, []string{"1,234.5"}, "1234.50", true},
		{`"tolerance":0`, []string{"$5", "5 dollars", "6"}, "6", true},
		{`"not":true,"value":5`, nil, "5", false},
		{`"not":true,"value":5`, nil, "none", true},
	}
	for _, test := range tests {
		v := assertOn(t, mustParse(t, `{"type":"numeric",`+test.spec+`}`, test.ideal...), test.output)
		if v.Pass != test.want || v.Error != nil {
			t.Errorf("%s %v on %s: %v, want %v: %s", test.spec, test.ideal, text.Shorten(test.output, 40), v.Pass, test.want, v.Reason)
		}
	}
	c, err := Numeric(1e21, Tolerance{Percent: 1})
	if err != nil {
		t.Fatal(err)
	}
	if v := assertOn(t, c, "1.005e21"); !v.Pass || v.Reason != "the last number is 1.005e21, want 1e+21 ± 1 %" {
		t.Errorf("%+v", v)
	}
	for _, bad := range []float64{math.NaN(), math.Inf(1)} {
		if _, err := Numeric(bad, Tolerance{}); err == nil {
			t.Errorf("%v was taken", bad)
		}
	}
	if _, err := Numeric(1, Tolerance{Absolute: -1}); err == nil {
		t.Error("a negative tolerance was taken")
	}
}

func FuzzLastNumber(f *testing.F) {
	for _, s := range []string{"1,234.5", "−$3.5 × 10^{-3}", "1.234,5", `1{,}234`, "10²", "٤٢", "1e", "-", "$-", "\xff1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n, ok := lastNumber(s)
		if ok != (n != "") {
			t.Fatalf("%q, %v", n, ok)
		}
		if _, err := rational(n); ok && err != nil && !strings.Contains(err.Error(), "too ") {
			t.Fatalf("%q in %q: %v", n, s, err)
		}
	})
}
