package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
)

// runIn runs a command line in a directory without anything of the user's environment.
func runIn(t *testing.T, dir string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	return runOn(t, dir, false, args...)
}

// runOn is runIn, on a terminal if wanted.
func runOn(t *testing.T, dir string, terminal bool, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs strings.Builder
	code = Main(t.Context(), Env{
		Args: args, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Dir: dir, Now: time.Now,
		Getenv: func(name string) string {
			return map[string]string{"HOME": dir, "TMPDIR": dir, "TERM": "xterm-256color"}[name]
		},
		Environ: func() []string { return []string{"HOME=" + dir, "TMPDIR=" + dir} },
		Size:    func() (int, int, bool) { return 100, 40, terminal },
	})
	return code, out.String(), errs.String()
}

// leaves calls fn for each command that does something, with its name.
func leaves(cmd *cobra.Command, path []string, fn func(cmd *cobra.Command, path []string)) {
	for _, sub := range cmd.Commands() {
		at := append(append([]string{}, path...), sub.Name())
		fn(sub, at)
		leaves(sub, at, fn)
	}
}

// TestF31EmptyNames: an empty argument and an empty value of a flag are refused by name, in all commands.
// An unset variable never means the last run or everything.
func TestF31EmptyNames(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "s.jsonl"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	arguments, flags := 0, 0
	leaves((&app{}).root(), nil, func(cmd *cobra.Command, path []string) {
		for _, empty := range []string{"", " "} {
			for n := range 3 {
				for i := range n {
					args := strings.Split(strings.Repeat("s.jsonl ", n), " ")[:n]
					args[i] = empty
					known := make([]string, n)
					for k := range known {
						known[k] = "x"
					}
					if cmd.Args == nil || cmd.Args(cmd, known) != nil || cmd.Name() == "exec" && i > 0 || path[0] == "completion" {
						continue
					}
					arguments++
					code, out, errs := runIn(t, dir, append(append([]string{}, path...), args...)...)
					if want := fmt.Sprintf("argument %d is empty", i+1); code != 2 || !strings.Contains(errs, want) {
						t.Errorf("plumb %s %q: exit %d\n%s%s", strings.Join(path, " "), args, code, out, errs)
					}
				}
			}
			cmd.InheritedFlags() // adds them
			cmd.Flags().VisitAll(func(f *flag) {
				if f.Value.Type() == "bool" {
					return
				}
				flags++
				args := append(append([]string{}, path...), "--"+f.Name+"="+empty)
				if cmd.Args != nil && cmd.Args(cmd, nil) != nil {
					args = append(args, "s.jsonl")
				}
				code, out, errs := runIn(t, dir, args...)
				if code != 2 || !strings.Contains(errs, "--"+f.Name) && !strings.Contains(errs, "-"+f.Shorthand+",") {
					t.Errorf("plumb %q: exit %d\n%s%s", args, code, out, errs)
				}
			})
		}
	})
	if arguments < 60 || flags < 300 {
		t.Errorf("only %d arguments and %d flags tried", arguments, flags)
	}
}

// TestF31EmptyParts: a reference whose part is empty is refused, too.
func TestF31EmptyParts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, args := range [][]string{
		{"compare", "last#", "last#v2"},
		{"compare", "#v2", "last"},
		{"compare", "#", "last"},
		{"baseline", "set", "m", "last#"},
		{"compare", "last", "--baseline", ""},
		{"compare", "last", "--map", "a="},
		{"compare", "last", "--map", "=a"},
		{"compare", "last", "--prompts", "a,"},
		{"compare", "a", "b", "--report", "html:"},
		{"report", "last", "--report", ""},
		{"run", "s.jsonl", "--report", "json:"},
	} {
		code, out, errs := runIn(t, dir, args...)
		if code != 2 || strings.Contains(errs, "no runs in") {
			t.Errorf("plumb %q: exit %d\n%s%s", args, code, out, errs)
		}
	}
}
