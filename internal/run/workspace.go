package run

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	json2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/files"
	"github.com/plumb-eval/plumb/internal/redact"
	"github.com/plumb-eval/plumb/internal/runlog"
)

// Workspaces describe where the sessions of agents and commands work.
type Workspaces struct {
	// Config is the effective configuration, with absolute paths. The zero value is mode none in
	// the directory Cwd.
	Config plumb.WorkspaceConfig
	// Cwd is the directory of mode none if Config names none.
	Cwd string
	// Root is the directory in which each run gets a directory for its workspaces; "" means
	// [WorkspaceRoot]. It must be outside any project, so that instructions and repositories of a
	// parent directory do not reach the agent.
	Root string
	// Reach are the file names that agents look for in the parent directories of their working
	// directory, in addition to those of version control: instructions, skills, settings. If one of
	// them exists, no session begins.
	Reach []string
	// Keep keeps all workspaces, including those of successful sessions.
	Keep bool
	// Environ is the environment of bootstrap programs, as name=value.
	Environ func() []string
	// Withhold, if set, removes from the isolated workspace of a session what is withheld from the
	// runner with this id.
	Withhold func(runnerID, workspace string) error
}

// WorkspaceRoot returns the default directory for workspaces.
func WorkspaceRoot() string {
	return filepath.Join(os.TempDir(), "plumb-workspaces-"+strconv.Itoa(os.Getuid()))
}

// SharedWorkspace returns the directory that the sessions of a run share in mode shared without a
// cwd. root is as in [Workspaces], and id is the id of the run.
func SharedWorkspace(root, id string) string {
	return filepath.Join(cmp.Or(root, WorkspaceRoot()), id, sharedName)
}

const sharedName = "shared"

// WorkspaceRoots returns the directories that hold the workspaces of runs for a root: the root
// itself, and those of single sessions beside it.
func WorkspaceRoots(root string) []string {
	beside, _ := filepath.Glob(globbed(root) + "-*") // the pattern is valid
	return append([]string{root}, beside...)
}

// WorkspacesOf returns the directories with the workspaces of a run. root is as in [Workspaces].
func WorkspacesOf(root, id string) []string {
	root = cmp.Or(root, WorkspaceRoot())
	var all []string
	for _, dir := range WorkspaceRoots(root) {
		all = append(all, filepath.Join(dir, id))
	}
	within, _ := filepath.Glob(filepath.Join(globbed(root), globbed(id)+"-*")) // the pattern is valid
	return append(all, within...)
}

// globbed escapes a path for a pattern.
func globbed(path string) string {
	if runtime.GOOS == "windows" {
		return path // a backslash is a separator there
	}
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}

// workspaces creates the directories of one run.
type workspaces struct {
	Workspaces
	run       *runlog.Dir
	redact    *redact.Redactor
	exclusive bool // sessions never share a directory at the same time

	once   sync.Once
	shared *workspace // the directory of mode shared, even if its setup failed
	failed *plumb.Failure

	owned   sync.Once
	unowned error

	claimed   sync.Once
	claim     runlog.Claim
	unclaimed error
}

// id returns the opaque id of the run that sessions get.
func (w *workspaces) id() (string, error) {
	w.claimed.Do(func() { w.claim, w.unclaimed = runlog.NewClaim(w.run.Path) })
	return w.claim.ID, w.unclaimed
}

// workspace is the directory of one session.
type workspace struct {
	path string
	// made means that it was made for this run, and may be deleted.
	made bool
	// base is the highest directory above it that no other session has, or "".
	base   string
	before *inventory
	record workspaceRecord
}

// workspaceRecord is the content of workspace.json. Its keys are documented.
type workspaceRecord struct {
	Mode          plumb.WorkspaceMode `json:"mode"`
	Cwd           string              `json:"cwd" redact:"-"`
	TemplateDir   string              `json:"templateDir,omitempty" redact:"-"`
	WorkspacePath string              `json:"workspacePath,omitempty" redact:"-"`
	Bootstrap     *bootstrapRecord    `json:"bootstrap,omitempty"`
	Preserved     bool                `json:"preserved"`
	SetupError    string              `json:"setupError,omitempty"`
	CleanupError  string              `json:"cleanupError,omitempty"`
}

type bootstrapRecord struct {
	Command    string   `json:"command"`
	Args       []string `json:"args"`
	DurationMs int64    `json:"durationMs"`
	ExitCode   *int     `json:"exitCode"`
	StdoutPath string   `json:"stdoutPath" redact:"-"`
	StderrPath string   `json:"stderrPath" redact:"-"`
}

// root returns the directory of this run's workspaces.
func (w *workspaces) root() string { return filepath.Join(cmp.Or(w.Root, WorkspaceRoot()), w.run.ID) }

// prepare makes the workspace of a session, with its artifact directory dir, and takes its
// inventory. The returned workspace is not nil if a directory was made, even an incomplete one.
func (w *workspaces) prepare(ctx context.Context, t task, number int, dir string) (*workspace, *plumb.Failure) {
	switch w.Config.Mode {
	case plumb.WorkspaceIsolated:
		base, root := w.sessionRoot(t, number)
		path := filepath.Join(plumb.ExecutionDir(root, t.c.ID, new(t.info)), fmt.Sprintf("repeat-%d", t.repetition))
		if number > 1 {
			path += fmt.Sprintf("-session-%d", number)
		}
		ws := w.new(path)
		ws.base = base
		limit := cmp.Or(t.c.Timeout, DefaultTimeout)
		if err := os.RemoveAll(base); err != nil {
			return nil, plumb.Failuref(plumb.OriginWorkspace, "clear the workspace: %w", err)
		}
		if f := w.reached(path); f != nil {
			return nil, f
		}
		if err := w.own(base, root); err != nil {
			return nil, plumb.Failed(plumb.OriginWorkspace, err)
		}
		f := w.fill(ctx, ws, limit, dir, map[string]string{"CASE_ID": t.c.ID, "RUNNER_ID": t.info.ID})
		if f == nil && w.Withhold != nil {
			if err := w.Withhold(t.info.ID, path); err != nil {
				f = plumb.Failed(plumb.OriginWorkspace, err)
			}
		}
		if f == nil {
			f = w.look(ws)
		}
		return ws, f
	case plumb.WorkspaceShared:
		w.once.Do(func() { w.shared, w.failed = w.setup(ctx, t) })
		if w.failed != nil {
			f := *w.failed
			return nil, &f
		}
		ws := *w.shared
		if ws.made {
			if f := w.reached(ws.path); f != nil {
				return nil, f
			}
		}
		return &ws, w.look(&ws)
	default:
		ws := &workspace{path: cmp.Or(w.Config.Cwd, w.Cwd)}
		ws.record = workspaceRecord{Mode: plumb.WorkspaceNone, Cwd: ws.path}
		if info, err := os.Stat(ws.path); err != nil || !info.IsDir() {
			return nil, plumb.Failuref(plumb.OriginWorkspace, "the working directory %s does not exist", ws.path)
		}
		return ws, w.look(ws)
	}
}

// sessionRoot returns the directory for the workspace of one isolated session, and the highest
// directory above it that no other session has: what an agent creates in a directory that another
// session has above its workspace would reach that session.
func (w *workspaces) sessionRoot(t task, number int) (base, root string) {
	h := fnv.New64a()
	fmt.Fprintf(h, "%q %q %q %d %d", w.run.ID, t.c.ID, t.info.ID, t.repetition, number)
	key := strconv.FormatUint(h.Sum64(), 36)
	if w.Root == "" {
		base = WorkspaceRoot() + "-" + key
		return base, filepath.Join(base, w.run.ID)
	}
	base = filepath.Join(w.Root, w.run.ID+"-"+key)
	return base, base
}

func (w *workspaces) new(path string) *workspace {
	return &workspace{path: path, made: true, record: workspaceRecord{
		Mode: w.Config.Mode, Cwd: path, TemplateDir: w.Config.TemplateDir, WorkspacePath: path,
	}}
}

// setup makes the workspace of mode shared.
func (w *workspaces) setup(ctx context.Context, t task) (*workspace, *plumb.Failure) {
	ws := w.new(filepath.Join(w.root(), sharedName))
	if w.Config.Cwd != "" {
		ws.path, ws.made = w.Config.Cwd, false
		ws.record.Cwd, ws.record.WorkspacePath = ws.path, ""
	}
	dir := w.run.Join("workspaces", "shared-setup")
	var f *plumb.Failure
	// Otherwise an earlier process made it.
	if _, err := os.Stat(filepath.Join(dir, "workspace.json")); err != nil || ws.made && !files.Exists(ws.path) {
		if ws.made {
			if f = w.owning(); f != nil {
				return ws, f
			}
			if err := os.RemoveAll(ws.path); err != nil {
				f = plumb.Failuref(plumb.OriginWorkspace, "clear the workspace: %w", err)
			}
		}
		if f == nil {
			f = w.fill(ctx, ws, max(t.c.Timeout, DefaultTimeout), dir, nil)
		}
		if f != nil {
			ws.record.Preserved, ws.record.SetupError = true, f.Message
		}
		if err := w.writeRecord(ws, dir); err != nil && f == nil {
			f = plumb.Failuref(plumb.OriginWorkspace, "record the workspace: %w", err)
		}
	}
	return ws, f
}

// fill creates the directory, copies the template, and runs the bootstrap program.
func (w *workspaces) fill(
	ctx context.Context, ws *workspace, limit time.Duration, dir string, names map[string]string,
) *plumb.Failure {
	if ws.made {
		if f := w.owning(); f != nil {
			return f
		}
	}
	if err := os.MkdirAll(ws.path, 0o700); err != nil {
		return plumb.Failuref(plumb.OriginWorkspace, "create the workspace: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return plumb.Failuref(plumb.OriginWorkspace, "create the artifact directory: %w", err)
	}
	if t := w.Config.TemplateDir; t != "" {
		if err := copyTree(t, ws.path); err != nil {
			return plumb.Failed(plumb.OriginWorkspace, err)
		}
	}
	if w.Config.Bootstrap == nil {
		return nil
	}
	return w.bootstrap(ctx, ws, limit, dir, names)
}

// owning creates the directory of the run's workspaces, once.
func (w *workspaces) owning() *plumb.Failure {
	w.owned.Do(func() { w.unowned = w.own(filepath.Dir(w.root()), w.root()) })
	if w.unowned == nil {
		return nil
	}
	f := *plumb.Failed(plumb.OriginWorkspace, w.unowned)
	return &f
}

// own creates a directory for workspaces of the run in base, and writes the runlog.OwnerFile.
func (w *workspaces) own(base, root string) error {
	if path := w.reaching(root); path != "" {
		return plumb.WithHint(fmt.Errorf("cannot create workspaces in %s: agents would see %s", root, path),
			"set --workspaces or TMPDIR to a directory outside any project")
	}
	id, err := w.id()
	if err != nil {
		return err
	}
	if err := runlog.Private(base, w.Root == "" || base == root); err != nil {
		return err
	}
	if err := runlog.Private(root, true); err != nil {
		return err
	}
	return runlog.WriteFile(filepath.Join(root, runlog.OwnerFile), []byte(id+"\n"))
}

// reached checks before each session that no file was added above its workspace since the run
// began.
func (w *workspaces) reached(ws string) *plumb.Failure {
	if f := w.owning(); f != nil {
		return f
	}
	path := w.reaching(filepath.Dir(ws))
	if path == "" {
		return nil
	}
	f := plumb.Failuref(plumb.OriginWorkspace,
		"the agent would see %s, which an earlier session or another program created during the run", path)
	f.Hint = "delete it, and find the session that created it; then run plumb resume --retry-errors"
	return f
}

// reaching returns a file that an agent would find in dir or above it: a repository, instructions,
// skills, settings. It returns "" if there is none.
func (w *workspaces) reaching(dir string) string {
	if path := w.above(dir); path != "" {
		return path
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil || real == dir {
		return "" // dir may not exist yet
	}
	return w.above(real)
}

func (w *workspaces) above(dir string) string {
	names := append([]string{".git", ".hg", ".jj", ".svn"}, w.Reach...)
	for on := ""; ; dir, on = filepath.Dir(dir), filepath.Base(dir) {
		for _, name := range names {
			if path := filepath.Join(dir, name); name != on && files.Exists(path) && !isHome(dir) {
				return path
			}
		}
		if dir == filepath.Dir(dir) {
			return ""
		}
	}
}

// isHome reports whether dir is the home directory of the user. Agents read their configuration
// there wherever they run, or not at all.
func isHome(dir string) bool {
	home, err := os.UserHomeDir()
	return err == nil && home == dir
}

// look takes the inventory to compare with after the session.
func (w *workspaces) look(ws *workspace) *plumb.Failure {
	if !w.exclusive {
		return nil // other sessions change files at the same time
	}
	var err error
	if ws.before, err = takeInventory(ws.path, w.run.Path, true); err != nil {
		return plumb.Failed(plumb.OriginWorkspace, err)
	}
	return nil
}

// recordChanges adds the changes in the workspace to a report.
func (ws *workspace) recordChanges(r *plumb.SessionReport) {
	if ws == nil {
		return
	}
	planted := ws.clear()
	if r == nil {
		return
	}
	r.Notes = append(r.Notes, planted...)
	r.Workspace = ws.path
	// The changes that the agent reports are incomplete: they omit those of its commands.
	const kind = string(plumb.SessionFileChange)
	if ws.before == nil {
		r.Incomplete = append(r.Incomplete, kind)
		return
	}
	changed, note, err := ws.before.changes()
	ws.before = nil
	if err != nil {
		note = err.Error()
	} else {
		r.Files.Changed = changed
	}
	if note != "" {
		r.Notes, r.Incomplete = append(r.Notes, note), append(r.Incomplete, kind)
	}
}

// maxPlanted bounds the notes about files above a workspace.
const maxPlanted = 10

// clear removes what a session created above its workspace, in directories that no other session
// has, and returns notes about it.
func (ws *workspace) clear() (notes []string) {
	if ws.base == "" {
		return nil
	}
	rel, err := filepath.Rel(ws.base, ws.path)
	if err != nil {
		return nil
	}
	// The agent can have put links in place of the directories.
	if info, err := os.Lstat(ws.base); err != nil || !info.IsDir() {
		return []string{fmt.Sprintf("the agent removed %s, which is above its workspace", ws.base)}
	}
	root, err := os.OpenRoot(ws.base)
	if err != nil {
		return []string{fmt.Sprintf("Plumb cannot look above the workspace: %v", err)}
	}
	defer func() { _ = root.Close() }() // only read
	for way := filepath.ToSlash(rel); way != "."; way = path.Dir(way) {
		entries, err := fs.ReadDir(root.FS(), path.Dir(way))
		if err != nil {
			notes = append(notes, fmt.Sprintf("Plumb cannot look above the workspace: %v", err))
		}
		for _, e := range entries {
			name := path.Join(path.Dir(way), e.Name())
			if e.Name() == path.Base(way) || e.Name() == runlog.OwnerFile {
				continue
			}
			note := fmt.Sprintf("the agent created %s above its workspace; Plumb removed it", filepath.Join(ws.base, name))
			if err := root.RemoveAll(name); err != nil {
				note = fmt.Sprintf("the agent created %s above its workspace, and Plumb cannot remove it: %v",
					filepath.Join(ws.base, name), err)
			}
			if len(notes) < maxPlanted {
				notes = append(notes, note)
			}
		}
	}
	return notes
}

// reopen returns the workspace of a session that an earlier process performed and did not judge, or
// nil.
func (w *workspaces) reopen(t task, s *session) *workspace {
	if !worksInDirectory(&t.info) || s.report == nil || s.report.Workspace == "" {
		return nil
	}
	if w.Config.Mode == plumb.WorkspaceIsolated {
		ws := w.new(s.report.Workspace)
		if base, root := w.sessionRoot(t, s.number); files.Within(ws.path, root) {
			ws.base = base // otherwise an earlier build made it
		}
		return ws
	}
	return &workspace{
		path:   s.report.Workspace,
		record: workspaceRecord{Mode: cmp.Or(w.Config.Mode, plumb.WorkspaceNone), Cwd: s.report.Workspace},
	}
}

// cleanUp deletes the workspace of a successful session, and records the result.
func (w *workspaces) cleanUp(ws *workspace, dir string, ok bool) error {
	if ws == nil {
		return nil
	}
	isolated := w.Config.Mode == plumb.WorkspaceIsolated
	ws.record.Preserved = ws.made && (!isolated || !ok || w.Keep)
	if isolated && !ws.record.Preserved {
		if err := files.RemoveAll(cmp.Or(ws.base, ws.path)); err != nil {
			ws.record.Preserved, ws.record.CleanupError = true, err.Error()
		}
		for dir := filepath.Dir(ws.path); dir != w.root() && files.Within(dir, w.root()); dir = filepath.Dir(dir) {
			if os.Remove(dir) != nil {
				break // it contains other workspaces
			}
		}
	}
	return w.writeRecord(ws, dir)
}

// writeRecord writes workspace.json.
func (w *workspaces) writeRecord(ws *workspace, dir string) error {
	record, _ := redact.Clean(w.redact, ws.record)
	return writeJSON(filepath.Join(dir, "workspace.json"), record)
}

// close deletes the shared workspace if the run was successful, and empty directories.
func (w *workspaces) close(ok bool) error {
	var err error
	if w.shared != nil && w.shared.made && ok && !w.Keep {
		err = files.RemoveAll(w.shared.path)
	}
	owner := filepath.Join(w.root(), runlog.OwnerFile)
	kept := slices.ContainsFunc(WorkspacesOf(w.Root, w.run.ID)[1:], files.Exists)
	if entries, errRead := os.ReadDir(w.root()); !kept && errRead == nil && len(entries) == 1 && files.Exists(owner) {
		_ = os.Remove(owner)    // plumb gc finds the rest
		_ = os.Remove(w.root()) // likewise
	}
	if w.claim.ID != "" && !files.Exists(owner) {
		_ = w.claim.Drop() // likewise
	}
	return err
}

// writeJSON writes an artifact, indented by two spaces, with a newline at the end. It does not sync
// the file, because the log has the same content.
func writeJSON(name string, v any) (err error) {
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(name, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	out := bufio.NewWriterSize(f, 16<<10)
	if err := json2.MarshalWrite(out, v, jsonv1.DefaultOptionsV1(), jsontext.WithIndent("  ")); err != nil {
		return fmt.Errorf("encode %s: %w", filepath.Base(name), err)
	}
	_ = out.WriteByte('\n') // Flush returns the error
	return out.Flush()
}
