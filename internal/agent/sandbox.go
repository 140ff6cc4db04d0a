package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/agent/spec"
	"github.com/plumb-eval/plumb/internal/agent/transcript"
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/files"
	"github.com/plumb-eval/plumb/internal/proc"
	"github.com/plumb-eval/plumb/internal/redact"
)

// sandbox holds the directories of one session. Its root is outside the artifacts, only this user
// can read it, and it is removed at the end.
type sandbox struct {
	root string
	// home and tmp are the agent's own. With an inherited configuration, home holds only files of
	// this package.
	home, tmp string
	workspace string
	// artifacts is the directory for the streams and the state, without secrets, after the agent
	// has ended. It is below root if the caller does not want artifacts; kept is then false.
	artifacts      string
	kept           bool
	stdout, stderr string
	// out and err are the files to which the agent writes. state is the directory with the recorded
	// parts of its state, or "". They are unchanged, because the report is made from them. stdin is
	// the agent's input, or "".
	out, err, state, stdin string
	// skills are the skills that Plumb copied to the workspace.
	skills []string
	shared *Shared
	// lent maps paths in home to the user's credentials files.
	lent    map[string]string
	started time.Time
}

// sandbox creates the directories of a session.
func (r *Runner) sandbox(t task) (_ *sandbox, err error) {
	root, err := newRoot()
	if err != nil {
		return nil, err
	}
	p := &sandbox{
		root: root, home: filepath.Join(root, "home"), tmp: filepath.Join(root, "tmp"), workspace: t.workspace,
		artifacts: t.artifacts, kept: t.artifacts != "", shared: r.env.Shared,
		lent: map[string]string{}, started: time.Now(),
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.remove())
		}
	}()
	if p.artifacts == "" {
		p.artifacts = filepath.Join(root, "artifacts")
	}
	if p.artifacts, err = filepath.Abs(p.artifacts); err != nil {
		return nil, err
	}
	if p.workspace == "" {
		p.workspace = filepath.Join(root, "workspace")
		err = os.Mkdir(p.workspace, 0o700)
	} else if p.workspace, err = filepath.Abs(p.workspace); err == nil {
		_, err = os.Stat(p.workspace)
	}
	if err != nil {
		return nil, err
	}
	for _, dir := range []string{p.home, p.tmp, p.artifacts} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
	}
	p.stdout, p.stderr = filepath.Join(p.artifacts, "stdout.log"), filepath.Join(p.artifacts, "stderr.log")
	p.out, p.err = filepath.Join(root, filepath.Base(p.stdout)), filepath.Join(root, filepath.Base(p.stderr))
	if t.state != "" {
		if err := copyTree(p.home, t.state); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("restore the state of the session: %w", err)
		}
	}
	if !r.cfg.InheritConfig && r.cfg.BaseURL == "" {
		if err := p.linkCredentials(r); err != nil {
			return nil, fmt.Errorf("link the credentials of the agent: %w", err)
		}
	}
	return p, p.addSkills(slices.Concat(r.cfg.Skills, t.skills), r.spec.Skills)
}

// rootPrefix begins the names of the directories of sessions. The id of the process that created
// the directory follows.
const rootPrefix = "plumb-agent-"

// newRoot creates a directory for a session.
func newRoot() (string, error) {
	root, err := os.MkdirTemp("", rootPrefix+strconv.Itoa(os.Getpid())+"-*")
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(root) // as agents do with the paths that they report
}

// Sweep removes the directories of sessions whose process has ended, and returns their names. With
// dryRun it only returns them.
func Sweep(dryRun bool) ([]string, error) {
	found, err := filepath.Glob(filepath.Join(os.TempDir(), rootPrefix+"*"))
	if err != nil {
		return nil, err
	}
	var removed []string
	for _, root := range found {
		owner, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(root), rootPrefix), "-")
		info, err := os.Lstat(root)
		if pid, bad := strconv.Atoi(owner); err != nil || !info.IsDir() || bad != nil || proc.Alive(pid) {
			continue
		}
		if entries, err := os.ReadDir(root); len(entries) == 0 && errors.Is(err, fs.ErrPermission) {
			continue // of another user
		}
		if !dryRun {
			if err := files.RemoveAll(root); err != nil {
				return removed, err
			}
		}
		removed = append(removed, root)
	}
	return removed, nil
}

// linkCredentials links the user's credentials files into the agent's home. An agent that renews a
// token then writes it to the user's file; the old token becomes invalid.
func (p *sandbox) linkCredentials(r *Runner) error {
	for _, c := range r.spec.Credentials {
		source := c.Source(r.env.Getenv)
		if source == "" {
			continue
		}
		if info, err := os.Stat(source); err != nil || !info.Mode().IsRegular() {
			continue
		}
		place := filepath.Join(p.home, filepath.FromSlash(c.Dir), filepath.FromSlash(c.File))
		if err := os.MkdirAll(filepath.Dir(place), 0o700); err != nil {
			return err
		}
		if err := os.Remove(place); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if len(c.Only) > 0 {
			if err := copyMembers(place, source, c.Only); err != nil {
				return err
			}
			continue
		}
		if err := os.Symlink(source, place); err != nil { // Windows requires a privilege for links
			if err := copyFile(place, source, 0o600); err != nil {
				return err
			}
		}
		p.lent[place] = source
	}
	return nil
}

// copyMembers copies some members of the object in a JSON file.
func copyMembers(to, from string, names []string) error {
	data, err := doc.Read(from, doc.StateBytes)
	if err != nil {
		return err
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(data, &all); err != nil {
		return nil //nolint:nilerr // the agent cannot read the file either
	}
	maps.DeleteFunc(all, func(name string, _ json.RawMessage) bool { return !slices.Contains(names, name) })
	if data, err = json.Marshal(all); err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o600)
}

// restoreCredentials copies a renewed token to the user's file if the agent replaced the link by a
// new file.
func (p *sandbox) restoreCredentials() error {
	for place, source := range p.lent {
		info, err := os.Lstat(place)
		if err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
			continue
		}
		mine, err := doc.Read(place, doc.StateBytes)
		if err != nil {
			return err
		}
		was, err := doc.Read(source, doc.StateBytes)
		if err != nil || bytes.Equal(mine, was) {
			continue
		}
		if changed, err := os.Stat(source); err != nil || changed.ModTime().After(p.started) {
			continue // another program renewed it later
		}
		err = doc.Write(source, func(f *doc.File) error {
			_, err := f.Write(mine)
			return err
		})
		if err != nil {
			return fmt.Errorf("store the credentials that the agent renewed: %w", err)
		}
	}
	return nil
}

// remove removes the directories of the session.
func (p *sandbox) remove() error {
	return errors.Join(p.restoreCredentials(), p.removeSkills(), files.RemoveAll(p.root))
}

// gather links the recorded parts of the agent's state into one directory, unchanged.
func (p *sandbox) gather(r *Runner, l *spec.Launch, session string) error {
	target := filepath.Join(p.root, "state")
	home := p.home
	if r.cfg.InheritConfig {
		home = spec.UserHome(r.env.Getenv)
	}
	for _, part := range r.spec.State {
		source := filepath.Join(home, filepath.FromSlash(part))
		if r.cfg.InheritConfig && (session == "" || home == "") {
			break // the session's files cannot be distinguished from other files
		}
		if !transcript.Exists(source) {
			continue
		}
		wanted := func(name string, info fs.FileInfo) bool {
			if r.cfg.InheritConfig {
				return strings.Contains(name, session) && info.ModTime().After(p.started.Add(-time.Second))
			}
			return !secretFile(info.Name())
		}
		if err := copyFiltered(filepath.Join(target, filepath.FromSlash(part)), source, linkFile, wanted); err != nil {
			return err
		}
	}
	for name, source := range l.Keep {
		if transcript.Exists(source) {
			if err := linkFile(filepath.Join(target, name), source, 0o600); err != nil {
				return err
			}
		}
	}
	if transcript.Exists(target) {
		p.state = target
	}
	return nil
}

// linkFile is copyFile for a file that does not change any more. It creates a hard link if
// possible.
func linkFile(to, from string, mode fs.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	if os.Link(from, to) == nil {
		return nil
	}
	return copyFile(to, from, mode)
}

// keep copies the agent's output and its state to the artifacts, without secrets.
func (p *sandbox) keep(r *redact.Redactor) error {
	take := copyFile
	if p.kept {
		take = func(to, from string, mode fs.FileMode) error {
			return copyWith(to, from, mode, func(out io.Writer, _ *os.File) error { return r.CopyFile(out, from) })
		}
	}
	for _, from := range []string{p.out, p.err} {
		if err := take(p.artifact(r, from), from, 0o600); err != nil {
			return err
		}
		if err := os.Remove(from); err != nil { // a large file must not use the disk twice
			return err
		}
	}
	if p.state == "" {
		return nil
	}
	return filepath.WalkDir(p.state, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		return take(p.artifact(r, name), name, info.Mode().Perm()|0o600)
	})
}

// artifact returns the path in the artifacts of a file in the record. It returns other paths
// unchanged.
func (p *sandbox) artifact(r *redact.Redactor, name string) string {
	switch {
	case name == p.out:
		return p.stdout
	case name == p.err:
		return p.stderr
	case p.state == "":
		return name
	}
	rel, err := filepath.Rel(p.state, name)
	if err != nil || !filepath.IsLocal(rel) {
		return name
	}
	return filepath.Join(p.artifacts, "session", r.FileName(rel))
}

// secretFile reports whether a file of an agent's home holds credentials, by its name.
func secretFile(name string) bool {
	return slices.Contains([]string{
		"auth.json", ".credentials.json", "oauth_creds.json", "mcp-oauth-tokens.json", "mcp-auth.json", "account.json",
		"google_accounts.json",
	}, strings.ToLower(name))
}

// copyTree copies a directory into another.
func copyTree(to, from string) error {
	return copyFiltered(to, from, copyFile, func(string, fs.FileInfo) bool { return true })
}

// copyFiltered copies one file or the files of a directory, as far as wanted accepts them. It omits
// links and special files.
func copyFiltered(
	to, from string, take func(to, from string, mode fs.FileMode) error,
	wanted func(name string, info fs.FileInfo) bool,
) error {
	return filepath.WalkDir(from, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || !wanted(name, info) {
			return err
		}
		rel, err := filepath.Rel(from, name)
		if err != nil {
			return err
		}
		return take(filepath.Join(to, rel), name, info.Mode().Perm()|0o600)
	})
}

func copyFile(to, from string, mode fs.FileMode) error {
	return copyWith(to, from, mode, func(out io.Writer, in *os.File) error {
		_, err := io.Copy(out, in)
		return err
	})
}

// copyWith creates the file to with the output of fn for the file from. It creates no file if fn
// finds a secret in a binary file, which redaction would break.
func copyWith(to, from string, mode fs.FileMode, fn func(out io.Writer, in *os.File) error) error {
	in, err := files.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // opened only for reading
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	if err = errors.Join(fn(out, in), out.Close()); err == nil {
		return nil
	}
	removed := os.Remove(to)
	if errors.Is(err, redact.ErrBinary) {
		return removed
	}
	return errors.Join(err, removed)
}

// skillDirs makes the paths of skills absolute, and checks that each has a SKILL.md.
func skillDirs(dirs []string, base string) ([]string, error) {
	var all []string
	for _, dir := range dirs {
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(base, dir)
		}
		if !transcript.Exists(filepath.Join(dir, "SKILL.md")) {
			return nil, plumb.WithHint(fmt.Errorf("skills: %s has no SKILL.md", dir),
				"use the path of the directory that contains SKILL.md")
		}
		all = append(all, dir)
	}
	return all, nil
}

// addSkills copies skills to the directory of the workspace where the agent looks for them. It does
// not replace a skill of the workspace with the same name.
func (p *sandbox) addSkills(dirs []string, under string) error {
	for _, dir := range dirs {
		target := filepath.Join(p.workspace, filepath.FromSlash(under), SkillName(dir))
		p.shared.mu.Lock()
		if p.shared.skills == nil {
			p.shared.skills = map[string]int{}
		}
		there := p.shared.skills[target] == 0 && transcript.Exists(target)
		var err error
		if !there {
			if p.shared.skills[target] == 0 {
				err = copyFiltered(target, dir, copyFile, func(name string, _ fs.FileInfo) bool {
					rel, err := filepath.Rel(dir, name)
					return err == nil && SkillFile(rel)
				})
			}
			p.shared.skills[target]++
			p.skills = append(p.skills, target)
		}
		p.shared.mu.Unlock()
		if err != nil {
			return fmt.Errorf("copy the skill %s to the workspace: %w", dir, err)
		}
	}
	return nil
}

// removeSkills removes the copied skills, so that the workspace shows only the changes of the
// agent.
func (p *sandbox) removeSkills() error {
	p.shared.mu.Lock()
	defer p.shared.mu.Unlock()
	var all error
	for _, target := range p.skills {
		if p.shared.skills[target]--; p.shared.skills[target] > 0 {
			continue
		}
		delete(p.shared.skills, target)
		all = errors.Join(all, os.RemoveAll(target))
		for dir := filepath.Dir(target); dir != p.workspace && files.Within(dir, p.workspace); dir = filepath.Dir(dir) {
			if os.Remove(dir) != nil { // it is not empty
				break
			}
		}
	}
	return all
}
