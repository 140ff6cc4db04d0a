package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/suite"
)

// typesFile and tsconfigFile are what plumb init --types writes.
const (
	typesFile    = "plumb.d.ts"
	tsconfigFile = "tsconfig.json"
)

// tsconfig lets editors and tsc check suites as plumb runs them. tsc itself is never needed.
const tsconfig = `{
  "compilerOptions": {
    "target": "ES2024",
    "lib": ["ESNext", "DOM"],
    "module": "Preserve",
    "moduleResolution": "Bundler",
    "resolveJsonModule": true,
    "allowImportingTsExtensions": true,
    "strict": true,
    "noEmit": true,
    "skipLibCheck": true
  },
  "include": ["plumb.d.ts", "**/*.ts", "**/*.mts", "**/*.cts"],
  "exclude": ["node_modules", ".plumb"]
}
`

// writeTypes writes the types of the module plumb beside the suites of the working directory, and a tsconfig.json where
// there is none. It returns the names of the files that it wrote. Types that an earlier version wrote are replaced; a file
// of that name that somebody else wrote is left alone unless force is given.
func (a *app) writeTypes(force bool) ([]string, error) {
	types := []byte(suite.Types())
	head, _, _ := bytes.Cut(types, []byte("\n"))
	old, err := os.ReadFile(a.path(typesFile))
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, fmt.Errorf("write %s: %w", typesFile, err)
	case !force && !bytes.HasPrefix(old, head):
		return nil, plumb.WithHint(fmt.Errorf("%s exists already, and is not from plumb", typesFile), "plumb init --types --force replaces it")
	}
	if err := os.WriteFile(a.path(typesFile), types, 0o644); err != nil { //nolint:gosec // the user's own file, to be shared
		return nil, fmt.Errorf("write %s: %w", typesFile, err)
	}
	files := []string{typesFile}
	if exists(a.path(tsconfigFile)) {
		return files, nil
	}
	if err := os.WriteFile(a.path(tsconfigFile), []byte(tsconfig), 0o644); err != nil { //nolint:gosec // the user's own file, to be shared
		return nil, fmt.Errorf("write %s: %w", tsconfigFile, err)
	}
	return append(files, tsconfigFile), nil
}
