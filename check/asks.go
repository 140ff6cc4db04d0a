package check

// Asks is the most that judging one session asks of models.
type Asks struct {
	// Judge counts the requests to the judge, repeated ones included. Each has the task, the
	// output, and at most JudgeBytes bytes of other text.
	Judge, JudgeBytes int
	// Embedder counts the requests to the embedder. Each has the output, and at most EmbedderBytes
	// bytes of other text.
	Embedder, EmbedderBytes int
}

// Add adds the requests of b to those of a.
func (a *Asks) Add(b Asks) {
	a.Judge, a.JudgeBytes = a.Judge+b.Judge, max(a.JudgeBytes, b.JudgeBytes)
	a.Embedder, a.EmbedderBytes = a.Embedder+b.Embedder, max(a.EmbedderBytes, b.EmbedderBytes)
}

// Asks returns the most that the check asks. votes is the number of votes if the check has none of
// its own; 0 means 1.
func (c *Check) Asks(votes int) Asks { return c.asks(votes) }
