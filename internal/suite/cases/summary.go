package cases

import (
	"encoding/json"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/check"
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

// Add counts a case with its checks, and with its check in code unless that is nil.
func (s *Summary) Add(c *plumb.Case, checks []*check.Check, code plumb.AskingAssertion) {
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
	if code != nil {
		s.Types["code"]++
		needsJudge, needsEmbedder = code.Needs()
	}
	for _, k := range checks {
		s.Types[k.Type()]++
		if kind := k.Type(); kind == "all_of" || kind == "any_of" {
			s.addInner(k.Canonical())
		}
		judge, embedder := k.Needs()
		needsJudge, needsEmbedder = needsJudge || judge, needsEmbedder || embedder
	}
	if needsJudge {
		s.NeedsJudge++
	}
	if needsEmbedder {
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

// Merge adds the counts of another suite.
func (s *Summary) Merge(o *Summary) {
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
