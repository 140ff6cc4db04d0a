package drift

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/doc"
)

// lineBytes is the largest line of a file of records.
const lineBytes = 16 << 20

// Record is one line of a file of records: the answer to one prompt in one run of a suite.
type Record struct {
	Time      time.Time
	Stream    string
	Run       string
	Submitter string
	Answer    Answer
}

// dayZero is the start of day 0, 2026-01-01, in seconds since 1970-01-01.
const dayZero = 1_767_225_600

// DayOf returns the number of UTC days since 2026-01-01.
func DayOf(t time.Time) int {
	const seconds = 24 * 60 * 60
	s := t.Unix() - dayZero
	day := s / seconds
	if s%seconds < 0 {
		day--
	}
	return int(day)
}

// Date returns the start of a day.
func Date(day int) time.Time { return time.Unix(dayZero, 0).UTC().AddDate(0, 0, day) }

// Read calls yield with each record of a file. An error names the file and the line.
func Read(file string, in io.Reader, yield func(*Record) error) error {
	lines := bufio.NewReaderSize(in, 64<<10)
	p := parser{json: doc.JSON{File: file, Values: 10_000, What: "a record"}, words: map[string]string{}}
	var long []byte
	for number := 1; ; number++ {
		line, err := lines.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			long = long[:0]
			for errors.Is(err, bufio.ErrBufferFull) && len(long) <= lineBytes {
				long = append(long, line...)
				line, err = lines.ReadSlice('\n')
			}
			if len(long)+len(line) > lineBytes {
				return p.problem(number, 0, fmt.Sprintf("the line is longer than %d MiB", lineBytes>>20), "")
			}
			long = append(long, line...)
			line = long
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("read %s: %w", file, err)
		}
		if text := bytes.TrimSpace(line); len(text) > 0 {
			r, bad := p.record(text, number)
			if bad != nil {
				return bad
			}
			if bad := yield(r); bad != nil {
				return p.problem(number, 0, bad.Error(), plumb.Hint(bad))
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
	}
}

// parser reads the lines of one file.
type parser struct {
	json    doc.JSON
	words   map[string]string // one copy of each repeated word
	current Record
	// output and score report whether the record has these keys.
	output, score bool
}

func (p *parser) problem(line, column int, message, hint string) error {
	return doc.Problems{{
		Pos:     plumb.Position{File: p.json.File, Line: line, Column: column},
		Message: message, Hint: hint,
	}}
}

// word returns the shared copy of a word.
func (p *parser) word(text string) string {
	const most = 100_000
	if w, ok := p.words[text]; ok {
		return w
	}
	if len(p.words) >= most {
		clear(p.words)
	}
	p.words[text] = text
	return text
}

// record parses one line.
func (p *parser) record(text []byte, line int) (*Record, error) {
	v, problems, ok := p.json.Parse(text, line)
	if !ok || len(problems) > 0 {
		return nil, problems[:1]
	}
	if v.Kind != doc.Map {
		return nil, p.problem(line, 1, "a record is an object, not "+v.Kind.JSON(), "")
	}
	r := &p.current
	*r = Record{Answer: Answer{Score: math.NaN()}}
	p.output, p.score = false, false
	for i := range v.Members {
		m := &v.Members[i]
		if err := p.set(r, m.Key, &m.Value); err != nil {
			return nil, p.problem(line, int(m.Value.Column), fmt.Sprintf("%s: %v", m.Key, err), plumb.Hint(err))
		}
	}
	if key := p.missing(r); key != "" {
		return nil, p.problem(line, 1, "the record has no "+key,
			"a record has ts, stream, run_id, submitter, prompt_id, output (a text or null) and score (a number or null)")
	}
	return r, nil
}

// missing returns the first key that the record lacks, or "".
func (p *parser) missing(r *Record) string {
	switch {
	case r.Time.IsZero():
		return "ts"
	case r.Stream == "":
		return "stream"
	case r.Run == "":
		return "run_id"
	case r.Submitter == "":
		return "submitter"
	case r.Answer.Prompt == "":
		return "prompt_id"
	case !p.output:
		return "output"
	case !p.score:
		return "score"
	default:
		return ""
	}
}

// set sets the field of one key.
func (p *parser) set(r *Record, key string, v *doc.Value) error {
	switch key {
	case "ts":
		if v.Kind != doc.String {
			return errors.New("want a time such as 2026-03-02T14:07:31Z")
		}
		t, err := time.Parse(time.RFC3339, v.Text())
		if err != nil {
			return fmt.Errorf("%q is not a time such as 2026-03-02T14:07:31Z", v.Text())
		}
		r.Time = t
	case "stream":
		return p.name(&r.Stream, v)
	case "run_id":
		return p.name(&r.Run, v)
	case "submitter":
		return p.name(&r.Submitter, v)
	case "prompt_id":
		return p.name(&r.Answer.Prompt, v)
	case "output":
		if v.Kind != doc.Null && v.Kind != doc.String {
			return fmt.Errorf("want a text or null, not %s", v.Kind.JSON())
		}
		p.output, r.Answer.HasText = true, v.Kind == doc.String
		if r.Answer.HasText {
			r.Answer.Text = v.Text()
		}
	case "score":
		p.score = true
		if v.Kind == doc.Null {
			return nil
		}
		score, err := number(v)
		r.Answer.Score = score
		return err
	case "output_sha256":
		if v.Kind != doc.Null && v.Kind != doc.String {
			return fmt.Errorf("want a text or null, not %s", v.Kind.JSON())
		}
		if v.Kind == doc.String {
			hash := strings.ToLower(v.Text())
			if sum, err := hex.DecodeString(hash); err != nil || len(sum) != sha256.Size {
				return fmt.Errorf("%q is not a SHA-256: want 64 hexadecimal digits", v.Text())
			}
			r.Answer.Hash = hash
		}
	case "logprobs":
		return logprobs(r, v)
	case "v":
		if n, err := number(v); err != nil || n != 1 {
			return errors.New("this version of plumb reads records of version 1")
		}
	}
	return nil
}

// name sets a name, which is a text that is not empty.
func (p *parser) name(to *string, v *doc.Value) error {
	if v.Kind != doc.String || v.Empty() {
		return errors.New("want a text that is not empty")
	}
	*to = p.word(v.Text())
	return nil
}

func number(v *doc.Value) (float64, error) {
	if v.Kind != doc.Number {
		return 0, fmt.Errorf("want a number, not %s", v.Kind.JSON())
	}
	f, err := strconv.ParseFloat(v.Text(), 64)
	if err != nil || math.IsInf(f, 0) {
		return 0, fmt.Errorf("the number %s is too large", v.Text())
	}
	return f, nil
}

// logprobs reads pairs of a token and its log-probability.
func logprobs(r *Record, v *doc.Value) error {
	if v.Kind == doc.Null {
		return nil
	}
	wrong := errors.New(`want pairs of a token and a number, such as [["ka",-0.2]]`)
	if v.Kind != doc.List {
		return wrong
	}
	for i := range v.List {
		pair := &v.List[i]
		if pair.Kind != doc.List || len(pair.List) != 2 || pair.List[0].Kind != doc.String {
			return wrong
		}
		f, err := number(&pair.List[1])
		if err != nil {
			return wrong
		}
		r.Answer.Logprobs = append(r.Answer.Logprobs, TokenLogprob{Token: pair.List[0].Text(), Value: f})
	}
	return nil
}

// AlarmLine is the JSON form of an alarm.
type AlarmLine struct {
	Stream      string     `json:"stream"`
	Day         int        `json:"day"`
	Kind        string     `json:"kind"`
	Date        string     `json:"date"`
	Onset       int        `json:"onset"`
	OnsetRange  [2]int     `json:"onsetRange"`
	Statistic   string     `json:"statistic"`
	Window      int        `json:"window"`
	P           float64    `json:"p"`
	Effect      effectLine `json:"effect"`
	Submitters  int        `json:"submitters"`
	Agreeing    int        `json:"agreeing"`
	Blamed      []string   `json:"blamed"`
	Attribution string     `json:"attribution"`
}

// effectLine is the size of a change. A figure that cannot be computed is nil. Score is in percentage
// points.
type effectLine struct {
	LostSimilarity *float64 `json:"lostSimilarity"`
	Alike          *float64 `json:"alike"`
	Score          *float64 `json:"score"`
}

// JSON returns the JSON form of an alarm of a panel.
func JSON(stream string, a *Alarm) AlarmLine {
	blamed := a.Blamed
	if blamed == nil {
		blamed = []string{}
	}
	return AlarmLine{
		Stream: stream, Day: a.Day, Kind: a.Kind, Date: Date(a.Day).Format(time.DateOnly), Onset: a.Onset,
		OnsetRange: [2]int{a.OnsetLow, a.OnsetHigh}, Statistic: a.Statistic, Window: a.Window, P: a.P,
		Effect:     effectLine{rounded(a.Effect.LostSimilarity, 1e4), rounded(a.Effect.Alike, 1e4), rounded(a.Effect.Score, 100)},
		Submitters: a.Submitters, Agreeing: a.Agreeing, Blamed: blamed, Attribution: a.Cause.Cause,
	}
}

// rounded rounds a figure to 1/unit. It is nil for NaN.
func rounded(v, unit float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return new(math.Round(v*unit) / unit)
}

// Write writes an alarm as one line.
func (a AlarmLine) Write(w io.Writer) error {
	var line bytes.Buffer
	e := json.NewEncoder(&line)
	e.SetEscapeHTML(false)
	if err := e.Encode(a); err != nil {
		return fmt.Errorf("encode an alarm: %w", err)
	}
	if _, err := w.Write(line.Bytes()); err != nil {
		return fmt.Errorf("write an alarm: %w", err)
	}
	return nil
}
