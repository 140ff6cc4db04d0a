// Package examples holds the suites for agents that plumb demo --agents plays. The other directories are examples to read
// and to copy.
package examples

import (
	"embed"
	"io/fs"
)

//go:embed agents/*.ts agents/*.yaml agents/README.md agents/rehearsal agents/skills agents/template
var agents embed.FS

// Agents returns the files of the suites for agents, without the tests.
func Agents() fs.FS {
	sub, err := fs.Sub(agents, "agents")
	if err != nil { // only a path that is not valid is an error
		panic(err)
	}
	return sub
}
