// Package examples holds the agent suites that plumb demo --agents runs. The other directories are
// examples to read and copy.
package examples

import (
	"embed"
	"io/fs"
)

//go:embed agents/*.ts agents/*.yaml agents/README.md agents/rehearsal agents/skills agents/template
var agents embed.FS

// Agents returns the files of the agent suites, without the tests.
func Agents() fs.FS {
	sub, err := fs.Sub(agents, "agents")
	if err != nil { // only an invalid path is an error
		panic(err)
	}
	return sub
}
