package proc

import (
	"bytes"
	"errors"
	"io"
	"os"
	"sync"
	"time"
)

// LineLimit is how much of one line an observer gets, in bytes.
const LineLimit = 1 << 20

// How often a file is looked at: soon while it grows, less often while it does not.
const (
	followSoon = 10 * time.Millisecond
	followLate = 100 * time.Millisecond
)

// follower hands the lines of a growing file to an observer, and watches how large it becomes. A nil follower follows nothing.
type follower struct {
	file    *os.File
	observe func(line []byte) error // nil only watches
	limit   int64                   // of what is in files, in bytes; 0 is none
	files   []string
	line    []byte // the beginning of a line of which the end is not known yet
	cut     bool   // the rest of the line is too much
	buf     []byte

	stop   chan struct{}
	no     chan struct{} // closed when the observer has refused
	said   error         // what it said then
	failed error
	done   sync.WaitGroup
}

func (c *Command) follow() (*follower, error) {
	file, err := os.Open(c.Stdout)
	if err != nil {
		return nil, err
	}
	f := &follower{
		file: file, observe: c.Observe, limit: c.OutputLimit, files: []string{c.Stdout, c.Stderr},
		buf: make([]byte, 64<<10), stop: make(chan struct{}), no: make(chan struct{}),
	}
	f.done.Go(f.run)
	return f, nil
}

// refused is closed once the observer wants the program to stop.
func (f *follower) refused() <-chan struct{} {
	if f == nil {
		return nil
	}
	return f.no
}

// reason is what the observer said; it is there when refused is closed.
func (f *follower) reason() error { return f.said }

// finish hands over what is left and returns what the observer said, also of an earlier line.
func (f *follower) finish() error {
	if f == nil {
		return nil
	}
	close(f.stop)
	f.done.Wait()
	return errors.Join(f.said, f.failed, f.file.Close())
}

func (f *follower) run() {
	pause := followSoon
	for {
		n := f.read()
		select {
		case <-f.no:
			return
		default:
		}
		if f.failed != nil {
			return
		}
		pause = min(2*pause, followLate)
		if n > 0 {
			pause = followSoon
		}
		select {
		case <-f.stop:
			if f.read(); len(f.line) > 0 {
				f.hand(f.line)
			}
			return
		case <-time.After(pause):
		}
	}
}

// measure refuses files that have become too large.
func (f *follower) measure() {
	if f.limit <= 0 {
		return
	}
	total := int64(0)
	for _, name := range f.files {
		if info, err := os.Stat(name); err == nil { // there may be no file for stderr
			total += info.Size()
		}
	}
	if total > f.limit && f.said == nil {
		f.said = ErrOutput
		close(f.no)
	}
}

// read hands over all lines that are there, and returns how many bytes it read.
func (f *follower) read() int {
	total := 0
	for f.measure(); f.said == nil && f.observe != nil; f.measure() {
		n, err := f.file.Read(f.buf)
		total += n
		f.split(f.buf[:n])
		if n == 0 || err != nil {
			if err != nil && !errors.Is(err, io.EOF) {
				f.failed = err
			}
			return total
		}
	}
	return total
}

func (f *follower) split(b []byte) {
	for len(b) > 0 && f.said == nil {
		end := bytes.IndexByte(b, '\n')
		if end < 0 {
			f.keep(b)
			return
		}
		if len(f.line) == 0 && !f.cut {
			f.hand(b[:end])
		} else {
			f.keep(b[:end])
			f.hand(f.line)
			f.line, f.cut = f.line[:0], false
			if cap(f.line) > len(f.buf) {
				f.line = nil // one long line is no reason to keep that much
			}
		}
		b = b[end+1:]
	}
}

func (f *follower) keep(b []byte) {
	room := LineLimit - len(f.line)
	if len(b) > room {
		b, f.cut = b[:room], true
	}
	f.line = append(f.line, b...)
}

func (f *follower) hand(line []byte) {
	if line = bytes.TrimSuffix(line, []byte("\r")); len(line) == 0 || f.said != nil {
		return
	}
	if f.said = f.observe(line); f.said != nil {
		close(f.no)
	}
}
