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

// parameters is the table of all parameters: their JSON keys in [plumb.Parameters], patterns of
// their names in the errors of providers, and their fields.
var parameters = [...]struct {
	bit      parameter
	name     string
	spelling string
	given    func(plumb.Parameters) bool
	drop     func(*plumb.Parameters)
}{
	{
		temperature, "temperature", `temperature`,
		func(p plumb.Parameters) bool { return p.Temperature != nil },
		func(p *plumb.Parameters) { p.Temperature = nil },
	},
	{
		topP, "topP", `top[_ -]?p`,
		func(p plumb.Parameters) bool { return p.TopP != nil },
		func(p *plumb.Parameters) { p.TopP = nil },
	},
	{
		seed, "seed", `seed`,
		func(p plumb.Parameters) bool { return p.Seed != nil },
		func(p *plumb.Parameters) { p.Seed = nil },
	},
	{
		maxOutputTokens, "maxOutputTokens", `max[_ -]?(?:completion|output|new)?[_ -]?tokens`,
		func(p plumb.Parameters) bool { return p.MaxOutputTokens != nil },
		func(p *plumb.Parameters) { p.MaxOutputTokens = nil },
	},
	{
		reasoningEffort, "reasoningEffort",
		`reasoning(?:[_. -]?effort)?|effort|thinking(?:[_. -]?(?:config|level|budget))?|output[_ ]?config`,
		func(p plumb.Parameters) bool { return p.ReasoningEffort != nil },
		func(p *plumb.Parameters) { p.ReasoningEffort = nil },
	},
}

// names lists the parameters of the set.
func (p parameter) names() []string {
	var out []string
	for _, known := range parameters {
		if p&known.bit != 0 {
			out = append(out, known.name)
		}
	}
	return out
}

// given returns the set of parameters that p has.
func given(p plumb.Parameters) parameter {
	var set parameter
	for _, known := range parameters {
		if known.given(p) {
			set |= known.bit
		}
	}
	return set
}

// without returns p without the parameters of the set.
func without(p plumb.Parameters, set parameter) plumb.Parameters {
	for _, known := range parameters {
		if set&known.bit != 0 {
			known.drop(&p)
		}
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
	for _, p := range parameters {
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
