package transcript

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// shellWord is one word of a shell command. It is dynamic if only the shell knows its value: it
// contains a variable, a pattern or the output of a command.
type shellWord struct {
	text    string
	dynamic bool
	quoted  bool // part of it is quoted
}

// simpleCommand is a command with its arguments.
type simpleCommand struct {
	words []shellWord
	// inputs are the files that are redirected to its input.
	inputs []shellWord
	shellPlace
}

// shellPlace is the directory that cd commands lead to, relative to where the shell started. It is
// lost when only the shell knows it.
type shellPlace struct {
	base string
	lost bool
}

const (
	// maxNesting is how many shells inside shells are followed.
	maxNesting = 6
	// maxShell is how many bytes of a command are parsed.
	maxShell = 64 << 10
)

// shell parses shell commands.
type shell struct {
	script *syntax.Parser // for scripts, of which the last command may be cut
	plain  *syntax.Parser // for single commands
}

func newShell() *shell {
	return &shell{syntax.NewParser(syntax.RecoverErrors(1)), syntax.NewParser()}
}

// shellWalk visits the simple commands of a shell command in the order in which they run.
type shellWalk struct {
	*shell
	fn    func(simpleCommand)
	depth int // of shells inside shells
	where shellPlace
	// open are the nodes that are being visited, scopes the directories outside the subshells among
	// them.
	open   []syntax.Node
	scopes []shellPlace
	text   string
}

// ends returns the directory in which a shell command leaves its shell, relative to where the shell
// started. It is lost when only the shell knows it.
func (s *shell) ends(text string) shellPlace {
	if !containsAny(text, "cd", "pushd", "popd") {
		return shellPlace{}
	}
	w := &shellWalk{shell: s, fn: func(simpleCommand) {}}
	w.parse(text)
	return w.where
}

// parse calls w.fn with each simple command of a script, including those in groups and
// substitutions. Bash does not run a statement that is not valid, nor those after it.
func (w *shellWalk) parse(text string) {
	w.text = Clip(text, maxShell)
	unclosed := ""
	var stmts []*syntax.Stmt
	for stmt, err := range w.script.StmtsSeq(strings.NewReader(w.text)) { // a break makes it panic
		if err != nil {
			unclosed = Between(err.Error(), "unclosed here-document `", "`")
		} else {
			stmts = append(stmts, stmt)
		}
	}
	if unclosed != "" && !strings.HasSuffix(w.text, "\n"+unclosed) {
		w.parse(w.text + "\n" + unclosed) // Bash accepts it; the parser reports it before it returns any statement
		return
	}
	for _, stmt := range stmts {
		syntax.Walk(stmt, w.visit)
	}
}

// visit keeps the directory of each subshell apart, and emits a command after the substitutions in
// it.
func (w *shellWalk) visit(node syntax.Node) bool {
	if subst, ok := node.(*syntax.CmdSubst); ok && subst.Right.IsRecovered() {
		return false // it has no end, so that Bash does not run it
	}
	if node != nil {
		w.open = append(w.open, node)
		if subshell(node) {
			w.scopes = append(w.scopes, w.where)
		}
		return true
	}
	node = w.open[len(w.open)-1]
	w.open = w.open[:len(w.open)-1]
	if subshell(node) {
		last := len(w.scopes) - 1
		w.where, w.scopes = w.scopes[last], w.scopes[:last]
	}
	if stmt, ok := node.(*syntax.Stmt); ok {
		w.command(stmt)
	}
	return true
}

func subshell(node syntax.Node) bool {
	switch node.(type) {
	case *syntax.Subshell, *syntax.CmdSubst, *syntax.ProcSubst:
		return true
	default:
		return false
	}
}

// command emits the simple command of a statement, and the input of a compound one.
func (w *shellWalk) command(stmt *syntax.Stmt) {
	c := simpleCommand{shellPlace: w.where}
	if call, ok := stmt.Cmd.(*syntax.CallExpr); ok {
		for _, arg := range call.Args {
			c.words = append(c.words, wordOf(w.text, arg))
		}
	}
	for _, r := range stmt.Redirs {
		if r.Op == syntax.RdrIn || r.Op == syntax.RdrInOut {
			c.inputs = append(c.inputs, wordOf(w.text, r.Word))
		}
	}
	if c.words = withoutPrefix(c.words); len(c.words) > 0 {
		switch BaseName(c.words[0].text) {
		case "cd", "pushd":
			w.where.change(c.words[1:])
		case "popd":
			w.where.lost = true
		case "bash", "sh", "zsh", "dash", "ksh":
			if script, ok := shellScript(c.words[1:]); ok && w.depth < maxNesting {
				(&shellWalk{shell: w.shell, fn: w.fn, depth: w.depth + 1, where: w.where}).parse(script)
			}
		}
	}
	if len(c.words)+len(c.inputs) > 0 {
		w.fn(c)
	}
}

// shellScript returns the command that a shell gets with -c.
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

// change follows a cd command.
func (p *shellPlace) change(args []shellWord) {
	i := slices.IndexFunc(args, func(arg shellWord) bool { return len(arg.text) < 2 || arg.text[0] != '-' })
	switch {
	case i < 0 || args[i].dynamic || args[i].text == "-" || args[i].text == "":
		p.lost = true
	case Absolute(args[i].text):
		*p = shellPlace{base: args[i].text}
	case !p.lost:
		p.base = path.Join(p.base, args[i].text)
	}
}

// wordOf returns the value of a word in source. Text that only the shell can expand stays
// unchanged.
func wordOf(source string, word *syntax.Word) shellWord {
	var w shellWord
	var text strings.Builder
	expansion := func(part syntax.WordPart) {
		w.dynamic = true
		if from, to := int(part.Pos().Offset()), int(part.End().Offset()); from < to && to <= len(source) { //nolint:gosec // offsets in source
			text.WriteString(source[from:to]) // a part that does not end has no offset there
		}
	}
	for i, part := range word.Parts {
		switch part := part.(type) {
		case *syntax.Lit:
			w.literal(&text, part.Value, i == 0)
		case *syntax.SglQuoted:
			w.quoted, w.dynamic = true, w.dynamic || part.Dollar
			text.WriteString(part.Value)
		case *syntax.DblQuoted:
			w.quoted = true
			for _, inner := range part.Parts {
				if lit, ok := inner.(*syntax.Lit); ok {
					unescape(&text, lit.Value, "$`\"\\\n")
				} else {
					expansion(inner)
				}
			}
		default:
			expansion(part)
		}
	}
	w.text = text.String()
	return w
}

// literal adds text that is not quoted.
func (w *shellWord) literal(text *strings.Builder, lit string, begins bool) {
	w.quoted = w.quoted || strings.Contains(lit, `\`)
	special := lit
	for before, rest, ok := strings.Cut(special, `\`); ok; before, rest, ok = strings.Cut(special, `\`) {
		special = before + "x" + rest[min(1, len(rest)):]
	}
	if strings.ContainsAny(special, "*?") || strings.LastIndexByte(special, '[') > 0 || begins && strings.HasPrefix(special, "~") ||
		strings.Contains(special, "{") && special != "{" {
		w.dynamic = true
	}
	unescape(text, lit, "")
}

// unescape removes the backslashes before the characters in only, or before all characters if only
// is empty. It also removes a line break after such a backslash.
func unescape(text *strings.Builder, lit, only string) {
	for i := 0; i < len(lit); i++ {
		if lit[i] == '\\' && i+1 < len(lit) && (only == "" || strings.IndexByte(only, lit[i+1]) >= 0) {
			if i++; lit[i] == '\n' {
				continue
			}
		}
		text.WriteByte(lit[i])
	}
}

// ShellWords returns the words of a text that is one simple command. It returns nil for any other
// text, and for a command with variables or with expansions outside quotes.
func (r *Recorder) ShellWords(text string) []string { return r.shell.words(text) }

func (s *shell) words(text string) []string {
	var words []string
	for word, err := range s.plain.WordsSeq(strings.NewReader(text)) {
		if err != nil {
			return nil
		}
		w := wordOf(text, word)
		if words == nil && assigns(w) ||
			w.dynamic && !w.quoted && strings.ContainsAny(text[word.Pos().Offset():word.End().Offset()], "`$") {
			return nil
		}
		words = append(words, w.text)
	}
	return words
}

// maxDir is the length of a directory's path. Longer paths do not exist.
const maxDir = 4 << 10

// ShellEnds returns the directory in which a command leaves a shell that starts in base. It returns
// base if only the shell knows the directory.
func (r *Recorder) ShellEnds(base, command string) string {
	place := r.shell.ends(command)
	if place.lost || place.base == "" || len(base)+len(place.base) > maxDir {
		return base
	}
	return Resolve(Resolve(r.Cwd, base), place.base)
}
