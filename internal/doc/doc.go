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
	"strings"
	"syscall"

	"github.com/plumb-eval/plumb/internal/files"
	"github.com/plumb-eval/plumb/internal/text"
)

// Read reads the file at path, of at most most bytes. It returns an error for anything but a
// regular file, except for the null device, which is an empty file.
func Read(path string, most int64) ([]byte, error) { return read(path, most, false) }

// ReadStream is [Read] that also accepts a named pipe, such as <(generate) of a shell; see
// [files.OpenStream].
func ReadStream(path string, most int64) ([]byte, error) { return read(path, most, true) }

func read(path string, most int64, pipes bool) ([]byte, error) {
	var f io.ReadCloser
	var err error
	if pipes {
		f, err = files.OpenStream(path)
	} else {
		f, err = files.Open(path)
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size := int64(0)
	if file, ok := f.(*os.File); ok {
		info, err := file.Stat()
		if err == nil {
			err = refuse(path, info, most)
		}
		if err != nil {
			return nil, err
		}
		size = info.Size()
	}
	return readAll(f, size, most)
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
	if info.Mode().IsRegular() && info.Size() > most {
		return tooLarge(info.Size(), most)
	}
	return files.Refuse(path, info)
}

func tooLarge(size, most int64) error {
	has := "more"
	if size > 0 {
		has = text.Size(size) + ", more"
	}
	return &files.Refusal{
		Reason: fmt.Sprintf("it has %s than the limit of %s for such a file", has, text.Size(most)),
		Hint:   "make it smaller, or split it",
	}
}

// File is a document that is being written. The old file stays in place until [File.Commit].
type File struct {
	// in is the file in place that File writes to, or nil; otherwise temp becomes target.
	in     *files.Output
	temp   *os.File
	target string
}

// Create starts to write the file at path, readable only by its owner. A replaced file keeps its
// permissions. Create follows a symbolic link and replaces the file behind it. It writes directly
// to a pipe, a device or a file in /dev; see [files.OpenOutput].
func Create(path string) (_ *File, err error) {
	given := path
	defer func() {
		if err != nil { // name the path of the user, not the one that its links lead to
			err = &fs.PathError{Op: "write", Path: given, Err: Cause(err)}
		}
	}()
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
		in, err := files.OpenOutput(given, os.O_APPEND, 0)
		if err != nil {
			return nil, err
		}
		return &File{in: in}, nil
	case err == nil && info.IsDir():
		return nil, &fs.PathError{Op: "write", Path: path, Err: syscall.EISDIR}
	case err == nil:
		mode = info.Mode().Perm()
	case !errors.Is(err, fs.ErrNotExist): // such as links that lead to each other
		return nil, err
	}
	temp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*") // created with 0600
	if err != nil {
		return nil, err
	}
	f := &File{temp: temp, target: path}
	if mode != 0o600 {
		if err := temp.Chmod(mode); err != nil {
			return nil, errors.Join(err, f.Discard())
		}
	}
	return f, nil
}

// Write writes b to the new content of the file.
func (f *File) Write(b []byte) (int, error) {
	if f.in != nil {
		return f.in.Write(b)
	}
	return f.temp.Write(b)
}

// isDescriptor reports whether path names an open file of a process, such as /dev/stdout, to which
// other processes may write.
func isDescriptor(path string) bool {
	path = filepath.Clean(path)
	return strings.HasPrefix(path, "/proc/") || strings.HasPrefix(path, "/dev/fd/")
}

// Chmod sets the permissions of the file, except of one that is written in place.
func (f *File) Chmod(mode fs.FileMode) error {
	if f.in != nil {
		return nil
	}
	return f.temp.Chmod(mode)
}

// Commit ends the writing: it syncs the file and moves it into place.
func (f *File) Commit() error {
	if f.in != nil {
		return f.in.Close()
	}
	err := f.temp.Sync()
	if closed := f.temp.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(f.temp.Name(), f.target)
	}
	if err != nil {
		_ = os.Remove(f.temp.Name()) // the first error is the one to report
	}
	return err
}

// Discard ends the writing and keeps the old file.
func (f *File) Discard() error {
	if f.in != nil {
		return f.in.Close()
	}
	return errors.Join(f.temp.Close(), os.Remove(f.temp.Name()))
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

// Array returns s, but never nil, so that it is [] in JSON and not null.
func Array[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}
