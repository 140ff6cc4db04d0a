package redact

import "io"

// maxHeld bounds what a writer holds back. Only text that is nothing but overlapping secrets can reach it.
const maxHeld = 1 << 20

// Writer returns a writer that passes on what is written to it, without the secrets, to w. It finds them across the borders
// of what single calls of Write get: its output is that of [Redactor.Bytes] for all of the input. To that end it holds
// back the end of the input as long as that can be the beginning of a secret; Close writes it, and does not close w.
// It is not safe for concurrent use.
func (r *Redactor) Writer(w io.Writer) io.WriteCloser {
	return &writer{redactor: r, to: w}
}

type writer struct {
	redactor *Redactor
	to       io.Writer
	held     []byte
	out      []byte
}

func (w *writer) Write(b []byte) (int, error) {
	if w.redactor.idle() {
		return w.to.Write(b)
	}
	w.held = append(w.held, b...)
	if err := w.flush(false); err != nil {
		return 0, err
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
	found, hold := w.redactor.find(w.held, final)
	if len(w.held)-hold > maxHeld {
		found, hold = w.redactor.find(w.held, true)
	}
	for len(found) > 0 && found[len(found)-1].end > hold {
		found = found[:len(found)-1]
	}
	if hold == 0 {
		return nil
	}
	w.out = replace(w.out[:0], w.held[:hold], found)
	w.held = append(w.held[:0], w.held[hold:]...)
	_, err := w.to.Write(w.out)
	return err
}
