package transcript

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// maxReads is the number of files that one command can read; more are ignored.
const maxReads = 1000

// request is a file that a command is told to read.
type request struct {
	path string
	circumstances
	// elsewhere means that the shell may not have got to the directory from which the path starts.
	elsewhere bool
	// alone means that nothing else in the script prints something.
	alone bool
	// selects means that the program shows only what it is told to select: maybe nothing.
	selects bool
}

// reads returns the files that a shell command is told to read, as often as it is, and where it
// leaves the shell: the files that are named to a command such as cat, sed, head or grep, and those
// that are redirected to a command's input. Relative paths start where the shell starts; a cd before
// them counts. It leaves out names that only the shell can expand (a variable, a pattern, ~), the
// files of searches in directories, and commands that cannot run.
//
// A file that is only counted, listed or searched for names is not read. Of the files of grep and
// similar commands, only names with an extension count, because others may be directories.
func (s *shell) reads(command string) (reads []request, end ShellPlace) {
	statements, printers, trapped := 0, 0, false
	w := &shellWalk{shell: s, statements: &statements, printers: &printers, trapped: &trapped}
	w.rest = certain
	for i := range w.files {
		w.files[i] = shown
	}
	w.fn = func(c simpleCommand) {
		if c.course == never {
			return
		}
		files, shows, selects := c.inputs, false, false
		if len(c.words) > 0 {
			name := BaseName(c.words[0].text)
			var named []shellWord
			how, _ := readingOf(name)
			selects = how.script
			named, shows = operands(name, c.words[1:])
			if files = append(files, named...); silent(name) {
				c.out = hidden
			}
		}
		if !shows {
			c.out = min(c.out, passed)
		}
		for _, f := range files {
			name := f.text
			if f.dynamic || name == "" || name == "-" || strings.HasPrefix(name, "/dev/") ||
				strings.HasPrefix(name, "/proc/self/fd/") {
				continue
			}
			if !Absolute(name) {
				if c.lost {
					continue
				}
				name = path.Join(c.base, name)
			}
			if len(reads) < maxReads {
				reads = append(reads, request{
					path: name, circumstances: c.circumstances, elsewhere: c.unsure && !Absolute(f.text),
					alone: len(files) == 1, selects: selects,
				})
			}
		}
	}
	w.parse(command, certain, true)
	for i := range reads {
		reads[i].alone = reads[i].alone && printers == 1
		reads[i].tail = reads[i].tail && !trapped
	}
	return reads, w.where
}

// reading describes how the operands of a command that reads files are found.
type reading struct {
	// values are the options, without dashes, that take the next argument, as a list with spaces.
	values string
	// script means that the first operand is not a file, unless one of the options in scripts gives
	// it.
	script  bool
	scripts string
	// not are the options with which the command does not read or show files.
	not string
	// named means that only operands with an extension are files.
	named bool
}

// readingOf returns how a command reads files. Similar commands have similar options with values.
func readingOf(name string) (reading, bool) {
	const grepValues = "e f A B C m d D include exclude exclude-dir regexp file max-count context before-context " +
		"after-context"
	switch name {
	case "cat", "tac", "zcat", "gzcat", "rev", "strings", "base64", "md", "glow":
		return reading{}, true
	case "head", "tail":
		return reading{values: "n c lines bytes s pid"}, true
	case "nl":
		return reading{values: "b d f h i l n s v w"}, true
	case "less", "more", "most", "view":
		return reading{values: "b h j p P x y z"}, true
	case "bat", "batcat":
		return reading{values: "l r H m language line-range highlight-line file-name style theme paging tabs wrap " +
			"terminal-width color decorations"}, true
	case "sed", "gsed":
		return reading{
			values: "e f l expression file line-length", script: true, scripts: "e f expression file",
			not: "i in-place",
		}, true
	case "awk", "gawk", "mawk", "nawk":
		return reading{values: "F v f", script: true, scripts: "f"}, true
	case "grep", "egrep", "fgrep", "ggrep", "zgrep":
		return reading{
			values: grepValues, script: true, scripts: "e f regexp file", named: true,
			not: "l L c q files-with-matches files-without-match count quiet silent",
		}, true
	case "rg", "ripgrep", "ag":
		return reading{
			values: grepValues + " g t T r M j E glob iglob type type-not replace sort sortr max-columns max-depth " +
				"threads encoding",
			script: true, scripts: "e f regexp file", named: true,
			not: "l c q files files-with-matches files-without-match count count-matches quiet",
		}, true
	case "jq", "yq":
		return reading{values: "f from-file indent L", script: true, scripts: "f from-file", not: "n null-input"}, true
	case "sort":
		return reading{values: "k t o S T"}, true
	case "cut":
		return reading{values: "d f c b output-delimiter"}, true
	case "uniq", "fold", "column", "xxd", "od", "hexdump", "hd":
		return reading{values: "f s w c n l t N A j o g"}, true
	case "diff", "cmp", "comm", "paste":
		return reading{values: "U C d n i j label", not: "q brief"}, true
	default:
		return reading{}, false
	}
}

// operands returns the arguments of a command that name files that it reads, and whether it shows
// what it reads.
func operands(name string, args []shellWord) (files []shellWord, shows bool) {
	how, ok := readingOf(name)
	if !ok || showsNothing(name, args) {
		return nil, false
	}
	values, scripts, not := strings.Fields(how.values), strings.Fields(how.scripts), strings.Fields(how.not)
	script := how.script
	for i := 0; i < len(args); i++ {
		arg := args[i]
		if arg.text == "--" && !arg.dynamic {
			files = append(files, args[i+1:]...)
			break
		}
		if long, ok := strings.CutPrefix(arg.text, "--"); ok {
			option, _, given := strings.Cut(long, "=")
			if slices.Contains(not, option) {
				return nil, false
			}
			script = script && !slices.Contains(scripts, option)
			switch {
			case name == "jq" && slices.Contains([]string{"arg", "argjson", "slurpfile", "rawfile"}, option):
				i += 2
			case !given && slices.Contains(values, option):
				i++
			}
			continue
		}
		if len(arg.text) > 1 && arg.text[0] == '-' {
			for j := 1; j < len(arg.text); j++ {
				option := arg.text[j : j+1]
				if slices.Contains(not, option) {
					return nil, false
				}
				script = script && !slices.Contains(scripts, option)
				if slices.Contains(values, option) {
					if j == len(arg.text)-1 {
						i++
					}
					break // the rest is its value
				}
			}
			continue
		}
		if len(arg.text) > 1 && arg.text[0] == '+' && !arg.quoted {
			continue // tail +5, less +G
		}
		if script {
			script = false
			continue
		}
		files = append(files, arg)
	}
	if how.named {
		files = slices.DeleteFunc(files, func(f shellWord) bool {
			ext := path.Ext(f.text)
			return len(ext) < 2 || ext == path.Base(f.text)
		})
	}
	return files, true
}

// showsNothing reports whether head or tail is told to print nothing.
func showsNothing(name string, args []shellWord) bool {
	if name != "head" && name != "tail" {
		return false
	}
	for i, arg := range args {
		switch arg.text {
		case "-0", "-n0", "-c0", "--lines=0", "--bytes=0":
			return true
		case "-n", "-c", "--lines", "--bytes":
			return i+1 < len(args) && args[i+1].text == "0"
		}
	}
	return false
}

// withoutPrefix removes the words before a command: keywords, variables, and programs that only
// start another program.
func withoutPrefix(words []shellWord) []shellWord {
	for len(words) > 0 {
		w := words[0]
		name := BaseName(w.text)
		switch {
		case assigns(w),
			slices.Contains([]string{"command", "builtin", "exec", "nohup", "setsid", "busybox", "unbuffer"}, name):
			words = words[1:]
		case slices.Contains([]string{"sudo", "env", "nice", "stdbuf", "timeout", "ionice", "doas"}, name):
			words = words[1:]
			for len(words) > 0 && (strings.HasPrefix(words[0].text, "-") || assigns(words[0])) {
				takes := slices.Contains([]string{"-u", "-n", "-k", "-s", "-g", "-C", "-c"}, words[0].text)
				words = words[1:]
				if takes && len(words) > 0 {
					words = words[1:]
				}
			}
			if name == "timeout" && len(words) > 0 {
				words = words[1:]
			}
		default:
			return words
		}
	}
	return words
}

// assigns reports whether a word sets a variable.
func assigns(w shellWord) bool {
	name, _, ok := strings.Cut(w.text, "=")
	return ok && syntax.ValidName(strings.TrimSuffix(name, "+"))
}
