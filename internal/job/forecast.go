package job

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/check"
	"github.com/plumb-eval/plumb/internal/run"
	"github.com/plumb-eval/plumb/internal/runner"
	"github.com/plumb-eval/plumb/internal/text"
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

// guess is the expected use of one session. An unknown cost is 0.
type guess struct {
	input, output int64
	cost          float64
	priced        bool
}

func (g guess) tokens() int64 { return g.input + g.output }

// forecaster estimates the use of sessions: a guess for plans, and an upper bound for budgets.
type forecaster struct {
	prices *runner.Prices
	// judge is nil where each model judges itself.
	judge *plumb.RunnerInfo
	votes int
	// embedder is nil where none is needed.
	embedder *plumb.RunnerInfo
}

// session guesses the use of one session of a case: one token for four characters of the prompt,
// and for the answer the rest of the author's estimate.
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

// judging guesses the use of judging such a session, and the least number of answers of a judge.
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

// of returns the expected and the largest possible use of a session of c on r.
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
	judge := r
	if f.judge != nil {
		judge = *f.judge
	}
	out.Session.Unpriced = f.unpriced(r)
	out.Judging.Unpriced = f.unpriced(judge) || f.embedder != nil && f.unpriced(*f.embedder)
	return out
}

// unpriced reports whether the price of a model is unknown. What others cost is known from their
// sessions.
func (f *forecaster) unpriced(r plumb.RunnerInfo) bool {
	_, known := f.prices.Of(r)
	return r.Kind == plumb.RunnerModel && !known
}

// judgingCap returns the largest possible use of judging an answer of at most so many tokens.
func (f *forecaster) judgingCap(c *plumb.Case, r plumb.RunnerInfo, answer float64) run.Use {
	var asks check.Asks
	for _, a := range c.Assertions {
		switch a := a.(type) {
		case *check.Check:
			asks.Add(a.Asks(f.votes))
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
		use.CostUSD = 0 // a free model stays free for any length
	}
	return use
}

// sessionCaps returns the largest possible use of any session for each runner; infinity if it is
// unknown.
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

// newForecaster returns the forecaster of a job whose judge and embedder are made.
func (j *Job) newForecaster() *forecaster {
	f := &forecaster{prices: j.project.Prices, votes: j.Spec.JudgeVotes}
	if j.options.Judge != nil {
		f.judge = new(j.options.Judge.Info())
	}
	if e := j.options.Embedder; e != nil {
		provider, model, _ := strings.Cut(e.Name, ":")
		f.embedder = &plumb.RunnerInfo{
			ID: e.Name, Kind: plumb.RunnerModel, BaseURL: j.Spec.Embedder.BaseURL,
			Agent: plumb.AgentInfo{Type: provider, Model: model},
		}
	}
	return f
}

// unpriced returns the ids of the models of the job whose price is unknown.
func (j *Job) unpriced() (ids []string) {
	paid := []*plumb.RunnerInfo{j.forecast.judge, j.forecast.embedder}
	for _, r := range j.runners {
		paid = append(paid, new(r.Info()))
	}
	for _, r := range paid {
		if r != nil && j.forecast.unpriced(*r) && !slices.Contains(ids, r.ID) {
			ids = append(ids, r.ID)
		}
	}
	return ids
}

// capWords describes the largest possible use of a session, one line for each budget of the job that
// can be enforced.
func (j *Job) capWords() (lines []string) {
	caps := j.forecast.sessionCaps(j.Suite.Cases, j.runners)
	for _, limit := range []struct {
		set   bool
		of    func(run.Use) float64
		words func(float64) string
	}{
		{
			j.Spec.MaxCostUSD > 0 && len(j.unpriced()) == 0, func(u run.Use) float64 { return u.CostUSD },
			func(n float64) string { return "cost up to " + text.Money(n) },
		},
		{
			j.Spec.MaxTokens > 0, func(u run.Use) float64 { return u.Tokens },
			func(n float64) string { return fmt.Sprintf("use up to %.0f tokens", n) },
		},
	} {
		if !limit.set {
			continue
		}
		most := 0.0
		var known, unknown []string
		for i, r := range j.runners {
			if n := limit.of(caps[i]); math.IsInf(n, 1) {
				unknown = append(unknown, r.Info().ID)
			} else {
				known = append(known, r.Info().ID)
				most = max(most, n)
			}
		}
		switch {
		case len(unknown) == 0:
			lines = append(lines, "a session can "+limit.words(most)+
				", its judging included: the run exceeds its budget by no more than that")
		case len(known) > 0:
			lines = append(lines, "a session of "+strings.Join(known, ", ")+" can "+limit.words(most)+", its judging included")
		}
		if len(unknown) > 0 {
			lines = append(lines, "the most that a session of "+strings.Join(unknown, ", ")+
				" can use is unknown: Plumb runs one session at a time until the first is measured, "+
				"and then reserves the largest use seen so far")
		}
	}
	return lines
}
