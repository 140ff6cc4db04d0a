package suite

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/check"
	"github.com/plumb-eval/plumb/internal/config"
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/suite/lib"
)

// Summary counts the contents of a suite.
type Summary struct {
	Name    string `json:"name"`
	Path    string `json:"path,omitempty"`
	Version string `json:"version,omitempty"`
	Tier    string `json:"tier,omitempty"`
	// Hash is the suite hash; "" when the file has problems.
	Hash  string `json:"hash,omitempty"`
	Cases int    `json:"cases"`
	// TokensEstimate is the sum of the cases' tokens_est.
	TokensEstimate int64 `json:"tokensEstimate"`
	// Categories and Difficulties count cases. Types counts checks by assertion type, including the
	// checks within others.
	Categories   map[string]int `json:"categories"`
	Difficulties map[string]int `json:"difficulties"`
	Types        map[string]int `json:"types"`
	// NeedsJudge and NeedsEmbedder count the cases with a check that asks a judge model or compares
	// embeddings.
	NeedsJudge    int `json:"needsJudge"`
	NeedsEmbedder int `json:"needsEmbedder"`
}

// Suite is [Bundle.SuiteIn] with the zero Host: code has no environment variables and its output is
// dropped.
func (b *Bundle) Suite() (*plumb.Suite, []doc.Problem, error) {
	return b.SuiteIn(context.Background(), lib.Host{})
}

// SuiteIn makes a suite of the bundle. It parses the file, or executes it if it is code. Code runs
// until [Bundle.Close], and its assertions are calls of it. SuiteIn finds all problems of the file
// at once. If one of them makes the suite unusable, the error is [doc.Problems] and lists all that
// are not warnings. The warnings are returned in both cases. If SuiteIn is called again for code,
// only the last suite can judge.
func (b *Bundle) SuiteIn(ctx context.Context, h lib.Host) (*plumb.Suite, []doc.Problem, error) {
	p := b.read(ctx, h, true)
	if err := p.problems.Err(); err != nil {
		if closeErr := b.Close(); closeErr != nil {
			err = errors.Join(err, closeErr)
		}
		return nil, p.problems.Warnings(), err
	}
	return &plumb.Suite{
		Name: b.Name, Path: b.Path, Version: b.Version, Tier: b.Tier, Hash: b.hash, Cases: p.cases,
		Workspace: p.Workspace, Skills: p.Skills,
	}, p.problems.Warnings(), nil
}

// read parses or executes the bundle.
func (b *Bundle) read(ctx context.Context, h lib.Host, keep bool) parsed {
	if keep {
		if err := b.load(); err != nil {
			return parsed{problems: doc.Problems{b.problem(err.Error(), "")}}
		}
	}
	if b.Code() {
		return b.codeIn(ctx, h)
	}
	b.checksIn(h)
	if isYAML(b.Path) {
		return b.parseYAML(keep) //nolint:contextcheck // code of checks is compiled with a time limit of its own
	}
	return b.parseLines(keep) //nolint:contextcheck // code of checks is compiled with a time limit of its own
}

// Validate is [Bundle.ValidateIn] with the zero Host.
func (b *Bundle) Validate() (Summary, []doc.Problem) {
	return b.ValidateIn(context.Background(), lib.Host{})
}

// ValidateIn does what [Bundle.SuiteIn] does without keeping the cases, and returns all problems,
// including warnings.
func (b *Bundle) ValidateIn(ctx context.Context, h lib.Host) (Summary, []doc.Problem) {
	p := b.read(ctx, h, false)
	if err := b.Close(); err != nil {
		p.problems = append(p.problems, doc.Problem{
			Pos: plumb.Position{File: b.Path}, Message: err.Error(), Warning: true,
		})
	}
	s := p.summary
	s.Name, s.Path, s.Version, s.Tier, s.Hash = b.Name, b.Path, b.Version, b.Tier, b.hash
	return s, p.problems
}

// parsed is the content of a suite file. The summary has only counts.
type parsed struct {
	config.Sections
	cases    []plumb.Case
	problems doc.Problems
	summary  Summary
}

// add counts a case.
func (s *Summary) add(c *plumb.Case, checks []*check.Check) {
	if s.Categories == nil {
		s.Categories, s.Difficulties, s.Types = map[string]int{}, map[string]int{}, map[string]int{}
	}
	s.Cases++
	s.TokensEstimate += int64(c.TokensEstimate)
	if c.Category != "" {
		s.Categories[c.Category]++
	}
	if c.Difficulty != "" {
		s.Difficulties[c.Difficulty]++
	}
	needsJudge, needsEmbedder := false, false
	for _, k := range checks {
		s.Types[k.Type()]++
		if kind := k.Type(); kind == "all_of" || kind == "any_of" {
			s.addInner(k.Canonical())
		}
		judge, embedder := k.Needs()
		needsJudge, needsEmbedder = needsJudge || judge, needsEmbedder || embedder
	}
	s.need(needsJudge, needsEmbedder)
}

func (s *Summary) need(judge, embedder bool) {
	if judge {
		s.NeedsJudge++
	}
	if embedder {
		s.NeedsEmbedder++
	}
}

// addInner counts the types of the checks within an all_of or any_of.
func (s *Summary) addInner(canonical json.RawMessage) {
	var spec struct {
		Assertions []json.RawMessage `json:"assertions"`
	}
	if json.Unmarshal(canonical, &spec) != nil {
		return
	}
	for _, raw := range spec.Assertions {
		var member struct {
			Type string `json:"type"`
		}
		if json.Unmarshal(raw, &member) == nil {
			s.Types[member.Type]++
			s.addInner(raw)
		}
	}
}

func (s *Summary) merge(o *Summary) {
	s.Cases += o.Cases
	s.NeedsJudge += o.NeedsJudge
	s.NeedsEmbedder += o.NeedsEmbedder
	s.TokensEstimate += o.TokensEstimate
	addCounts(&s.Categories, o.Categories)
	addCounts(&s.Difficulties, o.Difficulties)
	addCounts(&s.Types, o.Types)
}

func addCounts(to *map[string]int, from map[string]int) {
	if *to == nil {
		*to = map[string]int{}
	}
	for k, n := range from {
		(*to)[k] += n
	}
}

func blank(line []byte) bool {
	return len(line) == 0 || line[0] != '{' && len(bytes.TrimLeftFunc(line, isPythonSpace)) == 0
}
