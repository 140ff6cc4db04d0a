package redact

import (
	"bytes"
	"sort"
	"unicode/utf8"

	"github.com/plumb-eval/plumb/internal/text"
)

// view is a text after one more step of decoding or cleaning. Its marks map its bytes back to the
// redacted text.
type view struct {
	up    *view // the view it was made from; nil for the original text
	text  []byte
	marks []mark
	// final means that the text ends here; otherwise more text follows.
	final bool
	// digits means that the view was decoded from base64 or hexadecimal digits. coded means that
	// this view or one above it was.
	digits, coded bool
	// escaped means that the view was made by undoing escapes, so that all unchanged text was
	// already searched in the upper view.
	escaped bool
}

// mark maps the bytes from at, up to the next mark, to the original text. If width is 0, they are a
// copy of the text at from. Otherwise they represent a unit of that width, or are empty.
type mark struct{ at, from, width int32 }

// copied appends the text of the upper view between two places.
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

// add appends a mark, unless it only continues a copy.
func (v *view) add(m mark) {
	if n := len(v.marks); n > 0 && m.width == 0 {
		if last := v.marks[n-1]; last.width == 0 && m.from-last.from == m.at-last.at {
			return
		}
	}
	v.marks = append(v.marks, m)
}

// unit appends the decoded text of a unit of the upper view.
func (v *view) unit(from, width int, plain []byte) {
	start := v.up.start(from)
	v.marks = append(v.marks, mark{int32(len(v.text)), int32(start), int32(v.up.end(from+width) - start)})
	v.text = append(v.text, plain...)
}

// index returns the mark of the byte at a place of v, or -1.
func (v *view) index(at int) int {
	return sort.Search(len(v.marks), func(i int) bool { return int(v.marks[i].at) > at }) - 1
}

// start returns the place in the original text where the byte at a place of v begins.
func (v *view) start(at int) int {
	i := v.index(at)
	if i < 0 {
		return at // v is the original text
	}
	m := v.marks[i]
	if m.width > 0 {
		return int(m.from)
	}
	return at + int(m.from-m.at)
}

// end returns the place in the original text where the byte before a place of v ends.
func (v *view) end(at int) int {
	i := v.index(at - 1)
	if i < 0 {
		return at // v is the original text
	}
	m := v.marks[i]
	if m.width > 0 {
		return int(m.from + m.width)
	}
	return at + int(m.from-m.at)
}

// align moves hold, a place of the original text, to the beginning of the unit of v that it splits.
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

// indent moves hold back over as many digits of v as a wrapped line must have before its end; see
// [search.runs].
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

// strip returns v without invisible characters: without escape sequences for terminals, or only
// without the characters that introduce them; and with line separators kept as white space, or
// without them. It reports whether v has such sequences and separators.
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

// unseen returns the first place from at that [search.strip] must check, or the length of s.
func (r *Redactor) unseen(s []byte, at int) int {
	for at += text.Printable(s[at:]); at < len(s); at += text.Printable(s[at:]) {
		switch c := s[at]; {
		case c == '\n' || c == '\t', c == '\r' && r.spaced && bytes.HasPrefix(s[at+1:], []byte{'\n'}):
			at++ // always white space
		case c < utf8.RuneSelf:
			return at
		default:
			char, size := utf8.DecodeRune(s[at:])
			if ignorable(char) || char == '\u2028' || char == '\u2029' {
				return at
			}
			at += size
		}
	}
	return at
}
