package agentcli

import "testing"

func TestGeminiRecordings(t *testing.T) { sameAsRecorded(t, "gemini", "gemini") }

func TestGeminiTorn(t *testing.T) {
	neverMoreThanRecorded(t, "gemini", "gemini", func(stdout []byte, _ recording) bool { return hasRecord(stdout, "type", "result") })
}
