package load

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/joho/godotenv"

	"github.com/plumb-eval/plumb"
)

// dotEnvName is the file of environment variables beside a project's config.
const dotEnvName = ".env"

// DotEnv reads the file .env in a directory and returns the variables that it adds to the environment: those that getenv
// does not know or that are empty there, for the shell wins. No file gives no variables. A line that cannot be read is
// an error with its place, which never repeats the line, since it may hold a secret.
func DotEnv(dir string, getenv func(string) string) (map[string]string, error) {
	file := filepath.Join(dir, dotEnvName)
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if info, statErr := os.Stat(file); err != nil && statErr == nil && info.IsDir() {
		return nil, nil // somebody's virtual environment
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", file, cause(err))
	}
	data = bytes.TrimPrefix(data, []byte("\xEF\xBB\xBF"))
	vars, err := godotenv.UnmarshalBytes(data)
	if err != nil {
		return nil, Problems{{
			Pos: plumb.Position{File: file, Line: badLine(data), Column: 1}, Message: "not a variable", Hint: "a line is NAME=value",
		}}
	}
	for name := range vars {
		if name == "" || getenv(name) != "" {
			delete(vars, name)
		}
	}
	return vars, nil
}

// badLine returns the line from which on a text cannot be read: the parser does not tell.
func badLine(data []byte) int {
	bad := 1
	const most = 64 << 10 // each line takes a look at all before it
	data = data[:min(len(data), most)]
	for end, line := 0, 1; end < len(data); line++ {
		n := bytes.IndexByte(data[end:], '\n')
		if n < 0 {
			break
		}
		end += n + 1
		if _, err := godotenv.UnmarshalBytes(data[:end]); err == nil {
			bad = line + 1
		}
	}
	return bad
}
