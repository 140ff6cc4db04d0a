// Package draft is a suite in the making, which a conversion writes: its cases and its config, what
// could not be carried over, and their texts.
package draft

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/text"
	"github.com/plumb-eval/plumb/schema"
)

// SuiteFile and ConfigFile are the names of the files that a conversion writes.
const (
	SuiteFile  = "suite.yaml"
	ConfigFile = "plumb.yaml"
)

// Draft is what a conversion has read so far.
type Draft struct {
	// File is the path of the converted file, and Dir its directory.
	File, Dir string
	// Comment are lines at the top of the suite, after that with the name of the file.
	Comment []string
	// Prompts is the list of prompts; nothing for a suite without prompts.
	Prompts doc.Value
	Cases   []*Case
	// Vars are the variables of all cases that do not have their own.
	Vars doc.Value
	// Runners, Judge, Embedder and Run are sections of the config, if HasConfig is set.
	Runners, Judge, Embedder, Run doc.Value
	HasConfig                     bool
	// Lost are the features that could not be carried over. Warnings among them are differences that
	// change no verdict.
	Lost doc.Problems
	// Reads are the paths of the files that were read.
	Reads []string
}

// Case is a test that becomes a case.
type Case struct {
	// ID is the id of the case, and Written that in the suite if it is another.
	ID, Written string
	At          plumb.Position
	// Keys are those of a case, except id, vars and assertions.
	Keys   doc.Value
	Vars   doc.Value
	Checks []doc.Value
	// Defaults is the number of leading checks that come from the defaults of the file.
	Defaults int
	// Lost are the reasons why the case is left out.
	Lost []string
}

// Describe adds to the metadata of the case, unless the key has a meaning in Plumb or the value has
// a mapping.
func (c *Case) Describe(key string, v doc.Value) {
	text := !slices.ContainsFunc(v.List, func(e doc.Value) bool { return e.Kind == doc.Map || e.Kind == doc.List })
	if v.Kind == doc.Map || !text || slices.Contains([]string{"difficulty", "tags", "tokens_est"}, key) {
		return
	}
	meta := c.Keys.Get("metadata")
	if meta == nil {
		c.Keys.Set("metadata", mapping())
		meta = c.Keys.Get("metadata")
	}
	meta.Set(key, v)
}

// Read reads a file that the converted file names.
func (d *Draft) Read(name string) ([]byte, error) {
	d.Reads = append(d.Reads, name)
	return doc.Read(name, doc.YAMLBytes)
}

// Lose notes a feature that cannot be carried over.
func (d *Draft) Lose(at plumb.Position, message, hint string) {
	d.note(doc.Problem{Pos: at, Message: message, Hint: hint})
}

// Tell notes a difference that changes no verdict.
func (d *Draft) Tell(at plumb.Position, message, hint string) {
	d.note(doc.Problem{Pos: at, Message: message, Hint: hint, Warning: true})
}

// Refuse leaves a case out because of a feature.
func (d *Draft) Refuse(c *Case, at plumb.Position, message, hint string) {
	c.Lost = append(c.Lost, message)
	d.Lose(at, message, hint)
}

// note adds a problem once.
func (d *Draft) note(p doc.Problem) {
	if !slices.Contains(d.Lost, p) {
		d.Lost = append(d.Lost, p)
	}
}

// Suite renders the suite, or nil if no case can be carried over. Cases that are left out follow as
// comments.
func (d *Draft) Suite() []byte {
	var cases, left []*Case
	for _, c := range d.Cases {
		if len(c.Lost) > 0 {
			left = append(left, c)
		} else {
			cases = append(cases, c)
		}
	}
	if len(cases) == 0 {
		return nil
	}
	top, shared, list := mapping(), mapping(), doc.Value{Kind: doc.List}
	if d.Prompts.Kind == doc.List {
		top.Set("prompts", d.Prompts)
	}
	checks, vars := d.common(cases)
	if len(vars.Members) > 0 {
		shared.Set("vars", vars)
	}
	if len(checks) > 0 {
		shared.Set("assertions", doc.Value{Kind: doc.List, List: checks})
	}
	if len(shared.Members) > 0 {
		top.Set("defaults", shared)
	}
	for _, c := range cases {
		list.List = append(list.List, c.value(len(checks), &vars))
	}
	top.Set("cases", list)
	var b bytes.Buffer
	fmt.Fprintf(&b, "# Converted from %s by plumb convert.\n", filepath.Base(d.File))
	for _, line := range d.Comment {
		fmt.Fprintf(&b, "# %s\n", line)
	}
	b.Write(top.AppendYAML(nil))
	if len(left) > 0 {
		b.WriteString("\n# Left out, because a part of them could not be carried over:\n")
	}
	for _, c := range left {
		for _, reason := range c.Lost {
			fmt.Fprintf(&b, "# %s:%d: %s\n", c.At.File, c.At.Line, text.OneLine(reason))
		}
		one := doc.Value{Kind: doc.List, List: []doc.Value{c.value(0, &doc.Value{})}}
		for line := range strings.Lines(string(one.AppendYAML(nil))) {
			b.WriteString("#   " + line)
		}
	}
	return b.Bytes()
}

// Check returns a check with texts as its values: their keys and texts in turn.
func Check(at doc.Place, kind string, texts ...string) doc.Value {
	v := doc.Value{Kind: doc.Map, Place: at}
	v.Set("type", doc.NewString(kind, at))
	for i := 0; i+1 < len(texts); i += 2 {
		v.Set(texts[i], doc.NewString(texts[i+1], at))
	}
	return v
}

func mapping() doc.Value { return doc.Value{Kind: doc.Map} }

// IDInSuite returns the id of the case in the suite.
func (c *Case) IDInSuite() string {
	if c.Written != "" {
		return c.Written
	}
	return c.ID
}

// value returns the case without the first checks and without the given variables, which the
// defaults of the suite have.
func (c *Case) value(checks int, vars *doc.Value) doc.Value {
	v, own := mapping(), mapping()
	v.Set("id", doc.NewString(c.IDInSuite(), doc.Place{}))
	for _, m := range c.Vars.Members {
		if vars.Get(m.Key) == nil {
			own.Members = append(own.Members, m)
		}
	}
	if len(own.Members) > 0 {
		v.Set("vars", own)
	}
	v.Members = append(v.Members, c.Keys.Members...)
	if rest := c.Checks[min(checks, len(c.Checks)):]; len(rest) > 0 {
		v.Set("assertions", doc.Value{Kind: doc.List, List: rest})
	}
	return v
}

// common returns the leading checks and the variables that all cases share and that were written
// as defaults.
func (d *Draft) common(cases []*Case) (checks []doc.Value, vars doc.Value) {
	vars = mapping()
	checks = cases[0].Checks[:cases[0].Defaults]
	for _, m := range cases[0].Vars.Members {
		if d.Vars.Get(m.Key) != nil {
			vars.Members = append(vars.Members, m)
		}
	}
	for _, c := range cases[1:] {
		n := 0
		for n < min(len(checks), c.Defaults) && same(&checks[n], &c.Checks[n]) {
			n++
		}
		checks = checks[:n]
		vars.Members = slices.DeleteFunc(vars.Members, func(m doc.Member) bool {
			own := c.Vars.Get(m.Key)
			return own == nil || !same(own, &m.Value)
		})
	}
	return checks, vars
}

func same(a, b *doc.Value) bool { return bytes.Equal(a.JSON(), b.JSON()) }

// Config renders plumb.yaml, or nil for a format without runners.
func (d *Draft) Config() []byte {
	if !d.HasConfig {
		return nil
	}
	top := mapping()
	top.Set("suites", doc.Value{Kind: doc.List, List: []doc.Value{doc.NewString(SuiteFile, doc.Place{})}})
	for _, section := range []struct {
		key   string
		value doc.Value
	}{{"runners", d.Runners}, {"judge", d.Judge}, {"embedder", d.Embedder}, {"run", d.Run}} {
		if section.value.Kind != doc.Null {
			top.Set(section.key, section.value)
		}
	}
	return top.AppendYAML([]byte("# yaml-language-server: $schema=" + schema.ConfigURL + "\n"))
}
