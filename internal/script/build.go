package script

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf16"

	"github.com/evanw/esbuild/pkg/api"
)

// BuildOptions select what to bundle.
type BuildOptions struct {
	// Entry is the absolute path of a .ts, .mts, .cts, .js, .mjs or .cjs file.
	Entry string
	// Modules are the names of additional modules that the sources may import; see Environment.Modules.
	Modules map[string]bool
	// Preload lists additional modules that the bundle imports before the entry, even if the entry
	// does not: the modules that register functions for VM.Call.
	Preload []string
}

// The bundle is the body of an async function, which provides top-level await, strict mode and one
// promise to wait for. A require that remains in it has a computed argument; as a parameter,
// require can be declared again. esbuild counts the banner in the source map.
const (
	bundleHead = `((require) => (async () => { "use strict"; let __plumb_ns;`
	bundleTail = "return {m: __plumb_ns}})())(__plumb.dynamic)"
)

// Build bundles a module with all its imports. The error is a [*BuildError] with all problems in
// the sources.
func Build(o BuildOptions) (*Program, error) {
	if !filepath.IsAbs(o.Entry) {
		return nil, &BuildError{
			Entry:    o.Entry,
			Messages: []BuildMessage{{Text: "the path of the entry must be absolute"}},
		}
	}
	if _, ok := loaderOf(o.Entry); !ok {
		return nil, &BuildError{Entry: o.Entry, Messages: []BuildMessage{{
			Position: Position{File: o.Entry}, Text: "not a TypeScript or JavaScript file",
			Hint: "suites in code end in .ts, .mts, .cts, .js, .mjs or .cjs",
		}}}
	}
	if _, err := os.Stat(o.Entry); err != nil {
		return nil, &BuildError{Entry: o.Entry, Messages: []BuildMessage{{
			Position: Position{File: o.Entry},
			Text:     err.Error(),
		}}}
	}
	return build(o, filepath.Dir(o.Entry))
}

// build bundles the module that the entry names, relative to a directory. The name need not be a
// path.
func build(o BuildOptions, dir string) (*Program, error) {
	r := newResolver(o)
	var entry strings.Builder
	for _, name := range o.Preload {
		fmt.Fprintf(&entry, "import %s; ", quote(name))
	}
	fmt.Fprintf(&entry, "import * as m from %s; __plumb_ns = m", quote(o.Entry))
	options := r.options(dir)
	options.Stdin = &api.StdinOptions{
		Contents: entry.String(), ResolveDir: dir, Sourcefile: spaceEntry + ":",
		Loader: api.LoaderJS,
	}
	options.Outfile = filepath.Join(dir, "plumb-bundle.js")
	result := api.Build(options)
	if len(result.Errors) > 0 {
		return nil, r.buildError(result.Errors)
	}
	p := &Program{
		Entry: o.Entry, Inputs: slices.Sorted(maps.Keys(r.files)), Imports: slices.Sorted(maps.Keys(r.imports)),
	}
	for _, f := range result.OutputFiles {
		if strings.HasSuffix(f.Path, ".map") {
			p.Map = f.Contents
		} else {
			p.Code = f.Contents
		}
	}
	// The banner is one line, so additions to it do not move other lines.
	p.Code = append([]byte(bundleHead+r.head.String()), p.Code[len(bundleHead):]...)
	if r.soft {
		if err := p.lowerAsync(); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func (r *resolver) options(dir string) api.BuildOptions {
	return api.BuildOptions{
		AbsWorkingDir:  dir,
		Bundle:         true,
		Write:          false,
		Format:         api.FormatESModule,
		Platform:       api.PlatformNode,
		Target:         api.ES2024,
		Supported:      map[string]bool{"dynamic-import": false, "top-level-await": true},
		Sourcemap:      api.SourceMapExternal,
		SourcesContent: api.SourcesContentInclude,
		LegalComments:  api.LegalCommentsNone,
		LogLevel:       api.LogLevelSilent,
		Define:         map[string]string{"import.meta": "__plumb_meta"},
		Banner:         map[string]string{"js": bundleHead},
		Footer:         map[string]string{"js": bundleTail},
		Plugins:        []api.Plugin{{Name: "plumb", Setup: r.setup}},
		Conditions:     []string{"node"},
		MainFields:     []string{"main", "module"},
	}
}

// buildError converts esbuild's messages, in the order of the files.
func (r *resolver) buildError(messages []api.Message) *BuildError {
	e := &BuildError{Entry: r.o.Entry}
	seen := map[string]bool{}
	for _, m := range messages {
		out := BuildMessage{Text: m.Text}
		for _, n := range m.Notes {
			if out.Hint == "" && n.Location == nil {
				out.Hint = n.Text
			}
		}
		if hint, ok := m.Detail.(string); ok && hint != "" {
			out.Hint = hint
		} else if hint := adviceFor(m.Text); hint != "" {
			out.Hint = hint
		}
		if l := m.Location; l != nil {
			file := l.File
			if (l.Namespace == "" || l.Namespace == "file") && !filepath.IsAbs(file) {
				file = filepath.Join(filepath.Dir(r.o.Entry), filepath.FromSlash(file))
			}
			if internalSource(l.File) {
				out.Position = Position{File: r.o.Entry}
			} else {
				out.Position = Position{File: file, Line: l.Line, Column: utf16Length(l.LineText, l.Column) + 1}
				out.Source = l.LineText
			}
		}
		key := out.String() + out.Text
		if !seen[key] {
			seen[key] = true
			e.Messages = append(e.Messages, out)
		}
	}
	slices.SortStableFunc(e.Messages, func(a, b BuildMessage) int {
		return cmp.Or(cmp.Compare(a.File, b.File), a.Line-b.Line, a.Column-b.Column)
	})
	return e
}

// adviceFor replaces advice that esbuild gives to its direct callers.
func adviceFor(text string) string {
	if strings.HasPrefix(text, "No loader is configured") {
		return "suites can import TypeScript, JavaScript, JSON and plain text; read other files with node:fs"
	}
	rest, ok := strings.CutPrefix(text, `Could not resolve "`)
	if !ok {
		return ""
	}
	name, _, _ := strings.Cut(rest, `"`)
	switch {
	case strings.HasPrefix(name, "."), filepath.IsAbs(name):
		return "there is no such file; a relative import begins at the file that imports"
	case strings.HasPrefix(name, "#"):
		return `an import that begins with # is looked up in "imports" of the nearest package.json`
	}
	parts := strings.SplitN(name, "/", 3)
	if strings.HasPrefix(name, "@") && len(parts) > 1 {
		name = parts[0] + "/" + parts[1]
	} else {
		name = parts[0]
	}
	return fmt.Sprintf("no package %s in node_modules here or above, and no path of a tsconfig.json matches: "+
		"npm install %s?", name, name)
}

// utf16Length returns the length of the first n bytes of s in UTF-16 units.
func utf16Length(s string, n int) int {
	return len(utf16.Encode([]rune(s[:min(n, len(s))])))
}

// lowerAsync rewrites async functions as generators, so that AsyncLocalStorage works across await:
// the engine has no hook for it. esbuild cannot do this together with top-level await
// (https://github.com/evanw/esbuild/issues/253), so this is a second pass whose source map is
// chained to the first.
func (p *Program) lowerAsync() error {
	const inline = "\n//# sourceMappingURL=data:application/json;base64,"
	result := api.Transform(string(p.Code)+inline+base64.StdEncoding.EncodeToString(p.Map), api.TransformOptions{
		Target:         api.ES2024,
		Supported:      map[string]bool{"async-await": false, "async-generator": false, "for-await": false},
		Sourcemap:      api.SourceMapExternal,
		SourcesContent: api.SourcesContentInclude,
		Sourcefile:     "plumb-bundle.js",
		Loader:         api.LoaderJS,
		LegalComments:  api.LegalCommentsNone,
		Format:         api.FormatDefault,
		TreeShaking:    api.TreeShakingFalse,
	})
	if len(result.Errors) > 0 {
		return &BuildError{Entry: p.Entry, Messages: []BuildMessage{{Text: "rewrite async functions: " +
			result.Errors[0].Text}}}
	}
	// esbuild declares its helpers before the expression, which remains the completion value.
	p.Code, p.Map, p.AsyncContext = result.Code, result.Map, true
	return nil
}
