package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/agent/spec"
	"github.com/plumb-eval/plumb/internal/agent/transcript"
	"github.com/plumb-eval/plumb/internal/files"
	"github.com/plumb-eval/plumb/internal/proc"
)

// versionLimit is how long an agent may take to say its version.
const versionLimit = 15 * time.Second

// version asks the agent's program for its version, once for each state of the file. "" is not known.
func (r *Runner) version(ctx context.Context) (string, error) {
	info, err := os.Stat(r.program.Path)
	if err != nil {
		return "", err
	}
	key := fmt.Sprintf("%s %q %d %d", r.program.Path, r.program.Args, info.Size(), info.ModTime().UnixNano())
	r.shared.mu.Lock()
	version, known := r.shared.versions[key]
	r.shared.mu.Unlock()
	if known {
		return version, nil
	}
	version, err = r.askVersion(ctx)
	if err != nil && ctx.Err() != nil {
		return "", err
	}
	r.shared.mu.Lock()
	defer r.shared.mu.Unlock()
	if r.shared.versions == nil {
		r.shared.versions = map[string]string{}
	}
	r.shared.versions[key] = version // "" too: a program that cannot say it need not be asked again
	return version, err
}

func (r *Runner) askVersion(ctx context.Context) (_ string, err error) {
	root, err := newRoot()
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, files.RemoveAll(root)) }()
	p := &sandbox{root: root, home: filepath.Join(root, "home"), tmp: root, workspace: root}
	if err := os.Mkdir(p.home, 0o700); err != nil {
		return "", err
	}
	l := &spec.Launch{Root: root, Home: p.home, Tmp: p.tmp, Workspace: p.workspace, Hermetic: true}
	if r.spec.SharedCache {
		cache, err := spec.SharedCache(r.spec.Name)
		if err != nil {
			return "", err
		}
		if cache != "" {
			l.Own = map[string]string{"XDG_CACHE_HOME": cache}
		}
	}
	c := proc.Command{
		Path: r.program.Path, Args: append(slices.Clone(r.program.Args), "--version"), Dir: root,
		Env:    r.environ(l, ""),
		Stdout: filepath.Join(root, "stdout"), Stderr: filepath.Join(root, "stderr"),
	}
	ctx, cancel := context.WithTimeoutCause(ctx, versionLimit, spec.TimeoutError(versionLimit))
	defer cancel()
	result, err := c.Run(ctx)
	if err != nil {
		return "", err
	}
	if result.Stopped != nil {
		return "", result.Stopped
	}
	said, err := os.ReadFile(c.Stdout)
	if err != nil {
		return "", err
	}
	return versionIn(string(said)), nil
}

// versionIn finds the version in what a program says of itself: "codex-cli 0.169.0", "2.1.328 (Claude Code)".
func versionIn(text string) string {
	found := regexp.MustCompile(`\b\d+\.\d+(\.\d+)?[-+.0-9A-Za-z]*`).FindString(transcript.Clip(text, 4<<10))
	return strings.TrimRight(found, ".-+")
}

// checkVersion compares the agent's version with the one that the configuration wants.
func (r *Runner) checkVersion(ctx context.Context) error {
	version, err := r.version(ctx)
	if err != nil {
		return fmt.Errorf("ask %s for its version: %w", r.program.Path, err)
	}
	if !matchesVersion(version, r.cfg.Version) {
		if version == "" {
			version = "one that it does not tell"
		}
		return plumb.WithHint(fmt.Errorf("%s has version %s, and the configuration wants %s", r.program.Path, version, r.cfg.Version),
			"install that version, or change version")
	}
	return nil
}

// matchesVersion reports whether version is want, or begins with all of its numbers.
func matchesVersion(version, want string) bool {
	version, want = strings.TrimPrefix(version, "v"), strings.TrimPrefix(want, "v")
	return version == want || strings.HasPrefix(version, want+".") || strings.HasPrefix(version, want+"-") || strings.HasPrefix(version, want+"+")
}
