package suite

import (
	"context"
	"fmt"
	"io"
	"path/filepath"

	"github.com/plumb-eval/plumb/internal/config"
	"github.com/plumb-eval/plumb/internal/script"
	"github.com/plumb-eval/plumb/internal/suite/lib"
)

// ExecOptions define the environment in which [Exec] runs a script.
type ExecOptions struct {
	Args           []string
	Stdout, Stderr io.Writer
	Environ        []string
	// Dir is the working directory of the script.
	Dir string
}

// Exec runs the script in a file to its end, with the modules that suites can import, and returns
// its exit code: 1 after an uncaught error, which it prints. It returns an error if the file could
// not be run at all, [doc.Problems] if its source does not compile.
func Exec(ctx context.Context, file string, o ExecOptions) (int, error) {
	abs, err := filepath.Abs(file)
	if err != nil {
		return 0, fmt.Errorf("run %s: %w", file, err)
	}
	program, err := lib.Build(abs)
	if err != nil {
		if problems := (lib.Places{Origin: abs, Named: file}).Thrown(err); problems != nil {
			return 0, problems
		}
		return 0, fmt.Errorf("run %s: %w", file, err)
	}
	host := lib.Host{Stdout: o.Stdout, Stderr: o.Stderr, Environ: func() []string { return o.Environ }}
	options := config.Options(host, o.Dir)
	options.Args = o.Args
	code, err := script.Exec(ctx, program, options)
	if err != nil {
		return code, fmt.Errorf("run %s: %w", file, err)
	}
	return code, nil
}
