package agent_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/plumb-eval/plumb"
)

// marked returns the command lines of all processes that have the marker in their environment.
func marked(t *testing.T, marker string) []string {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, file := range files {
		environ, err := os.ReadFile(file)
		if err != nil {
			continue // it has just ended
		}
		for v := range bytes.SplitSeq(environ, []byte{0}) {
			if string(v) == plumb.MarkerEnv+"="+marker {
				line, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "cmdline")) // for a message only
				found = append(found, string(bytes.ReplaceAll(line, []byte{0}, []byte{' '})))
			}
		}
	}
	return found
}
