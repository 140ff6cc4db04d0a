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

// embeddings writes the vectors of the texts.
func (x *exchange) embeddings() {
	tokens := 0
	for _, t := range x.texts {
		tokens += max(1, tokensOf(t))
	}
	switch x.rt.op {
	case opEmbedContent, opBatchEmbedContents:
		x.kind = googleJSON
		x.googleEmbeddings()
	case opOllamaEmbed:
		x.kind = "application/json; charset=utf-8"
		x.out = template(x.out, `{"model":%s,"embeddings":[`, str(x.ask.Model))
		for i, t := range x.texts {
			if i > 0 {
				x.out = append(x.out, ',')
			}
			x.out = appendVector(x.out, Vector(t, x.dimensions))
		}
		x.out = template(x.out, `],"total_duration":14143917,"load_duration":1019500,"prompt_eval_count":%d}`,
			num(tokens))
	default:
		x.out = append(x.out, "{\n  \"object\": \"list\",\n  \"data\": ["...)
		for i, t := range x.texts {
			if i > 0 {
				x.out = append(x.out, ',')
			}
			x.out = template(x.out, "\n    {\n      \"object\": \"embedding\",\n      \"index\": %d,\n      \"embedding\": ", num(i))
			if v := Vector(t, x.dimensions); x.packed {
				x.out = appendPacked(x.out, v)
			} else {
				x.out = appendVector(x.out, v)
			}
			x.out = append(x.out, "\n    }"...)
		}
		x.out = template(x.out, "\n  ],\n  \"model\": %s,\n  \"usage\": {\n    \"prompt_tokens\": %d,\n    \"total_tokens\": %d\n  }\n}\n",
			str(x.model.Snapshot), num(tokens), num(tokens))
	}
}

func (x *exchange) googleEmbeddings() {
	vector := func(s string) {
		x.out = append(appendVector(append(x.out, `{"values": `...), Vector(s, x.dimensions)), '}')
	}
	if x.rt.op == opEmbedContent {
		x.out = append(x.out, "{\n  \"embedding\": "...)
		vector(x.texts[0])
		x.out = append(x.out, "\n}\n"...)
		return
	}
	x.out = append(x.out, "{\n  \"embeddings\": ["...)
	for i, t := range x.texts {
		if i > 0 {
			x.out = append(x.out, ", "...)
		}
		vector(t)
	}
	x.out = append(x.out, "]\n}\n"...)
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
