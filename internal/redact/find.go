package redact

import (
	"bytes"
	"slices"
	"unicode/utf8"
)

const (
	// hashes is the size of the tables that are indexed by two neighbouring bytes.
	hashes = 1 << 13
	// maxWindow bounds the window of the literal search: more would fill the table and slow it down.
	maxWindow = 16
	// levels is how many encodings on top of each other are undone.
	levels = 3
	// maxEscape is the most bytes that one byte of a secret takes when it is escaped, within reason: %5C%5C%5C%5Cu0041.
	maxEscape = 24
	// maxChoices bounds the work for a text and a secret that are full of backslashes.
	maxChoices = 100
)

func hash(a, b byte) uint { return (uint(a)<<6 ^ uint(b)) & (hashes - 1) }

// place says where a byte occurs: at index i of a pattern.
type place struct{ pattern, i int32 }

// index prepares the search: tables after Wu and Manber for the patterns as they are, and places for escaped ones.
func (r *Redactor) index() {
	if len(r.patterns) == 0 {
		return
	}
	r.window = maxWindow
	for _, p := range r.patterns {
		r.window = min(r.window, len(p.text))
		r.longest = max(r.longest, len(p.text))
	}
	for i := range r.shift {
		r.shift[i] = uint8(r.window - 1)
	}
	for n := range r.patterns {
		p, id := &r.patterns[n], int32(n)
		for i, c := range p.text {
			for _, c := range cases(c, p.fold) {
				r.places[c] = append(r.places[c], place{id, int32(i)})
			}
		}
		for _, c := range cases(p.text[0], p.fold) {
			r.starts[c] = append(r.starts[c], id)
		}
		for i := 1; i < r.window; i++ {
			for _, a := range cases(p.text[i-1], p.fold) {
				for _, b := range cases(p.text[i], p.fold) {
					h := hash(a, b)
					r.shift[h] = min(r.shift[h], uint8(r.window-1-i))
					if i == r.window-1 && !slices.Contains(r.bucket[h], id) {
						r.bucket[h] = append(r.bucket[h], id)
					}
				}
			}
		}
		for c := range r.heads {
			r.heads[c] = r.heads[c] || p.head.fits(byte(c))
		}
	}
}

func cases(c byte, fold bool) []byte {
	if fold && c >= 'a' && c <= 'z' {
		return []byte{c, c - 'a' + 'A'}
	}
	return []byte{c}
}

// find returns the places of all secrets in text, in order and apart from each other, or nil. Unless final, more text is
// to come, and hold is the place up to which that cannot change anything.
func (r *Redactor) find(text []byte, final bool) (found []match, hold int) {
	hold = len(text)
	add := func(p *pattern, start, end int) {
		m := match{start, end, p}
		if p.extend(text, &m) && !final {
			hold = min(hold, m.start)
		}
		found = append(found, m)
	}
	r.literal(text, add)
	for _, c := range [...]byte{'\\', '%', '&'} {
		r.escaped(text, c, final, add)
	}
	if found != nil {
		found = merge(found)
	}
	if !final {
		hold = r.settled(text, found, min(hold, r.unfinished(text)))
	}
	return found, hold
}

// literal finds patterns as they are. It looks at the last two bytes of a window: if no pattern has them there, the
// window moves on to where one could.
func (r *Redactor) literal(text []byte, add func(p *pattern, start, end int)) {
	for i := r.window - 1; i < len(text); {
		h := hash(text[i-1], text[i])
		if skip := int(r.shift[h]); skip > 0 {
			i += skip
			continue
		}
		start := i - r.window + 1
		for _, id := range r.bucket[h] {
			if p := &r.patterns[id]; p.has(0, len(p.text), text[start:]) {
				add(p, start, start+len(p.text))
			}
		}
		i++
	}
}

// escaped finds patterns of which at least one character is escaped, by the first of these: an escape sequence that
// begins with c. What comes before it must be the beginning of the pattern as it is.
func (r *Redactor) escaped(text []byte, c byte, final bool, add func(p *pattern, start, end int)) {
	for at := 0; ; at++ {
		n := bytes.IndexByte(text[at:], c)
		if n < 0 {
			return
		}
		at += n
		if c != '\\' {
			r.escapedAt(text, at, true, final, add)
			continue
		}
		run := at
		for run < len(text) && text[run] == '\\' {
			run++
		}
		// Most backslashes stand before something that no secret has.
		if run == len(text) || r.relevant(text[run]) {
			// Within a run, backslashes belong together in pairs, from its beginning.
			for i := at; i < run; i += 2 {
				r.escapedAt(text, i, i == at, final, add)
			}
		}
		at = run - 1
	}
}

// relevant reports whether backslashes before c can be an escape sequence for something that occurs in a pattern.
func (r *Redactor) relevant(c byte) bool {
	switch c {
	case 'u', 'x', 'U', '%', '&':
		return true
	}
	if len(r.places['\\']) > 0 {
		return true
	}
	plain, ok := unescape(rune(c))
	return ok && len(r.places[plain]) > 0
}

func (r *Redactor) escapedAt(text []byte, at int, prefix, final bool, add func(p *pattern, start, end int)) {
	for level := 1; level <= levels; level++ {
		c := read(text, at, level)
		if c.width < 2 { // no escape sequence, or an unfinished one
			continue
		}
		for _, pl := range r.places[c.first()] {
			p, i := &r.patterns[pl.pattern], int(pl.i)
			if i > at || i > 0 && (!prefix || !p.equal(i-1, text[at-1]) || !p.has(0, i, text[at-i:])) {
				continue
			}
			if end, result := p.match(text, at, i, level, final); result == yes {
				add(p, at-i, end)
			}
		}
	}
}

// unfinished returns the first place of text from which on it could be the beginning of a secret, or its length.
func (r *Redactor) unfinished(text []byte) int {
	lastEscape := bytes.LastIndexAny(text, `\%&`)
	from := len(text) - r.longest
	if lastEscape >= from-maxEscape {
		from = len(text) - r.longest*maxEscape
	}
	run := 0 // backslashes before at
	for at := max(0, from); at < len(text); at++ {
		c, deepest := text[at], 0
		if at <= lastEscape {
			deepest = levels
		}
		for _, id := range r.starts[c] {
			p := &r.patterns[id]
			if at+1 < len(text) && !p.equal(1, text[at+1]) && !introduces(text[at+1]) {
				continue // as nearly always
			}
			for level := 0; level <= deepest; level++ {
				if _, result := p.match(text, at, 0, level, false); result == more {
					return at
				}
			}
		}
		if introduces(c) && (c != '\\' || run%2 == 0) {
			for level := 1; level <= levels; level++ {
				first := read(text, at, level)
				if first.width == 0 {
					return at
				}
				if first.width == 1 {
					continue
				}
				for _, id := range r.starts[first.first()] {
					if _, result := r.patterns[id].match(text, at, 0, level, false); result == more {
						return at
					}
				}
			}
		}
		if c == '\\' {
			run++
		} else {
			run = 0
		}
	}
	return len(text)
}

// introduces reports whether an escape sequence can begin with c.
func introduces(c byte) bool { return c == '\\' || c == '%' || c == '&' }

// settled moves hold back to where text can be cut so that its halves are redacted like the whole.
func (r *Redactor) settled(text []byte, found []match, hold int) int {
	for before := -1; hold != before; {
		before = hold
		for _, m := range slices.Backward(found) {
			if m.start < hold && hold < m.end {
				hold = m.start
			}
		}
		if hold > 0 && r.heads[text[hold-1]] {
			hold--
		}
		if hold < len(text) && text[hold] == '\\' { // keep pairs of backslashes together
			run := hold
			for run > 0 && text[run-1] == '\\' {
				run--
			}
			hold -= (hold - run) % 2
		}
	}
	return hold
}

// result says how a comparison of a text with a pattern ended.
type result uint8

const (
	no   result = iota
	yes         // the pattern is there, up to a known end
	more        // the text ends before that is known
)

// match compares text from at with p from i, with escape sequences of up to the given level undone, and returns the end of
// the match. If final, the text is all there is.
func (p *pattern) match(text []byte, at, i, level int, final bool) (end int, _ result) {
	choices := maxChoices
	return p.compare(text, at, i, level, final, &choices)
}

// compare does the work of match. choices is how often it may still come back to a place to read it differently.
func (p *pattern) compare(text []byte, at, i, level int, final bool, choices *int) (end int, _ result) {
next:
	for i < len(p.text) {
		for l := level; l >= 0; l-- { // what is no escape sequence on one level may be on a lower
			c := read(text, at, l)
			if c.width == 0 {
				if final {
					continue
				}
				return 0, more
			}
			n := p.consume(i, c)
			if n > 0 && c.width > 1 && c.first() == text[at] && *choices > 0 {
				// Two backslashes, for example, can be one that is escaped, or two.
				*choices--
				if end, result := p.compare(text, at+c.width, i+n, level, final, choices); result != no {
					return end, result
				}
				continue
			}
			if n > 0 {
				at, i = at+c.width, i+n
				continue next
			}
			if c.width == 1 {
				break // lower levels read the same
			}
		}
		return 0, no
	}
	return at, yes
}

// consume returns how many bytes of p, from i, the character c stands for; 0 if it does not occur there.
func (p *pattern) consume(i int, c char) int {
	if c.r < utf8.RuneSelf || c.byte {
		if p.equal(i, byte(c.r)) {
			return 1
		}
		return 0
	}
	var buf [utf8.UTFMax]byte
	n := utf8.EncodeRune(buf[:], c.r)
	if bytes.HasPrefix(p.text[i:], buf[:n]) {
		return n
	}
	return 0
}
