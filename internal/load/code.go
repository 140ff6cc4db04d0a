package load

import (
	"context"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/plumb-eval/plumb"
)

// Host is the world that suites and configs in code see. The zero value is an empty one.
type Host struct {
	// Stdout and Stderr take what the code prints; nil drops it.
	Stdout, Stderr io.Writer
	// Environ is the environment, as pairs NAME=value; nil is an empty one.
	Environ func() []string
	// LoadTimeout limits how long a file may take to load; 0 means DefaultLoadTimeout.
	LoadTimeout time.Duration
	// AssertTimeout limits how long the checks of one session may take, waits for a judge included; 0 means
	// DefaultAssertTimeout.
	AssertTimeout time.Duration
}

// The time limits of code that a [Host] does not limit itself.
const (
	DefaultLoadTimeout   = 30 * time.Second
	DefaultAssertTimeout = 2 * time.Minute
)

// codeExtensions are those of files that are executed.
func codeExtensions() []string { return []string{".ts", ".mts", ".cts", ".js", ".mjs", ".cjs"} }

func isCode(name string) bool {
	return slices.Contains(codeExtensions(), strings.ToLower(filepath.Ext(name)))
}

func executeConfig(ctx context.Context, path string, h Host) (*Config, Problems) {
	return nil, Problems{{Pos: plumb.Position{File: path}, Message: "not yet"}}
}
