// Package examples holds the agent suites that plumb demo --agents runs, and the CI jobs that plumb
// init --ci writes. The other directories are examples to read and copy.
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

//go:embed ci/.github/workflows/plumb.yml
var github []byte

//go:embed ci/gitlab.yml
var gitlab []byte

// GitHub returns a workflow of GitHub Actions that runs the config of the repository.
func GitHub() []byte { return github }

// GitLab returns a job of GitLab that runs the config of the repository.
func GitLab() []byte { return gitlab }
