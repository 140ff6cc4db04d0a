package transcript

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"unicode/utf8"

	"github.com/plumb-eval/plumb/internal/files"
)

// These bounds keep the memory for reading independent of what the agent printed.
const (
	// MaxString is the number of bytes that are read of one JSON string.
	MaxString = 256 << 10
	// The strings of a line that is longer than crowdedLine are cut to shortString bytes. A line
	// that is longer than maxLine even so is cut there, and is then not a record.
	crowdedLine = 2 << 20
	shortString = 1 << 10
	maxLine     = 4 << 20
)

// cutMark ends each text that was cut.
const cutMark = "… [cut]"

// ErrEnough ends the reading of a file without an error.
var ErrEnough = errors.New("enough is read")

// EachLine calls fn with each line of a file that is not blank, without the line end. A line is
// only valid during the call. JSON strings longer than [MaxString] are cut during reading and then
// end in cutMark: valid JSON stays valid, and memory is bounded. [ErrEnough] ends the reading.
func EachLine(path string, fn func(line []byte) error) error {
	f, err := files.OpenStream(path)
	if err != nil {
		return fmt.Errorf("read the transcript: %w", err)
	}
	size := int64(MaxString)
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
		size = min(size, info.Size()+1)
	}
	if err = readLines(bufio.NewReaderSize(f, int(size)), fn); errors.Is(err, ErrEnough) {
		err = nil
	}
	return errors.Join(err, f.Close())
}

// readLines is [EachLine] for a reader. It returns [ErrEnough]. The buffer holds the longest line that is not cut.
func readLines(in *bufio.Reader, fn func(line []byte) error) error {
	var long cutter
	for {
		line, err := in.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			long.feed(line)
			continue
		}
		if long.begun {
			long.feed(line)
			line = long.line()
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			if err := fn(line); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the transcript: %w", err)
		}
	}
}

// cutter copies JSON that arrives in pieces, and cuts long strings. It only tracks where strings
// begin and end, so that it never has to hold more than it keeps.
type cutter struct {
	out    []byte
	kept   int // bytes of the line or value
	begun  bool
	quoted bool // inside a string
	room   int  // bytes of the string that may still be kept
	cut    bool // the string is full: drop the rest of it
	escape int  // bytes of an escape sequence to come; -1 right after its backslash
	limit  int  // bytes of a string; 0 means MaxString
}

// line returns the kept bytes and prepares c for the next line.
func (c *cutter) line() []byte {
	line := c.out
	*c = cutter{out: c.out[:0], limit: c.limit}
	if cap(line) > 2*MaxString {
		c.out = nil
	}
	return line
}

func (c *cutter) feed(piece []byte) {
	c.begun = true
	for len(piece) > 0 {
		switch {
		case !c.quoted:
			i := bytes.IndexByte(piece, '"')
			if i < 0 {
				c.keep(piece)
				return
			}
			c.keep(piece[:i+1])
			piece = piece[i+1:]
			c.quoted, c.cut, c.room = true, false, cmp.Or(c.limit, MaxString)
			if c.kept > crowdedLine {
				c.room = min(c.room, shortString)
			}
		case c.escape != 0:
			n := 1
			if c.escape < 0 {
				c.escape = 1
				if piece[0] == 'u' {
					c.escape = len(`u0000`)
					c.room -= len(`0000`)
				}
			} else {
				n = min(c.escape, len(piece))
			}
			if !c.cut {
				c.keep(piece[:n])
			}
			c.escape -= n
			piece = piece[n:]
		default:
			piece = piece[c.unescaped(piece):]
		}
	}
}

// unescaped takes the part of a string before the next quote or backslash, and that byte. It
// returns the length of both.
func (c *cutter) unescaped(piece []byte) int {
	end := 0
	for end < len(piece) && piece[end] != '"' && piece[end] != '\\' {
		end++
	}
	if run := piece[:end]; !c.cut {
		if len(run) > c.room {
			c.keep(run[:max(0, c.room)])
			c.truncate()
		} else {
			c.keep(run)
			c.room -= len(run)
		}
	}
	if end == len(piece) {
		return end
	}
	if piece[end] == '"' {
		c.quoted = false
		c.keep(piece[end : end+1])
		return end + 1
	}
	if !c.cut && c.room < len(`\n`) {
		c.truncate()
	}
	if !c.cut {
		c.keep(piece[end : end+1])
		c.room -= len(`\n`)
	}
	c.escape = -1
	return end + 1
}

// truncate ends the kept part of a string, after a whole character.
func (c *cutter) truncate() {
	c.cut = true
	for range utf8.UTFMax - 1 {
		if r, n := utf8.DecodeLastRune(c.out); r != utf8.RuneError || n != 1 {
			break
		}
		c.out = c.out[:len(c.out)-1]
	}
	c.keep([]byte(cutMark))
}

func (c *cutter) keep(b []byte) {
	b = b[:max(0, min(len(b), maxLine-c.kept))]
	c.kept += len(b)
	c.out = append(c.out, b...)
}
