package runlog_test

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/plumb-eval/plumb/internal/runlog"
)

// temporary gives the test its own directory for temporary files.
func temporary(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"TMPDIR", "TMP", "TEMP"} {
		t.Setenv(name, dir)
	}
	return dir
}

// TestClaims checks that a claim connects an id to a run until it is dropped, and that other files
// among the claims are no claims.
func TestClaims(t *testing.T) {
	temp := temporary(t)
	claims := func() map[string]runlog.Claim {
		t.Helper()
		found, err := runlog.Claims()
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	if found := claims(); len(found) != 0 {
		t.Errorf("claims before the first: %v", found)
	}
	runs, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(runs, "one"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Chdir(runs)
	one, err := runlog.NewClaim("one")
	if err != nil {
		t.Fatal(err)
	}
	two, err := runlog.NewClaim(filepath.Join(runs, "is not there"))
	if err != nil {
		t.Fatal(err)
	}
	if one.RunDir != filepath.Join(runs, "one") || two.RunDir != filepath.Join(runs, "is not there") {
		t.Errorf("the claims are on %s and %s", one.RunDir, two.RunDir)
	}
	dirs, err := filepath.Glob(filepath.Join(temp, "plumb-runs-*"))
	if err != nil || len(dirs) != 1 {
		t.Fatal(dirs, err)
	}
	if err := os.WriteFile(filepath.Join(dirs[0], "relative"), []byte("one\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dirs[0], "directory"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(dirs[0], one.ID), filepath.Join(dirs[0], "link")); err != nil {
		t.Fatal(err)
	}
	want := map[string]runlog.Claim{one.ID: one, two.ID: two}
	if diff := cmp.Diff(want, claims(), cmpopts.EquateComparable(runlog.Claim{})); diff != "" {
		t.Error(diff)
	}
	if err := one.Drop(); err != nil {
		t.Fatal(err)
	}
	delete(want, one.ID)
	if diff := cmp.Diff(want, claims(), cmpopts.EquateComparable(runlog.Claim{})); diff != "" {
		t.Error(diff)
	}
	for _, test := range []struct {
		owner string
		want  runlog.Claim
		ok    bool
	}{
		{two.ID, two, true},
		{one.ID, runlog.Claim{}, true},
		{"", runlog.Claim{}, false}, // no file
	} {
		workspaces := t.TempDir()
		if test.owner != "" {
			if err := runlog.WriteFile(filepath.Join(workspaces, runlog.OwnerFile), []byte(test.owner+"\n")); err != nil {
				t.Fatal(err)
			}
		}
		if c, ok := runlog.Owner(workspaces, claims()); c != test.want || ok != test.ok {
			t.Errorf("the owner %q is %+v, %t", test.owner, c, ok)
		}
	}
}

// TestOldOwnerFile reads an owner file of an earlier build, which held the path of the run.
func TestOldOwnerFile(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, runlog.OwnerFile), []byte("/somewhere/runs/x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS == "windows" {
		t.Skip("that is no whole path here")
	}
	if c, ok := runlog.Owner(dir, nil); !ok || c.RunDir != "/somewhere/runs/x" {
		t.Errorf("%+v, %v", c, ok)
	}
}
