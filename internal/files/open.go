package files

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// The times after which a file that is not a regular file ends with an error.
const (
	// patience is the time in which another process must open the other end of a named pipe.
	patience = 10 * time.Second
	// silence is the time in which the process at the other end of a pipe must read or write.
	silence = time.Minute
)

// Refusal is the reason for not using a file, with a hint.
type Refusal struct{ Reason, Hint string }

func (r *Refusal) Error() string { return r.Reason }

// Advice returns the hint that the command line prints.
func (r *Refusal) Advice() string { return r.Hint }

// Open opens a regular file for reading. Where [os.Open] would wait for the writer of a named pipe, or
// open a device that never ends, Open returns an error. The null device is an empty file.
func Open(path string) (*os.File, error) {
	f, info, err := open(path)
	if err == nil {
		err = Refuse(path, info)
	}
	if err != nil {
		return nil, closeAfter(f, err)
	}
	return f, nil
}

// OpenStream is [Open] that also accepts a named pipe, such as <(generate) of a shell. Reading it
// ends with an error if no process writes to it within 10 seconds, or if its writer is silent for a
// minute.
func OpenStream(path string) (io.ReadCloser, error) {
	f, info, err := open(path)
	if err == nil && info.Mode()&fs.ModeNamedPipe != 0 {
		return &pipe{file: f, until: time.Now().Add(patience)}, nil
	}
	if err == nil {
		err = Refuse(path, info)
	}
	if err != nil {
		return nil, closeAfter(f, err)
	}
	return f, nil
}

func open(path string) (*os.File, fs.FileInfo, error) {
	// Without O_NONBLOCK, opening a pipe waits for a writer.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		// A socket, and a device without a driver, cannot be opened at all.
		if info, statErr := os.Stat(path); statErr == nil && errors.Is(err, syscall.ENXIO) {
			err = cmp.Or(Refuse(path, info), err)
		}
		return nil, nil, err
	}
	info, err := f.Stat()
	return f, info, err
}

func closeAfter(f *os.File, err error) error {
	if f != nil {
		_ = f.Close() // it was only opened; err is the reason
	}
	return err
}

// Refuse returns the reason for not reading the file at path, because of its kind, or nil.
func Refuse(path string, info fs.FileInfo) error {
	what := "a device"
	switch m := info.Mode(); {
	case m.IsRegular():
		return nil
	case m.IsDir():
		return &fs.PathError{Op: "read", Path: path, Err: syscall.EISDIR}
	case m&fs.ModeNamedPipe != 0:
		what = "a named pipe"
	case m&fs.ModeSocket != 0:
		what = "a socket"
	default:
		if null, err := os.Stat(os.DevNull); err == nil && os.SameFile(null, info) {
			return nil
		}
	}
	return refused(path, &Refusal{"it is " + what + ", not a file", "write its content to a file, and use that file"})
}

func refused(path string, r *Refusal) error { return &fs.PathError{Op: "open", Path: path, Err: r} }

// pipe reads a named pipe. Before a process writes to it, it looks empty.
type pipe struct {
	file  *os.File
	until time.Time
	begun bool
}

func (p *pipe) Read(b []byte) (int, error) {
	for {
		_ = p.file.SetReadDeadline(time.Now().Add(silence)) // not every system has deadlines for pipes
		n, err := p.file.Read(b)
		p.begun = p.begun || n > 0
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			return n, refused(p.file.Name(), &Refusal{
				"the process that has the pipe open wrote nothing for a minute",
				"write its output to a file, and use that file",
			})
		case !errors.Is(err, io.EOF) || p.begun || len(b) == 0:
			return n, err
		case time.Now().After(p.until):
			return 0, refused(p.file.Name(), &Refusal{"no process writes to the pipe", "start its writer first"})
		}
		<-time.After(20 * time.Millisecond)
	}
}

func (p *pipe) Close() error { return p.file.Close() }

// Output is a file, a pipe or a device that is written in place.
type Output struct {
	file *os.File
	pipe bool
}

// OpenOutput opens a file for writing; flags are those of [os.OpenFile], and mode that of a new file.
// Opening a named pipe ends with an error if no process reads from it within 10 seconds, and so does
// writing if the reader is idle for a minute.
func OpenOutput(path string, flags int, mode fs.FileMode) (*Output, error) {
	for until := time.Now().Add(patience); ; {
		// Without O_NONBLOCK, opening a pipe waits for a reader.
		f, err := os.OpenFile(path, flags|os.O_WRONLY|syscall.O_NONBLOCK, mode)
		if err == nil {
			info, err := f.Stat()
			if err != nil {
				return nil, closeAfter(f, err)
			}
			return &Output{f, !info.Mode().IsRegular()}, nil
		}
		info, statErr := os.Stat(path)
		switch {
		case statErr == nil && info.Mode()&fs.ModeSocket != 0:
			return nil, Refuse(path, info)
		case statErr != nil || info.Mode()&fs.ModeNamedPipe == 0:
			return nil, err
		case time.Now().After(until):
			return nil, refused(path, &Refusal{"no process reads from the pipe", "start its reader first, or name a file"})
		}
		<-time.After(20 * time.Millisecond)
	}
}

// Write writes b. A write to a pipe waits for its reader, for a minute at most for each part of b.
func (o *Output) Write(b []byte) (n int, err error) {
	const part = 32 << 10
	for {
		next := b[n:]
		if o.pipe {
			next = next[:min(len(next), part)]
			_ = o.file.SetWriteDeadline(time.Now().Add(silence)) // a device has no deadlines
		}
		written, err := o.file.Write(next)
		if n += written; errors.Is(err, os.ErrDeadlineExceeded) {
			err = refused(o.file.Name(), &Refusal{
				"the process that has the pipe open read nothing for a minute", "name a file instead",
			})
		}
		if err != nil || n == len(b) {
			return n, err
		}
	}
}

// Close closes the file.
func (o *Output) Close() error { return o.file.Close() }

// Write replaces the content of the file at path, which it creates with the given mode; see
// [OpenOutput].
func Write(path string, data []byte, mode fs.FileMode) error {
	o, err := OpenOutput(path, os.O_CREATE|os.O_TRUNC, mode)
	if err != nil {
		return err
	}
	_, err = o.Write(data)
	return errors.Join(err, o.Close())
}

// LockFlags are the flags of [os.OpenFile] for the file of a lock. Without O_NONBLOCK, opening a named
// pipe in its place would wait.
const LockFlags = os.O_CREATE | os.O_RDONLY | syscall.O_NONBLOCK
