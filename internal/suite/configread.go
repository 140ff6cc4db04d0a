package suite

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plumb-eval/plumb"
)

// configReader reads values and collects what is wrong with them. A value that is wrong reads as the zero value.
type configReader struct {
	file string
	// dir is where relative paths start.
	dir string
	// code says that the values come from code and have no places.
	code bool
	// suite says that a suite is read, and not a config.
	suite    bool
	problems Problems
}

// noLimit is the upper end of a range that has none.
const noLimit = math.MaxFloat64

func (r *configReader) add(line, column int, message, hint string) {
	r.problems = append(r.problems, Problem{Pos: r.position(line, column), Message: message, Hint: hint})
}

func (r *configReader) warn(line, column int, message, hint string) {
	r.problems = append(r.problems, Problem{Pos: r.position(line, column), Message: message, Hint: hint, Warning: true})
}

func (r *configReader) position(line, column int) plumb.Position {
	if r.code {
		line, column = 0, 0
	}
	return plumb.Position{File: r.file, Line: line, Column: column}
}

func (r *configReader) wrong(v value, path, want string) {
	if v.kind == kindNull {
		r.add(v.line, v.column, path+" has no value, expected "+want, "leave the key out")
		return
	}
	r.add(v.line, v.column, fmt.Sprintf("%s must be %s, not %s", path, want, v.kind), "")
}

func (r *configReader) is(v value, path string, kind valueKind) bool {
	if v.kind != kind {
		r.wrong(v, path, kind.String())
	}
	return v.kind == kind
}

const notAMapping = "a config must be a mapping"

// object reads the known keys of a mapping in the order of fields, and reports the others.
func (r *configReader) object(v value, path string, fields []field) {
	if path == "" && v.kind != kindMap {
		r.add(v.line, v.column, notAMapping+", not "+v.kind.String(), "")
		return
	}
	if !r.is(v, path, kindMap) {
		return
	}
	at := func(key string) string { return strings.TrimPrefix(path+"."+key, ".") }
	seen := map[string]value{}
	for _, m := range v.members {
		if _, twice := seen[m.key]; twice {
			r.add(m.line, m.column, fmt.Sprintf("duplicate key %q", at(m.key)), "")
			continue
		}
		seen[m.key] = m.value
		if known(fields, m.key) {
			continue
		}
		r.add(m.line, m.column, fmt.Sprintf("unknown key %q", at(m.key)), r.elsewhere(path, m.key, fields))
	}
	for _, f := range fields {
		if found, ok := seen[f.name]; ok {
			f.read(found, at(f.name))
		}
	}
}

// elsewhere says what an unknown key was probably meant to be, or where it belongs.
func (r *configReader) elsewhere(path, key string, fields []field) string {
	words := make([]string, 0, len(fields))
	for _, f := range fields {
		if f.name != "$schema" {
			words = append(words, f.name)
		}
	}
	if near := plumb.Nearest(key, words); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	switch {
	case r.suite:
	case strings.HasPrefix(path, "runners.") && known(fields, "agent") && known(r.agentFields(&plumb.AgentConfig{}), key):
		return "it belongs in agent"
	case path != "run" && known(r.runFields(&Config{}), key):
		return "it belongs in run"
	case path != "" && known(r.topFields(&Config{}), key):
		return "it belongs at the top level"
	}
	return didYouMean(key, words)
}

// text reads a string that is not blank.
func (r *configReader) text(v value, path string) string {
	if v.kind == kindNumber || v.kind == kindBool {
		r.add(v.line, v.column, fmt.Sprintf("%s must be a string, not %s", path, v.text), "put it in quotes")
		return ""
	}
	if !r.is(v, path, kindString) {
		return ""
	}
	if strings.TrimSpace(v.text) == "" {
		r.add(v.line, v.column, path+" is empty", "leave the key out")
		return ""
	}
	return v.text
}

// words reads a list of strings, or one string as a list of one.
func (r *configReader) words(v value, path string) []string {
	if v.kind == kindString {
		return []string{r.text(v, path)}
	}
	if v.kind != kindList {
		r.wrong(v, path, "a list of strings")
		return nil
	}
	if len(v.list) == 0 {
		r.add(v.line, v.column, path+" is an empty list", "leave the key out")
	}
	words := make([]string, 0, len(v.list))
	for i, e := range v.list {
		words = append(words, r.text(e, fmt.Sprintf("%s[%d]", path, i)))
	}
	return words
}

func (r *configReader) choice(v value, path string, known []string) string {
	if v.kind == kindBool && slices.Contains(known, "on") { // YAML 1.1 habits: cache: false
		r.add(v.line, v.column, fmt.Sprintf("%s must be one of %s, not %s", path, strings.Join(known, ", "), v.text), "")
		return ""
	}
	word := r.text(v, path)
	if word == "" || slices.Contains(known, word) {
		return word
	}
	r.add(v.line, v.column, fmt.Sprintf("%s must be one of %s, not %q", path, strings.Join(known, ", "), word), "")
	return ""
}

func (r *configReader) choices(v value, path string, known []string) []string {
	if v.kind != kindList {
		return []string{r.choice(v, path, known)}
	}
	words := r.words(v, path)
	for i, e := range v.list {
		if e.kind == kindString {
			words[i] = r.choice(e, fmt.Sprintf("%s[%d]", path, i), known)
		}
	}
	return words
}

// number reads a finite number from 0 to high.
func (r *configReader) number(v value, path string, high float64) float64 {
	if !r.is(v, path, kindNumber) {
		return 0
	}
	f, err := strconv.ParseFloat(v.text, 64)
	switch {
	case err != nil || math.IsNaN(f) || math.IsInf(f, 0):
		r.add(v.line, v.column, path+" must be a finite number", "")
	case f < 0 && high == noLimit:
		r.add(v.line, v.column, fmt.Sprintf("%s must be at least 0, not %s", path, v.text), "")
	case f < 0 || f > high:
		r.add(v.line, v.column, fmt.Sprintf("%s must be from 0 to %v, not %s", path, high, v.text), "")
	default:
		return f
	}
	return 0
}

// whole reads a whole number of at least low.
func (r *configReader) whole(v value, path string, low int64) int64 {
	if !r.is(v, path, kindNumber) {
		return 0
	}
	f, err := strconv.ParseFloat(v.text, 64)
	switch {
	case err != nil || f != math.Trunc(f):
		r.add(v.line, v.column, fmt.Sprintf("%s must be a whole number, not %s", path, v.text), "")
	case f < float64(low):
		r.add(v.line, v.column, fmt.Sprintf("%s must be at least %d, not %s", path, low, v.text), "")
	case f > math.MaxInt32 && !strings.HasSuffix(path, "okens") && !strings.HasSuffix(path, "Ms"):
		r.add(v.line, v.column, path+" is too large", "")
	case f > 1<<53:
		r.add(v.line, v.column, path+" is too large", "")
	default:
		return int64(f)
	}
	return 0
}

// votes reads an odd number: an even one can end in a tie.
func (r *configReader) votes(v value, path string) int {
	n := int(r.whole(v, path, 1))
	if n > 0 && n%2 == 0 {
		r.add(v.line, v.column, fmt.Sprintf("%s must be odd, not %d", path, n), "votes could be tied")
	}
	return n
}

// budget reads an amount of money above 0.
func (r *configReader) budget(v value, path string) *float64 {
	before := len(r.problems)
	usd := r.number(v, path, noLimit)
	if usd == 0 && len(r.problems) == before {
		r.add(v.line, v.column, path+" must be greater than 0", "leave the key out for no limit")
	}
	return &usd
}

// duration reads milliseconds as a number, or a text such as "90s" or "10m".
func (r *configReader) duration(v value, path string) int64 {
	if v.kind != kindString {
		if v.kind != kindNumber {
			r.wrong(v, path, `milliseconds or a text such as "90s"`)
			return 0
		}
		ms := r.whole(v, path, 1)
		if ms > math.MaxInt64/int64(time.Millisecond) {
			r.add(v.line, v.column, path+" is too large", "")
			return 0
		}
		return ms
	}
	d, err := time.ParseDuration(v.text)
	switch {
	case err != nil:
		r.add(v.line, v.column, fmt.Sprintf("%s is no duration: %q", path, v.text), `milliseconds, or a text such as "90s", "10m" or "1h30m"`)
	case d < time.Millisecond:
		r.add(v.line, v.column, fmt.Sprintf("%s must be at least 1ms, not %s", path, v.text), "")
	default:
		return d.Milliseconds()
	}
	return 0
}

// optional reads a temperature; null says that none is to be sent.
func (r *configReader) optional(v value, path string) (f *float64, none bool) {
	if v.kind == kindNull {
		return nil, true
	}
	return new(r.number(v, path, noLimit)), false
}

// seed reads a seed; null says that none is to be sent.
func (r *configReader) seed(v value, path string) (n *int64, none bool) {
	if v.kind == kindNull {
		return nil, true
	}
	if !r.is(v, path, kindNumber) {
		return nil, false
	}
	i, err := strconv.ParseInt(v.text, 10, 64)
	if err != nil {
		r.add(v.line, v.column, fmt.Sprintf("%s must be a whole number, not %s", path, v.text), "")
	}
	return &i, false
}

// pairs reads a mapping of names to strings; numbers and booleans are taken as they are written.
func (r *configReader) pairs(v value, path string) map[string]string {
	if !r.is(v, path, kindMap) {
		return nil
	}
	pairs := make(map[string]string, len(v.members))
	for _, m := range v.members {
		if _, twice := pairs[m.key]; twice {
			r.add(m.line, m.column, fmt.Sprintf("duplicate key %q", path+"."+m.key), "")
			continue
		}
		switch m.value.kind {
		case kindString, kindNumber, kindBool:
			pairs[m.key] = m.value.text
		default:
			r.wrong(m.value, path+"."+m.key, "a string")
		}
	}
	return pairs
}

// variable reads the name of an environment variable. What is none may be a key that was put there by mistake, so it is
// not repeated.
func (r *configReader) variable(v value, path string) string {
	name := r.text(v, path)
	for i, c := range name {
		if c != '_' && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && (c < '0' || c > '9' || i == 0) {
			r.add(v.line, v.column, path+" must be the name of an environment variable", "never put a key itself into a config file")
			return ""
		}
	}
	return name
}

func (r *configReader) variables(v value, path string) []string {
	if v.kind != kindList {
		return []string{r.variable(v, path)}
	}
	names := make([]string, 0, len(v.list))
	for i, e := range v.list {
		names = append(names, r.variable(e, fmt.Sprintf("%s[%d]", path, i)))
	}
	return names
}
