package script

import (
	"encoding/binary"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/evanw/esbuild/pkg/api"
	"modernc.org/quickjs"

	"github.com/plumb-eval/plumb/internal/golden"
)

const packages = "../../third_party/script-packages"

// bundlePrelude makes one CommonJS piece of a TypeScript file. Built-in modules stay imports, npm
// packages come from third_party.
func bundlePrelude(t *testing.T, entry string) string {
	t.Helper()
	absolute, err := filepath.Abs(entry)
	if err != nil {
		t.Fatal(err)
	}
	result := api.Build(api.BuildOptions{
		EntryPoints: []string{absolute}, Bundle: true, Format: api.FormatCommonJS, Platform: api.PlatformNeutral,
		Target:           api.ES2024,
		MinifyWhitespace: true, MinifySyntax: true, MinifyIdentifiers: false, KeepNames: false,
		LegalComments: api.LegalCommentsNone,
		Charset:       api.CharsetUTF8, LogLevel: api.LogLevelSilent,
		TsconfigRaw: `{}`,
		Plugins: []api.Plugin{{Name: "prelude", Setup: func(b api.PluginBuild) {
			b.OnResolve(api.OnResolveOptions{Filter: `^node:`}, func(a api.OnResolveArgs) (api.OnResolveResult, error) {
				return api.OnResolveResult{Path: a.Path, External: true}, nil
			})
			b.OnResolve(api.OnResolveOptions{Filter: `^[a-z@]`},
				func(a api.OnResolveArgs) (api.OnResolveResult, error) {
					path, err := filepath.Abs(filepath.Join(packages,
						strings.ReplaceAll(strings.TrimPrefix(a.Path, "@"), "/", "-")+".js"))
					return api.OnResolveResult{Path: path}, err
				})
		}}},
	})
	for _, m := range result.Errors {
		t.Errorf("%s: %+v: %s", entry, m.Location, m.Text)
	}
	if t.Failed() {
		t.FailNow()
	}
	return string(result.OutputFiles[0].Contents)
}

// TestPackages bundles each npm package of the prelude into one minified file under third_party,
// with its license. It creates the committed files again only on demand, because that needs npm ci.
//
//	UPDATE=packages go test -run ^TestPackages$ ./internal/script
func TestPackages(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(packages, "package.json"))
	if err != nil {
		t.Fatal(err)
	}
	var pinned struct{ Dependencies map[string]string }
	if err := json.Unmarshal(data, &pinned); err != nil {
		t.Fatal(err)
	}
	for name := range pinned.Dependencies {
		file := filepath.Join(packages, strings.ReplaceAll(strings.TrimPrefix(name, "@"), "/", "-"))
		licence := filepath.Join(packages, "licenses", filepath.Base(file)+".txt")
		if os.Getenv("UPDATE") == "packages" {
			vendor(t, name, file+".js", licence)
		}
		for _, path := range []string{file + ".js", licence} {
			if _, err := os.Stat(path); err != nil {
				t.Errorf("%s is pinned, but %v", name, err)
			}
		}
	}
}

func vendor(t *testing.T, name, file, licence string) {
	t.Helper()
	dir, err := filepath.Abs(packages)
	if err != nil {
		t.Fatal(err)
	}
	result := api.Build(api.BuildOptions{
		Stdin:  &api.StdinOptions{Contents: "module.exports = " + vendorEntry(name), ResolveDir: dir},
		Bundle: true, Format: api.FormatCommonJS, Platform: api.PlatformNode, Target: api.ES2024,
		Outfile:          filepath.Join(dir, "out.js"),
		MinifyWhitespace: true, MinifySyntax: true, LegalComments: api.LegalCommentsNone, LogLevel: api.LogLevelSilent,
		MainFields: []string{"main", "module"}, Metafile: true,
		Plugins: []api.Plugin{{Name: "builtins", Setup: func(b api.PluginBuild) {
			b.OnResolve(api.OnResolveOptions{Filter: `^[a-z_/]+$`},
				func(a api.OnResolveArgs) (api.OnResolveResult, error) {
					if bare := strings.TrimSuffix(a.Path, "/"); a.Importer != "<stdin>" &&
						(builtins(bare) || absentBuiltins(bare)) {
						return api.OnResolveResult{Path: "node:" + bare, External: true}, nil
					}
					return api.OnResolveResult{}, nil
				})
		}}},
	})
	for _, m := range result.Errors {
		t.Fatalf("%s: %+v: %s", name, m.Location, m.Text)
	}
	if err := os.WriteFile(file, result.OutputFiles[0].Contents, 0o644); err != nil {
		t.Fatal(err)
	}
	var meta struct{ Inputs map[string]any }
	if err := json.Unmarshal([]byte(result.Metafile), &meta); err != nil {
		t.Fatal(err)
	}
	var texts strings.Builder
	bundled := map[string]bool{}
	for input := range meta.Inputs {
		if _, within, ok := strings.Cut(filepath.ToSlash(input), "node_modules/"); ok {
			dependency, _, _ := strings.Cut(within, "/")
			bundled[dependency] = true
		}
	}
	for _, dependency := range slices.Sorted(maps.Keys(bundled)) {
		found, err := filepath.Glob(filepath.Join(dir, "node_modules", dependency, "[Ll][Ii][Cc][Ee][Nn][CSs][Ee]*"))
		if err != nil || len(found) == 0 {
			t.Errorf("%s, which %s needs, has no licence: %v", dependency, name, err)
			continue
		}
		text, err := os.ReadFile(found[0])
		if err != nil {
			t.Fatal(err)
		}
		texts.WriteString("== " + dependency + "\n\n" + strings.TrimSpace(strings.ReplaceAll(string(text), "\r\n",
			"\n")) + "\n\n")
	}
	if err := os.WriteFile(licence, []byte(strings.TrimSuffix(texts.String(), "\n")), 0o644); err != nil {
		t.Fatal(err)
	}
}

// vendorEntry is the expression that a bundled package exports. A slash tells a package from the
// built-in module of its name.
func vendorEntry(name string) string {
	switch name {
	case "buffer", "events", "string_decoder":
		return "require(" + quote(name+"/") + ")"
	case "core-js-pure":
		return `{URL: require("core-js-pure/stable/url"), URLSearchParams: require("core-js-pure/stable/url-search-params")}`
	}
	return "require(" + quote(name) + ")"
}

func buildPrelude(t *testing.T) []byte {
	t.Helper()
	sources := map[string]string{"core": coreHead + bundlePrelude(t, "prelude/core.ts") + moduleTail}
	err := filepath.WalkDir("lib", func(path string, d os.DirEntry, err error) error {
		if err != nil || d.Name() != "index.ts" && d.Name() != "index.js" {
			return err
		}
		name := strings.TrimPrefix(filepath.ToSlash(filepath.Dir(path)), "lib/")
		sources[name] = moduleHead + bundlePrelude(t, path) + moduleTail
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	index := preludeIndex{Engine: quickjs.Version(), Pieces: map[string][2]int{}}
	var body []byte
	for _, name := range slices.Sorted(maps.Keys(sources)) {
		code, err := compile(sources[name])
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		index.Pieces[name] = [2]int{len(body), len(code)}
		body = append(body, code...)
		t.Logf("%-20s %7d bytes of source, %7d of bytecode", name, len(sources[name]), len(code))
	}
	head, err := json.Marshal(index)
	if err != nil {
		t.Fatal(err)
	}
	out := binary.BigEndian.AppendUint32(nil, uint32(len(head)))
	return append(append(out, head...), body...)
}

// TestPreludeIsFresh makes the prelude again: what is embedded must be what the sources say, made
// by this engine.
func TestPreludeIsFresh(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs no concurrent code of its own: too slow with the race detector")
	}
	made := buildPrelude(t)
	if golden.Updating() {
		if err := os.WriteFile("prelude.bin", made, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if string(made) != preludeBin {
		t.Fatal("prelude.bin is not what the sources make: run go generate ./internal/script")
	}
}
