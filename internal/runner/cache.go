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
	"sync"
	"sync/atomic"
	"time"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/redact"
)

// CacheMode says what the response cache is used for. The zero value is [CacheOff].
type CacheMode string

// The cache modes, as the command line spells them.
const (
	// CacheOff neither reads nor writes the cache.
	CacheOff CacheMode = "off"
	// CacheOn answers from the cache what it holds, and adds what it does not.
	CacheOn CacheMode = "on"
	// CacheOnly asks no model: what the cache does not hold cannot be measured.
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

// cacheVersion is part of each key. It changes when entries of before must not be used any more.
const cacheVersion = "plumb-cache-2"

// Cache keeps answers of models in files below Dir, named by what was asked. Each is written whole
// or not at all, holds a checksum, and is ignored when that does not hold, so that nothing in the
// directory needs to be trusted or repaired; the directory may be deleted at any time. A Cache is
// safe for concurrent use, also by several processes.
type Cache struct {
	// Dir is made, with its parents, when the first answer is kept.
	Dir string
	// Redact knows the secrets. An answer that holds one is not kept: without it, it would be
	// another answer. Optional.
	Redact *redact.Redactor

	hits, misses, damaged atomic.Int64
	note                  sync.Once
}

// CacheStats counts what a cache was asked for.
type CacheStats struct {
	Hits, Misses int64
	// Damaged counts entries among Misses that were there and could not be used.
	Damaged int64
}

// Stats returns the counts so far.
func (c *Cache) Stats() CacheStats {
	return CacheStats{Hits: c.hits.Load(), Misses: c.misses.Load(), Damaged: c.damaged.Load()}
}

// cacheKey names one entry: the SHA-256 of what was asked.
type cacheKey [sha256.Size]byte

func keyOf(asked any) (cacheKey, error) {
	data, err := marshal(struct {
		Version string `json:"version"`
		Asked   any    `json:"asked"`
	}{cacheVersion, asked})
	if err != nil {
		return cacheKey{}, fmt.Errorf("name what was asked: %w", err)
	}
	return sha256.Sum256(data), nil
}

// path spreads the entries over 256 directories.
func (c *Cache) path(key cacheKey) string {
	name := hex.EncodeToString(key[:])
	return filepath.Join(c.Dir, name[:2], name[2:]+".json")
}

// read decodes the entry for key into value, and reports whether there is one that can be used.
func (c *Cache) read(key cacheKey, value any) bool {
	data, err := os.ReadFile(c.path(key))
	if err == nil {
		var body []byte
		if body, err = openEntry(key, data); err == nil {
			err = json.Unmarshal(body, value)
		}
	}
	switch {
	case err == nil:
		c.hits.Add(1)
		return true
	case !errors.Is(err, fs.ErrNotExist):
		c.damaged.Add(1)
	}
	c.misses.Add(1)
	return false
}

// Clean deletes the entries that were never finished, since the process that wrote them was killed
// before that time.
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

// write keeps value as the entry for key. It is not synced: an entry that a crash tears is ignored
// later.
func (c *Cache) write(key cacheKey, value any) error {
	body, err := marshal(value)
	if err != nil {
		return err
	}
	path := c.path(key)
	dir := filepath.Dir(path)
	file, err := os.CreateTemp(dir, "new-*") // made with 0600
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
		_ = os.Remove(file.Name()) // the first error says what went wrong
	}
	return err
}

// An entry is one JSON object whose beginning has a fixed length, so that its checksum is over
// bytes and is checked before anything is parsed:
//
//	{"key":"<64 hex digits>","sha256":"<64 hex digits>","value":<JSON>}
const (
	entryKey   = `{"key":"`
	entrySum   = `","sha256":"`
	entryValue = `","value":`
	entryEnd   = "}\n"
)

func sealEntry(key cacheKey, body []byte) []byte {
	sum := entryChecksum(key, body)
	data := make([]byte, 0, len(body)+256)
	data = append(data, entryKey...)
	data = hex.AppendEncode(data, key[:])
	data = append(data, entrySum...)
	data = hex.AppendEncode(data, sum[:])
	data = append(data, entryValue...)
	data = append(data, body...)
	return append(data, entryEnd...)
}

var errDamaged = errors.New("the cache entry is damaged")

// openEntry returns the value of an entry that was kept for key, or an error when any byte of it
// has changed.
func openEntry(key cacheKey, data []byte) ([]byte, error) {
	rest, ok := bytes.CutPrefix(data, []byte(entryKey))
	rest, ok2 := bytes.CutPrefix(rest, hex.AppendEncode(nil, key[:]))
	rest, ok3 := bytes.CutPrefix(rest, []byte(entrySum))
	if !ok || !ok2 || !ok3 || len(rest) < hex.EncodedLen(sha256.Size) {
		return nil, errDamaged
	}
	sum, rest := rest[:hex.EncodedLen(sha256.Size)], rest[hex.EncodedLen(sha256.Size):]
	rest, ok = bytes.CutPrefix(rest, []byte(entryValue))
	body, ok2 := bytes.CutSuffix(rest, []byte(entryEnd))
	if !ok || !ok2 {
		return nil, errDamaged
	}
	if want := entryChecksum(key, body); !bytes.Equal(sum, hex.AppendEncode(nil, want[:])) {
		return nil, errDamaged
	}
	return body, nil
}

func entryChecksum(key cacheKey, body []byte) [sha256.Size]byte {
	h := sha256.New()
	h.Write(key[:])
	h.Write(body)
	return [sha256.Size]byte(h.Sum(nil))
}

// marshal encodes v as JSON, leaving <, > and & as they are.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// warn notes once that answers cannot be kept: a run goes on without.
func (c *Cache) warn(note func(plumb.Note), err error) {
	c.note.Do(func() {
		if note != nil {
			note(plumb.Note{
				Level: "warning", Text: fmt.Sprintf("answers cannot be kept in the cache: %v", err),
				Hint: "check that " + c.Dir + " can be written, or run with --cache off",
			})
		}
	})
}

// cached is a model whose answers are kept.
type cached struct {
	plumb.Runner
	cache *Cache
	only  bool
	note  func(plumb.Note)
	// target is the part of each key that is the same for all requests.
	target cacheTarget
}

// cacheTarget says who is asked, and how.
type cacheTarget struct {
	Provider   string            `json:"provider"`
	Model      string            `json:"model"`
	BaseURL    string            `json:"baseURL"`
	API        string            `json:"api"`
	Headers    map[string]string `json:"headers,omitempty"`
	Parameters plumb.Parameters  `json:"parameters"`
}

// Run answers from the cache where it can. Errors, and sessions that broke off, are not kept;
// answers that the provider cut off or refused are, since they are what the model says.
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
		report.Runner = c.Info() // the answer is the same whatever the runner is called in this run
		report.Cached, report.CostUSD = true, new(0.0)
		return &report, nil
	}
	if c.only {
		f := plumb.Failuref(plumb.OriginRunner, "the cache has no answer to this prompt from %s:%s (repetition %d, session %d)",
			c.target.Provider, c.target.Model, req.Repetition, req.Session)
		f.Class = plumb.FailureClass{ID: "not-cached", Label: "Not in the cache"}
		f.Hint = "run with --cache on to ask the model and keep its answer"
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
