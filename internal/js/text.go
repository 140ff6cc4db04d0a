package js

import (
	"errors"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"

	"github.com/plumb-eval/plumb/internal/doc"
)

// Upper returns a text in capitals.
func Upper(text string) string { return cases.Upper(language.Und).String(text) }

// Lower returns a text in small letters.
func Lower(text string) string { return cases.Lower(language.Und).String(text) }

// IsSpace reports whether a character is white space in JavaScript.
func IsSpace(r rune) bool { return unicode.IsSpace(r) && r != '\u0085' || r == '\uFEFF' }

// Trim returns a text without the white space around it.
func Trim(text string) string { return strings.TrimFunc(text, IsSpace) }

// EncodeURIComponent escapes a text as a part of a URL.
func EncodeURIComponent(text string) string {
	unescaped := strings.NewReplacer("+", "%20", "%21", "!", "%27", "'", "%28", "(", "%29", ")", "%2A", "*")
	return unescaped.Replace(url.QueryEscape(text))
}

// Units returns a text in UTF-16, in which JavaScript counts.
func Units(text string) []uint16 { return utf16.Encode([]rune(text)) }

// Cut returns a part of a text.
func Cut(text string, from, to int) (string, error) {
	u := Units(text)[from:to]
	part := string(utf16.Decode(u))
	if !slices.Equal(Units(part), u) {
		return "", errors.New("the text would be cut within a character")
	}
	return part, nil
}

// Regex is a regular expression that means the same in JavaScript and in RE2.
type Regex struct {
	*regexp.Regexp
	global bool
}

// portable matches such an expression, and its flags.
var portable = regexp.MustCompile(`^/((?:\\[dwbnrts.?*+()\[\]{}|^$/-]|[)|*+?^$]|\((?:\?:)?|[^\\\[\](){}|*+?^$]|` +
	`\[\^?(?:[A-Za-z0-9 _.,:;'"@#%&=<>/!?*+(){}|$-]|\\[dwnrt\]\[/.-])+\])+)/(g?)$`)

// ParseRegex parses a regular expression with its flags, such as /a+/g.
func ParseRegex(text string) (*Regex, error) {
	if parts := portable.FindStringSubmatch(text); parts != nil {
		r, err := regexp.Compile(strings.ReplaceAll(parts[1], `\s`, `[\t-\r\x{feff}\p{Z}]`))
		if err == nil && !r.MatchString("") {
			return &Regex{r, parts[2] != ""}, nil
		}
	}
	return nil, errors.New("invalid template: a regular expression that templates do not have")
}

// Replace replaces what matches in a text, or the first match without the flag g.
func (r *Regex) Replace(text, with string) (string, error) {
	// RE2 counts characters, and . matches these ends of lines.
	inexact := func(c rune) bool { return c > 0xFFFF || c == '\r' || c == '\u2028' || c == '\u2029' }
	if strings.ContainsFunc(text, inexact) {
		return "", errors.New("the regular expression cannot match this text exactly")
	}
	matches, most := 0, doc.CaseBytes/(len(with)+1)
	text = r.ReplaceAllStringFunc(text, func(match string) string {
		if matches++; matches > 1 && !r.global || matches > most {
			return match
		}
		return with
	})
	if matches > most {
		return "", errLarge
	}
	return text, nil
}
