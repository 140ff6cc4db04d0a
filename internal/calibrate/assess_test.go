package calibrate_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/check"
	"github.com/plumb-eval/plumb/internal/calibrate"
)

// judgedRun is a run of one runner with one case for each word of decisions: a Y or N for each
// repetition. The output of a repetition is its case id and its letter in upper case, so that yY is
// not two verdicts on one output.
func judgedRun(t *testing.T, decisions ...string) *plumb.Run {
	t.Helper()
	r := &plumb.Run{}
	info := plumb.RunInfo{
		Runners: []plumb.RunnerInfo{{ID: "r"}}, Cases: len(decisions), Judge: "judge",
		Setup: &plumb.Setup{Judge: &plumb.JudgeSetup{Config: "0123456789ab"}},
	}
	events := []plumb.Event{{Type: plumb.EventRunStarted, At: time.Now(), Info: &info}}
	for i, word := range decisions {
		id := fmt.Sprint("c", i)
		events = append(events, plumb.Event{Type: plumb.EventPlanned, Cases: []plumb.CaseInfo{{ID: id}}})
		res := &plumb.ExecutionResult{Outcome: plumb.OutcomePass}
		for n, letter := range word {
			d := plumb.Judged{
				Repetition: n + 1, Question: check.QuestionHash("Is it?"), Model: "judge-1", Votes: 1,
				Output: plumb.OutputHash(id),
			}
			if letter == 'Y' {
				d.Yes = 1
			} else {
				d.No = 1
			}
			res.Judged = append(res.Judged, d)
		}
		events = append(events, plumb.Event{Type: plumb.EventExecutionFinished, Case: id, Runner: "r", Result: res})
	}
	for _, ev := range events {
		if err := r.Apply(ev); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// stored calibrates a judge with 50 items: false pass .2, false fail .1.
func stored(t *testing.T) *calibrate.Calibration {
	t.Helper()
	all, _ := ask(t, gold("pass", "YES", 27)+gold("pass", "NO", 3)+gold("fail", "YES", 4)+gold("fail", "NO", 16),
		&judge{decide: says}, 1)
	return all[0]
}

func TestCorrectedRate(t *testing.T) {
	t.Parallel()
	run := judgedRun(t, strings.Split(strings.Repeat("Y ", 30)+strings.Repeat("N ", 20), " ")[:50]...)
	c := stored(t)
	j := calibrate.Assess(run, []*calibrate.Calibration{c})
	if j == nil || len(j.Calibrated) != 1 || j.Uncalibrated != 0 {
		t.Fatalf("%+v", j)
	}
	a := j.Calibrated[0]
	// theta = (.6 + .8 - 1) / (.8 + .9 - 1)
	if a.Corrected == nil || math.Abs(value(*a.Corrected)-.4/.7) > 1e-9 || a.Sampled || a.BelowMin ||
		value(a.Rate) != .6 || a.Rate.N != 50 {
		t.Errorf("%+v", a)
	}
	run.Info.MinKappa = .9
	if a := calibrate.Assess(run, []*calibrate.Calibration{c}).Calibrated[0]; !a.BelowMin {
		t.Error("kappa is not below .9")
	}
}

// F18: copies of a case do not make the corrected rate more certain.
func TestF18CorrectedRateOfCopies(t *testing.T) {
	t.Parallel()
	run := judgedRun(t, strings.Split(strings.Repeat("Y ", 9)+strings.Repeat("N ", 3), " ")[:12]...)
	once := calibrate.Assess(run, []*calibrate.Calibration{stored(t)}).Calibrated[0]
	for i := range run.Cases {
		run.Cases[i].Hash = fmt.Sprint("sha256:", i)
	}
	copied := judgedRun(t, strings.Split(strings.Repeat(strings.Repeat("Y ", 9)+strings.Repeat("N ", 3), 4), " ")[:48]...)
	for i := range copied.Cases {
		copied.Cases[i].Hash = fmt.Sprint("sha256:", i%12)
	}
	more := calibrate.Assess(copied, []*calibrate.Calibration{stored(t)}).Calibrated[0]
	for name, f := range map[string][2]*calibrate.Figure{
		"rate": {&once.Rate, &more.Rate}, "corrected": {once.Corrected, more.Corrected},
	} {
		if *f[1].Low > *f[0].Low || *f[1].High < *f[0].High {
			t.Errorf("%s: [%v, %v] with copies, [%v, %v] without", name, *f[1].Low, *f[1].High, *f[0].Low, *f[0].High)
		}
	}
}

// A calibration of another configuration, model version, question or number of votes does not
// count.
func TestIdentity(t *testing.T) {
	t.Parallel()
	run := judgedRun(t, "Y", "N")
	for name, change := range map[string]func(*calibrate.Identity){
		"config":   func(id *calibrate.Identity) { id.Config = "sha256:fedcba9876543210" },
		"model":    func(id *calibrate.Identity) { id.Model = "judge-2" },
		"question": func(id *calibrate.Identity) { id.Question = check.QuestionHash("Is it not?") },
		"votes":    func(id *calibrate.Identity) { id.Votes = 3 },
	} {
		c := stored(t)
		change(&c.Identity)
		j := calibrate.Assess(run, []*calibrate.Calibration{c})
		if len(j.Calibrated) != 0 || j.Uncalibrated != 1 || j.Others != (name != "config") || j.Judge != "judge" {
			t.Errorf("another %s: %+v", name, j)
		}
	}
	if j := calibrate.Assess(judgedRun(t, "", ""), nil); j != nil {
		t.Errorf("a run without a judge: %+v", j)
	}
	run.Info.Setup = nil // a run of an earlier version
	if j := calibrate.Assess(run, []*calibrate.Calibration{stored(t)}); j.Uncalibrated != 1 {
		t.Errorf("a run without setup: %+v", j)
	}
}

// The labels of a sample of the outputs correct the rate: mean of the rest, plus the mean error.
func TestSample(t *testing.T) {
	t.Parallel()
	run := judgedRun(t, "Y", "Y", "N", "Y", "Y", "N", "Y", "N")
	c := stored(t)
	c.Records = nil
	for i, label := range []float64{1, 0, 0, 1} {
		id := fmt.Sprint("c", i)
		c.Records = append(c.Records, calibrate.Record{Case: id, Output: plumb.OutputHash(id), Label: label})
	}
	a := calibrate.Assess(run, []*calibrate.Calibration{c}).Calibrated[0]
	if !a.Sampled || math.Abs(value(*a.Corrected)-(.5-.25)) > 1e-9 || a.Corrected.Method != "prediction-powered mean" {
		t.Errorf("%+v", a)
	}
	c.Records[0].Output = plumb.OutputHash("an output of another run")
	if a := calibrate.Assess(run, []*calibrate.Calibration{c}).Calibrated[0]; a.Sampled {
		t.Errorf("%+v", a)
	}
}

func TestNoise(t *testing.T) {
	t.Parallel()
	// Without --judge-repeat, only contradictions on equal outputs are noise.
	run := judgedRun(t, "YYY", "Y", "YNY")
	n := calibrate.NoiseOf(run)
	if len(n) != 1 || n[0].CaseID != "c2" || math.Abs(*n[0].JudgeFlipRate-2.0/3) > 1e-9 || !n[0].FromJudge ||
		math.Abs(*n[0].CaseFlipRate-2.0/3) > 1e-9 {
		t.Errorf("%+v", n)
	}
	// Two outputs, judged 3 times each: YYY and NNY. Of 6 pairs on one output 2 differ; of 9 pairs
	// between the repetitions 6.
	run = judgedRun(t, "YYYNNY")
	run.Info.JudgeRepeat = 3
	for i := range run.Executions[0].Judged[3:] {
		run.Executions[0].Judged[3+i].Output = "other"
	}
	n = calibrate.NoiseOf(run)
	if len(n) != 1 || n[0].Outputs != 2 || math.Abs(*n[0].JudgeFlipRate-2.0/6) > 1e-9 ||
		math.Abs(*n[0].CaseFlipRate-6.0/9) > 1e-9 || !n[0].FromJudge {
		t.Errorf("%+v", n)
	}
	run = judgedRun(t, "YYYYNNNN")
	run.Info.JudgeRepeat = 4
	for i := range run.Executions[0].Judged[4:] {
		run.Executions[0].Judged[4+i].Output = "other"
	}
	if n := calibrate.NoiseOf(run); len(n) != 1 || *n[0].JudgeFlipRate != 0 || *n[0].CaseFlipRate != 1 || n[0].FromJudge {
		t.Errorf("%+v", n)
	}
}
