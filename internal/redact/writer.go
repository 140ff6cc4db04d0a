package redact

import "io"

const (
	// block is how much text is looked at in one go.
	block = 1 << 18
	// maxUnseen bounds what is held back of characters that are not seen, between those of a secret.
	maxUnseen = 1 << 16
	// maxHeld bounds what a writer holds back. Only text that is nothing but overlapping secrets, or that hides unseen
	// characters in base64, can reach it.
	maxHeld = 1 << 20
)

// Writer returns a writer that passes on what is written to it, without the secrets, to w. It finds them across the borders
// of what single calls of Write get: its output is that of [Redactor.Bytes] for all of the input. To that end it holds
// back the end of the input as long as that can be the beginning of a secret; Close writes it, and does not close w.
// It is not safe for concurrent use.
//
// More than 64 KiB of characters that are not seen, or of white space, between those of what may be a secret are
// dropped, so that a secret cannot be driven apart.
func (r *Redactor) Writer(w io.Writer) io.WriteCloser {
	return &writer{redactor: r, to: w}
}

type writer struct {
	redactor *Redactor
	to       io.Writer
	names    map[string]struct{} // if not nil, gets the names of what is found
	held     []byte
	looked   int // how much of held was looked at
	out      []byte
}

func (w *writer) Write(b []byte) (int, error) {
	if w.redactor.idle() {
		return w.to.Write(b)
	}
	for rest := b; len(rest) > 0; {
		n := min(len(rest), block)
		w.held = append(w.held, rest[:n]...)
		rest = rest[n:]
		// Looking again at what is held back pays only with enough that is new.
		if len(w.held)-w.looked < w.looked/4-maxUnseen/64 {
			continue
		}
		if err := w.flush(false); err != nil {
			return 0, err
		}
	}
	return len(b), nil
}

func (w *writer) Close() error {
	if len(w.held) == 0 {
		return nil
	}
	return w.flush(true)
}

// flush writes what can be written; if final, that is all.
func (w *writer) flush(final bool) error {
	s := w.redactor.find(w.held, final)
	if len(w.held)-s.hold > maxHeld {
		s.done()
		s = w.redactor.find(w.held, true)
	}
	found, hold := s.found, s.hold
	for len(found) > 0 && found[len(found)-1].end > hold {
		found = found[:len(found)-1]
	}
	for _, m := range found {
		if w.names != nil {
			w.names[m.pattern.name] = struct{}{}
		}
	}
	w.out = replace(w.out[:0], w.held[:hold], found)
	w.held = append(w.held[:0], w.held[hold:]...)
	if late := s.lag; !final && late.end > hold && s.torn-late.end > maxUnseen {
		from := late.end - hold
		if late.blank {
			w.held[from] = ' '
			from++
		}
		w.held = append(w.held[:from], w.held[s.torn-hold:]...)
	}
	w.looked = len(w.held)
	s.done()
	if len(w.out) == 0 {
		return nil
	}
	_, err := w.to.Write(w.out)
	return err
}

// all passes text through w.
func (w *writer) all(text []byte) {
	_, _ = w.Write(text) // memory takes everything
	_ = w.Close()
}
