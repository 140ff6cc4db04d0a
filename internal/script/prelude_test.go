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

// bundlePrelude makes one CommonJS piece of a TypeScript file. Built-in modules stay imports.
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
