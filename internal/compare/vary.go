package compare

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/text"
)

// Kinds returns the words of --vary, in the order of the manual, without "any".
func Kinds() []Kind {
	return []Kind{
		VaryModel, VaryParameters, VaryPrompt, VaryChecks, VarySkill, VaryInstructions, VaryMCP, VaryAgent,
		VaryAgentVersion, VaryWorkspace, VaryJudge, VaryLimits, VaryPlumb,
	}
}

// ParseVary returns the kinds in a list of words, each of which may hold several with commas.
func ParseVary(words []string) ([]Kind, error) {
	var kinds []Kind
	all := append(Kinds(), VaryAny)
	for _, list := range words {
		for word := range strings.SplitSeq(list, ",") {
			k := Kind(strings.TrimSpace(word))
			if !slices.Contains(all, k) {
				names := make([]string, len(all))
				for i := range all {
					names[i] = string(all[i])
				}
				err := fmt.Errorf("--vary: unknown word %q", word)
				if near := plumb.Nearest(string(k), names); near != "" {
					return nil, plumb.WithHint(err, "did you mean "+near+"?")
				}
				return nil, plumb.WithHint(err, "the words are "+strings.Join(names, ", "))
			}
			if !slices.Contains(kinds, k) {
				kinds = append(kinds, k)
			}
		}
	}
	return kinds, nil
}

// kindsOf returns the kinds of differences, in the order of the manual.
func kindsOf(all []Difference) []Kind {
	return slices.DeleteFunc(Kinds(), func(k Kind) bool {
		return !slices.ContainsFunc(all, func(d Difference) bool { return d.Kind == k })
	})
}

// String returns the difference as one line, such as "temperature 0 → 1 on runner gpt".
func (d Difference) String() string {
	text := fmt.Sprintf("%s %s → %s", d.Name, d.Base, d.Cand)
	if d.Case != "" {
		text += " in " + d.Case
	}
	if d.Runner != "" {
		text += " on runner " + d.Runner
	}
	return text
}

// Error lists all differences, one per line.
func (r *Refused) Error() string {
	var b strings.Builder
	b.WriteString("differences that are not allowed, with the values of both sides:")
	for _, d := range r.Differences {
		fmt.Fprintf(&b, "\n  %-13s %s", d.Kind, d)
	}
	return b.String()
}

// Advice returns the flag that compares the sides nevertheless.
func (r *Refused) Advice() string {
	words := make([]string, len(r.Kinds))
	for i, k := range r.Kinds {
		words[i] = string(k)
	}
	return "compare them with --vary " + strings.Join(words, ",") +
		"; then a difference between the results can have any of these causes"
}

// contrast is what differs between the facts of two sides.
type contrast struct {
	differences []Difference
	unknown     []Difference
	// reported are the differences between what providers report.
	reported []Difference
}

// compare adds the differences between two lists of facts. file means that an input on one of the
// sides carries only a part of the facts. equal means that the hashes of the configurations are
// equal.
func (c *contrast) compare(base, cand []Fact, runner string, file, equal bool) {
	for i := range base {
		b := &base[i]
		d := Difference{Kind: b.Kind, Name: b.Name, Runner: runner, Base: b.Value, Cand: unknown}
		at := slices.IndexFunc(cand, func(f Fact) bool { return f.Name == b.Name && f.Kind == b.Kind })
		if at < 0 {
			if !equal || !b.Configured {
				c.missing(d, b, file)
			}
			continue
		}
		f := &cand[at]
		d.Cand = f.Value
		switch {
		case b.Known && f.Known && (b.Value == f.Value || sameAddress(b, f)), equal && b.Configured:
		case b.Warn:
			if b.Known && f.Known {
				c.reported = append(c.reported, d)
			}
		case b.Known && f.Known:
			c.differences = append(c.differences, d)
		default:
			c.addUnknown(d)
		}
	}
	for i := range cand {
		f := &cand[i]
		if equal && f.Configured {
			continue
		}
		if !slices.ContainsFunc(base, func(b Fact) bool { return f.Name == b.Name && f.Kind == b.Kind }) {
			c.missing(Difference{Kind: f.Kind, Name: f.Name, Runner: runner, Base: unknown, Cand: f.Value}, f, file)
		}
	}
}

// sameAddress reports whether two facts are of one address: a log that left its machine has a hash.
func sameAddress(a, b *Fact) bool {
	return a.Name == baseURL && plumb.AddressHash(a.Value) == plumb.AddressHash(b.Value)
}

// missing adds a property that only one side has. For two runs that is so only if another property
// differs, or if only one of them was reported. A file that has only a part of the properties has
// none of that kind.
func (c *contrast) missing(d Difference, f *Fact, file bool) {
	switch {
	case f.Warn, !f.Known: // the other side lists what it has
	case file:
		d.Name = string(d.Kind)
		if d.Base != unknown {
			d.Base = "recorded"
		}
		if d.Cand != unknown {
			d.Cand = "recorded"
		}
		if !slices.ContainsFunc(c.unknown, func(u Difference) bool {
			return u.Runner == d.Runner && u.Kind == d.Kind && u.Name == d.Name
		}) {
			c.unknown = append(c.unknown, d)
		}
	case f.Known && f.Kind == VaryParameters:
		c.addUnknown(d)
	}
}

func (c *contrast) addUnknown(d Difference) {
	if !slices.Contains(c.unknown, d) {
		c.unknown = append(c.unknown, d)
	}
}

// differ reports whether there is a difference of a kind on a runner.
func (c *contrast) differ(runner string, kind Kind, names ...string) bool {
	return slices.ContainsFunc(c.differences, func(d Difference) bool {
		return d.Runner == runner && d.Kind == kind && (len(names) == 0 || slices.Contains(names, d.Name))
	})
}

// runner adds the differences between two runners.
func (c *contrast) runner(base, cand *Runner, file bool) {
	label := base.ID
	if base.ID != cand.ID {
		label += " → " + cand.ID
	}
	configured := base.Config != "" && cand.Config != ""
	equal := configured && base.Config == cand.Config
	before := len(c.differences)
	c.compare(base.Facts, cand.Facts, label, file, equal)
	ofRunner := func(d Difference) bool { return d.Runner == label }
	if configured && !equal && len(c.differences) == before && slices.ContainsFunc(c.unknown, ofRunner) {
		kind := VaryModel
		if base.Kind == plumb.RunnerAgent || base.Kind == plumb.RunnerCommand {
			kind = VaryAgent
		}
		c.differences = append(c.differences, Difference{
			Kind: kind, Name: "configuration", Runner: label,
			Base: short(base.Config), Cand: short(cand.Config),
		})
	}
	if c.differ(label, VaryAgent, "agent", "kind") { // the versions of two agents are not comparable
		c.drop(label, VaryAgentVersion)
	}
	if c.differ(label, VaryModel, "model") { // what another model makes of equal parameters
		for _, d := range c.differences {
			if d.Runner == label && d.Name == effectiveParameters {
				c.reported = append(c.reported, d)
			}
		}
		c.differences = slices.DeleteFunc(c.differences, func(d Difference) bool {
			return d.Runner == label && d.Name == effectiveParameters
		})
	}
}

func (c *contrast) drop(runner string, kind Kind) {
	of := func(d Difference) bool { return d.Runner == runner && d.Kind == kind }
	c.differences, c.unknown = slices.DeleteFunc(c.differences, of), slices.DeleteFunc(c.unknown, of)
}

func short(hash string) string { return text.ShortHash(strings.TrimPrefix(hash, "sha256:"), 12) }

// carriesLess reports whether a side comes from a file that has only a part of the facts.
func (s *Side) carriesLess() bool { return s.Kind != SourceRun && s.Kind != SourceBaseline }

// differences returns the differences between two sides in their runs and in runners with the same
// id. It does not look at cases.
func differences(base, cand *Side) []Difference {
	var c contrast
	file := base.carriesLess() || cand.carriesLess()
	c.compare(base.Facts, cand.Facts, "", file, false)
	for i := range base.Runners {
		for j := range cand.Runners {
			if base.Runners[i].ID == cand.Runners[j].ID {
				c.runner(&base.Runners[i], &cand.Runners[j], file)
			}
		}
	}
	return c.differences
}

// caseDifferences collects differences between paired cases, and names the cases of equal ones
// together.
type caseDifferences struct {
	found []Difference
	cases [][]string
}

func (c *caseDifferences) add(kind Kind, name, base, cand, id string) {
	d := Difference{Kind: kind, Name: name, Base: base, Cand: cand}
	at := slices.Index(c.found, d)
	if at < 0 {
		at = len(c.found)
		c.found, c.cases = append(c.found, d), append(c.cases, nil)
	}
	c.cases[at] = append(c.cases[at], id)
}

// all returns the differences with the names of their cases.
func (c *caseDifferences) all() []Difference {
	for i := range c.found {
		const most = 3
		ids := c.cases[i]
		text := "case " + ids[0]
		if len(ids) > 1 {
			text = fmt.Sprintf("%d cases (%s", len(ids), strings.Join(ids[:min(most, len(ids))], ", "))
			if len(ids) > most {
				text += ", ..."
			}
			text += ")"
		}
		c.found[i].Case = text
	}
	return c.found
}

// settings compares what a case sets beside its prompt and its checks.
func (c *caseDifferences) settings(base, cand *plumb.CaseInfo, file bool) {
	if base.ExpectedFail != cand.ExpectedFail && !file {
		c.add(VaryChecks, "expected failure", fmt.Sprint(base.ExpectedFail), fmt.Sprint(cand.ExpectedFail), cand.ID)
	}
	if base.TimeoutMs != cand.TimeoutMs && !file {
		c.add(VaryLimits, "time limit", milliseconds(base.TimeoutMs), milliseconds(cand.TimeoutMs), cand.ID)
	}
	if base.MaxSteps != cand.MaxSteps && !file {
		c.add(VaryLimits, "steps", limit(int64(base.MaxSteps)), limit(int64(cand.MaxSteps)), cand.ID)
	}
}

// content compares the prompts and the checks of two cases with different hashes. It adds to more
// what is not known.
func (c *caseDifferences) content(base, cand *plumb.CaseInfo, more *caseDifferences) {
	part := func(kind Kind, b, q string) {
		switch {
		case b == "" || q == "":
			more.add(kind, string(kind), cmp.Or(b, unknown), cmp.Or(q, unknown), cand.ID)
		case b != q:
			c.add(kind, string(kind), "the old one", "another", cand.ID)
		}
	}
	part(VaryPrompt, base.PromptHash, cand.PromptHash)
	part(VaryChecks, base.ChecksHash, cand.ChecksHash)
}
