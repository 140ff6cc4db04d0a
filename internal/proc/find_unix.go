//go:build unix

package proc

import "os"

// Find returns what [Reap] would end, descendants left out.
func Find(match func(marker, runDir string) bool) ([]Process, error) {
	all, err := table()
	if err != nil {
		return nil, err
	}
	spared := index(all).ancestors(os.Getpid())
	var marked []process
	for _, p := range all {
		if p.zombie || spared[p.pid] {
			continue
		}
		env, err := environment(p.pid)
		if err != nil {
			continue // it is gone, or another user's
		}
		if marker := lookup(env, MarkerEnv); marker != "" && match(marker, lookup(env, RunDirEnv)) {
			marked = append(marked, p)
		}
	}
	return describe(marked), nil
}
