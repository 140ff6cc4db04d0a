package convert

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/script"
	"github.com/plumb-eval/plumb/internal/suite/lib"
)

// aFunction stands for a function in a config in code. It reads like a file that is not there, so
// that what is not text is refused in the same way.
const aFunction = "file://a function in the config"

// module returns what a config in JavaScript or TypeScript exports.
func (w *work) module(file string) (node, error) {
	abs, err := filepath.Abs(file)
	if err != nil {
		return node{}, fmt.Errorf("convert %s: %w", file, err)
	}
	text, err := w.execute(filepath.Dir(abs), `import * as all from `+quoteJSON(abs)+`;
let value = all.default ?? all;
if (typeof value === "function") value = await value();
console.log(JSON.stringify(value, (_, v) => typeof v === "function" ? `+quoteJSON(aFunction)+` : v) ?? "null");`)
	if err != nil {
		if problems := (lib.Places{Origin: abs, Named: file}).Thrown(err); problems != nil {
			return node{}, problems
		}
		return node{}, fmt.Errorf("convert %s: %w", file, err)
	}
	v, problem := doc.ParseJSON(file, bytes.TrimSpace(text))
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

// execute runs a script with arguments in a directory, and returns what it prints. The script must
// not change files or start programs.
func (w *work) execute(dir, code string, args ...string) ([]byte, error) {
	temporary, err := os.MkdirTemp("", "plumb-convert-")
	if err != nil {
		return nil, fmt.Errorf("write a script: %w", err)
	}
	defer func() { _ = os.RemoveAll(temporary) }()
	file := filepath.Join(temporary, "script.mjs")
	if err := os.WriteFile(file, []byte(code), 0o600); err != nil {
		return nil, fmt.Errorf("write a script: %w", err)
	}
	program, err := lib.Build(file)
	if err != nil {
		return nil, err //nolint:wrapcheck // the places of its problems are those of the user's file
	}
	h := w.Host
	h.ReadOnly = true
	options := h.Options(dir)
	var out, errs bytes.Buffer
	options.Stdout, options.Stderr, options.Args = &out, &errs, args
	exit, err := script.Exec(w.ctx, program, options)
	if err != nil {
		return nil, fmt.Errorf("run it: %w", err)
	}
	if exit != 0 {
		return nil, plumb.WithHint(fmt.Errorf("it ends with exit code %d: %s", exit, oneLine(errs.String())), "")
	}
	return out.Bytes(), nil
}

// invalidRegExp returns why a pattern is no regular expression of JavaScript, or "".
func (w *work) invalidRegExp(pattern string) string {
	out, err := w.execute(w.dir, `try { new RegExp(process.argv[2]); } catch (e) { console.log(String(e.message)); }`, pattern)
	if err != nil {
		return err.Error()
	}
	return oneLine(string(out))
}
