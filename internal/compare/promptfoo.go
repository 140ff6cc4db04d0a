package compare

import (
	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/promptfoo"
)

func parsePromptfoo(path string, text []byte, flat bool) (*Side, error) {
	f, err := promptfoo.ReadResults(path, text, flat)
	if err != nil {
		return nil, err
	}
	s := newSide(path, SourcePromptfoo)
	s.ID, s.Started, s.Ended = f.ID, instant(f.Time), instant(f.Time)
	s.Facts = unknownFacts(nil, VaryWorkspace, VaryJudge, VaryLimits, VaryPlumb)
	for i := range f.Rows {
		r := &f.Rows[i]
		model := facts{}
		model.add(VaryModel, "model", r.Provider.ID, r.Provider.ID != "")
		s.addRunner(Runner{
			ID: r.Column, Agent: plumb.AgentInfo{Model: r.Provider.ID}, Facts: unknownFacts(model, VaryParameters),
		})
	}
	for _, t := range f.Tests {
		s.caseAt(plumb.CaseInfo{
			ID: t.ID, ChecksHash: t.Checks, PromptHash: t.Prompts, Metadata: t.Metadata, Category: t.Metadata["category"], Repeat: 1,
		})
	}
	for i := range f.Rows {
		r := &f.Rows[i]
		x, tokens := emptySample(), r.Tokens()
		x.Outcome, x.Cached = r.Outcome(), r.Response.Cached
		x.Green = x.Outcome == plumb.OutcomePass
		switch x.Outcome { //nolint:exhaustive // a pass has no class
		case plumb.OutcomeError:
			x.Class = "error"
		case plumb.OutcomeFail:
			x.Class = plumb.OriginAssertion.Class().ID
		}
		if x.Measured() {
			x.Score = share(r.Score)
		}
		x.Tokens, x.InputTokens, x.OutputTokens = positive(tokens.Total), positive(tokens.Prompt), positive(tokens.Completion)
		x.LatencyMs, x.CostUSD = positive(r.LatencyMs), figure(r.Cost)
		runner := s.runner(r.Column)
		s.add(r.Test, runner, x)
		s.Cases[r.Test].Repeat = max(s.Cases[r.Test].Repeat, len(s.At(r.Test, runner)))
	}
	return s.Side, nil
}
