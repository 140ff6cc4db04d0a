package convert

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/script"
	"github.com/plumb-eval/plumb/internal/suite/lib"
	"github.com/plumb-eval/plumb/internal/text"
)

// aFunction stands for a function in a config in code. It reads like a file that is not there, so
// that what is not text is refused in the same way.
const aFunction = "file://a function in the config"

// moduleName is the name of the module with the functions that the conversion calls in the engine.
const moduleName = "plumb/convert"

// moduleText is its source. config returns what a config exports, and invalid why a pattern is no
// regular expression of JavaScript.
const moduleText = `__entry.config = async (aFunction) => {
	const main = globalThis.__main;
	let value = main?.default ?? main;
	if (typeof value === "function") value = await value();
	return JSON.stringify(value, (_, v) => typeof v === "function" ? aFunction : v) ?? "null";
};
__entry.invalid = (pattern) => { try { new RegExp(pattern); return ""; } catch (e) { return String(e.message); } };`

// moduleLimit is the time in which a config in code must load, and in which its function must end.
const moduleLimit = 30 * time.Second

// module returns what a config in JavaScript or TypeScript exports.
func (w *work) module(file string) (node, error) {
	abs, err := filepath.Abs(file)
	if err != nil {
		return node{}, fmt.Errorf("convert %s: %w", file, err)
	}
	names := map[string]bool{moduleName: true}
	for name := range lib.Modules() {
		names[name] = true
	}
	program, err := script.Build(script.BuildOptions{Entry: abs, Modules: names, Preload: []string{moduleName}})
	var text string
	if err == nil {
		text, err = w.execute(program, filepath.Dir(abs), "config", aFunction)
	}
	if err != nil {
		if problems := (lib.Places{Origin: abs, Named: file}).Thrown(err); problems != nil {
			return node{}, problems
		}
		return node{}, doc.Problems{{Pos: plumb.Position{File: file}, Message: err.Error(), Hint: plumb.Hint(err)}}
	}
	v, problem := doc.ParseJSON(file, []byte(text))
	if problem != nil {
		problem.Pos.Line, problem.Pos.Column = 0, 0
		return node{}, doc.Problems{*problem}
	}
	forget(&v)
	return node{&source{name: file}, &v}, nil
}

// forget removes the places of a value that is not written in a file.
func forget(v *doc.Value) {
	v.Place = doc.Place{}
	for i := range v.List {
		forget(&v.List[i])
	}
	for i := range v.Members {
		v.Members[i].Place = doc.Place{}
		forget(&v.Members[i].Value)
	}
}

// execute loads a program in a directory, and calls a function of the module that conversions need.
// The program must not change files or start programs.
func (w *work) execute(program *script.Program, dir, entry string, args ...any) (s string, err error) {
	h := w.Host
	h.ReadOnly = true
	h.LoadTimeout = cmp.Or(h.LoadTimeout, moduleLimit)
	options := h.Options(dir)
	options.Modules[moduleName] = moduleText
	vm, err := h.Start(w.ctx, program, options)
	if err != nil {
		return "", err //nolint:wrapcheck // it says what happened, and has the place
	}
	defer func() { _ = vm.Close() }() // promises that nothing waited for
	limited, cancel := context.WithTimeout(w.ctx, h.LoadTimeout)
	defer cancel()
	raw, err := vm.Call(limited, entry, args...)
	switch {
	case err == nil:
		return s, json.Unmarshal(raw, &s)
	case w.ctx.Err() != nil:
		return "", context.Cause(w.ctx)
	case errors.Is(err, script.ErrTimeout), errors.Is(err, script.ErrDead):
		return "", plumb.WithHint(fmt.Errorf("the function that it exports did not end within %s", text.Duration(h.LoadTimeout)),
			"does it loop, or wait for something that never happens?")
	}
	return "", err //nolint:wrapcheck // it has the place
}

// invalidRegExp returns why a pattern is no regular expression of JavaScript, or "".
func (w *work) invalidRegExp(pattern string) string {
	out, err := w.execute(script.Load(moduleName), w.dir, "invalid", pattern)
	if err != nil {
		return err.Error()
	}
	return text.OneLine(out)
}
