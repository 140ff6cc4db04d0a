package suite

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/check"
	"github.com/plumb-eval/plumb/digest"
	"github.com/plumb-eval/plumb/internal/config"
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/proc"
	"github.com/plumb-eval/plumb/internal/script"
	"github.com/plumb-eval/plumb/internal/suite/lib"
	"github.com/plumb-eval/plumb/internal/text"
)

// checkFile is a file that a check names: a bundled module, or a file that a program reads.
type checkFile struct {
	Hash    string          `json:"hash"`
	Program *script.Program `json:"program,omitempty"`
	Data    []byte          `json:"data,omitempty"`
	// Executable is set if the file may be executed.
	Executable bool `json:"executable,omitempty"`
}

// checkCode runs the code of checks: expressions, modules and programs. It is safe for concurrent
// use.
type checkCode struct {
	bundle *Bundle
	host   lib.Host
	// dir is the directory of the suite; "" if it has none.
	dir string

	options script.Environment
	room    *lib.Room

	mu sync.Mutex
	// modules are the loaded modules by their files; that of expressions has the name "".
	modules map[string]*lib.Module
	// copies is the directory with the bundled files of programs whose originals have changed.
	copies string
	// named lists what the checks run, for a user who has to trust it.
	named []string
}

// checksIn makes the bundle's checkCode, in place of an earlier one.
func (b *Bundle) checksIn(h lib.Host) {
	b.closeChecks()
	b.checkCode = &checkCode{bundle: b, host: h, room: lib.NewRoom(), modules: map[string]*lib.Module{}}
	if b.origin != "" {
		b.checkCode.dir = filepath.Dir(b.origin)
	}
	b.checkCode.options = config.Options(h, b.checkCode.dir)
}

func (b *Bundle) closeChecks() {
	if b.checkCode != nil {
		b.checkCode.close()
	}
	b.checkCode = nil
}

// Starts lists the code and the programs that the checks of a suite would start.
func (b *Bundle) Starts(ctx context.Context) []string {
	if b.Code() {
		return []string{"code of the suite " + b.Path}
	}
	_, named := b.look(ctx)
	return named
}

// look reads the cases for what they name. It returns their content, and what the checks would
// start.
func (b *Bundle) look(ctx context.Context) (parsed, []string) {
	all := b.read(ctx, lib.Host{}, false)
	named := b.checkCode.named
	b.closeChecks()
	return all, named
}

// compile prepares the code of a check.
func (c *checkCode) compile(ctx context.Context, code check.Code) (check.Compiled, error) {
	switch {
	case code.Expr != "":
		return c.expression(ctx, code)
	case code.File != "":
		return c.module(ctx, code)
	}
	return c.program(code)
}

// add records what a user who has to trust the suite should know.
func (c *checkCode) add(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if line := fmt.Sprintf(format, args...); !slices.Contains(c.named, line) {
		c.named = append(c.named, line)
	}
}

func (c *checkCode) expression(ctx context.Context, code check.Code) (check.Compiled, error) {
	c.add("code of a check: %s", code.Expr)
	var problem string
	if !c.bundle.opened { // it was read before
		if err := c.describe(ctx, code, &problem, "syntax", code.Expr); err != nil {
			return check.Compiled{}, err
		}
	}
	if problem != "" {
		return check.Compiled{}, plumb.WithHint(fmt.Errorf("not JavaScript: %s", problem),
			"write an expression such as output.length < 100, or the body of a function with return")
	}
	return check.Compiled{Run: func(ctx context.Context, ev plumb.Evidence, vars json.RawMessage) (json.RawMessage, error) {
		return c.judge(ctx, code, ev, vars)
	}}, nil
}

// loaded returns the loaded module of code.
func (c *checkCode) loaded(ctx context.Context, code check.Code) (*lib.Module, error) {
	name := filepath.ToSlash(code.File)
	c.mu.Lock()
	defer c.mu.Unlock()
	if m := c.modules[name]; m != nil {
		return m, nil
	}
	program := lib.Expressions()
	if name != "" {
		program = c.bundle.checks[name].Program
	}
	m, err := c.host.Load(ctx, program, c.options, c.room)
	if err != nil {
		return nil, err
	}
	c.modules[name] = m
	return m, nil
}

// describe calls an entry of the module lib/check.js that says something about code.
func (c *checkCode) describe(ctx context.Context, code check.Code, to any, entry string, args ...any) error {
	m, err := c.loaded(ctx, code)
	if err == nil {
		err = m.Describe(ctx, to, entry, args...)
	}
	if err != nil {
		return c.broke(err, code)
	}
	return nil
}

// file returns a file that a check names, from the bundle if it is there.
func (c *checkCode) file(name string, read func(path string) (*checkFile, error)) (*checkFile, error) {
	name = filepath.ToSlash(name)
	b := c.bundle
	c.mu.Lock()
	known := b.checks[name]
	c.mu.Unlock()
	switch {
	case known != nil:
		return known, nil
	case b.opened:
		return nil, errors.New("the bundle of the run does not have the file")
	case c.dir == "":
		return nil, plumb.WithHint(errors.New("the suite has no directory, so it cannot name a file"),
			"write the suite to a file")
	}
	path := filepath.FromSlash(name)
	if !filepath.IsAbs(path) {
		path = filepath.Join(c.dir, path)
	}
	f, err := read(path)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if b.checks == nil {
		b.checks = map[string]*checkFile{}
	}
	b.checks[name] = f
	return f, nil
}

func (c *checkCode) module(ctx context.Context, code check.Code) (check.Compiled, error) {
	c.add("code of a check: %s", code.File)
	if !lib.IsCode(code.File) {
		return check.Compiled{}, plumb.WithHint(fmt.Errorf("%s is not a JavaScript or TypeScript file", code.File),
			`another program can be run with {"type": "command", "run": ["python3", "check.py"]}`)
	}
	f, err := c.file(code.File, func(path string) (*checkFile, error) {
		program, err := lib.BuildCheck(path)
		if err != nil {
			if problems := (lib.Places{Origin: path, Named: code.File}).Thrown(err); len(problems) > 0 {
				return nil, plumb.WithHint(errors.New(problems[0].String()), problems[0].Hint)
			}
			return nil, err
		}
		hash, err := codeHash(program)
		return &checkFile{Hash: hash, Program: program}, err
	})
	if err != nil {
		return check.Compiled{}, err
	}
	if !c.bundle.opened { // reading a stored suite executes nothing
		var none any
		if err := c.describe(ctx, code, &none, "exported"); err != nil {
			return check.Compiled{}, err
		}
	}
	return check.Compiled{Hash: f.Hash, Run: func(
		ctx context.Context, ev plumb.Evidence, vars json.RawMessage,
	) (json.RawMessage, error) {
		return c.judge(ctx, code, ev, vars)
	}}, nil
}

// given is what the code of a check gets beside the output.
type given struct {
	CaseID string          `json:"caseId"`
	Prompt string          `json:"prompt"`
	Vars   json.RawMessage `json:"vars"`
	Report json.RawMessage `json:"report"`
}

func newGiven(ev *plumb.Evidence, vars json.RawMessage) (given, error) {
	report, err := reportJSON(ev.Report)
	if err != nil {
		return given{}, fmt.Errorf("write the session report: %w", err)
	}
	g := given{Prompt: ev.Report.Prompt, Vars: vars, Report: report}
	if ev.Case != nil {
		g.CaseID, g.Prompt = ev.Case.ID, ev.Case.Prompt()
	}
	if g.Vars == nil {
		g.Vars = json.RawMessage("{}")
	}
	return g, nil
}

// judge calls an expression, or the function of a module.
func (c *checkCode) judge(
	ctx context.Context, code check.Code, ev plumb.Evidence, vars json.RawMessage,
) (raw json.RawMessage, err error) {
	g, err := newGiven(&ev, vars)
	if err != nil {
		return nil, err
	}
	m, err := c.loaded(ctx, code)
	if err == nil {
		err = m.Judge(ctx, &raw, lib.Judging{
			Options: c.options, Limit: c.limit(code), ReportSize: len(g.Report),
			Entry: "check", Args: []any{code.Expr, ev.Report.FinalOutput, g},
		})
	}
	switch {
	case err != nil && ctx.Err() != nil && !errors.Is(ctx.Err(), context.DeadlineExceeded):
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, c.broke(err, code)
	}
	return raw, nil
}

func (c *checkCode) limit(code check.Code) time.Duration {
	return cmp.Or(code.Timeout, c.host.JudgeLimit())
}

// broke turns the error of code into the failure of a check.
func (c *checkCode) broke(err error, code check.Code) error {
	f := plumb.Failuref(plumb.OriginAssertHook, "%w", err)
	e, thrown := errors.AsType[*script.Error](err)
	if broken(f, err, "the code", "a check", c.limit(code)) || !thrown {
		return f
	}
	f.Name, f.Message = e.Name, "the code threw "+e.Name+": "+e.Message
	switch {
	case e.Unhandled:
		f.Hint = noAwait
	case e.Name == "ReferenceError" && strings.HasSuffix(e.Message, "is not defined"):
		f.Hint = "declare it with const or let; nothing is left of the checks of other cases"
	}
	if code.File != "" && len(e.Frames) > 0 {
		f.Source = lib.Places{Origin: filepath.Join(c.dir, code.File), Named: code.File}.Source(&e.Frames[0])
	}
	return f
}

// close ends what the modules started.
func (c *checkCode) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range c.modules {
		_ = m.Close() // errors of what belongs to no session
	}
	clear(c.modules)
	if c.copies != "" {
		_ = os.RemoveAll(c.copies) // a directory of temporary files
	}
}

// program finds the files that the arguments of a program name: they decide the verdict, so the
// bundle contains them.
func (c *checkCode) program(code check.Code) (check.Compiled, error) {
	c.add("the command %s", strings.Join(code.Run, " "))
	files := map[int]*checkFile{}
	var sum bytes.Buffer
	for i, arg := range code.Run {
		if i == 0 && filepath.Base(arg) == arg || filepath.IsAbs(arg) || strings.HasPrefix(arg, "-") {
			continue
		}
		f, err := c.file(arg, readCheckFile)
		switch {
		case err == nil && f != nil:
			files[i] = f
			fmt.Fprintf(&sum, "%d %s\n", i, f.Hash)
		case i == 0:
			return check.Compiled{}, plumb.WithHint(fmt.Errorf("find the program %s: %w", arg, doc.Cause(err)),
				"the path starts at the directory of the suite")
		}
	}
	compiled := check.Compiled{Run: func(
		ctx context.Context, ev plumb.Evidence, vars json.RawMessage,
	) (json.RawMessage, error) {
		return c.run(ctx, code, files, &ev, vars)
	}}
	if sum.Len() > 0 {
		compiled.Hash = digest.Bytes(sum.Bytes())
	}
	return compiled, nil
}

func readCheckFile(path string) (*checkFile, error) {
	data, err := doc.Read(path, doc.SourceBytes)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	return &checkFile{Hash: digest.Bytes(data), Data: data, Executable: info.Mode()&0o111 != 0}, nil
}

// original returns the path of a file of a program: the original if it has not changed, and else a
// copy of the bundled file.
func (c *checkCode) original(name string, f *checkFile) (string, error) {
	path := filepath.Join(c.dir, filepath.FromSlash(name))
	if now, err := readCheckFile(path); err == nil && now.Hash == f.Hash {
		return path, nil
	}
	if !c.bundle.opened {
		return "", fmt.Errorf("%s has changed since the suite was read", name)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.copies == "" {
		var err error
		if c.copies, err = proc.TempCheck.Dir(); err != nil {
			return "", err
		}
	}
	path = filepath.Join(c.copies, strings.TrimPrefix(f.Hash, "sha256:"), filepath.Base(name))
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	mode := os.FileMode(0o600)
	if f.Executable {
		mode = 0o700
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", err
	}
	return path, os.WriteFile(path, f.Data, mode)
}

// The most that a program may write, and that a failure shows of its stderr, in bytes.
const (
	programOutput = 1 << 20
	programStderr = 2 << 10
)

// run runs a program once, with the session as JSON on its stdin, and returns its verdict.
func (c *checkCode) run(
	ctx context.Context, code check.Code, files map[int]*checkFile, ev *plumb.Evidence, vars json.RawMessage,
) (_ json.RawMessage, err error) {
	if c.host.ReadOnly {
		return nil, errors.New("programs are not started here")
	}
	argv := slices.Clone(code.Run)
	for i, f := range files {
		if argv[i], err = c.original(argv[i], f); err != nil {
			return nil, err
		}
	}
	g, err := newGiven(ev, vars)
	if err != nil {
		return nil, err
	}
	stdin, err := json.Marshal(struct {
		Output string `json:"output"`
		given
	}{ev.Report.FinalOutput, g})
	if err != nil {
		return nil, err
	}
	root, err := proc.TempCheck.Dir()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(root)) }()
	program := proc.Command{
		Path: argv[0], Args: argv[1:], Dir: c.dir, Env: []string{},
		Stdin: filepath.Join(root, "stdin"), Stdout: filepath.Join(root, "stdout"), Stderr: filepath.Join(root, "stderr"),
		OutputLimit: programOutput, Grace: proc.Grace{Interrupt: -1, Terminate: time.Second},
	}
	if _, err := os.Stat(c.dir); err != nil { // the bundle may be on another machine
		program.Dir = root
	}
	if c.host.Environ != nil {
		program.Env = append(program.Env, withoutSecrets(c.host.Environ(), ev)...)
	}
	if err := os.WriteFile(program.Stdin, append(stdin, '\n'), 0o600); err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeout(ctx, c.limit(code))
	defer cancel()
	result, err := program.Run(limited)
	if err != nil {
		return nil, plumb.WithHint(fmt.Errorf("start %s: %w", argv[0], err), "install it, or write its path")
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	stdout, err := doc.Read(program.Stdout, doc.DataBytes)
	if err != nil {
		return nil, err
	}
	stderr, err := doc.Read(program.Stderr, doc.DataBytes)
	if err != nil {
		return nil, err
	}
	raw, err := programVerdict(&result, bytes.TrimSpace(stdout), bytes.TrimSpace(stderr), c.limit(code))
	if err != nil {
		if text := shortened(ev, string(bytes.TrimSpace(stderr))); text != "" {
			err = fmt.Errorf("%w; stderr:\n%s", err, text)
		}
		return nil, plumb.WithHint(fmt.Errorf("%s: %w", filepath.Base(argv[0]), err),
			"the program prints a JSON verdict, or ends with exit code 0 or 1 (docs/assertions.md)")
	}
	return raw, nil
}

// withoutSecrets returns an environment without the variables whose values are secrets of the run.
func withoutSecrets(environ []string, ev *plumb.Evidence) []string {
	if ev.Secrets == nil {
		return environ
	}
	return slices.DeleteFunc(slices.Clone(environ), func(pair string) bool {
		_, value, _ := strings.Cut(pair, "=")
		return len(ev.Secrets(value)) > 0
	})
}

// shortened returns the end of a text without secrets.
func shortened(ev *plumb.Evidence, text string) string {
	if ev.Redact != nil {
		text = ev.Redact(text)
	}
	if cut := len(text) - programStderr; cut > 0 {
		text = "… " + strings.ToValidUTF8(text[cut:], "")
	}
	return text
}

// programVerdict returns the verdict of a program that has ended, or why it has none. Exit code 1
// with a text on stderr is how interpreters end when a script crashes.
func programVerdict(result *proc.Result, stdout, stderr []byte, limit time.Duration) (json.RawMessage, error) {
	switch {
	case errors.Is(result.Stopped, proc.ErrOutput):
		return nil, fmt.Errorf("it wrote more than %d MiB", programOutput>>20)
	case result.Stopped != nil:
		return nil, fmt.Errorf("it did not end within %s", text.Duration(limit))
	case result.ExitCode == nil || *result.ExitCode > 1:
		return nil, errors.New(result.Text())
	case *result.ExitCode == 1 && len(stderr) > 0:
		return nil, errors.New("exit code 1 with a text on stderr, so it may have crashed")
	case json.Valid(stdout):
		return stdout, nil
	case *result.ExitCode == 1:
		return json.Marshal(map[string]any{"pass": false, "reason": string(stdout)})
	case len(stdout) == 0:
		return json.RawMessage("true"), nil
	}
	return nil, errors.New("its output is not JSON")
}
