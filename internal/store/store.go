// Package store keeps the runs that a server accepted, in SQLite or in Postgres: their logs, their
// results and the daily sums that pages show, with the accounts and tokens that may send them. One
// set of queries serves both databases. It knows no HTTP.
//
// A run is accepted in one transaction, and the sums always equal those that would be computed from
// its rows. Figures are integers: milliseconds, nano-USD, millionths of a score, days since 1970.
package store

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/files"
)

// The errors of a store that callers tell apart.
var (
	// ErrNotFound means that there is no such row, or that it is not visible to the caller.
	ErrNotFound = errors.New("not found")
	// ErrConflict means that another log of the same run was accepted before.
	ErrConflict = errors.New("the server has another log of this run")
	// ErrErased means that the run was erased, and is not accepted again.
	ErrErased = errors.New("the run was erased")
	// ErrInUse means that another process has the database.
	ErrInUse = errors.New("another process is using the database")
	// ErrSchema means that the database is not of this version of Plumb.
	ErrSchema = errors.New("the database is not of this version")
)

// Options say where a store is. The zero value is a store in memory, which is lost when it is closed.
type Options struct {
	// File is a SQLite file, which one process at a time uses. Its directory must exist.
	File string
	// Postgres is the address of a database, such as "postgres://user@host/name".
	Postgres string
	// NoMigration refuses a database that is older than this version, and does not change it.
	NoMigration bool
	// Lossy gives up what the machine had not written when it lost its power: for what can be made
	// again.
	Lossy bool
	// Now is the clock; nil means [time.Now].
	Now func() time.Time
}

// Store is a database of runs. Its methods may be called concurrently.
type Store struct {
	read    *sql.DB
	writer  *writer // nil for Postgres
	lock    *flock.Flock
	now     func() time.Time
	batch   int    // the rows of one statement
	waiting string // ends a query that locks its rows until the end of the transaction
	sharing string // the same, but others may lock them in the same way
	pack    packer
	seen    func(text string, args []any) // gets each statement in tests; nil otherwise
}

//go:embed migrations
var migrations embed.FS

// Open opens a store, and brings its tables to this version.
func Open(ctx context.Context, o Options) (s *Store, err error) {
	s = &Store{now: o.Now, batch: 1}
	if s.now == nil {
		s.now = time.Now
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("open the database: %w", err), s.Close())
			s = nil
		}
	}()
	if s.pack, err = newPacker(); err != nil {
		return s, err
	}
	if o.Postgres != "" {
		s.batch, s.waiting, s.sharing = 200, " FOR UPDATE", " FOR SHARE"
		if s.read, err = sql.Open("pgx", o.Postgres); err != nil {
			return s, err
		}
		const most = 32
		s.read.SetMaxOpenConns(most)
		s.read.SetMaxIdleConns(most)
		return s, migrate(ctx, goose.DialectPostgres, s.read, o.NoMigration)
	}
	name := "file:/" + rand.Text() + "?vfs=memdb"
	if o.File != "" {
		if name, err = s.lockFile(o.File); err != nil {
			return s, err
		}
	}
	one, err := sql.Open("sqlite", name+pragmas(o, false))
	if err != nil {
		return s, err
	}
	one.SetMaxOpenConns(1)
	s.writer = &writer{db: one}
	if err = migrate(ctx, goose.DialectSQLite3, one, o.NoMigration); err != nil {
		return s, err
	}
	if err = s.writer.start(ctx); err != nil {
		return s, err
	}
	s.read, err = sql.Open("sqlite", name+pragmas(o, true))
	if err == nil {
		const most = 8
		s.read.SetMaxOpenConns(most)
		s.read.SetMaxIdleConns(most)
	}
	return s, err
}

// lockFile locks a SQLite file for this process, creates it for its owner alone, and returns its name
// for the driver.
func (s *Store) lockFile(file string) (string, error) {
	abs, err := filepath.Abs(file)
	if err != nil {
		return "", err
	}
	s.lock = flock.New(abs+".lock", flock.SetFlag(files.LockFlags), flock.SetPermissions(0o600))
	held, err := s.lock.TryLock()
	if err != nil {
		return "", fmt.Errorf("lock %s: %w", file, err)
	}
	if !held {
		s.lock = nil
		return "", plumb.WithHint(fmt.Errorf("%s: %w", file, ErrInUse), "stop that process, or use what it shows")
	}
	if _, err := os.Stat(abs); errors.Is(err, fs.ErrNotExist) {
		f, err := os.CreateTemp(filepath.Dir(abs), ".database-*") // with mode 0600
		if err != nil {
			return "", err
		}
		if err := errors.Join(f.Close(), os.Rename(f.Name(), abs)); err != nil {
			return "", err
		}
	}
	return (&url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(abs)}).String() + "?", nil
}

// pragmas returns the settings of a SQLite connection. The first ones only matter in an empty file.
func pragmas(o Options, read bool) string {
	all := []string{"auto_vacuum(incremental)", "busy_timeout(10000)", "temp_store(memory)", "secure_delete(on)"}
	switch {
	case o.File == "":
	case o.Lossy:
		all = append(all, "journal_mode(wal)", "synchronous(normal)")
	default:
		all = append(all, "journal_mode(wal)", "synchronous(full)")
	}
	if read {
		all = append(all, "query_only(on)")
	} else {
		all = append(all, "cache_size(-16000)", "wal_autocheckpoint(4000)")
	}
	return "&_pragma=" + strings.Join(all, "&_pragma=")
}

// migrate brings the tables to this version.
func migrate(ctx context.Context, dialect goose.Dialect, db *sql.DB, never bool) error {
	dir, options := "migrations/sqlite", []goose.ProviderOption{goose.WithLogger(goose.NopLogger())}
	if dialect == goose.DialectPostgres {
		dir = "migrations/postgres"
		alone, err := lock.NewPostgresSessionLocker()
		if err != nil {
			return err
		}
		options = append(options, goose.WithSessionLocker(alone))
	}
	sub, err := fs.Sub(migrations, dir)
	if err != nil {
		return err
	}
	p, err := goose.NewProvider(dialect, db, sub, options...)
	if err != nil {
		return fmt.Errorf("read the migrations: %w", err)
	}
	have, want, err := p.GetVersions(ctx)
	if err != nil {
		return err
	}
	switch {
	case have > want:
		return plumb.WithHint(fmt.Errorf("%w: it has schema %d, and this program knows %d", ErrSchema, have, want),
			"use the version of Plumb that made it, or a later one")
	case have < want && never:
		return plumb.WithHint(fmt.Errorf("%w: it has schema %d, and this program needs %d", ErrSchema, have, want),
			"start once with --migrate=only")
	}
	_, err = p.Up(ctx)
	return err
}

// Close ends the work of the store, and waits for it.
func (s *Store) Close() error {
	var failed []error
	if s.writer != nil {
		failed = append(failed, s.writer.close())
	}
	if s.read != nil {
		failed = append(failed, s.read.Close())
	}
	if s.lock != nil {
		failed = append(failed, s.lock.Close())
	}
	return errors.Join(failed...)
}

// Ping asks the database whether it answers.
func (s *Store) Ping(ctx context.Context) error {
	return s.query(ctx, "SELECT 1", nil, func(*sql.Rows) error { return nil })
}

// querier is a connection, a transaction or a database.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// query calls scan with each row of what is committed.
func (s *Store) query(ctx context.Context, text string, args []any, scan func(*sql.Rows) error) error {
	if s.seen != nil {
		s.seen(text, args)
	}
	return query(ctx, s.read, text, args, scan)
}

func query(ctx context.Context, db querier, text string, args []any, scan func(*sql.Rows) error) error {
	rows, err := db.QueryContext(ctx, text, args...)
	if err != nil {
		return fmt.Errorf("query: %w", err)
	}
	return each(rows, scan)
}

func each(rows *sql.Rows, scan func(*sql.Rows) error) (err error) {
	for err == nil && rows.Next() {
		err = scan(rows)
	}
	return cmp.Or(err, rows.Err(), rows.Close())
}

// list returns the rows of a query, each as scan reads it.
func list[T any](ctx context.Context, s *Store, text string, args []any, scan func(*sql.Rows, *T) error) ([]T, error) {
	all := []T{}
	err := s.query(ctx, text, args, func(rows *sql.Rows) error {
		var one T
		err := scan(rows, &one)
		all = append(all, one)
		return err
	})
	return all, err
}

// single returns the only row of a query; the error is [ErrNotFound] if there is none.
func single[T any](ctx context.Context, s *Store, text string, args []any, scan func(*sql.Rows, *T) error) (*T, error) {
	all, err := list(ctx, s, text, args, scan)
	if err == nil && len(all) == 0 {
		err = ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	return &all[0], nil
}

// ms returns a time as it is stored, and at the time of what is stored.
func ms(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func at(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

// Day returns the number of UTC days since 1970.
func Day(t time.Time) int64 {
	const seconds = 24 * 60 * 60
	s := t.Unix()
	if s < 0 {
		s -= seconds - 1
	}
	return s / seconds
}
