package agentcli

import (
	"path"
	"strings"
)

// shellWord is one word of a shell command. It is dynamic if only the shell knows what it becomes: it holds a variable, a
// pattern or the output of a command.
type shellWord struct {
	text    string
	dynamic bool
	quoted  bool // some of it was: it is a word even when empty, and no keyword
}

// simpleCommand is a command with its arguments.
type simpleCommand struct {
	words []shellWord
	// inputs are the files that are redirected to its input.
	inputs []shellWord
	// base is the directory that cd commands before it have led to, relative to where the shell started; unless lost.
	base string
	lost bool
}

// shellParser splits a command line into its simple commands. It knows what decides where words and commands begin and
// end: quotes, comments, here documents, substitutions, groups. It does not know what any of them come to.
type shellParser struct {
	text  string
	at    int
	depth int // of substitutions
	// heredocs are the delimiters of here documents whose text begins on the next line.
	heredocs []heredoc
	current  simpleCommand
	where    shellPlace
	scopes   []shellPlace
	fn       func(simpleCommand)
}

// shellPlace is a directory of the shell.
type shellPlace struct {
	base string
	lost bool
}

type heredoc struct {
	end  string
	tabs bool // leading tabs do not count
}

// maxNesting is how deep substitutions and shells in shells are followed.
const maxNesting = 6

// eachCommand calls fn with each simple command of a shell command, also of those in groups and substitutions.
func eachCommand(text string, fn func(simpleCommand)) {
	p := &shellParser{text: text, fn: fn}
	p.parse()
}

// shellEnds returns the directory in which a shell command leaves its shell, relative to where it started; lost says that
// only the shell knows.
func shellEnds(text string) (dir string, lost bool) {
	if !strings.Contains(text, "cd") && !strings.Contains(text, "pushd") && !strings.Contains(text, "popd") {
		return "", false
	}
	p := &shellParser{text: text, fn: func(simpleCommand) {}}
	p.parse()
	return p.where.base, p.where.lost
}

func (p *shellParser) parse() {
	for p.at < len(p.text) {
		switch c := p.text[p.at]; {
		case c == '\n':
			p.at++
			p.end()
			p.skipHeredocs()
		case c == ' ' || c == '\t' || c == '\r':
			p.at++
		case c == '#':
			p.skipLine()
		case c == ';' || c == '&' || c == '|':
			p.operator()
		case c == '(' && strings.HasPrefix(p.text[p.at:], "((") && len(p.current.words) == 0:
			if i := strings.Index(p.text[p.at:], "))"); i >= 0 {
				p.at += i + 2 // arithmetic
			} else {
				p.at = len(p.text)
			}
		case c == '(':
			p.at++
			p.end()
			p.scopes = append(p.scopes, p.where)
		case c == ')':
			p.at++
			p.end()
			if n := len(p.scopes); n > 0 {
				p.where, p.scopes = p.scopes[n-1], p.scopes[:n-1]
			}
		case c == '<' || c == '>':
			p.redirect()
		default:
			p.argument()
		}
	}
	p.end()
}

// operator takes one of ; ;; & && | || |& &>.
func (p *shellParser) operator() {
	if strings.HasPrefix(p.text[p.at:], "&>") {
		p.at++
		p.redirect()
		return
	}
	for p.at < len(p.text) && strings.IndexByte(";&|", p.text[p.at]) >= 0 && !strings.HasPrefix(p.text[p.at:], "&>") {
		p.at++
	}
	p.end()
}

// argument takes a word of the current command; a number right before a redirection belongs to that.
func (p *shellParser) argument() {
	start := p.at
	w := p.word()
	if p.at == start { // cannot be, but must never stand still
		p.at++
		return
	}
	if !w.quoted && p.at < len(p.text) && (p.text[p.at] == '<' || p.text[p.at] == '>') && strings.Trim(w.text, "0123456789") == "" {
		return
	}
	p.current.words = append(p.current.words, w)
}

// redirect takes a redirection with its target.
func (p *shellParser) redirect() {
	rest := p.text[p.at:]
	if len(p.current.words) > 0 && p.current.words[0].text == "[[" { // a comparison
		p.at++
		return
	}
	switch {
	case strings.HasPrefix(rest, "<<<"):
		p.at += 3
		p.blanks()
		p.word()
	case strings.HasPrefix(rest, "<<"):
		p.at += 2
		h := heredoc{}
		if strings.HasPrefix(p.text[p.at:], "-") {
			h.tabs = true
			p.at++
		}
		p.blanks()
		if w := p.word(); w.text != "" {
			h.end = w.text
			p.heredocs = append(p.heredocs, h)
		}
	case strings.HasPrefix(rest, "<(") || strings.HasPrefix(rest, ">("):
		p.at++
		p.substitution()
		p.current.words = append(p.current.words, shellWord{dynamic: true, quoted: true})
	case strings.HasPrefix(rest, "<&"):
		p.at += 2
		p.word()
	case rest[0] == '<':
		p.at++
		p.blanks()
		if strings.HasPrefix(p.text[p.at:], ">") { // <> reads and writes
			p.at++
			p.blanks()
		}
		if w := p.word(); w.text != "" {
			p.current.inputs = append(p.current.inputs, w)
		}
	default:
		for p.at < len(p.text) && strings.IndexByte(">|&", p.text[p.at]) >= 0 {
			p.at++
		}
		p.blanks()
		p.word()
	}
}

func (p *shellParser) blanks() {
	for p.at < len(p.text) && (p.text[p.at] == ' ' || p.text[p.at] == '\t') {
		p.at++
	}
}

func (p *shellParser) skipLine() {
	if i := strings.IndexByte(p.text[p.at:], '\n'); i >= 0 {
		p.at += i
	} else {
		p.at = len(p.text)
	}
}

// skipHeredocs skips the texts of the here documents that begin here.
func (p *shellParser) skipHeredocs() {
	for _, h := range p.heredocs {
		for p.at < len(p.text) {
			line := p.text[p.at:]
			p.skipLine()
			line = line[:len(line)-(len(p.text)-p.at)]
			p.at = min(p.at+1, len(p.text))
			line = strings.TrimSuffix(line, "\r")
			if h.tabs {
				line = strings.TrimLeft(line, "\t")
			}
			if line == h.end {
				break
			}
		}
	}
	p.heredocs = nil
}

// word takes a word, of which nothing may be left if none begins here.
func (p *shellParser) word() shellWord {
	var w shellWord
	var b strings.Builder
	for p.at < len(p.text) {
		c := p.text[p.at]
		switch {
		case strings.IndexByte(" \t\r\n;&|()<>", c) >= 0:
			w.text = b.String()
			return w
		case c == '\\':
			p.at++
			if p.at < len(p.text) {
				if p.text[p.at] != '\n' {
					b.WriteByte(p.text[p.at])
					w.quoted = true
				}
				p.at++
			}
			continue
		case c == '\'':
			p.at++
			end := strings.IndexByte(p.text[p.at:], '\'')
			if end < 0 {
				end = len(p.text) - p.at
			}
			b.WriteString(p.text[p.at : p.at+end])
			p.at = min(p.at+end+1, len(p.text))
			w.quoted = true
			continue
		case c == '"':
			p.at++
			w.quoted = true
			p.inQuotes(&w, &b)
			continue
		case c == '$' || c == '`':
			p.expansion(&w)
			continue
		case c == '*' || c == '?' || c == '[' && b.Len() > 0 || c == '{' && (b.Len() > 0 || p.at+1 < len(p.text) && strings.IndexByte(" \t\n", p.text[p.at+1]) < 0) || c == '~' && b.Len() == 0 && !w.quoted:
			w.dynamic = true
		}
		b.WriteByte(c)
		p.at++
	}
	w.text = b.String()
	return w
}

// inQuotes takes what is between double quotes.
func (p *shellParser) inQuotes(w *shellWord, b *strings.Builder) {
	for p.at < len(p.text) {
		switch c := p.text[p.at]; c {
		case '"':
			p.at++
			return
		case '\\':
			p.at++
			if p.at < len(p.text) {
				if c := p.text[p.at]; strings.IndexByte("$`\"\\\n", c) < 0 {
					b.WriteByte('\\')
				}
				if p.text[p.at] != '\n' {
					b.WriteByte(p.text[p.at])
				}
				p.at++
			}
		case '$', '`':
			p.expansion(w)
		default:
			b.WriteByte(c)
			p.at++
		}
	}
}

// expansion takes a variable or the substitution of a command, whose commands are commands too.
func (p *shellParser) expansion(w *shellWord) {
	rest := p.text[p.at:]
	switch {
	case strings.HasPrefix(rest, "$(("):
		w.dynamic = true
		if i := strings.Index(rest, "))"); i >= 0 {
			p.at += i + 2
		} else {
			p.at = len(p.text)
		}
	case strings.HasPrefix(rest, "$("):
		w.dynamic = true
		p.at++
		p.substitution()
	case strings.HasPrefix(rest, "${"):
		w.dynamic = true
		if i := strings.IndexByte(rest, '}'); i >= 0 {
			p.at += i + 1
		} else {
			p.at = len(p.text)
		}
	case rest[0] == '`':
		w.dynamic = true
		p.at++
		end := strings.IndexByte(p.text[p.at:], '`')
		if end < 0 {
			end = len(p.text) - p.at
		}
		p.inner(p.text[p.at : p.at+end])
		p.at = min(p.at+end+1, len(p.text))
	default:
		w.dynamic = true
		p.at++
	}
}

// substitution takes the commands between the parenthesis that stands here and its end.
func (p *shellParser) substitution() {
	start := p.at + 1
	open := 0
	for i := p.at; i < len(p.text); i++ {
		switch p.text[i] {
		case '\\':
			i++
		case '\'':
			if end := strings.IndexByte(p.text[i+1:], '\''); end >= 0 {
				i += end + 1
			}
		case '"':
			for i++; i < len(p.text) && p.text[i] != '"'; i++ {
				if p.text[i] == '\\' {
					i++
				}
			}
		case '(':
			open++
		case ')':
			if open--; open == 0 {
				p.inner(p.text[start:i])
				p.at = i + 1
				return
			}
		}
	}
	p.at = len(p.text)
}

// inner takes the commands of a substitution, which start where the shell is.
func (p *shellParser) inner(text string) {
	if p.depth < maxNesting {
		q := &shellParser{text: text, fn: p.fn, depth: p.depth + 1, where: p.where}
		q.parse()
	}
}

// end ends the current command.
func (p *shellParser) end() {
	c := p.current
	p.current = simpleCommand{}
	if len(c.words) == 0 && len(c.inputs) == 0 {
		return
	}
	c.base, c.lost = p.where.base, p.where.lost
	c.words = withoutPrefix(c.words)
	if len(c.words) > 0 {
		switch name := baseName(c.words[0].text); {
		case name == "cd" || name == "pushd":
			p.cd(c.words[1:])
		case name == "popd":
			p.where.lost = true
		case isShell(name) && p.depth < maxNesting:
			if script, ok := shellScript(c.words[1:]); ok {
				p.inner(script)
			}
		}
	}
	p.fn(c)
}

func (p *shellParser) cd(args []shellWord) {
	for len(args) > 0 && strings.HasPrefix(args[0].text, "-") && len(args[0].text) > 1 {
		args = args[1:]
	}
	switch {
	case len(args) == 0 || args[0].dynamic || args[0].text == "-" || args[0].text == "":
		p.where.lost = true
	case absolute(args[0].text):
		p.where = shellPlace{base: args[0].text}
	case !p.where.lost:
		p.where.base = path.Join(p.where.base, args[0].text)
	}
}
