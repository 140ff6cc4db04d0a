package run

import (
	"fmt"
	"slices"
	"strings"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/doc"
)

// Gates is a list of conditions that a run must meet, as users write them: [SCOPE=][low:]SHARE. It
// is also the value of a flag. [ParseGate] explains the parts.
type Gates []string

// Type returns the name of the type for the help of flags.
func (g *Gates) Type() string { return "share" }

func (g *Gates) String() string { return strings.Join(*g, ",") }

// Set adds one condition.
func (g *Gates) Set(s string) error {
	if _, err := ParseGate("", s); err != nil {
		return err
	}
	*g = append(*g, s)
	return nil
}

// GateHelp is the grammar of gates for people.
const GateHelp = "write a share such as 0.9 or 90%; low:0.85 for the lower limit of the interval; " +
	"and RUNNER=0.9, tag:NAME=0.9, prompt:LABEL=0.9 or category:NAME=0.9 for a part of the run"

// ParseGate reads one condition on a metric: a share as a number from 0 to 1 or in percent. "low:"
// before it means the lower limit of the interval, and "SCOPE=" before that a part of the run: the
// id of a runner, or a tag, a prompt or a category with its kind.
func ParseGate(metric plumb.GateMetric, text string) (plumb.Gate, error) {
	g := plumb.Gate{Text: strings.TrimSpace(text), Metric: metric}
	bad := func(format string, args ...any) (plumb.Gate, error) {
		return plumb.Gate{}, plumb.WithHint(fmt.Errorf("%q: %s", text, fmt.Sprintf(format, args...)), GateHelp)
	}
	value := g.Text
	if at := strings.LastIndexByte(value, '='); at >= 0 { // the id of a runner may hold one, too
		g.Kind, g.Name = plumb.GateRunner, strings.TrimSpace(value[:at])
		value = strings.TrimSpace(value[at+1:])
		if kind, name, ok := strings.Cut(g.Name, ":"); ok && slices.Contains(plumb.GateKinds(), plumb.GateKind(kind)) {
			g.Kind, g.Name = plumb.GateKind(kind), strings.TrimSpace(name)
		}
		if g.Name == "" {
			return bad("the part of the run before %q is empty", "=")
		}
	}
	value, g.Low = strings.CutPrefix(value, "low:")
	if g.Low && metric == plumb.GateCoverage {
		return bad("coverage is a count of this run, without an interval")
	}
	number, percent := strings.CutSuffix(strings.TrimSpace(value), "%")
	share, err := doc.ParseNumber(strings.TrimSpace(number))
	if percent {
		share /= 100
	}
	switch {
	case err != nil:
		return bad("%q is not a share", value)
	case !(share >= 0 && share <= 1):
		return bad("%s is not between 0 and 1", value)
	}
	g.Least = share
	return g, nil
}

// Gates returns the conditions that the run must meet.
func (s *Settings) Gates() ([]plumb.Gate, error) {
	var gates []plumb.Gate
	for _, list := range []struct {
		metric plumb.GateMetric
		texts  Gates
	}{{plumb.GatePassRate, s.MinPassRate}, {plumb.GateCoverage, s.MinCoverage}} {
		for _, text := range list.texts {
			g, err := ParseGate(list.metric, text)
			if err != nil {
				return nil, fmt.Errorf("--%s %w", strings.ReplaceAll("min_"+string(list.metric), "_", "-"), err)
			}
			gates = append(gates, g)
		}
	}
	return gates, nil
}
