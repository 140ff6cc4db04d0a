package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/joho/godotenv"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/text"
)

// dotEnvName is the file of environment variables beside a project's config.
const dotEnvName = ".env"

// DotEnv reads the file .env in a directory and returns the variables that it adds to the
// environment: those that are empty for getenv. Without a file, there are none. An invalid line is
// an error with its place. The error does not repeat the line, which may contain a secret.
func DotEnv(dir string, getenv func(string) string) (map[string]string, error) {
	file := filepath.Join(dir, dotEnvName)
	data, err := doc.Read(file, doc.EnvBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if info, statErr := os.Stat(file); err != nil && statErr == nil && info.IsDir() {
		return nil, nil // a virtual environment
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", file, doc.Cause(err))
	}
	data = bytes.TrimPrefix(data, []byte("\xEF\xBB\xBF"))
	if p := checkDotEnv(file, data); p != nil {
		return nil, doc.Problems{*p}
	}
	vars, err := godotenv.UnmarshalBytes(data)
	if err != nil { // its text may contain a secret
		return nil, doc.Problems{{
			Pos: plumb.Position{File: file, Line: 1, Column: 1}, Message: "not a file of variables",
			Hint: "a line is NAME=value",
		}}
	}
	for name := range vars {
		if name == "" || getenv(name) != "" {
			delete(vars, name)
		}
	}
	return vars, nil
}

// notAName reports whether s cannot be the name of an environment variable.
func notAName(s string) bool {
	return s == "" || strings.ContainsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) })
}

// checkDotEnv finds invalid lines, and values that are too large. The parser does not report lines.
// It also expands variables while it reads: a few lines that name each other twice would use all
// memory.
func checkDotEnv(file string, data []byte) *doc.Problem {
	references := regexp.MustCompile(`\$\(?\{?([A-Z0-9_]+)`)
	sizes, total := map[string]int{}, 0 // at least those of the expanded values
	var statement []byte
	for line, first := 1, 1; len(data) > 0; line++ {
		s, rest, _ := bytes.Cut(data, []byte("\n"))
		data, statement = rest, append(append(statement, s...), '\n')
		vars, err := godotenv.UnmarshalBytes(bytes.ReplaceAll(statement, []byte("$"), []byte("\x01")))
		if err != nil && strings.HasPrefix(err.Error(), "unterminated quoted value") && len(data) > 0 {
			continue // the value has more lines
		}
		p := &doc.Problem{Pos: plumb.Position{File: file, Line: first, Column: 1}}
		if err != nil || slices.ContainsFunc(slices.Collect(maps.Keys(vars)), notAName) {
			p.Message, p.Hint = "not a variable", "a line is NAME=value"
			return p
		}
		for range vars { // one line can have several, and each can name the one before
			size := len(statement)
			for _, m := range references.FindAllSubmatch(statement, -1) {
				size += sizes[string(m[1])]
			}
			for name := range vars {
				sizes[name] = size
			}
			if total += size; total > doc.EnvExpanded {
				p.Message = "the values of the file are larger than " + text.Size(doc.EnvExpanded) + " from this line on"
				p.Hint = "the value of a variable includes those of the variables that it names"
				return p
			}
		}
		statement, first = statement[:0], line+1
	}
	return nil
}
