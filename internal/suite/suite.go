package suite

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/check"
	"github.com/plumb-eval/plumb/digest"
	"github.com/plumb-eval/plumb/internal/doc"
)

// Summary tells what is in a suite.
type Summary struct {
	Name    string `json:"name"`
	Path    string `json:"path,omitempty"`
	Version string `json:"version,omitempty"`
	Tier    string `json:"tier,omitempty"`
	// Hash is the suite hash; "" when the file has problems.
	Hash  string `json:"hash,omitempty"`
	Cases int    `json:"cases"`
	// TokensEstimate is the sum of the cases' tokens_est.
	TokensEstimate int64 `json:"tokensEstimate"`
	// Categories and Difficulties count cases, Types checks by assertion type, those within others included.
	Categories   map[string]int `json:"categories"`
	Difficulties map[string]int `json:"difficulties"`
	Types        map[string]int `json:"types"`
	// NeedsJudge and NeedsEmbedder count the cases with a check that asks a judge model or compares embeddings.
	NeedsJudge    int `json:"needsJudge"`
	NeedsEmbedder int `json:"needsEmbedder"`
}

// Suite is [Bundle.SuiteIn] without limits or a world: a suite in code sees no environment and prints nothing.
func (b *Bundle) Suite() (*plumb.Suite, []Problem, error) {
	return b.SuiteIn(context.Background(), Host{})
}

// SuiteIn makes a suite of the bundle: it parses the file, or executes it where it is code, which goes on running until
// [Bundle.Close] and whose assertions are calls of it. All problems of the file are found in one go. Where one of them
// makes the suite unusable the error is [Problems] and lists all that are not warnings; the warnings are returned in
// either case. Of a suite in code only the last one made can judge.
func (b *Bundle) SuiteIn(ctx context.Context, h Host) (*plumb.Suite, []Problem, error) {
	p := b.read(ctx, h, true)
	if err := p.problems.err(); err != nil {
		if closeErr := b.Close(); closeErr != nil {
			err = errors.Join(err, closeErr)
		}
		return nil, p.problems.warnings(), err
	}
	return &plumb.Suite{
		Name: b.Name, Path: b.Path, Version: b.Version, Tier: b.Tier, Hash: b.hash, Cases: p.cases,
		Workspace: p.workspace, Skills: p.skills,
	}, p.problems.warnings(), nil
}

// read parses or executes the bundle.
func (b *Bundle) read(ctx context.Context, h Host, keep bool) parsed {
	switch {
	case b.Code():
		return b.codeIn(ctx, h)
	case isYAML(b.Path):
		return b.parseYAML(keep)
	default:
		return b.parse(keep)
	}
}

// Validate is [Bundle.ValidateIn] without limits or a world.
func (b *Bundle) Validate() (Summary, []Problem) { return b.ValidateIn(context.Background(), Host{}) }

// ValidateIn does what [Bundle.SuiteIn] does without keeping the cases, and returns all problems, warnings included.
func (b *Bundle) ValidateIn(ctx context.Context, h Host) (Summary, []Problem) {
	p := b.read(ctx, h, false)
	if err := b.Close(); err != nil {
		p.problems = append(p.problems, Problem{Pos: plumb.Position{File: b.Path}, Message: err.Error(), Warning: true})
	}
	s := Summary{
		Name: b.Name, Path: b.Path, Version: b.Version, Tier: b.Tier, Hash: b.hash, Cases: p.summary.cases,
		TokensEstimate: p.summary.tokens, Categories: p.summary.categories, Difficulties: p.summary.difficulties,
		Types: p.summary.types, NeedsJudge: p.summary.judge, NeedsEmbedder: p.summary.embedder,
	}
	return s, p.problems
}

// parsed is what a suite file holds.
type parsed struct {
	cases     []plumb.Case
	workspace *plumb.WorkspaceConfig
	skills    []string
	problems  Problems
	summary   tally
}

// tally counts what a suite holds.
type tally struct {
	cases, judge, embedder          int
	tokens                          int64
	categories, difficulties, types map[string]int
}

func (t *tally) add(c *plumb.Case, checks []*check.Check) {
	if t.categories == nil {
		t.categories, t.difficulties, t.types = map[string]int{}, map[string]int{}, map[string]int{}
	}
	t.cases++
	t.tokens += int64(c.TokensEstimate)
	if c.Category != "" {
		t.categories[c.Category]++
	}
	if c.Difficulty != "" {
		t.difficulties[c.Difficulty]++
	}
	needsJudge, needsEmbedder := false, false
	for _, k := range checks {
		t.types[k.Type()]++
		if kind := k.Type(); kind == "all_of" || kind == "any_of" {
			t.inner(k.Canonical())
		}
		judge, embedder := k.Needs()
		needsJudge, needsEmbedder = needsJudge || judge, needsEmbedder || embedder
	}
	if needsJudge {
		t.judge++
	}
	if needsEmbedder {
		t.embedder++
	}
}

// inner counts the types within an all_of or any_of.
func (t *tally) inner(canonical json.RawMessage) {
	var spec struct {
		Assertions []json.RawMessage `json:"assertions"`
	}
	if json.Unmarshal(canonical, &spec) != nil {
		return
	}
	for _, raw := range spec.Assertions {
		var member struct {
			Type string `json:"type"`
		}
		if json.Unmarshal(raw, &member) == nil {
			t.types[member.Type]++
			t.inner(raw)
		}
	}
}

func (t *tally) merge(o tally) {
	t.cases += o.cases
	t.judge += o.judge
	t.embedder += o.embedder
	t.tokens += o.tokens
	for _, m := range []struct {
		to   *map[string]int
		from map[string]int
	}{{&t.categories, o.categories}, {&t.difficulties, o.difficulties}, {&t.types, o.types}} {
		if *m.to == nil {
			*m.to = map[string]int{}
		}
		for k, n := range m.from {
			(*m.to)[k] += n
		}
	}
}

// chunk is a piece of a suite file that ends with a line end or the file.
type chunk struct {
	text []byte
	// line is the number of lines before the chunk.
	line int
	// cases has room for as many cases as the chunk has lines.
	cases []plumb.Case

	ids      []idPlace
	problems Problems
	summary  tally
}

// idPlace is where an id was given.
type idPlace struct {
	id           string
	line, column int32
}

// chunkSize is about how many bytes one goroutine parses at a time.
const chunkSize = 1 << 20

// parse reads all cases of the bundle, on all processors, while the suite hash is computed beside it.
func (b *Bundle) parse(keep bool) parsed {
	text, first := b.strip()
	if first != nil {
		return parsed{problems: Problems{*first}}
	}
	var all parsed
	if len(text) < len(b.data) {
		all.problems = append(all.problems, Problem{
			Pos:     plumb.Position{File: b.Path, Line: 1, Column: 1},
			Message: "the file begins with a byte order mark (BOM)", Hint: "save it as UTF-8 without BOM",
		})
	}

	if over := b.bounds(text); len(over) > 0 {
		all.problems = append(all.problems, over...)
		return all
	}

	var hashed sync.WaitGroup
	var hashErr error
	if b.hash == "" && len(all.problems) == 0 {
		hashed.Go(func() { b.hash, hashErr = digest.Suite(b.data) })
	}
	chunks, room := split(text, keep)
	b.readChunks(chunks, keep)
	hashed.Wait()

	ids := map[string]idPlace{}
	all.cases = room
	for i := range chunks {
		c := &chunks[i]
		all.cases = append(all.cases, c.cases...) // within the same array, to close the gaps of blank lines
		all.problems = append(all.problems, c.problems...)
		all.problems = append(all.problems, b.duplicateIDs(ids, c.ids)...)
		all.summary.merge(c.summary)
		c.problems, c.ids = nil, nil
	}
	if e, ok := errors.AsType[*digest.SyntaxError](hashErr); ok && len(all.problems.Errors()) == 0 {
		all.problems = append(all.problems, Problem{Pos: plumb.Position{File: b.Path, Line: e.Line, Column: e.Column}, Message: e.Message})
	}
	if all.summary.cases == 0 && len(all.problems) == 0 {
		all.problems = append(all.problems, Problem{
			Pos: plumb.Position{File: b.Path, Line: 1, Column: 1}, Message: "the suite has no cases", Warning: true,
		})
	}
	all.problems = all.problems.sorted()
	return all
}

// bounds holds each line to what a case may have. It comes before all who take lines apart.
func (b *Bundle) bounds(text []byte) (problems Problems) {
	for line, rest := 1, text; len(rest) > 0; line++ {
		var this []byte
		this, rest = cutLine(rest)
		p := Problem{Pos: plumb.Position{File: b.Path, Line: line, Column: 1}, Hint: "a case is one question and its checks; split it"}
		switch at := tooDeep(this); {
		case len(this) > doc.CaseBytes:
			p.Message = fmt.Sprintf("the case has %s, more than the %s that it may have", doc.Size(int64(len(this))), doc.Size(doc.CaseBytes))
		case at >= 0:
			p.Pos.Column, p.Message, p.Hint = utf8.RuneCount(this[:at])+1, deepMessage(), ""
		case manyValues(this):
			p.Message = fmt.Sprintf("the case holds more than %d values", doc.CaseValues)
		default:
			continue
		}
		problems = append(problems, p)
	}
	return problems
}

// strip drops a byte order mark, and recognises files that are not lines of JSON at all.
func (b *Bundle) strip() ([]byte, *Problem) {
	whole := func(message, hint string) *Problem {
		return &Problem{Pos: plumb.Position{File: b.Path, Line: 1, Column: 1}, Message: message, Hint: hint}
	}
	if bytes.HasPrefix(b.data, []byte("\xFF\xFE")) || bytes.HasPrefix(b.data, []byte("\xFE\xFF")) {
		return nil, whole("the file is UTF-16", "save it as UTF-8")
	}
	text := bytes.TrimPrefix(b.data, []byte("\xEF\xBB\xBF"))
	start := bytes.TrimLeftFunc(text, isPythonSpace)
	line, rest, _ := bytes.Cut(start, []byte("\n"))
	switch line = bytes.TrimSpace(line); {
	case bytes.HasPrefix(line, []byte("[")) && (len(line) == 1 || !bytes.HasSuffix(line, []byte("}"))):
		if s := (&syntax{}); len(line) == 1 || s.parse(bytes.TrimSpace(start)) == nil {
			return nil, whole("the file is one JSON list", "a suite has one case a line; jq -c '.[]' FILE makes them")
		}
	case len(line) == 1 && line[0] == '{' && len(bytes.TrimSpace(rest)) > 0:
		return nil, whole("a case spans several lines", "a suite has one case a line; jq -c . FILE joins them")
	}
	return text, nil
}

// split cuts the text into chunks at line ends. White space around the whole text counts as blank lines.
// With keep, all chunks have room for their cases in one array, which is also returned.
func split(text []byte, keep bool) (chunks []chunk, room []plumb.Case) {
	lines := 0
	for rest := text; len(rest) > 0; {
		end := len(rest)
		if end > chunkSize {
			if i := bytes.IndexByte(rest[chunkSize:], '\n'); i >= 0 {
				end = chunkSize + i + 1
			}
		}
		chunks = append(chunks, chunk{text: rest[:end], line: lines})
		lines += lineEnds(rest[:end])
		rest = rest[end:]
	}
	if keep {
		room = make([]plumb.Case, 0, lines+1)
		for i := range chunks {
			next := lines + 1
			if i+1 < len(chunks) {
				next = chunks[i+1].line
			}
			chunks[i].cases = room[chunks[i].line:chunks[i].line:next]
		}
	}
	return chunks, room
}

func lineEnds(text []byte) int {
	n := bytes.Count(text, []byte("\n"))
	if r := bytes.Count(text, []byte("\r")); r > 0 {
		n += r - bytes.Count(text, []byte("\r\n"))
	}
	return n
}

// readChunks parses the chunks on all processors.
func (b *Bundle) readChunks(chunks []chunk, keep bool) {
	next := make(chan *chunk)
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(chunks)) {
		workers.Go(func() {
			r := &caseReader{file: b.Path, keep: keep}
			for c := range next {
				r.readChunk(c)
			}
		})
	}
	for i := range chunks {
		next <- &chunks[i]
	}
	close(next)
	workers.Wait()
}

func (r *caseReader) readChunk(c *chunk) {
	r.problems, r.summary = nil, tally{}
	line := c.line
	for rest := c.text; len(rest) > 0; {
		text, after := cutLine(rest)
		rest = after
		line++
		if blank(text) {
			continue
		}
		read, idAt := r.read(text, line)
		if read.ID != "" {
			c.ids = append(c.ids, r.idPlace(read.ID, idAt))
		}
		if r.keep {
			c.cases = append(c.cases, read)
		}
	}
	c.problems, c.summary = r.problems, r.summary
}

func (r *caseReader) idPlace(id string, at int) idPlace {
	pos := r.position(at)
	return idPlace{id, int32(pos.Line), int32(pos.Column)}
}

// cutLine returns the first line of text, without its end (LF, CRLF or CR), and what follows it.
func cutLine(text []byte) (line, rest []byte) {
	end := bytes.IndexByte(text, '\n')
	after := end + 1
	if end < 0 {
		end, after = len(text), len(text)
	}
	if r := bytes.IndexByte(text[:end], '\r'); r >= 0 {
		if r+1 == end && after > end { // CRLF
			return text[:r], text[after:]
		}
		return text[:r], text[r+1:]
	}
	return text[:end], text[after:]
}

func blank(line []byte) bool {
	return len(line) == 0 || line[0] != '{' && len(bytes.TrimLeftFunc(line, isPythonSpace)) == 0
}

// duplicateIDs reports ids that were given before, or that differ from an earlier one only by case and so would name the
// same directory on some systems.
func (b *Bundle) duplicateIDs(seen map[string]idPlace, ids []idPlace) (problems Problems) {
	for _, p := range ids {
		key := strings.ToLower(p.id)
		first, ok := seen[key]
		if !ok {
			seen[key] = p
			continue
		}
		message := fmt.Sprintf("duplicate id %q, first on line %d", p.id, first.line)
		if first.id != p.id {
			message = fmt.Sprintf("id %q differs from %q on line %d only by case", p.id, first.id, first.line)
		}
		problems = append(problems, Problem{
			Pos: plumb.Position{File: b.Path, Line: int(p.line), Column: int(p.column)}, Message: message,
		})
	}
	return problems
}

// warnings returns the problems that are warnings.
func (p Problems) warnings() Problems {
	return slices.DeleteFunc(slices.Clone(p), func(q Problem) bool { return !q.Warning })
}

// names returns the keys of a count in order.
func names(m map[string]int) []string { return slices.Sorted(maps.Keys(m)) }
