package redact

import (
	"bytes"
	"strings"
	"testing"
)

// TestKeyMask: a key of a well-known form is masked wherever the output is split.
func TestKeyMask(t *testing.T) {
	const key = "sk-proj-Ab1Cd2Ef3Gh4Ij5Kl6"
	text := "unknown key \"" + key + "\" (known: suites)\nskip sk-1 " + key
	want := strings.ReplaceAll(text, key, maskedKey)
	for at := range len(text) {
		var b bytes.Buffer
		w := KeyMask(&b)
		_, _ = w.Write([]byte(text[:at])) // writing to memory cannot fail
		_, _ = w.Write([]byte(text[at:]))
		_ = w.Close()
		if b.String() != want {
			t.Fatalf("split at %d: %q, want %q", at, b.String(), want)
		}
	}
	pem := "a\n-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA\n-----END RSA PRIVATE KEY-----\nb"
	if got := string(MaskKeys([]byte(pem))); got != "a\n"+maskedKey+"\nb" {
		t.Errorf("%q", got)
	}
}
