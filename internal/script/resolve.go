package script

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/evanw/esbuild/pkg/api"
	"github.com/go-sourcemap/sourcemap"

	"github.com/plumb-eval/plumb/internal/doc"
)

// The esbuild namespaces of modules that are not files.
const (
	spaceBuiltin = "plumb-builtin" // a built-in or additional module
	spaceAbsent  = "plumb-absent"  // a built-in module of Node that scripts do not have
	spaceMeta    = "plumb-meta"    // import.meta of a file
	spaceImport  = "plumb-import"  // import(expression) of a file
	spaceEntry   = "plumb-entry"   // the text around the entry
)

// internalSource reports whether a source is not a file of the user.
func internalSource(name string) bool {
	space, _, ok := strings.Cut(strings.TrimPrefix(name, "./"), ":")
	if !ok {
		return false
	}
	switch space {
	case spaceBuiltin, spaceAbsent, spaceMeta, spaceImport, spaceEntry:
		return true
	}
	return false
}

// builtins reports whether scripts have a Node module; name is without "node:".
func builtins(name string) bool {
	switch name {
	case "assert", "assert/strict", "async_hooks", "buffer", "child_process", "console", "constants", "crypto",
		"diagnostics_channel", "events", "fs", "fs/promises", "module", "os", "path", "path/posix", "path/win32",
		"perf_hooks", "process", "querystring", "string_decoder", "timers", "timers/promises", "tty", "url", "util", "util/types":
		return true
	}
	return false
}

// absentBuiltins reports whether Node has a module that scripts do not have.
func absentBuiltins(name string) bool {
	switch name {
	case "cluster", "dgram", "dns", "dns/promises", "domain", "http", "http2", "https",
		"inspector", "inspector/promises", "net", "punycode", "readline", "readline/promises", "repl", "sea", "sqlite",
		"stream", "stream/consumers", "stream/promises", "stream/web", "sys", "test", "test/reporters", "tls", "trace_events", "v8", "vm", "wasi",
		"worker_threads", "zlib":
		return true
	}
	return false
}

// resolver contains the hooks for esbuild, which calls them from several goroutines.
type resolver struct {
	o BuildOptions

	mu      sync.Mutex
	files   map[string]bool
	imports map[string]bool
	soft    bool
	places  map[string]string
	head    strings.Builder
}

func newResolver(o BuildOptions) *resolver {
	return &resolver{o: o, files: map[string]bool{}, imports: map[string]bool{}, places: map[string]string{}}
}

func (r *resolver) setup(b api.PluginBuild) {
	b.OnResolve(api.OnResolveOptions{Filter: `^` + spaceMeta + `:|^` + spaceImport + `:`},
		func(a api.OnResolveArgs) (api.OnResolveResult, error) {
			space, path, _ := strings.Cut(a.Path, ":")
			return api.OnResolveResult{Path: path, Namespace: space}, nil
		})
	b.OnResolve(api.OnResolveOptions{Filter: `^[^./]`}, r.resolve)
	for space, source := range map[string]func(path string) string{
		spaceBuiltin: func(name string) string { return "module.exports = __plumb.require(" + quote(name) + ")" },
		spaceAbsent:  func(name string) string { return "module.exports = __plumb.absent(" + quote(name) + ")" },
		spaceMeta: func(path string) string {
			return "export const __plumb_meta = __plumb.meta(" + quote(fileURL(path)) + "," + quote(path) + "," +
				quote(filepath.Dir(path)) + ")"
		},
		spaceImport: func(path string) string {
			return "export const " + importName + " = (s) => __plumb.import(s, " + quote(path) + ")"
		},
	} {
		b.OnLoad(api.OnLoadOptions{Filter: `.*`, Namespace: space}, func(a api.OnLoadArgs) (api.OnLoadResult, error) {
			return api.OnLoadResult{Contents: new(source(a.Path)), Loader: api.LoaderJS}, nil
		})
	}
	b.OnLoad(api.OnLoadOptions{Filter: `.*`, Namespace: "file"}, r.load)
}

// resolve handles imports that are neither relative nor absolute paths. esbuild resolves the rest:
// node_modules, #imports, the paths of a tsconfig.
func (r *resolver) resolve(a api.OnResolveArgs) (api.OnResolveResult, error) {
	name, scheme := strings.CutPrefix(a.Path, "node:")
	switch {
	case r.o.Modules[a.Path]:
		return r.found(spaceBuiltin, a.Path), nil
	case builtins(name):
		return r.found(spaceBuiltin, name), nil
	case !scheme && (!absentBuiltins(name) || packageNamed(name, a.ResolveDir)):
		return api.OnResolveResult{}, nil
	case inPackage(a.Importer):
		return api.OnResolveResult{Path: name, Namespace: spaceAbsent}, nil
	}
	return api.OnResolveResult{Errors: []api.Message{{
		Text: fmt.Sprintf("the module %q is not available to suites", a.Path),
		Detail: "suites have node:assert, path, url, util, os, fs, child_process, events, buffer, crypto, " +
			"timers, process, perf_hooks, async_hooks and module",
	}}}, nil
}

// packageNamed reports whether an installed package has the name of a Node module that scripts do
// not have.
func packageNamed(name, from string) bool {
	for dir := from; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "node_modules", name)); err == nil {
			return true
		}
		if dir == filepath.Dir(dir) {
			return false
		}
	}
}

func inPackage(importer string) bool {
	return strings.Contains(filepath.ToSlash(importer), "/node_modules/")
}

func (r *resolver) found(space, name string) api.OnResolveResult {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.imports[name] = true
	if name == "async_hooks" {
		r.soft = true
	}
	return api.OnResolveResult{Path: name, Namespace: space}
}

var (
	mentions    = regexp.MustCompile(`import\s*\.\s*meta|\bimport\s*\(|__dirname|__filename`)
	mentionSoft = regexp.MustCompile(`\brunWithSoftAssertions\b|\.\s*soft\b|\bsoft\b\s*[,}:]|["']soft["']`)
)

// load reads a file. It prepares sources that use import.meta, import(expression), __dirname or
// __filename, without moving lines or columns.
func (r *resolver) load(a api.OnLoadArgs) (api.OnLoadResult, error) {
	r.mu.Lock()
	r.files[a.Path] = true
	r.mu.Unlock()
	// Otherwise the bundler could wait forever or use all memory.
	if err := doc.Regular(a.Path, doc.SourceBytes); err != nil {
		return api.OnLoadResult{}, fmt.Errorf("read %s: %w", a.Path, err)
	}
	loader, ok := loaderOf(a.Path)
	switch {
	case filepath.Ext(a.Path) == ".node":
		return api.OnLoadResult{Errors: []api.Message{{
			Text: fmt.Sprintf("%s is native code, which suites cannot load", filepath.Base(a.Path)),
		}}}, nil
	case !ok:
		return api.OnLoadResult{}, nil
	}
	data, err := doc.Read(a.Path, doc.SourceBytes)
	if err != nil {
		return api.OnLoadResult{}, fmt.Errorf("read %s: %w", a.Path, err)
	}
	source := string(data)
	if !r.soft && mentionSoft.MatchString(source) && !inPackage(a.Path) {
		r.mu.Lock()
		r.soft = true
		r.mu.Unlock()
	}
	if mentions.MatchString(source) {
		source = r.prepare(source, a.Path, loader)
	}
	return api.OnLoadResult{Contents: &source, Loader: loader, ResolveDir: filepath.Dir(a.Path)}, nil
}

// loaderOf returns how esbuild reads a source file, by its extension.
func loaderOf(file string) (api.Loader, bool) {
	loader, ok := map[string]api.Loader{
		".ts": api.LoaderTS, ".mts": api.LoaderTS, ".cts": api.LoaderTS, ".tsx": api.LoaderTSX,
		".js": api.LoaderJS, ".mjs": api.LoaderJS, ".cjs": api.LoaderJS, ".jsx": api.LoaderJSX,
	}[filepath.Ext(file)]
	return loader, ok
}

// importName replaces "import" and has the same length.
const importName = "$impor"

// located finds what prepare has to bind in the output of esbuild, where import(x) is require(x).
// The first group matches an argument that is a literal: esbuild bundles such an import itself.
var located = regexp.MustCompile("\\brequire\\((\"[^\"]*\"[,)]|`[^`$]*`[,)])?|__plumb_(?:meta|dirname|filename)\\b")

// prepare binds names that depend on the file's location, without moving a line or a column. It
// translates the source with markers for these names, and finds the places by the source map:
// esbuild has no definitions per file. Imports are hoisted, so prepare appends them.
func (r *resolver) prepare(source, path string, loader api.Loader) string {
	marked := api.Transform(source, api.TransformOptions{
		Loader: loader, JSX: api.JSXPreserve, Platform: api.PlatformNode, Target: api.ES2024,
		Supported: map[string]bool{"dynamic-import": false, "top-level-await": true},
		Sourcemap: api.SourceMapExternal, SourcesContent: api.SourcesContentExclude, LogLevel: api.LogLevelSilent,
		Define: map[string]string{
			"import.meta": "__plumb_meta", "__dirname": "__plumb_dirname", "__filename": "__plumb_filename",
		},
	})
	places, err := sourcemap.Parse("", marked.Map)
	if err != nil { // the source is not valid, which the bundler reports, or it is empty
		return source
	}
	meta, dynamic := false, false
	out := []byte(source)
	for i, line := range bytes.Split(marked.Code, []byte("\n")) {
		for _, m := range located.FindAllSubmatchIndex(line, -1) {
			_, _, l, c, ok := places.Source(i+1, m[0])
			at := offsetOf(source, l, c+1)
			if !ok || at < 0 {
				continue
			}
			switch found, rest := string(line[m[0]:m[1]]), source[at:]; {
			case found == "__plumb_meta":
				meta = true
			case strings.HasPrefix(rest, "__dirname"), strings.HasPrefix(rest, "__filename"):
				copy(out[at:], r.place(strings.TrimPrefix(found, "__plumb_"), path))
			case m[2] < 0 && strings.HasPrefix(rest, "import"):
				dynamic = true
				copy(out[at:], importName)
			}
		}
	}
	var tail strings.Builder
	tail.Write(out)
	if meta || dynamic {
		tail.WriteString("\n")
	}
	if meta {
		fmt.Fprintf(&tail, ";import {__plumb_meta} from %s", quote(spaceMeta+":"+path))
	}
	if dynamic {
		fmt.Fprintf(&tail, ";import {%s} from %s", importName, quote(spaceImport+":"+path))
	}
	return tail.String()
}

// place returns a name of the same length as __dirname or __filename, which the head of the bundle
// declares for one file.
func (r *resolver) place(name, path string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := name + path
	if known, ok := r.places[key]; ok {
		return known
	}
	n := len(r.places)
	value, short := path, fmt.Sprintf("__fil%05d", n)
	if name == "dirname" {
		value, short = filepath.Dir(path), fmt.Sprintf("__dir%04d", n)
	}
	r.places[key] = short
	r.head.WriteString("const " + short + "=" + quote(value) + ";")
	return short
}

func quote(s string) string {
	text, _ := json.Marshal(s) //nolint:errchkjson // a string
	return string(text)
}

// fileURL returns the file: URL of an absolute path.
func fileURL(path string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}

// filePath returns the path of a file: URL.
func filePath(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return text
	}
	return filepath.FromSlash(u.Path)
}

// resolveFrom implements import.meta.resolve for paths and built-in modules.
func resolveFrom(specifier, file string) any {
	switch {
	case strings.HasPrefix(specifier, "./"), strings.HasPrefix(specifier, "../"):
		return fileURL(filepath.Join(filepath.Dir(file), filepath.FromSlash(specifier)))
	case filepath.IsAbs(specifier):
		return fileURL(specifier)
	case builtins(specifier):
		return "node:" + specifier
	}
	return specifier
}

var errNoImport = errors.New("import(expression) cannot be resolved")
