package text_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/plumb-eval/plumb/internal/text"
)

func TestColumns(t *testing.T) {
	var b strings.Builder
	c := text.NewColumns(&b)
	fmt.Fprintln(c, "RUN\tSTATE\tWHY")
	fmt.Fprintln(c, "主 worker\tfinished\t")
	fmt.Fprint(c, "👩‍👩‍👧‍👦\tkil", "led\tlong text\n")
	if err := c.Flush(); err != nil {
		t.Fatal(err)
	}
	const want = "RUN        STATE     WHY\n主 worker  finished\n👩‍👩‍👧‍👦         killed    long text\n"
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", &b, want)
	}
}
