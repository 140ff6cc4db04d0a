package modelapi

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/plumb-eval/plumb/internal/doc"
)

const (
	// maxRemembered is the largest valid number of concurrent requests, maxRememberedFiles the
	// largest number of files.
	maxRemembered      = 10_000
	maxRememberedFiles = 100
)

// memory is a directory that stores the number of concurrent requests that a provider accepted from
// a key. Each lane has its own file, which is replaced atomically, so that several processes can
// use the directory. A lane only starts with the number, so a missing or damaged file does no harm.
// "" stores nothing.
type memory string

// file returns the file of a lane. Its name is a hash, which does not reveal the key or the host.
// The port is not part of it, because local servers change their ports.
func (m memory) file(k laneKey) string {
	host := k.host
	if u, err := url.Parse(k.host); err == nil {
		host = u.Hostname()
	}
	sum := sha256.Sum256(slices.Concat([]byte("concurrency\x00"+k.provider+"\x00"+host+"\x00"), k.key[:]))
	return filepath.Join(string(m), hex.EncodeToString(sum[:16]))
}

// read returns the stored number of a lane, or 0.
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

// write stores a number. After an error, the next run starts without one.
func (m memory) write(k laneKey, n int) {
	if m == "" || os.MkdirAll(string(m), 0o700) != nil {
		return
	}
	_ = doc.Write(m.file(k), func(f *doc.File) error {
		_, err := io.WriteString(f, strconv.Itoa(min(n, maxRemembered)))
		return err
	})
	m.prune()
}

// prune removes the oldest files if there are too many.
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
