package runlog

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	json2 "github.com/go-json-experiment/json"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/encode"
	"github.com/plumb-eval/plumb/internal/redact"
)

const (
	// blobLimit is the size of a line above which its session is written to its own file.
	blobLimit = 256 << 10
	// streamedEvents is the number of events above which a session is encoded while it is written.
	// Such a session is always larger than blobLimit.
	streamedEvents = 10_000
	// syncInterval is the minimum time between two fsyncs, so that many sessions share one.
	syncInterval = 3 * time.Millisecond
	// mostKept is the size of the largest buffer that is reused.
	mostKept = 1 << 20
)

// Writer appends to the log of a run. The callers encode their events. One goroutine writes them in
// batches, makes a batch durable with one fsync, and only then emits its events, in order. Its
// methods may be called concurrently.
type Writer struct {
	// Run is the fold of all events that were emitted, those of earlier processes included. The
	// writing goroutine changes it.
	Run *plumb.Run
	// Torn says that the last line was incomplete, because a process was killed. It was removed.
	Torn bool

	file   *os.File
	blobs  string
	redact *redact.Redactor
	emit   func(plumb.Event, *plumb.Run) error
	index  *Index
	offset int64

	encoder encode.Encoder
	buffers sync.Pool // of pointers to the bytes of a line

	mu     sync.Mutex
	sum    checksum // of all lines so far
	next   *batch
	err    error
	closed bool
	wake   chan struct{}
	done   chan struct{}
}

// batch holds the events that are written and synced together.
type batch struct {
	lines   []byte
	lengths []int // of the lines, without newlines; 0 for an event that is not written
	events  []plumb.Event
	durable bool
	done    chan struct{}
}

func newBatch() *batch { return &batch{done: make(chan struct{})} }

// reusable reports whether a buffer is small enough to be kept for later lines.
func reusable(buffer []byte) bool { return cap(buffer) <= mostKept }

// reset returns an empty batch that reuses the memory of b.
func (b *batch) reset() *batch {
	if !reusable(b.lines) {
		return newBatch()
	}
	clear(b.events)
	return &batch{lines: b.lines[:0], lengths: b.lengths[:0], events: b.events[:0], done: make(chan struct{})}
}

// Continue opens the log of a run for writing, after the events that earlier processes wrote. It
// fills x with their positions, and then with that of each new event. emit gets each new event, in
// order, with the state after it; only one goroutine calls it, and its error breaks the log.
func Continue(d *Dir, x *Index, r *redact.Redactor, emit func(plumb.Event, *plumb.Run) error) (*Writer, error) {
	w := &Writer{
		Run: &plumb.Run{}, blobs: d.Join(BlobsDir), redact: r, emit: emit, index: x,
		next: newBatch(), wake: make(chan struct{}, 1), done: make(chan struct{}),
	}
	x.log, x.run = At(d.Path), w.Run
	whole, err := x.fill()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	w.sum, w.offset, w.Torn = whole.sum, whole.end, whole.torn
	w.file, err = os.OpenFile(d.Join(EventsFile), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the run log: %w", err)
	}
	if w.Torn {
		if err := w.file.Truncate(w.offset); err != nil {
			err = fmt.Errorf("remove the incomplete last line of the run log: %w", err)
			return nil, errors.Join(err, w.file.Close())
		}
	}
	go w.write()
	return w, nil
}

// Append adds ev to the log without its secrets, and returns it as it was recorded. durable means
// that the event must survive a crash once the returned channel is closed. The channel is closed
// when the event has been written and emitted, or the log is broken.
func (w *Writer) Append(ev plumb.Event, durable bool) (stored plumb.Event, done <-chan struct{}, err error) {
	ev.At = ev.At.UTC().Truncate(time.Millisecond)
	report, names := redact.Clean(w.redact, ev.Report)
	if names != nil {
		report.Redacted = union(report.Redacted, names) // report is a copy
	}
	ev.Report = nil
	clean, _ := redact.Clean(w.redact, &ev)
	clean.Report = report
	line, _ := w.buffers.Get().(*[]byte)
	if line == nil {
		line = new([]byte)
	}
	if *line, err = w.encode((*line)[:0], clean); err == nil {
		done, err = w.add(*clean, *line, durable)
	}
	if reusable(*line) {
		w.buffers.Put(line)
	}
	return *clean, done, err
}

// union returns the sorted names of both lists.
func union(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

// EmitOnly emits ev in its turn without writing it to the log, for events that only matter to live
// views.
func (w *Writer) EmitOnly(ev plumb.Event) error {
	clean, _ := redact.Clean(w.redact, &ev)
	_, err := w.add(*clean, nil, false)
	return err
}

// add queues ev for the writing goroutine. line is its encoded form; nil writes nothing.
func (w *Writer) add(ev plumb.Event, line []byte, durable bool) (<-chan struct{}, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return nil, w.err
	}
	if w.closed {
		return nil, errors.New("the run log is closed")
	}
	b, length := w.next, 0
	if line != nil {
		from := len(b.lines)
		b.lines = w.sum.seal(b.lines, line)
		length = len(b.lines) - from - 1
	}
	b.lengths = append(b.lengths, length)
	b.events = append(b.events, ev)
	b.durable = b.durable || durable
	select {
	case w.wake <- struct{}{}:
	default:
	}
	return b.done, nil
}

// Commit appends ev, waits until it is durable and emitted, and returns it as it was recorded.
func (w *Writer) Commit(ev plumb.Event) (plumb.Event, error) { return w.Wait(ev, true) }

// Wait appends ev and waits until it is written and emitted. An event that is not durable survives
// a crash of this process, but not of the machine.
func (w *Writer) Wait(ev plumb.Event, durable bool) (plumb.Event, error) {
	ev, done, err := w.Append(ev, durable)
	if err != nil {
		return ev, err
	}
	<-done
	return ev, w.Err()
}

// Drain waits until all events so far are written and emitted.
func (w *Writer) Drain() {
	w.mu.Lock()
	done := w.next.done
	w.mu.Unlock()
	select {
	case w.wake <- struct{}{}:
	default:
	}
	<-done
}

// Err returns the error that broke the log, or nil.
func (w *Writer) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// Close writes the remaining events, and returns the error that broke the log, or nil.
func (w *Writer) Close() error {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	select {
	case w.wake <- struct{}{}:
	default:
	}
	<-w.done
	return errors.Join(w.Err(), w.file.Close())
}

// write is the goroutine that owns the file.
func (w *Writer) write() {
	defer close(w.done)
	var synced time.Time
	spare := newBatch()
	for range w.wake {
		w.mu.Lock()
		durable := w.next.durable
		w.mu.Unlock()
		if durable {
			<-time.After(syncInterval - time.Since(synced)) // so that later events share the fsync
		}
		w.mu.Lock()
		b := w.next
		w.next = spare
		closed := w.closed
		w.mu.Unlock()
		if err := w.flush(b); err != nil {
			w.mu.Lock()
			w.err = errors.Join(w.err, err)
			w.mu.Unlock()
		}
		if b.durable {
			synced = time.Now()
		}
		close(b.done)
		if closed {
			return
		}
		spare = b.reset()
	}
}

func (w *Writer) flush(b *batch) error {
	if err := w.Err(); err != nil {
		return nil //nolint:nilerr // the log is already broken, and later events are dropped
	}
	if _, err := w.file.Write(b.lines); err != nil {
		return fmt.Errorf("write the run log: %w", err)
	}
	if b.durable {
		if err := w.file.Sync(); err != nil {
			return fmt.Errorf("sync the run log: %w", err)
		}
	}
	for i, ev := range b.events {
		if length := b.lengths[i]; length > 0 {
			if err := w.index.add(ev, w.offset, length); err != nil {
				return err
			}
			w.offset += int64(length) + 1
		}
		if err := w.Run.Apply(ev); err != nil {
			return err
		}
		if err := w.emit(ev, w.Run); err != nil {
			return err
		}
	}
	return nil
}

// encode appends ev as a line of the log. It writes a large session to a blob first.
func (w *Writer) encode(line []byte, ev *plumb.Event) (_ []byte, err error) {
	large := ev.Report != nil && len(ev.Report.Events) > streamedEvents
	if !large {
		line, err = w.encoder.Append(line, ev)
	}
	if large || ev.Report != nil && len(line) > blobLimit {
		short := *ev
		short.Blob, err = w.writeBlob(ev.Report)
		short.Report = nil
		if err == nil {
			line, err = w.encoder.Append(line[:0], &short)
		}
	}
	if err != nil {
		return line, fmt.Errorf("encode event %s of case %s: %w", ev.Type, ev.Case, err)
	}
	return line, nil
}

// writeBlob writes a report as one line of JSON to a file named by its SHA-256, and returns that
// name.
func (w *Writer) writeBlob(report *plumb.SessionReport) (name string, err error) {
	if err := os.MkdirAll(w.blobs, 0o700); err != nil {
		return "", fmt.Errorf("create the blob directory: %w", err)
	}
	f, err := os.CreateTemp(w.blobs, ".session-*") // created with 0600
	if err != nil {
		return "", fmt.Errorf("write a session: %w", err)
	}
	sum := sha256.New()
	out := bufio.NewWriterSize(io.MultiWriter(f, sum), 64<<10)
	err = json2.MarshalWrite(out, report, encode.Options())
	_ = out.WriteByte('\n') // Flush returns the error
	err = errors.Join(err, out.Flush(), f.Sync(), f.Close())
	name = hex.EncodeToString(sum.Sum(nil))
	if err == nil {
		err = os.Rename(f.Name(), filepath.Join(w.blobs, name))
	}
	if err != nil {
		_ = os.Remove(f.Name()) // err says what went wrong
		return "", fmt.Errorf("write a session: %w", err)
	}
	return name, nil
}
