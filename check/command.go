package check

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/plumb-eval/plumb/internal/doc"
)

// Command is a parsed shell command. ParseCommand does not know the program, so it cannot know
// which options take values, and it reads a line of several commands as one.
type Command struct {
	// Executable is the program; "" for an empty command.
	Executable  string
	Positionals []string
	// Options holds the values of each option by its name, dashes included, in order.
	Options map[string][]OptionValue
	// EndOfOptions means that there is a "--".
	EndOfOptions bool
	// FromShell means that the command is the argument of a shell's -c.
	FromShell bool
}

// OptionValue is one use of an option. Flag means that it has no value.
type OptionValue struct {
	Value string
	Flag  bool
}

// ParseCommand parses a command, or the inner command of `sh -c`.
func ParseCommand(command string) Command {
	tokens := shellWords(command)
	inner, ok := unwrapShell(tokens)
	if ok {
		tokens = shellWords(inner)
	}
	c := Command{Options: map[string][]OptionValue{}, FromShell: ok}
	if len(tokens) == 0 {
		return c
	}
	c.Executable = tokens[0]
	for rest := tokens[1:]; len(rest) > 0; {
		rest = rest[c.take(rest):]
	}
	return c
}

// take reads an argument or an option from the tokens, and returns how many tokens it has.
func (c *Command) take(tokens []string) int {
	t := tokens[0]
	add := func(name string, v OptionValue) { c.Options[name] = append(c.Options[name], v) }
	valued := func(name string) int {
		if len(tokens) > 1 && !strings.HasPrefix(tokens[1], "-") {
			add(name, OptionValue{Value: tokens[1]})
			return 2
		}
		add(name, OptionValue{Flag: true})
		return 1
	}
	switch {
	case c.EndOfOptions || t == "-" || !strings.HasPrefix(t, "-"):
		c.Positionals = append(c.Positionals, t)
	case t == "--":
		c.EndOfOptions = true
	case strings.HasPrefix(t, "--"):
		if name, value, ok := strings.Cut(t, "="); ok {
			add(name, OptionValue{Value: value})
			return 1
		}
		return valued(t)
	case utf8.RuneCountInString(t) == 2:
		return valued(t)
	case isLetters(t[1:]):
		for _, letter := range t[1:] {
			add("-"+string(letter), OptionValue{Flag: true})
		}
	default:
		_, size := utf8.DecodeRuneInString(t[1:])
		add(t[:1+size], OptionValue{Value: t[1+size:]})
	}
	return 1
}

func isLetters(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < 'A' || r > 'z' || r > 'Z' && r < 'a' })
}

// shellWords splits a command at white space outside quotes. It drops empty words, and treats
// operators as words.
func shellWords(command string) []string {
	var words []string
	var word strings.Builder
	var quote rune
	runes := []rune(command)
	for i := 0; i < len(runes); i++ {
		r := runes[i]
		switch {
		case r == '\\' && quote != '\'':
			if i+1 < len(runes) {
				i++
				r = runes[i]
			}
			word.WriteRune(r)
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '\'' || r == '"'):
			quote = r
		case quote == 0 && isBlank(r):
			if word.Len() > 0 {
				words = append(words, word.String())
				word.Reset()
			}
		default:
			word.WriteRune(r)
		}
	}
	if word.Len() > 0 {
		words = append(words, word.String())
	}
	return words
}

// isBlank reports whether r is white space in JavaScript, whose regular expressions the documented
// parser is made of.
func isBlank(r rune) bool {
	return r >= '\t' && r <= '\r' || r == '\ufeff' || r == '\u2028' || r == '\u2029' || unicode.Is(unicode.Zs, r)
}

// unwrapShell returns the command that a shell was given with -c, if the tokens start one.
func unwrapShell(tokens []string) (string, bool) {
	shell := -1
	for i, t := range tokens[:min(2, len(tokens))] {
		base := t[strings.LastIndexAny(t, `/\`)+1:]
		if base == "env" {
			continue
		}
		if slices.Contains([]string{"bash", "sh", "zsh", "fish", "dash"}, base) {
			shell = i
			break
		}
	}
	if shell < 0 {
		return "", false
	}
	for i := shell + 1; i < len(tokens)-1; i++ {
		if strings.HasPrefix(tokens[i], "-") && strings.Contains(tokens[i], "c") {
			return tokens[i+1], true
		}
	}
	return "", false
}

// CommandLine is what a command must have. A zero field matches anything. Without Strict the
// command may have more.
type CommandLine struct {
	Executable string
	// Positionals must be there in this order.
	Positionals []string
	// Options must be there, each with these values; an option with no values must be there as a
	// flag.
	Options map[string][]string
	// EndOfOptions demands a "--", or that there is none.
	EndOfOptions *bool
	// Strict allows nothing else.
	Strict bool
}

func (l *CommandLine) isZero() bool {
	return l.Executable == "" && len(l.Positionals) == 0 && len(l.Options) == 0 && l.EndOfOptions == nil && !l.Strict
}

// Matches reports whether a command has what l demands.
func (l *CommandLine) Matches(c Command) bool {
	if l.Executable != "" && c.Executable != l.Executable {
		return false
	}
	if l.EndOfOptions != nil && c.EndOfOptions != *l.EndOfOptions {
		return false
	}
	if l.Strict && (!slices.Equal(l.Positionals, c.Positionals) || len(l.Options) != len(c.Options)) {
		return false
	}
	if !l.Strict && !subsequence(l.Positionals, c.Positionals) {
		return false
	}
	for name, values := range l.Options {
		want := []OptionValue{{Flag: true}}
		if len(values) > 0 {
			want = want[:0]
			for _, v := range values {
				want = append(want, OptionValue{Value: v})
			}
		}
		got := slices.Clone(c.Options[name])
		if l.Strict && len(got) != len(want) {
			return false
		}
		for _, w := range want {
			i := slices.Index(got, w)
			if i < 0 {
				return false
			}
			got = slices.Delete(got, i, i+1)
		}
	}
	return true
}

// subsequence reports whether all of want is in got, in order.
func subsequence(want, got []string) bool {
	for _, g := range got {
		if len(want) > 0 && g == want[0] {
			want = want[1:]
		}
	}
	return len(want) == 0
}

func (l *CommandLine) describe(o options) {
	if l.Executable != "" {
		o["executable"] = l.Executable
	}
	if len(l.Positionals) > 0 {
		o["positionals"] = l.Positionals
	}
	if len(l.Options) > 0 {
		named := options{}
		for name, values := range l.Options {
			named[name] = values
		}
		o["options"] = named.text()
	}
	if l.EndOfOptions != nil {
		o["end_of_options"] = *l.EndOfOptions
	}
	if l.Strict {
		o["strict"] = true
	}
}

// commandLine reads what a command must look like.
func (s *spec) commandLine() CommandLine {
	l := CommandLine{
		Executable: s.textOr("executable"), Positionals: s.strings("positionals"), Strict: s.flag("strict"),
	}
	if s.Get("end_of_options") != nil {
		l.EndOfOptions = new(s.flag("end_of_options"))
	}
	options := s.Get("options")
	if options == nil {
		return l
	}
	l.Options = map[string][]string{}
	for i := range options.Members {
		name, v := options.Members[i].Key, &options.Members[i].Value
		list := v.List
		if v.Kind != doc.List && string(v.JSON()) != "true" {
			list = []doc.Value{*v}
		}
		values := []string{}
		for _, e := range list {
			if e.Kind != doc.String && e.Kind != doc.Number {
				s.bad("options", "the value of %q must be a string, a list of strings, or true for a flag", name)
			}
			values = append(values, e.Text())
		}
		l.Options[name] = values
	}
	return l
}
