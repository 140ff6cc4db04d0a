package run

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	json2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/files"
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
)

// log is the append-only event log of a run. The callers encode their events. One goroutine writes
// them in batches, makes a batch durable with one fsync, and only then emits its events, in order.
type log struct {
	file   *os.File
	blobs  string
	redact *redact.Redactor
	emit   func(plumb.Event) error
	// onWritten is called with the position of each event's line, before the event is emitted.
	onWritten func(ev plumb.Event, offset int64, length int) error
	offset    int64

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
	lengths []int // of the lines, without newlines; -1 for an event that is not written
	events  []plumb.Event
	durable bool
	done    chan struct{}
}

func newBatch() *batch { return &batch{done: make(chan struct{})} }

// reset returns an empty batch that reuses the memory of b.
func (b *batch) reset() *batch {
	const most = 1 << 20 // larger buffers are freed
	if cap(b.lines) > most {
		return newBatch()
	}
	clear(b.events)
	return &batch{lines: b.lines[:0], lengths: b.lengths[:0], events: b.events[:0], done: make(chan struct{})}
}

// openLog opens the log of a run directory for appending, and starts the goroutine that writes it.
// The caller must have removed an incomplete last line. sum is the checksum of the existing lines.
func openLog(
	d *Dir, sum checksum, r *redact.Redactor, onWritten func(plumb.Event, int64, int) error,
	emit func(plumb.Event) error,
) (*log, error) {
	file, err := os.OpenFile(d.Join(EventsFile), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the run log: %w", err)
	}
	offset, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the run log: %w", err), file.Close())
	}
	l := &log{
		file: file, blobs: d.Join(BlobsDir), redact: r, onWritten: onWritten, emit: emit, offset: offset, sum: sum,
		next: newBatch(), wake: make(chan struct{}, 1), done: make(chan struct{}),
	}
	go l.write()
	return l, nil
}

// append adds ev to the log without its secrets, and returns it as it was recorded. durable means
// that the event must survive a crash once the returned channel is closed. The channel is closed
// when the event has been written and emitted, or the log is broken.
func (l *log) append(ev plumb.Event, durable bool) (plumb.Event, <-chan struct{}, error) {
	ev.At = ev.At.UTC().Truncate(time.Millisecond)
	report, names := redact.Clean(l.redact, ev.Report)
	if names != nil {
		report.Redacted = union(report.Redacted, names) // report is a copy
	}
	ev.Report = nil
	stored, _ := redact.Clean(l.redact, ev)
	stored.Report = report
	line, err := l.encode(stored)
	if err != nil {
		return stored, nil, err
	}
	done, err := l.add(stored, line, durable)
	return stored, done, err
}

// union returns the sorted names of both lists.
func union(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

// emitOnly emits ev in its turn without writing it to the log, for events that only matter to live
// views.
func (l *log) emitOnly(ev plumb.Event) error {
	ev, _ = redact.Clean(l.redact, ev)
	_, err := l.add(ev, nil, false)
	return err
}

// add queues ev for the writing goroutine. line is its encoded form; nil writes nothing.
func (l *log) add(ev plumb.Event, line []byte, durable bool) (<-chan struct{}, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return nil, l.err
	}
	if l.closed {
		return nil, errors.New("the run log is closed")
	}
	b, length := l.next, -1
	if line != nil {
		from := len(b.lines)
		b.lines = l.sum.seal(b.lines, line)
		length = len(b.lines) - from - 1
	}
	b.lengths = append(b.lengths, length)
	b.events = append(b.events, ev)
	b.durable = b.durable || durable
	select {
	case l.wake <- struct{}{}:
	default:
	}
	return b.done, nil
}

// commit appends ev, waits until it is durable and emitted, and returns it as it was recorded.
func (l *log) commit(ev plumb.Event) (plumb.Event, error) { return l.wait(ev, true) }

// wait appends ev and waits until it is written and emitted. An event that is not durable survives
// a crash of this process, but not of the machine.
func (l *log) wait(ev plumb.Event, durable bool) (plumb.Event, error) {
	ev, done, err := l.append(ev, durable)
	if err != nil {
		return ev, err
	}
	<-done
	return ev, l.failed()
}

// drain waits until all events so far are written and emitted.
func (l *log) drain() {
	l.mu.Lock()
	done := l.next.done
	l.mu.Unlock()
	select {
	case l.wake <- struct{}{}:
	default:
	}
	<-done
}

// failed returns the error that broke the log, or nil.
func (l *log) failed() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// close writes the remaining events, and returns the error that broke the log, or nil.
func (l *log) close() error {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	select {
	case l.wake <- struct{}{}:
	default:
	}
	<-l.done
	return errors.Join(l.failed(), l.file.Close())
}

// write is the goroutine that owns the file.
func (l *log) write() {
	defer close(l.done)
	var synced time.Time
	spare := newBatch()
	for range l.wake {
		l.mu.Lock()
		durable := l.next.durable
		l.mu.Unlock()
		if wait := syncInterval - time.Since(synced); durable && wait > 0 && !synced.IsZero() {
			<-time.After(wait) // so that later events share the fsync
		}
		l.mu.Lock()
		b := l.next
		l.next = spare
		closed := l.closed
		l.mu.Unlock()
		if len(b.events) > 0 {
			if err := l.flush(b); err != nil {
				l.mu.Lock()
				l.err = errors.Join(l.err, err)
				l.mu.Unlock()
			}
			if b.durable {
				synced = time.Now()
			}
		}
		close(b.done)
		if closed {
			return
		}
		spare = b.reset()
	}
}

func (l *log) flush(b *batch) error {
	if err := l.failed(); err != nil {
		return nil //nolint:nilerr // the log is already broken, and later events are dropped
	}
	if len(b.lines) > 0 {
		if _, err := l.file.Write(b.lines); err != nil {
			return fmt.Errorf("write the run log: %w", err)
		}
	}
	if b.durable {
		if err := l.file.Sync(); err != nil {
			return fmt.Errorf("sync the run log: %w", err)
		}
	}
	for i, ev := range b.events {
		if length := b.lengths[i]; length >= 0 {
			if err := l.onWritten(ev, l.offset, length); err != nil {
				return err
			}
			l.offset += int64(length) + 1
		}
		if err := l.emit(ev); err != nil {
			return err
		}
	}
	return nil
}

// encode returns ev as a line of the log. It writes a large session to a blob first.
func (l *log) encode(ev plumb.Event) (line []byte, err error) {
	large := ev.Report != nil && len(ev.Report.Events) > streamedEvents
	if !large {
		line, err = marshal(&ev)
	}
	if large || ev.Report != nil && len(line) > blobLimit {
		ev.Blob, err = l.writeBlob(ev.Report)
		ev.Report = nil
		if err == nil {
			line, err = marshal(&ev)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("encode event %s of case %s: %w", ev.Type, ev.Case, err)
	}
	return line, nil
}

// encoding leaves <, > and & as they are.
func encoding() json2.Options {
	return json2.JoinOptions(jsonv1.DefaultOptionsV1(), jsontext.EscapeForHTML(false))
}

func marshal(v any) ([]byte, error) { return json2.Marshal(v, encoding()) }

// writeBlob writes a report as one line of JSON to a file named by its SHA-256, and returns that
// name.
func (l *log) writeBlob(report *plumb.SessionReport) (name string, err error) {
	if err := os.MkdirAll(l.blobs, 0o700); err != nil {
		return "", fmt.Errorf("create the blob directory: %w", err)
	}
	f, err := os.CreateTemp(l.blobs, ".session-*") // created with 0600
	if err != nil {
		return "", fmt.Errorf("write a session: %w", err)
	}
	sum := sha256.New()
	out := bufio.NewWriterSize(io.MultiWriter(f, sum), 64<<10)
	err = json2.MarshalWrite(out, report, encoding())
	_ = out.WriteByte('\n') // Flush returns the error
	err = errors.Join(err, out.Flush(), f.Sync(), f.Close())
	name = hex.EncodeToString(sum.Sum(nil))
	if err == nil {
		err = os.Rename(f.Name(), filepath.Join(l.blobs, name))
	}
	if err != nil {
		_ = os.Remove(f.Name()) // err says what went wrong
		return "", fmt.Errorf("write a session: %w", err)
	}
	return name, nil
}

// Read calls fn with the events of the run directory at path, in order, including sessions. It
// ignores an incomplete last line. Any other damage is an error that names the line. fn may keep
// the events.
func Read(path string, fn func(plumb.Event) error) error {
	_, err := scan(path, func(line []byte, _ int64) error {
		ev, err := decode(path, line)
		if err != nil {
			return err
		}
		return fn(ev)
	})
	return err
}

// errNotStarted means that a process was killed before it began the run.
var errNotStarted = errors.New("the log has no run-started event")

// NotStarted reports whether err is that of reading a run that never began: its log is missing or
// empty, so nothing was asked.
func NotStarted(err error) bool {
	return errors.Is(err, errNotStarted) || errors.Is(err, fs.ErrNotExist)
}

// ReadInfo returns the description of the run in the run directory at path. It reads only the
// beginning of the log.
func ReadInfo(path string) (*plumb.RunInfo, error) {
	var info *plumb.RunInfo
	found := errors.New("found")
	_, err := scan(path, func(line []byte, _ int64) error {
		var h head
		if err := unmarshal(line, &h); err != nil {
			return err
		}
		info = h.Info
		return found
	})
	if errors.Is(err, found) {
		err = nil
	}
	if err == nil && info == nil {
		err = fmt.Errorf("read %s: %w", filepath.Join(path, EventsFile), errNotStarted)
	}
	return info, err
}

// Fold reads the run directory at path and returns the state of its run.
func Fold(path string) (*plumb.Run, error) { return FoldWithout(path, nil) }

// FoldWithout is Fold for a log that may hold secrets, such as a log of an earlier version. It
// removes the given secrets.
func FoldWithout(path string, secrets *redact.Redactor) (*plumb.Run, error) {
	r := &plumb.Run{}
	_, err := fold(path, r, secrets, func(plumb.Event, []byte, int64) error { return nil })
	if err == nil && r.StartedAt.IsZero() {
		err = fmt.Errorf("read %s: %w", filepath.Join(path, EventsFile), errNotStarted)
	}
	return r, err
}

// fold applies the log of the run directory at path to r. After each event it calls fn with the
// event, which has no session and no judgement, and with its line and the offset of the line.
func fold(
	path string, r *plumb.Run, secrets *redact.Redactor, fn func(ev plumb.Event, line []byte, at int64) error,
) (extent, error) {
	return scan(path, func(line []byte, at int64) error {
		var h head
		if err := unmarshal(line, &h); err != nil {
			return err
		}
		ev, _ := redact.Clean(secrets, h.Event) // before Apply shortens texts
		if err := r.Apply(ev); err != nil {
			return err
		}
		return fn(ev, line, at)
	})
}

// head is the part of an event that the fold needs. Its own fields hide sessions and judgements,
// which are most of the bytes, so that they are skipped.
type head struct {
	plumb.Event
	Report    struct{} `json:"report"`
	Judgement struct{} `json:"judgement"`
}

// ReadFigures calls fn with the events of the run directory at path, in order, and the state of the
// run after each. Of sessions and judgements the events have only what comparisons need, so that
// reading them costs a fraction of [Read]. It removes the given secrets.
func ReadFigures(path string, secrets *redact.Redactor, fn func(plumb.Event, *plumb.Run) error) (*plumb.Run, error) {
	r := &plumb.Run{}
	_, err := scan(path, func(line []byte, _ int64) error {
		var b brief
		if err := unmarshal(line, &b); err != nil {
			return err
		}
		if b.Blob != "" {
			data, err := readBlob(path, b.Blob)
			if err == nil {
				err = unmarshal(data, &b.Report)
			}
			if err != nil {
				return fmt.Errorf("read session %s: %w", b.Blob, err)
			}
		}
		ev, _ := redact.Clean(secrets, b.event())
		if err := r.Apply(ev); err != nil {
			return err
		}
		return fn(ev, r)
	})
	if err == nil && r.StartedAt.IsZero() {
		err = fmt.Errorf("read %s: %w", filepath.Join(path, EventsFile), errNotStarted)
	}
	return r, err
}

// brief is the part of an event that [ReadFigures] reads. Its own fields hide the rest of sessions
// and judgements, so that it is skipped.
type brief struct {
	plumb.Event
	Report    *briefReport    `json:"report"`
	Judgement *briefJudgement `json:"judgement"`
}

type briefReport struct {
	SessionID    string           `json:"sessionId"`
	Usage        plumb.Usage      `json:"usage"`
	FinalOutput  string           `json:"finalOutput"`
	StartedAt    *time.Time       `json:"startedAt"`
	DurationMs   int64            `json:"durationMs"`
	LatencyMs    int64            `json:"latencyMs"`
	Model        string           `json:"model"`
	Fingerprint  string           `json:"fingerprint"`
	RequestID    string           `json:"requestId"`
	Effective    plumb.Parameters `json:"effective"`
	CostUSD      *float64         `json:"costUsd"`
	Cached       bool             `json:"cached"`
	Recorded     bool             `json:"recorded"`
	AgentVersion string           `json:"agentVersion"`
	Steps        int              `json:"steps"`
	Offered      []plumb.Offer    `json:"offered"`
}

type briefJudgement struct {
	Outcome plumb.Outcome  `json:"outcome"`
	Status  plumb.Status   `json:"status"`
	Score   float64        `json:"score"`
	Failure *plumb.Failure `json:"failure"`
}

// event returns b as an event.
func (b *brief) event() plumb.Event {
	ev := b.Event
	ev.Report, ev.Judgement, ev.Blob = nil, nil, ""
	if r := b.Report; r != nil {
		ev.Report = &plumb.SessionReport{
			SessionID: r.SessionID, Usage: r.Usage, FinalOutput: r.FinalOutput, StartedAt: r.StartedAt,
			DurationMs: r.DurationMs, LatencyMs: r.LatencyMs, Model: r.Model, Fingerprint: r.Fingerprint,
			RequestID: r.RequestID, Effective: r.Effective, CostUSD: r.CostUSD, Cached: r.Cached,
			Recorded: r.Recorded, AgentVersion: r.AgentVersion, Steps: r.Steps, Offered: r.Offered,
		}
	}
	if j := b.Judgement; j != nil {
		ev.Judgement = &plumb.Judgement{Outcome: j.Outcome, Status: j.Status, Score: j.Score, Failure: j.Failure}
	}
	return ev
}

func decode(path string, line []byte) (plumb.Event, error) {
	var ev plumb.Event
	if err := unmarshal(line, &ev); err != nil {
		return ev, err
	}
	if ev.Blob == "" {
		return ev, nil
	}
	data, err := readBlob(path, ev.Blob)
	if err != nil {
		return ev, err
	}
	if err := unmarshal(data, &ev.Report); err != nil {
		return ev, fmt.Errorf("read session %s: %w", ev.Blob, err)
	}
	ev.Blob = ""
	return ev, nil
}

func readBlob(path, name string) ([]byte, error) {
	if filepath.Base(name) != name {
		return nil, fmt.Errorf("blob name %q is not a file name", name)
	}
	data, err := doc.Read(filepath.Join(path, BlobsDir, name), doc.SessionBytes)
	if err != nil {
		return nil, fmt.Errorf("read session: %w", err)
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != name {
		return nil, fmt.Errorf("session file %s was changed after it was written", filepath.Join(BlobsDir, name))
	}
	return data, nil
}

// unmarshal decodes with encoding/json/v2, at a third of the cost of the first version, and accepts
// the same input.
func unmarshal(data []byte, v any) error {
	return json2.Unmarshal(data, v, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// extent describes the complete lines of a log.
type extent struct {
	end  int64    // the offset after the last complete line
	torn bool     // an incomplete line follows
	sum  checksum // of the complete lines
}

// scan calls fn with each complete line of the log, and the offset of the line.
func scan(path string, fn func(line []byte, at int64) error) (extent, error) {
	var x extent
	name := filepath.Join(path, EventsFile)
	err := doc.Regular(name, math.MaxInt64)
	var f *os.File
	if err == nil {
		f, err = files.Open(name)
	}
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = plumb.WithHint(err, "the run stopped before its first event; start a new run")
		}
		return x, fmt.Errorf("read the run log: %w", err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(make([]byte, 64<<10), doc.LineBytes)
	lines.Split(func(data []byte, atEOF bool) (advance int, line []byte, err error) {
		if i := bytes.IndexByte(data, '\n'); i >= 0 {
			return i + 1, data[:i], nil
		}
		x.torn = atEOF && len(data) > 0
		return 0, nil, nil
	})
	for n := 1; lines.Scan(); n++ {
		line := lines.Bytes()
		if err = x.sum.check(line); err == nil {
			err = fn(line, x.end)
		}
		if err != nil {
			return x, fmt.Errorf("read %s: line %d: %w", name, n, err)
		}
		x.end += int64(len(line)) + 1
	}
	err = lines.Err()
	if errors.Is(err, bufio.ErrTooLong) {
		err = fmt.Errorf("the line is longer than %s", doc.Size(doc.LineBytes))
	}
	if err != nil {
		err = fmt.Errorf("read the run log: %w", err)
	}
	return x, err
}
