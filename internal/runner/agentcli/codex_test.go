package agentcli

import "testing"

func TestCodexRecordings(t *testing.T) { sameAsRecorded(t, "codex", "codex") }

func TestCodexTorn(t *testing.T) {
	neverMoreThanRecorded(t, "codex", "codex", func(stdout []byte, r recording) bool {
		// Without any of the stream the rollout says how the session ended.
		return hasRecord(stdout, "type", "turn.completed") || len(stdout) == 0 && r.t.Session != "" || !hasRecord(stdout, "type", "thread.started") && r.t.Session != ""
	})
}
