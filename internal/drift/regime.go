package drift

// Regimes counts the prompts of a panel with at least 20 answers by the share of their most
// frequent answer in the current epoch. Prompts at a border see weak changes first.
type Regimes struct {
	Deterministic int // at least 98 % of the answers are equal
	Border        int // at least half of them
	Free          int // fewer
	// ScoresOnly means that runs have scores and no texts. Logprobs means that they have
	// log-probabilities.
	ScoresOnly, Logprobs bool
}

// regimes returns the regimes of the panel.
func (p *panel) regimes(spans *spanCache) Regimes {
	const enough, deterministic, border = 20, 0.98, 0.5
	regimes := Regimes{
		ScoresOnly: spans.of(p.epoch(statisticScore), statisticScore) != nil,
		Logprobs:   spans.of(p.epoch(statisticLogprobs), statisticLogprobs) != nil,
	}
	span := spans.of(p.epoch(statisticMMD), statisticMMD)
	if span == nil {
		return regimes
	}
	for _, prompt := range span.set.prompts {
		counts, all, most := map[*sharedText]int{}, 0, 0
		for _, r := range span.runs {
			if i := r.at(prompt); i >= 0 {
				for _, answer := range r.texts[i] {
					counts[answer.sharedText]++
					most = max(most, counts[answer.sharedText])
					all++
				}
			}
		}
		switch share := float64(most) / float64(all); {
		case all < enough:
		case share >= deterministic:
			regimes.Deterministic++
		case share >= border:
			regimes.Border++
		default:
			regimes.Free++
		}
	}
	return regimes
}
