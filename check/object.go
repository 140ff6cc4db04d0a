package check

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/text"
)

// options are the keys and values that decide a check.
type options map[string]any

// text returns the options as JSON, sorted by key.
func (o options) text() json.RawMessage {
	keys := slices.AppendSeq(make([]string, 0, len(o)), maps.Keys(o))
	slices.Sort(keys)
	pairs := make([]any, 0, 2*len(o))
	for _, key := range keys {
		pairs = append(pairs, key, o[key])
	}
	return details(pairs...)
}

// details returns a JSON object of keys and values in turn.
func details(pairs ...any) json.RawMessage {
	b := append(make([]byte, 0, 256), '{')
	for pair := range slices.Chunk(pairs, 2) {
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(encode(b, pair[0]), ':')
		b = encode(b, pair[1])
	}
	return append(b, '}')
}

// encode appends a value as JSON; a json.RawMessage is JSON already. What is not valid UTF-8
// becomes U+FFFD.
func encode(b []byte, val any) []byte {
	switch val := val.(type) {
	case json.RawMessage:
		return append(b, val...)
	case bool:
		return strconv.AppendBool(b, val)
	case string:
		b, _ = jsontext.AppendQuote(b, val) // the error means that it replaced invalid UTF-8
		return b
	case int:
		return strconv.AppendInt(b, int64(val), 10)
	case []string:
		return encodeList(b, val)
	case []json.RawMessage:
		return encodeList(b, val)
	case float64:
		format := byte('f') // the hashes of cases depend on it
		if abs := math.Abs(val); abs >= 1e15 || abs != 0 && abs < 1e-6 {
			format = 'e'
		}
		return strconv.AppendFloat(b, val, format, -1, 64)
	default:
		panic(fmt.Sprintf("check: no JSON for a %T", val))
	}
}

func encodeList[T any](b []byte, list []T) []byte {
	b = append(b, '[')
	for i, val := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = encode(b, val)
	}
	return append(b, ']')
}

// canonicalJSON returns val in one spelling: keys sorted, no space, integers exact, and floats in
// their shortest form, unless that is another number.
func canonicalJSON(val []byte) (json.RawMessage, error) {
	v := jsontext.Value(bytes.Clone(val))
	err := v.Canonicalize(jsontext.CanonicalizeRawInts(false), jsontext.CanonicalizeRawFloats(false))
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	in, out := jsontext.NewDecoder(bytes.NewReader(v)), jsontext.NewEncoder(&b)
	for {
		token, err := in.ReadToken()
		if errors.Is(err, io.EOF) {
			return json.RawMessage(bytes.TrimSpace(b.Bytes())), nil
		}
		if err != nil {
			return nil, err
		}
		if token.Kind() != '0' {
			err = out.WriteToken(token)
		} else {
			raw := token.String()
			short := jsontext.Value(raw)
			if strings.ContainsAny(raw, ".eE") {
				err = short.Canonicalize()
			}
			if err != nil || decimalOf(short.String()) != decimalOf(raw) {
				short = jsontext.Value(raw)
			}
			err = out.WriteValue(short)
		}
		if err != nil {
			return nil, err
		}
	}
}

// The most of a text that a verdict shows, in bytes: in Expected and Got, in Details, and in a
// reason.
const (
	shownLimit   = 4 << 10
	detailsLimit = 64 << 10
	quoteLimit   = 100
)

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
func quote(s string) string { return strconv.Quote(text.Shorten(s, quoteLimit)) }

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
