package analyze

import (
	"math"
	"math/rand/v2"
)

// conformalLimit is the threshold of the Shiryaev-Roberts statistic: without a change, alarms are on
// average at least two years of days apart.
const conformalLimit = 365 / 0.5

// The keys of the conformal detector among the epochs: the first day of its epoch, the statistic in
// millionths, and the day since which the statistic is at least 1.
const (
	conformalEpoch = DriftConformal
	conformalValue = DriftConformal + "/millionths"
	conformalRise  = DriftConformal + "/since"
)

// evaluateConformal is the detector that makes no assumption about distributions (Vovk 2019; Shin,
// Ramdas and Rinaldo 2022). For each run of the day, the conformal p-value compares how unlike the
// other runs of its submitter it is with how unlike these are. A p-value becomes the e-value
// (m(p) + m(1-p))/2 with the mixture calibrator m; the e-values of a day are multiplied without the
// largest quarter, because their submitters may lie; and the products drive the Shiryaev-Roberts
// statistic.
func (p *DriftPanel) evaluateConformal(spans *spanCache) []DriftAlarm {
	day := spans.day
	epoch := p.epoch(conformalEpoch)
	span := spans.of(epoch, DriftMMD)
	if span == nil {
		span = spans.of(epoch, DriftScore)
	}
	if span == nil {
		return nil
	}
	e := p.conformalValues(span, day)
	liars := (len(e) + 3) / 4
	if p.options.Own {
		liars = 0
	}
	if len(e)-liars < 1 {
		return nil
	}
	p.tested = true
	value := (1 + float64(p.epochs[conformalValue])/1e6) * TrimmedE(e, liars)
	if _, rising := p.epochs[conformalRise]; !rising {
		p.epochs[conformalRise] = day
	}
	onset := p.epochs[conformalRise]
	if value < 1 {
		delete(p.epochs, conformalRise)
	}
	const most = 1e12 // in millionths, this is an integer that fits
	p.epochs[conformalValue] = int(math.Round(min(value, most) * 1e6))
	var alarms []DriftAlarm
	if value >= conformalLimit {
		a := DriftAlarm{
			Day: day, Kind: DriftConfirmed, Statistic: DriftConformal, Onset: onset, OnsetLow: onset, OnsetHigh: onset,
			Window: day - onset + 1, P: 1 / value, YearP: min(1, 1/value),
		}
		test := span.split(max(epoch, onset-DriftOld), onset, day)
		test.window = driftWindow{day, a.Window, epoch, false}
		test.statistic = DriftConformal
		a.Submitters, a.Agreeing = test.submitters, len(e)
		a.Effect = spans.effect(&a, test)
		a.Cause = DriftCause{Cause: CauseUnknown}
		alarms = append(alarms, a)
		p.epochs[conformalEpoch] = onset
		delete(p.epochs, conformalValue)
		delete(p.epochs, conformalRise)
	}
	return alarms
}

// conformalValues returns the e-value of each run of a day whose submitter has at least five earlier
// runs.
func (p *DriftPanel) conformalValues(span *driftSpanData, day int) []float64 {
	const least = 5
	bySubmitter := map[string][]int{}
	for i, r := range span.runs {
		bySubmitter[r.by.name] = append(bySubmitter[r.by.name], i)
	}
	var e []float64
	k := make([]float32, len(span.set.prompts))
	for i, r := range span.runs {
		own := bySubmitter[r.by.name]
		if r.day != day || len(own) <= least || own[len(own)-1] != i {
			continue
		}
		scores := make([]float64, len(own))
		for x, a := range own {
			if span.mode == modeScore {
				scores[x] = span.y[a]
				continue
			}
			for _, b := range own {
				if b != a {
					scores[x] -= meanOfKernels(span.kernels(a, b, k)) / float64(len(own)-1)
				}
			}
		}
		last := len(scores) - 1
		random := rand.New(NewSeed("drift conformal", r.by.name, r.id).Block(0))
		c := ConformalP(scores[last], scores[:last], random.Float64())
		e = append(e, (CalibratorMixture(c)+CalibratorMixture(1-c))/2)
	}
	return e
}

// meanOfKernels is the mean of the kernels of the prompts that both runs have.
func meanOfKernels(k []float32) float64 {
	sum, n := 0.0, 0.0
	for _, v := range k {
		if v >= 0 {
			sum += float64(v)
			n++
		}
	}
	return sum / max(n, 1)
}
