package agentcli

import "testing"

func TestOpencodeRecordings(t *testing.T) { sameAsRecorded(t, "opencode", "opencode") }

func TestOpencodeTorn(t *testing.T) {
	neverMoreThanRecorded(t, "opencode", "opencode", func(stdout []byte, r recording) bool {
		return r.t.Session != "" || hasRecord(stdout, "part.reason", "stop") // the export knows the end too
	})
}
