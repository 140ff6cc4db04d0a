package transcript

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// shellWord is one word of a shell command. It is dynamic if only the shell knows its value: it holds a variable, a pattern
// or the output of a command.
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

// shellPlace is the directory that cd commands lead to, relative to where the shell started. It is lost when only the shell
// knows it.
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

// shellWalk visits the simple commands of a shell command in the order in which they run.
type shellWalk struct {
	fn    func(simpleCommand)
	depth int // of shells inside shells
	where shellPlace
	// open are the nodes that are being visited, scopes the directories outside the subshells among them.
	open   []syntax.Node
	scopes []shellPlace
	text   string
}

// eachCommand calls fn with each simple command of a shell command, including those in groups and substitutions. A
// statement that is not valid Bash does not run, and neither does what follows it.
func eachCommand(text string, fn func(simpleCommand)) {
	(&shellWalk{fn: fn}).parse(text)
}

// ShellEnds returns the directory in which a shell command leaves its shell, relative to where the shell started. It is lost
// when only the shell knows it.
func ShellEnds(text string) (dir string, lost bool) {
	if !strings.Contains(text, "cd") && !strings.Contains(text, "pushd") && !strings.Contains(text, "popd") {
		return "", false
	}
	w := &shellWalk{fn: func(simpleCommand) {}}
	w.parse(text)
	return w.where.base, w.where.lost
}

func (w *shellWalk) parse(text string) {
	text = Clip(text, maxShell)
	w.text = text
	for stmt, err := range syntax.NewParser(syntax.RecoverErrors(1)).StmtsSeq(strings.NewReader(text)) {
		if err != nil {
			if end := Between(err.Error(), "unclosed here-document `", "`"); end != "" && !strings.HasSuffix(text, "\n"+end) {
				w.parse(text + "\n" + end) // Bash accepts it; the parser reports it before it returns any statement
			}
		} else { // a break here makes StmtsSeq panic
			syntax.Walk(stmt, w.visit)
		}
	}
}

// visit keeps the directory of each subshell apart, and emits a command after the substitutions in it.
func (w *shellWalk) visit(node syntax.Node) bool {
	if subst, ok := node.(*syntax.CmdSubst); ok && subst.Right.IsRecovered() {
		return false // it does not end, so that Bash does not run it
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
		switch name := BaseName(c.words[0].text); {
		case name == "cd" || name == "pushd":
			w.where.change(c.words[1:])
		case name == "popd":
			w.where.lost = true
		case isShell(name) && w.depth < maxNesting:
			if script, ok := shellScript(c.words[1:]); ok {
				(&shellWalk{fn: w.fn, depth: w.depth + 1, where: w.where}).parse(script)
			}
		}
	}
	if len(c.words)+len(c.inputs) > 0 {
		w.fn(c)
	}
}

// change changes to the directory that a cd command names.
func (p *shellPlace) change(args []shellWord) {
	args = slices.DeleteFunc(slices.Clone(args), func(arg shellWord) bool {
		return len(arg.text) > 1 && arg.text[0] == '-'
	})
	switch {
	case len(args) == 0 || args[0].dynamic || args[0].text == "-" || args[0].text == "":
		p.lost = true
	case Absolute(args[0].text):
		*p = shellPlace{base: args[0].text}
	case !p.lost:
		p.base = path.Join(p.base, args[0].text)
	}
}

// wordOf returns the value of a word in source. What only the shell can expand stays as it is written.
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

// unescape removes the backslashes before the characters in only, or before all. A line break after one goes, too.
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

// ShellWords returns the words of a text that is one simple command, nil for any other and for one with expansions outside
// quotes.
func ShellWords(text string) []string {
	file, err := syntax.NewParser().Parse(strings.NewReader(text), "")
	if err != nil || len(file.Stmts) != 1 {
		return nil
	}
	stmt := file.Stmts[0]
	call, ok := stmt.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Assigns) > 0 || len(stmt.Redirs) > 0 || stmt.Negated || stmt.Background || stmt.Coprocess {
		return nil
	}
	var words []string
	for _, arg := range call.Args {
		w := wordOf(text, arg)
		if w.dynamic && !w.quoted && strings.ContainsAny(text[arg.Pos().Offset():arg.End().Offset()], "`$") {
			return nil
		}
		words = append(words, w.text)
	}
	return words
}
