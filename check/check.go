// Package check holds the assertions that ship: Go constructors, and [Parse], which reads the declarative specs of suite
// files. Both make a [*Check], an immutable value that judges any number of sessions at once.
//
// A check looks at the final output of a session, or at what the session used. It gives one [plumb.Verdict], whose
// Details have the documented keys of its type, for results files in the documented format.
//
//	type                 spec keys beside the common ones           holds when
//	exact_match          ideal                                      the stripped output equals the stripped ideal
//	contains             ideal                                      the output contains the ideal
//	contains_any         ideal                                      the output contains one of the ideals
//	starts_with          ideal                                      the output, its leading space cut, starts with one
//	regex                pattern                                    the RE2 pattern matches somewhere in the output
//	is_json              -                                          the output is JSON, bare or in one fenced block
//	json_schema          schema                                     that JSON is valid by the schema
//	json_path            path; equals, contains or exists; ideal    a value at the path fits
//	numeric              value or ideal; tolerance,                 the last number in the output is near enough
//	                     tolerance_percent
//	max_tokens           max (or value)                             the answer took at most so many output tokens
//	max_latency_ms       max (or value)                             the answer took at most so many milliseconds
//	llm_judge            judge_prompt; votes                        a judge model answers the question with YES
//	semantic_similarity  ideal; threshold                           the embedding is near that of one of the ideals
//	all_of, any_of       assertions                                 all hold; at least one holds
//	leaks_no_secret      in                                         no secret of the run is in what came of the session
//
// For sessions of agents, each with equals, contains or pattern on the text of what was done, count, at_least, at_most and
// only, and before for the order:
//
//	ran_command          executable, positionals, options, strict,  the agent ran such a command
//	                     end_of_options; exit_code
//	read_file            path                                       it read such a file
//	used_skill           skill, min_confidence                      it used the skill
//	called_tool          tool, args                                 it called the tool
//	tool_returned        tool                                       a tool returned such an output
//	changed_file         path, change                               such a file is different after the session
//	was_denied           tool                                       it was denied something; most useful with not
//	file_exists          path                                       the workspace has the file after the session
//	file_contains        path; contains, pattern or ideal           the file has such a content
//	max_steps, max_input_tokens, max_total_tokens,                  the session took at most so many
//	max_cost_usd, max_duration_ms           max (or value)
//
// The common keys are type, name, weight and not; those that compare text also take case_sensitive and normalize. An
// ideal of its own replaces the case's. docs/assertions.md is the manual.
//
// What cannot be measured is neither a pass nor a fail: the verdict then has an Error, which a negation leaves alone.
package check

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/plumb-eval/plumb"
)

// Check is one assertion. It is immutable and safe for concurrent use. The zero value is not usable; make one with a
// constructor or with [Parse].
type Check struct {
	matcher
	name   string
	weight float64 // 0 counts as 1
	not    bool
}

var _ plumb.Assertion = (*Check)(nil)

// A matcher is what differs between the types.
type matcher interface {
	// Type returns the name of the type.
	Type() string
	// Needs reports whether a judge model or an embedder is asked.
	Needs() (judge, embedder bool)
	// match judges a session, ev.Report being set, without regard to name, weight and negation. An error means that
	// ctx ended; what else could not be measured is the verdict's Error.
	match(ctx context.Context, ev *plumb.Evidence) (plumb.Verdict, error)
	// describe writes the options that decide, defaults included.
	describe(o *object)
}

// Name returns what the author called the check, or else its type.
func (c *Check) Name() string {
	if c.name != "" {
		return c.name
	}
	return c.Type()
}

// Assert judges the session and returns exactly one verdict. The error is not nil only when ctx ended before the judge
// or the embedder had answered.
func (c *Check) Assert(ctx context.Context, ev plumb.Evidence) ([]plumb.Verdict, error) {
	v, err := c.verdict(ctx, &ev)
	if err != nil {
		return nil, err
	}
	return []plumb.Verdict{v}, nil
}

func (c *Check) verdict(ctx context.Context, ev *plumb.Evidence) (plumb.Verdict, error) {
	var v plumb.Verdict
	if ev.Report == nil {
		v.Error = plumb.Failuref(plumb.OriginAssertHook, "there is no session report to judge")
	} else if redactedOutput(c.matcher, ev) {
		v = despiteRemoval(ctx, c.matcher, ev)
	} else {
		var err error
		if v, err = c.match(ctx, ev); err != nil {
			return v, err
		}
	}
	if v.Error == nil && !v.Pass && c.Type() != typeAllOf && c.Type() != typeAnyOf && readsOutput(c.matcher) &&
		slices.Contains(ev.Report.Incomplete, "finalOutput") {
		v = unmeasured(plumb.Failuref(plumb.OriginAssertHook, "the final output was cut off, and what is missing might have passed"))
	}
	v.Name, v.Weight = c.Name(), c.weight
	switch {
	case v.Error != nil:
		v.Pass, v.Score, v.Reason = false, 0, "could not be checked: "+v.Error.Message
	case c.not:
		v.Pass, v.Score, v.Expected = !v.Pass, 1-v.Score, ""
		if !v.Pass {
			v.Reason = "must not hold, but does: " + v.Reason
		}
	}
	return v, nil
}

// readsOutput reports whether a check looks at the final output.
func readsOutput(m matcher) bool {
	switch m.(type) {
	case *seenMatcher, *fileMatcher, usageMatcher, *leakMatcher:
		return false
	}
	return true
}

// Canonical returns what the check asks for as one JSON text: keys sorted, defaults explicit, the ideal folded in where
// the type uses it, the weight included and the name not. Checks that decide alike have equal texts, however they were
// written.
func (c *Check) Canonical() json.RawMessage {
	var o object
	c.canonical(&o)
	return o.sorted()
}

func (c *Check) canonical(o *object) {
	weight := c.weight
	if weight == 0 {
		weight = 1
	}
	o.boolean("not", c.not)
	o.str("type", c.Type())
	o.num("weight", weight)
	c.describe(o)
}

// Not returns a check that holds where c does not. What cannot be measured stays unmeasured.
func (c *Check) Not() *Check {
	n := *c
	n.not = !c.not
	return &n
}

// Named returns c under another name, which tells it apart from others of its case.
func (c *Check) Named(name string) *Check {
	n := *c
	n.name = name
	return &n
}

// Weighted returns c with another weight of its score within the case; 0 counts as 1.
func (c *Check) Weighted(weight float64) *Check {
	n := *c
	n.weight = weight
	return &n
}

// Types returns the names of all types, the documented ones first.
func Types() []string {
	return []string{
		typeExactMatch, typeContains, typeContainsAny, typeIsJSON, typeLLMJudge, typeSemanticSimilarity, typeRegex,
		typeStartsWith, typeJSONSchema, typeJSONPath, typeNumeric, typeMaxTokens, typeMaxLatency, typeAllOf, typeAnyOf,
		typeLeaksNoSecret, typeRanCommand, typeReadFile, typeUsedSkill, typeCalledTool, typeToolReturned, typeChangedFile, typeWasDenied,
		typeFileExists, typeFileContains, typeMaxSteps, typeMaxInputTokens, typeMaxTotalTokens, typeMaxCost, typeMaxDuration,
	}
}

const (
	typeExactMatch         = "exact_match"
	typeContains           = "contains"
	typeContainsAny        = "contains_any"
	typeIsJSON             = "is_json"
	typeLLMJudge           = "llm_judge"
	typeSemanticSimilarity = "semantic_similarity"
	typeRegex              = "regex"
	typeStartsWith         = "starts_with"
	typeJSONSchema         = "json_schema"
	typeJSONPath           = "json_path"
	typeNumeric            = "numeric"
	typeMaxTokens          = "max_tokens"
	typeMaxLatency         = "max_latency_ms"
	typeAllOf              = "all_of"
	typeAnyOf              = "any_of"
	typeLeaksNoSecret      = "leaks_no_secret"
	typeRanCommand         = "ran_command"
	typeReadFile           = "read_file"
	typeUsedSkill          = "used_skill"
	typeCalledTool         = "called_tool"
	typeToolReturned       = "tool_returned"
	typeChangedFile        = "changed_file"
	typeWasDenied          = "was_denied"
	typeFileExists         = "file_exists"
	typeFileContains       = "file_contains"
	typeMaxSteps           = "max_steps"
	typeMaxInputTokens     = "max_input_tokens"
	typeMaxTotalTokens     = "max_total_tokens"
	typeMaxCost            = "max_cost_usd"
	typeMaxDuration        = "max_duration_ms"
)

// offline is embedded by the types that ask no model.
type offline struct{}

func (offline) Needs() (judge, embedder bool) { return false, false }

// decided starts a verdict that is a plain yes or no.
func decided(pass bool, reason string) plumb.Verdict {
	v := plumb.Verdict{Pass: pass, Reason: reason}
	if pass {
		v.Score = 1
	}
	return v
}

// unmeasured is the verdict of a check that could not be made.
func unmeasured(f *plumb.Failure) plumb.Verdict { return plumb.Verdict{Error: f} }
