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
)

// The bounds that keep the memory of reading a transcript independent of what the agent printed.
const (
	// MaxString is how many bytes of one JSON string are read.
	MaxString = 256 << 10
	// crowdedLine is the length from which on the strings of a line are cut to shortString; what is longer than maxLine
	// even so is cut there, and no record any more.
	crowdedLine = 2 << 20
	shortString = 1 << 10
	maxLine     = 4 << 20
)

// cutMark ends every text that was cut short.
const cutMark = "… [cut]"

// EachLine calls fn with each line of a file that is not blank, without its line end; a last line without one counts. The
// line is only valid during the call. JSON strings longer than maxString are cut while reading, and end in cutMark then:
// valid JSON stays valid, and memory stays bounded whatever an agent prints.
func EachLine(path string, fn func(line []byte) error) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("read the transcript: %w", err)
	}
	size := int64(MaxString)
	if info, err := f.Stat(); err == nil {
		size = min(size, info.Size()+1)
	}
	err = readLines(bufio.NewReaderSize(f, int(size)), fn)
	return errors.Join(err, f.Close())
}

// readLines is EachLine for a reader. Its buffer holds the longest line that is not cut.
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

// cutter copies one long line, given in pieces, with its JSON strings cut. It knows of JSON only where strings begin and
// end, so that it never has to hold more than it keeps.
type cutter struct {
	out    []byte
	begun  bool
	quoted bool // inside a string
	room   int  // bytes of the string that may still be kept
	cut    bool // the string is full: drop the rest of it
	escape int  // bytes of an escape sequence to come; -1 right after its backslash
	limit  int  // of a string; 0 is maxString
}

// line returns what was kept and makes c ready for the next line.
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
			if len(c.out) > crowdedLine {
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
			piece = piece[c.plain(piece):]
		}
	}
}

// plain takes from piece, inside a string, what comes before the next quote or backslash, and that byte; it returns how
// much that was.
func (c *cutter) plain(piece []byte) int {
	end := 0
	for end < len(piece) && piece[end] != '"' && piece[end] != '\\' {
		end++
	}
	if run := piece[:end]; !c.cut {
		if len(run) > c.room {
			c.keep(run[:max(0, c.room)])
			c.shut()
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
		c.shut()
	}
	if !c.cut {
		c.keep(piece[end : end+1])
		c.room -= len(`\n`)
	}
	c.escape = -1
	return end + 1
}

// shut ends what is kept of a string, at a whole character.
func (c *cutter) shut() {
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
	c.out = append(c.out, b[:max(0, min(len(b), maxLine-len(c.out)))]...)
}

// ErrEnough ends the reading of a file of which enough is known.
var ErrEnough = errors.New("enough is read")
