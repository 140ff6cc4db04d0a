package packaging_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// .ci/adding applies a guide, and finds the ways in which a guide can be wrong.
func TestAddingFollowsTheGuide(t *testing.T) {
	posix(t)
	program(t, "git")
	tree := t.TempDir()
	command(t, tree, "git", "init", "--quiet")
	write(t, tree, "list.txt", "begin\n  one\nend\n")
	write(t, tree, "check.sh", "for f in two.txt generated.txt; do [ -e $f ]; done\ngrep -q two list.txt\n")
	const good = `# Adding

## A number

Text with a block that is no step.

~~~sh
false
~~~

Create ~two.txt~:

~~~text
two
~~~

In ~list.txt~, after ~one~:

~~~
  two
~~~

Generated: ~generated.txt~

Run:

~~~sh
echo "made" > generated.txt
sh -e check.sh
[ "$(tr '\n' ' ' < list.txt)" = "begin   one   two end " ]
~~~

## Another chapter

Create ~other.txt~:

~~~
~~~

Run:

~~~sh
true
~~~
`
	guide := filepath.Join(t.TempDir(), "adding.md")
	follow := func(text string, args ...string) (string, int) {
		t.Helper()
		text = strings.NewReplacer("~~~", "```", "~", "`").Replace(text)
		if err := os.WriteFile(guide, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return script(t, []string{"ADDING_GUIDE=" + guide, "ADDING_TREE=" + tree}, ".ci/adding", args...)
	}
	if out, code := follow(good); code != 0 || !strings.Contains(out, "3 files: generated.txt list.txt two.txt") ||
		!strings.HasSuffix(out, "2 passed, 0 failed\n") {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	if out, code := follow(good, "--needed", "number"); code != 0 || strings.Count(out, "it fails, as it should") != 2 {
		t.Errorf("exit code %d\n%s", code, out)
	}
	if out, code := follow(good, "nothing"); code == 0 {
		t.Errorf("no section: exit code %d\n%s", code, out)
	}
	for name, c := range map[string]struct{ old, new, says string }{
		"a step too many":   {"sh -e check.sh\n", "true\n", "nothing misses two.txt"},
		"an unnamed file":   {"Generated: ~generated.txt~\n", "", "> generated.txt"},
		"a file unchanged":  {"~generated.txt~\n", "~generated.txt~, ~more.txt~\n", "< more.txt"},
		"a failing command": {"sh -e check.sh\n", "sh -e check.sh\nfalse\n", "a-number: FAILED"},
		"no such line":      {"after ~one~", "after ~three~", "exactly one line with: three"},
		"many such lines":   {"after ~one~", "after ~n~", "exactly one line with: n"},
		"an existing file":  {"Create ~two.txt~", "Create ~list.txt~", "list.txt exists"},
		"no such file":      {"In ~list.txt~", "In ~lists.txt~", "there is no lists.txt"},
		"no block":          {"Generated: ~generated.txt~\n", "Create ~x.txt~:\n", "has no block"},
	} {
		t.Run(name, func(t *testing.T) {
			if !strings.Contains(good, c.old) {
				t.Fatalf("the guide has no %q", c.old)
			}
			out, code := follow(strings.Replace(good, c.old, c.new, 1), "--needed", "number")
			if code == 0 || !strings.Contains(out, c.says) {
				t.Errorf("exit code %d, want a failure with %q\n%s", code, c.says, out)
			}
		})
	}
}
