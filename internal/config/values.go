package config

import (
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/report/kind"
	"github.com/plumb-eval/plumb/internal/run"
	"github.com/plumb-eval/plumb/internal/setting"
)

// Copy copies the wanted settings of from.
func (s *Settings) Copy(from *Settings, wanted func(*setting.Setting) bool) {
	settings := from.List()
	for i, to := range s.List() {
		if wanted(&settings[i]) {
			reflect.ValueOf(to.At).Elem().Set(reflect.ValueOf(settings[i].At).Elem())
		}
	}
}

// runFields returns the readers of the keys of run.
func (r *reader) runFields(to *Settings) []setting.Field {
	var fields []setting.Field
	for _, s := range to.List() {
		// The first name counts, so it is read last.
		for i, key := range slices.Backward(s.Keys()) {
			fields = append(fields, setting.Field{Name: key, Read: func(v value, path string) { r.setting(v, path, &s, i > 0) }})
		}
	}
	return fields
}

// setting reads the value of a setting. With alias, its key is the name of another tool.
func (r *reader) setting(v value, path string, s *setting.Setting, alias bool) {
	if r.Set(v, path, s) {
		return
	}
	switch to := s.At.(type) {
	case **plumb.WorkspaceConfig:
		*to = r.workspace(v, path)
	case *string:
		*to = r.word(v, path, s)
	case *run.Gates:
		*to = r.gates(v, path)
	case *[]string:
		switch {
		case len(s.Values) > 0:
			*to = r.Choices(v, path, s.Values)
		case s.Format == setting.Variable:
			*to = r.Variables(v, path)
		case s.Format == Report:
			*to = r.reports(v, path)
		case alias: // documented: an empty list of tags is no filter
			*to = r.each(v, path, r.Text)
		default:
			*to = r.Words(v, path)
		}
	default:
		panic(fmt.Sprintf("setting %s has a type that no config has: %T", path, to))
	}
}

// word reads the text of a setting.
func (r *reader) word(v value, path string, s *setting.Setting) string {
	switch {
	case len(s.Values) > 0:
		return r.Choice(v, path, s.Values)
	case s.Format == setting.Path:
		return r.path(v, path)
	case s.Format == setting.URL:
		return r.address(v, path)
	case s.Format == setting.Variable:
		return r.Variable(v, path)
	default:
		return r.Text(v, path)
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
		text = r.Text(v, path)
	}
	gates := run.Gates{}
	if err := gates.Set(text); err != nil {
		r.Add(v.Place, fmt.Sprintf("%s: %v", path, err), plumb.Hint(err))
	}
	return gates
}

// reports reads the reports of a run. The terminal report has another name in the configs of
// skillgym.
func (r *reader) reports(v value, path string) []string {
	reports := r.Words(v, path)
	for i, spec := range reports {
		if reports[i] = r.report(spec); spec == "standard" {
			reports[i] = kind.Terminal
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
		return !toFile || !slices.Contains(kind.Names(), name)
	}
	return strings.HasPrefix(spec, "./") || strings.HasPrefix(spec, "../") || filepath.IsAbs(spec)
}
