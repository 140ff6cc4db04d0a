package redact

import (
	"slices"
	"sort"
	"unicode/utf8"
)

const (
	// minLine is the minimum number of base64 or hexadecimal digits in a line that continues on the
	// next one.
	minLine = 16
	// alignments are the ways to divide base64 digits into bytes, and then those of hexadecimal
	// digits.
	alignments, base64Alignments = 6, 4
)

// sextets returns the values of characters in base64, in either alphabet; -1 for other characters.
func sextets() (table [256]int8) {
	for c := range table {
		table[c] = -1
	}
	const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	for v, c := range []byte(digits) {
		table[c] = int8(v)
	}
	table['-'], table['_'] = 62, 63
	return table
}

// run is a run of digits in a text. It may be wrapped over lines.
type run struct {
	from, to int
	open     bool
}

// decode searches the runs of digits in v, decoded from base64 and from hexadecimal digits.
func (s *search) decode(v *view, escapes, codes int) {
	s.findRuns(v)
	if len(s.runs) == 0 {
		return
	}
	var views [alignments]*view
	open := s.runs[len(s.runs)-1].open
	for i := range views {
		views[i] = s.view(v)
		views[i].digits, views[i].coded = true, true
		views[i].final = !open
	}
	for _, r := range s.runs {
		s.places, s.sextets = s.places[:0], s.sextets[:0]
		for i := r.from; i < r.to; i++ {
			if sextet := s.r.digits[v.text[i]]; sextet >= 0 {
				s.places, s.sextets = append(s.places, int32(i)), append(s.sextets, byte(sextet))
			}
		}
		if r.open {
			s.wait(v.start(int(s.places[len(s.places)-1])))
		}
		pad := int32(r.to)
		for pad < int32(len(v.text)) && pad < int32(r.to)+2 && v.text[pad] == '=' {
			pad++
		}
		for i := range base64Alignments {
			s.base64(views[i], r.open, 2*i, pad)
		}
		s.hex(views[base64Alignments:], r.open)
	}
	for _, u := range views {
		if len(u.text) > 0 {
			s.explore(u, escapes, codes+1)
		}
	}
}

// findRuns sets s.runs to the runs of digits that are long enough for a secret, and the one that
// can continue after v. A run continues over a line break if there are at least minLine digits
// before it.
func (s *search) findRuns(v *view) {
	text, digits := v.text, &s.r.digits
	s.runs = s.runs[:0]
	open := run{to: -1}
	if !v.final {
		open = s.openLine(text)
	}
	step := min(s.r.minDigits, minLine)
	for i := step - 1; i < len(text); i += step {
		if digits[text[i]] < 0 {
			continue
		}
		from := i
		for from > 0 && digits[text[from-1]] >= 0 {
			from--
		}
		r, at, n := run{from: from}, from, 0
		for {
			line := at
			for at < len(text) && digits[text[at]] >= 0 {
				at++
			}
			r.to, n = at, n+at-line
			if at-line < minLine || at == len(text) || text[at] != '\n' && text[at] != '\r' {
				break
			}
			for at < len(text) && isGap(text[at]) {
				at++
			}
			if at == len(text) || digits[text[at]] < 0 {
				break
			}
		}
		if n >= s.r.minDigits && (!v.escaped || !v.copies(r)) || r.to == open.to {
			s.runs = append(s.runs, r)
		}
		i = r.to
	}
	if n := len(s.runs); n > 0 && s.runs[n-1].to == open.to {
		s.runs[n-1].open = true
	} else if open.to >= 0 {
		s.runs = append(s.runs, open)
	}
}

// copies reports whether a run and its surroundings appear unchanged in the upper view.
func (v *view) copies(r run) bool {
	i := sort.Search(len(v.marks), func(i int) bool { return int(v.marks[i].at) >= r.from }) - 1
	if i < 0 || v.marks[i].width > 0 {
		return false
	}
	return i+1 < len(v.marks) && int(v.marks[i+1].at) > r.to || i+1 == len(v.marks) && r.to < len(v.text)
}

func isGap(c byte) bool { return c == '\n' || c == '\r' || c == ' ' || c == '\t' }

// openLine returns the last line of the run that can continue after the text, or a run that ends at
// -1.
func (s *search) openLine(text []byte) run {
	to := len(text)
	if to > 1 && text[to-1] == '=' && s.r.digits[text[to-2]] >= 0 {
		to-- // padding can have two characters
	}
	for to > 0 && isGap(text[to-1]) {
		to--
	}
	from := to
	for from > 0 && s.r.digits[text[from-1]] >= 0 {
		from--
	}
	if from == to || to < len(text) && text[to] != '=' && (to-from < minLine || text[to] == ' ' || text[to] == '\t') {
		return run{to: -1}
	}
	return run{from: from, to: to, open: true}
}

// base64 appends to u the decoded digits at s.places, without the first skip bits. Padding ends at
// pad.
func (s *search) base64(u *view, open bool, skip int, pad int32) {
	n := max(0, 6*len(s.sextets)-skip) / 8
	s.plain = slices.Grow(s.plain[:0], n)[:n]
	i, past := skip/6, skip%6 // a byte begins this many bits after the start of a digit
	for k := range s.plain {
		s.plain[k] = s.sextets[i]<<(2+past) | s.sextets[i+1]>>(4-past)
		if i, past = i+1, past+2; past == 6 {
			i, past = i+1, 0
		}
	}
	s.segments(u, open, func(i int) (start, end int32) {
		first, last := (skip+i*8)/6, (skip+i*8+7)/6
		if last == len(s.places)-1 {
			return s.places[first], pad
		}
		return s.places[first], s.places[last] + 1
	})
}

// hex appends the decoded hexadecimal digits among those at s.places to two views.
func (s *search) hex(views []*view, open bool) {
	text := views[0].up.text
	for i := 0; i < len(s.places); i++ {
		from := i
		for i < len(s.places) {
			if _, ok := hexDigit(text[s.places[i]]); !ok {
				break
			}
			i++
		}
		last := open && i == len(s.places)
		if i-from < 2*s.r.shortest && !last {
			continue
		}
		for odd, u := range views {
			places := s.places[min(from+odd, i):i]
			s.plain = s.plain[:0]
			for k := 0; k+1 < len(places); k += 2 {
				a, _ := hexDigit(text[places[k]])
				b, _ := hexDigit(text[places[k+1]])
				s.plain = append(s.plain, a<<4|b)
			}
			s.segments(u, last, func(i int) (start, end int32) { return places[2*i], places[2*i+1] + 1 })
		}
	}
}

// segments appends to u the parts of s.plain that are text and long enough for a secret, with walls
// between them. place returns the position of the digits of a byte.
func (s *search) segments(u *view, open bool, place func(i int) (start, end int32)) {
	plain := s.plain
	for i := 0; i < len(plain); {
		end := i
		for end < len(plain) {
			if plain[end] < utf8.RuneSelf || s.r.binary {
				end++
				continue
			}
			c, size := utf8.DecodeRune(plain[end:])
			if c == utf8.RuneError && size == 1 {
				if open && !utf8.FullRune(plain[end:]) {
					end = len(plain)
				}
				break
			}
			end += size
		}
		last := open && end == len(plain)
		if end-i >= s.r.shortest || last {
			for ; i < end; i++ {
				start, end := place(i)
				u.unit(int(start), int(end-start), plain[i:i+1])
			}
			if !last {
				_, end := place(i - 1)
				u.unit(int(end-1), 1, []byte{s.r.wall, '\n', s.r.wall})
			}
		}
		i = end + 1
	}
}
