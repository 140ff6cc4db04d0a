package script

import (
	"crypto/hmac"
	"crypto/md5" //nolint:gosec // Node has it
	"crypto/rand"
	"crypto/sha1" //nolint:gosec // Node has it
	"crypto/sha256"
	"crypto/sha3"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/encoding/unicode"
	"modernc.org/quickjs"
)

// nodeVersion is the version of Node whose behavior scripts may expect.
const nodeVersion = "v22.23.3"

// library performs the calls of the built-in modules.
func (vm *VM) library(op string, a args) (any, error) {
	group, name, _ := strings.Cut(op, ".")
	switch group {
	case "fs":
		return vm.file(name, a)
	case "os":
		return vm.system(name)
	case "process":
		return vm.process(name, a)
	case "crypto":
		return vm.cryptography(name, a)
	case "text":
		return codec(name, a)
	case "url":
		return address(name, a)
	}
	switch op {
	case "now":
		return float64(time.Since(vm.began)) / float64(time.Millisecond), nil
	case "date":
		return float64(time.Now().UnixMilli()), nil
	case "full":
		return vm.eng.full, nil
	case "memory":
		return float64(vm.eng.used()), nil
	case "cwd":
		return vm.dir, nil
	case "chdir":
		return nil, vm.changeDir(a.str(0))
	case "write":
		w := vm.o.Stdout
		if a.int(0) == 2 {
			w = vm.o.Stderr
		}
		if w == nil {
			return nil, nil
		}
		_, err := w.Write([]byte(vm.mapText(a.str(1))))
		return nil, err
	case "builtin":
		name := strings.TrimPrefix(a.str(0), "node:")
		_, additional := vm.o.Modules[a.str(0)]
		return additional || builtins(name), nil
	case "exec":
		return vm.exec != nil, nil
	case "exit", "exitCode":
		if vm.exec == nil {
			return nil, nil
		}
		vm.exec.code = a.int(0) & 0xff
		if op == "exit" {
			vm.exec.exited = true
			vm.eng.interrupt()
		}
		return nil, nil
	}
	return nil, fmt.Errorf("unknown host function %q", op)
}

func (vm *VM) changeDir(dir string) error {
	path := vm.path(dir)
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		if err == nil {
			err = errNotDir
		}
		e := fileError("chdir", "", err)
		e.Message += fmt.Sprintf(" %s -> '%s'", vm.dir, dir)
		return e
	}
	vm.dir = path
	return nil
}

func (vm *VM) system(name string) (any, error) {
	switch name {
	case "platform":
		return platform(), nil
	case "arch":
		return architecture(), nil
	case "info":
		host, err := os.Hostname()
		if err != nil {
			host = "localhost"
		}
		info := map[string]any{
			"hostname": host, "cpus": runtime.NumCPU(), "uid": os.Getuid(), "gid": os.Getgid(),
			"home": "", "user": "",
		}
		if u, err := user.LookupId(strconv.Itoa(os.Getuid())); err == nil {
			info["home"], info["user"] = u.HomeDir, u.Username
		}
		systemInfo(info)
		return jsonText(info)
	}
	return nil, fmt.Errorf("unknown host function os.%s", name)
}

// platform and architecture return Node's names of the system.
func platform() string { return nodeName(runtime.GOOS, "windows", "win32") }

func architecture() string { return nodeName(nodeName(runtime.GOARCH, "amd64", "x64"), "386", "ia32") }

func nodeName(name, goName, node string) string {
	if name == goName {
		return node
	}
	return name
}

func (vm *VM) processInfo() (any, error) {
	argv := []string{"plumb", ""}
	if len(vm.bundles) > 0 {
		argv[1] = vm.bundles[0].program.Entry
	}
	return jsonText(map[string]any{
		"env": append([]string{}, vm.o.Env...), "argv": append(argv, vm.o.Args...),
		"platform": platform(), "arch": architecture(), "version": nodeVersion, "engine": quickjs.Version(),
		"pid": os.Getpid(), "ppid": os.Getppid(), "uid": os.Getuid(), "gid": os.Getgid(),
		"exec": vm.exec != nil,
	})
}

// path makes a script's path absolute.
func (vm *VM) path(p string) string {
	if p == "" || filepath.IsAbs(p) {
		return p
	}
	return filepath.Join(vm.dir, p)
}

func (vm *VM) cryptography(name string, a args) (any, error) {
	switch name {
	case "uuid":
		var b [16]byte
		rand.Read(b[:])
		b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
		h := hex.EncodeToString(b[:])
		return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:], nil
	case "random":
		n := a.num(0)
		if !(n >= 0 && n <= float64(vm.share())) {
			return nil, &hostError{
				Name: "RangeError", Code: "ERR_OUT_OF_RANGE",
				Message: fmt.Sprintf(`The value of "size" is out of range. It must be >= 0 && <= %d. Received %v`,
					vm.share(), n),
			}
		}
		b := make([]byte, int(n))
		rand.Read(b)
		return base64.StdEncoding.EncodeToString(b), nil
	case "hash":
		return digest(a)
	}
	return nil, fmt.Errorf("unknown host function crypto.%s", name)
}

// digest hashes comma-separated pieces in base64. A third argument is the key of an HMAC.
func digest(a args) (any, error) {
	h, ok := map[string]func() hash.Hash{
		"md5": md5.New, "sha1": sha1.New, "sha-1": sha1.New, "sha224": sha256.New224,
		"sha256": sha256.New, "sha-256": sha256.New, "sha384": sha512.New384, "sha-384": sha512.New384,
		"sha512": sha512.New, "sha-512": sha512.New, "sha512-256": sha512.New512_256,
		"sha3-256": func() hash.Hash { return sha3.New256() }, "sha3-512": func() hash.Hash { return sha3.New512() },
	}[strings.ReplaceAll(a.str(0), "rsa-", "")]
	if !ok {
		return nil, &hostError{Message: "Digest method not supported", Code: "ERR_OSSL_EVP_UNSUPPORTED"}
	}
	made := h()
	if len(a) > 2 {
		if key, ok := a[2].(string); ok {
			k, err := base64.StdEncoding.DecodeString(key)
			if err != nil {
				return nil, err
			}
			made = hmac.New(h, k)
		}
	}
	for piece := range strings.SplitSeq(a.str(1), ",") {
		data, err := base64.StdEncoding.DecodeString(piece)
		if err != nil {
			return nil, err
		}
		made.Write(data)
	}
	return base64.StdEncoding.EncodeToString(made.Sum(nil)), nil
}

// codec converts between strings and bytes; bytes are in base64.
func codec(name string, a args) (any, error) {
	if name == "encode" {
		return base64.StdEncoding.EncodeToString([]byte(a.str(0))), nil
	}
	data, err := base64.StdEncoding.DecodeString(a.str(0))
	if err != nil {
		return nil, err
	}
	switch a.str(1) {
	case "utf-16le":
		units := make([]uint16, len(data)/2)
		for i := range units {
			units[i] = uint16(data[2*i]) | uint16(data[2*i+1])<<8
		}
		return string(utf16.Decode(units)), nil
	case "windows-1252":
		return latin(data), nil
	}
	if a.bool(2) && !utf8.Valid(data) {
		return nil, &hostError{
			Name: "TypeError", Message: "The encoded data was not valid for encoding utf-8",
			Code: "ERR_ENCODING_INVALID_ENCODED_DATA",
		}
	}
	return decodeUTF8(data), nil
}

// decodeUTF8 replaces invalid UTF-8 as browsers do: one U+FFFD for each maximal prefix of a
// character.
func decodeUTF8(data []byte) string {
	if !utf8.Valid(data) {
		data, _ = unicode.UTF8.NewDecoder().Bytes(data) // it replaces errors
	}
	return string(data)
}

// latin decodes windows-1252. The web uses it for the labels latin1 and ascii, too.
func latin(data []byte) string {
	const upper = "€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ"
	table := []rune(upper)
	out := make([]rune, len(data))
	for i, c := range data {
		out[i] = rune(c)
		if c >= 0x80 && c < 0xA0 {
			out[i] = table[c-0x80]
		}
	}
	return string(out)
}

var errNotDir = errors.New("not a directory")
