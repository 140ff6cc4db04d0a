package garbage

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/project"
	"github.com/plumb-eval/plumb/internal/runlog"
)

// Runs are runs that can be deleted. Their keys are documented.
type Runs struct {
	DryRun bool  `json:"dryRun"`
	Runs   []Run `json:"runs"`
	// Kept counts the other runs of the project.
	Kept int `json:"kept"`
}

// Run is a run that can be deleted.
type Run struct {
	ID        string    `json:"id"`
	Suite     string    `json:"suite,omitempty"`
	Path      string    `json:"path"`
	Bytes     int64     `json:"bytes"`
	LastWrite time.Time `json:"lastWrite"`
}

// OldRuns returns the runs that nothing was written to after before, the oldest first. It leaves
// out the latest keep runs, running ones, and those that a baseline, the config or a kept run
// names.
func OldRuns(p *project.Project, before time.Time, keep int) (*Runs, error) {
	ids, err := runlog.List(p.Runs())
	if err != nil {
		return nil, err
	}
	old, texts := &Runs{Runs: []Run{}}, [][]byte{}
	add := func(path string) error {
		data, err := doc.Read(path, doc.StateBytes)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		texts = append(texts, data)
		return err
	}
	var candidates []Run
	for i, id := range ids {
		path := filepath.Join(p.Runs(), id)
		r := Run{ID: id, Path: path}
		if i < len(ids)-keep && !runlog.Locked(path) {
			if r.Bytes, r.LastWrite, err = measure(path); err != nil {
				return nil, fmt.Errorf("measure run %s: %w", id, err)
			}
			if r.LastWrite.Before(before) {
				var s project.Spec
				if runlog.ReadSpec(path, &s) == nil { // a damaged run has no suite
					r.Suite = s.Suite
				}
				candidates = append(candidates, r)
				continue
			}
		}
		if err := add(filepath.Join(path, runlog.SpecFile)); err != nil {
			return nil, err
		}
	}
	if p.Config.Path != "" {
		if err := add(p.Config.Path); err != nil {
			return nil, err
		}
	}
	err = filepath.WalkDir(p.Baselines(), func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil || d.IsDir():
			return err
		}
		return add(path)
	})
	if err != nil {
		return nil, fmt.Errorf("read the baselines: %w", err)
	}
	// From the latest to the oldest, because a run names only earlier ones.
	for _, r := range slices.Backward(candidates) {
		if !named(texts, r.ID) {
			old.Runs = append(old.Runs, r)
		} else if err := add(filepath.Join(r.Path, runlog.SpecFile)); err != nil {
			return nil, err
		}
	}
	slices.Reverse(old.Runs)
	old.Kept = len(ids) - len(old.Runs)
	return old, nil
}

func named(texts [][]byte, id string) bool {
	for _, text := range texts {
		if bytes.Contains(text, []byte(id)) {
			return true
		}
	}
	return false
}

// Delete deletes the runs, and leaves those in the list that it deleted.
func (o *Runs) Delete() error {
	var deleted []Run
	var failed error
	for _, r := range o.Runs {
		if err := runlog.Delete(r.Path); err != nil {
			failed = errors.Join(failed, fmt.Errorf("delete run %s: %w", r.ID, err))
			o.Kept++
			continue
		}
		deleted = append(deleted, r)
	}
	o.Runs = append([]Run{}, deleted...)
	return failed
}

// measure returns the size of a run directory, and when something was last written to a file in it.
func measure(path string) (size int64, last time.Time, err error) {
	err = filepath.WalkDir(path, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		size += info.Size()
		if info.ModTime().After(last) {
			last = info.ModTime()
		}
		return nil
	})
	return size, last, err
}
