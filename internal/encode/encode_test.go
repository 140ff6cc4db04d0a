package encode_test

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	json2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/encode"
)

// want returns what encoding/json writes. Its second version, with the options of the first, writes
// the replacement character for bytes that are not UTF-8, and the first an escape.
func want(t *testing.T, v any) string {
	t.Helper()
	text, err := json2.Marshal(v, encode.Options())
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	first := json.NewEncoder(&b)
	first.SetEscapeHTML(false)
	if err := first.Encode(v); err != nil || strings.ReplaceAll(b.String(), `\ufffd`, "\ufffd") != string(text)+"\n" {
		t.Fatalf("the versions of encoding/json differ:\n%s\n%s%v", text, b.String(), err)
	}
	return string(text)
}

// TestEvents compares events with random fields.
func TestEvents(t *testing.T) {
	var e encode.Encoder
	r := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		var ev plumb.Event
		fill(r, reflect.ValueOf(&ev).Elem(), 0)
		got, err := e.Append([]byte("before "), &ev)
		if text := "before " + want(t, &ev); err != nil || string(got) != text {
			t.Fatalf("%v\n%s\nwant\n%s", err, got, text)
		}
	}
}

// fill sets a value to a random one.
func fill(r *rand.Rand, v reflect.Value, depth int) {
	const rare = 4
	switch x := v.Addr().Interface().(type) {
	case *time.Time:
		*x = time.Unix(r.Int64N(4e9), r.Int64N(1e9)).In([]*time.Location{time.UTC, time.FixedZone("", 3600)}[r.IntN(2)])
		return
	case *json.RawMessage:
		*x = json.RawMessage([]string{`{ "a" : [1 , 2.50, "<\u00e9\u2028é"] }`, "null", " 1e5\n", "[]", `{"a":1,"a":2}`}[r.IntN(5)])
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(r.IntN(2) == 0)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		if r.IntN(2) == 0 {
			v.SetInt(r.Int64N(math.MaxInt8) - r.Int64N(math.MaxInt8))
		}
	case reflect.Float64:
		v.SetFloat([]float64{0, 1, 0.1, 1e-7, 1.5e-10, 1e20, 1e21, -2.5e300, math.Copysign(0, -1), r.NormFloat64()}[r.IntN(10)])
	case reflect.String:
		v.SetString(randomText(r))
	case reflect.Pointer:
		if r.IntN(rare) > 0 && depth < 8 {
			v.Set(reflect.New(v.Type().Elem()))
			fill(r, v.Elem(), depth+1)
		}
	case reflect.Interface:
		v.Set(reflect.ValueOf([]any{1, "two", nil, []any{3.5, map[string]any{"b": true, "a": nil}}}))
	case reflect.Slice:
		if n := r.IntN(rare); n > 0 && depth < 8 {
			v.Set(reflect.MakeSlice(v.Type(), n-1, n))
			for i := range v.Len() {
				fill(r, v.Index(i), depth+1)
			}
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range r.IntN(rare) {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			fill(r, key, depth+1)
			fill(r, value, depth+1)
			v.SetMapIndex(key, value)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() && r.IntN(rare) > 0 {
				fill(r, v.Field(i), depth+1)
			}
		}
	default:
	}
}

func randomText(r *rand.Rand) string {
	const units = "abcdefghijklmnopqrstuvwxyz \"\\/\b\f\n\r\t\x00\x1f\x7f<>&é漢\u2028\u2029👩\ufffd"
	var b strings.Builder
	all := []rune(units)
	for range r.IntN(40) {
		b.WriteRune(all[r.IntN(len(all))])
		if r.IntN(50) == 0 {
			b.WriteByte(0xff) // not UTF-8
		}
	}
	return b.String()
}

type inner struct {
	A int    `json:"a"`
	B string `json:",omitempty"`
}

type named struct{ X any }

// MarshalText has a receiver that is no pointer.
func (n named) MarshalText() ([]byte, error) { return []byte("named"), nil }

type pointed struct{ X int }

// MarshalJSON has a pointer as its receiver.
func (p *pointed) MarshalJSON() ([]byte, error) { return []byte(" [ 1 ] "), nil }

type list struct {
	Next *list `json:"next,omitempty"`
	inner
}

// TestShapes compares other types, those that the encoder leaves to encoding/json included.
func TestShapes(t *testing.T) {
	type twice struct {
		inner
		C inner `json:"a"` // hides the one within
	}
	type pointer struct{ *inner }
	for _, v := range []any{
		new(1), new("a"), new(uint8(3)), new(float32(0.1)), new(true), new(any), new([]byte("bytes")), new([2]int),
		&struct{ T, U any }{time.Unix(0, 5).UTC(), named{1}},
		&struct {
			A int `json:"-"`
			B int `json:"-,"` //nolint:staticcheck // a name that encoding/json knows
			C int `json:",string"`
			d int
		}{1, 2, 3, 4},
		&struct {
			A time.Time `json:"a,omitzero"`
			B struct{}  `json:"b,omitempty"` //nolint:modernize // no effect is what is tested
			C []int     `json:"c,omitzero"`
			D []int     `json:"d,omitempty"`
			E *int      `json:"e"`
			F [0]int    `json:"f,omitempty"`
		}{C: []int{}, D: []int{}},
		&twice{inner{1, ""}, inner{2, "x"}}, &pointer{&inner{1, "x"}}, &list{Next: &list{inner: inner{A: 2}}},
		&map[string]any{"b": named{}, "a": &pointed{1}, "\xff": nil}, &map[int]string{2: "b", 1: "a"}, &[]pointed{{1}}, &pointed{},
		&struct{ P pointed }{}, &struct{ R jsontext.Value }{jsontext.Value(` { "a" : 1 } `)}, &struct{ R json.RawMessage }{},
	} {
		var e encode.Encoder
		for range 2 { // the second time with a plan
			got, err := e.Append(nil, v)
			if text := want(t, v); err != nil || string(got) != text {
				t.Errorf("%T: %v\n%s\nwant\n%s", v, err, got, text)
			}
		}
	}
}

func TestRawAndRound(t *testing.T) {
	e := encode.Encoder{Round: math.Trunc}
	v := struct {
		R any
		F *float64
		M map[string]float64
	}{encode.Raw(`{"x":1.5}`), new(2.5), map[string]float64{"a": -3.5}}
	got, err := e.Append(nil, &v)
	if text := `{"R":{"x":1.5},"F":2,"M":{"a":-3}}`; err != nil || string(got) != text {
		t.Errorf("%s, %v, want %s", got, err, text)
	}
}

func TestErrors(t *testing.T) {
	for _, v := range []any{
		new(math.NaN()), &[]float64{math.Inf(1)}, &map[string]any{"a": math.NaN()}, new(json.RawMessage("{")), new(make(chan int)),
		new(time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)), &struct{ T any }{time.Date(-1, 1, 1, 0, 0, 0, 0, time.UTC)},
	} {
		var e encode.Encoder
		if got, err := e.Append(nil, v); err == nil {
			t.Errorf("%T: %s without an error", v, got)
		}
	}
}

// TestConcurrent makes the plan of a type in several goroutines.
func TestConcurrent(t *testing.T) {
	var e encode.Encoder
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			v := &list{Next: &list{Next: &list{}}}
			if got, err := e.Append(nil, v); err != nil || string(got) != want(t, v) {
				t.Errorf("%s, %v", got, err)
			}
		})
	}
	all.Wait()
}

// FuzzString compares texts.
func FuzzString(f *testing.F) {
	for _, s := range []string{"", "plain text of some length", "\"\\\b\f\n\r\t\x00\x1f\x7f", "é漢\u2028👩\xff\xe2\x80", "12345678\xc3"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var e encode.Encoder
		if got, err := e.Append(nil, &s); err != nil || string(got) != want(t, &s) {
			t.Errorf("%q: %s, %v", s, got, err)
		}
	})
}
