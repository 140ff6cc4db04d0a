package report

import (
	"fmt"
	"math"
	"strings"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/analyze"
	"github.com/plumb-eval/plumb/internal/calibrate"
	"github.com/plumb-eval/plumb/internal/text"
)

// Conclusion is a statement about a run as a whole, beside its rates. All reporters show it.
type Conclusion struct {
	// Label is one word, and key the name of the property in JUnit reports.
	Label, Key, Text string
	// Warning marks a statement that a reader of the rates must know.
	Warning bool
}

// ConclusionsOf returns the statements about a run.
func ConclusionsOf(src *Source, run *plumb.Run) []Conclusion {
	var all []Conclusion
	for _, s := range analyze.Snapshots(run) {
		all = append(all, Conclusion{"snapshots", "snapshots", snapshotWords(&s), s.Failed})
	}
	return append(all, judgeConclusions(calibrate.Assess(run, src.Calibrations))...)
}

// mostJudged is the number of calibrated questions that are listed.
const mostJudged = 8

// judgeConclusions returns the statements about the judges of a run.
func judgeConclusions(j *calibrate.Judging) []Conclusion {
	if j == nil {
		return nil
	}
	var all []Conclusion
	add := func(key, text string, warning bool) { all = append(all, Conclusion{"judge", key, text, warning}) }
	told := map[calibrate.Identity]bool{}
	for i := range j.Calibrated {
		a := &j.Calibrated[i]
		if i == mostJudged {
			more := text.Plural(len(j.Calibrated)-i, "more question")
			add("judge.calibration", more+": see judging in results.json", false)
			break
		}
		if !told[a.Identity] {
			told[a.Identity] = true
			add("judge.calibration", kappaWords(a, j.MinKappa), a.BelowMin)
		}
		add("judge.corrected", correctedWords(a), false)
	}
	for i := range j.Noise {
		if i == mostJudged {
			add("judge.noise", text.Plural(len(j.Noise)-i, "more case")+": see judging in results.json", false)
			break
		}
		add("judge.noise", noiseWords(&j.Noise[i]), j.Noise[i].FromJudge)
	}
	if j.Uncalibrated > 0 {
		s := "never calibrated"
		if j.Others {
			s = "not calibrated with this model version, question and number of votes"
		}
		add("judge.calibration", fmt.Sprintf("%s, for %s: plumb judge calibrate GOLD.jsonl --judge %s", s,
			text.Plural(j.Uncalibrated, "question"), ShellWord(j.Judge)), false)
	}
	return all
}

// noiseWords says how much of the flips of a case is the judge's.
func noiseWords(n *calibrate.Noise) string {
	s := fmt.Sprintf("%s > %s: of %s, on the same output %s differ", text.OneLine(n.CaseID), text.OneLine(n.Runner),
		text.Plural(n.Verdicts, "verdict"), text.Percent(*n.JudgeFlipRate))
	if n.CaseFlipRate != nil {
		s += ", between repetitions " + text.Percent(*n.CaseFlipRate)
	}
	switch {
	case n.FromJudge:
		return s + ": more than a quarter of the flips is the judge's own"
	case *n.JudgeFlipRate == 0:
		return s + ": the output flips, and not the judge"
	default:
		return s + ": mostly the output flips"
	}
}

// kappaWords says how well a judge agrees with its gold labels.
func kappaWords(a *calibrate.Assessed, least float64) string {
	kappa := "no kappa"
	if k := a.Kappa; k.Value != nil {
		kappa = fmt.Sprintf("kappa %.2f", *k.Value)
		if k.Low != nil {
			kappa += fmt.Sprintf(" [%.2f – %.2f]", roundDown(*k.Low), roundUp(*k.High))
		}
	}
	text := fmt.Sprintf("%s has %s on %s", text.OneLine(a.Identity.Model), kappa, text.Plural(a.Items, "gold item"))
	if a.BelowMin {
		text += fmt.Sprintf(", and needs %g: do not rely on its verdicts", least)
	}
	return text + " (" + questionWords(a) + ")"
}

// questionWords quotes the question of a judge.
func questionWords(a *calibrate.Assessed) string {
	const most = 60
	return "“" + text.Line(text.OneLine(a.Question), most) + "”"
}

// correctedWords has the rate of a judge, and beside it the corrected one.
func correctedWords(a *calibrate.Assessed) string {
	text := fmt.Sprintf("%s: the judge passes %d/%d", text.OneLine(a.Runner), a.Rate.K, a.Rate.N)
	text += calibratedWords(a.Rate)
	switch {
	case a.Corrected == nil:
		return text + "; no corrected rate: " + a.Reason
	case a.Sampled:
		return text + "; corrected" + calibratedWords(*a.Corrected) + ", from the gold labels of a sample of these outputs"
	default:
		return text + "; corrected" + calibratedWords(*a.Corrected) +
			", if the judge errs here as it did on the gold items, which may differ between models"
	}
}

// calibratedWords renders a share with its interval, rounded outward.
func calibratedWords(f calibrate.Figure) string {
	if f.Value == nil {
		return ""
	}
	text := " " + text.Percent(*f.Value)
	if f.Low != nil {
		text += fmt.Sprintf(" [%.0f–%.0f %%]", math.Floor(*f.Low*100), math.Ceil(*f.High*100))
	}
	return text
}

// Level returns the level of c as that of a note.
func (c Conclusion) Level() string {
	if c.Warning {
		return "warning"
	}
	return "info"
}

// snapshotWords says how a runner compares with the samples of its token baselines.
func snapshotWords(s *analyze.SnapshotSuite) string {
	parts := []string{}
	switch {
	case s.Ratio != nil:
		verdict := ""
		if s.Failed {
			verdict = "the suite as a whole uses more: "
		}
		parts = append(parts, fmt.Sprintf("%s%s x%.2f of the samples, 95 %% between x%.2f and x%.2f (%s, %s)", verdict,
			s.Metric, *s.Ratio, roundDown(*s.Low), roundUp(*s.High), text.Plural(s.Tested, "case"), analyze.PWords(*s.P)))
	case s.Tested > 0:
		parts = append(parts, s.Metric+" of "+text.Plural(s.Tested, "case")+" compared")
	}
	if n := s.Cases - s.Tested - s.Recorded; n > 0 {
		words := text.Plural(n, "case") + " not tested"
		if s.Needs > 0 {
			words += fmt.Sprintf(": needs %s (--update-snapshots)", text.Plural(s.Needs, "more sample"))
		}
		parts = append(parts, words)
	}
	if s.Recorded > 0 {
		parts = append(parts, text.Plural(s.Recorded, "case")+" recorded")
	}
	return text.OneLine(s.Runner) + ": " + strings.Join(parts, "; ")
}

// roundDown and roundUp round to two decimals, so that a shown interval is never narrower than the
// computed one.
func roundDown(x float64) float64 { return math.Floor(x*100) / 100 }

func roundUp(x float64) float64 { return math.Ceil(x*100) / 100 }
