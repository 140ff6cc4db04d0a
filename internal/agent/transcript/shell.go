package transcript

import (
	"maps"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/plumb-eval/plumb/internal/text"
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
	ShellPlace
	circumstances
}

// circumstances say what the text of a script tells about a command in it before the script runs.
type circumstances struct {
	course course
	// out is where its output goes.
	out sight
	// loud means that its error messages are shown.
	loud bool
	// tail means that the command succeeded if the script did.
	tail bool
}

// course says whether a command runs.
type course uint8

const (
	never course = iota
	// perhaps means that only the shell knows.
	perhaps
	// follows means that it runs after commands that print why they fail.
	follows
	certain
)

// sight says where an output goes.
type sight uint8

const (
	// hidden means that nobody sees it.
	hidden sight = iota
	// stored means that it is in a file.
	stored
	// passed means that a variable or another program gets it, which may show it.
	passed
	shown
)

// ShellPlace is the directory in which a shell command leaves its shell, relative to where the
// shell started. It is lost when only the shell knows it.
type ShellPlace struct {
	base string
	lost bool
	// unsure means that nothing shows whether the shell got there.
	unsure bool
}

const (
	// maxNesting is how many shells inside shells are followed.
	maxNesting = 6
	// maxShell is how many bytes of a command are parsed.
	maxShell = 64 << 10
	// maxStatements is how many statements are followed: functions can call each other without end.
	maxStatements = 20_000
)

// shell parses shell commands.
type shell struct {
	script *syntax.Parser // for scripts, of which the last command may be cut
	plain  *syntax.Parser // for single commands
}

func newShell() *shell {
	return &shell{syntax.NewParser(syntax.RecoverErrors(1)), syntax.NewParser()}
}

// shellWalk visits the simple commands of a script in the order in which they run.
type shellWalk struct {
	*shell
	fn    func(simpleCommand)
	depth int // of shells inside shells
	text  string
	// statements counts them, also those of shells inside.
	statements *int
	// printers counts the commands whose output is seen, unless they only filter that of others.
	printers *int
	// trapped means that the exit code of the script says nothing about its last command.
	trapped *bool
	shellState
}

// shellState is what a subshell has of its own.
type shellState struct {
	where ShellPlace
	// rest is the best course of the commands that follow: an exit ends the script.
	rest course
	// left means that the script may have ended before, with any exit code.
	left bool
	// files are the outputs by their number: 1 and 2 are those of every program.
	files [10]sight
	// errexit and pipefail are options of the shell.
	errexit, pipefail bool
	// filters means that the input is the output of another command.
	filters bool
	funcs   map[string]*syntax.Stmt
}

// end is what is known of the end of a command.
type end struct {
	status status
	// loud means that it prints why it fails.
	loud bool
}

type status uint8

const (
	unknown status = iota
	succeeded
	failed
)

// parse visits a script, including groups, functions that it calls, and substitutions. Bash does not
// run a statement that is not valid, nor those after it.
func (w *shellWalk) parse(s string, c course, tail bool) {
	w.text = text.Clip(s, maxShell)
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
		w.parse(w.text+"\n"+unclosed, c, tail) // Bash accepts it; the parser reports it before it returns any statement
		return
	}
	w.list(stmts, c, tail)
}

// list visits statements that follow each other.
func (w *shellWalk) list(stmts []*syntax.Stmt, c course, tail bool) (last end) {
	last.status = succeeded
	for i, stmt := range stmts {
		last = w.stmt(stmt, min(c, w.rest), tail && !w.left && (w.errexit || i == len(stmts)-1))
		if w.errexit && last.status != succeeded {
			w.rest = min(w.rest, last.then(failed))
			w.where.unsure = w.where.unsure && !allSucceed(stmt)
		}
	}
	return last
}

// then returns the course of what follows, unless the command ended with the status.
func (e end) then(unless status) course {
	switch {
	case e.status == unless:
		return never
	case e.status != unknown:
		return certain
	case e.loud && unless == failed:
		return follows
	default:
		return perhaps
	}
}

// stmt visits a statement.
func (w *shellWalk) stmt(stmt *syntax.Stmt, c course, tail bool) end {
	if *w.statements++; *w.statements > maxStatements {
		return end{}
	}
	before := w.shellState
	var inputs []shellWord
	for _, r := range stmt.Redirs {
		w.substitutions(r, c, passed)
		if r.Op == syntax.RdrIn || r.Op == syntax.RdrInOut {
			inputs = append(inputs, wordOf(w.text, r.Word))
		} else {
			w.redirect(r)
		}
	}
	if stmt.Background || stmt.Coprocess {
		c, tail = min(c, perhaps), false
	}
	e := w.command(stmt.Cmd, inputs, c, tail && !stmt.Negated)
	if call, ok := stmt.Cmd.(*syntax.CallExpr); !ok || len(call.Args) != 1 || call.Args[0].Lit() != "exec" {
		w.files = before.files
	}
	switch {
	case stmt.Background || stmt.Coprocess:
		w.shellState = before
		return end{status: succeeded}
	case stmt.Negated && e.status == succeeded:
		return end{status: failed}
	case stmt.Negated && e.status == failed:
		return end{status: succeeded}
	case stmt.Negated:
		return end{}
	}
	return e
}

// redirect follows a redirection of an output.
func (w *shellWalk) redirect(r *syntax.Redirect) {
	to := stored
	target := wordOf(w.text, r.Word)
	number := -1 // of the output that it becomes
	switch {
	case target.dynamic:
	case target.text == "/dev/null" || r.Op == syntax.DplOut && target.text == "-":
		to = hidden
	case target.text == "/dev/stdout":
		number = 1
	case target.text == "/dev/stderr":
		number = 2
	case r.Op == syntax.DplOut && len(target.text) == 1 && target.text[0] >= '0' && target.text[0] <= '9':
		number = int(target.text[0] - '0')
	}
	if number >= 0 {
		to = w.files[number]
	}
	fd := 1
	if r.N != nil && len(r.N.Value) == 1 && r.N.Value[0] >= '0' && r.N.Value[0] <= '9' {
		fd = int(r.N.Value[0] - '0')
	}
	switch r.Op {
	case syntax.RdrAll, syntax.RdrAllClob, syntax.AppAll, syntax.AppAllClob:
		w.files[1], w.files[2] = to, to
	case syntax.DplOut:
		if w.files[fd] = to; r.N == nil && number < 0 {
			w.files[2] = to
		}
	case syntax.RdrOut, syntax.AppOut, syntax.RdrClob, syntax.AppClob:
		w.files[fd] = to
	default: // a here-document
	}
}

// inside visits something that runs in a subshell.
func (w *shellWalk) inside(visit func() end) end {
	before := w.shellState
	w.funcs = maps.Clone(w.funcs)
	e := visit()
	w.shellState = before
	return e
}

// command visits the command of a statement.
func (w *shellWalk) command(cmd syntax.Command, inputs []shellWord, c course, tail bool) end {
	if _, simple := cmd.(*syntax.CallExpr); !simple && len(inputs) > 0 {
		w.emit(simpleCommand{
			inputs: inputs, ShellPlace: w.where, circumstances: circumstances{course: c, out: min(passed, w.files[1])},
		})
	}
	switch cmd := cmd.(type) {
	case nil:
		w.emit(simpleCommand{
			inputs: inputs, ShellPlace: w.where, circumstances: circumstances{course: c, out: min(passed, w.files[1])},
		})
		return end{status: succeeded}
	case *syntax.CallExpr:
		return w.call(cmd, inputs, c, tail)
	case *syntax.Block:
		return w.list(cmd.Stmts, c, tail)
	case *syntax.Subshell:
		return w.inside(func() end { return w.list(cmd.Stmts, c, tail) })
	case *syntax.BinaryCmd:
		return w.binary(cmd, c, tail)
	case *syntax.IfClause:
		w.branches(cmd, c)
	case *syntax.WhileClause:
		until := failed
		if cmd.Until {
			until = succeeded
		}
		w.loop(cmd.Do, min(c, w.condition(cmd.Cond, c).then(until)))
	case *syntax.ForClause:
		w.loop(cmd.Do, min(c, w.items(cmd.Loop, c)))
	case *syntax.CaseClause:
		w.substitutions(cmd.Word, c, passed)
		for _, item := range cmd.Items {
			w.list(item.Stmts, min(c, perhaps), false)
		}
	case *syntax.FuncDecl:
		if cmd.Name != nil {
			w.funcs = maps.Clone(w.funcs)
			if w.funcs == nil {
				w.funcs = map[string]*syntax.Stmt{}
			}
			w.funcs[cmd.Name.Value] = cmd.Body
		}
		return end{status: succeeded}
	case *syntax.TimeClause:
		if cmd.Stmt != nil {
			return w.stmt(cmd.Stmt, c, tail)
		}
	case *syntax.CoprocClause:
		w.inside(func() end {
			w.files[1] = min(passed, w.files[1])
			return w.stmt(cmd.Stmt, min(c, perhaps), false)
		})
	case *syntax.DeclClause:
		w.substitutions(cmd, c, passed)
		return end{status: succeeded}
	default: // tests and arithmetic
		w.substitutions(cmd, c, hidden)
	}
	return end{}
}

// condition visits a condition. A command that fails in it does not end the script.
func (w *shellWalk) condition(stmts []*syntax.Stmt, c course) end {
	errexit := w.errexit
	w.errexit = false
	e := w.list(stmts, c, false)
	w.errexit = errexit
	return e
}

// branches visits an if clause, or what follows its elif or else.
func (w *shellWalk) branches(clause *syntax.IfClause, c course) {
	e := end{status: succeeded}
	if len(clause.Cond) > 0 {
		e = w.condition(clause.Cond, c)
		e.loud = false
	}
	w.list(clause.Then, min(c, e.then(failed)), false)
	if clause.Else != nil {
		w.branches(clause.Else, min(c, e.then(succeeded)))
	}
}

// loop visits the body of a loop, which a break ends.
func (w *shellWalk) loop(body []*syntax.Stmt, c course) {
	rest := w.rest
	w.list(body, c, false)
	w.rest = min(rest, max(w.rest, perhaps))
}

// items returns the course of the body of a for loop.
func (w *shellWalk) items(loop syntax.Loop, c course) course {
	w.substitutions(loop, c, passed)
	words, ok := loop.(*syntax.WordIter)
	switch {
	case !ok || !words.InPos.IsValid():
		return perhaps
	case len(words.Items) == 0:
		return never
	case slices.ContainsFunc(words.Items, func(word *syntax.Word) bool { return !wordOf(w.text, word).dynamic }):
		return certain
	}
	return perhaps
}

// binary visits two statements that an operator joins.
func (w *shellWalk) binary(cmd *syntax.BinaryCmd, c course, tail bool) end {
	switch cmd.Op {
	case syntax.AndStmt:
		errexit := w.errexit
		w.errexit = false
		unsure := w.where.unsure
		x := w.stmt(cmd.X, c, tail)
		w.errexit = errexit
		there := w.where.unsure && !unsure && allSucceed(cmd.X)
		w.where.unsure = w.where.unsure && !there
		y := w.stmt(cmd.Y, min(c, w.rest, x.then(failed)), tail && !w.left)
		w.where.unsure = w.where.unsure || there
		switch x.status {
		case failed:
			return x
		case succeeded:
			return y
		default:
		}
		return end{loud: x.loud && (y.loud || y.status == succeeded)}
	case syntax.OrStmt:
		rest, errexit, unsure := w.rest, w.errexit, w.where.unsure
		w.errexit = false
		x := w.stmt(cmd.X, c, false)
		w.errexit = errexit
		y := w.stmt(cmd.Y, min(c, w.rest, x.then(succeeded)), false)
		if w.rest < rest && x.status == unknown && x.loud {
			w.rest = min(rest, follows) // cd dir || exit
			w.where.unsure = unsure
		}
		switch {
		case x.status == succeeded, y.status == succeeded:
			return end{status: succeeded}
		case x.status == failed:
			return y
		}
		return end{loud: x.loud && y.loud}
	default: // a pipe
		var x end
		among := c
		if _, simple := cmd.X.Cmd.(*syntax.CallExpr); !simple {
			among = min(c, perhaps) // Y may end it early
		}
		w.inside(func() end {
			w.files[1] = w.through(cmd.Y)
			if cmd.Op == syntax.PipeAll {
				w.files[2] = w.files[1]
			}
			x = w.stmt(cmd.X, among, tail && w.pipefail)
			return x
		})
		y := w.inside(func() end {
			w.filters = true
			return w.stmt(cmd.Y, c, tail)
		})
		y.loud = x.loud && y.loud
		return y
	}
}

// allSucceed reports whether each command of a statement succeeded if the statement did.
func allSucceed(stmt *syntax.Stmt) bool {
	if stmt.Negated || stmt.Background {
		return false
	}
	switch cmd := stmt.Cmd.(type) {
	case *syntax.CallExpr:
		return true
	case *syntax.BinaryCmd:
		return cmd.Op == syntax.AndStmt && allSucceed(cmd.X) && allSucceed(cmd.Y)
	}
	return false
}

// through returns where a statement takes the input that it gets from a pipe.
func (w *shellWalk) through(stmt *syntax.Stmt) sight {
	before := w.files
	defer func() { w.files = before }()
	for _, r := range stmt.Redirs {
		if r.Op == syntax.RdrIn || r.Op == syntax.RdrInOut || r.Op == syntax.Hdoc || r.Op == syntax.DashHdoc ||
			r.Op == syntax.WordHdoc {
			return hidden // it has another input
		}
		w.redirect(r)
	}
	out := w.files[1]
	switch cmd := stmt.Cmd.(type) {
	case *syntax.CallExpr:
		var words []shellWord
		for _, arg := range cmd.Args {
			words = append(words, wordOf(w.text, arg))
		}
		return min(out, w.filter(withoutPrefix(words)))
	case *syntax.BinaryCmd:
		if cmd.Op == syntax.Pipe || cmd.Op == syntax.PipeAll {
			w.files[1] = w.through(cmd.Y)
			return w.through(cmd.X)
		}
	}
	return min(out, passed)
}

// filter returns how a command shows what it reads from its input.
func (w *shellWalk) filter(words []shellWord) sight {
	if len(words) == 0 {
		return hidden
	}
	name, args := BaseName(words[0].text), words[1:]
	if w.funcs[name] != nil {
		return passed
	}
	if silent(name) {
		return hidden
	}
	how, reads := readingOf(name)
	files, shows := operands(name, args)
	switch {
	case reads && (!shows || slices.ContainsFunc(files, func(f shellWord) bool { return f.text != "-" })):
		return hidden // it shows nothing of what it reads, or reads a file instead
	case reads && !how.named && name != "jq" && name != "awk":
		return shown
	case slices.Contains([]string{"tee", "tr", "fmt", "pr", "expand", "unexpand", "iconv"}, name):
		return shown
	}
	return passed
}

// silent reports whether a program prints nothing of its input: nothing at all, or only numbers.
func silent(name string) bool {
	return slices.Contains([]string{
		"wc", "true", ":", "false", "test", "[", "cd", "exit", "return", "break", "continue", "read", "mapfile",
		"readarray", "sleep", "set", "export", "unset", "local", "shopt", "trap", "wait", "mkdir", "touch", "cp", "mv",
		"rm", "chmod", "kill", "cksum", "sum", "md5sum", "sha1sum", "sha256sum", "sha512sum", "b2sum", "shasum",
		"umask", "ulimit",
	}, name)
}

// substitutions visits the commands in the words of a node, whose output the node's command gets.
func (w *shellWalk) substitutions(node syntax.Node, c course, out sight) {
	if node == nil {
		return
	}
	syntax.Walk(node, func(node syntax.Node) bool {
		var stmts []*syntax.Stmt
		switch node := node.(type) {
		case *syntax.CmdSubst:
			if node.Right.IsRecovered() {
				return false // it has no end, so that Bash does not run it
			}
			stmts = node.Stmts
		case *syntax.ProcSubst:
			stmts = node.Stmts
		case *syntax.Stmt:
			return false
		default:
			return true
		}
		w.inside(func() end {
			w.files[1] = min(out, w.files[1])
			return w.list(stmts, c, false)
		})
		return false
	})
}

// call visits a simple command.
func (w *shellWalk) call(call *syntax.CallExpr, inputs []shellWord, c course, tail bool) end {
	cmd := simpleCommand{
		inputs: inputs, ShellPlace: w.where,
		circumstances: circumstances{course: c, out: w.files[1], loud: w.files[2] == shown, tail: tail},
	}
	for _, arg := range call.Args {
		cmd.words = append(cmd.words, wordOf(w.text, arg))
	}
	executes := len(cmd.words) > 1 && cmd.words[0].text == "exec"
	outer := ""
	if len(cmd.words) > 0 {
		outer = cmd.words[0].text
	}
	cmd.words = withoutPrefix(cmd.words)
	name := ""
	if len(cmd.words) > 0 {
		name = BaseName(cmd.words[0].text)
	}
	into := passed
	if silent(name) {
		into = hidden
	}
	for _, assign := range call.Assigns {
		w.substitutions(assign, c, passed)
	}
	for _, arg := range call.Args {
		w.substitutions(arg, c, into)
	}
	if body := w.funcs[name]; body != nil && outer == name {
		rest := w.rest
		e := w.stmt(body, c, tail)
		w.rest = min(rest, max(w.rest, perhaps)) // a return only ends the function
		return end{loud: e.loud}
	}
	defer func() {
		if executes {
			w.leave(c)
		}
	}()
	e := end{loud: cmd.loud && printsErrors(name)}
	switch name {
	case "":
		e.status = succeeded
		if len(call.Args) == 0 && len(call.Assigns) > 0 {
			e.status = unknown // that of the substitution
		}
	case "true", ":", "echo", "printf", "export", "sleep":
		e.status = succeeded
	case "false":
		e.status = failed
	case "cd", "pushd":
		if c > never {
			w.where.change(cmd.words[1:])
			w.where.lost, w.where.unsure = w.where.lost || c == perhaps, true
		}
	case "popd":
		w.where.lost = w.where.lost || c > never
	case "exit", "return", "break", "continue":
		w.leave(c)
	case "trap":
		*w.trapped = true
	case "set":
		e.status = succeeded
		if c > never {
			w.option(cmd.words[1:])
		}
	case "bash", "sh", "zsh", "dash", "ksh":
		if script, ok := shellScript(cmd.words[1:]); ok && w.depth < maxNesting {
			nested := *w
			nested.depth++
			nested.funcs, nested.rest, nested.left = nil, certain, false
			nested.option(cmd.words[1:])
			nested.parse(script, c, tail)
			cmd.words = nil
			w.emit(cmd)
			return end{}
		}
	}
	w.emit(cmd)
	return e
}

// leave follows a command that ends the script, a function or a loop.
func (w *shellWalk) leave(c course) {
	w.left = w.left || c > never
	switch c {
	case never:
	case certain:
		w.rest = never
	default:
		w.rest = min(w.rest, perhaps)
	}
}

// option follows the options of the shell in the arguments of set or of a shell.
func (w *shellWalk) option(args []shellWord) {
	for i, arg := range args {
		on := strings.HasPrefix(arg.text, "-") && !strings.HasPrefix(arg.text, "--")
		if !on && !strings.HasPrefix(arg.text, "+") {
			if i == 0 || !strings.HasSuffix(args[i-1].text, "o") {
				return
			}
			on = strings.HasPrefix(args[i-1].text, "-")
			switch arg.text {
			case "errexit":
				w.errexit = on
			case "pipefail":
				w.pipefail = on
			}
			continue
		}
		if strings.Contains(arg.text, "e") {
			w.errexit = on
		}
	}
}

// printsErrors reports whether a program prints why it failed.
func printsErrors(name string) bool {
	how, ok := readingOf(name)
	return ok && !how.named && name != "diff" && name != "cmp" ||
		slices.Contains([]string{"cd", "pushd", "popd", "mkdir", "cp", "mv", "ls", "rm", "touch"}, name)
}

// emit reports a simple command.
func (w *shellWalk) emit(c simpleCommand) {
	if len(c.words)+len(c.inputs) == 0 {
		return
	}
	if len(c.words) > 0 && c.course > never && c.out > hidden {
		if name := BaseName(c.words[0].text); !silent(name) && (!w.filters || w.filter(c.words) != shown) {
			*w.printers++
		}
	}
	w.filters = false
	w.fn(c)
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
func (p *ShellPlace) change(args []shellWord) {
	i := slices.IndexFunc(args, func(arg shellWord) bool { return len(arg.text) < 2 || arg.text[0] != '-' })
	switch {
	case i < 0 || args[i].dynamic || args[i].text == "-" || args[i].text == "":
		p.lost = true
	case Absolute(args[i].text):
		*p = ShellPlace{base: args[i].text, unsure: p.unsure}
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
		if from, to := part.Pos().Offset(), part.End().Offset(); from < to && to <= uint(len(source)) {
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
	if strings.ContainsAny(special, "*?") || strings.LastIndexByte(special, '[') > 0 ||
		begins && strings.HasPrefix(special, "~") || strings.Contains(special, "{") && special != "{" {
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

// From returns the directory for a shell that started in base, which is relative to cwd. It returns
// base if only the shell knows the directory.
func (p ShellPlace) From(cwd, base string) string {
	if p.lost || p.base == "" || len(base)+len(p.base) > maxDir {
		return base
	}
	return Resolve(Resolve(cwd, base), p.base)
}
