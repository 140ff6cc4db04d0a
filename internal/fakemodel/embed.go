package fakemodel

import (
	"encoding/base64"
	"encoding/binary"
	"math"
	"strconv"
	"strings"
	"unicode"

	"github.com/plumb-eval/plumb/internal/wire"
)

// Vector returns the embedding of a text: its words and their trigrams, hashed to the given number
// of dimensions, with length 1. Texts with common words are similar, regardless of case and
// punctuation.
func Vector(s string, dimensions int) []float32 {
	v := make([]float64, dimensions)
	add := func(feature string, weight float64) {
		v[hashText(feature)%uint64(dimensions)] += weight
	}
	for word := range strings.FieldsFuncSeq(strings.ToLower(s), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}) {
		add(word, 1)
		for i := 0; i+3 <= len(word); i++ {
			add("#"+word[i:i+3], 0.3)
		}
	}
	length := 0.0
	for _, f := range v {
		length += f * f
	}
	if length == 0 { // without words, the text has its own direction
		add(s, 1)
		length = 1
	}
	out := make([]float32, dimensions)
	for i, f := range v {
		out[i] = float32(f / math.Sqrt(length))
	}
	return out
}

// embeddings writes the vectors of the texts.
func (x *exchange) embeddings() {
	list := make([]any, len(x.texts))
	tokens := 0
	for i, t := range x.texts {
		tokens += max(1, tokensOf(t))
		v := Vector(t, x.dimensions)
		switch {
		case x.ask.Provider == wire.Google:
			list[i] = wire.Object{"values", rendered(v)}
		case x.packed:
			list[i] = wire.Object{"object", "embedding", "index", i, "embedding", packed(v)}
		default:
			list[i] = wire.Object{"object", "embedding", "index", i, "embedding", rendered(v)}
		}
	}
	if x.ask.Provider == wire.Google {
		x.put(true, "embeddings", list)
	} else {
		x.put(true, "object", "list", "data", list, "model", x.model.Snapshot,
			"usage", wire.Object{"prompt_tokens", tokens, "total_tokens", tokens})
	}
	x.out.Body = append(x.out.Body, '\n')
}

// rendered returns the vector as a JSON list.
func rendered(v []float32) wire.Raw {
	b := []byte{'['}
	for i, f := range v {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendFloat(b, float64(f), 'f', -1, 32)
	}
	return wire.Raw(append(b, ']'))
}

// packed returns the vector as base64 of little-endian 32-bit floats.
func packed(v []float32) string {
	raw := make([]byte, 0, 4*len(v))
	for _, f := range v {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(f))
	}
	return base64.StdEncoding.EncodeToString(raw)
}
