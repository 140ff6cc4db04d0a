package config

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/text"
)

// reader reads values and collects their problems. It returns the zero value for an invalid value.
type reader struct {
	file string
	// dir is the directory at which relative paths start.
	dir string
	// code means that the values come from code and have no places.
	code bool
	// suite means that the document is a suite, and not a config.
	suite    bool
	problems doc.Problems
	// absent are the files and directories that do not exist. They are problems only beside others,
	// because commands that run nothing do not need them.
	absent doc.Problems
}

// value is a value of a config.
type value = doc.Value

// noLimit is the upper limit of numbers without one.
const noLimit = math.MaxFloat64

func (r *reader) add(at doc.Place, message, hint string) {
	r.problems = append(r.problems, doc.Problem{Pos: r.position(at), Message: message, Hint: hint})
}

func (r *reader) warn(at doc.Place, message, hint string) {
	r.problems = append(r.problems, doc.Problem{Pos: r.position(at), Message: message, Hint: hint, Warning: true})
}

func (r *reader) position(at doc.Place) plumb.Position {
	if r.code {
		at = doc.Place{}
	}
	return at.In(r.file)
}

func (r *reader) wrong(v value, path, want string) {
	if v.Kind == doc.Null {
		r.add(v.Place, path+" has no value, expected "+want, "leave the key out")
		return
	}
	r.add(v.Place, fmt.Sprintf("%s must be %s, not %s", path, want, v.Kind), "")
}

func (r *reader) is(v value, path string, kind doc.Kind) bool {
	if v.Kind != kind {
		r.wrong(v, path, kind.String())
	}
	return v.Kind == kind
}

const notAMapping = "a config must be a mapping"

// members returns the members of a mapping, the first one of each key.
func (r *reader) members(v value, path string) []doc.Member {
	if !r.is(v, path, doc.Map) {
		return nil
	}
	seen := map[string]bool{}
	return slices.DeleteFunc(slices.Clone(v.Members), func(m doc.Member) bool {
		twice := seen[m.Key] // the parser reports it
		seen[m.Key] = true
		return twice
	})
}

// object reads the known keys of a mapping in the order of fields, and reports the others.
func (r *reader) object(v value, path string, fields []field) {
	if path == "" && v.Kind != doc.Map {
		r.add(v.Place, notAMapping+", not "+v.Kind.String(), "")
		return
	}
	at := func(key string) string { return strings.TrimPrefix(path+"."+key, ".") }
	seen := map[string]value{}
	for _, m := range r.members(v, path) {
		if seen[m.Key] = m.Value; !known(fields, m.Key) {
			r.add(m.Place, fmt.Sprintf("unknown key %q", at(m.Key)), r.elsewhere(path, m.Key, fields))
		}
	}
	for _, f := range fields {
		if found, ok := seen[f.name]; ok {
			f.read(found, at(f.name))
		}
	}
}

// elsewhere returns a hint for an unknown key: the nearest known key, or the section of the key.
func (r *reader) elsewhere(path, key string, fields []field) string {
	words := fieldNames(fields)
	if near := plumb.Nearest(key, words); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	run := fieldNames(r.runFields(&Settings{}))
	switch {
	case r.suite:
	case path == "" && plumb.Nearest(key, run) != "" && !slices.Contains(run, key):
		return fmt.Sprintf("did you mean %q?", "run."+plumb.Nearest(key, run))
	case strings.HasPrefix(path, "runners.") && known(fields, "agent") &&
		known(r.agentFields(&plumb.AgentConfig{}), key):
		return "it belongs in agent"
	case path != "run" && known(r.runFields(&Settings{}), key):
		return "it belongs in run"
	case path != "" && known(r.topFields(&Config{}), key):
		return "it belongs at the top level"
	}
	return doc.DidYouMean(key, words)
}

func fieldNames(fields []field) []string {
	words := make([]string, 0, len(fields))
	for _, f := range fields {
		if f.name != "$schema" {
			words = append(words, f.name)
		}
	}
	return words
}

// all returns the problems of a document. A path that does not exist is one beside others.
func (r *reader) all() doc.Problems {
	if r.problems.Err() == nil {
		return r.problems
	}
	return append(r.problems, r.absent...)
}

// text reads a string that is not blank.
func (r *reader) text(v value, path string) string {
	if v.Kind == doc.Number || v.Kind == doc.Bool {
		r.add(v.Place, fmt.Sprintf("%s must be a string, not %s", path, v.Text()), "put it in quotes")
		return ""
	}
	if !r.is(v, path, doc.String) {
		return ""
	}
	if strings.TrimSpace(v.Text()) == "" {
		r.add(v.Place, path+" is empty", "leave the key out")
		return ""
	}
	if strings.ContainsRune(v.Text(), 0) {
		r.add(v.Place, path+" contains a NUL character", "remove it")
		return ""
	}
	return v.Text()
}

// words reads a list of strings, or one string as a list of one.
func (r *reader) words(v value, path string) []string {
	if v.Kind == doc.String {
		return []string{r.text(v, path)}
	}
	if v.Kind != doc.List {
		r.wrong(v, path, "a list of strings")
		return nil
	}
	if len(v.List) == 0 {
		r.add(v.Place, path+" is an empty list", "leave the key out")
	}
	words := make([]string, 0, len(v.List))
	for i, e := range v.List {
		words = append(words, r.text(e, fmt.Sprintf("%s[%d]", path, i)))
	}
	return words
}

func (r *reader) choice(v value, path string, known []string) string {
	if v.Kind == doc.Bool && slices.Contains(known, "on") { // YAML 1.1 habits: cache: false
		r.add(v.Place, fmt.Sprintf("%s must be one of %s, not %s", path, strings.Join(known, ", "), v.Text()), "")
		return ""
	}
	word := r.text(v, path)
	if word == "" || slices.Contains(known, word) {
		return word
	}
	r.add(v.Place, fmt.Sprintf("%s must be one of %s, not %q", path, strings.Join(known, ", "), word), "")
	return ""
}

func (r *reader) choices(v value, path string, known []string) []string {
	if v.Kind != doc.List {
		return []string{r.choice(v, path, known)}
	}
	words := r.words(v, path)
	for i, e := range v.List {
		if e.Kind == doc.String {
			words[i] = r.choice(e, fmt.Sprintf("%s[%d]", path, i), known)
		}
	}
	return words
}

// number reads a finite number from 0 to high.
func (r *reader) number(v value, path string, high float64) float64 {
	if !r.is(v, path, doc.Number) {
		return 0
	}
	f, err := strconv.ParseFloat(v.Text(), 64)
	switch {
	case err != nil || math.IsNaN(f) || math.IsInf(f, 0):
		r.add(v.Place, path+" must be a finite number", "")
	case f < 0 && high == noLimit:
		r.add(v.Place, fmt.Sprintf("%s must be at least 0, not %s", path, v.Text()), "")
	case f < 0 || f > high:
		r.add(v.Place, fmt.Sprintf("%s must be from 0 to %v, not %s", path, high, v.Text()), "")
	default:
		return f
	}
	return 0
}

// whole reads a whole number of at least low.
func (r *reader) whole(v value, path string, low int64) int64 {
	if !r.is(v, path, doc.Number) {
		return 0
	}
	f, err := strconv.ParseFloat(v.Text(), 64)
	switch {
	case err != nil || f != math.Trunc(f):
		r.add(v.Place, fmt.Sprintf("%s must be a whole number, not %s", path, v.Text()), "")
	case f < float64(low):
		r.add(v.Place, fmt.Sprintf("%s must be at least %d, not %s", path, low, v.Text()), "")
	case f > math.MaxInt32 && !strings.HasSuffix(path, "okens") && !strings.HasSuffix(path, "Ms"):
		r.add(v.Place, path+" is too large", "")
	case f > 1<<53:
		r.add(v.Place, path+" is too large", "")
	default:
		return int64(f)
	}
	return 0
}

// odd reports an even number of votes, which can end in a tie.
func (r *reader) odd(v value, path string, votes int) {
	if votes > 0 && votes%2 == 0 {
		r.add(v.Place, fmt.Sprintf("%s must be odd, not %d", path, votes), "votes could be tied")
	}
}

// budget reads an amount of money above 0.
func (r *reader) budget(v value, path string) float64 {
	before := len(r.problems)
	usd := r.number(v, path, noLimit)
	if usd == 0 && len(r.problems) == before {
		r.add(v.Place, path+" must be greater than 0", "leave the key out for no limit")
	}
	return usd
}

// duration reads a number of milliseconds, or a text such as "90s" or "10m".
func (r *reader) duration(v value, path string) int64 {
	if v.Kind != doc.String {
		if v.Kind != doc.Number {
			r.wrong(v, path, `milliseconds or a text such as "90s"`)
			return 0
		}
		ms := r.whole(v, path, 1)
		if ms > math.MaxInt64/int64(time.Millisecond) {
			r.add(v.Place, path+" is too large", "")
			return 0
		}
		return ms
	}
	d, err := text.ParseDuration(v.Text())
	switch {
	case err != nil:
		r.add(v.Place, fmt.Sprintf("%s is not a duration: %q", path, v.Text()),
			`milliseconds, or a text such as "90s", "10m" or "1h30m"`)
	case d < time.Millisecond:
		r.add(v.Place, fmt.Sprintf("%s must be at least 1ms, not %s", path, v.Text()), "")
	default:
		return d.Milliseconds()
	}
	return 0
}

// optional reads a temperature. With null, none is sent.
func (r *reader) optional(v value, path string) (f *float64, none bool) {
	if v.Kind == doc.Null {
		return nil, true
	}
	return new(r.number(v, path, noLimit)), false
}

// seed reads a seed. With null, none is sent.
func (r *reader) seed(v value, path string) (n *int64, none bool) {
	if v.Kind == doc.Null {
		return nil, true
	}
	if !r.is(v, path, doc.Number) {
		return nil, false
	}
	i, err := strconv.ParseInt(v.Text(), 10, 64)
	if err != nil {
		r.add(v.Place, fmt.Sprintf("%s must be a whole number, not %s", path, v.Text()), "")
	}
	return &i, false
}

// pairs reads a mapping of names to strings. Numbers and booleans become their text in the file.
func (r *reader) pairs(v value, path string) map[string]string {
	pairs := make(map[string]string, len(v.Members))
	for _, m := range r.members(v, path) {
		switch m.Value.Kind {
		case doc.String, doc.Number, doc.Bool:
			if pairs[m.Key] = m.Value.Text(); strings.ContainsRune(m.Key+m.Value.Text(), 0) {
				r.add(m.Value.Place, fmt.Sprintf("%s.%q contains a NUL character", path, m.Key), "remove it")
			}
		default:
			r.wrong(m.Value, path+"."+m.Key, "a string")
		}
	}
	return pairs
}

// headers reads headers of HTTP requests. Its messages do not repeat values, which may be secrets.
func (r *reader) headers(v value, path string) map[string]string {
	for i := range v.Members {
		m := &v.Members[i]
		switch {
		case !httpguts.ValidHeaderFieldName(m.Key):
			r.add(m.Place, fmt.Sprintf("%s: %q cannot be the name of a header", path, m.Key), "")
		case m.Value.Kind == doc.String && !httpguts.ValidHeaderFieldValue(m.Value.Text()):
			r.add(m.Value.Place, path+"."+m.Key+" contains a line end or another control character", "remove it")
		}
	}
	return r.pairs(v, path)
}

// variable reads the name of an environment variable. Its message does not repeat an invalid name,
// which may be the key itself.
func (r *reader) variable(v value, path string) string {
	name := r.text(v, path)
	for i, c := range name {
		if c != '_' && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && (c < '0' || c > '9' || i == 0) {
			r.add(v.Place, path+" must be the name of an environment variable",
				"never put a key itself into a config file")
			return ""
		}
	}
	return name
}

func (r *reader) variables(v value, path string) []string {
	if v.Kind != doc.List {
		return []string{r.variable(v, path)}
	}
	names := make([]string, 0, len(v.List))
	for i, e := range v.List {
		names = append(names, r.variable(e, fmt.Sprintf("%s[%d]", path, i)))
	}
	return names
}
