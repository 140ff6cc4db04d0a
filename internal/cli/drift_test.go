package cli_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
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
