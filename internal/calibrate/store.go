package calibrate

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/plumb-eval/plumb/internal/doc"
)

// Store is a directory of calibrations, one file for each identity.
type Store struct{ Dir string }

func (s Store) path(id Identity) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %d", id.Config, id.Model, id.Question, id.Votes))
	return filepath.Join(s.Dir, hex.EncodeToString(sum[:8])+".json")
}

// Write stores a calibration. It replaces an earlier one of the same judge and question.
func (s Store) Write(c *Calibration) (path string, err error) {
	data, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return "", fmt.Errorf("store the calibration: %w", err)
	}
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return "", fmt.Errorf("store the calibration: %w", err)
	}
	path = s.path(c.Identity)
	err = doc.Write(path, func(f *doc.File) error {
		_, err := f.Write(append(data, '\n'))
		return err
	})
	if err != nil {
		return "", fmt.Errorf("store the calibration: %w", err)
	}
	return path, nil
}

// Read returns all calibrations. The error names files that cannot be read; the others are returned
// nevertheless.
func (s Store) Read() (all []*Calibration, err error) {
	names, err := fs.Glob(os.DirFS(s.Dir), "*.json")
	if err != nil {
		return nil, fmt.Errorf("read calibrations: %w", err)
	}
	var damaged error
	for _, name := range names {
		path := filepath.Join(s.Dir, name)
		c := &Calibration{}
		data, err := doc.Read(path, doc.StateBytes)
		if err == nil {
			err = doc.Decode(path, 1, data, c)
		}
		switch {
		case err != nil:
			damaged = errors.Join(damaged, fmt.Errorf("read calibration %s: %w", path, err))
		case c.Schema == calibrationSchema:
			all = append(all, c)
		}
	}
	return all, damaged
}

// sameHash reports whether two hashes are equal. One of them may be shortened.
func sameHash(a, b string) bool {
	a, b = strings.TrimPrefix(a, "sha256:"), strings.TrimPrefix(b, "sha256:")
	if len(a) > len(b) {
		a, b = b, a
	}
	const shortest = 8
	return len(a) >= shortest && strings.HasPrefix(b, a)
}
