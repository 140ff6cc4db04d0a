package modelapi

import (
	"regexp"
	"strings"
	"sync/atomic"

	"github.com/plumb-eval/plumb"
)

// parameter is a set of sampling parameters, by bit.
type parameter uint32

const (
	temperature parameter = 1 << iota
	topP
	seed
	maxOutputTokens
	reasoningEffort
)

// names lists the parameters of the set by their JSON keys in [plumb.Parameters].
func (p parameter) names() []string {
	var out []string
	for _, n := range [...]struct {
		bit  parameter
		name string
	}{
		{temperature, "temperature"},
		{topP, "topP"},
		{seed, "seed"},
		{maxOutputTokens, "maxOutputTokens"},
		{reasoningEffort, "reasoningEffort"},
	} {
		if p&n.bit != 0 {
			out = append(out, n.name)
		}
	}
	return out
}

// given returns the set of parameters that p has.
func given(p plumb.Parameters) parameter {
	var set parameter
	if p.Temperature != nil {
		set |= temperature
	}
	if p.TopP != nil {
		set |= topP
	}
	if p.Seed != nil {
		set |= seed
	}
	if p.MaxOutputTokens != nil {
		set |= maxOutputTokens
	}
	if p.ReasoningEffort != nil {
		set |= reasoningEffort
	}
	return set
}

// without returns p without the parameters of the set.
func without(p plumb.Parameters, set parameter) plumb.Parameters {
	if set&temperature != 0 {
		p.Temperature = nil
	}
	if set&topP != 0 {
		p.TopP = nil
	}
	if set&seed != 0 {
		p.Seed = nil
	}
	if set&maxOutputTokens != 0 {
		p.MaxOutputTokens = nil
	}
	if set&reasoningEffort != 0 {
		p.ReasoningEffort = nil
	}
	return p
}

// refusals records which parameters a model rejects. It is safe for concurrent use.
type refusals struct {
	known atomic.Uint32
	// renamed is set when the parameters with a second name are sent by it.
	renamed atomic.Bool
}

// add records p and reports whether it is new.
func (r *refusals) add(p parameter) bool {
	return r.known.Or(uint32(p))&uint32(p) == 0
}

// refusedParameter finds the parameter among sent that an error is about, or 0. If an error names
// several, it is about the first: the others are usually part of the reason.
func refusedParameter(e apiError, sent parameter) parameter {
	if e.param != "" {
		return parametersNamed(e.param, sent)
	}
	if e.code == "context_length_exceeded" && !strings.Contains(e.message, "max_") {
		return 0
	}
	if p := parametersNamed(e.message, sent); p != 0 {
		return p
	}
	return parametersNamed(e.details, sent)
}

// parametersNamed returns the first parameter among sent that text names in any provider's
// spelling, or 0.
func parametersNamed(text string, sent parameter) parameter {
	best, at := parameter(0), len(text)
	for _, p := range [...]struct {
		bit      parameter
		spelling string
	}{
		{temperature, `temperature`},
		{topP, `top[_ -]?p`},
		{seed, `seed`},
		{maxOutputTokens, `max[_ -]?(?:completion|output|new)?[_ -]?tokens`},
		{reasoningEffort, `reasoning(?:[_. -]?effort)?|effort|thinking(?:[_. -]?(?:config|level|budget))?|output[_ ]?config`},
	} {
		if sent&p.bit == 0 {
			continue
		}
		m := regexp.MustCompile(`(?i)(?:^|[^a-z0-9])(?:` + p.spelling + `)(?:$|[^a-z0-9])`).FindStringIndex(text)
		if m != nil && m[0] < at {
			best, at = p.bit, m[0]
		}
	}
	return best
}

// unsupported reports whether the provider does not know a parameter at all, rather than rejecting
// its value.
func unsupported(e apiError) bool {
	if e.code == "unsupported_parameter" || e.code == "unknown_parameter" {
		return true
	}
	return regexp.MustCompile(`(?i)unsupported param|not support|unrecogni[sz]ed|unknown|unexpected|` +
		`extra (?:fields|inputs)|not permitted|not allowed|deprecated|cannot find field`).
		MatchString(e.message + e.details)
}
