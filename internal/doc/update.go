package doc

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/files"
	"github.com/plumb-eval/plumb/internal/text"
)

// updateWait is how long [Update] waits for another process.
const updateWait = time.Minute

// Update lets one process at a time change the file at path, which several runs share: it waits for
// the others, and then calls change, which reads the file, and writes it with [Write]. The path that
// change gets has no symbolic link, and need not exist. Update makes the directory of the file,
// readable only by its owner, if there is none.
//
// The lock is a file beside the document, because the document itself is replaced. It ends with the
// process that holds it. If that process neither ends nor goes on, Update returns an error after a
// minute.
func Update(ctx context.Context, path string, change func(path string) error) (err error) {
	switch real, err := filepath.EvalSymlinks(path); {
	case err == nil && real != path: // a link to the file survives only if the file behind it is replaced
		if err := Update(ctx, real, change); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		return nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	unlock, err := lock(ctx, path, updateWait)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	return change(path)
}

// lock locks the file at path against other processes.
func lock(ctx context.Context, path string, wait time.Duration) (unlock func() error, err error) {
	waiting, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	name := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".lock")
	for {
		l := flock.New(name, flock.SetFlag(files.LockFlags), flock.SetPermissions(0o600))
		if _, err := l.TryLockContext(waiting, 50*time.Millisecond); err != nil {
			err = errors.Join(err, l.Close())
			if waiting.Err() != nil && ctx.Err() == nil {
				err = plumb.WithHint(fmt.Errorf("another process has held the lock for %s", text.Duration(wait)),
					"end or continue that process (fuser "+name+" shows it), and try again")
			}
			return nil, fmt.Errorf("lock %s: %w", path, err)
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
