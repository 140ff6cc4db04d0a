package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"

	"github.com/klauspost/compress/zstd"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/runlog"
)

// chunkBytes is the size of a chunk of a log before it is packed. Each is packed alone, so that any
// part of a log can be read.
const chunkBytes = 1 << 20

// keptBytes is the size of packed chunks that are kept in memory while they wait for the writer.
const keptBytes = 8 << 20

// packer packs and unpacks. Its methods may be called concurrently.
type packer struct {
	to   *zstd.Encoder
	from *zstd.Decoder
}

func newPacker() (z packer, err error) {
	z.to, err = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(chunkBytes))
	if err == nil {
		z.from, err = zstd.NewReader(nil, zstd.WithDecoderMaxMemory(1<<30))
	}
	return z, err
}

func (z packer) pack(data []byte) []byte { return z.to.EncodeAll(data, nil) }

func (z packer) unpack(data []byte) ([]byte, error) { return z.from.DecodeAll(data, nil) }

// packed is a log that is ready for the writer: its chunks, in memory or in a file.
type packed struct {
	bytes  int64
	digest string
	sizes  []int
	memory bytes.Buffer
	file   *os.File
}

// log packs a log. beginning is the digest of the first bytes of the log, if it has so many.
func (z packer) log(log io.Reader, first int64) (p *packed, beginning string, err error) {
	p = &packed{}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("pack the log: %w", err), p.close())
		}
	}()
	sum := sha256.New()
	chunk := make([]byte, chunkBytes)
	var out []byte
	for {
		n, err := io.ReadFull(log, chunk)
		if n > 0 {
			if at := first - p.bytes; at >= 0 && at <= int64(n) && beginning == "" {
				sum.Write(chunk[:at])
				beginning = hexSum(sum)
				sum.Write(chunk[at:n])
			} else {
				sum.Write(chunk[:n])
			}
			p.bytes += int64(n)
			out = z.to.EncodeAll(chunk[:n], out[:0])
			if err := p.add(out); err != nil {
				return p, "", err
			}
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			p.digest = hexSum(sum)
			return p, beginning, nil
		}
		if err != nil {
			return p, "", err
		}
	}
}

func hexSum(h hash.Hash) string { return "sha256:" + hex.EncodeToString(h.Sum(nil)) }

func (p *packed) add(chunk []byte) (err error) {
	p.sizes = append(p.sizes, len(chunk))
	if p.file == nil && p.memory.Len()+len(chunk) > keptBytes {
		if p.file, err = os.CreateTemp("", "plumb-log-*"); err != nil {
			return err
		}
		if _, err = p.memory.WriteTo(p.file); err != nil {
			return err
		}
	}
	if p.file != nil {
		_, err = p.file.Write(chunk)
		return err
	}
	p.memory.Write(chunk)
	return nil
}

// write stores the chunks.
func (p *packed) write(t *tx, run int64) {
	from := io.ReaderAt(bytes.NewReader(p.memory.Bytes()))
	if p.file != nil {
		from = p.file
	}
	offset := int64(0)
	for no, size := range p.sizes {
		chunk := make([]byte, size)
		if _, err := from.ReadAt(chunk, offset); err != nil {
			t.fail(fmt.Errorf("read the packed log: %w", err))
		}
		t.exec("INSERT INTO log_chunk (run, no, bytes) VALUES ($1, $2, $3)", run, no, chunk)
		offset += int64(size)
	}
}

func (p *packed) close() error {
	if p.file == nil {
		return nil
	}
	return errors.Join(p.file.Close(), os.Remove(p.file.Name()))
}

// Log returns the log of a run. The error is [ErrNotFound] if it is not stored, because it was erased,
// is too old, or is in a run directory.
func (s *Store) Log(ctx context.Context, r *Run) (*runlog.Log, error) {
	lines := &stored{ctx: ctx, store: s, run: r.row, bytes: r.Bytes, last: -1}
	if _, err := lines.chunk(0); err != nil {
		return nil, err
	}
	return &runlog.Log{
		Name: "the log of run " + r.ID,
		Open: func() (runlog.Lines, error) {
			return &stored{ctx: ctx, store: s, run: r.row, bytes: r.Bytes, last: -1}, nil
		},
	}, nil
}

// stored reads a log from its chunks. It is for one goroutine.
type stored struct {
	ctx   context.Context //nolint:containedctx // the interface of a reader has none
	store *Store
	run   int64
	bytes int64
	last  int64 // the number of the chunk in text
	text  []byte
}

func (l *stored) chunk(no int64) ([]byte, error) {
	if no == l.last {
		return l.text, nil
	}
	var data []byte
	found := false
	err := l.store.query(l.ctx, "SELECT bytes FROM log_chunk WHERE run = $1 AND no = $2", []any{l.run, no},
		func(rows *sql.Rows) error {
			found = true
			return rows.Scan(&data)
		})
	if err == nil && !found {
		err = plumb.WithHint(fmt.Errorf("read the log of the run: %w", ErrNotFound), "it is not stored, or no longer")
	}
	if err != nil {
		return nil, err
	}
	if l.text, err = l.store.pack.unpack(data); err != nil {
		return nil, fmt.Errorf("unpack chunk %d of a log: %w", no, err)
	}
	l.last = no
	return l.text, nil
}

// ReadAt implements [io.ReaderAt].
func (l *stored) ReadAt(to []byte, offset int64) (n int, err error) {
	for n < len(to) && offset < l.bytes {
		text, err := l.chunk(offset / chunkBytes)
		if err != nil {
			return n, err
		}
		from := int(offset % chunkBytes)
		if from >= len(text) {
			return n, io.ErrUnexpectedEOF
		}
		k := copy(to[n:], text[from:])
		n += k
		offset += int64(k)
	}
	if n < len(to) {
		return n, io.EOF
	}
	return n, nil
}

// Close implements [io.Closer].
func (l *stored) Close() error { return nil }
