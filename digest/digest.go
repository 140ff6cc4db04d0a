// Package digest computes the hashes that name content: suites, cases, results and blobs.
//
// A hash is written as "sha256:" and 64 lower-case hex digits. Suite, result and output hashes
// equal those of the tool whose suite files Plumb reads, so that results of both tools can be
// compared. They, and the case hash, are defined so that another program can reproduce them: a
// suite or a case is converted to a canonical form in ASCII, and that form is hashed.
//
// # Canonical JSON
//
// The canonical form of a JSON value is the output of Python's json.dumps(value, sort_keys=True,
// separators=(",", ":")):
//
//   - No spaces. Members of an object are ordered by the code points of their unescaped keys, at
//     every depth; of members with the same key only the last is kept. Arrays keep their order.
//   - In strings, the quote and the backslash are escaped by a backslash, the controls BS, FF, LF,
//     CR and TAB as \b, \f, \n, \r and \t; the rest of U+0020 to U+007E is unchanged, and
//     everything else is \u and four lower-case hex digits, above U+FFFF as a surrogate pair. A
//     lone surrogate escape is kept.
//   - A number without fraction and exponent is kept digit by digit, except that -0 is 0. It has
//     4300 digits at most.
//   - Any other number is the nearest IEEE double in the fewest digits that read back as the same:
//     positional with at least one digit after the point if it is 0 or from 1e-4 to below 1e16,
//     else as in 1.5e-09 and 1e+16. Overflow is Infinity. NaN, Infinity and -Infinity may also be
//     written literally, so a canonical form need not be strict JSON.
//   - Values nest 10000 deep at most.
package digest

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"unicode/utf8"
)

// Suite returns the hash of a suite file with the given content, one JSON object per line.
//
// It is the hash of the canonical form that [Canonical] returns. That form does not depend on the
// order of lines with different ids, blank lines, line ends (LF, CRLF and CR are the same), spaces,
// the order of keys and the spelling of escapes. It depends on every key and value, including
// unknown ones, and on the difference between 10 and 10.0.
//
// An error is a *[SyntaxError] and names the line and the column.
func Suite(data []byte) (string, error) {
	h := sha256.New()
	sorted, err := stream(h, data)
	if err != nil {
		return "", err
	}
	if sorted {
		return sum(h), nil
	}
	a, err := collect(data)
	if err != nil {
		return "", err
	}
	h.Reset()
	a.each(func(b []byte) { h.Write(b) })
	return sum(h), nil
}

// Canonical returns the canonical form of a suite file: the list of its records, stably sorted by
// the code points of their ids, in canonical JSON. The file is valid UTF-8 without a byte order
// mark. White space around the whole text is dropped, LF, CRLF and CR end lines, lines of nothing
// but white space are skipped, and each other line is one JSON object with a string "id", with
// nothing but spaces and tabs around it. No records give "[]".
//
// An error is a *[SyntaxError] and names the line and the column.
func Canonical(data []byte) ([]byte, error) {
	a, err := collect(data)
	if err != nil {
		return nil, err
	}
	var out []byte
	a.each(func(b []byte) { out = append(out, b...) })
	return out, nil
}

// Result returns the hash by which a result is submitted: that of modelID, testID and output joined
// by "|". Nothing is escaped, trimmed or normalized, so a "|" within the parts makes different
// results collide; the format is not ours.
//
// All three must be UTF-8. Anything else is an error, such as the lone surrogate that a broken
// reply can put into a string, because implementations would compute different hashes.
func Result(modelID, testID, output string) (string, error) {
	for _, part := range [...]struct{ name, text string }{
		{"model id", modelID}, {"test id", testID}, {"output", output},
	} {
		if err := checkUTF8(part.text); err != nil {
			return "", fmt.Errorf("hash result: %s: %w", part.name, err)
		}
	}
	return Bytes([]byte(modelID + "|" + testID + "|" + output)), nil
}

// Output returns the hash of the bytes of a model's answer. The answer must be UTF-8; anything else
// is an error.
func Output(output string) (string, error) {
	if err := checkUTF8(output); err != nil {
		return "", fmt.Errorf("hash output: %w", err)
	}
	return Bytes([]byte(output)), nil
}

// Bytes returns the hash of any bytes. It names blobs.
func Bytes(b []byte) string {
	s := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(s[:])
}

func sum(h hash.Hash) string {
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

func checkUTF8(s string) error {
	if utf8.ValidString(s) {
		return nil
	}
	for i, r := range s {
		if r == utf8.RuneError {
			if _, size := utf8.DecodeRuneInString(s[i:]); size == 1 {
				return fmt.Errorf("invalid UTF-8 at byte %d (0x%02x)", i, s[i])
			}
		}
	}
	return errors.New("invalid UTF-8")
}
