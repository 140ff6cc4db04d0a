package check

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/doc"
)

// TestListsAreShort checks that a list leaves out several words or none, because a note about one
// is no shorter.
func TestListsAreShort(t *testing.T) {
	words := strings.Split("abcdefgh", "")
	for n, want := range map[int]string{
		1: `"a"`, 4: `"a", "b", "c", "d"`, 5: `"a", "b", "c", "d", "e"`, 6: `"a", "b", "c", "d" and 2 more`,
	} {
		if got := quotes(words[:n]); got != want {
			t.Errorf("%d terms: %s, want %s", n, got, want)
		}
	}
	for n, want := range map[int]string{
		1: "a", 5: "a, b, c, d, e", 6: "a, b, c, d, e, f", 7: "a, b, c, d, e and 2 more places",
	} {
		if got := listed(words[:n]); got != want {
			t.Errorf("%d places: %s, want %s", n, got, want)
		}
	}
}

// TestNumbersAsJSON checks the form of numbers, which the hashes of cases depend on.
func TestNumbersAsJSON(t *testing.T) {
	for val, want := range map[float64]string{
		0: "0", 1e15: "1e+15", 999999999999999: "999999999999999", 1e-6: "0.000001", 9e-7: "9e-07", -1e15: "-1e+15",
		0.1: "0.1",
	} {
		if got := string(encode(nil, val)); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// TestSlowNumbers checks the limits of numbers.
func TestSlowNumbers(t *testing.T) {
	for s, want := range map[string]string{
		"1e1000": "", "1e-1000": "", "1e1001": "too large an exponent", "1e-1001": "too large an exponent",
		"e1001":                   "too large an exponent",
		strings.Repeat("1", 1000): "", strings.Repeat("1", 1001): "too many digits",
	} {
		if _, err := rational(s); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%.20s: %v, want %q", s, err, want)
		}
	}
}

// TestJoinedQuestions adds up questions to several judges.
func TestJoinedQuestions(t *testing.T) {
	a := &plumb.Asked{
		Model: "m-1", PromptHash: "sha256:1", Votes: 1, Yes: 1, Requests: 2,
		CostUSD: new(0.5), Replies: []string{"yes"},
	}
	b := &plumb.Asked{
		Model: "m-2", PromptHash: "sha256:2", Votes: 3, No: 3, Requests: 3,
		CostUSD: new(0.25), Replies: []string{"no"}, Self: true,
	}
	unpaid := &plumb.Asked{Model: "m-1", Requests: 1}
	for _, test := range []struct{ a, b, want *plumb.Asked }{
		{nil, nil, nil},
		{a, nil, a},
		{nil, b, b},
		{a, b, &plumb.Asked{
			Model: "m-1, m-2", PromptHash: "sha256:1, sha256:2", Votes: 4, Yes: 1, No: 3, Requests: 5,
			CostUSD: new(0.75),
			Replies: []string{"yes", "no"}, Self: true,
		}},
		{a, a, &plumb.Asked{
			Model: "m-1", PromptHash: "sha256:1", Votes: 2, Yes: 2, Requests: 4, CostUSD: new(1.0),
			Replies: []string{"yes", "yes"},
		}},
		{
			a, unpaid,
			&plumb.Asked{Model: "m-1", PromptHash: "sha256:1", Votes: 1, Yes: 1, Requests: 3, Replies: []string{"yes"}},
		},
		{
			unpaid, a,
			&plumb.Asked{Model: "m-1", PromptHash: "sha256:1", Votes: 1, Yes: 1, Requests: 3, Replies: []string{"yes"}},
		},
	} {
		diff := cmp.Diff(test.want, join(test.a, test.b), cmpopts.IgnoreFields(plumb.Usage{}, "Source"))
		if diff != "" {
			t.Errorf("%+v and %+v: %s", test.a, test.b, diff)
		}
	}
}

// TestListOfStrings says what a key wants that lists its values, or not.
func TestListOfStrings(t *testing.T) {
	for _, test := range []struct {
		key        Key
		spec, want string
	}{
		{Key{}, `1`, "a list of strings"},
		{Key{}, `["a",1]`, "a list of strings"},
		{Key{}, `"a"`, "a list of strings"},
		{Key{}, `[]`, ""},
		{Key{Lenient: true}, `"a"`, ""},
		{Key{Enum: []string{"a", "b"}}, `["c"]`, "a list of a, b"},
		{Key{Enum: []string{"a", "b"}}, `["b"]`, ""},
		{Key{NotEmpty: true}, `[]`, notEmpty},
	} {
		v, problem := doc.ParseJSON("", []byte(test.spec))
		if problem != nil {
			t.Fatal(problem)
		}
		if got := test.key.wantsStrings(&v); got != test.want {
			t.Errorf("%s: %q, want %q", test.spec, got, test.want)
		}
	}
}

// TestHashesOfQuestions checks that a question about two answers is another one.
func TestHashesOfQuestions(t *testing.T) {
	hashes := map[string]bool{}
	for _, j := range []*judgeMatcher{
		{question: "?"},
		{question: "!"},
		{question: "?", asked: &Question{Other: "x"}},
		{question: "!", asked: &Question{Other: "x"}},
	} {
		hashes[j.promptHash()] = true
	}
	one := &judgeMatcher{question: "?", asked: &Question{}}
	if len(hashes) != 4 || !hashes[one.promptHash()] {
		t.Errorf("the hashes are %v", hashes)
	}
}
