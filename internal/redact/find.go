package redact

import (
	"bytes"
	"cmp"
	"hash/maphash"
	"slices"
)

// maxCodes is the number of nested base64 or hexadecimal encodings that are undone.
const maxCodes = 2

// search finds the secrets in one text. It decodes the text in every possible way, and looks for
// the patterns in each of these views.
type search struct {
	r     *Redactor
	views []*view // the views in use; the first is the text itself
	spare []*view
	found []match
	seen  []known
	// hold is the place before which more text changes nothing.
	hold int
	// torn is the start of the first incomplete unit, except those of decoded digits.
	torn int
	// lag describes the secret that may begin at hold: the end of its visible part, and whether it
	// ends with a blank.
	lag lag
	// The fields below are scratch memory.
	runs           []run
	places         []int32
	sextets, plain []byte
}

// lag is the position of an unfinished secret in the redacted text.
type lag struct {
	start, end int
	blank      bool
}

// known is an explored view: a hash of its text, and its depth.
type known struct {
	view    *view
	hash    uint64
	escapes int
}

// match is the position of a found secret.
type match struct {
	start, end int
	pattern    *pattern
}

// find returns a search that found all secrets in text, in order and without overlaps. If the text
// is not final, more text follows, and cannot change the result before hold. The caller must call
// done.
func (r *Redactor) find(text []byte, final bool) *search {
	s, ok := r.searches.Get().(*search)
	if !ok {
		s = &search{r: r}
	}
	s.hold, s.torn = len(text), len(text)
	root := s.view(nil)
	root.text, root.final = text, final
	s.explore(root, 0, 0)
	if len(s.found) > 0 {
		s.found = merge(s.found)
	}
	if !final {
		s.settle()
	}
	return s
}

// done returns s to the pool.
func (s *search) done() {
	s.views[0].text = nil // it belongs to the caller
	s.spare = append(s.spare, s.views...)
	s.views, s.found, s.seen, s.lag = s.views[:0], s.found[:0], s.seen[:0], lag{}
	s.r.searches.Put(s)
}

// view returns an empty view below up.
func (s *search) view(up *view) *view {
	var v *view
	if n := len(s.spare); n > 0 {
		v, s.spare = s.spare[n-1], s.spare[:n-1]
	} else {
		v = &view{}
	}
	*v = view{up: up, text: v.text[:0], marks: v.marks[:0]}
	if up != nil {
		v.final, v.coded = up.final, up.coded
	}
	s.views = append(s.views, v)
	return v
}

// known reports whether an equal view, of the same places, was explored with at least as many
// remaining escapings.
func (s *search) known(v *view, escapes int) bool {
	if v.coded {
		return false
	}
	h := maphash.Bytes(s.r.seed, v.text)
	for _, k := range s.seen {
		if k.hash == h && k.escapes <= escapes && k.view.final == v.final && slices.Equal(k.view.marks, v.marks) {
			return true
		}
	}
	s.seen = append(s.seen, known{v, h, escapes})
	return false
}

// explore looks for secrets in v, at the given depth of escapings and encodings, and in all views
// derived from it.
func (s *search) explore(v *view, escapes, codes int) {
	s.literal(v)
	s.descend(v, escapes, codes)
	if s.r.unseen(v.text, 0) == len(v.text) {
		return
	}
	var modes [4]bool // with sequences, with line separators
	modes[0] = true
	for mode := range modes {
		if !modes[mode] {
			continue
		}
		u, sequences, lines := s.strip(v, mode&1 > 0, mode&2 > 0 || !s.r.spaced)
		if mode == 0 {
			modes[1], modes[2] = sequences, lines && s.r.spaced
			modes[3] = modes[1] && modes[2]
		}
		if !s.known(u, escapes) {
			s.literal(u)
			s.descend(u, escapes, codes)
		}
	}
}

// descend explores the views that can be decoded from v.
func (s *search) descend(v *view, escapes, codes int) {
	if escapes < levels {
		for e := range escapings {
			u, unclear := s.unescape(v, e, false)
			if u != nil && !s.known(u, escapes+1) {
				s.explore(u, escapes+1, codes)
			}
			if !unclear {
				continue
			}
			if u, _ := s.unescape(v, e, true); u != nil && !s.known(u, escapes+1) {
				s.explore(u, escapes+1, codes)
			}
		}
	}
	if codes < maxCodes {
		s.decode(v, escapes, codes)
	}
}

// literal finds the patterns in v. It looks at the last two bytes of a window: if no pattern has
// them there, it moves the window to the next possible place.
func (s *search) literal(v *view) {
	r, text := s.r, v.text
	for i := r.window - 1; i < len(text); {
		h := hash(text[i-1], text[i])
		if skip := int(r.shift[h]); skip > 0 {
			i += skip
			continue
		}
		for _, id := range r.bucket[h] {
			s.compare(v, &r.patterns[id], i-r.window+1)
		}
		i++
	}
	for _, id := range r.loose {
		p := &r.patterns[id]
		word := p.text[p.anchor : p.anchor+p.word]
		for at := 0; ; at++ {
			n := bytes.Index(text[at:], word)
			if n < 0 {
				break
			}
			at += n
			s.compare(v, p, at)
		}
	}
	if !v.final {
		s.unfinished(v)
	}
}

// compare adds a match if v contains p with its longest word at a place.
func (s *search) compare(v *view, p *pattern, at int) {
	end, ok := p.forward(p.anchor, v.text[at:])
	if !ok || end == partial {
		return
	}
	start, ok := p.backward(p.anchor, v.text[:at])
	if !ok {
		return
	}
	end += at
	s.found = append(s.found, match{v.start(start), v.end(end), p})
	if v.coded && !v.final && end == len(v.text) {
		s.wait(v.start(start)) // padding can follow
	}
}

// unfinished finds the first place of v that could be the beginning of a secret.
func (s *search) unfinished(v *view) {
	r, text := s.r, v.text
	from := len(text)
	for n := 1; from > 0 && n < r.longest; n++ {
		from--
		if r.spaced { // count a run of white space as one character
			from = min(from, len(bytes.TrimRightFunc(text[:from+1], isBlank)))
		}
	}
	for at := from; at < len(text); at++ {
		for _, id := range r.starts[text[at]] {
			p := &r.patterns[id]
			if at+1 < len(text) && p.text[1] != ' ' && !p.equal(1, text[at+1]) {
				continue // the usual case
			}
			if end, ok := p.forward(0, text[at:]); !ok || end != partial {
				continue
			}
			start, end := v.start(at), len(text)
			if r.spaced {
				end = at + len(bytes.TrimRightFunc(text[at:], isBlank))
			}
			if !v.coded && (s.lag.end == 0 || start < s.lag.start) {
				s.lag = lag{start, v.end(end), end < len(text)}
			}
			s.wait(start)
			return
		}
	}
}

// wait holds back the text from the given place.
func (s *search) wait(at int) { s.hold = min(s.hold, at) }

// tear records that the unit of v at a place is incomplete.
func (s *search) tear(v *view, at int) {
	place := v.start(at)
	if !v.coded {
		s.torn = min(s.torn, place)
	}
	s.wait(place)
}

// settle moves hold back to a place where the text can be split so that both parts are redacted
// like the whole.
func (s *search) settle() {
	for before := -1; s.hold != before; {
		s.indent()
		before = s.hold
		for _, m := range slices.Backward(s.found) {
			if m.start < s.hold && s.hold < m.end {
				s.hold = m.start
			}
		}
		for _, v := range s.views {
			s.hold = v.align(s.hold)
		}
	}
}

// indent moves hold back so that runs of digits that continue after it are still found.
func (s *search) indent() {
	to := s.hold
	for _, v := range s.views {
		to = min(to, v.indent(s.hold, &s.r.digits))
	}
	s.hold = to
}

// merge sorts the matches and joins overlapping ones into one match of the longest.
func merge(found []match) []match {
	slices.SortFunc(found, func(a, b match) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end))
	})
	joined := found[:1]
	longest := found[0].end - found[0].start
	for _, m := range found[1:] {
		last := &joined[len(joined)-1]
		size := m.end - m.start
		if m.start >= last.end {
			joined, longest = append(joined, m), size
			continue
		}
		last.end = max(last.end, m.end)
		if size > longest {
			last.pattern, longest = m.pattern, size
		}
	}
	return joined
}
