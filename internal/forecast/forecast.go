// Package forecast estimates what sessions will use: a guess for plans, and an upper bound for
// budgets. It hides what a provider adds to a request, and what a judge is asked.
package forecast

import (
	"math"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/check"
	"github.com/plumb-eval/plumb/internal/run"
	"github.com/plumb-eval/plumb/internal/runner"
)

const (
	// assumedOutput is the assumed number of tokens of an answer when the suite has no estimate.
	assumedOutput = 200
	// judgeOverhead is the number of tokens that the instructions to a judge add to the judged
	// text.
	judgeOverhead = 200
	// requestTokens and messageTokens bound the tokens that a provider adds to a request and to
	// each message: roles, separators, a preamble of the model.
	requestTokens, messageTokens = 256, 16
	// judgeMessages is the largest number of messages in a question to a judge.
	judgeMessages = 4
	// retokenized bounds how many tokens one model's tokenizer makes of one token of another model.
	retokenized = 4
	// mostTokens bounds the token numbers in computations.
	mostTokens = 1 << 40
)

// Guess is the expected use of one session. An unknown cost is 0.
type Guess struct {
	Input, Output int64
	CostUSD       float64
	Priced        bool
}

func (g Guess) tokens() int64 { return g.Input + g.Output }

// Forecaster estimates the use of sessions: a guess for plans, and an upper bound for budgets.
type Forecaster struct {
	Prices *runner.Prices
	// Judge is nil where each model judges itself.
	Judge *plumb.RunnerInfo
	Votes int
	// Embedder is nil where none is needed.
	Embedder *plumb.RunnerInfo
}

// Session guesses the use of one session of a case: one token for four characters of the prompt,
// and for the answer the rest of the author's estimate.
func (f *Forecaster) Session(c *plumb.Case, r plumb.RunnerInfo) Guess {
	g := Guess{Output: assumedOutput}
	for _, m := range c.Messages {
		g.Input += int64(len(m.Content))/4 + 4
	}
	if rest := int64(c.TokensEstimate) - g.Input; c.TokensEstimate > 0 {
		g.Output = max(rest, 8)
	}
	if limit := int64(c.MaxOutputTokens); limit > 0 {
		g.Output = min(g.Output, limit)
	}
	g.CostUSD, g.Priced = f.Prices.Estimate(r, 1, g.Input, g.Output)
	return g
}

// Judging guesses the use of judging such a session, and the least number of answers of a judge.
func (f *Forecaster) Judging(c *plumb.Case, r plumb.RunnerInfo, session Guess) (answers int, g Guess) {
	answers = questions(c) * max(1, f.Votes)
	if answers == 0 {
		return 0, Guess{Priced: true}
	}
	if f.Judge != nil {
		r = *f.Judge
	}
	n := int64(answers)
	g = Guess{Input: n * (session.tokens() + judgeOverhead), Output: n * 8}
	g.CostUSD, g.Priced = f.Prices.Estimate(r, answers, g.Input, g.Output)
	return answers, g
}

// Of returns the expected and the largest possible use of a session of c on r.
func (f *Forecaster) Of(c *plumb.Case, r plumb.RunnerInfo) run.Forecast {
	session := f.Session(c, r)
	_, judging := f.Judging(c, r, session)
	input := float64(requestTokens)
	for _, m := range c.Messages {
		input += float64(len(m.Content) + len(m.Role) + messageTokens) // a token is at least a byte
	}
	answer := answerCap(r, c.MaxOutputTokens)
	var out run.Forecast
	out.Session.Expected = run.Use{CostUSD: session.CostUSD, Tokens: float64(session.tokens())}
	out.Session.Cap = f.most(r, 1, input, answer)
	out.Judging.Expected = run.Use{CostUSD: judging.CostUSD, Tokens: float64(judging.tokens())}
	out.Judging.Cap = f.judgingCap(c, r, answer)
	judge := r
	if f.Judge != nil {
		judge = *f.Judge
	}
	out.Session.Unpriced = f.Unpriced(r)
	out.Judging.Unpriced = f.Unpriced(judge) || f.Embedder != nil && f.Unpriced(*f.Embedder)
	return out
}

// Unpriced reports whether the price of a model is unknown. What others cost is known from their
// sessions.
func (f *Forecaster) Unpriced(r plumb.RunnerInfo) bool {
	_, known := f.Prices.Of(r)
	return r.Kind == plumb.RunnerModel && !known
}

// judgingCap returns the largest possible use of judging an answer of at most so many tokens.
func (f *Forecaster) judgingCap(c *plumb.Case, r plumb.RunnerInfo, answer float64) run.Use {
	var asks check.Asks
	for _, a := range c.Assertions {
		switch a := a.(type) {
		case *check.Check:
			asks.Add(a.Asks(f.Votes))
		case plumb.AskingAssertion: // code, which may send any question
			if judge, embedder := a.Needs(); judge || embedder {
				return run.Unbounded()
			}
		}
	}
	answer *= retokenized
	var most run.Use
	if asks.Judge > 0 {
		judge := r
		if f.Judge != nil {
			judge = *f.Judge
		}
		input := requestTokens + judgeMessages*messageTokens + answer + float64(len(c.Prompt())+asks.JudgeBytes)
		most = f.most(judge, asks.Judge, input, answerCap(judge, 0))
	}
	if asks.Embedder > 0 && f.Embedder != nil {
		embedding := f.most(*f.Embedder, asks.Embedder, requestTokens+answer+float64(asks.EmbedderBytes), 0)
		most.CostUSD, most.Tokens = most.CostUSD+embedding.CostUSD, most.Tokens+embedding.Tokens
	}
	return most
}

// answerCap returns the largest number of tokens in an answer of a runner, or infinity.
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

// most returns the largest possible use of some requests to a runner.
func (f *Forecaster) most(r plumb.RunnerInfo, requests int, input, output float64) run.Use {
	if r.Kind == plumb.RunnerReplay {
		return run.Use{}
	}
	n, use := float64(requests), run.Unbounded()
	if total := input + output; total <= mostTokens {
		use.Tokens = n * total
		if usd, known := f.Prices.Most(r, int64(math.Ceil(input)), int64(math.Ceil(output))); known {
			use.CostUSD = n * usd
		}
	} else if usd, known := f.Prices.Most(r, mostTokens, mostTokens); known && usd == 0 {
		use.CostUSD = 0 // a free model stays free for any length
	}
	return use
}

// Caps returns the largest possible use of any session for each runner; infinity if it is
// unknown.
func (f *Forecaster) Caps(cases []plumb.Case, runners []plumb.Runner) []run.Use {
	caps := make([]run.Use, len(runners))
	for i, r := range runners {
		info := r.Info()
		for k := range cases {
			one := f.Of(&cases[k], info)
			caps[i].CostUSD = max(caps[i].CostUSD, one.Session.Cap.CostUSD+one.Judging.Cap.CostUSD)
			caps[i].Tokens = max(caps[i].Tokens, one.Session.Cap.Tokens+one.Judging.Cap.Tokens)
		}
	}
	return caps
}

// questions counts the checks of a case that need a judge.
func questions(c *plumb.Case) int {
	n := 0
	for _, a := range c.Assertions {
		if ch, ok := a.(*check.Check); ok {
			if judge, _ := ch.Needs(); judge {
				n++
			}
		}
	}
	return n
}
