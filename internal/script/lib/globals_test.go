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

// The globals are there whichever module is loaded first, although some of them are made by modules.
func TestGlobalsAreThereBesideEachModule(t *testing.T) {
	err := fs.WalkDir(os.DirFS("."), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "index.ts" || strings.HasPrefix(name, "internal/") {
			return err
		}
		file := filepath.Join(t.TempDir(), "a.mjs")
		code := fmt.Sprintf(`import * as m from "node:%s";
Object.keys(m);
for (const name of ["Buffer", "atob", "Blob", "URL", "URLSearchParams", "TextEncoder", "AbortController", "Event", "structuredClone",
	"performance", "console", "process", "crypto", "Intl"]) if (typeof globalThis[name] === "undefined") throw new Error(name);
if (new URL("./x", import.meta.url).protocol !== "file:") throw new Error("URL");
`, filepath.ToSlash(filepath.Dir(name)))
		if err := os.WriteFile(file, []byte(code), 0o600); err != nil {
			return err
		}
		program, err := script.Build(script.BuildOptions{Entry: file})
		if err != nil {
			return err
		}
		vm, err := script.Start(t.Context(), program, script.Options{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			return nil
		}
		return vm.Close()
	})
	if err != nil {
		t.Fatal(err)
	}
}
