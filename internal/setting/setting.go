// Package setting is the mechanism of settings: one description of a setting gives its flag, its key in
// a config, its help and its checks. Each command line has a list of its own.
package setting

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/doc"
)

// A Setting describes one setting of a command: a flag, a key of its config, or both.
type Setting struct {
	// Key is "" for a setting without a key, Flag for one without a flag. Short is a flag with one
	// letter. The other names are those of other tools.
	Key, Flag, Short      string
	OtherKeys, OtherFlags []string
	// At points to the field of the setting. Its type decides the type of the setting.
	At any
	// Format restricts a text.
	Format Format
	// Values are the only allowed values. Known are suggested to the shell, beside others.
	Values, Known []string
	// Min is the smallest allowed whole number. Fractions and durations must be above 0. With NoLimit, 0
	// takes the limit of a resumed run away.
	Min     int
	NoLimit bool
	// Odd demands an odd number.
	Odd bool
	// NewRunner is set if the setting applies only to the runners of --model and --agent.
	NewRunner bool
	// Bare is the value of the flag if it is given without one; "" if it needs one.
	Bare string
	// Commas lets one value of the flag hold several, separated by commas.
	Commas bool
	// Help describes the setting, with the name of the flag's value in backquotes. Doc replaces it
	// in the description of the key.
	Help, Doc string
	// Resume and Score are the help of the flag in plumb resume and plumb score; "" if these
	// commands do not have it.
	Resume, Score string
}

// Format is the form of a text.
type Format string

// The formats. A relative path in the config starts at the folder of the config. A variable is the
// name of an environment variable.
const (
	Path     Format = "path"
	URL      Format = "URL"
	Variable Format = "variable name"
)

// A Group is a list of settings with a heading in the help.
type Group struct {
	Title    string
	Settings []Setting
}

// Keys returns the names of the setting in the config.
func (s *Setting) Keys() []string {
	if s.Key == "" {
		return nil
	}
	return append([]string{s.Key}, s.OtherKeys...)
}

// Check checks the value of the flag. A 0 that is given is a value and not "not given": where it has
// no meaning, it is an error. With resumed, the flag changes a run that exists.
func (s *Setting) Check(resumed bool) error {
	var value float64
	fraction := false
	switch v := s.At.(type) {
	case *string:
		if len(s.Values) > 0 && !slices.Contains(s.Values, *v) {
			return plumb.WithHint(fmt.Errorf("unknown --%s %q", s.Flag, *v), DidYouMean(*v, s.Values))
		}
		return nil
	case *int:
		value = float64(*v)
	case *int64:
		value = float64(*v)
	case *float64:
		value, fraction = *v, true
	case *Milliseconds:
		value, fraction = float64(*v), true
	}
	_, time := s.At.(*Milliseconds)
	switch {
	case math.IsNaN(value) || math.IsInf(value, 0):
		return fmt.Errorf("--%s must be a finite number", s.Flag)
	case resumed && s.NoLimit && value == 0:
		return nil
	case time && value <= 0:
		return fmt.Errorf("--%s must be at least 1ms", s.Flag)
	case fraction && value <= 0:
		return fmt.Errorf("--%s must be greater than 0", s.Flag)
	case value < float64(s.Min):
		return fmt.Errorf("--%s must be at least %d", s.Flag, s.Min)
	case s.Odd && math.Mod(value, 2) == 0:
		return plumb.WithHint(fmt.Errorf("--%s %v can end in a tie", s.Flag, value), "use an odd number")
	}
	return nil
}

// DidYouMean names the known value nearest to value, or all of them.
func DidYouMean(value string, known []string) string {
	if near := plumb.Nearest(value, known); near != "" {
		return "did you mean " + near + "?"
	}
	return "one of " + strings.Join(known, ", ")
}

// IsSet reports whether a setting is not the zero value.
func (s *Setting) IsSet() bool { return !reflect.ValueOf(s.At).Elem().IsZero() }

// Text returns the description of a key: a phrase without backquotes.
func (s *Setting) Text() string { return strings.ReplaceAll(cmp.Or(s.Doc, s.Help), "`", "") }

// Set reads the value of a setting. It reports false for a setting whose type it does not know.
func (r *Reader) Set(v doc.Value, path string, s *Setting) bool {
	switch to := s.At.(type) {
	case *bool:
		*to = r.Yes(v, path)
	case *int:
		if *to = int(r.Whole(v, path, int64(s.Min))); s.Odd {
			r.Odd(v, path, *to)
		}
	case *int64:
		*to = r.Whole(v, path, int64(s.Min))
	case *float64:
		*to = r.Budget(v, path)
	case *Milliseconds:
		*to = Milliseconds(r.Duration(v, path))
	case *Optional[float64]:
		to.Value, to.None = r.Optional(v, path)
	case *Optional[int64]:
		to.Value, to.None = r.Seed(v, path)
	default:
		return false
	}
	return true
}
