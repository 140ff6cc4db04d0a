// Package doc reads documents within limits, parses them into values with places, and replaces
// documents atomically: a file is written completely or not at all.
//
// A document is a regular file. Files that could block or never end are refused before a byte is
// read: named pipes, devices, sockets.
package doc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Read reads the file at path, of at most most bytes. It returns an error for anything but a
// regular file, except for the null device, which is an empty file.
func Read(path string, most int64) ([]byte, error) { return read(path, most, false) }

// ReadStream is [Read] that also accepts a named pipe, such as <(generate) of a shell. If no
// process writes to the pipe within a few seconds, it returns an error.
func ReadStream(path string, most int64) ([]byte, error) { return read(path, most, true) }

func read(path string, most int64, pipes bool) ([]byte, error) {
	// Without O_NONBLOCK, opening a pipe waits for a writer.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil && pipes && info.Mode()&fs.ModeNamedPipe != 0 {
		return readPipe(f, most)
	}
	if err == nil {
		err = refuse(path, info, most)
	}
	if err != nil {
		return nil, err
	}
	return readAll(f, info.Size(), most)
}

// ReadFS is [Read] for a file of a file system.
func ReadFS(fsys fs.FS, name string, most int64) ([]byte, error) {
	info, err := fs.Stat(fsys, name) // before opening it, which could block
	if err == nil {
		err = refuse(name, info, most)
	}
	if err != nil {
		return nil, err
	}
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAll(f, info.Size(), most)
}

func readAll(r io.Reader, size, most int64) ([]byte, error) {
	data := bytes.NewBuffer(make([]byte, 0, size+bytes.MinRead))
	n, err := data.ReadFrom(io.LimitReader(r, most+1)) // the file may grow
	if err == nil && n > most {
		return nil, tooLarge(0, most)
	}
	return data.Bytes(), err
}

// readPipe reads a pipe to its end. Before a process writes to it, the pipe looks empty.
func readPipe(f *os.File, most int64) ([]byte, error) {
	const patience = 10 * time.Second
	for end := time.Now().Add(patience); ; {
		data, err := readAll(f, 0, most)
		if len(data) > 0 || err != nil {
			return data, err
		}
		if time.Now().After(end) {
			return nil, errors.New("no process writes to the pipe")
		}
		<-time.After(20 * time.Millisecond)
	}
}

// Regular returns the error that [Read] would return for the kind and size of the file at path.
func Regular(path string, most int64) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	return refuse(path, info, most)
}

// refuse returns the reason for not reading a file, because of its kind or size, or nil.
func refuse(path string, info fs.FileInfo, most int64) error {
	what := "a device"
	switch m := info.Mode(); {
	case m.IsRegular() && info.Size() > most:
		return tooLarge(info.Size(), most)
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
	return &refusal{"it is " + what + ", not a file", "write its content to a file, and use that file"}
}

func tooLarge(size, most int64) error {
	has := "more"
	if size > 0 {
		has = Size(size) + ", more"
	}
	return &refusal{
		fmt.Sprintf("it has %s than the limit of %s for such a file", has, Size(most)), "make it smaller, or split it",
	}
}

// Size formats a number of bytes for people: "300 bytes", "256 KiB", "1.5 GiB".
func Size(n int64) string {
	if n < 1<<10 {
		return strconv.FormatInt(n, 10) + " bytes"
	}
	f, unit := float64(n)/(1<<10), "KiB"
	for _, next := range []string{"MiB", "GiB", "TiB"} {
		if f < 1<<10 {
			break
		}
		f, unit = f/(1<<10), next
	}
	return strings.TrimSuffix(strconv.FormatFloat(f, 'f', 1, 64), ".0") + " " + unit
}

// refusal is the reason for not reading a file, with a hint.
type refusal struct{ reason, advice string }

func (r *refusal) Error() string { return r.reason }

// Advice returns the hint that the command line prints.
func (r *refusal) Advice() string { return r.advice }

// File is a document that is being written. The old file stays in place until [File.Commit].
type File struct {
	*os.File
	// target is the file to replace; "" if File writes to the target directly.
	target string
}

// Create starts to write the file at path, readable only by its owner. A replaced file keeps its
// permissions. Create follows a symbolic link and replaces the file behind it. It writes directly
// to a pipe, a device or a file in /dev.
func Create(path string) (*File, error) {
	for range 40 { // the usual limit of systems
		if isDescriptor(path) {
			break
		}
		to, err := os.Readlink(path)
		if err != nil {
			break
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(path), to)
		}
		path = to
	}
	mode := fs.FileMode(0o600)
	info, err := os.Stat(path)
	switch {
	case isDescriptor(path), err == nil && !info.Mode().IsRegular() && !info.IsDir():
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			return nil, err
		}
		return &File{f, ""}, nil
	case err == nil && info.IsDir():
		return nil, &fs.PathError{Op: "write", Path: path, Err: syscall.EISDIR}
	case err == nil:
		mode = info.Mode().Perm()
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*") // created with 0600
	if err != nil {
		return nil, err
	}
	if mode != 0o600 {
		if err := f.Chmod(mode); err != nil {
			return nil, errors.Join(err, (&File{f, path}).Discard())
		}
	}
	return &File{f, path}, nil
}

// isDescriptor reports whether path names an open file of a process, such as /dev/stdout, to which
// other processes may write.
func isDescriptor(path string) bool {
	path = filepath.Clean(path)
	return strings.HasPrefix(path, "/proc/") || strings.HasPrefix(path, "/dev/fd/")
}

// Commit ends the writing: it syncs the file and moves it into place.
func (f *File) Commit() error {
	if f.target == "" {
		return f.Close()
	}
	err := f.Sync()
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(f.Name(), f.target)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // the first error is the one to report
	}
	return err
}

// Discard ends the writing and keeps the old file.
func (f *File) Discard() error {
	err := f.Close()
	if f.target != "" {
		err = errors.Join(err, os.Remove(f.Name()))
	}
	return err
}

// Write replaces the file at path with the output of write; see [Create].
func Write(path string, write func(*File) error) error {
	f, err := Create(path)
	if err != nil {
		return err
	}
	if err := write(f); err != nil {
		_ = f.Discard() // the first error is the one to report
		return err
	}
	return f.Commit()
}

// Cause returns a file error without its operation and path, for messages that already name the
// file.
func Cause(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}
