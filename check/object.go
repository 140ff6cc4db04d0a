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

// object builds a JSON object. It is much cheaper than a map through encoding/json, which matters because each verdict
// and each case of a large suite makes one.
type object struct {
	buf     []byte
	members []member
}

type member struct {
	key        string
	start, end int // the value in buf
}

// add makes what was appended to buf since start a member.
func (o *object) add(key string, start int) {
	if o.members == nil {
		o.members = make([]member, 0, 8)
	}
	o.members = append(o.members, member{key, start, len(o.buf)})
}

// put adds a member whose value is what write appends.
func (o *object) put(key string, write func([]byte) []byte) {
	start := len(o.buf)
	o.buf = write(o.buf)
	o.add(key, start)
}

func (o *object) str(key, val string) {
	start := len(o.buf)
	o.buf = appendString(o.buf, val)
	o.add(key, start)
}

func (o *object) boolean(key string, val bool) {
	start := len(o.buf)
	o.buf = strconv.AppendBool(o.buf, val)
	o.add(key, start)
}

func (o *object) num(key string, val float64) {
	format := byte('f')
	if abs := math.Abs(val); abs >= 1e15 || abs != 0 && abs < 1e-6 {
		format = 'e'
	}
	start := len(o.buf)
	o.buf = strconv.AppendFloat(o.buf, val, format, -1, 64)
	o.add(key, start)
}

func (o *object) raw(key string, val []byte) {
	start := len(o.buf)
	o.buf = append(o.buf, val...)
	o.add(key, start)
}

func (o *object) strs(key string, vals []string) {
	start := len(o.buf)
	o.buf = append(o.buf, '[')
	for i, s := range vals {
		if i > 0 {
			o.buf = append(o.buf, ',')
		}
		o.buf = appendString(o.buf, s)
	}
	o.buf = append(o.buf, ']')
	o.add(key, start)
}

// json returns the object with its members in the order in which they were added.
func (o *object) json() json.RawMessage {
	out := make([]byte, 0, len(o.buf)+16*len(o.members)+2)
	for i, m := range o.members {
		if i > 0 {
			out = append(out, ',')
		} else {
			out = append(out, '{')
		}
		out = append(appendString(out, m.key), ':')
		out = append(out, o.buf[m.start:m.end]...)
	}
	if len(o.members) == 0 {
		out = append(out, '{')
	}
	return append(out, '}')
}

// sorted returns the object with its members sorted by key.
func (o *object) sorted() json.RawMessage {
	slices.SortFunc(o.members, func(a, b member) int { return cmp.Compare(a.key, b.key) })
	return o.json()
}

// appendString appends s as a JSON string; what is not valid UTF-8 becomes U+FFFD.
func appendString(b []byte, s string) []byte {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	b, _ = jsontext.AppendQuote(b, s) // fails on invalid UTF-8 only
	return b
}

// canonicalJSON returns val in one spelling: keys sorted, no space, floats in their shortest form, integers exact.
func canonicalJSON(val []byte) (json.RawMessage, error) {
	v := jsontext.Value(bytes.Clone(val))
	if err := v.Canonicalize(jsontext.CanonicalizeRawInts(false)); err != nil {
		return nil, err
	}
	return json.RawMessage(v), nil
}

// The most that verdicts repeat of a text, in bytes: for a person to compare, and in the details.
const (
	shownLimit   = 4 << 10
	detailsLimit = 64 << 10
	quoteLimit   = 100
)

// short cuts s to about limit bytes, at a letter's border.
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

// shown returns a text of a session for a verdict to repeat a part of, with [short] or [quote]: without its secrets, if it is so
// long that it will be cut. Otherwise whoever stores the verdict removes them.
func shown(ev *plumb.Evidence, s string) string {
	if len(s) <= quoteLimit {
		return s
	}
	return withoutSecrets(ev, s)
}

// withoutSecrets is shown for a text that is changed before a verdict repeats it, as by lower-casing: whoever stores the
// verdict would not find a secret in what comes of it.
func withoutSecrets(ev *plumb.Evidence, s string) string {
	if ev.Redact == nil {
		return s
	}
	return ev.Redact(s)
}

// partOfSecret stands in a verdict where a part of the output would that is not there without its secrets.
const partOfSecret = "(a part of a secret)"

// quote renders s for a reason: quoted, shortened, control characters escaped.
func quote(s string) string { return strconv.Quote(short(s, quoteLimit)) }

// quotes renders the first few of terms for a reason.
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
