package redact

import (
	"bytes"
	"errors"
	"io"
	"regexp"

	"github.com/plumb-eval/plumb/internal/files"
)

// ErrBinary means that a binary file contains a secret. Removing the secret would corrupt the file.
var ErrBinary = errors.New("it is a binary file that contains secrets")

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
	in, err := files.Open(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	head := make([]byte, 512)
	n, _ := in.ReadAt(head, 0) // the file may be shorter
	if bytes.IndexByte(head[:n], 0) < 0 {
		return copyAll(&writer{redactor: r, to: to}, in)
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
	in, err := files.Open(name)
	if err != nil {
		return false, err
	}
	w := &writer{redactor: r, to: io.Discard, names: &names{}}
	err = errors.Join(copyAll(w, in), in.Close())
	return len(*w.names) > 0, err
}

func copyAll(w *writer, from io.Reader) error {
	_, err := io.Copy(w, from)
	return errors.Join(err, w.Close())
}
