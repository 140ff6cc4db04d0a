package runlog

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"time"

	json2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/files"
	"github.com/plumb-eval/plumb/internal/redact"
	"github.com/plumb-eval/plumb/internal/text"
)

// Log is a run log to read, wherever it is kept.
type Log struct {
	// Name is the name of the log in messages.
	Name string
	// Open opens the lines of the log.
	Open func() (Lines, error)
	// Blob returns the bytes of a large session that is kept beside the log, by its name. The
	// reader checks that they are the ones that the log names. It is nil if the log has all its
	// sessions in itself.
	Blob func(name string) ([]byte, error)
	// Limits bound a log from elsewhere.
	Limits Limits
}

// Lines are the bytes of a log.
type Lines interface {
	io.ReaderAt
	io.Closer
}

// Limits bound what the reader of a log accepts. The zero value accepts what this program wrote.
type Limits struct {
	// LineBytes and Bytes are the largest sizes of a line and of the log. 0 means that the log is
	// trusted.
	LineBytes int
	Bytes     int64
	// Depth is the deepest nesting of values in a line; 0 means the limit of the decoder.
	Depth int
	// Strict refuses a line without a checksum, a key that is in an object twice, and text that is
	// not UTF-8.
	Strict bool
}

// At returns the log of the run directory at path, or the log that is the file at path.
func At(path string) *Log {
	name := filepath.Join(path, EventsFile)
	blob := func(name string) ([]byte, error) {
		return doc.Read(filepath.Join(path, BlobsDir, name), doc.SessionBytes)
	}
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
		name, blob = path, nil
	}
	return &Log{
		Name: name,
		Open: func() (Lines, error) {
			f, err := files.Open(name)
			if errors.Is(err, fs.ErrNotExist) {
				err = plumb.WithHint(err, "the run stopped before its first event; start a new run")
			}
			if err != nil {
				return nil, err
			}
			return f, nil
		},
		Blob: blob,
	}
}

// IsLog reports whether path is a file with a log that is not in a run directory, such as one that
// left its machine; see [Encoder].
func IsLog(path string) bool {
	const begin = `{"type":"` + string(plumb.EventRunStarted) + `"`
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return false
	}
	f, err := files.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	text := make([]byte, len(begin))
	_, err = io.ReadFull(f, text)
	return err == nil && string(text) == begin
}

// Read calls fn with the events of the log, in order, including sessions. It ignores an incomplete
// last line. Any other damage is an error that names the line. fn may keep the events.
func (l *Log) Read(fn func(plumb.Event) error) error {
	var share plumb.Share
	_, err := l.scan(func(line []byte, _ int64) error {
		ev, err := l.decode(line, share)
		if err != nil {
			return err
		}
		if ev.Info != nil {
			share = ev.Info.Share
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

// Info returns the description of the run. It reads only the beginning of the log.
func (l *Log) Info() (*plumb.RunInfo, error) {
	var info *plumb.RunInfo
	found := errors.New("found")
	_, err := l.scan(func(line []byte, _ int64) error {
		var h head
		if err := l.unmarshal(line, &h); err != nil {
			return err
		}
		info = h.Info
		return found
	})
	if errors.Is(err, found) {
		err = nil
	}
	if err == nil && info == nil {
		err = fmt.Errorf("read %s: %w", l.Name, errNotStarted)
	}
	return info, err
}

// Fold returns the state of the run. It removes secrets, which a log of an earlier version may
// hold; nil removes nothing.
func (l *Log) Fold(secrets *redact.Redactor) (*plumb.Run, error) {
	r := &plumb.Run{}
	_, err := l.fold(r, secrets, func(plumb.Event, []byte, int64) error { return nil })
	return r, l.started(r, err)
}

// started returns err, or an error if the log has no run.
func (l *Log) started(r *plumb.Run, err error) error {
	if err == nil && r.StartedAt.IsZero() {
		return fmt.Errorf("read %s: %w", l.Name, errNotStarted)
	}
	return err
}

// fold applies the log to r. After each event it calls fn with the event, which has no session and
// no judgement, and with its line and the offset of the line.
func (l *Log) fold(
	r *plumb.Run, secrets *redact.Redactor, fn func(ev plumb.Event, line []byte, at int64) error,
) (extent, error) {
	return l.scan(func(line []byte, at int64) error {
		var h head
		if err := l.unmarshal(line, &h); err != nil {
			return err
		}
		fill(&h.Event, r.Info.Share)
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

// Figures calls fn with the events of the log, in order, and the state of the run after each. Of
// sessions and judgements the events have only what comparisons need, so that reading them costs a
// fraction of [Log.Read]. It removes secrets as [Log.Fold] does.
func (l *Log) Figures(secrets *redact.Redactor, fn func(plumb.Event, *plumb.Run) error) (*plumb.Run, error) {
	r := &plumb.Run{}
	_, err := l.scan(func(line []byte, _ int64) error {
		var b brief
		if err := l.unmarshal(line, &b); err != nil {
			return err
		}
		if b.Blob != "" {
			if err := l.session(b.Blob, &b.Report); err != nil {
				return err
			}
		}
		ev := b.event()
		fill(&ev, r.Info.Share)
		ev, _ = redact.Clean(secrets, ev)
		if err := r.Apply(ev); err != nil {
			return err
		}
		return fn(ev, r)
	})
	return r, l.started(r, err)
}

// brief is the part of an event that [Log.Figures] reads. Its own fields hide the rest of sessions
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
	AnswerHash   string           `json:"answerHash"`
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
			SessionID: r.SessionID, Usage: r.Usage, FinalOutput: r.FinalOutput, AnswerHash: r.AnswerHash, StartedAt: r.StartedAt,
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

// decode decodes an event of a log with the given level.
func (l *Log) decode(line []byte, share plumb.Share) (plumb.Event, error) {
	var ev plumb.Event
	err := l.unmarshal(line, &ev)
	if err == nil && ev.Blob != "" {
		err = l.session(ev.Blob, &ev.Report)
		ev.Blob = ""
	}
	fill(&ev, share)
	return ev, err
}

// fill writes [plumb.NotShared] in the place of each text that a log of this level leaves out, so
// that no reader takes it for empty. It changes what ev points to.
func fill(ev *plumb.Event, share plumb.Share) {
	if share.Whole() {
		return
	}
	put := func(text *string) {
		if *text == "" {
			*text = plumb.NotShared
		}
	}
	failure := func(f *plumb.Failure) {
		if f != nil {
			put(&f.Message)
		}
	}
	if r := ev.Report; r != nil {
		put(&r.Prompt)
		if r.AnswerHash != "" && share != plumb.ShareAnswers {
			put(&r.FinalOutput)
		}
	}
	failure(ev.Failure)
	if j := ev.Judgement; j != nil {
		failure(j.Failure)
		for i := range j.Verdicts {
			if share != plumb.ShareAnswers {
				put(&j.Verdicts[i].Reason)
			}
			failure(j.Verdicts[i].Error)
		}
	}
	if r := ev.Result; r != nil && r.Class != nil {
		put(&r.Reason)
	}
}

// session decodes the session in a blob into report.
func (l *Log) session(name string, report any) error {
	data, err := l.blob(name)
	if err == nil {
		err = l.unmarshal(data, report)
	}
	if err != nil {
		return fmt.Errorf("read session %s: %w", name, err)
	}
	return nil
}

func (l *Log) blob(name string) ([]byte, error) {
	if filepath.Base(name) != name {
		return nil, fmt.Errorf("blob name %q is not a file name", name)
	}
	if l.Blob == nil {
		return nil, errors.New("the log has its sessions in no other file")
	}
	data, err := l.Blob(name)
	if err != nil {
		return nil, err
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != name {
		return nil, fmt.Errorf("%s was changed after it was written", filepath.Join(BlobsDir, name))
	}
	return data, nil
}

// unmarshal decodes with encoding/json/v2, at a third of the cost of the first version, and, unless
// the limits are strict, accepts the same input.
func (l *Log) unmarshal(data []byte, v any) error {
	if most := l.Limits.Depth; most > 0 && depth(data) > most {
		return fmt.Errorf("values are nested deeper than %d", most)
	}
	lenient := !l.Limits.Strict
	return json2.Unmarshal(data, v, jsontext.AllowDuplicateNames(lenient), jsontext.AllowInvalidUTF8(lenient))
}

// depth returns how deep the objects and lists of a JSON text are nested.
func depth(text []byte) (most int) {
	open, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			open++
			most = max(most, open)
		case c == '}' || c == ']':
			open--
		}
	}
	return most
}

// extent describes the complete lines of a log.
type extent struct {
	end  int64    // the offset after the last complete line
	torn bool     // an incomplete line follows
	sum  checksum // of the complete lines
}

// scan calls fn with each complete line of the log, and the offset of the line.
func (l *Log) scan(fn func(line []byte, at int64) error) (x extent, err error) {
	log, err := l.Open()
	if err != nil {
		return x, fmt.Errorf("read the run log: %w", err)
	}
	defer func() { _ = log.Close() }() // it was only read
	longest := cmp.Or(l.Limits.LineBytes, doc.LineBytes)
	all := cmp.Or(l.Limits.Bytes, math.MaxInt64)
	lines := bufio.NewScanner(io.NewSectionReader(log, 0, all))
	lines.Buffer(make([]byte, min(64<<10, longest)), longest)
	lines.Split(func(data []byte, atEOF bool) (advance int, line []byte, err error) {
		if i := bytes.IndexByte(data, '\n'); i >= 0 {
			return i + 1, data[:i], nil
		}
		x.torn = atEOF && len(data) > 0
		return 0, nil, nil
	})
	x.sum.sealed = l.Limits.Strict
	for n := 1; lines.Scan(); n++ {
		line := lines.Bytes()
		if err = x.sum.check(line); err == nil {
			err = fn(line, x.end)
		}
		if err != nil {
			return x, fmt.Errorf("read %s: line %d: %w", l.Name, n, err)
		}
		x.end += int64(len(line)) + 1
	}
	err = lines.Err()
	if errors.Is(err, bufio.ErrTooLong) {
		err = fmt.Errorf("the line is longer than %s", text.Size(int64(longest)))
	}
	if err == nil {
		if n, _ := log.ReadAt(make([]byte, 1), all); n > 0 {
			err = fmt.Errorf("it has more than %s", text.Size(all))
		}
	}
	if err != nil {
		err = fmt.Errorf("read the run log: %w", err)
	}
	return x, err
}
