package runlog

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/doc"
)

// Claim connects an opaque id to a run. Sessions get the id, not the directory of the run, which
// they do not need: the id is in the marker of their processes and in the directory of their
// workspaces. Each process that works on a run has its own claim.
type Claim struct {
	ID     string
	RunDir string
	file   string
}

// OwnerFile is a file in the directory of each run's workspaces. It holds the id of a [Claim] on
// that run.
const OwnerFile = ".run"

// claimsDir is the directory of the claims: one file per claim, named by the id. It is neither
// below a run nor above a workspace.
func claimsDir() string {
	return filepath.Join(os.TempDir(), "plumb-runs-"+strconv.Itoa(os.Getuid()))
}

// NewClaim creates a claim on a run.
func NewClaim(runDir string) (Claim, error) {
	dir, err := filepath.Abs(runDir)
	if err != nil {
		return Claim{}, err
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	if err := Private(claimsDir(), true); err != nil {
		return Claim{}, err
	}
	id := strings.ToLower(rand.Text())
	c := Claim{ID: id, RunDir: dir, file: filepath.Join(claimsDir(), id)}
	return c, WriteFile(c.file, []byte(dir+"\n"))
}

// Drop removes a claim that is no longer used.
func (c Claim) Drop() error { return os.Remove(c.file) }

// Claims returns all claims, by id.
func Claims() (map[string]Claim, error) {
	found := map[string]Claim{}
	entries, err := os.ReadDir(claimsDir())
	if errors.Is(err, os.ErrNotExist) {
		return found, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the claims of runs: %w", err)
	}
	if err := Private(claimsDir(), true); err != nil {
		return nil, err // another user could choose the processes to end
	}
	for _, e := range entries {
		file := filepath.Join(claimsDir(), e.Name())
		text, err := doc.Read(file, doc.EnvBytes)
		if dir := strings.TrimSpace(string(text)); err == nil && filepath.IsAbs(dir) && e.Type().IsRegular() {
			found[e.Name()] = Claim{ID: e.Name(), RunDir: dir, file: file}
		}
	}
	return found, nil
}

// Owner returns the claim of the run to which a directory of workspaces belongs; its RunDir is ""
// if the claim is gone. ok is false if the directory does not belong to Plumb.
func Owner(workspaces string, claims map[string]Claim) (c Claim, ok bool) {
	text, err := doc.Read(filepath.Join(workspaces, OwnerFile), doc.EnvBytes)
	if err != nil {
		return Claim{}, false
	}
	id := strings.TrimSpace(string(text))
	if filepath.IsAbs(id) { // written by earlier builds
		return Claim{RunDir: id}, true
	}
	return claims[id], true
}

// Private creates a directory that only this user can change, or checks an existing one. Somebody
// who can change it could tamper with sessions and read their files. With strict, other users must
// not be able to read it either, and it must not be a link.
func Private(dir string, strict bool) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("create the directory %s: %w", dir, err)
	}
	look := os.Lstat
	if !strict {
		look = os.Stat
	}
	info, err := look(dir)
	if err != nil {
		return fmt.Errorf("check the directory %s: %w", dir, err)
	}
	if why := exposed(dir, info, strict); why != "" {
		return plumb.WithHint(fmt.Errorf("%s %s", dir, why),
			"set --workspaces or TMPDIR to a directory that belongs to you; "+
				"another user may have created this one to read your sessions")
	}
	return nil
}
