package script

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/plumb-eval/plumb/internal/text"
)

// file performs the operations of node:fs. Its errors have the properties of Node's errors: code,
// number, system call, path.
func (vm *VM) file(name string, a args) (any, error) {
	given := a.str(0)
	path := vm.path(given)
	if call := changes(name); call != "" && vm.o.Policy.ReadOnly {
		e := fileError(call, given, syscall.EACCES)
		e.Message += " (scripts may only read files here)"
		return nil, e
	}
	switch name {
	case "read":
		data, err := vm.readFile(given, path, a, syscall.EBADF)
		return base64.StdEncoding.EncodeToString(data), err
	case "readText":
		data, err := vm.readFile(given, path, a, nil) // a script's standard input is empty
		return decodeUTF8(data), err
	case "write":
		return nil, vm.writeFile(given, path, a.str(1), a.str(2), a.int(3))
	case "exists":
		_, err := os.Stat(path)
		return err == nil, nil
	case "access":
		_, err := os.Stat(path)
		if err == nil && !allowed(path, a.int(1)) {
			err = syscall.EACCES
		}
		return nil, fileErr("access", given, err)
	case "stat":
		return vm.stat(given, path, a.bool(1), a.bool(2))
	case "readdir":
		return vm.readDir(given, path, a.bool(1))
	case "mkdir":
		return vm.makeDir(given, path, a.bool(1), mode(a.int(2), 0o777))
	case "mkdtemp":
		return vm.makeTemp(given, path)
	case "rm":
		return nil, vm.remove(given, path, a.bool(1), a.bool(2))
	case "realpath":
		real, err := filepath.EvalSymlinks(path)
		return real, fileErr("realpath", given, err)
	case "readlink":
		target, err := os.Readlink(path)
		return target, fileErr("readlink", given, err)
	case "copyFile", "cp":
		return nil, vm.copy(name, a)
	}
	return nil, vm.change(name, given, path, a)
}

// changes returns the system call of an operation that changes files, or "".
func changes(op string) string {
	return map[string]string{
		"write": "open", "mkdir": "mkdir", "mkdtemp": "mkdtemp", "rm": "rm", "copyFile": "copyfile", "cp": "cp",
		"rename": "rename", "unlink": "unlink", "rmdir": "rmdir", "symlink": "symlink", "link": "link",
		"chmod": "chmod", "utimes": "utime", "truncate": "open",
	}[op]
}

// change performs the operations that change one thing and return nothing.
func (vm *VM) change(name, given, path string, a args) error {
	dest := a.str(1) // "" if the operation has no second path
	var err error
	switch info, _ := os.Lstat(path); name {
	case "rename":
		err = os.Rename(path, vm.path(dest))
	case "symlink":
		err = os.Symlink(given, vm.path(dest))
	case "link":
		err = os.Link(path, vm.path(dest))
	case "unlink":
		if err = syscall.EISDIR; info == nil || !info.IsDir() {
			err = os.Remove(path)
		}
	case "rmdir":
		if err = errNotDir; info == nil || info.IsDir() {
			err = os.Remove(path)
		}
	case "chmod":
		err = os.Chmod(path, mode(a.int(1), 0o666))
	case "utimes":
		at := func(i int) time.Time { return time.UnixMicro(int64(a.num(i) * 1000)) }
		err = os.Chtimes(path, at(1), at(2))
	case "truncate":
		err = os.Truncate(path, int64(a.num(1)))
	default:
		return fmt.Errorf("unknown host function fs.%s", name)
	}
	return fileErrTo(changes(name), given, dest, err)
}

func mode(n, otherwise int) os.FileMode {
	if n < 0 {
		n = otherwise
	}
	return os.FileMode(n & 0o777)
}

// readFile reads a file. For a file descriptor instead of a path it returns numbered.
func (vm *VM) readFile(given, path string, a args, numbered error) ([]byte, error) {
	if _, ok := arg[any](a, 0).(string); !ok {
		return nil, fileErr("read", "", numbered)
	}
	return vm.contents(given, path)
}

// contents reads a file. From a pipe or device it reads what arrives until the call ends.
func (vm *VM) contents(given, path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // opening a pipe without a writer must not block
	if err != nil {
		return nil, fileErr("open", given, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fileErr("fstat", given, err)
	}
	most := vm.share()
	switch {
	case info.IsDir():
		return nil, fileErr("read", "", syscall.EISDIR)
	case !info.Mode().IsRegular() || info.Size() == 0:
		most = vm.stream()
	case info.Size() > most:
		return nil, tooLarge(text.Size(info.Size()), most)
	}
	defer context.AfterFunc(vm.context(), func() { _ = f.SetDeadline(time.Unix(1, 0)) })() // a pipe may block
	data := bytes.NewBuffer(make([]byte, 0, info.Size()+bytes.MinRead))
	n, err := data.ReadFrom(io.LimitReader(f, most+1))
	if err == nil && n > most {
		return nil, tooLarge("of what has no end", most)
	}
	return data.Bytes(), fileErr("read", "", err)
}

// share is the maximum number of bytes that the host passes to a script at once. During the
// transfer several copies exist.
func (vm *VM) share() int64 { return vm.o.MemoryLimit / 8 }

// stream is the maximum number of bytes read from a source without a size: pipes, devices, files in
// /proc, outputs of processes.
func (vm *VM) stream() int64 { return vm.share() / 4 }

func tooLarge(size string, most int64) error {
	return &hostError{
		Name: "RangeError", Code: "ERR_FS_FILE_TOO_LARGE",
		Message: fmt.Sprintf("File size (%s) is greater than %s", size, text.Size(most)),
	}
}

func (vm *VM) writeFile(given, path, data, flag string, permissions int) error {
	content, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		return err
	}
	flags, ok := map[string]int{
		"w": os.O_WRONLY | os.O_CREATE | os.O_TRUNC, "wx": os.O_WRONLY | os.O_CREATE | os.O_TRUNC | os.O_EXCL,
		"a": os.O_WRONLY | os.O_CREATE | os.O_APPEND, "ax": os.O_WRONLY | os.O_CREATE | os.O_APPEND | os.O_EXCL,
		"r+": os.O_RDWR, "w+": os.O_RDWR | os.O_CREATE | os.O_TRUNC, "a+": os.O_RDWR | os.O_CREATE | os.O_APPEND,
	}[flag]
	if !ok {
		return &hostError{
			Name: "TypeError", Code: "ERR_INVALID_ARG_VALUE",
			Message: fmt.Sprintf("The argument 'flags' is invalid. Received '%s'", flag),
		}
	}
	// Opening a pipe without a reader is an error.
	f, err := os.OpenFile(path, flags|syscall.O_NONBLOCK, mode(permissions, 0o666))
	if err != nil {
		return fileErr("open", given, err)
	}
	defer context.AfterFunc(vm.context(), func() { _ = f.SetDeadline(time.Unix(1, 0)) })()
	_, err = f.Write(content)
	return fileErr("write", given, errors.Join(err, f.Close()))
}

func (vm *VM) stat(given, path string, follow, must bool) (any, error) {
	call, get := "lstat", os.Lstat
	if follow {
		call, get = "stat", os.Stat
	}
	info, err := get(path)
	if err != nil {
		if !must && errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		return nil, fileErr(call, given, err)
	}
	ms := float64(info.ModTime().UnixNano()) / 1e6
	kind, bits := kindOf(info.Mode())
	out := map[string]any{
		"kind": kind, "size": info.Size(), "mode": int(info.Mode().Perm()) | bits, "blksize": 4096,
		"mtimeMs": ms, "atimeMs": ms, "ctimeMs": ms, "birthtimeMs": ms,
	}
	statInfo(path, follow, out)
	return jsonText(out)
}

// kindOf returns the kind of a file for scripts: a letter, and the bits of its mode.
func kindOf(m fs.FileMode) (kind string, bits int) {
	switch {
	case m.IsRegular():
		return "f", 0o100000
	case m.IsDir():
		return "d", 0o040000
	case m&fs.ModeSymlink != 0:
		return "l", 0o120000
	case m&fs.ModeNamedPipe != 0:
		return "p", 0o010000
	case m&fs.ModeSocket != 0:
		return "s", 0o140000
	case m&fs.ModeCharDevice != 0:
		return "c", 0o020000
	}
	return "b", 0o060000
}

func (vm *VM) readDir(given, path string, recursive bool) (any, error) {
	type entry struct {
		Name string `json:"name"`
		Kind string `json:"kind"`
	}
	list := []entry{}
	room := vm.share() / 8 // an entry needs more room than its name, here and in the script
	var read func(dir, prefix string) error
	read = func(dir, prefix string) error {
		entries, err := listDir(dir, &room)
		if err != nil {
			return err
		}
		for _, e := range entries {
			room -= int64(len(prefix))
			kind, _ := kindOf(e.Type())
			list = append(list, entry{filepath.Join(prefix, e.Name()), kind})
			if recursive && e.IsDir() {
				if err := read(filepath.Join(dir, e.Name()), filepath.Join(prefix, e.Name())); err != nil {
					return err
				}
			}
		}
		return nil
	}
	if info, err := os.Stat(path); err == nil && !info.IsDir() {
		return nil, fileErr("scandir", given, errNotDir)
	}
	if err := read(path, ""); err != nil {
		return nil, fileErr("scandir", given, err)
	}
	return jsonText(list)
}

// listDir lists a directory by name, up to the memory limit.
func listDir(dir string, room *int64) ([]fs.DirEntry, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var all []fs.DirEntry
	for {
		some, err := f.ReadDir(1000)
		for _, e := range some {
			*room -= int64(len(e.Name()))
		}
		all = append(all, some...)
		switch {
		case *room < 0:
			return nil, syscall.ENOMEM
		case errors.Is(err, io.EOF):
			slices.SortFunc(all, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
			return all, nil
		case err != nil:
			return nil, err
		}
	}
}

// makeDir returns the first directory that it created, as Node does for recursive mkdir.
func (vm *VM) makeDir(given, path string, recursive bool, m os.FileMode) (any, error) {
	if !recursive {
		return nil, fileErr("mkdir", given, os.Mkdir(path, m))
	}
	first := ""
	for dir := path; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(dir); err == nil || dir == filepath.Dir(dir) {
			break
		}
		first = dir
	}
	if err := os.MkdirAll(path, m); err != nil {
		return nil, fileErr("mkdir", given, err)
	}
	if first == "" {
		return nil, nil
	}
	return first, nil
}

func (vm *VM) makeTemp(given, prefix string) (any, error) {
	if strings.HasSuffix(given, string(filepath.Separator)) {
		prefix += string(filepath.Separator)
	}
	dir, base := filepath.Split(prefix)
	made, err := os.MkdirTemp(dir, base+"*")
	if err != nil {
		return nil, fileErr("mkdtemp", given+"XXXXXX", err)
	}
	if !filepath.IsAbs(given) {
		if relative, err := filepath.Rel(vm.dir, made); err == nil {
			return relative, nil
		}
	}
	return made, nil
}

func (vm *VM) remove(given, path string, recursive, force bool) error {
	info, err := os.Lstat(path)
	if err != nil {
		if force && errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return fileErr("lstat", given, err)
	}
	if info.IsDir() && !recursive {
		return &hostError{
			Name: "SystemError", Code: "ERR_FS_EISDIR", Syscall: "rm", Path: given, Errno: 21,
			Message: fmt.Sprintf("Path is a directory: rm returned EISDIR (is a directory) %s", given),
		}
	}
	return fileErr("rm", given, os.RemoveAll(path))
}

// copy performs copyFile (from, to, mode) and cp (from, to, recursive, force, errorOnExist,
// dereference).
func (vm *VM) copy(name string, a args) error {
	from, to := vm.path(a.str(0)), vm.path(a.str(1))
	if name == "copyFile" {
		exclusive := a.int(2)&1 != 0
		if info, err := os.Stat(from); err == nil && info.IsDir() {
			return fileErrTo("copyfile", a.str(0), a.str(1), syscall.EISDIR)
		}
		return fileErrTo("copyfile", a.str(0), a.str(1), copyFile(from, to, exclusive))
	}
	info, err := os.Stat(from)
	if err != nil {
		return fileErr("lstat", a.str(0), err)
	}
	if info.IsDir() && !a.bool(2) {
		return &hostError{
			Name: "SystemError", Code: "ERR_FS_EISDIR", Syscall: "cp", Path: a.str(0),
			Message: fmt.Sprintf("Recursive option not enabled, cannot copy a directory: "+
				"cp returned EISDIR (%[1]s is a directory (not copied)) %[1]s", a.str(0)),
		}
	}
	return copyTree(from, to, a.bool(3), a.bool(4), a.bool(5))
}

func copyTree(from, to string, force, errorOnExist, dereference bool) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return fileErr("cp", path, err)
		}
		relative, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, relative)
		switch {
		case d.IsDir():
			return fileErr("mkdir", target, os.MkdirAll(target, 0o777))
		case d.Type()&fs.ModeSymlink != 0 && !dereference:
			link, err := os.Readlink(path)
			if err == nil {
				err = os.Symlink(link, target)
			}
			return fileErr("symlink", target, err)
		}
		if _, err := os.Lstat(target); err == nil && !force {
			if errorOnExist {
				return &hostError{
					Name: "SystemError", Code: "ERR_FS_CP_EEXIST", Syscall: "cp", Path: target,
					Message: fmt.Sprintf("Target already exists: cp returned EEXIST (%[1]s already exists) %[1]s",
						target),
				}
			}
			return nil
		}
		if err := os.MkdirAll(filepath.Dir(target), 0o777); err != nil {
			return fileErr("mkdir", target, err)
		}
		return fileErr("cp", target, copyFile(path, target, false))
	})
}

func copyFile(from, to string, exclusive bool) (err error) {
	in, err := os.OpenFile(from, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() { // reading it may never end
		return syscall.EINVAL
	}
	flags := os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	if exclusive {
		flags |= os.O_EXCL
	}
	out, err := os.OpenFile(to, flags, info.Mode().Perm())
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
