package report

import (
	"strings"
	"testing"

	"github.com/plumb-eval/plumb"
)

// A long prompt is shown with its first and its last part.
func TestAskedOf(t *testing.T) {
	if got := AskedOf(" one\n two "); got != "one two" {
		t.Errorf("a short prompt is %q", got)
	}
	got := AskedOf("first " + strings.Repeat("x", 1000) + " last")
	if !strings.HasPrefix(got, "first xxx") || !strings.HasSuffix(got, "xxx last") ||
		!strings.Contains(got, "(811 more characters)") {
		t.Errorf("a long prompt is %q", got)
	}
}

func TestDecisionLines(t *testing.T) {
	t.Parallel()
	evidence := func(worse, better, equivalent float64) []plumb.EvidenceFor {
		return []plumb.EvidenceFor{
			{Conclusion: "worse", Part: worse},
			{Conclusion: "better", Part: better},
			{Conclusion: "equivalent", Part: equivalent},
		}
	}
	for want, d := range map[string]plumb.Decision{
		`worse: -10.0 pp pass rate, 95 % between -16.9 and -2.8 (15 lost, 3 won, of 120 pairs)
  decided after 120 pairs; 130 of at most 2,000 were made, so 1,870 were saved
  e-processes at level 0.05, which hold whenever the run stops; the interval is for a fixed number of pairs`: {
			Against: "main", Conclusion: "worse", Drawn: 120, Measured: 120, Limit: 2000, Lost: 15, Won: 3,
			Value: new(-.1), Low: new(-.1689), High: new(-.0281), Evidence: evidence(1, 0, .1),
		},
		`equivalent: within ±5 pp (-0.5 pp, 90 % between -3.5 and +2.5; 6 lost, 5 won, of 200 pairs)
  decided after 210 pairs; 130 of at most 2,000 were made, so 1,870 were saved
  coverage 200/210: a pair without a result on a side does not count
  e-processes at level 0.05, which hold whenever the run stops; the interval is for a fixed number of pairs`: {
			Against: "main", Conclusion: "equivalent", Drawn: 210, Measured: 200, Limit: 2000, Lost: 6, Won: 5,
			Margin: .05, Value: new(-.005), Low: new(-.0345), High: new(.0243), Confidence: .9, Evidence: evidence(0, 0, 1),
		},
		`not decisive: -5.0 pp pass rate, 95 % between -12.3 and +2.5 (9 lost, 4 won, of 100 pairs)
  not decided after 100 of at most 100 pairs; the most evidence is for worse, 42 % of what decides
  2 cases had no more results in the baseline, so nothing can be called equivalent; to add some for another run: plumb resume B --repeat 10
  these pairs could have seen 10.6 pp
  if -5.0 pp is real, 23 repeats of each case would show it on both sides
  e-processes at level 0.05, which hold whenever the run stops; the interval is for a fixed number of pairs`: {
			Against: "main", BaselineRun: "B", Conclusion: "not decisive", Drawn: 100, Measured: 100, Limit: 100, Lost: 9, Won: 4,
			Margin: .05, Value: new(-.05), Low: new(-.123), High: new(.0248), Detectable: new(.1057), Exhausted: 2,
			Evidence: evidence(.421, 0, .1),
		},
		`not decisive: +0.4 pp pass rate, 95 % between -4.5 and +5.2 (46 lost, 46 won, of 400 pairs)
  not decided after 400 of at most 400 pairs; the most evidence is for equivalent, 37 % of what decides
  100 repetitions of the baseline were made, too, for $0.20
  these pairs could have seen 6.9 pp
  if +0.4 pp is real, more than 100 repeats: this suite is too small to see an effect of 0.4 pp
  if there is no difference, 45 repeats of each case would show it: 490 more sessions, about $2.26 and 24s
    plumb resume R --repeat 45
  1 case looks broken (q14: 3/3 → 0/3, then 0/5)
  e-processes at level 0.05, which hold whenever the run stops; the interval is for a fixed number of pairs`: {
			Against: "main", Conclusion: "not decisive", Drawn: 400, Measured: 400, Limit: 400, Lost: 46, Won: 46, Margin: .05,
			Value: new(.004), Low: new(-.0441), High: new(.0519), Detectable: new(.0686), Evidence: evidence(0, 0, .379),
			Fresh: "F", FreshMade: 100, FreshCostUSD: new(.2), Suspects: []plumb.Suspect{{
				Case: "q14", Baseline: plumb.PassCount{Passed: 3, Measured: 3}, Candidate: plumb.PassCount{Measured: 3},
				FreshBaseline: plumb.PassCount{Passed: 2, Measured: 5}, FreshCandidate: plumb.PassCount{Measured: 5}, P: new(.22),
			}},
		},
		`worse: 1 case broke: q02, 17/17 → 0/17, then 0/5 again (baseline 4/5) (p = 0.024)
  the suite as a whole: not decisive: -2.2 pp pass rate, 95 % between -6.4 and +2.1 (60 lost, 57 won, of 400 pairs)
  not decided after 400 of at most 400 pairs; the most evidence is for equivalent, 19 % of what decides
  e-processes at level 0.05, which hold whenever the run stops; the interval is for a fixed number of pairs`: {
			Against: "main", Conclusion: "worse", Whole: "not decisive", Drawn: 400, Measured: 400, Limit: 400, Lost: 60, Won: 57,
			Margin: .05, Value: new(-.022), Low: new(-.064), High: new(.0204), Evidence: evidence(0, 0, .199),
			Suspects: []plumb.Suspect{{
				Case: "q02", Baseline: plumb.PassCount{Passed: 17, Measured: 17}, Candidate: plumb.PassCount{Measured: 17},
				FreshBaseline: plumb.PassCount{Passed: 4, Measured: 5}, FreshCandidate: plumb.PassCount{Measured: 5}, P: new(.0238),
				Broken: true,
			}},
		},
		`violated: pass_rate >= 85%: pass rate 71.5 %, 95 % between 60 and 80.8 for other cases like these (130 repetitions of 20 cases)
  decided after 130 repetitions; 130 of at most 400 were made, so 270 were saved
  e-processes at level 0.05, which hold whenever the run stops; the interval is for a fixed number of repetitions`: {
			Gate: "pass_rate >= 85%", Conclusion: "violated", Drawn: 130, Measured: 130, Limit: 400, Cases: 20,
			Value: new(.7149), Low: new(.6003), High: new(.8078),
		},
		`not decisive: nothing could be measured
  not decided after 12 of at most 12 pairs; no evidence yet
  coverage 0/12: a pair without a result on a side does not count
  e-processes at level 0.05, which hold whenever the run stops; the interval is for a fixed number of pairs`: {
			Against: "main", Conclusion: "not decisive", Drawn: 12, Limit: 12, Evidence: evidence(0, 0, 0),
		},
		"": {Against: "main", Drawn: 3, Limit: 12},
	} {
		d.Alpha = .05
		if d.Confidence == 0 {
			d.Confidence = .95
		}
		run := &plumb.Run{
			Decision: &d, End: &plumb.RunEnd{}, Executions: []plumb.Execution{{Passed: 100, Failed: 20}, {Failed: 9, Errored: 1}},
			Info: plumb.RunInfo{ID: "R"}, Cases: make([]plumb.CaseInfo, 20), Totals: plumb.Totals{CostUSD: .6}, ActiveMs: 6600,
		}
		if got := strings.Join(DecisionLines(&Source{}, run), "\n"); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	}
	d := &plumb.Decision{Against: "main", Drawn: 310, Limit: 2000, Evidence: evidence(.429, 0, .1)}
	if got, want := StandingWords(d, " · "),
		"310 of at most 2,000 pairs · evidence: worse 42 %, better 0 %, equivalent 10 %"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
