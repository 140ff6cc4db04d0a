package agentcli

import "testing"

func TestClaudeRecordings(t *testing.T) { sameAsRecorded(t, "claude-code", "claude") }

func TestClaudeTorn(t *testing.T) {
	neverMoreThanRecorded(t, "claude-code", "claude", func(stdout []byte, _ recording) bool { return hasRecord(stdout, "type", "result") })
}
