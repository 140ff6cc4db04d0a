package fakemodel

import (
	"encoding/base64"
	"encoding/binary"
	"math"
	"strconv"
	"strings"
	"unicode"
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

// embedEnd is the end of OpenAI's reply to a request for vectors.
const embedEnd = `
  ],
  "model": %s,
  "usage": {
    "prompt_tokens": %d,
    "total_tokens": %d
  }
}
`

// embeddings writes the vectors of the texts.
func (x *exchange) embeddings() {
	b, between := append(x.out, "{\n  \"object\": \"list\",\n  \"data\": ["...), ","
	if x.rt.provider == Google {
		x.kind = googleJSON
		b, between = append(x.out, "{\n  \"embeddings\": ["...), ", "
	}
	tokens := 0
	for i, t := range x.texts {
		tokens += max(1, tokensOf(t))
		if i > 0 {
			b = append(b, between...)
		}
		v := Vector(t, x.dimensions)
		if x.rt.provider == Google {
			b = append(appendVector(append(b, `{"values": `...), v), '}')
			continue
		}
		b = template(b, "\n    {\n      \"object\": \"embedding\",\n      \"index\": %d,\n      \"embedding\": ", i)
		if x.packed {
			b = appendPacked(b, v)
		} else {
			b = appendVector(b, v)
		}
		b = append(b, "\n    }"...)
	}
	if x.rt.provider == Google {
		x.out = append(b, "]\n}\n"...)
		return
	}
	x.out = template(b, embedEnd, x.model.Snapshot, tokens, tokens)
}

func appendVector(b []byte, v []float32) []byte {
	b = append(b, '[')
	for i, f := range v {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendFloat(b, float64(f), 'f', -1, 32)
	}
	return append(b, ']')
}

// appendPacked appends the vector as base64 of little-endian 32-bit floats, in quotes.
func appendPacked(b []byte, v []float32) []byte {
	raw := make([]byte, 0, 4*len(v))
	for _, f := range v {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(f))
	}
	return append(base64.StdEncoding.AppendEncode(append(b, '"'), raw), '"')
}
