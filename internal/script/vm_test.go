package script_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/plumb-eval/plumb/internal/script"
)

// plumbModule is an additional module through which test programs register functions.
const plumbModule = `exports.define = (name, f) => { __entry[name] = f };
exports.host = __host; exports.hostAsync = __hostAsync;`

func build(t *testing.T, path string) *script.Program {
	t.Helper()
	p, err := script.Build(script.BuildOptions{Entry: path, Modules: map[string]bool{"plumb": true}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// source builds a program from text.
func source(t *testing.T, text string) *script.Program {
	t.Helper()
	path := filepath.Join(t.TempDir(), "suite.ts")
	if err := os.WriteFile(path, []byte(`import { define, host, hostAsync } from "plumb";`+"\n"+text+"\nvoid [define, host, hostAsync];"), 0o644); err != nil {
		t.Fatal(err)
	}
	return build(t, path)
}

func start(t *testing.T, p *script.Program, o script.Options) *script.VM {
	t.Helper()
	if o.Modules == nil {
		o.Modules = map[string]string{"plumb": plumbModule}
	}
	vm, err := script.Start(t.Context(), p, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = vm.Close() })
	return vm
}

func call(t *testing.T, vm *script.VM, name string, args ...any) string {
	t.Helper()
	result, err := vm.Call(t.Context(), name, args...)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return string(result)
}

// TestErrorLocations checks line and column of errors against marks in the programs.
func TestErrorLocations(t *testing.T) {
	marks := map[string]script.Position{}
	define := regexp.MustCompile(`define\("([^"]+)"`)
	mark := regexp.MustCompile(`/\*([a-z-]*)>\*/`)
	for _, file := range []string{"locations.ts", "locations-helper.ts"} {
		path, err := filepath.Abs(filepath.Join("testdata", file))
		if err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		name := ""
		for i, line := range strings.Split(string(data), "\n") {
			if m := define.FindStringSubmatch(line); m != nil {
				name = m[1]
			}
			for _, m := range mark.FindAllStringSubmatchIndex(line, -1) {
				if of := line[m[2]:m[3]]; of != "" {
					name = of
				}
				if name != "" {
					marks[name] = script.Position{File: path, Line: i + 1, Column: len(utf16.Encode([]rune(line[:m[1]]))) + 1}
				}
			}
		}
	}
	path, err := filepath.Abs("testdata/locations.ts")
	if err != nil {
		t.Fatal(err)
	}
	p := build(t, path)
	// A program that went through JSON runs without its sources.
	data, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	p = new(script.Program)
	if err := json.Unmarshal(data, p); err != nil {
		t.Fatal(err)
	}
	vm := start(t, p, script.Options{})
	for name, want := range marks {
		t.Run(name, func(t *testing.T) {
			_, err := vm.Call(t.Context(), name)
			e, ok := errors.AsType[*script.Error](err)
			if !ok {
				t.Fatalf("not an error of the script: %v", err)
			}
			if len(e.Frames) == 0 {
				t.Fatalf("no frames, want %v\n%s", want, e.Stack)
			}
			got := e.Frames[0]
			got.Function = ""
			if got != want {
				t.Errorf("got %v, want %v\n%s", got, want, e.Stack)
			}
			if !strings.Contains(e.Stack, want.String()) {
				t.Errorf("the stack does not name %v:\n%s", want, e.Stack)
			}
			if unhandled := name == "unhandled" || name == "timer"; e.Unhandled != unhandled {
				t.Errorf("Unhandled is %v", e.Unhandled)
			}
		})
	}
	if len(marks) < 20 {
		t.Errorf("only %d marks", len(marks))
	}
}

var (
	_ = bytes.NewReader
	_ = context.Background
	_ = time.Now
)
