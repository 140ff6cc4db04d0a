package redact

import (
	"bytes"
	"encoding/hex"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// hashes is the size of the tables that are indexed by two adjacent bytes.
	hashes = 1 << 13
	// minWindow is the minimum length of a pattern's word in the index.
	minWindow = 4
	// maxWindow limits the window of the literal search: a larger one would fill the table and slow
	// the search down.
	maxWindow = 16
)

func hash(a, b byte) uint { return (uint(a)<<6 ^ uint(b)) & (hashes - 1) }

// pattern is one spelling of a secret, with each run of white space as one blank, which matches any
// run of white space.
type pattern struct {
	text []byte
	// anchor is the position of the longest word of text, and word its length. The literal search
	// looks for this word.
	anchor, word int
	name, marker string
	// fold means that letters match in either case, and blanks match exactly. text is then a hex dump
	// in lower case.
	fold bool
}

// equal reports whether the character c matches byte i of the pattern.
func (p *pattern) equal(i int, c byte) bool {
	return p.text[i] == c || p.fold && c >= 'A' && p.text[i] == c|0x20
}

// maxPluses limits the characters of a run of blanks that are tried as plus signs of the secret
// itself.
const maxPluses = 16

// forward compares text with p from byte i on, and returns the end of the match, or partial if the
// text ends first.
func (p *pattern) forward(i int, text []byte) (end int, ok bool) {
	for ; i < len(p.text); i++ {
		if end == len(text) {
			return partial, true
		}
		if p.text[i] != ' ' || p.fold {
			if !p.equal(i, text[end]) {
				return 0, false
			}
			end++
			continue
		}
		n := blanks(text[end:])
		if i+1 < len(p.text) && p.text[i+1] == '+' {
			for tries := 0; n > 0 && tries < maxPluses; n, tries = n-1, tries+1 {
				if rest, found := p.forward(i+1, text[end+n:]); found && rest != partial {
					return end + n + rest, true
				} else if found {
					ok = true
				}
			}
			return partial, ok
		}
		if n == 0 {
			return 0, false
		}
		end += n
	}
	return end, true
}

// backward compares the end of text with p up to byte i, and returns the start of the match.
func (p *pattern) backward(i int, text []byte) (start int, ok bool) {
	for start = len(text); i > 0; i-- {
		if p.text[i-1] != ' ' || p.fold {
			if start == 0 || !p.equal(i-1, text[start-1]) {
				return 0, false
			}
			start--
			continue
		}
		before := start
		for start > 0 {
			c, size := utf8.DecodeLastRune(text[:start])
			if !isBlank(c) {
				break
			}
			start -= size
		}
		if i > 1 && p.text[i-2] == '+' {
			for tries := 0; start < before && tries < maxPluses; start, tries = start+1, tries+1 {
				if first, found := p.backward(i-1, text[:start]); found {
					return first, true
				}
			}
			return 0, false
		}
		if start == before {
			return 0, false
		}
	}
	return start, true
}

// isBlank reports whether c can represent a blank: white space, or a plus sign, as in URL queries.
func isBlank(c rune) bool { return c == '+' || unicode.IsSpace(c) }

// blanks returns the length of the blanks at the beginning of text.
func blanks(text []byte) (n int) {
	for n < len(text) {
		c, size := rune(text[n]), 1
		if c >= utf8.RuneSelf {
			c, size = utf8.DecodeRune(text[n:])
		}
		if !isBlank(c) {
			break
		}
		n += size
	}
	return n
}

// values returns the texts that reveal a secret value.
func values(value string) []string {
	const long = 20 // shorter lines can be common text
	value = strings.TrimSpace(value)
	all := []string{value}
	// A value with \n in it, as a key has in an .env file, is also used with line breaks instead.
	if plain := unescaped(value); plain != value {
		all = append(all, plain)
	}
	for _, value := range slices.Clip(all) {
		if scheme, rest, ok := strings.Cut(value, " "); ok && len(scheme) <= 12 &&
			!strings.ContainsFunc(rest, unicode.IsSpace) {
			all = append(all, rest)
		}
		if strings.Contains(value, "\n") {
			for line := range strings.Lines(value) {
				if line = strings.TrimSpace(line); len(line) >= long && !strings.HasPrefix(line, "-----") {
					all = append(all, line)
				}
			}
		}
	}
	return all
}

// unescaped returns value with its backslash escapes undone.
func unescaped(value string) string {
	if !strings.Contains(value, `\`) {
		return value
	}
	s := &search{r: &Redactor{}}
	if u, _ := s.unescape(&view{text: []byte(value), final: true}, backslashes, false); u != nil {
		return strings.TrimSpace(string(u.text))
	}
	return value
}

// addPatterns adds the spellings of a value of the secret s.
func (r *Redactor) addPatterns(value string, s Secret, words map[string]bool) {
	add := func(p pattern) {
		same := func(q pattern) bool { return q.fold == p.fold && string(q.text) == string(p.text) }
		if !slices.ContainsFunc(r.patterns, same) {
			p.name = s.Name
			p.anchor, p.word = 0, len(p.text)
			if !p.fold {
				p.anchor, p.word = longestWord(p.text)
			}
			r.patterns = append(r.patterns, p)
		}
	}
	// The value without its invisible characters, as a text shows it.
	work := &search{r: r}
	v := &view{text: []byte(value), final: true}
	add(pattern{text: collapsed(value)})
	if r.unseen(v.text, 0) < len(v.text) {
		for _, mode := range [...][2]bool{{false, false}, {true, false}, {false, true}, {true, true}} {
			u, _, _ := work.strip(v, mode[0], mode[1])
			if seen := strings.TrimSpace(string(u.text)); weakness(seen, words) == "" {
				add(pattern{text: collapsed(seen)})
			}
		}
	}
	// The value as a hex dump on one line. A dump without separators is found by decoding.
	digits := hex.EncodeToString([]byte(value))
	for _, separator := range [...]byte{' ', ':'} {
		text := make([]byte, 0, len(value)*3)
		for i := 0; i < len(digits); i += 2 {
			text = append(text, digits[i], digits[i+1], separator)
		}
		add(pattern{text: text[:len(text)-1], fold: true})
	}
}

// collapsed returns value with each run of white space as one blank.
func collapsed(value string) []byte { return []byte(strings.Join(strings.Fields(value), " ")) }

func longestWord(text []byte) (at, length int) {
	for i := 0; i < len(text); {
		n := bytes.IndexByte(text[i:], ' ')
		if n < 0 {
			n = len(text) - i
		}
		if n > length {
			at, length = i, n
		}
		i += n + 1
	}
	return at, length
}

// index prepares the search: tables after Wu and Manber, and the data of the patterns that decoding
// needs.
func (r *Redactor) index() {
	if len(r.patterns) == 0 {
		return
	}
	r.window = maxWindow
	r.shortest = len(r.patterns[0].text)
	used := [256]bool{}
	for _, p := range r.patterns {
		r.shortest = min(r.shortest, len(p.text))
		r.longest = max(r.longest, len(p.text))
		r.binary = r.binary || !utf8.Valid(p.text)
		for _, c := range p.text {
			used[c] = true
		}
		if p.word >= minWindow {
			r.window = min(r.window, p.word)
		}
	}
	r.minDigits = (r.shortest*8 + 5) / 6
	r.digits = sextets()
	walls := `!"$'()*,.<>?`
	r.wall = walls[max(0, strings.IndexFunc(walls, func(c rune) bool { return !used[c] }))]
	for i := range r.shift {
		r.shift[i] = uint8(r.window - 1)
	}
	for n := range r.patterns {
		p, id := &r.patterns[n], int32(n)
		for _, c := range cases(p.text[0], p.fold) {
			r.starts[c] = append(r.starts[c], id)
		}
		if p.word < minWindow {
			r.loose = append(r.loose, id)
			continue
		}
		word := p.text[p.anchor:]
		for i := 1; i < r.window; i++ {
			for _, a := range cases(word[i-1], p.fold) {
				for _, b := range cases(word[i], p.fold) {
					h := hash(a, b)
					r.shift[h] = min(r.shift[h], uint8(r.window-1-i))
					if i == r.window-1 && !slices.Contains(r.bucket[h], id) {
						r.bucket[h] = append(r.bucket[h], id)
					}
				}
			}
		}
	}
}

func cases(c byte, fold bool) []byte {
	if fold && c >= 'a' {
		return []byte{c, c - 'a' + 'A'}
	}
	return []byte{c}
}

// marker returns the replacement of a secret: a text that no secret contains, not even partly or
// together with the text around it.
func (r *Redactor) marker(name string) (marker string) {
	for _, text := range [...]string{"redacted:" + plainName(name), "redacted"} {
		for _, around := range [...]string{"[]", "()", "<>", "{}", "**", "||"} {
			if marker = around[:1] + text + around[1:]; !r.mixes(marker) {
				return marker
			}
		}
	}
	return marker
}

// plainName returns name with characters that are valid in a JSON string, a URL, an attribute and a
// shell word.
func plainName(name string) string {
	return strings.Map(func(c rune) rune {
		if c < utf8.RuneSelf && inKey(byte(c)) {
			return c
		}
		return '_'
	}, name)
}

// mixes reports whether a text with marker can contain a secret that it does not contain without
// it.
func (r *Redactor) mixes(marker string) bool {
	for _, p := range r.patterns {
		text := string(p.text)
		if !strings.ContainsAny(text, marker[:1]+marker[len(marker)-1:]) {
			continue
		}
		if strings.Contains(text, marker) {
			return true
		}
		for n := 1; n <= min(len(text), len(marker)); n++ {
			if text[len(text)-n:] == marker[:n] || text[:n] == marker[len(marker)-n:] {
				return true
			}
		}
	}
	return r.Names(marker) != nil
}
