package setting

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

// Reader reads the values of a document and collects their problems. It returns the zero value for an
// invalid value.
type Reader struct {
	// File is the document in messages.
	File string
	// Code means that the values come from code and have no places.
	Code     bool
	Problems doc.Problems
	// Elsewhere returns a hint for an unknown key of a section, or "": for example that the key
	// belongs in another section. It may be nil.
	Elsewhere func(section, key string, fields []Field) string
}

// A Field is a key of a section, with the function that reads its value. path names the value in
// messages.
type Field struct {
	Name string
	Read func(v doc.Value, path string)
}

// NoLimit is the upper limit of numbers without one.
const NoLimit = math.MaxFloat64

// Add adds a problem at a place.
func (r *Reader) Add(at doc.Place, message, hint string) {
	r.Problems = append(r.Problems, doc.Problem{Pos: r.Position(at), Message: message, Hint: hint})
}

// Warn adds a warning at a place.
func (r *Reader) Warn(at doc.Place, message, hint string) {
	r.Problems = append(r.Problems, doc.Problem{Pos: r.Position(at), Message: message, Hint: hint, Warning: true})
}

// Position returns a place in the document. Values from code have none.
func (r *Reader) Position(at doc.Place) plumb.Position {
	if r.Code {
		at = doc.Place{}
	}
	return at.In(r.File)
}

// Wrong adds the problem that a value is of another kind than wanted.
func (r *Reader) Wrong(v doc.Value, path, want string) {
	if v.Kind == doc.Null {
		r.Add(v.Place, path+" has no value, expected "+want, "leave the key out")
		return
	}
	r.Add(v.Place, fmt.Sprintf("%s must be %s, not %s", path, want, v.Kind), "")
}

// Is reports whether a value is of a kind, and adds a problem if it is not.
func (r *Reader) Is(v doc.Value, path string, kind doc.Kind) bool {
	if v.Kind != kind {
		r.Wrong(v, path, kind.String())
	}
	return v.Kind == kind
}

// NotAMapping is the problem of a document that has no keys.
const NotAMapping = "a config must be a mapping"

// Members returns the members of a mapping, the first one of each key.
func (r *Reader) Members(v doc.Value, path string) []doc.Member {
	if !r.Is(v, path, doc.Map) {
		return nil
	}
	seen := map[string]bool{}
	return slices.DeleteFunc(slices.Clone(v.Members), func(m doc.Member) bool {
		twice := seen[m.Key] // the parser reports it
		seen[m.Key] = true
		return twice
	})
}

// Object reads the known keys of a mapping in the order of fields, and reports the others.
func (r *Reader) Object(v doc.Value, path string, fields []Field) {
	if path == "" && v.Kind != doc.Map {
		r.Add(v.Place, NotAMapping+", not "+v.Kind.String(), "")
		return
	}
	at := func(key string) string { return strings.TrimPrefix(path+"."+key, ".") }
	seen := map[string]doc.Value{}
	for _, m := range r.Members(v, path) {
		if seen[m.Key] = m.Value; !Known(fields, m.Key) {
			r.Add(m.Place, fmt.Sprintf("unknown key %q", at(m.Key)), r.hint(path, m.Key, fields))
		}
	}
	for _, f := range fields {
		if found, ok := seen[f.Name]; ok {
			f.Read(found, at(f.Name))
		}
	}
}

// hint returns a hint for an unknown key: the nearest known key, or where the key belongs.
func (r *Reader) hint(section, key string, fields []Field) string {
	words := Names(fields)
	if near := plumb.Nearest(key, words); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	if r.Elsewhere != nil {
		if hint := r.Elsewhere(section, key, fields); hint != "" {
			return hint
		}
	}
	return doc.DidYouMean(key, words)
}

// Names returns the names of fields, but for that of the schema.
func Names(fields []Field) []string {
	words := make([]string, 0, len(fields))
	for _, f := range fields {
		if f.Name != "$schema" {
			words = append(words, f.Name)
		}
	}
	return words
}

// Text reads a string that is not blank.
func (r *Reader) Text(v doc.Value, path string) string {
	if v.Kind == doc.Number || v.Kind == doc.Bool {
		r.Add(v.Place, fmt.Sprintf("%s must be a string, not %s", path, v.Text()), "put it in quotes")
		return ""
	}
	if !r.Is(v, path, doc.String) {
		return ""
	}
	if strings.TrimSpace(v.Text()) == "" {
		r.Add(v.Place, path+" is empty", "leave the key out")
		return ""
	}
	if strings.ContainsRune(v.Text(), 0) {
		r.Add(v.Place, path+" contains a NUL character", "remove it")
		return ""
	}
	return v.Text()
}

// Words reads a list of strings, or one string as a list of one.
func (r *Reader) Words(v doc.Value, path string) []string {
	if v.Kind == doc.String {
		return []string{r.Text(v, path)}
	}
	if v.Kind != doc.List {
		r.Wrong(v, path, "a list of strings")
		return nil
	}
	if len(v.List) == 0 {
		r.Add(v.Place, path+" is an empty list", "leave the key out")
	}
	words := make([]string, 0, len(v.List))
	for i, e := range v.List {
		words = append(words, r.Text(e, fmt.Sprintf("%s[%d]", path, i)))
	}
	return words
}

// Choice reads one of the known words.
func (r *Reader) Choice(v doc.Value, path string, known []string) string {
	if v.Kind == doc.Bool && slices.Contains(known, "on") { // YAML 1.1 habits: cache: false
		r.Add(v.Place, fmt.Sprintf("%s must be one of %s, not %s", path, strings.Join(known, ", "), v.Text()), "")
		return ""
	}
	word := r.Text(v, path)
	if word == "" || slices.Contains(known, word) {
		return word
	}
	r.Add(v.Place, fmt.Sprintf("%s must be one of %s, not %q", path, strings.Join(known, ", "), word), "")
	return ""
}

// Choices reads a list of known words, or one of them as a list of one.
func (r *Reader) Choices(v doc.Value, path string, known []string) []string {
	if v.Kind != doc.List {
		return []string{r.Choice(v, path, known)}
	}
	words := r.Words(v, path)
	for i, e := range v.List {
		if e.Kind == doc.String {
			words[i] = r.Choice(e, fmt.Sprintf("%s[%d]", path, i), known)
		}
	}
	return words
}

// Yes reads true or false.
func (r *Reader) Yes(v doc.Value, path string) bool {
	return r.Is(v, path, doc.Bool) && v.Text() == "true"
}

// Number reads a finite number from 0 to high.
func (r *Reader) Number(v doc.Value, path string, high float64) float64 {
	if !r.Is(v, path, doc.Number) {
		return 0
	}
	f, err := strconv.ParseFloat(v.Text(), 64)
	switch {
	case err != nil || math.IsNaN(f) || math.IsInf(f, 0):
		r.Add(v.Place, path+" must be a finite number", "")
	case f < 0 && high == NoLimit:
		r.Add(v.Place, fmt.Sprintf("%s must be at least 0, not %s", path, v.Text()), "")
	case f < 0 || f > high:
		r.Add(v.Place, fmt.Sprintf("%s must be from 0 to %v, not %s", path, high, v.Text()), "")
	default:
		return f
	}
	return 0
}

// Whole reads a whole number of at least low.
func (r *Reader) Whole(v doc.Value, path string, low int64) int64 {
	if !r.Is(v, path, doc.Number) {
		return 0
	}
	f, err := strconv.ParseFloat(v.Text(), 64)
	switch {
	case err != nil || f != math.Trunc(f):
		r.Add(v.Place, fmt.Sprintf("%s must be a whole number, not %s", path, v.Text()), "")
	case f < float64(low):
		r.Add(v.Place, fmt.Sprintf("%s must be at least %d, not %s", path, low, v.Text()), "")
	case f > math.MaxInt32 && !strings.HasSuffix(path, "okens") && !strings.HasSuffix(path, "Ms"):
		r.Add(v.Place, path+" is too large", "")
	case f > 1<<53:
		r.Add(v.Place, path+" is too large", "")
	default:
		return int64(f)
	}
	return 0
}

// Odd reports an even number of votes, which can end in a tie.
func (r *Reader) Odd(v doc.Value, path string, votes int) {
	if votes > 0 && votes%2 == 0 {
		r.Add(v.Place, fmt.Sprintf("%s must be odd, not %d", path, votes), "votes could be tied")
	}
}

// Budget reads an amount of money above 0.
func (r *Reader) Budget(v doc.Value, path string) float64 {
	before := len(r.Problems)
	usd := r.Number(v, path, NoLimit)
	if usd == 0 && len(r.Problems) == before {
		r.Add(v.Place, path+" must be greater than 0", "leave the key out for no limit")
	}
	return usd
}

// Duration reads a number of milliseconds, or a text such as "90s" or "10m".
func (r *Reader) Duration(v doc.Value, path string) int64 {
	if v.Kind != doc.String {
		if v.Kind != doc.Number {
			r.Wrong(v, path, `milliseconds or a text such as "90s"`)
			return 0
		}
		ms := r.Whole(v, path, 1)
		if ms > math.MaxInt64/int64(time.Millisecond) {
			r.Add(v.Place, path+" is too large", "")
			return 0
		}
		return ms
	}
	d, err := text.ParseDuration(v.Text())
	switch {
	case err != nil:
		r.Add(v.Place, fmt.Sprintf("%s is not a duration: %q", path, v.Text()),
			`milliseconds, or a text such as "90s", "10m", "1h30m" or "30d"`)
	case d < time.Millisecond:
		r.Add(v.Place, fmt.Sprintf("%s must be at least 1ms, not %s", path, v.Text()), "")
	default:
		return d.Milliseconds()
	}
	return 0
}

// Optional reads a temperature. With null, none is sent.
func (r *Reader) Optional(v doc.Value, path string) (f *float64, none bool) {
	if v.Kind == doc.Null {
		return nil, true
	}
	return new(r.Number(v, path, NoLimit)), false
}

// Seed reads a seed. With null, none is sent.
func (r *Reader) Seed(v doc.Value, path string) (n *int64, none bool) {
	if v.Kind == doc.Null {
		return nil, true
	}
	if !r.Is(v, path, doc.Number) {
		return nil, false
	}
	i, err := strconv.ParseInt(v.Text(), 10, 64)
	if err != nil {
		r.Add(v.Place, fmt.Sprintf("%s must be a whole number, not %s", path, v.Text()), "")
	}
	return &i, false
}

// Pairs reads a mapping of names to strings. Numbers and booleans become their text in the file.
func (r *Reader) Pairs(v doc.Value, path string) map[string]string {
	pairs := make(map[string]string, len(v.Members))
	for _, m := range r.Members(v, path) {
		switch m.Value.Kind {
		case doc.String, doc.Number, doc.Bool:
			if pairs[m.Key] = m.Value.Text(); strings.ContainsRune(m.Key+m.Value.Text(), 0) {
				r.Add(m.Value.Place, fmt.Sprintf("%s.%q contains a NUL character", path, m.Key), "remove it")
			}
		default:
			r.Wrong(m.Value, path+"."+m.Key, "a string")
		}
	}
	return pairs
}

// Headers reads headers of HTTP requests. Its messages do not repeat values, which may be secrets.
func (r *Reader) Headers(v doc.Value, path string) map[string]string {
	for i := range v.Members {
		m := &v.Members[i]
		switch {
		case !httpguts.ValidHeaderFieldName(m.Key):
			r.Add(m.Place, fmt.Sprintf("%s: %q cannot be the name of a header", path, m.Key), "")
		case m.Value.Kind == doc.String && !httpguts.ValidHeaderFieldValue(m.Value.Text()):
			r.Add(m.Value.Place, path+"."+m.Key+" contains a line end or another control character", "remove it")
		}
	}
	return r.Pairs(v, path)
}

// Variable reads the name of an environment variable. Its message does not repeat an invalid name,
// which may be the key itself.
func (r *Reader) Variable(v doc.Value, path string) string {
	name := r.Text(v, path)
	for i, c := range name {
		if c != '_' && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && (c < '0' || c > '9' || i == 0) {
			r.Add(v.Place, path+" must be the name of an environment variable",
				"never put a key itself into a config file")
			return ""
		}
	}
	return name
}

// Variables reads a list of names of environment variables, or one.
func (r *Reader) Variables(v doc.Value, path string) []string {
	if v.Kind != doc.List {
		return []string{r.Variable(v, path)}
	}
	names := make([]string, 0, len(v.List))
	for i, e := range v.List {
		names = append(names, r.Variable(e, fmt.Sprintf("%s[%d]", path, i)))
	}
	return names
}

// Known reports whether a key is one of fields.
func Known(fields []Field, key string) bool {
	return slices.ContainsFunc(fields, func(f Field) bool { return f.Name == key })
}
