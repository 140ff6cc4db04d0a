package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"github.com/plumb-eval/plumb/internal/accept"
	"github.com/plumb-eval/plumb/internal/runlog"
)

// viewVersion changes when the rows of a log change, so that they are made again.
const viewVersion = "1"

// OpenView opens the store of a machine's own runs, which is made from their logs. A file that cannot be
// used is made again.
func OpenView(ctx context.Context, file string) (*Store, error) {
	const name = "view version"
	s, err := Open(ctx, Options{File: file, Lossy: true})
	if err == nil {
		var version string
		if version, err = s.Setting(ctx, name); err == nil && version == viewVersion {
			return s, nil
		}
		if err := s.Close(); err != nil {
			return nil, err
		}
	}
	if errors.Is(err, ErrInUse) || ctx.Err() != nil {
		return nil, err
	}
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if gone := os.Remove(file + suffix); gone != nil && !errors.Is(gone, os.ErrNotExist) {
			return nil, errors.Join(err, gone)
		}
	}
	if s, err = Open(ctx, Options{File: file, Lossy: true}); err != nil {
		return nil, err
	}
	if err := s.SetSetting(ctx, LocalAccount, name, viewVersion); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Filled is what [Store.Fill] did. Damaged has the runs whose logs cannot be read, with the reasons.
type Filled struct {
	Added, Removed int
	Damaged        map[string]error
}

// Fill brings the runs below a directory into the default project: those that are new, and those whose
// logs changed since the last time. Runs that are gone are removed.
func (s *Store) Fill(ctx context.Context, root string) (*Filled, error) {
	f := &Filled{Damaged: map[string]error{}}
	have := map[string]int64{}
	err := s.query(ctx, "SELECT run_id, bytes FROM run WHERE project = $1", []any{DefaultProject}, func(rows *sql.Rows) error {
		var id string
		var n int64
		err := rows.Scan(&id, &n)
		have[id] = n
		return err
	})
	if err != nil {
		return f, err
	}
	ids, err := runlog.List(root)
	if err != nil {
		return f, err
	}
	var all sync.WaitGroup
	var mu sync.Mutex // guards f and err
	jobs := make(chan string)
	for range min(len(ids), runtime.GOMAXPROCS(0)) { // so that folds overlap, and share commits
		all.Go(func() {
			for id := range jobs {
				added, damaged, failed := s.fill(ctx, root, id, have)
				mu.Lock()
				err = cmp.Or(err, failed)
				if damaged != nil {
					f.Damaged[id] = damaged
				}
				if added {
					f.Added++
				}
				mu.Unlock()
			}
		})
	}
	for _, id := range ids {
		jobs <- id
	}
	close(jobs)
	all.Wait()
	if err != nil {
		return f, err
	}
	for _, id := range ids {
		delete(have, id)
	}
	for id := range have {
		if err := s.forget(ctx, id); err != nil {
			return f, err
		}
		f.Removed++
	}
	return f, nil
}

// fill brings one run into the store, unless its log has the size that it had.
func (s *Store) fill(ctx context.Context, root, id string, have map[string]int64) (added bool, damaged, err error) {
	path := filepath.Join(root, id)
	info, err := os.Stat(filepath.Join(path, runlog.EventsFile))
	before, known := have[id]
	if err != nil || known && info.Size() == before {
		return false, nil, ctx.Err() // it has not begun, or is known
	}
	sub, err := accept.Read(ctx, runlog.At(path), accept.Rules{Local: true})
	switch {
	case ctx.Err() != nil:
		return false, nil, ctx.Err()
	case runlog.NotStarted(err):
		return false, nil, nil
	case err != nil:
		return false, err, nil
	}
	sub.Info.ID = id // a copied run has that of the other one
	size := info.Size()
	_, added, err = s.Accept(ctx, &Entry{
		Project: DefaultProject, Account: LocalAccount, ID: id, Submission: sub, Digest: fmt.Sprint(size, " bytes"), Bytes: size,
	})
	return added, nil, err
}

// forget removes a run of this machine without a trace.
func (s *Store) forget(ctx context.Context, id string) error {
	return s.correct(ctx, id, func(t *tx, row int64) {
		t.dropAnswers(t.clear(row))
		t.exec("DELETE FROM run WHERE id = $1", row)
	})
}
