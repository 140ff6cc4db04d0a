package config

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/report"
	"github.com/plumb-eval/plumb/internal/run"
)

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
	case *run.Milliseconds:
		value, fraction = float64(*v), true
	}
	_, time := s.At.(*run.Milliseconds)
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

// Copy copies the wanted settings of from.
func (s *Settings) Copy(from *Settings, wanted func(*Setting) bool) {
	settings := from.List()
	for i, to := range s.List() {
		if wanted(&settings[i]) {
			reflect.ValueOf(to.At).Elem().Set(reflect.ValueOf(settings[i].At).Elem())
		}
	}
}

// IsSet reports whether a setting is not the zero value.
func (s *Setting) IsSet() bool { return !reflect.ValueOf(s.At).Elem().IsZero() }

// runFields returns the readers of the keys of run.
func (r *reader) runFields(to *Settings) []field {
	var fields []field
	for _, s := range to.List() {
		// The first name counts, so it is read last.
		for i, key := range slices.Backward(s.Keys()) {
			fields = append(fields, field{key, func(v value, path string) { r.setting(v, path, &s, i > 0) }})
		}
	}
	return fields
}

// setting reads the value of a setting. With alias, its key is the name of another tool.
func (r *reader) setting(v value, path string, s *Setting, alias bool) {
	switch to := s.At.(type) {
	case *bool:
		*to = r.yes(v, path)
	case *int:
		if *to = int(r.whole(v, path, int64(s.Min))); s.Odd {
			r.odd(v, path, *to)
		}
	case *int64:
		*to = r.whole(v, path, int64(s.Min))
	case *float64:
		*to = r.budget(v, path)
	case *run.Milliseconds:
		*to = run.Milliseconds(r.duration(v, path))
	case *Optional[float64]:
		to.Value, to.None = r.optional(v, path)
	case *Optional[int64]:
		to.Value, to.None = r.seed(v, path)
	case **plumb.WorkspaceConfig:
		*to = r.workspace(v, path)
	case *string:
		*to = r.word(v, path, s)
	case *run.Gates:
		*to = r.gates(v, path)
	case *[]string:
		switch {
		case len(s.Values) > 0:
			*to = r.choices(v, path, s.Values)
		case s.Format == Variable:
			*to = r.variables(v, path)
		case s.Format == Report:
			*to = r.reports(v, path)
		case alias: // documented: an empty list of tags is no filter
			*to = r.each(v, path, r.text)
		default:
			*to = r.words(v, path)
		}
	default:
		panic(fmt.Sprintf("setting %s has a type that no config has: %T", path, to))
	}
}

// word reads the text of a setting.
func (r *reader) word(v value, path string, s *Setting) string {
	switch {
	case len(s.Values) > 0:
		return r.choice(v, path, s.Values)
	case s.Format == Path:
		return r.path(v, path)
	case s.Format == URL:
		return r.address(v, path)
	case s.Format == Variable:
		return r.variable(v, path)
	default:
		return r.text(v, path)
	}
}

// gates reads conditions that a run must meet: a number, a text, or a list of them.
func (r *reader) gates(v value, path string) run.Gates {
	if v.Kind == doc.List {
		var all run.Gates
		for i, e := range v.List {
			all = append(all, r.gates(e, fmt.Sprintf("%s[%d]", path, i))...)
		}
		return all
	}
	text := v.Text()
	if v.Kind == doc.String {
		text = r.text(v, path)
	}
	gates := run.Gates{}
	if err := gates.Set(text); err != nil {
		r.add(v.Place, fmt.Sprintf("%s: %v", path, err), plumb.Hint(err))
	}
	return gates
}

// reports reads the reports of a run. The terminal report has another name in the configs of
// skillgym.
func (r *reader) reports(v value, path string) []string {
	reports := r.words(v, path)
	for i, spec := range reports {
		if reports[i] = r.report(spec); spec == "standard" {
			reports[i] = report.Terminal
		}
	}
	return reports
}

// report makes the path in a report absolute.
func (r *reader) report(spec string) string {
	name, file, toFile := strings.Cut(spec, ":")
	switch {
	case IsModule(spec):
		return r.absolute(spec)
	case toFile:
		return name + ":" + r.absolute(file)
	default:
		return spec
	}
}

// IsModule reports whether a report is a module that the user wrote, and not a built-in reporter.
func IsModule(spec string) bool {
	switch strings.ToLower(filepath.Ext(spec)) {
	case ".ts", ".mts", ".cts", ".js", ".mjs", ".cjs":
		name, _, toFile := strings.Cut(spec, ":")
		return !toFile || !slices.Contains(report.Names(), name)
	}
	return strings.HasPrefix(spec, "./") || strings.HasPrefix(spec, "../") || filepath.IsAbs(spec)
}

// Text returns the description of a key: a phrase without backquotes.
func (s *Setting) Text() string { return strings.ReplaceAll(cmp.Or(s.Doc, s.Help), "`", "") }

// Optional is a number or none, which leaves the choice to the provider. It is also the value of a
// flag.
type Optional[T int64 | float64] struct {
	Value *T
	None  bool
}

// Type returns the name of the type for the help of flags.
func (o *Optional[T]) Type() string { return "number|none" }

func (o *Optional[T]) String() string {
	switch {
	case o.None:
		return "none"
	case o.Value == nil:
		return ""
	default:
		return fmt.Sprint(*o.Value)
	}
}

// Set parses a number or none.
func (o *Optional[T]) Set(s string) error {
	if s == "none" {
		*o = Optional[T]{None: true}
		return nil
	}
	number, err := doc.ParseNumber(s)
	if err != nil {
		return fmt.Errorf("%q is neither a number nor none", s)
	}
	*o = Optional[T]{Value: new(T(number))}
	if whole, ok := any(o.Value).(*int64); ok {
		if *whole, err = doc.ParseWhole(s); err != nil {
			return fmt.Errorf("%q is not a whole number", s)
		}
	}
	return nil
}
