package check

import (
	"fmt"
	"regexp"
	"regexp/syntax"

	"github.com/plumb-eval/plumb"
)

// patternSteps bounds the instructions of a pattern times the bytes of the text that it searches,
// which is the most work that package regexp does. It takes about ten seconds.
const patternSteps = 1_000_000_000

// pattern is a regular expression of an author, which searches what a model wrote.
type pattern struct {
	*regexp.Regexp
	// instructions is the size of its program.
	instructions int
}

func compilePattern(expression string) (*pattern, error) {
	parsed, err := syntax.Parse(expression, syntax.Perl)
	if err != nil {
		return nil, err
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return nil, err
	}
	re, err := regexp.Compile(expression)
	return &pattern{re, len(program.Inst)}, err
}

// tooLarge returns a failure if the search of so many bytes could take too long. This does not
// depend on the time that it would take, so that a verdict is the same on each machine.
func (p *pattern) tooLarge(bytes int) *plumb.Failure {
	if p == nil || p.instructions*bytes <= patternSteps {
		return nil
	}
	f := plumb.Failed(plumb.OriginAssertHook, plumb.WithHint(
		fmt.Errorf("the pattern has %d instructions, too many to search %d bytes", p.instructions, bytes),
		fmt.Sprintf("their product must be at most %d: simplify the pattern, in particular its repetitions", patternSteps)))
	return f
}
