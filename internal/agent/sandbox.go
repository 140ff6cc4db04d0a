package agent

import (
	"bytes"
	"crypto/rand"
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
	"github.com/plumb-eval/plumb/internal/files"
	"github.com/plumb-eval/plumb/internal/proc"
	"github.com/plumb-eval/plumb/internal/redact"
)

// sandbox is where one session happens. Its root is outside the artifacts, readable by this user only, and gone afterwards.
type sandbox struct {
	root string
	// home and tmp are the agent's own; with an inherited configuration home holds only what this package adds.
	home, tmp string
	workspace string
	// artifacts is where the streams and the kept state go, without secrets, once the agent has ended. It is below root if
	// nobody wants them.
	artifacts      string
	kept           bool
	stdout, stderr string
	// out and err are what the agent itself writes to, and state has what belongs to the record of its state, "" if
	// nothing does. All are as the agent left them: the report is made of them.
	out, err, state string
	// skills are those that were put into the workspace.
	skills []string
	shared *Shared
	// lent are credentials files of the user's that the agent works with, by their place in home.
	lent    map[string]string
	started time.Time
}

// sandbox makes the directories of a session.
func (r *Runner) sandbox(t task) (_ *sandbox, err error) {
	root, err := newRoot()
	if err != nil {
		return nil, err
	}
	p := &sandbox{
		root: root, home: filepath.Join(root, "home"), tmp: filepath.Join(root, "tmp"), workspace: t.workspace,
		artifacts: t.artifacts, kept: t.artifacts != "", shared: r.shared, lent: map[string]string{}, started: time.Now(),
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
			return nil, fmt.Errorf("bring back the state of the session: %w", err)
		}
	}
	if !r.cfg.InheritConfig && r.cfg.BaseURL == "" {
		if err := p.linkCredentials(r); err != nil {
			return nil, fmt.Errorf("offer the agent its credentials: %w", err)
		}
	}
	return p, p.addSkills(append(append([]string(nil), r.cfg.Skills...), t.skills...), r.spec.Skills)
}

// rootPrefix begins the names of the directories of sessions; the id of the process that made it follows.
const rootPrefix = "plumb-agent-"

// newRoot makes a directory for a session.
func newRoot() (string, error) {
	root, err := os.MkdirTemp("", rootPrefix+strconv.Itoa(os.Getpid())+"-*")
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(root) // agents do so too, and would find what is below elsewhere
}

// Sweep removes the directories of sessions whose process is dead, and returns their names; with dryRun it only does the latter.
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
			continue // another user's
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

// linkCredentials offers the agent the user's credentials files. They are links: an agent that renews a token writes the new one to
// where the user's own sessions look for it, for the old one is worth nothing then.
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
		if err := os.Symlink(source, place); err != nil { // not everybody may make links on Windows
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
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(data, &all); err != nil {
		return nil //nolint:nilerr // what is no JSON, the agent cannot read either
	}
	maps.DeleteFunc(all, func(name string, _ json.RawMessage) bool { return !slices.Contains(names, name) })
	if data, err = json.Marshal(all); err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o600)
}

// restoreCredentials hands a renewed token to the user where the agent has put a new file in place of the link.
func (p *sandbox) restoreCredentials() error {
	for place, source := range p.lent {
		info, err := os.Lstat(place)
		if err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
			continue
		}
		mine, err := os.ReadFile(place)
		if err != nil {
			return err
		}
		was, err := os.ReadFile(source)
		if err != nil || bytes.Equal(mine, was) {
			continue
		}
		if changed, err := os.Stat(source); err != nil || changed.ModTime().After(p.started) {
			continue // somebody else has renewed it too, and later
		}
		if err := replaceFile(source, mine); err != nil {
			return fmt.Errorf("hand back the credentials that the agent renewed: %w", err)
		}
	}
	return nil
}

func replaceFile(name string, data []byte) error {
	next := name + ".plumb-" + rand.Text()[:8]
	if err := os.WriteFile(next, data, 0o600); err != nil {
		return err
	}
	if err := os.Rename(next, name); err != nil {
		return errors.Join(err, os.Remove(next))
	}
	return nil
}

// remove removes the session's place.
func (p *sandbox) remove() error {
	return errors.Join(p.restoreCredentials(), p.removeSkills(), files.RemoveAll(p.root))
}

// gather puts what belongs to the record of the agent's state into one directory, as it is.
func (p *sandbox) gather(r *Runner, l *spec.Launch, session string) error {
	target := filepath.Join(p.root, "state")
	home := p.home
	if r.cfg.InheritConfig {
		home = spec.UserHome(r.env.Getenv)
	}
	for _, part := range r.spec.State {
		source := filepath.Join(home, filepath.FromSlash(part))
		if r.cfg.InheritConfig && (session == "" || home == "") {
			break // nothing tells the session's files from those of all others
		}
		if !transcript.Exists(source) {
			continue
		}
		err := copyFiltered(filepath.Join(target, filepath.FromSlash(part)), source, linkFile, func(name string, info fs.FileInfo) bool {
			if r.cfg.InheritConfig {
				return strings.Contains(name, session) && info.ModTime().After(p.started.Add(-time.Second))
			}
			return !secretFile(info.Name())
		})
		if err != nil {
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

// linkFile is copyFile for a file that nobody writes to any more: a link costs nothing.
func linkFile(to, from string, mode fs.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	if os.Link(from, to) == nil {
		return nil
	}
	return copyFile(to, from, mode)
}

// keep puts what belongs to the record into the artifacts, without secrets: what the agent printed, and its state.
func (p *sandbox) keep(r *redact.Redactor) error {
	take := copyFile
	if p.kept {
		take = func(to, from string, mode fs.FileMode) error { return copyClean(to, from, mode, r) }
	}
	for _, from := range []string{p.out, p.err} {
		if err := take(p.artifact(r, from), from, 0o600); err != nil {
			return err
		}
		if err := os.Remove(from); err != nil { // a large one would take the room twice
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

// artifact returns where in the artifacts a file of the record is kept; any other path is returned as it is.
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

// secretFile reports whether a file of an agent's home holds credentials by its name.
func secretFile(name string) bool {
	switch strings.ToLower(name) {
	case "auth.json", ".credentials.json", "oauth_creds.json", "mcp-oauth-tokens.json", "mcp-auth.json", "account.json", "google_accounts.json":
		return true
	default:
		return false
	}
}

// copyClean copies a file without the secrets that are in it. One that is no text is left out if it holds any, since it would
// be broken.
func copyClean(to, from string, mode fs.FileMode, r *redact.Redactor) error {
	return copyWith(to, from, mode, func(out io.Writer, _ *os.File) error { return r.CopyFile(out, from) })
}

// copyTree copies a directory into another.
func copyTree(to, from string) error {
	return copyFiltered(to, from, copyFile, func(string, fs.FileInfo) bool { return true })
}

// copyFiltered copies the files of a directory, or one file, that wanted says yes to. Links and special files are left out.
func copyFiltered(to, from string, take func(to, from string, mode fs.FileMode) error, wanted func(name string, info fs.FileInfo) bool) error {
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

// copyWith makes the file to of what fn makes of the file from; none where that holds what it must not.
func copyWith(to, from string, mode fs.FileMode, fn func(out io.Writer, in *os.File) error) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // only read
	out, err := os.OpenFile(to, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, mode)
	if errors.Is(err, fs.ErrNotExist) {
		if err = os.MkdirAll(filepath.Dir(to), 0o700); err == nil {
			out, err = os.OpenFile(to, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, mode)
		}
	}
	if err != nil {
		return err
	}
	switch err = errors.Join(fn(out, in), out.Close()); {
	case err == nil:
		return nil
	case errors.Is(err, redact.ErrBinary):
		return os.Remove(to)
	default:
		return errors.Join(err, os.Remove(to))
	}
}

// skillDirs makes the paths of skills absolute and checks that each is one.
func skillDirs(dirs []string, base string) ([]string, error) {
	var all []string
	for _, dir := range dirs {
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(base, dir)
		}
		if !transcript.Exists(filepath.Join(dir, "SKILL.md")) {
			return nil, plumb.WithHint(fmt.Errorf("skills: %s has no SKILL.md", dir), "name the directory of the skill itself")
		}
		all = append(all, dir)
	}
	return all, nil
}

// addSkills puts skills into the workspace, in the directory where the agent looks for them. One of the same name that is
// there already is the workspace's own, and stays.
func (p *sandbox) addSkills(dirs []string, under string) error {
	for _, dir := range dirs {
		target := filepath.Join(p.workspace, filepath.FromSlash(under), filepath.Base(dir))
		p.shared.mu.Lock()
		if p.shared.skills == nil {
			p.shared.skills = map[string]int{}
		}
		there := p.shared.skills[target] == 0 && transcript.Exists(target)
		var err error
		if !there {
			if p.shared.skills[target] == 0 {
				err = copyTree(target, dir)
			}
			p.shared.skills[target]++
			p.skills = append(p.skills, target)
		}
		p.shared.mu.Unlock()
		if err != nil {
			return fmt.Errorf("offer the skill %s: %w", dir, err)
		}
	}
	return nil
}

// removeSkills takes them out of the workspace again, which is to show what the agent changed and nothing else.
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
			if os.Remove(dir) != nil { // it holds something else
				break
			}
		}
	}
	return all
}
