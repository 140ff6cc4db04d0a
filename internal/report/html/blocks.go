package html

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"

	"github.com/plumb-eval/plumb/internal/redact"
	"github.com/plumb-eval/plumb/internal/report"
)

// blockWriter writes compressed blocks until the page is full.
type blockWriter struct {
	put    func(n int, block []byte) error
	n      int
	left   int
	raw    bytes.Buffer
	zip    bytes.Buffer
	gz     *gzip.Writer
	redact *redact.Redactor
}

// write adds a block with v as JSON and returns its number, or -1 when it does not fit.
func (b *blockWriter) write(v any) (int, error) {
	b.raw.Reset()
	enc := json.NewEncoder(&b.raw)
	enc.SetEscapeHTML(false) // the JSON is encoded as base64
	if err := enc.Encode(report.Without(b.redact, v)); err != nil {
		return -1, err
	}
	return b.add(b.raw.Bytes())
}

func (b *blockWriter) add(text []byte) (int, error) {
	b.zip.Reset()
	b.gz.Reset(&b.zip)
	if _, err := b.gz.Write(text); err != nil {
		return -1, err
	}
	if err := b.gz.Close(); err != nil {
		return -1, err
	}
	size := base64.StdEncoding.EncodedLen(b.zip.Len())
	if size > b.left {
		return -1, nil
	}
	b.left -= size
	err := b.put(b.n, b.zip.Bytes())
	b.n++
	return b.n - 1, err
}

// blockSpan is a block of a timeline: its number and its count of steps.
type blockSpan [2]int

// reserve is the space that timelines leave for the facts of the sessions after them.
const reserve = 1 << 20

// timeline writes steps as blocks and reports whether all of them fit.
func (b *blockWriter) timeline(steps []step) ([]blockSpan, bool, error) {
	blocks := []blockSpan{}
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	from := 0
	for i := range steps {
		if i == from {
			text.Reset()
			text.WriteByte('[')
		} else {
			text.WriteByte(',')
		}
		if err := enc.Encode(report.Without(b.redact, &steps[i])); err != nil {
			return nil, false, err
		}
		if n := i + 1 - from; n == blockSteps || text.Len() > blockBytes || i+1 == len(steps) {
			text.WriteByte(']')
			if b.left < reserve {
				return blocks, false, nil
			}
			id, err := b.add(text.Bytes())
			if err != nil || id < 0 {
				return blocks, false, err
			}
			blocks = append(blocks, blockSpan{id, n})
			from = i + 1
		}
	}
	return blocks, true, nil
}
