package runner

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/redact"
)

// CacheMode is the use of the response cache. The zero value is [CacheOff].
type CacheMode string

// The cache modes, as the command line spells them.
const (
	// CacheOff neither reads nor writes the cache.
	CacheOff CacheMode = "off"
	// CacheOn answers from the cache if it can, and adds new answers.
	CacheOn CacheMode = "on"
	// CacheOnly sends no request: what is not in the cache cannot be measured.
	CacheOnly CacheMode = "only"
)

// ParseCacheMode reads a mode as the command line spells it.
func ParseCacheMode(s string) (CacheMode, error) {
	switch mode := CacheMode(s); mode {
	case "":
		return CacheOff, nil
	case CacheOff, CacheOn, CacheOnly:
		return mode, nil
	}
	return "", plumb.WithHint(fmt.Errorf("unknown cache mode %q", s), "it is off, on or only")
}

// cacheVersion is part of each key. It changes when earlier entries must not be used any more.
const cacheVersion = "plumb-cache-2"

// Cache stores answers of models in files below Dir, named by a hash of the request. Each file is
// written completely or not at all, and has a checksum. A damaged file is ignored, so the directory
// needs no repair and may be deleted at any time. A Cache is safe for concurrent use, also by
// several processes.
type Cache struct {
	// Dir is created, with its parents, when the first answer is stored.
	Dir string
	// Redact finds secrets. An answer with a secret is not stored: without the secret, it would be
	// another answer. Optional.
	Redact *redact.Redactor

	note sync.Once
}

// cacheKey names one entry: the SHA-256 of the request.
type cacheKey [sha256.Size]byte

func keyOf(asked any) (cacheKey, error) {
	data, err := marshal(struct {
		Version string `json:"version"`
		Asked   any    `json:"asked"`
	}{cacheVersion, asked})
	if err != nil {
		return cacheKey{}, fmt.Errorf("compute the cache key: %w", err)
	}
	return sha256.Sum256(data), nil
}

// path spreads the entries over 256 directories.
func (c *Cache) path(key cacheKey) string {
	name := hex.EncodeToString(key[:])
	return filepath.Join(c.Dir, name[:2], name[2:]+".json")
}

// read decodes the entry for key into value, and reports whether it succeeded.
func (c *Cache) read(key cacheKey, value any) bool {
	path := c.path(key)
	var data []byte
	info, err := os.Lstat(path)
	switch {
	case err == nil && !info.Mode().IsRegular():
		err = errDamaged // Plumb writes no links; one could lead anywhere
	case err == nil:
		data, err = doc.Read(path, doc.SessionBytes)
	}
	if err == nil {
		var body []byte
		if body, err = openEntry(key, data); err == nil {
			err = json.Unmarshal(body, value)
		}
	}
	return err == nil
}

// Clean deletes the incomplete entries of processes that were killed before the given time.
func (c *Cache) Clean(before time.Time) error {
	torn, err := fs.Glob(os.DirFS(c.Dir), "??/new-*")
	for _, name := range torn {
		name = filepath.Join(c.Dir, name)
		if info, statErr := os.Stat(name); statErr == nil && info.ModTime().Before(before) {
			err = errors.Join(err, os.Remove(name))
		}
	}
	if err != nil {
		return fmt.Errorf("clean up the cache: %w", err)
	}
	return nil
}

// write stores value as the entry for key. It does not call fsync: an entry that a crash truncates
// is ignored later.
func (c *Cache) write(key cacheKey, value any) error {
	body, err := marshal(value)
	if err != nil {
		return err
	}
	path := c.path(key)
	dir := filepath.Dir(path)
	file, err := os.CreateTemp(dir, "new-*") // with mode 0600
	if errors.Is(err, fs.ErrNotExist) {
		if err = os.MkdirAll(dir, 0o700); err == nil {
			file, err = os.CreateTemp(dir, "new-*")
		}
	}
	if err != nil {
		return err
	}
	_, err = file.Write(sealEntry(key, body))
	if cerr := file.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		_ = os.Remove(file.Name()) // the first error is reported
	}
	return err
}

// An entry is one JSON object. Its beginning has a fixed length, so that the checksum can be
// checked before the value is parsed:
//
//	{"key":"<64 hex digits>","sha256":"<64 hex digits>","value":<JSON>}
func sealEntry(key cacheKey, body []byte) []byte {
	return slices.Concat(entryHead(key, body), body, []byte(entryEnd))
}

// entryHead is the beginning of an entry, up to its value.
func entryHead(key cacheKey, body []byte) []byte {
	sum := sha256.Sum256(slices.Concat(key[:], body))
	return fmt.Appendf(nil, `{"key":"%x","sha256":"%x","value":`, key, sum)
}

const entryEnd = "}\n"

var errDamaged = errors.New("the cache entry is damaged")

// openEntry returns the value of the entry for key, or an error if any byte of it has changed.
func openEntry(key cacheKey, data []byte) ([]byte, error) {
	start := len(entryHead(key, nil))
	body, ok := bytes.CutSuffix(data, []byte(entryEnd))
	if !ok || len(body) < start || !bytes.Equal(body[:start], entryHead(key, body[start:])) {
		return nil, errDamaged
	}
	return body[start:], nil
}

// marshal encodes v as JSON and does not escape <, > and &.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// warn notes once that answers cannot be stored. The run continues without the cache.
func (c *Cache) warn(note func(plumb.Note), err error) {
	c.note.Do(func() {
		note(plumb.Note{
			Level: "warning", Text: fmt.Sprintf("cannot store answers in the cache: %v", err),
			Hint: "check that " + c.Dir + " can be written, or run with --cache off",
		})
	})
}

// cached is a model with a cache.
type cached struct {
	plumb.Runner
	cache *Cache
	only  bool
	note  func(plumb.Note)
	// target is the part of each key that is the same for all requests.
	target cacheTarget
}

// cacheTarget is the target of a request.
type cacheTarget struct {
	Provider   string            `json:"provider"`
	Model      string            `json:"model"`
	BaseURL    string            `json:"baseURL"`
	API        string            `json:"api"`
	Headers    map[string]string `json:"headers,omitempty"`
	Parameters plumb.Parameters  `json:"parameters"`
}

// Run answers from the cache if it can. It stores complete answers, and those that the provider
// truncated or refused, but no errors and no sessions that broke off.
func (c *cached) Run(ctx context.Context, req plumb.Request) (*plumb.SessionReport, error) {
	key, err := keyOf(struct {
		cacheTarget
		Messages        []plumb.Message `json:"messages"`
		MaxOutputTokens int             `json:"maxOutputTokens"`
		Repetition      int             `json:"repetition"`
		Session         int             `json:"session"`
	}{c.target, req.Messages, req.MaxOutputTokens, req.Repetition, req.Session})
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, ended(ctx)
	}
	var report plumb.SessionReport
	if c.cache.read(key, &report) {
		report.Runner = c.Info() // the runner may have another name in this run
		report.Cached, report.CostUSD = true, new(0.0)
		return &report, nil
	}
	if c.only {
		f := plumb.Failuref(plumb.OriginRunner,
			"the cache has no answer to this prompt from %s:%s (repetition %d, session %d)",
			c.target.Provider, c.target.Model, req.Repetition, req.Session)
		f.Class = plumb.FailureClass{ID: "not-cached", Label: "Not in the cache"}
		f.Hint = "run with --cache on to ask the model and store its answer"
		return nil, f
	}
	fresh, err := c.Runner.Run(ctx, req)
	if err != nil || fresh == nil {
		return fresh, err
	}
	if _, names := redact.Clean(c.cache.Redact, fresh); names != nil {
		return fresh, nil
	}
	if err := c.cache.write(key, fresh); err != nil {
		c.cache.warn(c.note, err)
	}
	return fresh, nil
}
