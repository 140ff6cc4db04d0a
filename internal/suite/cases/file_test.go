package cases

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/check"
	"github.com/plumb-eval/plumb/suites"
)

// TestFiles: prompts and data come from the functions of a file, by the names that the suite uses.
func TestFiles(t *testing.T) {
	held := map[string]string{
		"p/a.txt": "\uFEFFQ {{ x }}\n", "p/b.json": `[{"role": "user", "content": "R {{ x }}"}]`,
		"/abs/d.csv": "\uFEFFx,__expected\none,contains:1\ntwo,contains:2\n", "bad.csv": "x\n\xff\n",
	}
	var asked []string
	f := File{
		Path: "dir/s.yaml", Data: []byte("prompts: [file://p/*, p/a.txt]\ndata: /abs/d.csv\n"),
		Match: func(pattern string) ([]string, error) {
			asked = append(asked, pattern)
			return []string{"p/b.json"}, nil
		},
		ReadFile: func(name string) ([]byte, error) {
			asked = append(asked, name)
			if text, ok := held[name]; ok {
				return []byte(text), nil
			}
			return nil, plumb.WithHint(fs.ErrNotExist, "look")
		},
	}
	c := Read(t.Context(), f)
	if err := c.Problems.Err(); err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for _, one := range c.Cases {
		fmt.Fprintf(&got, "%s %s %s\n", one.ID, one.Messages[0].Content, one.Source)
	}
	want := `case-1.b R one /abs/d.csv:2:1
case-1.a Q one /abs/d.csv:2:1
case-2.b R two /abs/d.csv:3:1
case-2.a Q two /abs/d.csv:3:1
`
	if got.String() != want {
		t.Errorf("got\n%swant\n%s", got.String(), want)
	}
	if got, want := strings.Join(asked, " "), "p/* p/b.json p/a.txt /abs/d.csv"; got != want {
		t.Errorf("asked for %s, want %s", got, want)
	}
	for text, want := range map[string]string{
		"prompts: q\ndata: gone.csv": "dir/s.yaml:2:7: file does not exist (look)",
		"prompts: q\ndata: bad.csv":  "dir/bad.csv:2:1: byte 0xFF is not valid UTF-8",
	} {
		f.Data = []byte(text)
		if p := Read(t.Context(), f).Problems; !strings.HasPrefix(p.Error(), want) {
			t.Errorf("%s\n%v, want %s", text, p, want)
		}
	}
	for _, text := range []string{"prompts: q\ndata: d.csv", "prompts: 'p/*.txt'\ncases: [{vars: {}}]"} {
		p := problems(t, "s.yaml", text)
		if len(p) == 0 || !strings.Contains(p.Error(), errNoFiles.Error()) {
			t.Errorf("%s: without functions: %v", text, p)
		}
	}
}

// TestSections: whoever has no use for the sections of a suite can read its cases.
func TestSections(t *testing.T) {
	text := "workspace: {mode: isolated, templateDir: gone}\nskills: gone\ncases: [{id: a, input: q, ideal: i, assertion: {type: contains}}]\n"
	if p := problems(t, "s.yaml", text); len(p) > 0 {
		t.Error(p)
	}
	if p := problems(t, "s.yaml", text+"skill: x\n"); p.Err() == nil || p[0].Hint != `did you mean "skills"?` {
		t.Error(p)
	}
}

// TestCode: code of a case is what Compile makes of it, and an error without it.
func TestCode(t *testing.T) {
	f := File{Path: "a.jsonl", Data: []byte(line("a", `, "transform": "output + 1", "vars": {"n": 1}, "assertions": [{"type": "js", "expr": "n"}]`))}
	c := Read(t.Context(), f)
	if err := c.Problems.Err(); err != nil {
		t.Fatal(err)
	}
	ev := plumb.Evidence{Case: &c.Cases[0], Report: &plumb.SessionReport{FinalOutput: "x"}}
	if text, err := c.Cases[0].Transform(t.Context(), ev); err == nil {
		t.Errorf("transformed to %q", text)
	}
	v, err := c.Cases[0].Assertions[0].Assert(t.Context(), ev)
	if err != nil || len(v) != 1 || !v[0].Pass {
		t.Errorf("a check without code: %v, %v", v, err)
	}
	if v, err = c.Cases[0].Assertions[1].Assert(t.Context(), ev); err != nil || len(v) != 1 || v[0].Error == nil {
		t.Errorf("a check in code: %v, %v", v, err)
	}

	type key struct{}
	var compiled []string
	f.Compile = func(ctx context.Context, code check.Code) (check.Compiled, error) {
		compiled = append(compiled, fmt.Sprint(ctx.Value(key{}), " ", code.Expr))
		return check.Compiled{Run: func(_ context.Context, ev plumb.Evidence, vars json.RawMessage) (json.RawMessage, error) {
			return json.Marshal(ev.Report.FinalOutput + string(vars))
		}}, nil
	}
	c = Read(context.WithValue(t.Context(), key{}, "mine"), f)
	if err := c.Problems.Err(); err != nil {
		t.Fatal(err)
	}
	if text, err := c.Cases[0].Transform(t.Context(), ev); err != nil || text != `x{"n": 1}` {
		t.Errorf("transformed to %q, %v", text, err)
	}
	if want := "mine output + 1, mine n"; strings.Join(compiled, ", ") != want {
		t.Errorf("compiled %v, want %s", compiled, want)
	}
	f.Compile = func(context.Context, check.Code) (check.Compiled, error) { return check.Compiled{}, errors.New("no") }
	if p := Read(t.Context(), f).Problems; len(p.Errors()) != 2 {
		t.Errorf("code that does not compile: %v", p)
	}
}

// TestPublished: the cases and the hash of a published suite need nothing but its bytes.
func TestPublished(t *testing.T) {
	files, err := fs.Glob(suites.FS(), "*/*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		data, err := fs.ReadFile(suites.FS(), name)
		if err != nil {
			t.Fatal(err)
		}
		c := Read(t.Context(), File{Path: name, Data: data, Strict: true})
		manifest, err := fs.ReadFile(suites.FS(), name[:strings.IndexByte(name, '/')]+"/manifest.toml")
		if err != nil || c.Problems.Err() != nil || len(c.Cases) == 0 || !strings.Contains(string(manifest), fmt.Sprintf("hash = %q", c.Hash)) {
			t.Errorf("%s: %d cases, hash %s, %v, %v", name, len(c.Cases), c.Hash, c.Problems.Err(), err)
		}
	}
}
