// Package runlog keeps runs on disk: the directory of a run and its lock, the log of its events, which
// is written so that nothing obtained is lost and read from wherever it is kept, and the claims that
// connect processes and workspaces to runs. Everything that Plumb shows, resumes or compares is a
// fold over such a log.
package runlog

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/files"
)

// The file names in a run directory.
const (
	SpecFile    = "run.json"
	BundleDir   = "bundle"
	EventsFile  = "events.jsonl"
	BlobsDir    = "blobs"
	ResultsFile = "results.json"
	lockFile    = "lock"
)

// ErrLocked means that another process owns the run directory.
var ErrLocked = errors.New("another process is using the run")

// Dir is the directory of one run. This process holds its lock until Close.
type Dir struct {
	ID   string
	Path string
	lock *flock.Flock
}

// Create makes the directory of a new run below root and locks it. Its id sorts by time.
func Create(root string, now time.Time) (*Dir, error) {
	if err := os.MkdirAll(root, 0o700); err != nil {
		return nil, fmt.Errorf("create the directory of runs: %w", err)
	}
	for {
		id := newID(now)
		path := filepath.Join(root, id)
		err := os.Mkdir(path, 0o700)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("create the run directory: %w", err)
		}
		return open(id, path)
	}
}

// newID returns the time in seconds and six characters: two for the millisecond, in digits that
// sort in numeric order, and four random ones. So ids sort by start time, to the millisecond.
func newID(now time.Time) string {
	const digits = "234567abcdefghijklmnopqrstuvwxyz"
	ms := now.Nanosecond() / int(time.Millisecond)
	return now.UTC().Format(
		"20060102-150405-",
	) + digits[ms/32:][:1] + digits[ms%32:][:1] + strings.ToLower(rand.Text()[:4])
}

// Discard removes the directory of a run, and unlocks it.
func (d *Dir) Discard() error { return errors.Join(d.lock.Close(), os.RemoveAll(d.Path)) }

// Delete deletes the run at path. The error is [ErrLocked] while another process owns it.
func Delete(path string) error {
	d, err := Open(path)
	if err != nil {
		return err
	}
	return d.Discard()
}

// Open locks the directory of an earlier run. The error is [ErrLocked] while another process owns
// it.
func Open(path string) (*Dir, error) {
	if _, err := os.Stat(filepath.Join(path, SpecFile)); err != nil {
		return nil, fmt.Errorf("open run directory %s: %w", path, err)
	}
	return open(filepath.Base(path), path)
}

func open(id, path string) (*Dir, error) {
	lock := flock.New(filepath.Join(path, lockFile), flock.SetFlag(files.LockFlags), flock.SetPermissions(0o600))
	ok, err := lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("lock run directory: %w", err)
	}
	if !ok {
		return nil, plumb.WithHint(
			fmt.Errorf("lock %s: %w", path, ErrLocked), "wait for that process to end, or stop it, then try again",
		)
	}
	return &Dir{ID: id, Path: path, lock: lock}, nil
}

// MadeHere reports whether this user made the run at path below root, the directory of a project's
// runs: the run is in root itself, not reached through a link, and all of its files belong to this
// user.
func MadeHere(root, path string) bool {
	real, err := filepath.EvalSymlinks(path)
	if err == nil {
		real, err = filepath.Abs(real)
	}
	if err != nil {
		return false
	}
	home, err := os.Stat(root)
	if err != nil {
		return false
	}
	if parent, err := os.Stat(filepath.Dir(real)); err != nil || !os.SameFile(home, parent) {
		return false
	}
	for _, name := range []string{"", SpecFile, EventsFile, BundleDir} {
		info, err := os.Lstat(filepath.Join(real, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil || info.Mode()&fs.ModeSymlink != 0 || !ours(info) {
			return false
		}
	}
	return true
}

// Clean deletes temporary files that killed processes left in the directory.
func (d *Dir) Clean() error {
	temporary := regexp.MustCompile(`^\..*-[0-9]+(\.html)?$`)
	var failed []error
	for _, dir := range []string{d.Path, d.Join(BlobsDir), d.Join(BundleDir)} {
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			failed = append(failed, err)
		}
		for _, e := range entries {
			if e.Type().IsRegular() && temporary.MatchString(e.Name()) {
				failed = append(failed, os.Remove(filepath.Join(dir, e.Name())))
			}
		}
	}
	if err := errors.Join(failed...); err != nil {
		return fmt.Errorf("clean up the run directory: %w", err)
	}
	return nil
}

// Close unlocks the directory.
func (d *Dir) Close() error { return d.lock.Close() }

// Join returns the path of a name in the directory.
func (d *Dir) Join(name ...string) string { return filepath.Join(append([]string{d.Path}, name...)...) }

// Locked reports whether a process holds the lock of the run directory at path.
func Locked(path string) bool {
	name := filepath.Join(path, lockFile)
	if _, err := os.Stat(name); err != nil {
		return false
	}
	lock := flock.New(name, flock.SetFlag(files.LockFlags), flock.SetPermissions(0o600))
	ok, err := lock.TryLock()
	if ok {
		_ = lock.Close() // the lock protected no write
	}
	return err == nil && !ok
}

// WriteSpec writes run.json, the request for the run. spec must not hold secrets.
func (d *Dir) WriteSpec(spec any) error {
	data, err := json.MarshalIndent(spec, "", "  ")
	if err != nil {
		return fmt.Errorf("encode %s: %w", SpecFile, err)
	}
	return WriteFile(d.Join(SpecFile), append(data, '\n'))
}

// ReadSpec reads the run.json of the run directory at path into spec.
func ReadSpec(path string, spec any) error {
	data, err := doc.Read(filepath.Join(path, SpecFile), doc.StateBytes)
	if err != nil {
		return fmt.Errorf("read %s: %w", SpecFile, err)
	}
	if err := doc.Decode(filepath.Join(path, SpecFile), 1, data, spec); err != nil {
		return fmt.Errorf("read %s: %w", SpecFile, err)
	}
	return nil
}

// List returns the ids of the runs below root, oldest first. If root does not exist, there are
// none.
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

// Find returns the directory of a run. name is a path, an id, the unique beginning or end of an id,
// or "last". A name of "" is an error: it comes from a variable that is not set.
func Find(root, name string) (string, error) {
	if _, err := os.Stat(filepath.Join(name, SpecFile)); name != "" && err == nil {
		return name, nil
	}
	if IsLog(name) {
		return "", plumb.WithHint(fmt.Errorf("%s is a log without its run directory", name),
			"plumb report, show, compare and drift --from read it; anything else needs the run")
	}
	if name == "" {
		return "", plumb.WithHint(errors.New("the name of the run is empty"),
			"name a run, or write last; plumb runs lists the runs")
	}
	ids, err := List(root)
	if err != nil {
		return "", err
	}
	if len(ids) == 0 {
		return "", plumb.WithHint(fmt.Errorf("no runs in %s", root), "start a run with: plumb run")
	}
	if name == "last" {
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
		hint := "list the runs with: plumb runs"
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
		return "", plumb.WithHint(
			fmt.Errorf("run %q is ambiguous: %s", name, listed),
			"give more of the id, from its beginning or its end; list the runs with: plumb runs",
		)
	}
}

// WriteFile writes a file with outputs. Only its owner can read it, and it is written completely or
// not at all.
func WriteFile(name string, data []byte) error {
	return WriteTo(name, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// WriteTo is [WriteFile] for content that is written in pieces.
func WriteTo(name string, write func(io.Writer) error) error {
	if err := doc.Write(name, func(f *doc.File) error { return write(f) }); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}
