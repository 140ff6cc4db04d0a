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
	"github.com/plumb-eval/plumb/internal/convert/draft"
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/promptfoo"
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

// fromPromptfoo converts a configuration of promptfoo.
func fromPromptfoo(w *work, data []byte) error {
	var root draft.Node
	var err error
	if lib.IsCode(w.File) {
		root, err = w.module(w.File)
	} else {
		root, err = promptfoo.Parse(w.File, data)
	}
	if err != nil {
		return err
	}
	return promptfoo.Convert(&w.Draft, root, w.invalidRegExp)
}

// module returns what a config in JavaScript or TypeScript exports.
func (w *work) module(file string) (draft.Node, error) {
	abs, err := filepath.Abs(file)
	if err != nil {
		return draft.Node{}, fmt.Errorf("convert %s: %w", file, err)
	}
	names := map[string]bool{moduleName: true}
	for name := range lib.Modules() {
		names[name] = true
	}
	program, err := script.Build(script.BuildOptions{Entry: abs, Modules: names, Preload: []string{moduleName}})
	var exported string
	if err == nil {
		exported, err = w.execute(program, filepath.Dir(abs), "config", aFunction)
	}
	if err != nil {
		return draft.Node{}, lib.Places{Origin: abs, Named: file}.Problems(err)
	}
	v, problem := doc.ParseJSON(file, []byte(exported))
	if problem != nil {
		problem.Pos.Line, problem.Pos.Column = 0, 0
		return draft.Node{}, doc.Problems{*problem}
	}
	v.MoveTo(doc.Place{}) // it is not written in the file
	return draft.Node{File: file, Value: &v}, nil
}

// execute loads a program in a directory, and calls a function of the module that conversions need.
// The program must not change files or start programs.
func (w *work) execute(program *script.Program, dir, entry string, args ...any) (s string, err error) {
	h := w.host
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
		limit := text.Duration(h.LoadTimeout)
		return "", plumb.WithHint(fmt.Errorf("the function that it exports did not end within %s", limit),
			"does it loop, or wait for something that never happens?")
	}
	return "", err //nolint:wrapcheck // it has the place
}

// invalidRegExp returns why a pattern is no regular expression of JavaScript, or "".
func (w *work) invalidRegExp(pattern string) string {
	out, err := w.execute(script.Load(moduleName), w.Dir, "invalid", pattern)
	if err != nil {
		return err.Error()
	}
	return text.OneLine(out)
}
