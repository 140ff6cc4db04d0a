package results

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/files"
)

// span is the position of a block in a file, with the keys that decide whether it is replaced.
type span struct {
	from, to        int64
	runID, runnerID string
}

// positioned is how much of a damaged file is read to find the line of the damage.
const positioned = 1 << 20

// readBlocks finds the blocks of a results file. It holds only one block in memory.
func readBlocks(path string) ([]span, error) {
	err := doc.Regular(path, math.MaxInt64)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var f *os.File
	if err == nil {
		f, err = files.Open(path)
	}
	if err != nil {
		return nil, fmt.Errorf("open results file: %w", err)
	}
	defer f.Close()
	spans, err := scanBlocks(f)
	if damage, ok := errors.AsType[*blockError](err); ok {
		text := make([]byte, min(damage.at, positioned))
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
