package run

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/plumb-eval/plumb"
)

// Claim says which run an opaque id stands for. Sessions get the id and not the directory of the run, which they have no business
// with: it is in the mark of their processes and in the directory of their workspaces. Each process that works on a run has a
// claim of its own.
type Claim struct {
	ID     string
	RunDir string
	file   string
}

// claimsDir is where claims are kept: one file each, named by the id. It is neither below a run nor above a workspace.
func claimsDir() string {
	return filepath.Join(os.TempDir(), "plumb-runs-"+strconv.Itoa(os.Getuid()))
}

// claim makes a claim on a run.
func claim(runDir string) (Claim, error) {
	dir, err := filepath.Abs(runDir)
	if err != nil {
		return Claim{}, err
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	if err := private(claimsDir(), true); err != nil {
		return Claim{}, err
	}
	id := strings.ToLower(rand.Text())
	c := Claim{ID: id, RunDir: dir, file: filepath.Join(claimsDir(), id)}
	return c, WriteFile(c.file, []byte(dir+"\n"))
}

// Drop removes a claim that nothing refers to any more.
func (c Claim) Drop() error { return os.Remove(c.file) }

// Claims lists the claims that there are, by id.
func Claims() (map[string]Claim, error) {
	found := map[string]Claim{}
	entries, err := os.ReadDir(claimsDir())
	if errors.Is(err, os.ErrNotExist) {
		return found, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look for the claims of runs: %w", err)
	}
	if err := private(claimsDir(), true); err != nil {
		return nil, err // somebody else would say what is to be ended
	}
	for _, e := range entries {
		file := filepath.Join(claimsDir(), e.Name())
		text, err := os.ReadFile(file)
		if dir := strings.TrimSpace(string(text)); err == nil && filepath.IsAbs(dir) && e.Type().IsRegular() {
			found[e.Name()] = Claim{ID: e.Name(), RunDir: dir, file: file}
		}
	}
	return found, nil
}

// Owner returns the directory of the run to which a directory of workspaces belongs, and its claim, if that is known still. ok is
// false for a directory that is none of ours.
func Owner(workspaces string, claims map[string]Claim) (c Claim, ok bool) {
	text, err := os.ReadFile(filepath.Join(workspaces, OwnerFile))
	if err != nil {
		return Claim{}, false
	}
	id := strings.TrimSpace(string(text))
	if filepath.IsAbs(id) { // as earlier builds wrote it
		return Claim{RunDir: id}, true
	}
	return claims[id], true
}

// private makes a directory that only this user can change, or makes sure that it is one: whoever can change it can put anything in
// the way of a session, and read what it leaves. With strict others may not even read it, and it is no link.
func private(dir string, strict bool) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make the directory %s: %w", dir, err)
	}
	look := os.Lstat
	if !strict {
		look = os.Stat
	}
	info, err := look(dir)
	if err != nil {
		return fmt.Errorf("look at the directory %s: %w", dir, err)
	}
	if why := exposed(dir, info, strict); why != "" {
		return plumb.WithHint(fmt.Errorf("%s %s", dir, why),
			"name a directory of your own with --workspaces DIR, or set TMPDIR to one; whoever made this one may be after your sessions")
	}
	return nil
}
