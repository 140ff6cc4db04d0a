package terminal

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
)

func TestFit(t *testing.T) {
	th := newTheme(false, true)
	for _, c := range []struct {
		in    string
		width int
		want  string
	}{
		{"short", 10, "short"},
		{"exactly ten", 11, "exactly ten"},
		{"漢字漢字", 5, "漢字…"},
		{"漢字漢字", 4, "漢…"},
		{"abc", 1, "…"},
		{"abc", 0, "abc"},
	} {
		if got := th.fit(c.in, c.width); got != c.want {
			t.Errorf("fit(%q, %d) = %q, want %q", c.in, c.width, got, c.want)
		}
	}
	for _, l := range th.wrap(strings.Repeat("漢字x", 50), 11, 3) {
		if w := ansi.StringWidth(l); w > 11 {
			t.Errorf("wrapped line %q is %d wide", l, w)
		}
	}
	if got := strings.Join(th.wrap("one two three-four-five six", 9, 9), "|"); got != "one two|three-|four-five|six" {
		t.Errorf("words: %s", got)
	}
	if got := th.wrap(strings.Repeat("abc ", 50), 8, 2); len(got) != 2 || !strings.HasSuffix(got[1], "…") {
		t.Errorf("wrap to two lines: %q", got)
	}
}
