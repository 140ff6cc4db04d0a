package doc

import (
	"fmt"
	"strings"

	"github.com/plumb-eval/plumb/internal/text"
)

// Unprintable returns why a text cannot be a name, or "": a name is one line of characters that
// people can see.
func Unprintable(name string) string {
	at := strings.IndexFunc(name, func(r rune) bool {
		return r == '\n' || r == '\t' || r == '\u2028' || r == '\u2029' || text.Hidden(r)
	})
	if at < 0 {
		return ""
	}
	return fmt.Sprintf("has the control character %U", []rune(name[at:])[0])
}
