package suite

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/check"
	"github.com/plumb-eval/plumb/digest"
	"github.com/plumb-eval/plumb/internal/config"
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/script"
	"github.com/plumb-eval/plumb/internal/suite/cases"
	"github.com/plumb-eval/plumb/internal/suite/lib"
)

// description is the module plumb's description of a suite in code; see lib/PROTOCOL.md.
type description struct {
	Cases     []describedCase `json:"cases"`
	Workspace json.RawMessage `json:"workspace"`
	Skills    json.RawMessage `json:"skills"`
	Problems  []lib.Problem   `json:"problems"`
}

// describedCase is a case as the module describes it. Its own fields replace those of plumb.Case.
type describedCase struct {
	plumb.Case
	Index       int               `json:"index"`
	Key         string            `json:"key"`
	TimeoutMs   float64           `json:"timeoutMs"`
	Assertions  []json.RawMessage `json:"assertions"`
	HasAssert   bool              `json:"hasAssert"`
	HasClassify bool              `json:"hasClassify"`
	Others      map[string]*bool  `json:"others"`
	Source      *script.Position  `json:"source"`
}

// codeReader turns a description into a suite and problems.
type codeReader struct {
	bundle   *Bundle
	at       lib.Places
	compile  func(check.Code) (check.Compiled, error)
	problems doc.Problems
	summary  cases.Summary
	// judge and embedder are set if the code asks one.
	judge, embedder bool
}

// add reports a problem of a case at its place, with the name that its author uses.
func (r *codeReader) add(c *describedCase, message, hint string) {
	r.problems = append(r.problems, doc.Problem{
		Pos: r.at.Position(c.Source), Message: lib.CaseName(c.ID, c.Key, c.Index) + ": " + message, Hint: hint,
	})
}

// locate finds the place of a case without a function, whose place the engine does not know: the
// place of its id, if the id is written only once.
func (r *codeReader) locate(id string) *script.Position {
	data := r.bundle.data
	at := -1
	for _, quote := range []string{`"`, "'", "`"} {
		text := []byte(quote + id + quote)
		first := bytes.Index(data, text)
		if first < 0 {
			continue
		}
		if at >= 0 || first != bytes.LastIndex(data, text) {
			return nil
		}
		at = first
	}
	if at < 0 || id == "" {
		return nil
	}
	pos := doc.Position(r.at.Origin, data, at)
	return &script.Position{File: pos.File, Line: pos.Line, Column: pos.Column}
}

// codeIn loads a suite in code.
func (b *Bundle) codeIn(ctx context.Context, h lib.Host) parsed {
	if len(b.broken) > 0 {
		return unusable(b.broken)
	}
	at := lib.Places{Origin: b.origin, Named: b.Path}
	err := b.Close()
	if err != nil {
		return unusable(at.Problems(err))
	}
	b.checksIn(h)
	if b.code, err = loadCodeSuite(ctx, b, at, h); err != nil {
		return unusable(at.Problems(err))
	}
	var what description
	if err := b.code.module.Describe(ctx, &what, "describe"); err != nil {
		return unusable(at.Problems(err))
	}
	r := &codeReader{bundle: b, at: at}
	r.compile = func(code check.Code) (check.Compiled, error) { return b.checkCode.compile(ctx, code) }
	r.judge, r.embedder = asks(b.program.Code)
	for _, p := range what.Problems {
		if p.Source == nil {
			p.Source = r.locate(p.ID)
		}
		r.problems = append(r.problems, p.In(at))
	}
	var all parsed
	all.Cases = make([]plumb.Case, 0, len(what.Cases))
	seen := map[string]*describedCase{}
	for i := range what.Cases {
		d := &what.Cases[i]
		if d.Source == nil {
			d.Source = r.locate(d.ID)
		}
		r.id(d, seen)
		all.Cases = append(all.Cases, r.read(d))
	}
	sections, problems := config.ReadExports(at.Named, filepath.Dir(at.Origin), what.Workspace, what.Skills)
	if len(problems) == 0 {
		problems = b.directories(sections)
	}
	all.Sections, all.Problems, all.Summary = sections, append(r.problems, problems...).Sorted(), r.summary
	return all
}

// workingDir returns the directory in which a suite in code is executed: the user's when it was
// read, or that of the suite if the user's no longer exists.
func (b *Bundle) workingDir() string {
	for _, dir := range []string{b.dir, filepath.Dir(b.origin)} {
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			return dir
		}
	}
	return b.dir
}

// id reports an id that cannot name files, or that names the files of another case.
func (r *codeReader) id(c *describedCase, seen map[string]*describedCase) {
	if c.ID == "" { // the module reports this
		return
	}
	if why := cases.UnsafeCodeID(c.ID); why != "" {
		r.add(c, "the id "+why, "")
	}
	key := strings.ToLower(cases.PathName(c.ID))
	first, ok := seen[key]
	switch {
	case !ok:
		seen[key] = c
	case first.ID == c.ID: // the module reports this
	case strings.EqualFold(first.ID, c.ID):
		r.add(c, fmt.Sprintf("the id differs from %q only by case", first.ID), "")
	default:
		r.add(c, fmt.Sprintf("the id is the same as %q in paths", first.ID),
			"paths have a hyphen for each character other than a letter, a digit, a dot, a hyphen or an underscore")
	}
}

func (r *codeReader) read(d *describedCase) plumb.Case {
	c := d.Case
	c.Source = r.at.Position(d.Source)
	c.Timeout = time.Duration(min(d.TimeoutMs, math.MaxInt64/float64(time.Millisecond)) * float64(time.Millisecond))
	// Any file of the bundle can change what an assert function does. So its hash contains the
	// suite's.
	content := digest.CaseContent{Messages: c.Messages, MaxOutputTokens: c.MaxOutputTokens}
	var code plumb.AskingAssertion
	if d.HasAssert {
		code = &codeCheck{r.bundle.code, c.ID, c.Source, r.judge, r.embedder}
		c.Assertions = append(c.Assertions, code)
		facts := map[string]string{"type": "code", "suite": r.bundle.hash, "case": c.ID}
		spec, _ := json.Marshal(facts) //nolint:errchkjson // strings
		content.Assertions = append(content.Assertions, spec)
	}
	var checks []*check.Check
	for i, spec := range d.Assertions {
		k, problems := r.check(spec)
		for _, p := range problems {
			r.add(d, fmt.Sprintf("assertions[%d]%s: %s", i, strings.ReplaceAll(p.Pointer, "/", "."), p.Message), p.Hint)
			r.problems[len(r.problems)-1].Warning = p.Warning
		}
		if k != nil {
			checks = append(checks, k)
			c.Assertions = append(c.Assertions, k)
			content.Assertions = append(content.Assertions, k.Canonical())
		}
	}
	for _, word := range slices.Sorted(maps.Keys(d.Others)) {
		if hint := cases.Instead(word, d.Others[word], "expectedFail"); hint != "" {
			r.add(d, word+": "+word+" has no meaning in a suite, and the case would run", hint)
		}
	}
	if d.HasClassify {
		c.Classify = (&codeClassifier{r.bundle.code, c.ID}).classify
	}
	c.Hash, c.PromptHash, c.ChecksHash = digest.Parts(content)
	c.Metadata = codeMetadata(c.Own)
	r.summary.Add(&c, checks, code)
	return c
}

// check parses a declarative check of a case in code.
func (r *codeReader) check(spec json.RawMessage) (*check.Check, []check.Problem) {
	v, problem := doc.ParseJSON("", spec)
	if problem != nil {
		return nil, []check.Problem{{Message: problem.Message, Hint: problem.Hint}}
	}
	return check.ParseIn(&v, check.Ideal{}, check.Env{Compile: r.compile})
}

// codeMetadata returns the author's own keys of a case in code, those under metadata included.
func codeMetadata(own json.RawMessage) map[string]string {
	if len(own) == 0 {
		return nil
	}
	v, problem := doc.ParseJSON("", own)
	if problem != nil {
		return nil
	}
	found := cases.OwnMetadata(&v)
	if under := v.Get("metadata"); under != nil {
		if found == nil {
			return cases.OwnMetadata(under)
		}
		maps.Copy(found, cases.OwnMetadata(under))
	}
	return found
}

// directories checks the directories that a suite refers to. Those of a stored bundle may be
// missing, which matters only if more sessions are to run.
func (b *Bundle) directories(s config.Sections) (problems doc.Problems) {
	look := func(what, dir string) {
		message := ""
		if info, err := os.Stat(dir); err != nil {
			message = fmt.Sprintf("%s %s: %v", what, dir, doc.Cause(err))
		} else if !info.IsDir() {
			message = fmt.Sprintf("%s %s is not a directory", what, dir)
		}
		if message != "" {
			problems = append(problems, doc.Problem{
				Pos: plumb.Position{File: b.Path}, Message: message, Warning: b.opened,
			})
		}
	}
	w := s.Workspace
	if w != nil && w.Cwd != "" {
		look("workspace.cwd", w.Cwd)
	}
	if w != nil && w.TemplateDir != "" {
		look("workspace.templateDir", w.TemplateDir)
		if len(problems) == 0 {
			problems = append(problems, b.template(w.TemplateDir)...)
		}
	}
	for i, dir := range s.Skills {
		look(fmt.Sprintf("skills[%d]", i), dir)
	}
	return problems
}

// template records the template directory of a suite. It warns if the directory has changed since
// the bundle was stored.
func (b *Bundle) template(dir string) doc.Problems {
	was := b.templates[dir]
	if b.templates == nil {
		b.templates = map[string]string{}
	}
	b.templates[dir] = was
	if !b.opened || was == "" {
		return nil
	}
	now, err := treeHash(dir)
	if err == nil && now == was {
		return nil
	}
	return doc.Problems{{
		Pos: plumb.Position{File: b.Path}, Warning: true,
		Message: fmt.Sprintf("the template directory %s has changed since the run began: "+
			"sessions from now on start from different files", dir),
	}}
}
