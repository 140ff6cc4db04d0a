package proc

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"sync"
	"time"
)

// lineLimit is the number of bytes of one line that an observer gets.
const lineLimit = 1 << 20

// The intervals at which a file is checked: short while it grows, longer while it does not.
const (
	followSoon = 10 * time.Millisecond
	followLate = 100 * time.Millisecond
)

// follower passes the lines of a growing file to an observer, and checks its size. A nil follower
// does nothing.
type follower struct {
	file    *os.File
	observe func(line []byte) error // nil only checks the size
	limit   int64                   // of all files together, in bytes; 0 means no limit
	files   []string
	in      *bufio.Reader
	line    []byte // the start of an unfinished line

	stop   chan struct{}
	no     chan struct{} // closed when the observer returned an error
	said   error         // that error
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
		in: bufio.NewReaderSize(file, 32<<10), stop: make(chan struct{}), no: make(chan struct{}),
	}
	f.done.Go(f.run)
	return f, nil
}

// refused returns a channel that is closed when the program should be stopped.
func (f *follower) refused() <-chan struct{} {
	if f == nil {
		return nil
	}
	return f.no
}

// reason returns the error of the observer. It is set when refused is closed.
func (f *follower) reason() error { return f.said }

// finish passes on the remaining lines and returns the error of the observer, including an earlier
// one.
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

// measure returns an error if the files are too large.
func (f *follower) measure() {
	if f.limit <= 0 {
		return
	}
	total := int64(0)
	for _, name := range f.files {
		if info, err := os.Stat(name); err == nil { // stderr may not have a file
			total += info.Size()
		}
	}
	if total > f.limit && f.said == nil {
		f.said = ErrOutput
		close(f.no)
	}
}

// read passes on all available lines, and returns the number of bytes that it read.
func (f *follower) read() int {
	total := 0
	for f.measure(); f.said == nil && f.observe != nil; {
		if f.in.Buffered() == 0 {
			f.measure()
		}
		part, err := f.in.ReadSlice('\n')
		total += len(part)
		f.line = append(f.line, part[:min(len(part), lineLimit-len(f.line))]...)
		switch {
		case err == nil:
			f.hand(f.line)
			if f.line = f.line[:0]; cap(f.line) > f.in.Size() {
				f.line = nil // do not keep the memory of a long line
			}
		case errors.Is(err, io.EOF):
			return total
		case !errors.Is(err, bufio.ErrBufferFull):
			f.failed = err
			return total
		}
	}
	return total
}

func (f *follower) hand(line []byte) {
	line = bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
	if len(line) == 0 || f.said != nil {
		return
	}
	if f.said = f.observe(line); f.said != nil {
		close(f.no)
	}
}
