package doc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/plumb-eval/plumb"
)

// updater is set in the processes that [TestUpdatesOfKilledProcesses] starts: the file to change.
const updater = "PLUMB_TEST_UPDATE"

func TestMain(m *testing.M) {
	if path := os.Getenv(updater); path != "" {
		addLines(path)
		return
	}
	os.Exit(m.Run())
}

// addLines adds numbered lines with the process id to a file, and tells each one to standard output
// when it is written.
func addLines(path string) {
	for i := range 20 {
		line := fmt.Sprintf("%d-%d\n", os.Getpid(), i)
		err := Update(context.Background(), path, func(path string) error {
			was, err := Read(path, StateBytes)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			return Write(path, func(f *File) error {
				for _, part := range []string{string(was), line, "end\n"} {
					if _, err := io.WriteString(f, part); err != nil {
						return err
					}
				}
				return nil
			})
		})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Print(line)
	}
}

// Processes change one file at the same time, and half of them are killed at random moments. Each
// line that a process wrote is in the file, and the file is complete at any moment.
func TestUpdatesOfKilledProcesses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shared", "file")
	var mu sync.Mutex
	var written []string
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), updater+"="+path)
			var out, problems bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &problems
			if err := cmd.Start(); err != nil {
				t.Error(err)
				return
			}
			if i%2 == 0 {
				time.Sleep(time.Duration(rand.IntN(100)) * time.Millisecond)
				_ = cmd.Process.Kill()
			}
			if err := cmd.Wait(); i%2 == 1 && err != nil {
				t.Errorf("%v: %s", err, problems.String())
			}
			mu.Lock()
			defer mu.Unlock()
			written = append(written, strings.Fields(out.String())...)
		})
	}
	all.Wait()
	data, err := os.ReadFile(path)
	if err != nil || !bytes.HasSuffix(data, []byte("\nend\n")) {
		t.Fatalf("the file ends with %q, %v", data[max(0, len(data)-20):], err)
	}
	there := map[string]bool{}
	for line := range strings.FieldsSeq(string(data)) {
		there[line] = true
	}
	if len(written) < 4*20 {
		t.Errorf("only %d lines were written", len(written))
	}
	for _, line := range written {
		if !there[line] {
			t.Errorf("line %s is lost", line)
		}
	}
}

// A process that holds the lock and does not go on is waited for a limited time.
func TestUpdateDoesNotWaitForEver(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file")
	unlock, err := lock(t.Context(), path, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	_, err = lock(t.Context(), path, 100*time.Millisecond)
	if err == nil || !strings.Contains(err.Error(), path+": another process has held the lock for 100ms") ||
		plumb.Hint(err) == "" {
		t.Errorf("error %v, hint %q", err, plumb.Hint(err))
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Update(canceled, path, func(string) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v after cancel", err)
	}
	if err := unlock(); err != nil {
		t.Fatal(err)
	}
	if err := Update(t.Context(), path, func(string) error { return nil }); err != nil {
		t.Error(err)
	}
	left, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(left) != 0 {
		t.Errorf("files are left: %v, %v", left, err)
	}
}
