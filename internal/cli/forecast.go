package cli

import (
	"fmt"
	"math"
	"strings"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/check"
	"github.com/plumb-eval/plumb/internal/report"
	"github.com/plumb-eval/plumb/internal/run"
	"github.com/plumb-eval/plumb/internal/runner"
)

const (
	// assumedOutput is how many tokens an answer is taken to have when the suite does not say.
	assumedOutput = 200
	// judgeOverhead is what the instructions to a judge add to the text it judges.
	judgeOverhead = 200
	// requestTokens and messageTokens bound what a provider adds to a request, and to each message, on its own: roles,
	// separators, a preamble of the model.
	requestTokens, messageTokens = 256, 16
	// judgeMessages is the most that a question to a judge has.
	judgeMessages = 4
	// retokenized bounds how many tokens one model's tokenizer makes of another's one.
	retokenized = 4
	// mostTokens bounds what is reckoned with.
	mostTokens = 1 << 40
)

// guess is what one session is expected to use. A cost that is not known is 0.
type guess struct {
	input, output int64
	cost          float64
	priced        bool
}

func (g guess) tokens() int64 { return g.input + g.output }

// forecaster foresees what sessions use: a guess for plans, and for budgets a bound.
type forecaster struct {
	prices *runner.Prices
	// judge is nil where each model judges itself.
	judge *plumb.RunnerInfo
	votes int
	// embedder is nil where none is needed.
	embedder *plumb.RunnerInfo
}

// session guesses what one session of a case uses: a token for four characters of the prompt, and for the answer what is left
// of the author's estimate.
func (f *forecaster) session(c *plumb.Case, r plumb.RunnerInfo) guess {
	g := guess{output: assumedOutput}
	for _, m := range c.Messages {
		g.input += int64(len(m.Content))/4 + 4
	}
	if rest := int64(c.TokensEstimate) - g.input; c.TokensEstimate > 0 {
		g.output = max(rest, 8)
	}
	if limit := int64(c.MaxOutputTokens); limit > 0 {
		g.output = min(g.output, limit)
	}
	g.cost, g.priced = f.prices.Estimate(r, 1, g.input, g.output)
	return g
}

// judging guesses what the judging of such a session uses, and how many answers a judge has to give at least.
func (f *forecaster) judging(c *plumb.Case, r plumb.RunnerInfo, session guess) (answers int, g guess) {
	answers = questions(c) * max(1, f.votes)
	if answers == 0 {
		return 0, guess{priced: true}
	}
	if f.judge != nil {
		r = *f.judge
	}
	n := int64(answers)
	g = guess{input: n * (session.tokens() + judgeOverhead), output: n * 8}
	g.cost, g.priced = f.prices.Estimate(r, answers, g.input, g.output)
	return answers, g
}

// of says what a session of the case on a runner is expected to use, and what it can use at most.
func (f *forecaster) of(c *plumb.Case, r plumb.RunnerInfo) run.Forecast {
	session := f.session(c, r)
	_, judging := f.judging(c, r, session)
	input := float64(requestTokens)
	for _, m := range c.Messages {
		input += float64(len(m.Content) + len(m.Role) + messageTokens) // a token is at least a byte
	}
	answer := answerCap(r, c.MaxOutputTokens)
	var out run.Forecast
	out.Session.Expected = run.Use{CostUSD: session.cost, Tokens: float64(session.tokens())}
	out.Session.Cap = f.most(r, 1, input, answer)
	out.Judging.Expected = run.Use{CostUSD: judging.cost, Tokens: float64(judging.tokens())}
	out.Judging.Cap = f.judgingCap(c, r, answer)
	return out
}

// judgingCap is the most that judging a session can use, whose answer has at most so many tokens.
func (f *forecaster) judgingCap(c *plumb.Case, r plumb.RunnerInfo, answer float64) run.Use {
	var asks check.Asks
	for _, a := range c.Assertions {
		switch a := a.(type) {
		case *check.Check:
			asks.Add(a.Asks(f.votes))
		case interface{ Needs() (judge, embedder bool) }: // code, which asks what it likes
			if judge, embedder := a.Needs(); judge || embedder {
				return run.Unbounded()
			}
		}
	}
	answer *= retokenized
	var most run.Use
	if asks.Judge > 0 {
		judge := r
		if f.judge != nil {
			judge = *f.judge
		}
		input := requestTokens + judgeMessages*messageTokens + answer + float64(len(c.Prompt())+asks.JudgeBytes)
		most = f.most(judge, asks.Judge, input, answerCap(judge, 0))
	}
	if asks.Embedder > 0 && f.embedder != nil {
		embedding := f.most(*f.embedder, asks.Embedder, requestTokens+answer+float64(asks.EmbedderBytes), 0)
		most.CostUSD, most.Tokens = most.CostUSD+embedding.CostUSD, most.Tokens+embedding.Tokens
	}
	return most
}

// answerCap is the most tokens that an answer of a runner has, or infinity.
func answerCap(r plumb.RunnerInfo, ofCase int) float64 {
	switch own := r.Parameters.MaxOutputTokens; {
	case r.Kind != plumb.RunnerModel:
		return math.Inf(1)
	case ofCase > 0:
		return float64(ofCase)
	case own != nil && *own > 0:
		return float64(*own)
	default:
		return math.Inf(1)
	}
}

// most is the most that so many requests to a runner can use.
func (f *forecaster) most(r plumb.RunnerInfo, requests int, input, output float64) run.Use {
	if r.Kind == plumb.RunnerReplay {
		return run.Use{}
	}
	n, use := float64(requests), run.Unbounded()
	if total := input + output; total <= mostTokens {
		use.Tokens = n * total
		if usd, known := f.prices.Most(r, int64(math.Ceil(input)), int64(math.Ceil(output))); known {
			use.CostUSD = n * usd
		}
	} else if usd, known := f.prices.Most(r, mostTokens, mostTokens); known && usd == 0 {
		use.CostUSD = 0 // it costs nothing however long it is
	}
	return use
}

// sessionCaps are the most that any session of a job can use on each of its runners; infinity where that is not known.
func (f *forecaster) sessionCaps(cases []plumb.Case, runners []plumb.Runner) []run.Use {
	caps := make([]run.Use, len(runners))
	for i, r := range runners {
		info := r.Info()
		for k := range cases {
			one := f.of(&cases[k], info)
			caps[i].CostUSD = max(caps[i].CostUSD, one.Session.Cap.CostUSD+one.Judging.Cap.CostUSD)
			caps[i].Tokens = max(caps[i].Tokens, one.Session.Cap.Tokens+one.Judging.Cap.Tokens)
		}
	}
	return caps
}

// capWords says what sessions can use at most where there is a budget, or nothing.
func capWords(s *spec, runners []plumb.Runner, caps []run.Use) (lines []string) {
	for _, limit := range []struct {
		set   bool
		of    func(run.Use) float64
		words func(float64) string
	}{
		{s.MaxCostUSD > 0, func(u run.Use) float64 { return u.CostUSD }, func(n float64) string { return "cost up to " + report.Money(n) }},
		{s.MaxTokens > 0, func(u run.Use) float64 { return u.Tokens }, func(n float64) string { return fmt.Sprintf("use up to %.0f tokens", n) }},
	} {
		if !limit.set {
			continue
		}
		most := 0.0
		var unknown []string
		for i, r := range runners {
			if n := limit.of(caps[i]); math.IsInf(n, 1) {
				unknown = append(unknown, r.Info().ID)
			} else {
				most = max(most, n)
			}
		}
		if len(unknown) < len(runners) {
			lines = append(lines, "a session can "+limit.words(most)+", its judging included: the run exceeds its budget by no more than that")
		}
		if len(unknown) > 0 {
			lines = append(lines, "nobody knows what a session of "+strings.Join(unknown, ", ")+
				" can use at most: one runs at a time until the first is measured, and then the most that was seen is reserved")
		}
	}
	return lines
}
