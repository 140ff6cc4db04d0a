package agentcli

import "testing"

func TestCopilotRecordings(t *testing.T) { sameAsRecorded(t, "copilot", "copilot") }

func TestCopilotTorn(t *testing.T) {
	neverMoreThanRecorded(t, "copilot", "copilot", func(stdout []byte, _ recording) bool { return hasRecord(stdout, "type", "result") })
}
