package report

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/analyze"
	"github.com/plumb-eval/plumb/internal/results"
	"github.com/plumb-eval/plumb/internal/text"
)

// GateLine is the result of one gate, for people.
type GateLine struct {
	Result analyze.GateResult
	Words  string
}

// GateLines describes the gates of a run: each runner and prompt that does not meet one, or how many
// meet it.
func GateLines(run *plumb.Run, dot, dash string) []GateLine {
	var lines []GateLine
	outcomes := analyze.Gates(run)
	for i := range run.Info.Gates {
		g := &run.Info.Gates[i]
		title := "gate " + runGateWords(g) + " "
		held, last, before := 0, "", len(lines)
		for j := range outcomes {
			if outcomes[j].Gate != *g {
				continue
			}
			o := &outcomes[j]
			last = columnName(run, o.Prompt, runnerIndex(run, o.Runner), dot) + " has " + gateValue(o, dash)
			if o.Result == analyze.Holds {
				held++
				continue
			}
			lines = append(lines, GateLine{o.Result, title + "is " + string(o.Result) + ": " + last})
		}
		switch {
		case held == 1 && len(lines) == before:
			lines = append(lines, GateLine{analyze.Holds, title + "holds: " + last})
		case held > 0 && len(lines) == before:
			lines = append(lines, GateLine{analyze.Holds, title + "holds for all " + strconv.Itoa(held)})
		}
	}
	return lines
}

func runnerIndex(run *plumb.Run, id string) int {
	for i := range run.Info.Runners {
		if run.Info.Runners[i].ID == id {
			return i
		}
	}
	return 0
}

// runGateWords renders the condition, such as "pass rate of tag billing >= 90 %".
func runGateWords(g *plumb.Gate) string {
	words := strings.ReplaceAll(string(g.Metric), "_", " ")
	if g.Low {
		words = "lower limit of the " + words
	}
	if g.Kind != "" {
		words += " of " + string(g.Kind) + " " + g.Name
	}
	return text.OneLine(words) + " >= " + strconv.FormatFloat(text.Round(g.Least*100), 'g', 6, 64) + " %"
}

// gateValue renders what a gate is about.
func gateValue(o *analyze.GateOutcome, dash string) string {
	cells := RateCells(o.Counts, dash)
	switch {
	case o.Metric == plumb.GateCoverage:
		return text.Percent(o.Counts.Coverage()) + " (" + cells[3] + " measured)"
	case o.Value == nil:
		return "no result (" + cells[3] + " measured)"
	case o.Samples != nil && o.Repetitions.Measured > 0:
		return results.SampleWords(&o.Repetitions, dash) + fmt.Sprintf(", %s cases always pass", cells[0])
	default:
		return fmt.Sprintf("%s (%s), %s", cells[1], cells[0], cells[2])
	}
}
