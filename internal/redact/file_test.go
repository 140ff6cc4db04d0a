package redact_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/plumb-eval/plumb/internal/redact"
)

func TestFiles(t *testing.T) {
	r := redact.New([]redact.Secret{{Name: "MY KEY", Value: "sk-very/secret-0123"}})
	for in, want := range map[string]string{
		"a/b[1].txt":                   "a/b[1].txt",
		"a/x-sk-very/secret-0123.json": "a/x-redacted-MY_KEY.json",
		"sk-very%2Fsecret-0123/[x]":    "redacted-MY_KEY/[x]",
	} {
		if got := r.FileName(in); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
	for _, tt := range []struct {
		text, want string
		found      bool
		err        error
	}{
		{"nothing here", "nothing here", false, nil},
		{"a sk-very/secret-0123 b", "a [redacted:MY_KEY] b", true, nil},
		{"\x00binary", "\x00binary", false, nil},
		{"\x00binary sk-very/secret-0123", "", true, redact.ErrBinary},
		{"", "", false, nil},
	} {
		name := filepath.Join(t.TempDir(), "x")
		if err := os.WriteFile(name, []byte(tt.text), 0o600); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := r.CopyFile(&out, name); !errors.Is(err, tt.err) || out.String() != tt.want {
			t.Errorf("%q: %q, %v", tt.text, out.String(), err)
		}
		if found, err := r.InFile(name); found != tt.found || err != nil {
			t.Errorf("%q: %t, %v", tt.text, found, err)
		}
	}
	if err := r.CopyFile(&bytes.Buffer{}, filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}
