package check

// Asks bounds what judging one session can ask of models.
type Asks struct {
	// Judge counts the requests to the judge, those for replies that are no verdict included. Each carries the task, the
	// output, and at most JudgeBytes bytes of other text.
	Judge, JudgeBytes int
	// Embedder counts the requests to the embedder. Each carries the output, and at most EmbedderBytes bytes of other text.
	Embedder, EmbedderBytes int
}

// Add adds the requests of b to those of a.
func (a *Asks) Add(b Asks) {
	a.Judge, a.JudgeBytes = a.Judge+b.Judge, max(a.JudgeBytes, b.JudgeBytes)
	a.Embedder, a.EmbedderBytes = a.Embedder+b.Embedder, max(a.EmbedderBytes, b.EmbedderBytes)
}

// Asks returns what the check asks at most. votes is what the run takes where the check does not say; 0 means 1.
func (c *Check) Asks(votes int) Asks { return c.asks(votes) }
