package cli_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/plumb-eval/plumb"
)

// records writes records for plumb drift: records FILE STREAM SUBMITTERS DAYS CHANGE. Each submitter
// runs a suite of five prompts once a day. From day CHANGE on, the answers are others and the scores
// are lower.
func records(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 5 {
		ts.Fatalf("usage: records file stream submitters days change")
	}
	number := func(i int) int {
		n, err := strconv.Atoi(args[i])
		ts.Check(err)
		return n
	}
	submitters, days, change := number(2), number(3), number(4)
	random := rand.New(rand.NewPCG(1, 2))
	var lines strings.Builder
	for day := range days {
		at := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC).AddDate(0, 0, day).Format(time.RFC3339)
		for s := range submitters {
			for p := range 5 {
				answer, rate := random.IntN(3), 0.8
				if day >= change {
					answer, rate = answer+2, 0.3
				}
				score := 0
				if random.Float64() < rate {
					score = 1
				}
				fmt.Fprintf(&lines, `{"ts":%q,"stream":%q,"run_id":"d%d","submitter":"s%d","prompt_id":"p%d",`+
					`"output":"the answer is %c","score":%d}`+"\n", at, args[1], day, s, p, 'a'+answer, score)
			}
		}
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(lines.String()), 0o600))
}

// history makes the runs of earlier days from the only run of the project: history DAYS CHANGE. Its
// answers vary a little from day to day, and from day CHANGE on, they are others.
func history(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: history days change")
	}
	days, err := strconv.Atoi(args[0])
	ts.Check(err)
	change, err := strconv.Atoi(args[1])
	ts.Check(err)
	paths, err := filepath.Glob(ts.MkAbs(".plumb/runs/*/events.jsonl"))
	ts.Check(err)
	if len(paths) != 1 {
		ts.Fatalf("%d runs, want one", len(paths))
	}
	log := []byte(ts.ReadFile(paths[0]))
	from := filepath.Dir(paths[0])
	for day := range days - 1 {
		to := filepath.Join(filepath.Dir(from), fmt.Sprintf("2026-day-%03d", day))
		ts.Check(os.MkdirAll(to, 0o700))
		ts.Check(os.WriteFile(filepath.Join(to, "run.json"), []byte("{}"), 0o600))
		var out bytes.Buffer
		for line := range bytes.Lines(log) {
			var ev plumb.Event
			ts.Check(json.Unmarshal(line, &ev))
			ev.At = ev.At.AddDate(0, 0, day-days+1)
			if ev.Info != nil {
				ev.Info.ID = filepath.Base(to)
			}
			if ev.Report != nil {
				ev.Report.FinalOutput = fmt.Sprint("Paris, ", day%2)
				if day >= change {
					ev.Report.FinalOutput = fmt.Sprint("no idea: ", day%2)
				}
			}
			ts.Check(json.NewEncoder(&out).Encode(&ev))
		}
		ts.Check(os.WriteFile(filepath.Join(to, "events.jsonl"), out.Bytes(), 0o600))
	}
}
