package suite

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2/unstable"

	"github.com/plumb-eval/plumb/internal/doc"
)

// tomlLines has the places of the keys and tables of a TOML text, so that messages have places, and
// so that a value can be changed without changing anything else in the file. It ends at the first
// error of the text.
type tomlLines struct {
	data    []byte
	entries []tomlEntry
	// over is the limit that the text exceeds, or "", and overAt the offset where.
	over   string
	overAt int
	// count is the number of keys and list elements.
	count int
}

// tomlEntry is a table header, or a key with its value. The numbers are byte offsets; a header has
// no value.
type tomlEntry struct {
	key                                    []string
	header                                 bool
	line, start, value, valueEnd, nextLine int
}

func indexTOML(data []byte) tomlLines {
	l := tomlLines{data: data}
	var p unstable.Parser
	p.Reset(withoutBOM(data))
	var table []string
	for l.over == "" && p.NextExpression() {
		node := p.Expression()
		key, start, end := l.keyOf(node)
		l.count++
		e := tomlEntry{key: key, header: node.Kind != unstable.KeyValue}
		if e.header {
			table = key
		} else {
			e.key = slices.Concat(table, key)
			l.limit(node.Value(), 0, end)
			e.value = end + bytes.IndexByte(data[end:], '=') + 1
			e.value += len(data[e.value:]) - len(bytes.TrimLeft(data[e.value:], " \t"))
			e.valueEnd = int(node.Raw.Offset + node.Raw.Length)
			end = e.valueEnd
		}
		e.line = bytes.LastIndexByte(data[:start], '\n') + 1
		e.start = e.line + len(data[e.line:]) - len(bytes.TrimLeft(data[e.line:], " \t"))
		e.nextLine = len(data)
		if i := bytes.IndexByte(data[end:], '\n'); i >= 0 {
			e.nextLine = end + i + 1
		}
		l.entries = append(l.entries, e)
		if l.count > doc.ManifestKeys {
			l.exceed(fmt.Sprintf("more than %d keys and list elements", doc.ManifestKeys), start)
		}
	}
	return l
}

// withoutBOM replaces a byte order mark by spaces, which keeps the offsets.
func withoutBOM(data []byte) []byte {
	if rest, ok := bytes.CutPrefix(data, []byte("\uFEFF")); ok {
		return append([]byte("   "), rest...)
	}
	return data
}

// keyOf returns the parts of the key of a node, and the offsets of its first part and of its end.
func (l *tomlLines) keyOf(node *unstable.Node) (key []string, start, end int) {
	for it := node.Key(); it.Next(); {
		part := it.Node()
		at := int(part.Raw.Offset)
		if key == nil {
			start = at
		}
		if len(key) >= doc.ManifestParts {
			l.exceed(fmt.Sprintf("a key of more than %d parts", doc.ManifestParts), at)
			break
		}
		key, end = append(key, string(part.Data)), at+int(part.Raw.Length)
	}
	return key, start, end
}

// limit counts the elements of a value and checks its depth.
func (l *tomlLines) limit(v *unstable.Node, depth, at int) {
	if v.Kind != unstable.Array && v.Kind != unstable.InlineTable {
		return
	}
	if depth >= doc.ManifestParts {
		l.exceed(fmt.Sprintf("lists and tables more than %d deep", doc.ManifestParts), at)
		return
	}
	for it := v.Children(); it.Next(); {
		l.count++
		child := it.Node()
		if child.Kind == unstable.KeyValue {
			_, at, _ = l.keyOf(child)
			child = child.Value()
		}
		l.limit(child, depth+1, at)
	}
}

func (l *tomlLines) exceed(what string, at int) {
	if l.over == "" {
		l.over, l.overAt = what, at
	}
}

// find returns line and column of the key, or of the nearest entry that contains it or that it
// contains.
func (l *tomlLines) find(key []string) (line, column int) {
	for n := len(key); n > 0; n-- {
		i := slices.IndexFunc(l.entries, func(e tomlEntry) bool { return slices.Equal(e.key, key[:n]) })
		if i < 0 {
			i = slices.IndexFunc(l.entries, func(e tomlEntry) bool {
				return len(e.key) > n && slices.Equal(e.key[:n], key[:n])
			})
		}
		if i >= 0 {
			return l.place(l.entries[i].start)
		}
	}
	return 1, 1
}

func (l *tomlLines) place(offset int) (line, column int) {
	begin := bytes.LastIndexByte(l.data[:offset], '\n') + 1
	return bytes.Count(l.data[:offset], []byte("\n")) + 1, utf8.RuneCount(l.data[begin:offset]) + 1
}

// entry returns the entry of a key with a value, or of a table.
func (l *tomlLines) entry(key []string, header bool) int {
	return slices.IndexFunc(l.entries, func(e tomlEntry) bool { return e.header == header && slices.Equal(e.key, key) })
}

// set returns the text with the key set to a value in TOML syntax. The table of the key must be
// written as [table].
func (l *tomlLines) set(key []string, value string) ([]byte, error) {
	if i := l.entry(key, false); i >= 0 {
		return splice(l.data, l.entries[i].value, l.entries[i].valueEnd, value), nil
	}
	table, name := key[:len(key)-1], key[len(key)-1]
	i := l.entry(table, true)
	if i < 0 {
		return nil, fmt.Errorf("cannot write %s: the manifest has no line [%s]", strings.Join(key, "."),
			strings.Join(table, "."))
	}
	last, indent := l.entries[i], ""
	for _, e := range l.entries[i+1:] {
		if e.header {
			break
		}
		last, indent = e, string(l.data[e.line:e.start])
	}
	eol := "\n"
	if bytes.Contains(l.data, []byte("\r\n")) {
		eol = "\r\n"
	}
	line := indent + name + " = " + value + eol
	if last.nextLine == len(l.data) && !bytes.HasSuffix(l.data, []byte("\n")) {
		line = eol + strings.TrimSuffix(line, eol)
	}
	return splice(l.data, last.nextLine, last.nextLine, line), nil
}

// remove returns the text without the lines of the key.
func (l *tomlLines) remove(key []string) []byte {
	if i := l.entry(key, false); i >= 0 {
		return splice(l.data, l.entries[i].line, l.entries[i].nextLine, "")
	}
	return l.data
}

func splice(data []byte, from, to int, text string) []byte {
	return slices.Concat(data[:from], []byte(text), data[to:])
}
