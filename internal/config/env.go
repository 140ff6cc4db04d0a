package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/joho/godotenv"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/doc"
)

// dotEnvName is the file of environment variables beside a project's config.
const dotEnvName = ".env"

// DotEnv reads the file .env in a directory and returns the variables that it adds to the
// environment: those that getenv does not know or that are empty there, for the shell wins. No file
// gives no variables. A line that cannot be read is an error with its place, which never repeats
// the line, since it may hold a secret.
func DotEnv(dir string, getenv func(string) string) (map[string]string, error) {
	file := filepath.Join(dir, dotEnvName)
	data, err := doc.Read(file, doc.EnvBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if info, statErr := os.Stat(file); err != nil && statErr == nil && info.IsDir() {
		return nil, nil // somebody's virtual environment
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", file, doc.Cause(err))
	}
	data = bytes.TrimPrefix(data, []byte("\xEF\xBB\xBF"))
	if p := checkDotEnv(file, data); p != nil {
		return nil, doc.Problems{*p}
	}
	vars, err := godotenv.UnmarshalBytes(data)
	if err != nil { // its text may hold a secret
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

// checkDotEnv finds what a .env file may not have. The parser reports no lines, and fills in
// variables as it goes: a few lines that name each other twice would take all of the memory.
func checkDotEnv(file string, data []byte) *doc.Problem {
	references := regexp.MustCompile(`\$\(?\{?([A-Z0-9_]+)`)
	sizes, total := map[string]int{}, 0 // of the values, and of more where the parser is not as simple as this
	var statement []byte
	for line, first := 1, 1; len(data) > 0; line++ {
		text, rest, _ := bytes.Cut(data, []byte("\n"))
		data, statement = rest, append(append(statement, text...), '\n')
		vars, err := godotenv.UnmarshalBytes(bytes.ReplaceAll(statement, []byte("$"), []byte("\x01")))
		if err != nil && strings.HasPrefix(err.Error(), "unterminated quoted value") && len(data) > 0 {
			continue // it goes on
		}
		p := &doc.Problem{Pos: plumb.Position{File: file, Line: first, Column: 1}}
		if err != nil {
			p.Message, p.Hint = "not a variable", "a line is NAME=value"
			return p
		}
		for range vars { // several may stand on one line, each in the next
			size := len(statement)
			for _, m := range references.FindAllSubmatch(statement, -1) {
				size += sizes[string(m[1])]
			}
			for name := range vars {
				sizes[name] = size
			}
			if total += size; total > doc.EnvExpanded {
				p.Message = "the values of the file are larger than " + doc.Size(doc.EnvExpanded) + " from this line on"
				p.Hint = "a variable whose value names others holds theirs"
				return p
			}
		}
		statement, first = statement[:0], line+1
	}
	return nil
}
