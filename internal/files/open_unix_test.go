//go:build unix

package files

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func fifo(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestPipes: a pipe with a process at its other end works in both directions, also if that process
// begins late; one without ends with an error.
func TestPipes(t *testing.T) {
	t.Parallel()
	t.Run("both ends", func(t *testing.T) {
		t.Parallel()
		path := fifo(t)
		text := strings.Repeat("a line\n", 50_000) // more than a pipe holds
		written := make(chan error, 1)
		go func() {
			<-time.After(200 * time.Millisecond)
			out, err := OpenOutput(path, os.O_APPEND, 0)
			if err == nil {
				_, err = io.WriteString(out, text)
				_ = out.Close()
			}
			written <- err
		}()
		in, err := OpenStream(path)
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		got, err := io.ReadAll(in)
		if err != nil || string(got) != text || <-written != nil {
			t.Errorf("%d bytes of %d, %v", len(got), len(text), err)
		}
	})
	t.Run("no writer", func(t *testing.T) {
		t.Parallel()
		in, err := OpenStream(fifo(t))
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		if _, err := io.ReadAll(in); err == nil || !strings.Contains(err.Error(), "no process writes") {
			t.Error(err)
		}
	})
	t.Run("no reader", func(t *testing.T) {
		t.Parallel()
		if _, err := OpenOutput(fifo(t), 0, 0); err == nil || !strings.Contains(err.Error(), "no process reads") {
			t.Error(err)
		}
	})
	t.Run("not a stream", func(t *testing.T) {
		t.Parallel()
		if _, err := Open(fifo(t)); err == nil || !strings.Contains(err.Error(), "a named pipe") {
			t.Error(err)
		}
	})
}
