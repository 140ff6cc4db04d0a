package redact

import (
	"bytes"
	"sort"
	"unicode/utf8"
)

// view is a text as it reads after one more step of decoding or cleaning. Marks lead from its bytes back to the text that is
// redacted.
type view struct {
	up    *view // what it was made from; nil for the text that is redacted
	text  []byte
	marks []mark
	// final says that the text ends here; otherwise more is to come.
	final bool
	// digits says that the view was decoded from base64 or hexadecimal digits; coded that it or one that it was made from was.
	digits, coded bool
	// escaped says that it was made by undoing escapes, so that all that is a copy was seen in the upper view.
	escaped bool
}

// mark says where, in the text that is redacted, the bytes from at on, up to the next mark, come from. If width is 0 they are
// a copy of what stands at from. Otherwise they, or nothing, stand for a unit of that width.
type mark struct{ at, from, width int32 }

// copied appends what the upper view has between two places.
func (v *view) copied(from, to int) {
	if from >= to {
		return
	}
	up, shift := v.up, len(v.text)-from
	v.text = append(v.text, up.text[from:to]...)
	if up.up == nil {
		v.add(mark{int32(from + shift), int32(from), 0})
		return
	}
	for i := max(0, up.index(from)); i < len(up.marks) && (int(up.marks[i].at) < to); i++ {
		m := up.marks[i]
		if past := int32(from) - m.at; past > 0 {
			m.at += past
			if m.width == 0 {
				m.from += past
			}
		}
		m.at += int32(shift)
		v.add(m)
	}
}

// add appends a mark, unless it only goes on with a copy.
func (v *view) add(m mark) {
	if n := len(v.marks); n > 0 && m.width == 0 {
		if last := v.marks[n-1]; last.width == 0 && m.from-last.from == m.at-last.at {
			return
		}
	}
	v.marks = append(v.marks, m)
}

// unit appends what a unit of the upper view stands for.
func (v *view) unit(from, width int, plain []byte) {
	start := v.up.start(from)
	v.marks = append(v.marks, mark{int32(len(v.text)), int32(start), int32(v.up.end(from+width) - start)})
	v.text = append(v.text, plain...)
}

// index returns which mark holds for the byte at a place of v, or -1.
func (v *view) index(at int) int {
	return sort.Search(len(v.marks), func(i int) bool { return int(v.marks[i].at) > at }) - 1
}

// start returns where, in the text that is redacted, the byte at a place of v begins.
func (v *view) start(at int) int {
	i := v.index(at)
	if i < 0 {
		return at // the text itself
	}
	m := v.marks[i]
	if m.width > 0 {
		return int(m.from)
	}
	return at + int(m.from-m.at)
}

// end returns where, in the text that is redacted, the byte before a place of v ends.
func (v *view) end(at int) int {
	i := v.index(at - 1)
	if i < 0 {
		return at // the text itself
	}
	m := v.marks[i]
	if m.width > 0 {
		return int(m.from + m.width)
	}
	return at + int(m.from-m.at)
}

// align moves hold, a place of the text that is redacted, to the beginning of the unit of v that it divides.
func (v *view) align(hold int) int {
	if v.digits {
		return hold
	}
	i := sort.Search(len(v.marks), func(i int) bool { return int(v.marks[i].from) >= hold }) - 1
	if i >= 0 && hold < int(v.marks[i].from+v.marks[i].width) {
		return int(v.marks[i].from)
	}
	return hold
}

// indent moves hold back over as many digits of v as a wrapped line must have before its end; see [search.runs].
func (v *view) indent(hold int, digits *[256]int8) int {
	at := sort.Search(len(v.text), func(i int) bool { return v.start(i) >= hold })
	n := at
	for n > 0 && at-n < minLine && digits[v.text[n-1]] >= 0 {
		n--
	}
	if n == at {
		return hold
	}
	return min(hold, v.start(n))
}

// strip returns v without what is not seen: without escape sequences for terminals, or only without the characters that
// introduce them; and with line separators kept as white space, or without them. It reports whether v has such sequences
// and separators.
func (s *search) strip(v *view, sequences, lines bool) (u *view, hasSequences, hasLines bool) {
	u = s.view(v)
	last, at := 0, 0
	for {
		at = s.r.unseen(v.text, at)
		if at == len(v.text) {
			break
		}
		begin, kept := at, false
		for at < len(v.text) && !kept {
			c, size := utf8.DecodeRune(v.text[at:])
			width := size
			switch {
			case c == utf8.RuneError && !v.final && !utf8.FullRune(v.text[at:]):
				width = partial
			case c == '\r' || c == '\u2028' || c == '\u2029':
				hasLines = true
				kept = !lines
			case c == 0x1b || c >= 0x80 && c < 0xa0:
				hasSequences = true
				if sequences {
					width = sequence(v.text[at:], v.final)
				}
			default:
				kept = !ignorable(c)
			}
			if width == partial {
				s.tear(v, at)
				u.copied(last, begin)
				if begin < at {
					u.unit(begin, at-begin, nil)
				}
				return u, hasSequences, hasLines
			}
			if !kept {
				at += width
			}
		}
		if begin < at {
			u.copied(last, begin)
			u.unit(begin, at-begin, nil)
			last = at
		}
		if kept {
			_, size := utf8.DecodeRune(v.text[at:])
			at += size
		}
	}
	u.copied(last, len(v.text))
	return u, hasSequences, hasLines
}

// unseen returns the first place from at on that [search.strip] has to look at, or the length of text.
func (r *Redactor) unseen(text []byte, at int) int {
	for ; at < len(text); at++ {
		c := text[at]
		if c-' ' < 0x7f-' ' || c == '\n' || c == '\t' {
			continue
		}
		if c == '\r' && r.spaced && bytes.HasPrefix(text[at+1:], []byte{'\n'}) {
			continue // white space in any case
		}
		if c < utf8.RuneSelf {
			return at
		}
		char, size := utf8.DecodeRune(text[at:])
		if ignorable(char) || char == '\u2028' || char == '\u2029' {
			return at
		}
		at += size - 1
	}
	return at
}
