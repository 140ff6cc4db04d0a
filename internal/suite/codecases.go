package suite

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/check"
	"github.com/plumb-eval/plumb/digest"
	"github.com/plumb-eval/plumb/internal/script"
)

// description is what the module plumb says of a suite in code; see lib/PROTOCOL.md.
type description struct {
	Cases     []describedCase    `json:"cases"`
	Workspace json.RawMessage    `json:"workspace"`
	Skills    json.RawMessage    `json:"skills"`
	Problems  []describedProblem `json:"problems"`
}

type describedCase struct {
	Index           int               `json:"index"`
	Key             string            `json:"key"`
	ID              string            `json:"id"`
	Messages        []plumb.Message   `json:"messages"`
	Tags            []string          `json:"tags"`
	TimeoutMs       float64           `json:"timeoutMs"`
	Repeat          int               `json:"repeat"`
	MaxOutputTokens int               `json:"maxOutputTokens"`
	MaxSteps        int               `json:"maxSteps"`
	ExpectedFail    bool              `json:"expectedFail"`
	Category        string            `json:"category"`
	Difficulty      string            `json:"difficulty"`
	Assertions      []json.RawMessage `json:"assertions"`
	HasAssert       bool              `json:"hasAssert"`
	HasClassify     bool              `json:"hasClassify"`
	Own             json.RawMessage   `json:"own"`
	Source          *script.Position  `json:"source"`
}

type describedProblem struct {
	Case    *int             `json:"case"`
	ID      string           `json:"id"`
	Path    string           `json:"path"`
	Message string           `json:"message"`
	Hint    string           `json:"hint"`
	Warning bool             `json:"warning"`
	Source  *script.Position `json:"source"`
}

// problem names what a problem is about, unless its text does.
func (p describedProblem) problem(at places) Problem {
	message, path := p.Message, p.Path
	if p.Case != nil {
		if field := caseField.FindStringSubmatch(path); field != nil {
			message = field[1] + ": " + message
		}
		if p.ID == "" || !strings.Contains(p.Message, "case "+p.ID) {
			message = caseName(p.ID, "", *p.Case) + ": " + message
		} else {
			message = p.Message
		}
	} else if path != "" && path != "default" {
		message = path + ": " + message
	}
	return Problem{Pos: at.position(p.Source), Message: message, Hint: p.Hint, Warning: p.Warning}
}

// caseField finds the field of a case in a path such as cases[2].tags[0] or cases.key.id.
var caseField = regexp.MustCompile(`^cases(?:\[(?:\d+|"(?:[^"\\]|\\.)*")\]|\.\w+)\.(.+)$`)

// caseName is what the author of a case knows it by.
func caseName(id, key string, index int) string {
	switch {
	case id != "":
		return "case " + id
	case key != "":
		return "case " + key
	default:
		return fmt.Sprintf("cases[%d]", index)
	}
}

// codeReader turns a description into a suite and problems.
type codeReader struct {
	bundle   *Bundle
	at       places
	problems Problems
	summary  tally
	// judge and embedder say that the code asks one.
	judge, embedder bool
}

// add reports a problem of a case: at its place, under the name that its author knows it by.
func (r *codeReader) add(c *describedCase, message, hint string) {
	r.problems = append(r.problems, Problem{Pos: r.at.position(c.Source), Message: r.name(c) + ": " + message, Hint: hint})
}

func (r *codeReader) name(c *describedCase) string { return caseName(c.ID, c.Key, c.Index) }

// locate finds the place of a case that has no function, and so none that the engine knows: where its id is written, if
// that is in one place.
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
	pos := place(r.at.origin, data, at)
	return &script.Position{File: pos.File, Line: pos.Line, Column: pos.Column}
}

// codeIn loads a suite in code.
func (b *Bundle) codeIn(ctx context.Context, h Host) parsed {
	if len(b.broken) > 0 {
		return parsed{problems: b.broken}
	}
	at := places{b.origin, b.Path}
	if err := b.Close(); err != nil {
		return parsed{problems: at.problems(err)}
	}
	b.code = newCodeSuite(b.program, b.workingDir(), at, h)
	e, err := b.code.acquire(ctx)
	if err != nil {
		return parsed{problems: at.problems(err)}
	}
	defer b.code.release(e, false)
	r := &codeReader{bundle: b, at: at}
	r.judge, r.embedder = asks(b.program.Code)
	for _, p := range e.what.Problems {
		if p.Source == nil {
			p.Source = r.locate(p.ID)
		}
		r.problems = append(r.problems, p.problem(at))
	}
	all := parsed{cases: make([]plumb.Case, 0, len(e.what.Cases))}
	seen := map[string]*describedCase{}
	for i := range e.what.Cases {
		d := &e.what.Cases[i]
		if d.Source == nil {
			d.Source = r.locate(d.ID)
		}
		r.id(d, seen)
		all.cases = append(all.cases, r.read(d))
	}
	all.workspace, all.skills = r.surroundings(e.what)
	all.problems, all.summary = r.problems.sorted(), r.summary
	return all
}

// workingDir is where a suite in code is executed: where it was read from, as long as that is there.
func (b *Bundle) workingDir() string {
	for _, dir := range []string{b.dir, filepath.Dir(b.origin)} {
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			return dir
		}
	}
	return b.dir
}

// id reports an id that cannot name files, or that names those of another case.
func (r *codeReader) id(c *describedCase, seen map[string]*describedCase) {
	if c.ID == "" { // has been reported
		return
	}
	if why := unsafeCodeID(c.ID); why != "" {
		r.add(c, "the id "+why, "")
	}
	key := strings.ToLower(pathName(c.ID))
	first, ok := seen[key]
	switch {
	case !ok:
		seen[key] = c
	case first.ID == c.ID: // has been reported
	case strings.EqualFold(first.ID, c.ID):
		r.add(c, fmt.Sprintf("the id differs from %q only by case", first.ID), "")
	default:
		r.add(c, fmt.Sprintf("the id is the same as %q in paths", first.ID), "a character other than a letter, a digit, a dot, a hyphen or an underscore is a hyphen there")
	}
}

func (r *codeReader) read(d *describedCase) plumb.Case {
	c := plumb.Case{
		ID: d.ID, Category: d.Category, Difficulty: d.Difficulty, Tags: d.Tags, Messages: d.Messages, MaxOutputTokens: d.MaxOutputTokens,
		MaxSteps: d.MaxSteps, Repeat: d.Repeat, ExpectedFail: d.ExpectedFail, Own: d.Own, Source: r.at.position(d.Source),
		Timeout: time.Duration(min(d.TimeoutMs, math.MaxInt64/float64(time.Millisecond)) * float64(time.Millisecond)),
	}
	for _, word := range []struct {
		name, value string
		known       []string
	}{{"category", c.Category, Categories()}, {"difficulty", c.Difficulty, Difficulties()}} {
		if word.value != "" && !slices.Contains(word.known, word.value) {
			r.add(d, fmt.Sprintf("unknown %s %q", word.name, word.value), didYouMean(word.value, word.known))
		}
	}
	// What the code does decides with all its inputs: a change anywhere in them begins new results for all cases.
	content := digest.CaseContent{Messages: c.Messages, MaxOutputTokens: c.MaxOutputTokens}
	if d.HasAssert {
		c.Assertions = append(c.Assertions, &codeCheck{r.bundle.code, c.ID, c.Source, r.judge, r.embedder})
		spec, _ := json.Marshal(map[string]string{"type": "code", "suite": r.bundle.hash, "case": c.ID}) //nolint:errchkjson // strings
		content.Assertions = append(content.Assertions, spec)
	}
	var checks []*check.Check
	for i, spec := range d.Assertions {
		k, problems := check.Parse(spec, check.Ideal{})
		for _, p := range problems {
			r.problems = append(r.problems, Problem{
				Pos: c.Source, Warning: p.Warning,
				Message: fmt.Sprintf("%s: assertions[%d]%s: %s", r.name(d), i, strings.ReplaceAll(p.Pointer, "/", "."), p.Message),
			})
		}
		if k != nil {
			checks = append(checks, k)
			c.Assertions = append(c.Assertions, k)
			content.Assertions = append(content.Assertions, k.Canonical())
		}
	}
	if d.HasClassify {
		c.Classify = (&codeClassifier{r.bundle.code, c.ID}).classify
	}
	c.Hash = digest.Case(content)
	r.summary.add(&c, checks)
	if d.HasAssert {
		r.summary.types["code"]++
		r.summary.judge += count(r.judge)
		r.summary.embedder += count(r.embedder)
	}
	return c
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

// surroundings reads what the suite says of workspaces and skills. Its paths start from its directory.
func (r *codeReader) surroundings(d *description) (*plumb.WorkspaceConfig, []string) {
	reader := &configReader{file: r.at.named, dir: filepath.Dir(r.at.origin), code: true, suite: true}
	var w *plumb.WorkspaceConfig
	var skills []string
	if tree, ok := r.export(d.Workspace); ok {
		w = reader.workspace(tree, "workspace")
	}
	if tree, ok := r.export(d.Skills); ok {
		skills = reader.each(tree, "skills", reader.path)
	}
	r.problems = append(r.problems, reader.problems...)
	if len(reader.problems) == 0 {
		r.problems = append(r.problems, r.bundle.places(w, skills)...)
	}
	return w, skills
}

// export is an export of the suite as a value, if it is there.
func (r *codeReader) export(raw json.RawMessage) (value, bool) {
	if len(raw) == 0 || string(raw) == "null" {
		return value{}, false
	}
	tree, problem := parseJSONTree(r.at.named, raw)
	if problem != nil {
		r.problems = append(r.problems, Problem{Pos: plumb.Position{File: r.at.named}, Message: problem.Message})
		return value{}, false
	}
	return tree, true
}

// places looks for the directories that a suite refers to. Those of a bundle that was stored may be gone by now, which
// matters only if sessions are still to be held.
func (b *Bundle) places(w *plumb.WorkspaceConfig, skills []string) (problems Problems) {
	look := func(what, dir string) {
		message := ""
		if info, err := os.Stat(dir); err != nil {
			message = fmt.Sprintf("%s %s: %v", what, dir, cause(err))
		} else if !info.IsDir() {
			message = fmt.Sprintf("%s %s is not a directory", what, dir)
		}
		if message != "" {
			problems = append(problems, Problem{Pos: plumb.Position{File: b.Path}, Message: message, Warning: b.opened})
		}
	}
	if w != nil && w.Cwd != "" {
		look("workspace.cwd", w.Cwd)
	}
	if w != nil && w.TemplateDir != "" {
		look("workspace.templateDir", w.TemplateDir)
		if len(problems) == 0 {
			problems = append(problems, b.template(w.TemplateDir)...)
		}
	}
	for i, dir := range skills {
		look(fmt.Sprintf("skills[%d]", i), dir)
	}
	return problems
}

// template notes the template directory of a suite, and whether it is another than when the bundle was stored.
func (b *Bundle) template(dir string) Problems {
	was := b.templates[dir]
	if b.templates == nil {
		b.templates = map[string]string{}
	}
	b.templates[dir] = was
	if !b.opened || was == "" {
		return nil
	}
	now, err := TreeHash(dir)
	if err == nil && now == was {
		return nil
	}
	return Problems{{
		Pos: plumb.Position{File: b.Path}, Warning: true,
		Message: fmt.Sprintf("the template directory %s has changed since the run began: what is measured from now on begins from another place", dir),
	}}
}
