package transcript

import (
	"path"
	"slices"
	"strings"
)

// maxReads is how many files one command is believed to read.
const maxReads = 1000

// ShellReads returns the files that a shell command is known to read, each once: those that a command such as cat, sed,
// head or grep is given by name, and those that are redirected to a command's input. Relative paths start where the shell
// does; a cd before them is heeded. A name that only the shell can tell (a variable, a pattern, ~) is left out, and so are
// the files of a search of directories: what is reported was named.
//
// A file that is only counted, listed or searched for names is not read. Of the files of grep and its like those count
// whose names have an extension, since the others may be directories.
func ShellReads(command string) []string {
	var reads []string
	seen := map[string]bool{}
	eachCommand(command, func(c simpleCommand) {
		files := c.inputs
		if len(c.words) > 0 {
			files = append(files, operands(BaseName(c.words[0].text), c.words[1:])...)
		}
		for _, f := range files {
			name := f.text
			if f.dynamic || name == "" || name == "-" || strings.HasPrefix(name, "/dev/") || strings.HasPrefix(name, "/proc/self/fd/") {
				continue
			}
			if !Absolute(name) {
				if c.lost {
					continue
				}
				name = path.Join(c.base, name)
			}
			if !seen[name] && len(reads) < maxReads {
				seen[name] = true
				reads = append(reads, name)
			}
		}
	})
	return reads
}

// reading says how the arguments of a command that reads files are told apart.
type reading struct {
	// values are the options, without dashes, that take the next argument, as a list in spaces.
	values string
	// script says that the first operand is no file, unless one of the options in scripts gives it.
	script  bool
	scripts string
	// not are the options with which nothing is read or shown.
	not string
	// named says that only operands with an extension are files.
	named bool
}

// readingOf returns how a command reads files. Most options with values are alike between commands of one kind.
func readingOf(name string) (reading, bool) {
	const grepValues = "e f A B C m d D include exclude exclude-dir regexp file max-count context before-context after-context"
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
		return reading{values: "l r H m language line-range highlight-line file-name style theme paging tabs wrap terminal-width color decorations"}, true
	case "sed", "gsed":
		return reading{values: "e f l expression file line-length", script: true, scripts: "e f expression file", not: "i in-place"}, true
	case "awk", "gawk", "mawk", "nawk":
		return reading{values: "F v f", script: true, scripts: "f"}, true
	case "grep", "egrep", "fgrep", "ggrep", "zgrep":
		return reading{
			values: grepValues, script: true, scripts: "e f regexp file", named: true,
			not: "l L c q files-with-matches files-without-match count quiet silent",
		}, true
	case "rg", "ripgrep", "ag":
		return reading{
			values: grepValues + " g t T r M j E glob iglob type type-not replace sort sortr max-columns max-depth threads encoding",
			script: true, scripts: "e f regexp file", named: true, not: "l c q files files-with-matches files-without-match count count-matches quiet",
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

// operands returns those of a command's arguments that name files which it reads.
func operands(name string, args []shellWord) []shellWord {
	how, ok := readingOf(name)
	if !ok {
		return nil
	}
	values, scripts, not := strings.Fields(how.values), strings.Fields(how.scripts), strings.Fields(how.not)
	script := how.script
	var files []shellWord
	for i := 0; i < len(args); i++ {
		arg := args[i]
		if arg.text == "--" && !arg.dynamic {
			files = append(files, args[i+1:]...)
			break
		}
		if long, ok := strings.CutPrefix(arg.text, "--"); ok {
			option, _, given := strings.Cut(long, "=")
			if slices.Contains(not, option) {
				return nil
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
					return nil
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
	return files
}

// isShell reports whether a program runs the command that it is given with -c.
func isShell(name string) bool {
	switch name {
	case "bash", "sh", "zsh", "dash", "ksh":
		return true
	default:
		return false
	}
}

// shellScript returns the command that a shell is given with -c.
func shellScript(args []shellWord) (string, bool) {
	for i, arg := range args {
		if !strings.HasPrefix(arg.text, "-") {
			return "", false
		}
		if strings.HasSuffix(arg.text, "c") && !strings.HasPrefix(arg.text, "--") && i+1 < len(args) {
			return args[i+1].text, !args[i+1].dynamic
		}
	}
	return "", false
}

// withoutPrefix removes what may stand before a command: keywords, variables, and programs that only start another.
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
	return ok && name != "" && strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_+") == "" &&
		(name[0] < '0' || name[0] > '9')
}

// ShellJoin writes a list of arguments as a command.
func ShellJoin(args []string) string {
	words := make([]string, len(args))
	for i, arg := range args {
		words[i] = arg
		if arg == "" || strings.ContainsAny(arg, " \t\n'\"\\$`;&|<>()*?[]{}~#!") {
			words[i] = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
}
