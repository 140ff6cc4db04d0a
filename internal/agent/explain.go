package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/agent/transcript"
)

// explainLimit is the time limit for the answer to one question.
const explainLimit = 5 * time.Minute

// Explain resumes a session and asks a question about it. The artifacts of the k-th question go to
// explain/question-k in the session's artifact directory, together with the state from which the
// next question continues. The state of the session itself does not change.
func (r *Runner) Explain(ctx context.Context, s plumb.SessionRef, question string) (*plumb.SessionReport, error) {
	switch {
	case s.SessionID == "" || s.SessionID[0] == '-':
		return nil, plumb.Failuref(
			plumb.OriginRunner, "the session has no id with which %s could resume it", r.info.Agent.Type)
	case s.ArtifactDir == "":
		return nil, plumb.Failuref(plumb.OriginRunner, "the session has no artifacts, so its state is missing")
	}
	if _, err := os.Stat(s.Workspace); err != nil {
		f := plumb.Failuref(plumb.OriginRunner, "the session's workspace is missing: %w", err)
		f.Hint = "keep workspaces with --keep-workspaces; Plumb always keeps those of failed sessions"
		return nil, f
	}
	if err := r.enter(ctx); err != nil {
		return nil, err
	}
	defer r.leave()
	dir, state, err := nextQuestion(s.ArtifactDir)
	if err != nil {
		return nil, plumb.Failuref(plumb.OriginRunner, "create a directory for the answer: %w", err)
	}
	if r.cfg.InheritConfig {
		state = ""
	}
	return r.session(ctx, task{
		prompt: question, workspace: s.Workspace, artifacts: dir, timeout: explainLimit,
		resume: s.SessionID, state: state,
	})
}

// nextQuestion creates the directory of the next question about a session. It also returns the
// state to continue from: that after the previous question, or that of the session.
func nextQuestion(artifacts string) (dir, state string, err error) {
	parent := filepath.Join(artifacts, "explain")
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return "", "", err
	}
	state = filepath.Join(artifacts, "session")
	for n := 1; ; n++ {
		dir = filepath.Join(parent, fmt.Sprintf("question-%02d", n))
		err := os.Mkdir(dir, 0o700)
		if !errors.Is(err, os.ErrExist) {
			return dir, state, err
		}
		if before := filepath.Join(dir, "session"); transcript.Exists(before) {
			state = before
		}
	}
}
