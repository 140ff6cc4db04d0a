package redact

import "io"

const (
	// block is the amount of text that is searched at once.
	block = 1 << 18
	// maxUnseen limits the invisible characters between those of a secret that are held back.
	maxUnseen = 1 << 16
	// maxHeld limits the text that a writer holds back. Only text that consists of overlapping
	// secrets, or that hides invisible characters in base64, can reach it.
	maxHeld = 1 << 20
)

// Writer returns a writer that passes its input on to w, without the secrets. It finds secrets that
// are split over several calls of Write: its output is that of [Redactor.Bytes] for the whole
// input. For that, it holds back the end of the input while that can be the beginning of a secret.
// Close writes the rest, and does not close w. The writer is not safe for concurrent use.
//
// It drops more than 64 KiB of invisible characters, or of white space, between the characters of a
// possible secret, so that they cannot split a secret.
func (r *Redactor) Writer(w io.Writer) io.WriteCloser {
	return &writer{redactor: r, to: w}
}

type writer struct {
	redactor *Redactor
	to       io.Writer
	names    *names // collects the names of the found secrets; nil collects none
	held     []byte
	looked   int // the part of held that was searched
	out      []byte
}

func (w *writer) Write(b []byte) (int, error) {
	if !w.redactor.Hides() {
		return w.to.Write(b)
	}
	for rest := b; len(rest) > 0; {
		n := min(len(rest), block)
		w.held = append(w.held, rest[:n]...)
		rest = rest[n:]
		// Searching the held text again is only worth it with enough new text.
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

// flush writes the text that cannot change any more; with final, all of it.
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
			w.names.add(m.pattern.name)
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
