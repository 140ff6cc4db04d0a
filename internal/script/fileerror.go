package script

import (
	"errors"
	"io/fs"
	"strings"
	"syscall"
)

func fileErr(call, path string, err error) error { return fileErrTo(call, path, "", err) }

func fileErrTo(call, path, dest string, err error) error {
	if err == nil {
		return nil
	}
	e := fileError(call, path, err)
	if dest != "" {
		e.Dest = dest
		e.Message += " -> '" + dest + "'"
	}
	return e
}

// fileError renders an error in Node's words: ENOENT: no such file or directory, open 'x'.
func fileError(call, path string, err error) *hostError {
	code, number, words := errorCode(err)
	e := &hostError{Code: code, Errno: -number, Syscall: call, Path: path, Message: code + ": " + words + ", " + call}
	if path != "" {
		e.Message += " '" + path + "'"
	}
	return e
}

// errorCode returns libuv's name, number and text for the error of a system call.
func errorCode(err error) (code string, number int, words string) {
	var errno syscall.Errno
	switch {
	case errors.Is(err, errNotDir):
		errno = syscall.ENOTDIR
	case strings.Contains(err.Error(), "too many links"): // of filepath.EvalSymlinks
		errno = syscall.ELOOP
	default:
		errors.As(err, &errno)
	}
	// The entries with an error of package fs come after the more specific ones that also match it.
	for _, known := range []struct {
		errno syscall.Errno
		is    error
		code  string
		words string
	}{
		{syscall.ENOENT, fs.ErrNotExist, "ENOENT", "no such file or directory"},
		{syscall.ENOTEMPTY, nil, "ENOTEMPTY", "directory not empty"},
		{syscall.EEXIST, fs.ErrExist, "EEXIST", "file already exists"},
		{syscall.EPERM, nil, "EPERM", "operation not permitted"},
		{syscall.EACCES, fs.ErrPermission, "EACCES", "permission denied"},
		{syscall.EISDIR, nil, "EISDIR", "illegal operation on a directory"},
		{syscall.ENOTDIR, nil, "ENOTDIR", "not a directory"},
		{syscall.ELOOP, nil, "ELOOP", "too many symbolic links encountered"},
		{syscall.EINVAL, nil, "EINVAL", "invalid argument"},
		{syscall.EXDEV, nil, "EXDEV", "cross-device link not permitted"},
		{syscall.ENAMETOOLONG, nil, "ENAMETOOLONG", "name too long"},
		{syscall.ENOSPC, nil, "ENOSPC", "no space left on device"},
		{syscall.EROFS, nil, "EROFS", "read-only file system"},
		{syscall.ENOMEM, nil, "ENOMEM", "not enough memory"},
		{syscall.ENXIO, nil, "ENXIO", "no such device or address"},
		{syscall.EBADF, nil, "EBADF", "bad file descriptor"},
		{syscall.EMFILE, nil, "EMFILE", "too many open files"},
		{syscall.EBUSY, nil, "EBUSY", "resource busy or locked"},
	} {
		if errno == known.errno || known.is != nil && errors.Is(err, known.is) {
			return known.code, int(known.errno), known.words
		}
	}
	return "EIO", int(syscall.EIO), err.Error()
}
