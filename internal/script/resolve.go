package script

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/evanw/esbuild/pkg/api"

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
		"perf_hooks", "process", "querystring", "stream",
		"stream/promises", "string_decoder", "timers", "timers/promises", "tty", "url", "util", "util/types":
		return true
	}
	return false
}

// absentBuiltins reports whether Node has a module that scripts do not have.
func absentBuiltins(name string) bool {
	switch name {
	case "cluster", "dgram", "dns", "dns/promises", "domain", "http", "http2", "https",
		"inspector", "inspector/promises", "net", "punycode", "readline", "readline/promises", "repl", "sea", "sqlite",
		"stream/consumers", "stream/web", "sys", "test", "test/reporters", "tls", "trace_events", "v8", "vm", "wasi",
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
	b.OnLoad(api.OnLoadOptions{Filter: `.*`, Namespace: spaceBuiltin},
		func(a api.OnLoadArgs) (api.OnLoadResult, error) {
			return module("module.exports = __plumb.require(" + quote(a.Path) + ")")
		})
	b.OnLoad(api.OnLoadOptions{Filter: `.*`, Namespace: spaceAbsent}, func(a api.OnLoadArgs) (api.OnLoadResult, error) {
		return module("module.exports = __plumb.absent(" + quote(a.Path) + ")")
	})
	b.OnLoad(api.OnLoadOptions{Filter: `.*`, Namespace: spaceMeta}, func(a api.OnLoadArgs) (api.OnLoadResult, error) {
		return module("export const __plumb_meta = __plumb.meta(" + quote(fileURL(a.Path)) + "," + quote(a.Path) + "," +
			quote(filepath.Dir(a.Path)) + ")")
	})
	b.OnLoad(api.OnLoadOptions{Filter: `.*`, Namespace: spaceImport}, func(a api.OnLoadArgs) (api.OnLoadResult, error) {
		return module("export const " + importName + " = (s) => __plumb.import(s, " + quote(a.Path) + ")")
	})
	b.OnLoad(api.OnLoadOptions{Filter: `.*`, Namespace: "file"}, r.load)
}

func module(source string) (api.OnLoadResult, error) {
	return api.OnLoadResult{Contents: new(source), Loader: api.LoaderJS}, nil
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
	return refuse(fmt.Sprintf("the module %q is not available to suites", a.Path),
		"suites have node:assert, path, url, util, os, fs, child_process, events, buffer, stream, crypto, timers, "+
			"process, perf_hooks, async_hooks and module"), nil
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

func refuse(text, hint string) api.OnResolveResult {
	return api.OnResolveResult{Errors: []api.Message{{Text: text, Detail: hint}}}
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
	if r.o.Allow != nil {
		if err := r.o.Allow(a.Path); err != nil {
			return api.OnLoadResult{Errors: []api.Message{{Text: fmt.Sprintf("%s may not be read: %v", a.Path, err)}}},
				nil
		}
	}
	r.mu.Lock()
	r.files[a.Path] = true
	r.mu.Unlock()
	// Otherwise the bundler could wait forever or use all memory.
	if err := doc.Regular(a.Path, doc.SourceBytes); err != nil {
		return api.OnLoadResult{}, fmt.Errorf("read %s: %w", a.Path, err)
	}
	var loader api.Loader
	switch filepath.Ext(a.Path) {
	case ".ts", ".mts", ".cts":
		loader = api.LoaderTS
	case ".tsx":
		loader = api.LoaderTSX
	case ".js", ".mjs", ".cjs":
		loader = api.LoaderJS
	case ".jsx":
		loader = api.LoaderJSX
	case ".node":
		return api.OnLoadResult{Errors: []api.Message{{
			Text: fmt.Sprintf("%s is native code, which suites cannot load", filepath.Base(a.Path)),
		}}}, nil
	default:
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
		source = r.prepare(source, a.Path)
	}
	return api.OnLoadResult{Contents: &source, Loader: loader, ResolveDir: filepath.Dir(a.Path)}, nil
}

// importName replaces "import" and has the same length.
const importName = "$impor"

// prepare binds names that depend on the file's location. Imports are hoisted, so it appends them,
// which moves no line.
func (r *resolver) prepare(source, path string) string {
	meta, dynamic := false, false
	out := []byte(source)
	tokens := scan(source)
	own := declares(tokens)
	for i, t := range tokens {
		switch {
		case t.text == "import" && i+1 < len(tokens) && !after(tokens, i, "."):
			switch next := tokens[i+1]; {
			case next.text == "." && i+2 < len(tokens) && tokens[i+2].text == "meta":
				meta = true
			case next.text == "(" && !literal(tokens[i+2:]) && !after(tokens, i, "typeof"):
				dynamic = true
				copy(out[t.at:], importName)
			}
		case (t.text == "__dirname" || t.text == "__filename") && !own && !after(tokens, i, "."):
			copy(out[t.at:], r.place(t.text, path))
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

// literal reports whether a string is the only argument after "import(". esbuild bundles such an
// import itself.
func literal(tokens []token) bool {
	return len(tokens) > 1 && tokens[0].kind == tokenString && (tokens[1].text == ")" || tokens[1].text == ",")
}

// declares reports whether a file declares __dirname or __filename itself, as ES modules often do.
func declares(tokens []token) bool {
	for i, t := range tokens {
		if i > 0 && (t.text == "__dirname" || t.text == "__filename") {
			switch tokens[i-1].text {
			case "const", "let", "var", "function", "as":
				return true
			}
		}
	}
	return false
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
	if name == "__dirname" {
		value, short = filepath.Dir(path), fmt.Sprintf("__dir%04d", n)
	}
	r.places[key] = short
	r.head.WriteString("const " + short + "=" + quote(value) + ";")
	return short
}

func after(tokens []token, i int, text string) bool {
	return i > 0 && tokens[i-1].text == text
}

func (r *resolver) inputs() []string { return slices.Sorted(maps.Keys(r.files)) }

func (r *resolver) needsAsyncContext() bool { return r.soft }

func quote(s string) string {
	text, _ := json.Marshal(s) //nolint:errchkjson // a string
	return string(text)
}

func base64Text(data []byte) string { return base64.StdEncoding.EncodeToString(data) }

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
