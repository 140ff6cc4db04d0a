package modelapi

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/plumb-eval/plumb/internal/doc"
)

const (
	// maxRemembered bounds a number of concurrent requests that is believed, and maxRememberedFiles
	// how many are kept.
	maxRemembered      = 10_000
	maxRememberedFiles = 100
)

// memory is a directory that keeps, from run to run, how many concurrent requests a provider
// accepted from a key. Each lane has a file of its own, which is replaced as a whole, so that
// several processes can use the directory. What is read from it is only where a lane starts: a file
// that is missing or damaged does no harm. "" keeps nothing.
type memory string

// file names the file of a lane by a hash, from which neither the key nor the host can be read. The
// port is not part of it: local servers change theirs.
func (m memory) file(k laneKey) string {
	host := k.host
	if u, err := url.Parse(k.host); err == nil {
		host = u.Hostname()
	}
	sum := sha256.Sum256(slices.Concat([]byte("concurrency\x00"+k.provider+"\x00"+host+"\x00"), k.key[:]))
	return filepath.Join(string(m), hex.EncodeToString(sum[:16]))
}

// read returns the number that a lane accepted last time, or 0.
func (m memory) read(k laneKey) int {
	if m == "" {
		return 0
	}
	data, err := doc.Read(m.file(k), 16)
	n, notNumber := strconv.Atoi(string(data))
	if err != nil || notNumber != nil || n < 0 || n > maxRemembered {
		return 0
	}
	return n
}

// write keeps a number. Its errors have no consequence: the next run starts as a first run does.
func (m memory) write(k laneKey, n int) {
	if m == "" || os.MkdirAll(string(m), 0o700) != nil {
		return
	}
	_ = doc.Write(m.file(k), func(f *doc.File) error {
		_, err := f.WriteString(strconv.Itoa(min(n, maxRemembered)))
		return err
	})
	m.prune()
}

// prune removes the files that were written first, when there are too many.
func (m memory) prune() {
	entries, err := os.ReadDir(string(m))
	if err != nil || len(entries) <= maxRememberedFiles {
		return
	}
	var files []fs.FileInfo
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			files = append(files, info)
		}
	}
	slices.SortFunc(files, func(a, b fs.FileInfo) int {
		return cmp.Or(b.ModTime().Compare(a.ModTime()), cmp.Compare(a.Name(), b.Name()))
	})
	for _, info := range files[min(len(files), maxRememberedFiles):] {
		_ = os.Remove(filepath.Join(string(m), info.Name())) // another process may have removed it
	}
}
