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

// explainLimit is how long an agent may take for the answer to one question.
const explainLimit = 5 * time.Minute

// Explain goes on with a session that has ended, and asks about it. The artifacts of the k-th question go to
// explain/question-k in the session's artifact directory, and with them the state that the next question goes on from: the
// state of the session itself stays as it was.
func (r *Runner) Explain(ctx context.Context, s plumb.SessionRef, question string) (*plumb.SessionReport, error) {
	switch {
	case r.program.Path == "":
		_, err := find(r.cfg, r.spec, r.env)
		return nil, plumb.Failed(plumb.OriginRunner, err)
	case s.SessionID == "" || s.SessionID[0] == '-':
		return nil, plumb.Failuref(plumb.OriginRunner, "the session has no name by which %s could go on with it", r.info.Agent.Type)
	case s.ArtifactDir == "":
		return nil, plumb.Failuref(plumb.OriginRunner, "the session has no artifacts, and so no state to go on from")
	}
	if _, err := os.Stat(s.Workspace); err != nil {
		f := plumb.Failuref(plumb.OriginRunner, "the session's workspace is gone: %w", err)
		f.Hint = "keep workspaces with --keep-workspaces; those of failed sessions are kept anyway"
		return nil, f
	}
	if err := r.turn(ctx); err != nil {
		return nil, err
	}
	defer r.leave()
	dir, state, err := nextQuestion(s.ArtifactDir)
	if err != nil {
		return nil, plumb.Failuref(plumb.OriginRunner, "make a directory for the answer: %w", err)
	}
	if r.cfg.InheritConfig {
		state = ""
	}
	return r.session(ctx, task{
		prompt: question, workspace: s.Workspace, artifacts: dir, resume: s.SessionID, state: state, timeout: explainLimit,
	})
}

// nextQuestion makes the directory of the next question about a session, and finds the state to go on from: that after the
// question before, or that of the session.
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
