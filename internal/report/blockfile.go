package report

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/gofrs/flock"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/doc"
)

// resolve follows symbolic links. The file is replaced, so a link to it must be resolved first to
// survive.
func resolve(path string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	switch {
	case err == nil:
		return real, nil
	case errors.Is(err, fs.ErrNotExist):
		return path, nil
	}
	return "", fmt.Errorf("find results file: %w", err)
}

// lock locks the file at path against other processes. The lock is a file beside it, because the
// file itself is replaced.
func lock(path string) (unlock func() error, err error) {
	// An interrupted run still appends its blocks, so this wait has its own limit.
	ctx, cancel := context.WithTimeout(context.Background(), lockWait)
	defer cancel()
	name := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".lock")
	for {
		l := flock.New(name, flock.SetPermissions(0o600))
		if _, err := l.TryLockContext(ctx, 50*time.Millisecond); err != nil {
			return nil, err
		}
		// The previous owner may have removed the lock file meanwhile. Then this lock protects
		// nothing.
		held, err := l.Stat()
		if err == nil {
			var there fs.FileInfo
			if there, err = os.Stat(name); err == nil && os.SameFile(held, there) {
				return func() error {
					removed := os.Remove(name) // fails on Windows while another process waits; that process removes it
					if err := l.Close(); err != nil {
						return err
					}
					if removed != nil {
						_ = os.Remove(name)
					}
					return nil
				}, nil
			}
		}
		if err := l.Close(); err != nil {
			return nil, err
		}
	}
}

// lockWait limits how long to wait for another process that writes its blocks.
const lockWait = time.Minute

// span is the position of a block in a file, with the keys that decide whether it is replaced.
type span struct {
	from, to        int64
	runID, runnerID string
}

// readBlocks finds the blocks of a results file. It holds only one block in memory.
func readBlocks(path string) ([]span, error) {
	err := doc.Regular(path, math.MaxInt64)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var f *os.File
	if err == nil {
		f, err = os.Open(path)
	}
	if err != nil {
		return nil, fmt.Errorf("open results file: %w", err)
	}
	defer f.Close()
	spans, err := scanBlocks(f)
	if damage, ok := errors.AsType[*blockError](err); ok {
		text := make([]byte, min(damage.at, head))
		n, _ := f.ReadAt(text, 0)
		pos := doc.Position(path, text[:n], n)
		err = fmt.Errorf("line %d: %s", pos.Line, damage.message)
	}
	if err != nil {
		return nil, plumb.WithHint(fmt.Errorf("results file %s: %w", path, err),
			"give another --output file, or repair this one; plumb did not change it")
	}
	return spans, nil
}

// blockError is what is wrong at a byte of a results file.
type blockError struct {
	at      int64
	message string
}

func (e *blockError) Error() string { return e.message }

// scanBlocks finds the blocks in a results document: a list of objects, a single object, or
// nothing.
func scanBlocks(r io.Reader) ([]span, error) {
	dec := jsontext.NewDecoder(r, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	var spans []span
	results := false // whether one of the objects is a block
	next := func() error {
		raw, err := dec.ReadValue()
		at := dec.InputOffset()
		if err != nil {
			return &blockError{at, fmt.Sprintf("not JSON at byte %d: %v", at, err)}
		}
		x := span{from: at - int64(len(raw)), to: at}
		if raw.Kind() != '{' {
			return &blockError{x.from, fmt.Sprintf("at byte %d: expected a block of results, which is a JSON object", x.from)}
		}
		if twice := doc.Unique("", 1, raw, doc.Foreign()...); len(twice) > 0 {
			return &blockError{x.to, twice[0].Message + " in the block that ends here"}
		}
		var keys map[string]jsontext.Value
		if json.Unmarshal(raw, &keys) == nil {
			results = results || keys["run_metadata"] != nil || keys["suite_version"] != nil && keys["results"] != nil
		}
		var b struct {
			Metadata struct {
				RunID    any `json:"run_id"`
				RunnerID any `json:"runner_id"`
			} `json:"run_metadata"`
		}
		if json.Unmarshal(raw, &b) == nil { // another shape was not written by Plumb and is kept
			x.runID, _ = b.Metadata.RunID.(string)
			x.runnerID, _ = b.Metadata.RunnerID.(string)
		}
		spans = append(spans, x)
		return nil
	}
	switch dec.PeekKind() {
	case '{':
		if err := next(); err != nil {
			return nil, err
		}
	case '[':
		_, _ = dec.ReadToken() // the bracket
		for dec.PeekKind() != ']' {
			if err := next(); err != nil {
				return nil, err
			}
		}
		if _, err := dec.ReadToken(); err != nil {
			return nil, fmt.Errorf("not JSON at byte %d: %w", dec.InputOffset(), err)
		}
	default:
		if _, err := dec.ReadToken(); errors.Is(err, io.EOF) {
			return nil, nil
		}
		return nil, errors.New("not a results file: expected a JSON list or a single object")
	}
	end := dec.InputOffset()
	if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("more text after the results, at byte %d", end)
	}
	if len(spans) > 0 && !results {
		return nil, errors.New("not a results file: no object in it has run_metadata")
	}
	return spans, nil
}
