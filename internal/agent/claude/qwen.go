package claude

import "github.com/plumb-eval/plumb/internal/agent/transcript"

// normaliseQwen understands Qwen Code, whose stream is of Claude's kind. Its differences: usage counts the cache as input,
// and goes on over resumed sessions; tools have other names; and before 0.24 a failure of the model API is a successful
// result whose text says so.
func readQwen(t *transcript.Transcript, r *transcript.Recorder) error {
	c := newClaude(r)
	c.qwen = true
	return c.normalise(t)
}
