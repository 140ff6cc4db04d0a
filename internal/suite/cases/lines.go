package cases

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/digest"
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/text"
)

// chunk is a part of a suite file that ends at a line end or at the end of the file, with its
// content.
type chunk struct {
	text []byte
	// line is the number of lines before the chunk.
	line int
	// read is closed when the chunk has been read.
	read chan struct{}

	cases    []plumb.Case
	ids      []idPlace
	problems doc.Problems
	summary  Summary
	block    digest.Block
}

// idPlace is an id with its place.
type idPlace struct {
	id string
	at doc.Place
}

// chunkSize is the approximate number of bytes that one goroutine parses at a time.
const chunkSize = 1 << 20

// lines reads all cases of a file of JSON lines, on all processors, and computes the suite hash. It
// keeps either the cases or only the chunks that are being read.
func (f *File) lines(ctx context.Context) (all Content) {
	fail := func(err error) Content {
		return Content{Problems: doc.Problems{f.problem(err.Error(), plumb.Hint(err))}}
	}
	chunks := &Chunks{Data: f.Data, Stream: f.Stream}
	first, err := chunks.Next(nil)
	if err != nil && !errors.Is(err, io.EOF) {
		return fail(err)
	}
	if problem := f.notLines(first, errors.Is(err, io.EOF)); problem != nil {
		return Content{Problems: doc.Problems{*problem}}
	}
	if rest, found := bytes.CutPrefix(first, []byte(byteOrderMark)); found {
		first = rest
		all.Problems = append(all.Problems,
			f.problem("the file begins with a byte order mark (BOM)", "save it as UTF-8 without BOM"))
	}
	if f.keeps() {
		all.Cases = make([]plumb.Case, 0, lineEnds(f.Data)+1)
	}
	all.Hash = f.Hash
	hashes := all.Hash == "" && len(all.Problems) == 0
	stream, ids := digest.NewStream(), newIDLines(oneSource(f.Path))
	for c := range f.readAll(ctx, chunks, first, hashes) {
		all.Cases = append(all.Cases, c.cases...)
		all.Problems = append(all.Problems, c.problems...)
		for _, p := range c.ids {
			all.Problems = append(all.Problems, ids.add(p.id, p.at)...)
		}
		all.Summary.Merge(&c.summary)
		stream.Write(&c.block)
	}
	if chunks.err != nil {
		return fail(chunks.err)
	}
	if all.Summary.Cases == 0 && len(all.Problems) == 0 {
		all.Problems = append(all.Problems, f.noCases())
	}
	if hashes && len(all.Problems.Errors()) == 0 {
		all.Hash, err = f.hash(stream)
		if err != nil {
			all.Problems = append(all.Problems, f.unhashed(err))
		}
	}
	all.Problems = all.Problems.Sorted()
	return all
}

// hash returns the hash of JSON lines that were written to a stream. It is "" if the stream is not
// in the order of the ids and the text is not in memory.
func (f *File) hash(written *digest.Stream) (string, error) {
	hash, ok := written.Sum()
	if !ok && f.Stream == nil {
		return digest.Suite(f.Data)
	}
	return hash, nil
}

// unhashed is the problem of a suite that cannot be hashed, such as one with a number of 5000
// digits.
func (f *File) unhashed(err error) doc.Problem {
	if e, ok := errors.AsType[*digest.SyntaxError](err); ok {
		return doc.Problem{Pos: plumb.Position{File: f.Path, Line: e.Line, Column: e.Column}, Message: e.Message}
	}
	return f.problem(err.Error(), "")
}

// notLines recognizes by its first chunk a file that does not consist of JSON lines. whole is set
// if the chunk is the whole file.
func (f *File) notLines(first []byte, whole bool) *doc.Problem {
	because := func(message, hint string) *doc.Problem { return new(f.problem(message, hint)) }
	if bytes.HasPrefix(first, []byte("\xFF\xFE")) || bytes.HasPrefix(first, []byte("\xFE\xFF")) {
		return because("the file is UTF-16", "save it as UTF-8")
	}
	text := bytes.TrimLeftFunc(bytes.TrimPrefix(first, []byte(byteOrderMark)), isPythonSpace)
	line, rest, _ := bytes.Cut(text, []byte("\n"))
	switch line = bytes.TrimSpace(line); {
	case bytes.HasPrefix(line, []byte("[")) && (len(line) == 1 || !bytes.HasSuffix(line, []byte("}"))):
		if len(line) == 1 || whole && json.Valid(bytes.TrimSpace(text)) || !whole && !json.Valid(line) {
			return because("the file is one JSON list",
				"a .jsonl suite has one case per line; rename the file to .yaml, which may have a JSON list of cases")
		}
	case len(line) == 1 && line[0] == '{' && len(bytes.TrimSpace(rest)) > 0:
		return because("a case spans several lines",
			"a suite has one case per line; convert the file with jq -c . FILE")
	}
	return nil
}

// Chunks cuts the text of JSON lines into parts that end at a line end.
type Chunks struct {
	// Data is the text; it is read from Stream if that is not nil.
	Data   []byte
	Stream io.Reader
	// rest is the incomplete last line of the previous part.
	rest []byte
	err  error
}

// Next returns the next part; with the last one it returns io.EOF. It may overwrite buffer.
func (c *Chunks) Next(buffer []byte) (text []byte, err error) {
	if c.Stream == nil {
		text, c.Data = cutChunk(c.Data)
		if len(c.Data) == 0 {
			err = io.EOF
		}
		return text, err
	}
	buffer = append(buffer[:0], c.rest...)
	text = buffer
	c.rest = c.rest[:0]
	for {
		have := len(text)
		text = slices.Grow(text, chunkSize)
		n, err := io.ReadFull(c.Stream, text[have:have+chunkSize])
		text = text[:have+n]
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return text, io.EOF
		}
		if err != nil {
			return nil, err
		}
		if end := bytes.LastIndexByte(text, '\n') + 1; end > 0 {
			c.rest = append(c.rest, text[end:]...)
			return text[:end], nil
		}
	}
}

// cutChunk cuts at least chunkSize bytes from the start of the text, at a line end.
func cutChunk(text []byte) (first, rest []byte) {
	end := len(text)
	if end > chunkSize {
		if i := bytes.IndexByte(text[chunkSize:], '\n'); i >= 0 {
			end = chunkSize + i + 1
		}
	}
	return text[:end], text[end:]
}

// readAll yields the chunks in order, after they have been parsed. A chunk is valid until the next
// one.
func (f *File) readAll(ctx context.Context, from *Chunks, first []byte, hashes bool) func(yield func(*chunk) bool) {
	workers := runtime.GOMAXPROCS(0)
	ordered, work := make(chan *chunk, workers), make(chan *chunk)
	free := sync.Pool{New: func() any { return &chunk{} }}
	var running sync.WaitGroup
	source, shared := oneSource(f.Path), &templates{}
	for range workers {
		running.Go(func() {
			r := &lineReader{
				caseReader: f.reader(ctx, source), file: f, hashes: hashes, templates: shared,
				json: doc.JSON{File: f.Path, Values: doc.CaseValues, What: "the case", Hint: splitCase},
			}
			for c := range work {
				r.readChunk(c)
				close(c.read)
			}
		})
	}
	running.Go(func() {
		defer close(ordered)
		defer close(work)
		var err error
		for text, line := first, 0; len(text) > 0; {
			c := free.Get().(*chunk) //nolint:forcetypeassert // only chunks are in the pool
			buffer := c.text
			*c = chunk{text: text, line: line, read: make(chan struct{}), ids: c.ids[:0], block: c.block}
			c.block.Reset()
			ordered <- c
			work <- c
			line += lineEnds(text)
			if text, err = from.Next(buffer); err != nil && !errors.Is(err, io.EOF) {
				from.err = err
				return
			}
		}
	})
	return func(yield func(*chunk) bool) {
		for c := range ordered {
			<-c.read
			yield(c) // the caller takes all chunks, so the goroutines end
			free.Put(c)
		}
		running.Wait()
	}
}

// lineReader parses the lines of chunks.
type lineReader struct {
	caseReader
	file      *File
	json      doc.JSON
	hashes    bool
	templates *templates
}

func (r *lineReader) readChunk(c *chunk) {
	r.problems, r.summary = nil, Summary{}
	line := c.line
	for rest := c.text; len(rest) > 0; {
		s, after := doc.CutLine(rest)
		rest = after
		line++
		if blank(s) {
			continue
		}
		if len(s) > doc.CaseBytes {
			r.add(doc.Place{Line: int32(line), Column: 1}, fmt.Sprintf("the case has %s, more than the limit of %s",
				text.Size(int64(len(s))), text.Size(doc.CaseBytes)), splitCase)
			continue
		}
		v, problems, ok := r.json.Parse(s, line)
		before := len(r.problems)
		r.problems = append(r.problems, problems...)
		if !ok {
			continue
		}
		one := [1]doc.Value{v}
		values := one[:]
		if r.literal = v.Get("vars") == nil; !r.literal {
			x := &expander{sources: r.sources, templates: r.templates}
			values = x.expand(&v, 0)
			r.problems = append(r.problems, x.all()...)
		}
		for i := range values {
			read, idAt := r.read(&values[i])
			if read.ID != "" {
				c.ids = append(c.ids, idPlace{read.ID, idAt})
			}
			if r.keep {
				c.cases = append(c.cases, read)
			}
		}
		r.hashes = r.hashes && r.problems[before:].Err() == nil // a suite with errors has no hash
		if r.hashes {
			if err := c.block.Add(&v); err != nil {
				r.problems = append(r.problems, r.file.unhashed(err))
			}
		}
	}
	c.problems, c.summary = r.problems, r.summary
}

const splitCase = "a case is one question and its checks; split it"

// idLines finds duplicate ids. It has no pointer for each id, because the garbage collector would
// follow a million of them in each cycle.
type idLines struct {
	sources *sources
	seed    maphash.Seed
	// lines has the ids by the hash of the id in lower case, or by the next free number after it if
	// another id has the same hash.
	lines map[uint64]idLine
	text  []byte
}

// idLine is the line of an id, and the range of the id in idLines.text.
type idLine struct{ line, start, end int32 }

func newIDLines(s *sources) *idLines {
	return &idLines{sources: s, seed: maphash.MakeSeed(), lines: map[uint64]idLine{}}
}

// add adds an id. It reports an id that exists already, or that differs from an earlier one only by
// case and so would name the same directory on some systems.
func (l *idLines) add(id string, at doc.Place) doc.Problems {
	if id == "" {
		return nil
	}
	lower := strings.ToLower(id)
	for hash := maphash.String(l.seed, lower); ; hash++ {
		first, ok := l.lines[hash]
		if !ok {
			start := len(l.text)
			l.text = append(l.text, id...)
			l.lines[hash] = idLine{at.Line, int32(start), int32(len(l.text))}
			return nil
		}
		pos, other := l.sources.in(at), l.sources.in(doc.Place{Line: first.line})
		where := "on line " + strconv.Itoa(other.Line)
		if other.File != pos.File {
			where = "at " + other.String()
		}
		switch earlier := string(l.text[first.start:first.end]); {
		case earlier == id:
			return doc.Problems{{
				Pos: pos, Message: fmt.Sprintf("duplicate id %q, first %s", id, where),
			}}
		case strings.ToLower(earlier) == lower:
			return doc.Problems{{
				Pos:     pos,
				Message: fmt.Sprintf("id %q differs from %q %s only by case", id, earlier, where),
			}}
		}
	}
}

func lineEnds(text []byte) int {
	n := bytes.Count(text, []byte("\n"))
	if r := bytes.Count(text, []byte("\r")); r > 0 {
		n += r - bytes.Count(text, []byte("\r\n"))
	}
	return n
}
