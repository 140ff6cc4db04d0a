package drift_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/plumb-eval/plumb/internal/drift"
)

// BenchmarkReplay replays a simulated year without a change, from records in memory and from lines of
// JSON. A year has 365 model-days.
func BenchmarkReplay(b *testing.B) {
	for _, scenario := range []string{"score/null", "text/null", "det/null"} {
		records := recordsOf(scenario, 1, nullDays)
		b.Run(scenario, func(b *testing.B) {
			for b.Loop() {
				alarmsOf(b, records)
			}
			perDay(b)
		})
		var file bytes.Buffer
		for i := range records {
			file.Write(line(&records[i]))
		}
		b.Run(scenario+" with reading", func(b *testing.B) {
			for b.Loop() {
				r := drift.NewReplay(drift.Rules{})
				if err := drift.Read("f", bytes.NewReader(file.Bytes()), r.Add); err != nil {
					b.Fatal(err)
				}
				r.Finish()
			}
			perDay(b)
		})
	}
}

func perDay(b *testing.B) {
	b.Helper()
	ms := float64(b.Elapsed()) / float64(time.Millisecond)
	b.ReportMetric(ms/float64(b.N)/nullDays, "ms/day")
}
