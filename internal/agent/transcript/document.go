package transcript

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// EachValue streams one JSON document from a file: it goes down into the objects and arrays whose paths are in descend and
// calls fn with every value that it finds there, whole. Paths are keys joined by dots, with [] for the elements of an array:
// "messages[].parts[]". The value is only valid during the call; its strings are cut as [eachLine] cuts them, so that
// memory stays bounded whatever the size of the document. What comes before the first brace is skipped. A document that
// ends too early, or is none from somewhere on, is an [io.ErrUnexpectedEOF] after all that was in it.
func EachValue(path string, descend []string, fn func(path string, value []byte) error) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("read the transcript: %w", err)
	}
	d := document{in: bufio.NewReaderSize(f, 64<<10), descend: descend, fn: fn}
	if err = d.begin(); err == nil {
		err = d.value("")
	}
	return errors.Join(err, f.Close())
}

// document reads one JSON document. It trusts the document to be JSON as far as it has to, to find where values end; whoever
// gets the values checks them.
type document struct {
	in      *bufio.Reader
	descend []string
	fn      func(path string, value []byte) error
	cut     cutter
}

// begin skips what comes before the document.
func (d *document) begin() error {
	for {
		b, err := d.in.ReadByte()
		if err != nil {
			return ended(err)
		}
		if b == '{' {
			return d.in.UnreadByte()
		}
	}
}

// value reads the value at path.
func (d *document) value(path string) error {
	b, err := d.next()
	if err != nil {
		return err
	}
	if b != '{' && b != '[' || !slices.Contains(d.descend, path) {
		return d.whole(path, b)
	}
	for first := true; ; first = false {
		c, err := d.next()
		switch {
		case err != nil:
			return err
		case c == '}' || c == ']':
			return nil
		case c == ',' && !first:
			if _, err = d.next(); err != nil {
				return err
			}
		}
		if err := d.in.UnreadByte(); err != nil {
			return fmt.Errorf("read the transcript: %w", err)
		}
		member := path + "[]"
		if b == '{' {
			key, err := d.key()
			if err != nil {
				return err
			}
			member = key
			if path != "" {
				member = path + "." + key
			}
		}
		if err := d.value(member); err != nil {
			return err
		}
	}
}

// key reads the key of a member and the colon after it.
func (d *document) key() (string, error) {
	var key []byte
	b, err := d.next()
	if err == nil && b != '"' {
		err = io.EOF
	}
	for err == nil {
		if b, err = d.in.ReadByte(); err == nil {
			if b == '"' {
				break
			}
			if len(key) < 256 {
				key = append(key, b)
			}
		}
	}
	if err == nil {
		if b, err = d.next(); err == nil && b != ':' {
			err = io.EOF
		}
	}
	return string(key), ended(err)
}

// whole reads a value that is not gone down into, and hands it over.
func (d *document) whole(path string, begin byte) error {
	if err := d.in.UnreadByte(); err != nil {
		return fmt.Errorf("read the transcript: %w", err)
	}
	scan := valueEnd{scalar: begin != '{' && begin != '[' && begin != '"'}
	for {
		if _, err := d.in.Peek(1); err != nil {
			return ended(err)
		}
		piece, err := d.in.Peek(d.in.Buffered())
		if err != nil {
			return ended(err)
		}
		n, done := scan.find(piece)
		d.cut.feed(piece[:n])
		if _, err := d.in.Discard(n); err != nil {
			return ended(err)
		}
		if done {
			return d.fn(path, d.cut.line())
		}
	}
}

// next returns the next byte that is not white space.
func (d *document) next() (byte, error) {
	for {
		b, err := d.in.ReadByte()
		if err != nil {
			return 0, ended(err)
		}
		if b != ' ' && b != '\n' && b != '\r' && b != '\t' {
			return b, nil
		}
	}
}

// ended makes the end of a document in its middle an [io.ErrUnexpectedEOF].
func ended(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// valueEnd finds where a JSON value ends that comes in pieces.
type valueEnd struct {
	scalar  bool // neither an object, nor an array, nor a string
	depth   int
	quoted  bool
	escaped bool
}

// find returns how much of piece belongs to the value, and whether the value ends there.
func (v *valueEnd) find(piece []byte) (int, bool) {
	quote := -1 // the next quote, as far as it is known
	for i := 0; i < len(piece); i++ {
		switch b := piece[i]; {
		case v.escaped:
			v.escaped = false
		case v.quoted:
			if quote < i {
				quote = len(piece)
				if n := bytes.IndexByte(piece[i:], '"'); n >= 0 {
					quote = i + n
				}
			}
			if n := bytes.IndexByte(piece[i:quote], '\\'); n >= 0 {
				i += n
				v.escaped = true
				continue
			}
			if i = quote; i == len(piece) {
				return i, false
			}
			v.quoted = false
			if v.depth == 0 {
				return i + 1, true
			}
		case b == '"':
			v.quoted = true
		case b == '{' || b == '[':
			v.depth++
		case b == '}' || b == ']':
			if v.scalar {
				return i, true
			}
			if v.depth--; v.depth <= 0 {
				return i + 1, true
			}
		case v.scalar && (b == ',' || b == ' ' || b == '\n' || b == '\r' || b == '\t'):
			return i, true
		}
	}
	return len(piece), false
}

// SessionFiles returns the files below dir that match, in lexical order; none where there is not a directory.
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
