package redact

import (
	"slices"
	"testing"
)

// TestMarksAreThoseThatRedactorsLeave checks that Marks reads the marks that a Redactor writes.
func TestMarksAreThoseThatRedactorsLeave(t *testing.T) {
	r := New([]Secret{{"A_KEY", "sk-canary-4711-a"}, {"headers.X-Team", "team canary 99 b"}})
	text := r.String("one sk-canary-4711-a two team canary 99 b three sk-canary-4711-a")
	if got, want := Marks(text), []string{"A_KEY", "headers.X-Team"}; !slices.Equal(got, want) {
		t.Errorf("marks of %q: %q, want %q", text, got, want)
	}
	if got, want := BetweenMarks(text), []string{"one ", " two ", " three ", ""}; !slices.Equal(got, want) {
		t.Errorf("between the marks of %q: %q, want %q", text, got, want)
	}
	if got := BetweenMarks("cut off [redacted:A_K"); !slices.Equal(got, []string{"cut off "}) {
		t.Errorf("a mark that was cut off: %q", got)
	}
	if HasMark("nothing") || !HasMark(text) || Marks("nothing") != nil {
		t.Error("marks are seen where none are, or not seen")
	}
}

// TestArraysAreLookedInto checks that secrets in arrays are removed.
func TestArraysAreLookedInto(t *testing.T) {
	r := New([]Secret{{"A_KEY", "sk-canary-4711-a"}})
	was := [][2]string{{"path", "/tmp/sk-canary-4711-a"}, {"a", "b"}}
	got, names := Clean(r, was)
	if got[0] != [2]string{"path", "/tmp/[redacted:A_KEY]"} || got[1] != was[1] ||
		!slices.Equal(names, []string{"A_KEY"}) {
		t.Errorf("got %q, removed %q", got, names)
	}
	if was[0][1] != "/tmp/sk-canary-4711-a" {
		t.Error("what was given was changed")
	}
}
