package transcript

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/plumb-eval/plumb/internal/files"
)

// EachValue streams one JSON document from a file. It descends into the objects and arrays whose
// paths are in descend, and calls fn with each other value that it finds there. Paths are keys
// joined by dots, with [] for the elements of an array: "messages[].parts[]". A value is only valid
// during the call. Its long strings are cut as in [EachLine]. Text before the first brace is
// skipped. The error is [io.ErrUnexpectedEOF] for a document that ends too early or is not JSON
// from some point on; fn has then received all values before that point. [ErrEnough] ends the
// reading.
func EachValue(path string, descend []string, fn func(path string, value []byte) error) error {
	f, err := files.OpenStream(path)
	if err != nil {
		return fmt.Errorf("read the transcript: %w", err)
	}
	in := bufio.NewReaderSize(f, 64<<10)
	for b := byte(0); b != '{' && err == nil; {
		b, err = in.ReadByte()
	}
	if err == nil {
		err = in.UnreadByte()
	}
	if err == nil {
		cut := &cutReader{in: in}
		d := document{
			jsontext.NewDecoder(cut, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)),
			cut, descend, fn,
		}
		err = d.value("")
	} else {
		err = brokenOff(err)
	}
	if errors.Is(err, ErrEnough) {
		err = nil
	}
	return errors.Join(err, f.Close())
}

// document reads one JSON document.
type document struct {
	*jsontext.Decoder
	cut     *cutReader
	descend []string
	fn      func(path string, value []byte) error
}

// value reads the value at path.
func (d *document) value(path string) error {
	kind := d.PeekKind()
	if kind != '{' && kind != '[' || !slices.Contains(d.descend, path) {
		d.cut.kept = 0
		value, err := d.ReadValue()
		if err != nil {
			return brokenOff(err)
		}
		return d.fn(path, value)
	}
	if _, err := d.ReadToken(); err != nil {
		return brokenOff(err)
	}
	for {
		if end := d.PeekKind(); end == '}' || end == ']' {
			_, err := d.ReadToken()
			return brokenOff(err)
		}
		member := path + "[]"
		if kind == '{' {
			key, err := d.ReadToken()
			if err != nil {
				return brokenOff(err)
			}
			member = strings.TrimPrefix(path+"."+key.String(), ".")
		}
		if err := d.value(member); err != nil {
			return err
		}
	}
}

// brokenOff returns [io.ErrUnexpectedEOF] for a document that ends too early or is not JSON.
func brokenOff(err error) error {
	_, syntax := errors.AsType[*jsontext.SyntacticError](err)
	switch {
	case err == nil:
		return nil
	case syntax || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return io.ErrUnexpectedEOF
	default:
		return fmt.Errorf("read the transcript: %w", err)
	}
}

// cutReader passes a document on with its long strings cut.
type cutReader struct {
	in io.Reader
	cutter
	buf   [32 << 10]byte
	ready []byte // the part of out that may be passed on
	given int    // bytes of out that were passed on
	err   error
}

func (c *cutReader) Read(p []byte) (int, error) {
	for len(c.ready) == 0 && c.err == nil {
		c.out = slices.Delete(c.out, 0, c.given)
		var n int
		n, c.err = c.in.Read(c.buf[:])
		c.feed(c.buf[:n])
		if c.given = len(c.out); c.err == nil {
			c.given = max(0, c.given-utf8.UTFMax) // cut may remove a part of a character at the end
		}
		c.ready = c.out[:c.given]
	}
	n := copy(p, c.ready)
	c.ready = c.ready[n:]
	if n == 0 {
		return 0, c.err
	}
	return n, nil
}

// SessionFiles returns the files below dir that match, in lexical order. A directory that does not
// exist has none.
func SessionFiles(dir string, match func(path string) bool) ([]string, error) {
	if dir == "" {
		return nil, nil
	}
	var paths []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return fmt.Errorf("search the agent's session files: %w", err)
		case d.Type().IsRegular() && match(path):
			paths = append(paths, path)
		}
		return nil
	})
	return paths, err
}
