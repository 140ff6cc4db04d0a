//go:build unix

package proc

import (
	"os"
	"time"
)

// Find returns all processes of this user of which the mark matches, with their descendants: what [Reap] would end.
func Find(match func(marker, runDir string) bool) ([]Process, error) {
	h := hunt{match: match, found: map[int]uint64{}}
	members, err := h.look()
	return describe(members), err
}

// Reap ends all processes of this user of which the mark matches, with their descendants: what runs left that are dead
// themselves. It never ends this process or its ancestors. The error names what could not be ended.
func Reap(match func(marker, runDir string) bool) ([]Process, error) {
	return reap(match, Grace{}.orDefault().Terminate)
}

func reap(match func(marker, runDir string) bool, grace time.Duration) ([]Process, error) {
	h := hunt{match: match, found: map[int]uint64{}}
	members, err := h.look()
	if err != nil {
		return nil, err
	}
	killed := describe(members)
	remain := finish(members, grace, func() []process {
		members, err := h.look()
		if err != nil {
			return nil
		}
		return members
	})
	if len(remain) > 0 {
		return killed, survived(describe(remain))
	}
	return killed, nil
}

// hunt looks for processes whose mark matches.
type hunt struct {
	match func(marker, runDir string) bool
	// found are those that matched before, and their descendants, by pid, with their start.
	found map[int]uint64
}

// look returns the processes that are there now, neither this one nor its ancestors among them.
func (h *hunt) look() ([]process, error) {
	all, err := table()
	if err != nil {
		return nil, err
	}
	kin := index(all)
	spared := kin.ancestors(os.Getpid())
	belongs := map[int]bool{}
	for _, p := range all {
		if p.zombie || spared[p.pid] || belongs[p.pid] {
			continue
		}
		if start, ok := h.found[p.pid]; ok && start == p.start || h.marked(p.pid) {
			kin.add(belongs, p.pid)
		}
	}
	var living []process
	for _, p := range all {
		if belongs[p.pid] && !p.zombie && !spared[p.pid] {
			h.found[p.pid] = p.start
			living = append(living, p)
		}
	}
	return living, nil
}

// marked reports whether a process has a mark that matches. One that cannot be asked is somebody else's.
func (h *hunt) marked(pid int) bool {
	env, err := environment(pid)
	if err != nil {
		return false
	}
	marker := lookup(env, MarkerEnv)
	return marker != "" && h.match(marker, lookup(env, RunDirEnv))
}
