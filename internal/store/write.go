package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// The bounds of the work that shares one commit.
const (
	batchTime = 10 * time.Millisecond
	batchRows = 20_000
)

// tx is a transaction, or the part of one that succeeds or fails alone. After an error its methods do
// nothing more, and nothing of it is kept, so that callers need not look at err before its end; but a
// query that found nothing may have failed.
type tx struct {
	ctx   context.Context
	store *Store
	db    interface {
		querier
		ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	}
	prepared func(query string) (*sql.Stmt, error) // nil if the driver prepares
	err      error
}

// fail keeps the first error.
func (t *tx) fail(err error) { t.err = cmp.Or(t.err, err) }

// prepare returns a prepared statement, or nil if there was an error or the driver prepares.
func (t *tx) prepare(text string, args []any) (stmt *sql.Stmt) {
	if t.store.seen != nil {
		t.store.seen(text, args)
	}
	if t.prepared != nil && t.err == nil {
		stmt, t.err = t.prepared(text)
	}
	return stmt
}

// exec executes a statement and returns the number of rows that it changed.
func (t *tx) exec(text string, args ...any) (changed int64) {
	var result sql.Result
	stmt, err := t.prepare(text, args), t.err //nolint:sqlclosecheck // the writer keeps it
	switch {
	case err != nil:
	case stmt != nil:
		result, err = stmt.ExecContext(t.ctx, args...)
	default:
		result, err = t.db.ExecContext(t.ctx, text, args...)
	}
	if err == nil {
		changed, err = result.RowsAffected()
	}
	t.fail(err)
	return changed
}

// query calls scan with each row.
func (t *tx) query(text string, args []any, scan func(*sql.Rows) error) {
	stmt := t.prepare(text, args) //nolint:sqlclosecheck // the writer keeps it
	switch {
	case t.err != nil:
	case stmt == nil:
		t.fail(query(t.ctx, t.db, text, args, scan))
	default:
		rows, err := stmt.QueryContext(t.ctx, args...)
		if err == nil {
			err = each(rows, scan)
		}
		t.fail(err)
	}
}

// numbers returns the numbers that a query finds, one in a row.
func (t *tx) numbers(text string, args ...any) (all []int64) {
	t.query(text, args, func(rows *sql.Rows) error {
		var n int64
		err := rows.Scan(&n)
		all = append(all, n)
		return err
	})
	return all
}

// insert inserts rows. into names a table and its columns, and rest follows the values.
func (t *tx) insert(into, rest string, rows [][]any) {
	for batch := range slices.Chunk(rows, t.store.batch) {
		t.exec("INSERT INTO "+into+" VALUES "+places(len(batch), len(batch[0]))+" "+rest, slices.Concat(batch...)...)
	}
}

// places returns the place holders of rows: ($1, $2), ($3, $4).
func places(rows, columns int) string {
	var b strings.Builder
	for i := range rows * columns {
		switch {
		case i == 0:
			b.WriteByte('(')
		case i%columns == 0:
			b.WriteString("), (")
		default:
			b.WriteString(", ")
		}
		b.WriteByte('$')
		b.WriteString(strconv.Itoa(i + 1))
	}
	b.WriteByte(')')
	return b.String()
}

// write performs fn in a transaction. If that has an error, nothing of it is kept. rows is about how
// many rows it writes.
func (s *Store) write(ctx context.Context, rows int, fn func(*tx)) error {
	if s.writer != nil {
		return s.writer.do(ctx, &job{rows: rows, fn: fn, store: s, done: make(chan error, 1)})
	}
	db, err := s.read.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin a transaction: %w", err)
	}
	t := &tx{ctx: ctx, store: s, db: db}
	if fn(t); t.err != nil {
		return errors.Join(t.err, ignoreDone(db.Rollback()))
	}
	if err := db.Commit(); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}

func ignoreDone(err error) error {
	if errors.Is(err, sql.ErrTxDone) {
		return nil
	}
	return err
}

// writer is the one goroutine that writes to a SQLite database. Work that waits shares a commit.
type writer struct {
	db     *sql.DB
	conn   *sql.Conn
	stmts  map[string]*sql.Stmt
	jobs   chan *job
	done   chan struct{}
	mu     sync.RWMutex // guards closed
	closed bool
}

type job struct {
	rows  int
	fn    func(*tx)
	store *Store
	err   error
	done  chan error
}

// start takes the only connection of the database, and writes until it is closed.
func (w *writer) start(ctx context.Context) (err error) {
	w.stmts, w.jobs = map[string]*sql.Stmt{}, make(chan *job, 256)
	if w.conn, err = w.db.Conn(ctx); err != nil {
		return err
	}
	w.done = make(chan struct{})
	go w.run(context.WithoutCancel(ctx)) // a job is short, and one whose caller went away shares the commit of others
	return nil
}

func (w *writer) close() error {
	w.mu.Lock()
	running := w.done != nil && !w.closed
	w.closed = true
	w.mu.Unlock()
	var failed []error
	if running {
		close(w.jobs)
		<-w.done
		for _, stmt := range w.stmts {
			failed = append(failed, stmt.Close())
		}
		failed = append(failed, w.conn.Close())
	}
	return errors.Join(append(failed, w.db.Close())...)
}

// do waits until the job is durable or has failed.
func (w *writer) do(ctx context.Context, j *job) error {
	w.mu.RLock()
	if w.closed {
		w.mu.RUnlock()
		return errors.New("the database is closed")
	}
	select {
	case w.jobs <- j:
		w.mu.RUnlock()
	case <-ctx.Done():
		w.mu.RUnlock()
		return ctx.Err()
	}
	return <-j.done // also if ctx ends: the caller must know what was kept
}

func (w *writer) run(ctx context.Context) {
	defer close(w.done)
	for first := range w.jobs {
		w.batch(ctx, first)
	}
}

// batch performs the first job and those that wait behind it, in one transaction.
func (w *writer) batch(ctx context.Context, first *job) {
	if err := w.raw(ctx, "BEGIN IMMEDIATE"); err != nil {
		first.done <- err
		return
	}
	var jobs []*job
	rows := 0
	for j, until := first, time.Now().Add(batchTime); j != nil; {
		j.err = w.part(ctx, j)
		jobs = append(jobs, j)
		if rows += j.rows; rows >= batchRows || time.Now().After(until) {
			break
		}
		select {
		case j = <-w.jobs: // nil if they are closed
		default:
			j = nil
		}
	}
	err := w.raw(ctx, "COMMIT")
	if err != nil {
		err = errors.Join(err, w.raw(ctx, "ROLLBACK"))
	}
	for _, j := range jobs {
		j.done <- cmp.Or(j.err, err)
	}
}

// part performs one job, which fails alone.
func (w *writer) part(ctx context.Context, j *job) error {
	if err := w.raw(ctx, "SAVEPOINT job"); err != nil {
		return err
	}
	t := &tx{ctx: ctx, store: j.store, db: w.conn, prepared: func(text string) (*sql.Stmt, error) { return w.prepare(ctx, text) }}
	if j.fn(t); t.err != nil {
		t.err = errors.Join(t.err, w.raw(ctx, "ROLLBACK TO job"))
	}
	return errors.Join(t.err, w.raw(ctx, "RELEASE job"))
}

func (w *writer) raw(ctx context.Context, text string) error {
	stmt, err := w.prepare(ctx, text) //nolint:sqlclosecheck // close closes it
	if err == nil {
		_, err = stmt.ExecContext(ctx)
	}
	if err != nil {
		return fmt.Errorf("write to the database: %w", err)
	}
	return nil
}

func (w *writer) prepare(ctx context.Context, text string) (*sql.Stmt, error) {
	if stmt := w.stmts[text]; stmt != nil {
		return stmt, nil
	}
	stmt, err := w.conn.PrepareContext(ctx, text)
	if err == nil {
		w.stmts[text] = stmt
	}
	return stmt, err
}
