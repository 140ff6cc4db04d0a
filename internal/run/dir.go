package run

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/plumb-eval/plumb"
)

// The names in a run directory.
const (
	SpecFile    = "run.json"
	BundleDir   = "bundle"
	EventsFile  = "events.jsonl"
	BlobsDir    = "blobs"
	ResultsFile = "results.json"
	lockFile    = "lock"
)

// ErrLocked says that another process owns the run directory.
var ErrLocked = errors.New("the run is owned by another process")

// Dir is the directory of one run, locked by this process until Close.
type Dir struct {
	ID   string
	Path string
	lock *flock.Flock
}

// Create makes the directory of a new run below root, with an id that sorts by time, and locks it.
func Create(root string, now time.Time) (*Dir, error) {
	if err := os.MkdirAll(root, 0o700); err != nil {
		return nil, fmt.Errorf("make the directory of runs: %w", err)
	}
	for {
		id := newID(now)
		path := filepath.Join(root, id)
		err := os.Mkdir(path, 0o700)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("make the run directory: %w", err)
		}
		return open(id, path)
	}
}

// newID returns the second, and six characters: two for the millisecond, in digits that sort as they count, and four by
// chance. So runs that begin one after the other sort in that order, down to the millisecond.
func newID(now time.Time) string {
	const digits = "234567abcdefghijklmnopqrstuvwxyz"
	ms := now.Nanosecond() / int(time.Millisecond)
	return now.UTC().Format("20060102-150405-") + digits[ms/32:][:1] + digits[ms%32:][:1] + strings.ToLower(rand.Text()[:4])
}

// Discard removes the directory of a run that could not begin, and unlocks it.
func (d *Dir) Discard() error { return errors.Join(d.lock.Close(), os.RemoveAll(d.Path)) }

// Open locks the directory of an earlier run. The error is [ErrLocked] while another process owns it.
func Open(path string) (*Dir, error) {
	if _, err := os.Stat(filepath.Join(path, SpecFile)); err != nil {
		return nil, fmt.Errorf("open run directory %s: %w", path, err)
	}
	return open(filepath.Base(path), path)
}

func open(id, path string) (*Dir, error) {
	lock := flock.New(filepath.Join(path, lockFile), flock.SetPermissions(0o600))
	ok, err := lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("lock run directory: %w", err)
	}
	if !ok {
		return nil, plumb.WithHint(fmt.Errorf("lock %s: %w", path, ErrLocked), "wait for it to end, or stop it, and try again")
	}
	return &Dir{ID: id, Path: path, lock: lock}, nil
}

// Close unlocks the directory.
func (d *Dir) Close() error { return d.lock.Close() }

// Join returns the path of a name in the directory.
func (d *Dir) Join(name ...string) string { return filepath.Join(append([]string{d.Path}, name...)...) }

// Locked reports whether a process owns the run directory at path now.
func Locked(path string) bool {
	name := filepath.Join(path, lockFile)
	if _, err := os.Stat(name); err != nil {
		return false
	}
	lock := flock.New(name, flock.SetPermissions(0o600))
	ok, err := lock.TryLock()
	if ok {
		_ = lock.Close() // nothing was written under it
	}
	return err == nil && !ok
}

// WriteSpec records what was asked, as run.json. spec must hold no secrets.
func (d *Dir) WriteSpec(spec any) error {
	data, err := json.MarshalIndent(spec, "", "  ")
	if err != nil {
		return fmt.Errorf("encode %s: %w", SpecFile, err)
	}
	return WriteFile(d.Join(SpecFile), append(data, '\n'))
}

// ReadSpec reads the run.json of the run directory at path into spec.
func ReadSpec(path string, spec any) error {
	data, err := os.ReadFile(filepath.Join(path, SpecFile))
	if err != nil {
		return fmt.Errorf("read %s: %w", SpecFile, err)
	}
	if err := json.Unmarshal(data, spec); err != nil {
		return fmt.Errorf("read %s: %w", filepath.Join(path, SpecFile), err)
	}
	return nil
}

// List returns the ids of the runs below root, oldest first. A root that does not exist has none.
func List(root string) ([]string, error) {
	entries, err := os.ReadDir(root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list runs: %w", err)
	}
	var ids []string
	for _, e := range entries {
		if _, err := os.Stat(filepath.Join(root, e.Name(), SpecFile)); err == nil {
			ids = append(ids, e.Name())
		}
	}
	return ids, nil
}

// Find returns the directory of the run that name means: a path, an id, the unique beginning or end of one, or "last".
// A name of "" means "last".
func Find(root, name string) (string, error) {
	if _, err := os.Stat(filepath.Join(name, SpecFile)); name != "" && err == nil {
		return name, nil
	}
	ids, err := List(root)
	if err != nil {
		return "", err
	}
	if len(ids) == 0 {
		return "", plumb.WithHint(fmt.Errorf("there are no runs in %s", root), "make one with: plumb run")
	}
	if name == "" || name == "last" {
		return filepath.Join(root, ids[len(ids)-1]), nil
	}
	var found []string
	for _, id := range ids {
		if id == name {
			return filepath.Join(root, id), nil
		}
		if strings.HasPrefix(id, name) || strings.HasSuffix(id, name) {
			found = append(found, id)
		}
	}
	switch len(found) {
	case 1:
		return filepath.Join(root, found[0]), nil
	case 0:
		hint := "list them with: plumb runs"
		if near := plumb.Nearest(name, ids); near != "" {
			hint = "did you mean " + near + "? " + hint
		}
		return "", plumb.WithHint(fmt.Errorf("no run %q in %s", name, root), hint)
	default:
		const most = 4
		listed := strings.Join(found[:min(len(found), most)], ", ")
		if more := len(found) - most; more > 0 {
			listed += fmt.Sprintf(" and %d more", more)
		}
		return "", plumb.WithHint(fmt.Errorf("run %q is ambiguous: %s", name, listed), "more of its id, from the beginning or the end; plumb runs lists them")
	}
}

// WriteFile writes a file that holds outputs: readable by its owner only, and there either whole or not at all.
func WriteFile(name string, data []byte) error {
	return WriteTo(name, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// WriteTo is [WriteFile] for what is written piece by piece.
func WriteTo(name string, write func(io.Writer) error) error {
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+"-*") // made with 0600
	if err != nil {
		return err
	}
	err = write(f)
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // the first error says what went wrong
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}
