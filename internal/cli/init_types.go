package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/files"
	"github.com/plumb-eval/plumb/internal/suite"
)

// typesFile and tsconfigFile are the files of plumb init --types.
const (
	typesFile    = "plumb.d.ts"
	tsconfigFile = "tsconfig.json"
)

// tsconfig lets editors and tsc check suites. Plumb itself does not need tsc.
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

// writeTypes writes the types of the module plumb into the working directory, and a tsconfig.json
// if there is none. It returns the names of the written files. It replaces types of earlier
// versions, but only with force a file of that name that Plumb did not write.
func (c *initCmd) writeTypes() ([]string, error) {
	types := []byte(suite.Types())
	head, _, _ := bytes.Cut(types, []byte("\n"))
	old, err := doc.Read(c.path(typesFile), doc.StateBytes)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, fmt.Errorf("write %s: %w", typesFile, err)
	case !c.force && !bytes.HasPrefix(old, head):
		return nil, plumb.WithHint(fmt.Errorf("%s exists already, and Plumb did not write it", typesFile),
			"replace it with plumb init --types --force")
	}
	if err := c.write(typesFile, types); err != nil || files.Exists(c.path(tsconfigFile)) {
		return []string{typesFile}, err
	}
	return []string{typesFile, tsconfigFile}, c.write(tsconfigFile, []byte(tsconfig))
}
