package check

import (
	"bytes"
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/plumb-eval/plumb"
)

// object is a JSON object with its members in the order in which they were set. [Check.Canonical]
// and the details of verdicts are written with it rather than with encoding/json: the hashes of
// cases depend on these bytes.
type object struct {
	buf     []byte // the values, one after the other
	members []member
}

type member struct {
	key        string
	start, end int // the value in buf
}

// set adds a member: a string, a bool, a number, a list of strings, or JSON as it is.
func (o *object) set(key string, val any) {
	start := len(o.buf)
	switch val := val.(type) {
	case string:
		o.buf = appendString(o.buf, val)
	case bool:
		o.buf = strconv.AppendBool(o.buf, val)
	case int:
		o.buf = strconv.AppendInt(o.buf, int64(val), 10)
	case float64:
		format := byte('f')
		if abs := math.Abs(val); abs >= 1e15 || abs != 0 && abs < 1e-6 {
			format = 'e'
		}
		o.buf = strconv.AppendFloat(o.buf, val, format, -1, 64)
	case []string:
		o.buf = appendList(o.buf, val, appendString)
	case []json.RawMessage:
		o.buf = appendList(o.buf, val, func(b []byte, v json.RawMessage) []byte { return append(b, v...) })
	case json.RawMessage:
		o.buf = append(o.buf, val...)
	}
	if o.members == nil {
		o.members = make([]member, 0, 8)
	}
	o.members = append(o.members, member{key, start, len(o.buf)})
}

// text returns the object with its members in order.
func (o *object) text() json.RawMessage {
	b := append(make([]byte, 0, len(o.buf)+16*len(o.members)+2), '{')
	for i, m := range o.members {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(appendString(b, m.key), ':'), o.buf[m.start:m.end]...)
	}
	return append(b, '}')
}

// sorted returns the object with its members sorted by key.
func (o *object) sorted() json.RawMessage {
	slices.SortFunc(o.members, func(a, b member) int { return cmp.Compare(a.key, b.key) })
	return o.text()
}

func appendList[T any](b []byte, list []T, add func([]byte, T) []byte) []byte {
	b = append(b, '[')
	for i, v := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = add(b, v)
	}
	return append(b, ']')
}

// appendString appends s as a JSON string; what is not valid UTF-8 becomes U+FFFD.
func appendString(b []byte, s string) []byte {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	b, _ = jsontext.AppendQuote(b, s) // fails on invalid UTF-8 only
	return b
}

// canonicalJSON returns val in one spelling: keys sorted, no space, floats in their shortest form,
// integers exact.
func canonicalJSON(val []byte) (json.RawMessage, error) {
	v := jsontext.Value(bytes.Clone(val))
	if err := v.Canonicalize(jsontext.CanonicalizeRawInts(false)); err != nil {
		return nil, err
	}
	return json.RawMessage(v), nil
}

// The most of a text that a verdict shows, in bytes: in Expected and Got, in Details, and in a
// reason.
const (
	shownLimit   = 4 << 10
	detailsLimit = 64 << 10
	quoteLimit   = 100
)

// short cuts s to about limit bytes, between two characters.
func short(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	cut := limit
	for cut > limit-utf8.UTFMax && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}

// shown prepares a text of a session for [short] or [quote]. If the text is long enough to be cut,
// it removes the secrets first, since a part of a secret cannot be found later. The code that
// stores a verdict removes secrets from short texts.
func shown(ev *plumb.Evidence, s string) string {
	if len(s) <= quoteLimit {
		return s
	}
	return withoutSecrets(ev, s)
}

// withoutSecrets removes the secrets from a text that is changed before a verdict shows it, for
// example lower-cased. A changed secret cannot be found later.
func withoutSecrets(ev *plumb.Evidence, s string) string {
	if ev.Redact == nil {
		return s
	}
	return ev.Redact(s)
}

// partOfSecret replaces a part of the output that overlaps a secret.
const partOfSecret = "(a part of a secret)"

// quote makes s fit for a reason: quoted, shortened, with control characters escaped.
func quote(s string) string { return strconv.Quote(short(s, quoteLimit)) }

// quotes quotes the first terms for a reason.
func quotes(terms []string) string {
	const most = 4
	var b strings.Builder
	for i, t := range terms {
		if i == most && len(terms) > most+1 {
			b.WriteString(" and " + strconv.Itoa(len(terms)-most) + " more")
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(quote(t))
	}
	return b.String()
}
