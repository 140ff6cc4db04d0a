package redact

import (
	"bytes"
	"io"
	"strings"
	"testing"
)

// TestKeyMask: a key of a well-known form is masked wherever the output is split.
func TestKeyMask(t *testing.T) {
	const key = "sk-proj-Ab1Cd2Ef3Gh4Ij5Kl6"
	const pem = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA\nAb1Cd2\n-----END RSA PRIVATE KEY-----"
	text := "unknown key \"" + key + "\" (known: suites)\nskip sk-1 " + key + "\n" + pem + "\n-----BEGIN X\nb"
	want := strings.NewReplacer(key, maskedKey, pem, maskedKey).Replace(text)
	for at := range len(text) {
		for next := at; next < len(text); next += 7 {
			var b bytes.Buffer
			w := KeyMask(&b)
			for _, part := range []string{text[:at], text[at:next], text[next:]} {
				_, _ = io.WriteString(w, part) // writing to memory cannot fail
			}
			_ = w.Close()
			if b.String() != want {
				t.Fatalf("split at %d and %d: %q, want %q", at, next, b.String(), want)
			}
		}
	}
}

// TestMaskKeys: a key is masked after an escape of JSON, and names in words are no keys.
func TestMaskKeys(t *testing.T) {
	const key = "sk-proj-Ab1Cd2Ef3Gh4Ij5Kl6"
	for _, keep := range []string{
		"npm_config_registry_setting", "hf_hub_download_to_local", "pypi-publish-to-the-registry",
		"sk-questions-about-animals", "550e8400-e29b-41d4-a716-446655440000",
	} {
		if got := string(MaskKeys([]byte(keep))); got != keep || Keys(keep) != nil {
			t.Errorf("%q became %q", keep, got)
		}
	}
	for _, before := range []string{"\\n", "\\t", "\\r", "\"", " "} {
		if got, want := string(MaskKeys([]byte(before+key))), before+maskedKey; got != want {
			t.Errorf("%q became %q, want %q", before+key, got, want)
		}
		if keys := Keys(before + key); len(keys) != 1 || keys[0] != key {
			t.Errorf("keys %q", keys)
		}
	}
	pem := "a\n-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA\n-----END RSA PRIVATE KEY-----\nb"
	if got := string(MaskKeys([]byte(pem))); got != "a\n"+maskedKey+"\nb" {
		t.Errorf("%q", got)
	}
}

// TestLongWords: the output is held back up to the length of the longest key.
func TestLongWords(t *testing.T) {
	const begin = "-----BEGIN PRIVATE KEY-----\n"
	for _, test := range []struct {
		text string
		want int
	}{
		{strings.Repeat("a", 8<<10-1), 0},
		{strings.Repeat("a", 8<<10), 8 << 10},
		{strings.Repeat("a", 8<<10+1), 8<<10 + 1},
		{" " + strings.Repeat("a", 8<<10-1), 1},
		{begin + strings.Repeat("a\n", (8<<10-len(begin))/2) + "\n"[:len(begin)%2], len(maskedKey)},
		{begin + strings.Repeat("a\n", (8<<10-len(begin)-1)/2), 0},
	} {
		var b bytes.Buffer
		_, _ = io.WriteString(KeyMask(&b), test.text) // writing to memory cannot fail
		if b.Len() != test.want {
			t.Errorf("of %d bytes of %.20q, %d bytes were written, want %d", len(test.text), test.text, b.Len(), test.want)
		}
	}
}
