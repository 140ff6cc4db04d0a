package cli

import (
	"io"
	"sync"
	"time"

	"github.com/plumb-eval/plumb/internal/redact"
)

// masked is standard output or standard error without secrets, for text that no job has redacted, and
// without what would control a terminal. It
// removes the secrets that the command knows when it writes, and what has the form of a well-known
// kind of key. It is safe for concurrent use.
type masked struct {
	to *shown
	// secrets returns the redactor of the command.
	secrets func() *redact.Redactor

	mu      sync.Mutex
	using   *redact.Redactor
	first   io.WriteCloser // removes the secrets
	second  io.WriteCloser // removes keys, and writes to to
	waiting *time.Timer
	err     error
}

func newMasked(to io.Writer, secrets func() *redact.Redactor) *masked {
	return &masked{to: &shown{Writer: to}, secrets: secrets}
}

func (m *masked) Write(b []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r := m.secrets(); r != m.using || m.first == nil {
		m.flush()
		m.using, m.second = r, redact.KeyMask(m.to)
		m.first = r.Writer(m.second)
	}
	_, err := m.first.Write(b)
	// Text that can be the beginning of a secret is held back, but not for long: it can be a prompt.
	const most = 50 * time.Millisecond
	if m.waiting == nil {
		m.waiting = time.AfterFunc(most, func() { _ = m.Close() })
	} else {
		m.waiting.Reset(most)
	}
	if err == nil {
		err = m.err
	}
	if err != nil {
		return 0, err
	}
	return len(b), nil
}

// raw returns the same output for text that has no secrets.
func (m *masked) raw() io.Writer { return rawOutput{m, m.to} }

// styled returns the same output for text that has no secrets, and that may control a terminal.
func (m *masked) styled() io.Writer { return rawOutput{m, m.to.Writer} }

type rawOutput struct {
	m  *masked
	to io.Writer
}

func (o rawOutput) Write(b []byte) (int, error) {
	o.m.mu.Lock()
	defer o.m.mu.Unlock()
	o.m.flush() // in the order of the calls
	return o.to.Write(b)
}

// Close writes the text that was held back.
func (m *masked) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.flush()
	m.to.flush()
	return m.err
}

func (m *masked) flush() {
	if m.first == nil {
		return
	}
	for _, w := range []io.Closer{m.first, m.second} {
		if err := w.Close(); err != nil && m.err == nil {
			m.err = err
		}
	}
}
