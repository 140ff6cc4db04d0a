package project

import (
	"cmp"
	"fmt"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/runner"
	"github.com/plumb-eval/plumb/internal/runner/modelapi"
)

// ChooseJudges sets the judge and the embedder of s. No judge means that each model judges itself.
func (p *Project) ChooseJudges(s *Spec, judge, embedder string) error {
	c, votes, err := p.Judge(judge, s.JudgeVotes)
	if err != nil {
		return err
	}
	if s.JudgeVotes = votes; c != nil {
		s.Judge = new(*c)
	}
	switch e := p.Config.Embedder; {
	case embedder != "":
		s.Embedder = &plumb.RunnerConfig{Model: embedder}
	case e != nil:
		s.Embedder = new(*e)
	default:
		for _, r := range s.Runners {
			if c, ok := runner.DefaultEmbedder(r); ok {
				s.Embedder = &c
				break
			}
		}
	}
	return nil
}

// Judge returns the judge with the given name, or else the judge of the config, and the number of
// its votes. It returns nil if each model judges itself.
func (p *Project) Judge(name string, votes int) (*plumb.RunnerConfig, int, error) {
	votes = cmp.Or(votes, p.Config.JudgeVotes)
	if name == "" {
		return p.Config.Judge, votes, nil
	}
	if c := p.Config.Runner(name); c != nil {
		return c, votes, nil
	}
	if _, err := modelapi.Resolve(name); err != nil {
		return nil, 0, fmt.Errorf("judge: %w", err)
	}
	return &plumb.RunnerConfig{Model: name}, votes, nil
}
