package proc

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Temporary is a kind of temporary directories.
type Temporary string

// The temporary directories of Plumb, besides those of agents' sessions. Those of a demo and of a
// page that a browser shows stay when their process has ended.
const (
	TempBootstrap Temporary = "bootstrap"
	TempCheck     Temporary = "check"
	TempCommand   Temporary = "command"
	TempDemo      Temporary = "demo"
	TempDoctor    Temporary = "doctor"
	TempView      Temporary = "view"
)

// Dir creates a directory, whose name says which process made it.
func (t Temporary) Dir() (string, error) {
	return os.MkdirTemp("", t.prefix()+strconv.Itoa(os.Getpid())+"-*") //nolint:wrapcheck // it has the path
}

func (t Temporary) prefix() string { return "plumb-" + string(t) + "-" }

// SweepTemporary removes the temporary directories whose process has ended, and returns their
// names. Of those that stay, it removes the ones that did not change after before. With dryRun it
// only returns them.
func SweepTemporary(before time.Time, dryRun bool) (removed []string, err error) {
	kept := []Temporary{TempDemo, TempView}
	for _, kind := range append([]Temporary{TempBootstrap, TempCheck, TempCommand, TempDoctor}, kept...) {
		found, err := filepath.Glob(filepath.Join(os.TempDir(), kind.prefix()+"*-*"))
		if err != nil {
			return removed, err //nolint:wrapcheck // the pattern is constant
		}
		for _, dir := range found {
			owner, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(dir), kind.prefix()), "-")
			info, err := os.Lstat(dir)
			if pid, bad := strconv.Atoi(owner); err != nil || !info.IsDir() || bad != nil || Alive(pid) ||
				slices.Contains(kept, kind) && info.ModTime().After(before) {
				continue
			}
			if _, err := os.ReadDir(dir); os.IsPermission(err) {
				continue // of another user
			}
			if !dryRun {
				if err := os.RemoveAll(dir); err != nil {
					return removed, fmt.Errorf("remove a temporary directory: %w", err)
				}
			}
			removed = append(removed, dir)
		}
	}
	return removed, nil
}
