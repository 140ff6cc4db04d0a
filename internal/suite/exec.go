package suite

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/plumb-eval/plumb/internal/config"
	"github.com/plumb-eval/plumb/internal/script"
	"github.com/plumb-eval/plumb/internal/suite/lib"
)

// Exec runs the script in a file to its end, with the modules that suites can import and with the
// given arguments, and returns its exit code: 1 after an uncaught error, which it prints. It returns
// an error if the file could not be run at all, [doc.Problems] if its source does not compile. h.Dir
// is the working directory of the script.
func Exec(ctx context.Context, file string, args []string, h lib.Host) (int, error) {
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
	options := config.Options(h, h.Dir)
	options.Args = args
	code, err := script.Exec(ctx, program, options)
	if err != nil {
		return code, fmt.Errorf("run %s: %w", file, err)
	}
	return code, nil
}
