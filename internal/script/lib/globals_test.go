// Package lib_test tests what the built-in modules have in common.
package lib_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plumb-eval/plumb/internal/script"
)

// run executes a module, which throws where something is not as it should be.
func run(t *testing.T, code string) error {
	t.Helper()
	file := filepath.Join(t.TempDir(), "a.mjs")
	if err := os.WriteFile(file, []byte(code), 0o600); err != nil {
		t.Fatal(err)
	}
	program, err := script.Build(script.BuildOptions{Entry: file})
	if err != nil {
		return err
	}
	vm, err := script.Start(t.Context(), program, script.Environment{})
	if err != nil {
		return err
	}
	return vm.Close()
}

// The globals are there whichever module is loaded first, although some of them are made by modules.
func TestGlobalsAreThereBesideEachModule(t *testing.T) {
	err := fs.WalkDir(os.DirFS("."), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "index.ts" || strings.HasPrefix(name, "internal/") {
			return err
		}
		if err := run(t, fmt.Sprintf(`import * as m from "node:%s";
Object.keys(m);
for (const name of ["Buffer", "atob", "Blob", "URL", "URLSearchParams", "TextEncoder", "AbortController", "Event", "structuredClone",
	"performance", "console", "process", "crypto", "Intl"]) if (typeof globalThis[name] === "undefined") throw new Error(name);
if (new URL("./x", import.meta.url).protocol !== "file:") throw new Error("URL");
`, filepath.ToSlash(filepath.Dir(name)))); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// What Node 22 says to the same.
func TestURLsAndPaths(t *testing.T) {
	if err := run(t, `import assert from "node:assert/strict";
import path from "node:path";
import url from "node:url";
assert.equal(url.URL, URL);
assert.throws(() => new URL("x"), { name: "TypeError", code: "ERR_INVALID_URL", message: "Invalid URL", input: "x" });
assert.throws(() => new URL("x", "y"), { code: "ERR_INVALID_URL", input: "x", base: "y" });
assert.throws(() => new URL(), { code: "ERR_MISSING_ARGS" });
assert.equal(new URL(new URL("../c?d", "file:///a/b")).href, "file:///c?d");
assert.equal(new URL("a:b").constructor.name, "URL");
assert.deepEqual([URL.canParse("x"), URL.parse("x"), URL.parse("a:b") instanceof URL], [false, null, true]);
assert.deepEqual(["//", "//a", "//a/b", "///a", "/a", "a//b"].map(path.posix.dirname), ["/", "//", "//a", "//", "/", "a/"]);
`); err != nil {
		t.Error(err)
	}
}
