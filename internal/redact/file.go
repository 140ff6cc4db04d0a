package redact

import (
	"bytes"
	"errors"
	"io"
	"os"
	"regexp"
)

// ErrBinary means that a binary file contains a secret. Removing the secret would corrupt the file.
var ErrBinary = errors.New("it is a binary file that contains secrets")

var errDiffers = errors.New("it differs")

// FileName returns a path without the secrets, with characters that are valid on every system.
func (r *Redactor) FileName(path string) string {
	clean := r.String(path)
	if clean == path {
		return path
	}
	return regexp.MustCompile(`\[redacted:([^]]*)]`).ReplaceAllString(clean, "redacted-$1")
}

// CopyFile copies a file to to, without the secrets. It returns [ErrBinary] for a binary file with
// secrets.
func (r *Redactor) CopyFile(to io.Writer, name string) (err error) {
	in, err := os.Open(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	head := make([]byte, 512)
	n, _ := in.ReadAt(head, 0) // the file may be shorter
	if bytes.IndexByte(head[:n], 0) < 0 {
		return r.copy(to, in)
	}
	found, err := r.InFile(name)
	if err == nil && found {
		err = ErrBinary
	}
	if err != nil {
		return err
	}
	_, err = io.Copy(to, in)
	return err
}

// InFile reports whether a file contains secrets.
func (r *Redactor) InFile(name string) (found bool, err error) {
	var in [2]*os.File
	for i := range in {
		if in[i], err = os.Open(name); err != nil {
			return false, err
		}
		defer in[i].Close()
	}
	err = r.copy(&comparer{with: in[0]}, in[1])
	if errors.Is(err, errDiffers) {
		return true, nil
	}
	return false, err
}

func (r *Redactor) copy(to io.Writer, from io.Reader) error {
	w := r.Writer(to)
	_, err := io.Copy(w, from)
	return errors.Join(err, w.Close())
}

// comparer returns errDiffers when the written bytes differ from those of another reader.
type comparer struct {
	with io.Reader
	buf  []byte
}

func (c *comparer) Write(b []byte) (int, error) {
	if cap(c.buf) < len(b) {
		c.buf = make([]byte, len(b))
	}
	if n, err := io.ReadFull(c.with, c.buf[:len(b)]); err != nil || !bytes.Equal(c.buf[:n], b) {
		return 0, errDiffers
	}
	return len(b), nil
}
