package run

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/files"
	"github.com/plumb-eval/plumb/internal/proc"
	"github.com/plumb-eval/plumb/internal/text"
)

// bootstrap runs the program that prepares a workspace, with the documented variables, and records
// the result. Its output goes to dir. limit is the time limit of the session; the program may have
// its own.
func (w *workspaces) bootstrap(
	ctx context.Context, ws *workspace, limit time.Duration, dir string, names map[string]string,
) *plumb.Failure {
	b := w.Config.Bootstrap
	if b.TimeoutMs > 0 {
		limit = time.Duration(b.TimeoutMs) * time.Millisecond
	}
	rec := &bootstrapRecord{
		Command: b.Command, Args: append([]string{}, b.Args...),
		StdoutPath: filepath.Join(dir, "bootstrap.stdout.log"), StderrPath: filepath.Join(dir, "bootstrap.stderr.log"),
	}
	ws.record.Bootstrap = rec
	line := strings.Join(append([]string{b.Command}, b.Args...), " ")
	path, err := program(b.Command, ws.path)
	if err != nil {
		err = fmt.Errorf("Workspace bootstrap failed: %s: %w", line, err) //nolint:staticcheck // documented
		return plumb.Failed(plumb.OriginWorkspaceBootstrap, plumb.WithHint(err,
			"for a program in the same directory as the suite, write ./"+filepath.Base(b.Command)))
	}
	var env []string
	if w.Environ != nil {
		env = append(env, w.Environ()...)
	}
	for name, value := range b.Env {
		env = append(env, name+"="+value)
	}
	vars := map[string]string{"WORKSPACE": ws.path, "OUTPUT_DIR": w.run.Path, "ARTIFACT_DIR": dir}
	maps.Copy(vars, names)
	for name, value := range vars {
		env = append(env, "PLUMB_"+name+"="+value, "SKILLGYM_"+name+"="+value)
	}
	id, err := w.id()
	if err != nil {
		return plumb.Failed(plumb.OriginWorkspaceBootstrap, err)
	}
	env = append(env, plumb.MarkerEnv+"="+id+"/bootstrap-"+rand.Text())
	// the output may hold secrets, so it is redacted before it becomes an artifact
	output, err := proc.TempBootstrap.Dir()
	if err != nil {
		return plumb.Failed(plumb.OriginWorkspaceBootstrap, err)
	}
	defer os.RemoveAll(output)
	stdout, stderr := filepath.Join(output, "stdout"), filepath.Join(output, "stderr")
	ctx, cancel := context.WithTimeoutCause(ctx, limit, bootstrapTimeout(limit))
	defer cancel()
	began := time.Now()
	res, err := (&proc.Command{
		Path: path, Args: b.Args, Dir: ws.path, Env: env, Stdout: stdout, Stderr: stderr,
		Grace: proc.Grace{Interrupt: 200 * time.Millisecond, Terminate: time.Second},
	}).Run(ctx)
	rec.DurationMs, rec.ExitCode = time.Since(began).Milliseconds(), res.ExitCode
	if copied := errors.Join(w.copyClean(rec.StdoutPath, stdout), w.copyClean(rec.StderrPath, stderr)); copied != nil &&
		err == nil {
		err = fmt.Errorf("save its output: %w", copied)
	}
	if cleaned := cleanTree(dir, w.redact); cleaned != nil && err == nil {
		err = fmt.Errorf("redact its files: %w", cleaned)
	}
	failure := func(why string) *plumb.Failure {
		f := plumb.Failuref(plumb.OriginWorkspaceBootstrap, "Workspace bootstrap failed: %s (%s)", line, why)
		f.LogPath = rec.StderrPath
		if last := lastLine(rec.StderrPath); last != "" {
			f.Hint = "the last line of its output: " + last
		}
		return f
	}
	switch {
	case err != nil:
		return failure(err.Error())
	case res.Stopped != nil:
		return failure(res.Stopped.Error())
	case res.ExitCode == nil:
		return failure("exit null, " + res.Text())
	case *res.ExitCode != 0:
		return failure(fmt.Sprintf("exit %d", *res.ExitCode))
	}
	return nil
}

// copyClean copies a log file without secrets.
func (w *workspaces) copyClean(to, from string) error {
	in, err := files.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	file, err := os.OpenFile(to, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	out := w.redact.Writer(file)
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close(), file.Close())
}

type bootstrapTimeout time.Duration

func (t bootstrapTimeout) Error() string {
	return fmt.Sprintf("exit null, not finished within %s", text.Duration(time.Duration(t)))
}

// program finds an executable. A relative path is relative to dir.
func program(name, dir string) (string, error) {
	if filepath.Base(name) != name && !filepath.IsAbs(name) {
		name = filepath.Join(dir, name)
	}
	path, err := exec.LookPath(name)
	if e, ok := errors.AsType[*exec.Error](err); ok {
		err = e.Err
	}
	return path, err
}

// lastLine returns the last line of a log file that is not empty.
func lastLine(path string) string {
	f, err := files.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	text := make([]byte, 4<<10)
	info, err := f.Stat()
	if err != nil {
		return ""
	}
	n, _ := f.ReadAt(text, max(0, info.Size()-int64(len(text)))) // io.EOF when the file is shorter
	lines := strings.Split(strings.TrimSpace(string(text[:n])), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}
