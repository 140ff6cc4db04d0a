package script

import (
	"strings"
	"testing"

	"github.com/evanw/esbuild/pkg/api"
)

// TestCallAt reads the text of a call at a place, marked by ^ in the source.
func TestCallAt(t *testing.T) {
	for source, want := range map[string]string{
		"assert.^ok(x === 1)":            "assert.ok(x === 1)",
		"^assert(x)":                     "assert(x)",
		"a.b.c.^ok(f(1), [2], {a: ')'})": "a.b.c.ok(f(1), [2], {a: ')'})",
		"if (y) assert\n  .^ok(\n    a &&\n    b, // )\n  );": "assert\n  .ok(\n    a &&\n    b, // )\n  )",
		"assert.^ok(/\\)[)]/.test(s))":                        "assert.ok(/\\)[)]/.test(s))",
		"assert.^ok(`)${ f(`}`) }(`)":                         "assert.ok(`)${ f(`}`) }(`)",
		"assert.^ok(a / b / (c))":                             "assert.ok(a / b / (c))",
		"ä💩; assert.^ok(false)":                               "assert.ok(false)",
		"assert.^ok(x as boolean /* ) */)":                    "assert.ok(x as boolean /* ) */)",
		"assert.^ok(":                                         "",
		"^+ 1":                                                "",
	} {
		before, after, _ := strings.Cut(source, "^")
		line := strings.Count(before, "\n") + 1
		column := 1
		for _, r := range before[strings.LastIndex(before, "\n")+1:] {
			column++
			if r > 0xFFFF {
				column++
			}
		}
		if got := callAt(before+after, Position{File: "/f.ts", Line: line, Column: column}); got != want {
			t.Errorf("%q: got %q, want %q", source, got, want)
		}
	}
}

// TestPrepare binds import.meta, import(expression), __dirname and __filename without moving
// anything.
func TestPrepare(t *testing.T) {
	for source, want := range map[string]string{
		"import.meta.url":                "import.meta.url\n;import {__plumb_meta} from \"plumb-meta:/d/f.ts\"",
		"import ('./a.js')":              "import ('./a.js')",
		"import(`./a.js`)":               "import(`./a.js`)",
		"await import(name)":             "await $impor(name)\n;import {$impor} from \"plumb-import:/d/f.ts\"",
		"import('./' + name)":            "$impor('./' + name)\n;import {$impor} from \"plumb-import:/d/f.ts\"",
		"// import(x)":                   "// import(x)",
		"'import(x)'; `import(y)`":       "'import(x)'; `import(y)`",
		"`${import(y)}`":                 "`${$impor(y)}`\n;import {$impor} from \"plumb-import:/d/f.ts\"",
		"type A = typeof import(x)":      "type A = typeof import(x)",
		"o.import(x)":                    "o.import(x)",
		"__dirname + __filename":         "__dir0000 + __fil00001",
		"const __dirname = 1; __dirname": "const __dirname = 1; __dirname",
		"a.__dirname":                    "a.__dirname",
	} {
		if got := newResolver(BuildOptions{}).prepare(source, "/d/f.ts", api.LoaderTS); got != want {
			t.Errorf("%q: got %q, want %q", source, got, want)
		}
	}
}

// FuzzCallAt: whatever the text is, it is prepared without moving anything.
func FuzzCallAt(f *testing.F) {
	f.Add("`${`", 1, 1)
	f.Add("a(/[/]/)", 1, 2)
	f.Add("}`'\\", 1, 3)
	f.Fuzz(func(t *testing.T, source string, line, column int) {
		callAt(source, Position{File: "/f.ts", Line: line, Column: column})
		if got := newResolver(BuildOptions{}).prepare(source, "/f.ts", api.LoaderTS); len(got) < len(source) {
			t.Errorf("%q: got %q", source, got)
		}
	})
}
