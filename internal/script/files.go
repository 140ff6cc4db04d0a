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

	"github.com/plumb-eval/plumb/internal/doc"
)

// file performs the operations of node:fs. Its errors have what Node's have: code, number, system
// call, path.
func (vm *VM) file(name string, a args) (any, error) {
	given := a.str(0)
	path := vm.path(given)
	switch name {
	case "read", "readText":
		return vm.readFile(name == "readText", given, path, a)
	case "write":
		return nil, vm.writeFile(given, path, a.str(1), a.str(2), a.int(3))
	case "exists":
		_, err := os.Stat(path)
		return err == nil && vm.mayRead("access", given, path) == nil, nil
	case "access":
		return nil, vm.access(given, path, a.int(1))
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
		if err := vm.mayRead("realpath", given, path); err != nil {
			return nil, err
		}
		real, err := filepath.EvalSymlinks(path)
		return real, fileErr("realpath", given, err)
	case "readlink":
		if err := vm.mayRead("readlink", given, path); err != nil {
			return nil, err
		}
		target, err := os.Readlink(path)
		return target, fileErr("readlink", given, err)
	case "copyFile", "cp":
		return nil, vm.copy(name, a)
	}
	return nil, vm.change(name, given, path, a)
}

// change performs the operations that change one thing and return nothing.
func (vm *VM) change(name, given, path string, a args) error {
	call := map[string]string{
		"rename": "rename", "unlink": "unlink", "rmdir": "rmdir", "symlink": "symlink",
		"link": "link", "chmod": "chmod", "utimes": "utime", "truncate": "open",
	}[name]
	if call == "" {
		return fmt.Errorf("unknown host function fs.%s", name)
	}
	subject := path
	if name == "symlink" {
		subject = vm.path(a.str(1))
	}
	if err := vm.mayWrite(call, given, subject); err != nil {
		return err
	}
	switch name {
	case "rename":
		to := vm.path(a.str(1))
		if err := vm.mayWrite(call, a.str(1), to); err != nil {
			return err
		}
		return fileErrTo(call, given, a.str(1), os.Rename(path, to))
	case "unlink":
		if info, err := os.Lstat(path); err == nil && info.IsDir() {
			return fileErr(call, given, syscall.EISDIR)
		}
		return fileErr(call, given, os.Remove(path))
	case "rmdir":
		if info, err := os.Lstat(path); err == nil && !info.IsDir() {
			return fileErr(call, given, errNotDir)
		}
		return fileErr(call, given, os.Remove(path))
	case "symlink":
		return fileErrTo(call, given, a.str(1), os.Symlink(given, subject))
	case "link":
		return fileErrTo(call, given, a.str(1), os.Link(path, vm.path(a.str(1))))
	case "chmod":
		return fileErr(call, given, os.Chmod(path, mode(a.int(1), 0o666)))
	case "utimes":
		at := func(i int) time.Time { return time.UnixMicro(int64(a.num(i) * 1000)) }
		return fileErr(call, given, os.Chtimes(path, at(1), at(2)))
	}
	return fileErr(call, given, os.Truncate(path, int64(a.num(1))))
}

func mode(n, otherwise int) os.FileMode {
	if n < 0 {
		n = otherwise
	}
	return os.FileMode(n & 0o777)
}

func (vm *VM) readFile(asText bool, given, path string, a args) (any, error) {
	if _, numbered := a[0].(string); !numbered {
		if asText {
			return "", nil // standard input, which scripts do not have
		}
		return "", fileErr("read", "", syscall.EBADF)
	}
	if err := vm.mayRead("open", given, path); err != nil {
		return nil, err
	}
	data, err := vm.contents(given, path)
	if err != nil {
		return nil, err
	}
	if asText {
		return decodeUTF8(data), nil
	}
	return base64.StdEncoding.EncodeToString(data), nil
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
		return nil, tooLarge(doc.Size(info.Size()), most)
	}
	defer context.AfterFunc(vm.context(), func() {
		_ = f.SetDeadline(time.Unix(1,
			0))
	})() // reading a regular file does not block
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
		Message: fmt.Sprintf("File size (%s) is greater than %s", size, doc.Size(most)),
	}
}

func (vm *VM) writeFile(given, path, data, flag string, permissions int) error {
	if err := vm.mayWrite("open", given, path); err != nil {
		return err
	}
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
	f, err := os.OpenFile(path, flags|syscall.O_NONBLOCK, mode(permissions,
		0o666)) // opening a pipe without a reader is an error
	if err != nil {
		return fileErr("open", given, err)
	}
	defer context.AfterFunc(vm.context(), func() { _ = f.SetDeadline(time.Unix(1, 0)) })()
	_, err = f.Write(content)
	return fileErr("write", given, errors.Join(err, f.Close()))
}

func (vm *VM) access(given, path string, wanted int) error {
	if err := vm.mayRead("access", given, path); err != nil {
		return err
	}
	if _, err := os.Stat(path); err != nil {
		return fileErr("access", given, err)
	}
	if !allowed(path, wanted) {
		return fileErr("access", given, syscall.EACCES)
	}
	return nil
}

func (vm *VM) stat(given, path string, follow, must bool) (any, error) {
	call, get := "lstat", os.Lstat
	if follow {
		call, get = "stat", os.Stat
	}
	if err := vm.mayRead(call, given, path); err != nil {
		return nil, err
	}
	info, err := get(path)
	if err != nil {
		if !must && errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		return nil, fileErr(call, given, err)
	}
	ms := float64(info.ModTime().UnixNano()) / 1e6
	out := map[string]any{
		"kind": kindOf(info.Mode()), "size": info.Size(), "mode": int(info.Mode().Perm()) | typeBits(info.Mode()),
		"blksize": 4096,
		"mtimeMs": ms, "atimeMs": ms, "ctimeMs": ms, "birthtimeMs": ms,
	}
	statInfo(path, follow, out)
	return jsonText(out)
}

func kindOf(m fs.FileMode) string {
	switch {
	case m.IsRegular():
		return "f"
	case m.IsDir():
		return "d"
	case m&fs.ModeSymlink != 0:
		return "l"
	case m&fs.ModeNamedPipe != 0:
		return "p"
	case m&fs.ModeSocket != 0:
		return "s"
	case m&fs.ModeCharDevice != 0:
		return "c"
	}
	return "b"
}

func typeBits(m fs.FileMode) int {
	return map[string]int{
		"f": 0o100000, "d": 0o040000, "l": 0o120000, "p": 0o010000, "s": 0o140000, "c": 0o020000,
		"b": 0o060000,
	}[kindOf(m)]
}

func (vm *VM) readDir(given, path string, recursive bool) (any, error) {
	if err := vm.mayRead("scandir", given, path); err != nil {
		return nil, err
	}
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
			list = append(list, entry{filepath.Join(prefix, e.Name()), kindOf(e.Type())})
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
	if err := vm.mayWrite("mkdir", given, path); err != nil {
		return nil, err
	}
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
	if err := vm.mayWrite("mkdtemp", given+"XXXXXX", prefix); err != nil {
		return nil, err
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
	if err := vm.mayWrite("rm", given, path); err != nil {
		return err
	}
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
	if err := vm.mayRead(strings.ToLower(name), a.str(0), from); err != nil {
		return err
	}
	if err := vm.mayWrite(strings.ToLower(name), a.str(1), to); err != nil {
		return err
	}
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
			Message: fmt.Sprintf("Recursive option not enabled, cannot copy a directory: cp returned EISDIR (%s is a directory (not copied)) %s", a.str(0), a.str(0)),
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
					Message: fmt.Sprintf("Target already exists: cp returned EEXIST (%s already exists) %s", target,
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
