package transcript

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestShellReads(t *testing.T) {
	shell := newShell() // one for all commands
	for command, want := range map[string]string{
		// As documented.
		`cat skills/x/SKILL.md && sed -n "1,5p" /abs/../b.txt; cat a.txt | head || cat -n q`: "skills/x/SKILL.md /abs/../b.txt a.txt q",
		`cat a.md && sed -n '1,2p' b.md`: "a.md b.md",
		// Beyond that.
		"cat a b":                            "a b",
		"cat -n a":                           "a",
		"cat -- -a":                          "-a",
		"sed -n 1,5p f":                      "f",
		"sed -n -e 1p -e 5p f g":             "f g",
		"sed s/a/b/ f":                       "f",
		"sed -i s/a/b/ f":                    "",
		"sed -i.bak s/a/b/ f":                "",
		"head -n 20 f":                       "f",
		"head -n20 f":                        "f",
		"head -20 f":                         "f",
		"tail -n +5 f":                       "f",
		"tail +5 f":                          "f",
		"head --lines=3 f g":                 "f g",
		"nl -ba f | sed -n 1,5p":             "f",
		"less +G f":                          "f",
		"bat -l go --style plain -r 1:5 f":   "f",
		"rg -n 'foo bar' src/a.go README.md": "src/a.go README.md",
		"rg foo src":                         "",
		"rg foo .":                           "",
		"rg -l foo a.go":                     "",
		"grep -rn foo a.go lib/":             "a.go",
		"grep -e foo -e bar a.go b.txt":      "a.go b.txt",
		"grep -A 3 foo a.go":                 "a.go",
		"grep foo .gitignore":                "",
		"rg --files src":                     "",
		"awk -F, '{print $1}' f.csv":         "f.csv",
		"awk 'NR==1' f":                      "f",
		"jq -r .name package.json":           "package.json",
		"jq --arg x 1 '.a' f.json":           "f.json",
		"diff a.txt b.txt":                   "a.txt b.txt",
		"wc -l f":                            "",
		"ls -la skills":                      "",
		"echo cat a":                         "",
		// Words.
		`cat "a b.md" 'c d.md' e\ f.md`:   "a b.md|c d.md|e f.md",
		`cat "x"y'z'`:                     "xyz",
		`echo "cat a; cat b"`:             "",
		"cat a # b":                       "a",
		"cat $FILE ~/x *.md a?b {a,b}.md": "",
		`cat "$DIR/a.md"`:                 "",
		"cat a\\\n b":                     "a b",
		// Commands.
		"cat a\ncat b":                              "a b",
		"cd sub && cat a && cd .. && cat b":         "sub/a b",
		"cd /abs/dir; cat a":                        "/abs/dir/a",
		"(cd sub && cat a); cat b":                  "sub/a b",
		"cd \"$X\" && cat a /b":                     "/b",
		"cd - && cat a":                             "",
		"if test -f a; then cat a; fi":              "a",
		"for f in 1 2; do cat $f; done":             "",
		"while read l; do echo $l; done < list.txt": "list.txt",
		"! cat a":                              "a",
		"FOO=1 BAR=2 cat a":                    "a",
		"sudo -u me cat a":                     "a",
		"timeout 5 cat a":                      "a",
		"timeout -s KILL 5 cat a":              "a",
		"env -i X=1 cat a":                     "a",
		"command cat a":                        "a",
		"/bin/cat a":                           "a",
		"bash -lc 'cat a && cat b'":            "a b",
		"bash -c \"cd sub; cat a\"":            "sub/a",
		"echo $(cat VERSION)":                  "VERSION",
		"echo \"v$(cat VERSION | head -n 1)\"": "VERSION",
		"echo `cat VERSION`":                   "VERSION",
		"diff <(cat a) <(sort b)":              "a b",
		"cd sub && echo $(cat a)":              "sub/a",
		"cat a & cat b":                        "a b",
		"cat a|tee b":                          "a",
		"find . -name '*.md' | xargs cat":      "",
		"((x < 5)) && cat a":                   "a",
		"[[ a < b ]] && cat c":                 "c",
		// Redirections.
		"python3 - < in.py":                  "in.py",
		"cat < in > out":                     "in",
		"cat a > b 2>/dev/null":              "a",
		"cat a 2>&1 | tail -5":               "a",
		"cat a &> all":                       "a",
		"cat > f <<EOF\ncat a\nEOF":          "",
		"cat <<'EOF' > f\ncat a\nEOF\ncat b": "b",
		"cat <<-E\n\tcat a\n\tE\ncat b":      "b",
		"cat <<A <<B\n1\nA\n2\nB\ncat c":     "c",
		"cat <<< text":                       "",
		"cat < /dev/null":                    "",
		"cat -":                              "",
		"cat a <<EOF\nnever ends":            "a",
		`cat "never ends`:                    "never ends",
		"cat $(cat a":                        "",
		"cat a a ./a":                        "a",
	} {
		sep := " "
		if strings.Contains(want, "|") {
			sep = "|"
		}
		var reads []string
		if want != "" {
			reads = strings.Split(want, sep)
			if strings.HasPrefix(command, `cat "never`) {
				reads = []string{want}
			}
		}
		got := pathsOf(shell.reads(command))
		if diff := cmp.Diff(reads, got); diff != "" {
			t.Errorf("%q: -want +got:\n%s", command, diff)
		}
	}
}

func TestShellEnds(t *testing.T) {
	for command, want := range map[string]string{
		"ls": "", "cd a": "a", "cd a && cd ..": ".", "(cd a)": "", "cd a; ls; cd b": "a/b", "cd /x/y && ls": "/x/y",
		"cd $X": "lost", "cd": "lost",
	} {
		_, got := newShell().reads(command)
		if got.lost {
			got.base = "lost"
		}
		if got.base != want {
			t.Errorf("%q ends in %q, want %q", command, got.base, want)
		}
	}
}

// pathsOf returns the files, each once.
func pathsOf(requests []request, _ ShellPlace) (paths []string) {
	for _, q := range requests {
		if !slices.Contains(paths, q.path) {
			paths = append(paths, q.path)
		}
	}
	return paths
}

func FuzzShellReads(f *testing.F) {
	for _, seed := range []string{
		"cat a && sed -n '1,5p' b | head -3 < c", "cat <<EOF > x\n$(cat y)\nEOF\n(cd z && `cat w`)",
		`grep -rn "a\"b" $'x' {a,b}.c`, "((1<2)) [[ a < b ]] &> x |& y <<<z",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, command string) {
		if len(command) > 4<<10 {
			return
		}
		shell := newShell()
		reads, _ := shell.reads(command)
		for _, r := range reads {
			if r.path == "" || r.course == never {
				t.Errorf("%q reads %v", command, reads)
			}
		}
		shell.words(command)
		if again, _ := shell.reads(command); !slices.Equal(reads, again) {
			t.Errorf("%q reads %v, and then %v", command, reads, again)
		}
	})
}

func TestShellWords(t *testing.T) {
	shell := newShell()
	for command, want := range map[string][]string{
		`/bin/bash -lc 'go test ./p5'`:         {"/bin/bash", "-lc", "go test ./p5"},
		`bash -lc "cd a && grep -rn \"x\" $Y"`: {"bash", "-lc", `cd a && grep -rn "x" $Y`},
		`ls *.go`:                              {"ls", "*.go"},
		`echo $HOME`:                           nil,
		`a; b`:                                 nil,
		`a | b`:                                nil,
		`a > b`:                                nil,
		`X=1 a`:                                nil,
		`bash -lc 'never ends`:                 nil,
		"bash -lc 'cat <<EOF > f\n$(cat y)\nEOF\ntrue'": {"bash", "-lc", "cat <<EOF > f\n$(cat y)\nEOF\ntrue"},
	} {
		if diff := cmp.Diff(want, shell.words(command)); diff != "" {
			t.Errorf("%q: -want +got:\n%s", command, diff)
		}
	}
}
