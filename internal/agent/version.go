package agent

import (
	"cmp"
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
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/files"
	"github.com/plumb-eval/plumb/internal/proc"
	"github.com/plumb-eval/plumb/internal/text"
)

// versionLimit is the time limit for printing the version.
const versionLimit = 15 * time.Second

// Version returns the version of the agent; "" if it is unknown.
func (r *Runner) Version(ctx context.Context) string {
	version, _ := r.version(ctx) // an error means that it is unknown
	return version
}

// version runs the agent's program to get its version, once for each state of the file. "" means
// that it is unknown.
func (r *Runner) version(ctx context.Context) (string, error) {
	info, err := os.Stat(r.program.Path)
	if err != nil {
		return "", err
	}
	key := fmt.Sprintf("%s %q %d %d", r.program.Path, r.program.Args, info.Size(), info.ModTime().UnixNano())
	shared := r.env.Shared
	shared.mu.Lock()
	version, known := shared.versions[key]
	shared.mu.Unlock()
	if known {
		return version, nil
	}
	version, err = r.askVersion(ctx)
	if err != nil && ctx.Err() != nil {
		return "", err
	}
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.versions == nil {
		shared.versions = map[string]string{}
	}
	shared.versions[key] = version // also "", so that a failure is not repeated
	return version, err
}

func (r *Runner) askVersion(ctx context.Context) (_ string, err error) {
	root, err := newRoot()
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, files.RemoveAll(root)) }()
	l := &spec.Launch{Home: filepath.Join(root, "home"), Tmp: root, Workspace: root, Hermetic: true}
	if err := os.Mkdir(l.Home, 0o700); err != nil {
		return "", err
	}
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
	printed, err := doc.Read(c.Stdout, doc.StateBytes)
	return versionIn(string(printed)), err
}

// versionIn finds the version in the output of a program: "codex-cli 0.169.0", "2.1.328 (Claude
// Code)".
func versionIn(s string) string {
	found := regexp.MustCompile(`\b\d+\.\d+(\.\d+)?[-+.0-9A-Za-z]*`).FindString(text.Clip(s, 4<<10))
	return strings.TrimRight(found, ".-+")
}

// checkVersion compares the agent's version with that of the configuration.
func (r *Runner) checkVersion(ctx context.Context) error {
	version, err := r.version(ctx)
	if err != nil {
		return fmt.Errorf("get the version of %s: %w", r.program.Path, err)
	}
	if matchesVersion(version, r.cfg.Version) {
		return nil
	}
	return plumb.WithHint(
		fmt.Errorf("%s has version %s, but the configuration requires %s",
			r.program.Path, cmp.Or(version, "unknown"), r.cfg.Version),
		"install that version, or change version")
}

// matchesVersion reports whether version is want, or begins with all of its numbers.
func matchesVersion(version, want string) bool {
	rest, ok := strings.CutPrefix(strings.TrimPrefix(version, "v"), strings.TrimPrefix(want, "v"))
	return ok && (rest == "" || strings.ContainsAny(rest[:1], ".-+"))
}
