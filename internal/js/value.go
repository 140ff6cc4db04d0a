// Package js has the values of JavaScript, without an engine: what they print, how they compare,
// and what their operators and functions give. Numbers print as they were written, integers have
// any size, and what would lose a digit or half a character is an error.
package js

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/doc"
)

// A value is nil, [Undefined], a bool, a [Number], a string, a *[List], a *[Dict] or a *[Regex].
// Other types stand for functions. Lists and objects never change.
type (
	// Undefined is the value of what does not exist.
	Undefined struct{}
	// List is an array.
	List struct {
		Items []any
		extent
	}
	// Dict is an object. Its keys are in the order that they have in JavaScript.
	Dict struct {
		Keys   []string
		Values map[string]any
		extent
	}
	// extent is the number of the values in a list or an object, and how deep they are nested.
	extent struct{ nodes, depth int }
	// unclear is a number that no text and no computation can stand for. It says why.
	unclear string
)

// Kind is a kind of values, as messages name it.
type Kind string

// The kinds.
const (
	Nothing    Kind = "nothing"
	NotDefined Kind = "an undefined value"
	Boolean    Kind = "true or false"
	Numeric    Kind = "a number"
	Text       Kind = "a text"
	Array      Kind = "a list"
	Object     Kind = "an object"
	Expression Kind = "a regular expression"
	Function   Kind = "a function"
)

// KindOf returns the kind of a value.
func KindOf(v any) Kind {
	switch v.(type) {
	case nil:
		return Nothing
	case Undefined:
		return NotDefined
	case bool:
		return Boolean
	case Number, unclear:
		return Numeric
	case string:
		return Text
	case *List:
		return Array
	case *Dict:
		return Object
	case *Regex:
		return Expression
	}
	return Function
}

// Is reports whether a value has one of these kinds.
func Is(v any, kinds ...Kind) bool { return slices.Contains(kinds, KindOf(v)) }

// From returns the value of a document.
func From(v *doc.Value) any {
	switch v.Kind {
	case doc.Bool:
		return v.Text() == "true"
	case doc.Number:
		switch {
		case len(v.Infinite()) > 0:
			return unclear(v.Text() + " is not a number that can be written")
		case v.Ambiguous():
			return unclear("a number is inserted as it is written only if JSON has this form; " +
				"YAML reads this one as " + v.Text())
		}
		return Number(v.Text())
	case doc.String:
		return v.Text()
	case doc.List:
		items := make([]any, len(v.List))
		for i := range v.List {
			items[i] = From(&v.List[i])
		}
		return NewList(items)
	case doc.Map:
		var keys []string
		var values []any
		for i := range v.Members {
			keys, values = append(keys, v.Members[i].Key), append(values, From(&v.Members[i].Value))
		}
		return NewDict(keys, values)
	case doc.Null:
	}
	return nil
}

// NewList returns a list.
func NewList(items []any) *List { return &List{items, extentOf(items)} }

func extentOf(items []any) (all extent) {
	for _, item := range items {
		within := extent{nodes: 1}
		switch v := item.(type) {
		case *List:
			within = v.extent
		case *Dict:
			within = v.extent
		}
		all = extent{min(all.nodes+within.nodes, math.MaxInt32), max(all.depth, within.depth)}
	}
	return extent{all.nodes + 1, all.depth + 1}
}

// Nodes returns the number of values that a value consists of, each as often as it occurs.
func Nodes(v any) int { return extentOf([]any{v}).nodes - 1 }

// NewDict returns an object. The last of several values of a key counts. Indices come first.
func NewDict(keys []string, values []any) *Dict {
	d := &Dict{Values: map[string]any{}, extent: extentOf(values)}
	for i, key := range keys {
		if _, has := d.Values[key]; !has {
			d.Keys = append(d.Keys, key)
		}
		d.Values[key] = values[i]
	}
	slices.SortStableFunc(d.Keys, func(a, b string) int { return cmp.Compare(index(a), index(b)) })
	return d
}

// Pairs returns lists of a key and its value.
func (d *Dict) Pairs() (all []any) {
	for _, key := range d.Keys {
		all = append(all, NewList([]any{key, d.Values[key]}))
	}
	return all
}

// index returns the number of a key that is an index, and for others one that is larger.
func index(key string) int {
	if i, err := strconv.ParseUint(key, 10, 32); err == nil && strconv.FormatUint(i, 10) == key {
		return int(i)
	}
	return math.MaxInt
}

// Member returns the value of a key, an index, or length, and else [Undefined]: a value has nothing
// else behind it.
func Member(of, key any) (any, error) {
	if !Is(key, Text, Numeric) {
		return Undefined{}, nil
	}
	name := fmt.Sprint(key)
	i, n := index(name), Size(of)
	switch of := of.(type) {
	case *Dict:
		if v, ok := of.Values[name]; ok {
			return v, nil
		}
	case *List:
		if i < n {
			return of.Items[i], nil
		}
	case string:
		if i < n {
			return Cut(of, i, i+1)
		}
	}
	if name == "length" && n >= 0 {
		return FromInt(n), nil
	}
	return Undefined{}, nil
}

// Truthy reports whether a value counts as true.
func Truthy(v any) bool {
	switch v := v.(type) {
	case nil, Undefined:
		return false
	case bool:
		return v
	case Number:
		mantissa, _, _ := strings.Cut(strings.ToLower(string(v)), "e")
		return strings.ContainsAny(mantissa, "123456789")
	case string:
		return v != ""
	}
	return true
}

// Size returns the number of elements of a list, or of units of a text; -1 for other values.
func Size(v any) int {
	switch v := v.(type) {
	case string:
		return len(Units(v))
	case *List:
		return len(v.Items)
	}
	return -1
}

// Part returns a part of a list or of a text, from one place to another.
func Part(v any, from, to int) (any, error) {
	if l, ok := v.(*List); ok {
		return NewList(l.Items[from:to]), nil
	}
	text, _ := v.(string)
	return Cut(text, from, to)
}

// Elements returns the elements of a list, or the characters of a text.
func Elements(v any) (items []any, err error) {
	switch v := v.(type) {
	case *List:
		return v.Items, nil
	case string:
		for _, r := range v {
			character, err := Cut(string(r), 0, 1)
			if err != nil {
				return nil, err
			}
			items = append(items, character)
		}
		return items, nil
	}
	return nil, fmt.Errorf("a list or a text is needed, not %s", KindOf(v))
}

// maxDepth limits the lists and objects within one another that have a text.
const maxDepth = 150

var (
	errLarge = errors.New("the value is too large")
	errDeep  = errors.New("the lists are nested too deeply")
)

// Print returns the text of a value, as a template inserts it.
func Print(v any) (string, error) {
	switch v := v.(type) {
	case nil, Undefined:
		return "", nil
	case string:
		return v, nil
	case Number:
		return string(v), nil
	case bool:
		return strconv.FormatBool(v), nil
	case unclear:
		return "", plumb.WithHint(errors.New(string(v)), "put it in quotes")
	case *Dict:
		return "", plumb.WithHint(errors.New("an object is not a text"), "name one of its keys, or add | dump")
	case *List:
		return Join(v, ",")
	}
	return "", fmt.Errorf("%s is not a text", KindOf(v))
}

// Join returns the texts of the elements of a list with a separator between them.
func Join(l *List, separator string) (string, error) {
	if l.depth > maxDepth {
		return "", errDeep
	}
	size, texts := 0, make([]string, len(l.Items))
	for i, v := range l.Items {
		text, err := Print(v)
		if err != nil {
			return "", err
		}
		if size += len(text) + len(separator); size > doc.CaseBytes {
			return "", errLarge
		}
		texts[i] = text
	}
	return strings.Join(texts, separator), nil
}

// Concat returns the text of two values, one after the other.
func Concat(a, b any) (string, error) {
	var texts [2]string
	for i, v := range [...]any{a, b} {
		switch text, err := Print(v); {
		case err != nil:
			return "", err
		case v == Undefined{}:
			return "", errors.New("an undefined value cannot be a part of a text")
		case v == nil:
			texts[i] = "null"
		default:
			texts[i] = text
		}
	}
	return texts[0] + texts[1], nil
}

// Add returns the sum of two values, or their text if one of them is a text, a list or an object.
func Add(a, b any) (any, error) {
	if Is(a, Text, Array, Object) || Is(b, Text, Array, Object) {
		return Concat(a, b)
	}
	return Compute("+", a, b)
}

// Stringify returns a value as JSON.
func Stringify(v any, indent int) (string, error) {
	var b strings.Builder
	var options []jsontext.Options
	if extentOf([]any{v}).depth > maxDepth {
		return "", errDeep
	}
	if indent > 0 {
		options = append(options, jsontext.WithIndent(strings.Repeat(" ", min(indent, 10))))
	}
	err := encode(jsontext.NewEncoder(&b, options...), v)
	return strings.TrimSuffix(b.String(), "\n"), err
}

func encode(e *jsontext.Encoder, v any) error {
	if e.OutputOffset() > doc.CaseBytes {
		return errLarge
	}
	switch v := v.(type) {
	case nil:
		return e.WriteToken(jsontext.Null)
	case Undefined:
		return errors.New("an undefined value has no JSON")
	case string:
		return e.WriteToken(jsontext.String(v))
	case *List:
		err := e.WriteToken(jsontext.BeginArray)
		for i := 0; err == nil && i < len(v.Items); i++ {
			err = encode(e, v.Items[i])
		}
		return cmp.Or(err, e.WriteToken(jsontext.EndArray))
	case *Dict:
		err := e.WriteToken(jsontext.BeginObject)
		for i := 0; err == nil && i < len(v.Keys); i++ {
			err = cmp.Or(e.WriteToken(jsontext.String(v.Keys[i])), encode(e, v.Values[v.Keys[i]]))
		}
		return cmp.Or(err, e.WriteToken(jsontext.EndObject))
	}
	text, err := Print(v)
	return cmp.Or(err, e.WriteValue(jsontext.Value(text)))
}

// Unordered is the order of two values of which none is smaller, greater or equal.
const Unordered = 2

// Same reports whether two values are the same for ===.
func Same(a, b any) (bool, error) {
	x, isNumber := a.(Number)
	y, both := b.(Number)
	if a == b || !isNumber || !both {
		return a == b, nil
	}
	order, err := x.compare(y)
	return order == 0, err
}

// Equal reports whether two values are the same for ==.
func Equal(a, b any) (bool, error) {
	switch noA, noB := Is(a, Nothing, NotDefined), Is(b, Nothing, NotDefined); {
	case noA || noB:
		return noA && noB, nil
	case KindOf(a) == KindOf(b):
		return Same(a, b)
	}
	order, err := Compare(a, b)
	return order == 0, err
}

// Compare returns the order of two values for <: -1, 0, 1, or [Unordered].
func Compare(a, b any) (int, error) {
	x, okX := a.(string)
	y, okY := b.(string)
	if okX && okY {
		return slices.Compare(Units(x), Units(y)), nil
	}
	for _, v := range []any{a, b} {
		if !Is(v, Nothing, NotDefined, Boolean, Numeric, Text) {
			return 0, fmt.Errorf("%s cannot be compared with %s", KindOf(a), KindOf(b))
		}
	}
	m, okM, errM := toNumber(a)
	n, okN, errN := toNumber(b)
	if err := cmp.Or(errM, errN); err != nil || !okM || !okN {
		return Unordered, err
	}
	return m.compare(n)
}
