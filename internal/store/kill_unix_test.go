//go:build unix

package store

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/plumb-eval/plumb/internal/accept"
	"github.com/plumb-eval/plumb/internal/accepttest"
)

// TestKilled: what was acknowledged before a process was killed is there once, and the sums are those of
// the rows.
func TestKilled(t *testing.T) {
	rounds := 3
	if os.Getenv("PLUMB_CI") == "1" {
		rounds = 10
	}
	file := filepath.Join(t.TempDir(), "plumb.db")
	acknowledged := map[string]bool{}
	for round := range rounds {
		child := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestAcceptForever$")
		child.Env = append(os.Environ(), fmt.Sprintf("PLUMB_STORE=%s %d", file, round))
		out, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		var once sync.Once
		for lines.Scan() {
			if digest, ok := strings.CutPrefix(lines.Text(), "accepted "); ok {
				acknowledged[digest] = true
				once.Do(func() {
					time.AfterFunc(time.Duration(20+37*round%300)*time.Millisecond, func() { _ = child.Process.Kill() })
				})
			}
		}
		_ = child.Wait()
	}
	s := opened(t, Options{File: file})
	runs, _, err := s.Runs(t.Context(), &Filter{View: View{Project: DefaultProject}})
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]int{}
	for i := range runs {
		found[runs[i].Digest]++
		if log, err := s.Log(t.Context(), &runs[i]); err != nil {
			t.Error(err)
		} else if _, err := log.Fold(nil); err != nil {
			t.Error(err)
		}
	}
	for digest := range acknowledged {
		if found[digest] != 1 {
			t.Errorf("%s is there %d times", digest, found[digest])
		}
	}
	if len(acknowledged) < rounds {
		t.Errorf("only %d logs were acknowledged", len(acknowledged))
	}
	t.Logf("%d acknowledged, %d found", len(acknowledged), len(found))
	checkSums(t, s)
}

// TestAcceptForever is the process that is killed.
func TestAcceptForever(t *testing.T) {
	var file, round string
	if n, _ := fmt.Sscan(os.Getenv("PLUMB_STORE"), &file, &round); n != 2 {
		t.Skip("only TestKilled runs it")
	}
	s := opened(t, Options{File: file})
	var all sync.WaitGroup
	for client := range 4 {
		all.Go(func() {
			for i := range 10_000 {
				run := accepttest.Run{ID: fmt.Sprintf("run-%s-%d-%d", round, client, i), Cases: accepttest.Cases(20)}
				log := run.Log(t)
				sub, err := accept.Read(t.Context(), accepttest.Open(log), accept.Rules{})
				if err != nil {
					t.Error(err)
					return
				}
				entry := &Entry{Project: DefaultProject, Account: LocalAccount, Submission: sub, Log: bytes.NewReader(log)}
				got, _, err := s.Accept(t.Context(), entry)
				if err != nil {
					t.Error(err)
					return
				}
				fmt.Fprintf(os.Stdout, "accepted %s\n", got.Digest)
			}
		})
	}
	all.Wait()
}
