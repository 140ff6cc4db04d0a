package check

import (
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestMetricValues compares the metrics with the scores that promptfoo 0.123.1 printed for the same
// texts (npm, run on node 22, echo provider).
func TestMetricValues(t *testing.T) {
	for _, test := range []struct {
		kind, output, ideal string
		want                float64
	}{
		{"bleu", "The cat sat on the mat today", "The cat sat on the mat", 0.8091067115702213},
		{"bleu", "the cat sat on the mat", "The cat sat on the mat.", 0.7598356856515925},
		{"bleu", "The cat", "The cat", 1},
		{"bleu", "The cat sat", "The cat sat on", 0.7165313105737893},
		{"bleu", "hello there", "goodbye now", 9.999999999999994e-08},
		{"bleu", "the cat dog", "the cat sat", 0.0032182979486854333},
		{"bleu", "the the the the", "the cat is here", 3.976353643835251e-06},
		{"bleu", "the cat", "the dog", 0.00022360679774997909},
		{"bleu", "", "the dog", 0},
		{"bleu", "the cat is on the mat", "the cat is on a mat", 0.537284965911771},
		{"bleu", " the  cat\nsat ", "the cat sat", 1},
		{"gleu", "The cat sat on the mat today", "The cat sat on the mat", 0.8181818181818182},
		{"gleu", "the cat sat on the mat", "The cat sat on the mat.", 1},
		{"gleu", "the cat dog", "the cat sat", 0.5},
		{"gleu", "the the the the", "the cat is here", 0.1},
		{"gleu", "Hello, World! it's", "hello world its", 0},
		{"gleu", "well-known x", "well known x", 0.16666666666666666},
		{"gleu", "a.b c", "ab c", 0.3333333333333333},
		{"gleu", "the cat is on the mat", "the cat is on a mat", 0.6111111111111112},
		{"gleu", "cat. sat", "cat sat", 1},
		{"gleu", "the cat!", "the cat", 0.3333333333333333},
		{"gleu", "the cat.. ", "the cat", 1},
		{"gleu", "a b c d e", "a b c d e f", 0.7777777777777778},
		{"rouge", "The cat sat on the mat today", "The cat sat on the mat", 0.923076923076923},
		{"rouge", "the cat", "The cat sat on the mat.", 0.4444444444444445},
		{"rouge", "The cat sat", "the cat sat on", 0.8571428571428571},
		{"rouge", "The mat, don't", "The mat don't", 0.888888888888889},
		{"rouge", "", "x", 0},
		{"rouge", "the the the", "the cat", 0.4},
		{"rouge", "the cat the", "the cat the the", 0.8571428571428571},
		{"rouge", `a $5.00 (approx) "quoted" cannot gonna`, "a 5.00 approx quoted can not gon na", 0.761904761904762},
		{"rouge", "A", "a b", 0.6666666666666666},
	} {
		m := &metricMatcher{kind: test.kind, n: 1, measure: "f"}
		if got := m.score(test.output, test.ideal); math.Abs(got-test.want) > 1e-12 {
			t.Errorf("%s(%q, %q) = %v, want %v", test.kind, test.output, test.ideal, got, test.want)
		}
	}
}

// TestTreebank compares words with those of js-rouge 3.2.3 (npm), in lower case.
func TestTreebank(t *testing.T) {
	for text, want := range map[string]string{
		`I'll don't. He said "hi" (ok) -- a...b, 5% & John's dogs' U.S. end.`: "i|'ll|don't.|he|said|``|hi|''|(|ok|)|--|a|...|" +
			"b|,|5|%|&|john|'s|dogs|'|u.s.|end|.",
		`a/b c:d; e?f!g 1,000 x@y #t [z] {q} <p> *`: "a/b|c|:|d|;|e|?|f|!|g|1,000|x|@|y|#|t|[|z|]|{|q|}|<|p|>|*",
		"it\u2019s \u201cx\u201d \u2026":            "it\u2019s|\u201cx\u201d|\u2026",
		"End.)":                                     "end|.|)",
		"1:9 2:0 3,/ 4,a 5,":                        "1:9|2:0|3|,|/|4|,|a|5|,",
		"Hi. There. you":                            "hi.|there.|you",
		"gimme gonna wanna lemme 'tis 'twas d'ye cannot more'n": "gim|me|gon|na|wan|na|lem|me|'t|is|'t|was|d|'ye|can|not|" +
			"more|'n",
		"": "", "  ": "",
	} {
		if got := strings.Join(treebank(text), "|"); got != want {
			t.Errorf("%q:\n got %s\nwant %s", text, got, want)
		}
	}
}

// TestMetricProperties checks bounds, identity, and symmetry where a metric has it.
func TestMetricProperties(t *testing.T) {
	t.Parallel()
	text := rapid.OneOf(rapid.String(), rapid.StringMatching(`([abc]{1,2}[ ,.'"-]{1,2}){0,12}`))
	rapid.Check(t, func(t *rapid.T) {
		a, b := text.Draw(t, "a"), text.Draw(t, "b")
		n := rapid.IntRange(1, 4).Draw(t, "n")
		for _, kind := range []string{"bleu", "gleu", "rouge"} {
			for _, measure := range measures() {
				m := &metricMatcher{kind: kind, n: n, measure: measure}
				score := m.score(a, b)
				if !(score >= 0 && score <= 1+1e-12) {
					t.Fatalf("%s %s of %q and %q is %v", kind, measure, a, b, score)
				}
				words := lowerWords(a)
				if kind != "bleu" {
					words = gleuWords(a)
				}
				if kind == "rouge" {
					words = treebank(a)
				}
				if least := map[string]int{"rouge": n}[kind]; len(words) > 0 && len(words) >= least {
					if same := m.score(a, a); math.Abs(same-1) > 1e-12 {
						t.Fatalf("%s of %q with itself is %v", kind, a, same)
					}
				}
				if mirror := m.score(b, a); kind == "gleu" && math.Abs(score-mirror) > 1e-12 ||
					kind == "rouge" && measure == "f" && math.Abs(score-mirror) > 1e-12 {
					t.Fatalf("%s is not symmetric: %v and %v", kind, score, mirror)
				}
			}
		}
		x, y, z := []rune(a), []rune(b), []rune(text.Draw(t, "z"))
		d := levenshtein(x, y)
		switch {
		case d != levenshtein(y, x), (d == 0) != slices.Equal(x, y), d > max(len(x), len(y)),
			d < max(len(x), len(y))-min(len(x), len(y)), d > levenshtein(x, z)+levenshtein(z, y):
			t.Fatalf("the distance of %q and %q is %d", a, b, d)
		}
	})
	for _, test := range []struct {
		a, b string
		want int
	}{{"kitten", "sitting", 3}, {"", "abc", 3}, {"flaw", "lawn", 2}, {"\U0001F600", "", 1}} {
		if got := levenshtein([]rune(test.a), []rune(test.b)); got != test.want {
			t.Errorf("levenshtein(%q, %q) = %d, want %d", test.a, test.b, got, test.want)
		}
	}
}

// TestXML has documents and the verdicts that promptfoo 0.123.1 gave for them.
func TestXML(t *testing.T) {
	for text, want := range map[string]bool{
		"<a>": false, "plain": false, "": false, "<a/><b/>": false, `<?xml version="1.0"?><a x='1'>&amp;&nbsp;</a>`: false,
		"<a>&</a>": false, "<a/>": true, "<a x=1/>": false, "<!-- c --><a/>": true, "<a/> tail": false, "<A></a>": false,
		"<a><b><c/></b></a>": true, "<br>": false, `<a x="1" x="2"/>`: false, "<a.b></b>": false, "</a>": false,
		`<?xml version="1.0" encoding="ISO-8859-1"?><a/>`: true,
	} {
		if _, err := xmlPaths(text); (err == nil) != want {
			t.Errorf("%q: %v, want %v", text, err, want)
		}
	}
}

// FuzzOutputs checks that no text breaks the XML parser or a metric.
func FuzzOutputs(f *testing.F) {
	f.Add("<a><b/></a>", "x. 'tis \"y\"...")
	f.Fuzz(func(t *testing.T, a, b string) {
		_, _ = xmlPaths(a)
		for _, kind := range []string{"bleu", "gleu", "rouge"} {
			score := (&metricMatcher{kind: kind, n: 2, measure: "f"}).score(a, b)
			if math.IsNaN(score) || score < 0 || score > 1+1e-12 {
				t.Fatalf("%s: %v", kind, score)
			}
		}
	})
}
