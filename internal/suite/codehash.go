package suite

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/plumb-eval/plumb/digest"
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/files"
	"github.com/plumb-eval/plumb/internal/script"
)

// codeHash returns the suite hash of a suite in code. It is the SHA-256 of the line
// "plumb-code-v1\n" followed by one line "<name> <hash>\n" for each file in the bundle, sorted by
// name. The name of a file is its path from the suite's directory, with slashes; the name of a file
// of a package begins at the last node_modules/ in its path, so that the place of installed packages
// does not matter. The hash is that of the file's content, with CRLF as LF. Files that the code
// reads while it runs are not included.
func codeHash(program *script.Program) (string, error) {
	dir := filepath.Dir(program.Entry)
	lines := make([]string, 0, len(program.Inputs))
	for _, input := range program.Inputs {
		data, err := doc.Read(input, doc.SourceBytes)
		if err != nil {
			return "", fmt.Errorf("hash %s: %w", input, doc.Cause(err))
		}
		name, err := filepath.Rel(dir, input)
		if err != nil {
			name = input
		}
		const packages = "node_modules/"
		name = filepath.ToSlash(name)
		if i := strings.LastIndex(name, packages); i >= 0 {
			name = name[i:]
		}
		lines = append(lines, name+" "+digest.Bytes(bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))))
	}
	slices.Sort(lines)
	return digest.Bytes([]byte("plumb-code-v1\n" + strings.Join(slices.Compact(lines), "\n") + "\n")), nil
}

// treeHash returns the hash of the content of a directory: the SHA-256 of one line for each file or
// symbolic link, "<path> <mode> <hash>\n", in order of path. The mode is x for programs, l for
// links, whose hash is that of their target's name, and - for other files. Empty directories do not
// count.
func treeHash(dir string) (string, error) {
	sum := sha256.New()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		mode := "-"
		var hash string
		switch {
		case d.Type()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			if err != nil {
				return err
			}
			mode, hash = "l", digest.Bytes([]byte(target))
		case d.Type().IsRegular():
			info, err := d.Info()
			if err != nil {
				return err
			}
			if info.Mode()&0o111 != 0 {
				mode = "x"
			}
			if hash, err = fileHash(path); err != nil {
				return err
			}
		default: // a socket or a device has no content
			return nil
		}
		_, err = fmt.Fprintf(sum, "%s %s %s\n", filepath.ToSlash(rel), mode, hash)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("hash directory %s: %w", dir, err)
	}
	return "sha256:" + hex.EncodeToString(sum.Sum(nil)), nil
}

func fileHash(path string) (_ string, err error) {
	f, err := files.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
