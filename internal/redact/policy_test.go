package redact_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/plumb-eval/plumb/internal/redact"
)

func TestExposed(t *testing.T) {
	const (
		short = "is shorter than 8 characters"
		word  = "is a common word of Plumb's own reports"
		weak  = "is too easy to guess: it has few different characters"
		part  = "is hidden in texts, but not in names that contain it, such as the id of a case, a runner or a model"
	)
	words := []string{"outcome", "session-finished", "anthropic", "Reasoning-017", "openai:gpt-5-canary"}
	for _, test := range []struct{ value, why string }{
		{"", ""},
		{"sk-0123456789abcdef", ""},
		{" ", short},
		{"\n\t   \n    \t", short},
		{"x", short},
		{"1234567", short},
		{" 1234567\n", short},
		{"12345678", ""},
		{"outcome", short},
		{"session-finished", word},
		{"SESSION-Finished\n", word},
		{"reasoning-017", word},
		{"reasoning-01", ""}, // not in a word, because the case differs
		{"gpt-5-canary", part},
		{"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", weak},
		{"00000000", weak},
		{"testtest", weak},
		{"password", ""}, // 22 bits
		{"ababababababababab", weak},
		{"ababababababababababab", ""},
		{"é é é é é", ""},
	} {
		r := redact.New([]redact.Secret{{"NAME", test.value}, {"NAME", test.value}}, words...)
		var want []redact.Exposure
		if test.why != "" {
			want = []redact.Exposure{{"NAME", test.why}}
		}
		if got := r.Exposed(); !reflect.DeepEqual(got, want) {
			t.Errorf("%q: got %v, want %v", test.value, got, want)
		}
		value := strings.TrimSpace(test.value)
		if value == "" {
			continue
		}
		text := "<" + value + ">"
		if hidden := r.String(text) != text; hidden != (test.why == "" || test.why == part) {
			t.Errorf("%q: hidden is %v", test.value, hidden)
		}
	}
	if got := (*redact.Redactor)(nil).Exposed(); got != nil {
		t.Errorf("nil: %v", got)
	}
	r := redact.New(
		[]redact.Secret{{"B", "short"}, {"A", "anthropic"}, {"OK", "sk-0123456789"}, {"B", "short"}}, words...,
	)
	if got, want := r.Exposed(), []redact.Exposure{{"B", short}, {"A", word}}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestParts checks that the same rule applies to parts of a value.
func TestParts(t *testing.T) {
	r := redact.New(
		[]redact.Secret{{"A", "Bearer anthropic"}, {"B", "Bearer tok-en-0123"}, {"C", "Basic short"}}, "anthropic",
	)
	const in = "Bearer anthropic, anthropic, tok-en-0123, Basic short, short"
	if got, want := r.String(in), "[redacted:A], anthropic, [redacted:B], [redacted:C], short"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestNames(t *testing.T) {
	r := redact.New(
		[]redact.Secret{
			{"Z KEY", "zebra-0123456"}, {"A", "sk-ant-0123456"}, {"B", "unseen-0123456"}, {"C", "zebra-0123456"},
		},
	)
	for _, test := range []struct {
		text string
		want []string
	}{
		{"nothing", nil},
		{"", nil},
		{"sk-ant-0123456", []string{"A"}},
		{"zebra-0123456 sk-ant-0123456 zebra-0123456", []string{"A", "Z KEY"}},
	} {
		if got := r.Names(test.text); !reflect.DeepEqual(got, test.want) {
			t.Errorf("%q: got %q, want %q", test.text, got, test.want)
		}
	}
	if got := (*redact.Redactor)(nil).Names("zebra-0123456"); got != nil {
		t.Errorf("nil: %q", got)
	}
}
