package script

import (
	"bytes"
	"encoding/json"
	"errors"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/evanw/esbuild/pkg/api"
	"github.com/go-sourcemap/sourcemap"
	"modernc.org/quickjs"
)

// bundle is a program in a VM. The name of its code, plumb-bundle-N.js, distinguishes its frames.
type bundle struct {
	program *Program
	read    func() (*sourcemap.Consumer, [][]byte)
}

func newBundle(p *Program) *bundle {
	return &bundle{program: p, read: sync.OnceValues(func() (*sourcemap.Consumer, [][]byte) {
		consumer, err := sourcemap.Parse("", p.Map)
		if err != nil {
			consumer = nil // positions remain those of the bundle
		}
		return consumer, bytes.Split(p.Code, []byte("\n"))
	})}
}

func bundleName(i int) string { return "plumb-bundle-" + strconv.Itoa(i) + ".js" }

var (
	bundlePlace = regexp.MustCompile(`plumb-bundle-(\d+)\.js:(\d+):(\d+)`)
	newBefore   = regexp.MustCompile(`\bnew [\w$.]*$`)
	mappedPlace = regexp.MustCompile(`^(.+):(\d+):(\d+)$`)
	frameLine   = regexp.MustCompile(`^    at (.*?)(?: \(([^()]*)\))?$`)
)

// position maps a place in the bundle to the user's file. Where V8 points at new, QuickJS points at
// the name after it; where V8 points at a missing property, QuickJS points at the object.
func (b *bundle) position(line, column int, property string) (Position, bool) {
	consumer, lines := b.read()
	if consumer == nil || line < 1 || line > len(lines) {
		return Position{}, false
	}
	if text := lines[line-1]; column >= 1 && column-1 <= len(text) {
		if m := newBefore.FindIndex(text[:column-1]); m != nil {
			column = m[0] + 1
		}
		if i := bytes.Index(text[column-1:], []byte("."+property)); property != "" && i >= 0 {
			column += i + 1
		}
	}
	file, _, l, c, ok := consumer.Source(line, column-1)
	if !ok || file == "" || internalSource(file) {
		return Position{}, false
	}
	if !filepath.IsAbs(file) {
		file = filepath.Join(filepath.Dir(b.program.Entry), filepath.FromSlash(file))
	}
	return Position{File: file, Line: l, Column: c + 1}, true
}

// source returns the text of a file in the bundle.
func (b *bundle) source(file string) string {
	consumer, _ := b.read()
	if consumer == nil {
		return ""
	}
	var names struct{ Sources []string }
	if json.Unmarshal(b.program.Map, &names) != nil {
		return ""
	}
	for _, name := range names.Sources {
		if name == file || filepath.Join(filepath.Dir(b.program.Entry), filepath.FromSlash(name)) == file {
			return consumer.SourceContent(name)
		}
	}
	return ""
}

// locate maps a place such as plumb-bundle-0.js:12:3. See position for property.
func (vm *VM) locate(place, property string) (Position, bool) {
	m := bundlePlace.FindStringSubmatch(place)
	if m == nil { // the stack was written by hand, or is already mapped
		if m = mappedPlace.FindStringSubmatch(place); m == nil || !filepath.IsAbs(m[1]) {
			return Position{}, false
		}
		line, _ := strconv.Atoi(m[2])
		column, _ := strconv.Atoi(m[3])
		return Position{File: m[1], Line: line, Column: column}, true
	}
	i, _ := strconv.Atoi(m[1])
	line, _ := strconv.Atoi(m[2])
	column, _ := strconv.Atoi(m[3])
	if i >= len(vm.bundles) {
		return Position{}, false
	}
	return vm.bundles[i].position(line, column, property)
}

// mapText replaces all places in bundles with places in the user's files.
func (vm *VM) mapText(text string) string {
	if !strings.Contains(text, "plumb-bundle-") {
		return text
	}
	return bundlePlace.ReplaceAllStringFunc(text, func(place string) string {
		if p, ok := vm.locate(place, ""); ok {
			return p.String()
		}
		return place
	})
}

// frames reads a raw stack and returns at most limit frames in the user's files (all if limit is
// negative), without those above the function named start. See position for property, which
// concerns the first frame.
func (vm *VM) frames(raw, start string, limit int, property string) []Position {
	lines := strings.Split(strings.TrimRight(raw, "\n"), "\n")
	if start != "" {
		for i, line := range lines {
			if m := frameLine.FindStringSubmatch(line); m != nil && m[1] == start {
				lines = lines[i+1:]
				break
			}
		}
	}
	frames := []Position{}
	for _, line := range lines {
		if limit >= 0 && len(frames) >= limit {
			break
		}
		m := frameLine.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		if m[2] == "" {
			m[1], m[2] = "<anonymous>", m[1]
		}
		p, ok := vm.locate(m[2], property)
		if !ok {
			continue
		}
		property = ""
		if m[1] != "<anonymous>" {
			p.Function = m[1]
		}
		frames = append(frames, p)
	}
	return frames
}

// trace renders a stack without its header.
func (vm *VM) trace(raw, start string, limit int, property string) string {
	var b strings.Builder
	for _, p := range vm.frames(raw, start, limit, property) {
		b.WriteString("\n    at ")
		if p.Function != "" {
			b.WriteString(p.Function + " (" + p.String() + ")")
		} else {
			b.WriteString(p.String())
		}
	}
	return b.String()
}

// userFirst moves the frames in the user's files before those of packages.
func userFirst(frames []Position) []Position {
	var own, packages []Position
	for _, p := range frames {
		if strings.Contains(filepath.ToSlash(p.File), "/node_modules/") {
			packages = append(packages, p)
		} else {
			own = append(own, p)
		}
	}
	return append(own, packages...)
}

// expression returns the source text of the call at the first frame of a stack. The first line of
// the stack has the name of the function above which frames do not count.
func (vm *VM) expression(stack string) string {
	start, raw, _ := strings.Cut(stack, "\n")
	frames := userFirst(vm.frames(raw, start, -1, ""))
	if len(frames) == 0 {
		return ""
	}
	for _, b := range vm.bundles {
		if text := b.source(frames[0].File); text != "" {
			return callAt(text, frames[0])
		}
	}
	return ""
}

// The Unicode classes take most of the time that the regular expressions of this package need, and few
// programs get here.
//
//nolint:gochecknoglobals // compiled once, never changed
var (
	calleeBefore = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?:[\pL\pN_$]+\s*[?!]?\.\s*)*[\pL\pN_$]*$`)
	})
	calleeAfter = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[\pL\pN_$.?!\s]*\(`) })
)

// callAt returns the text of the call expression at a position: from the start of its callee to its
// closing parenthesis. The shortest text with a closing parenthesis that esbuild accepts is the
// call. The text of a call with more than 200 closing parentheses is not found.
func callAt(source string, at Position) string {
	offset := offsetOf(source, at.Line, at.Column)
	loader, ok := loaderOf(at.File)
	if offset < 0 || !ok || !calleeAfter().MatchString(source[offset:]) {
		return ""
	}
	start := calleeBefore().FindStringIndex(source[:offset])[0]
	for end, tries := offset, 200; tries > 0; tries-- {
		next := strings.IndexByte(source[end:], ')')
		if next < 0 {
			return ""
		}
		end += next + 1
		result := api.Transform("async function* f() {"+source[start:end]+"\n}", api.TransformOptions{
			Loader: loader, JSX: api.JSXPreserve, LogLevel: api.LogLevelSilent,
		})
		if len(result.Errors) == 0 {
			return source[start:end]
		}
	}
	return ""
}

// offsetOf returns the byte offset of a line and column, or -1. Both count from 1, the column in
// UTF-16 units.
func offsetOf(source string, line, column int) int {
	at := 0
	for ; line > 1; line-- {
		j := strings.IndexByte(source[at:], '\n')
		if j < 0 {
			return -1
		}
		at += j + 1
	}
	for units := column - 1; units > 0 && at < len(source) && source[at] != '\n'; {
		r, size := utf8.DecodeRuneInString(source[at:])
		at += size
		units -= utf16.RuneLen(r)
	}
	return at
}

// decodeError decodes the output of describe in the prelude.
func (vm *VM) decodeError(text string) *Error {
	type description struct {
		Name, Message, Text, Raw, Code, Property, Shown string
		Assertion, Thrown                               bool
		Data                                            string
		Cause                                           *description
	}
	var convert func(d *description, depth int) *Error
	convert = func(d *description, depth int) *Error {
		e := &Error{
			Name: d.Name, Message: vm.mapText(d.Message), Code: d.Code, IsAssertion: d.Assertion,
			Stack: vm.mapText(d.Text),
		}
		start, raw, _ := strings.Cut(d.Raw, "\n")
		e.Frames = userFirst(vm.frames(raw, start, -1, d.Property))
		if len(d.Data) > 0 && json.Valid([]byte(d.Data)) {
			e.Data = json.RawMessage(d.Data)
		}
		e.kind = engineKind(d.Name, d.Message)
		switch {
		case d.Thrown && d.Message == "null" && vm.eng.full: // there was no memory left to create the error
			e.Name, e.Message, e.kind = "RangeError", "out of memory", ErrMemory
		case d.Thrown:
			e.Message = "threw " + e.Message
		}
		e.shown = vm.mapText(d.Shown)
		if d.Cause != nil && depth < 8 {
			e.Cause = convert(d.Cause, depth+1)
		}
		return e
	}
	var d description
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		return &Error{Name: "Error", Message: "an error that cannot be shown:  " + err.Error()}
	}
	return convert(&d, 0)
}

// engineKind recognizes the errors of the engine itself.
func engineKind(name, message string) error {
	if (name == "RangeError" || name == "InternalError") && strings.HasPrefix(message, "out of memory") {
		return ErrMemory
	}
	return nil
}

// describe converts a value that a script threw. It does not free the value.
func (vm *VM) describe(reason quickjs.Value) *Error {
	f := vm.entry["describe"]
	text, err := f.Call(quickjs.UndefinedValue, reason)
	if s, ok := text.(string); ok && err == nil {
		return vm.decodeError(s)
	}
	return vm.engineError(err)
}

// engineError returns an error of the engine that no script code received.
func (vm *VM) engineError(err error) *Error {
	var q *quickjs.Error
	if !errors.As(err, &q) {
		return &Error{Name: "Error", Message: err.Error()}
	}
	e := &Error{
		Name: q.Name, Message: q.Message, Frames: userFirst(vm.frames(q.Stack, "", -1, "")),
		kind: engineKind(q.Name, q.Message),
	}
	if e.Name == "InternalError" {
		e.Name = "RangeError"
	}
	e.Stack = e.Error() + vm.trace(q.Stack, "", -1, "")
	return e
}
