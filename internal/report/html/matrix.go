package html

import (
	"bytes"
	"cmp"
	"encoding/json"
	"html/template"
	"slices"
	"strings"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/analyze"
	"github.com/plumb-eval/plumb/internal/chart"
	"github.com/plumb-eval/plumb/internal/report"
	"github.com/plumb-eval/plumb/internal/results"
	"github.com/plumb-eval/plumb/internal/text"
)

// The limits of the prompts and answers in the matrix. A browser holds all of them in memory, so
// together they have at most a part of the size of the page: 16 MB.
const (
	answerBytes = 8 << 10 // bytes of one text
	answerPart  = 3
)

// column is a column of the matrix: a prompt of the suite on a runner.
type column struct {
	Index            int    // the runner
	Prompt, Runner   string // Prompt is "" in suites without prompts
	Passed, Interval string
	Share            template.HTML `redact:"-"` // how its executions ended
}

// matrixRow is a row of the matrix: an item, which is a case as the suite has it, before its prompts.
type matrixRow struct {
	Item, Category string
	Tags           []string
	Cells          []matrixCell // one for each column
}

type matrixCell struct {
	// At is the execution's index in the run, or -1 if the item does not have the prompt. Shown is
	// set when the page has its sessions.
	At          int
	Shown       bool
	Flaky       bool
	Sure        string `redact:"-"` // the label of the case
	Word, Mark  string `redact:"-"`
	Label, More string
	// Time is the duration of the execution.
	Time string
}

// matrixOf arranges the cases of a run: a row for each item, a column for each prompt. rows hold
// the index of the case, or -1.
func matrixOf(run *plumb.Run) (prompts []string, rows [][]int) {
	columns := map[string]int{}
	for i := range run.Cases {
		if p := run.Cases[i].Prompt; !slices.Contains(prompts, p) {
			columns[p] = len(prompts)
			prompts = append(prompts, p)
		}
	}
	known := map[string]int{} // the latest row of each item
	for i := range run.Cases {
		info := &run.Cases[i]
		item, column := cmp.Or(info.Item, info.ID), columns[info.Prompt]
		r, ok := known[item]
		if !ok || rows[r][column] >= 0 {
			r = len(rows)
			known[item] = r
			rows = append(rows, slices.Repeat([]int{-1}, len(prompts)))
		}
		rows[r][column] = i
	}
	return prompts, rows
}

func (f *runFront) matrix(run *plumb.Run) {
	runners := run.Info.Runners
	for i := range runners {
		f.Runners = append(f.Runners, report.RunnerTitle(&runners[i]))
	}
	prompts, rows := matrixOf(run)
	f.Items = len(rows)
	for p, prompt := range prompts {
		for r := range runners {
			var of []int
			for _, row := range rows {
				if row[p] >= 0 {
					of = append(of, row[p]*len(runners)+r)
				}
			}
			cells := report.RateCells(analyze.RateOf(run, of), "–")
			f.Columns = append(f.Columns, column{r, text.OneLine(prompt), f.Runners[r], cells[0], cells[2], sharesOf(run, of)})
		}
	}
	shown := make(map[int]bool, min(len(run.Executions), maxExecutions))
	for _, i := range orderOf(run) {
		shown[i] = true
	}
	counts := map[string]int{}
	words := report.Words()
	for _, cases := range rows {
		row, any, most := matrixRow{}, false, len(words)-1
		for _, c := range cases {
			for r := range runners {
				if c < 0 {
					row.Cells = append(row.Cells, matrixCell{At: -1})
					continue
				}
				x := f.cell(run, c*len(runners)+r, shown)
				counts[x.Word]++
				most = min(most, slices.IndexFunc(words, func(w report.Word) bool { return w.Name == x.Word }))
				any = any || shown[x.At]
				row.Cells = append(row.Cells, x)
			}
			if c >= 0 && row.Item == "" {
				info := &run.Cases[c]
				row.Item, row.Category = text.OneLine(cmp.Or(info.Item, info.ID)), text.OneLine(info.Category)
				for _, t := range info.Tags {
					row.Tags = append(row.Tags, text.OneLine(t))
				}
			}
		}
		f.rowWords = append(f.rowWords, words[most].Name)
		f.Tags, f.Groups = addNames(f.Tags, row.Tags...), addNames(f.Groups, row.Category)
		if any {
			f.Rows = append(f.Rows, row)
		} else {
			f.LeftOut++
		}
	}
	for _, w := range report.Words() {
		if n := counts[w.Name]; n > 0 {
			f.Legend = append(f.Legend, legendWord{w.Name, w.Mark, w.Label, n})
		}
	}
}

// sharesOf draws how some executions ended.
func sharesOf(run *plumb.Run, of []int) template.HTML {
	counts := map[string]int{}
	for _, i := range of {
		counts[report.WordOf(&run.Executions[i]).Name]++
	}
	var parts []chart.Part
	for _, name := range []string{"pass", "xfail", "skipped", "error", "xpass", "fail"} {
		w := report.WordNamed(name)
		parts = append(parts, chart.Part{Name: w.Label, Class: name, Count: counts[name]})
	}
	return chart.Shares("", parts).SVG
}

// addNames adds names that a list lacks, up to its limit.
func addNames(list []string, names ...string) []string {
	for _, name := range names {
		if name != "" && len(list) < listLength && !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	return list
}

// cell returns the cell of the execution at index i.
func (f *runFront) cell(run *plumb.Run, i int, shown map[int]bool) matrixCell {
	x := report.CellAt(run, i)
	w := report.WordOf(x.Execution)
	_, sure := report.SampleCells(run, i)
	return matrixCell{
		At: i, Word: w.Name, Mark: w.Mark, Label: w.Label, More: wordsBeside(&x), Time: timeOf(x.Execution), Sure: sure,
		Shown: f.Sessions && shown[i] && x.Sessions > 0, Flaky: strings.HasPrefix(sure, string(analyze.Flaky)),
	}
}

// wordsBeside returns what the matrix says of an execution beside its symbol: its repetitions, if
// there are several, and whether it is flaky.
func wordsBeside(c *report.Cell) string {
	var words []string
	if c.State == plumb.ExecutionDone && c.Sessions > 0 && c.Repeats() > 1 {
		words = append(words, c.SamplesWords())
	}
	if s, ok := analyze.SamplesOf(c.Run, c.Index); ok && s.Label == analyze.Flaky {
		words = append(words, string(analyze.Flaky))
	}
	return strings.Join(words, " ")
}

// timeOf returns the duration of an execution, or "" without a session.
func timeOf(e *plumb.Execution) string {
	if e.State != plumb.ExecutionDone || e.Sessions == 0 {
		return ""
	}
	return text.Millis(analyze.Elapsed(e))
}

// answer is what the matrix shows of one execution: what was asked, and the answers.
type answer struct {
	At int `json:"at"`
	// Prompt is present in the first answer of each case, because all runners get the same prompt; in
	// a comparison, in each answer.
	Prompt string `json:"prompt,omitempty"`
	Tries  []try  `json:"tries"`
}

// try is the last session of one repetition.
type try struct {
	Repetition int      `json:"repetition"`
	Session    int      `json:"session"`
	Answer     string   `json:"answer,omitempty"`
	Reason     string   `json:"reason,omitempty"` // why it did not pass
	Score      *float64 `json:"score,omitempty"`
	In         *int64   `json:"in,omitempty"` // tokens
	Out        *int64   `json:"out,omitempty"`
	CostUSD    *float64 `json:"costUsd,omitempty"`
	LatencyMs  int64    `json:"latencyMs,omitempty"`
}

// answerSheet writes the answers of the matrix in blocks, until their limit. A browser decodes all
// of them, so that it can search and compare all answers.
type answerSheet struct {
	text    bytes.Buffer // of the next block
	left    int          // bytes
	asked   map[string]bool
	blocks  []int
	in      int // answers in the next block
	leftOut int
}

func newAnswerSheet(left int) *answerSheet {
	return &answerSheet{left: left, asked: map[string]bool{}, blocks: []int{}}
}

// add adds the answers of the execution that the page has at an index. Those with the same key have
// the same prompt.
func (a *answerSheet) add(b *blockWriter, at int, key string, rec *results.Recording) error {
	x := answer{At: at, Tries: []try{}}
	for _, sessions := range rec.Repetitions {
		s := results.Final(sessions)
		t := try{Repetition: s.Repetition, Session: s.Number}
		t.Answer, _ = clip(s.Output(), answerBytes)
		if f := s.Trouble(); f != nil {
			t.Reason, _ = clip(f.Message, answerBytes/4)
		}
		if j := s.Judgement; j != nil && j.Outcome.Measured() {
			t.Score = &j.Score
		}
		if r := s.Report; r != nil {
			t.In, t.Out, t.CostUSD = r.Usage.InputTokens, r.Usage.OutputTokens, r.CostUSD
			t.LatencyMs = cmp.Or(r.LatencyMs, r.DurationMs)
			if !a.asked[key] {
				x.Prompt, _ = clip(r.Prompt, answerBytes)
			}
		}
		x.Tries = append(x.Tries, t)
	}
	if len(x.Tries) == 0 {
		return nil
	}
	data, err := json.Marshal(report.Without(b.redact, x))
	if err != nil {
		return err
	}
	if len(data) > a.left {
		a.left, a.leftOut = 0, a.leftOut+1 // what follows is left out as well, so that the limit has one place
		return nil
	}
	a.left -= len(data)
	a.asked[key] = a.asked[key] || x.Prompt != ""
	a.in++
	if a.text.Len() > 0 {
		a.text.WriteByte(',')
	}
	a.text.Write(data)
	if a.text.Len() < blockBytes {
		return nil
	}
	return a.flush(b)
}

// flush writes the block.
func (a *answerSheet) flush(b *blockWriter) error {
	if a.in == 0 {
		return nil
	}
	id, err := b.add(slices.Concat([]byte("["), a.text.Bytes(), []byte("]")))
	if err != nil {
		return err
	}
	if id < 0 { // the page is full
		a.left, a.leftOut = 0, a.leftOut+a.in
	} else {
		a.blocks = append(a.blocks, id)
	}
	a.text.Reset()
	a.in = 0
	return nil
}
