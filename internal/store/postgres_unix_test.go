//go:build unix

package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// server is the Postgres server of all tests of this process.
var server struct {
	once   sync.Once
	dir    string
	cmd    *exec.Cmd
	number atomic.Int64
	err    error
}

func stopPostgres() {
	if server.cmd != nil {
		_ = server.cmd.Process.Signal(syscall.SIGQUIT)
		_ = server.cmd.Wait()
	}
	if server.dir != "" {
		_ = os.RemoveAll(server.dir)
	}
}

// database returns the address of a new database. It skips the test if Postgres is not installed.
func database(tb testing.TB) string {
	tb.Helper()
	server.once.Do(func() { server.err = startPostgres() })
	if server.err != nil {
		if os.Getenv("PLUMB_CI") == "1" {
			tb.Fatal(server.err)
		}
		tb.Skip(server.err)
	}
	name := fmt.Sprintf("test%d", server.number.Add(1))
	admin := exec.CommandContext(context.Background(), filepath.Join(bin(), "createdb"), "-h", server.dir, "-U", "plumb", name)
	if out, err := admin.CombinedOutput(); err != nil {
		tb.Fatalf("%v: %s", err, out)
	}
	return address(name)
}

func address(name string) string {
	return "postgres:///" + name + "?host=" + server.dir + "&user=plumb"
}

// bin returns the directory of the newest Postgres of Debian, or "".
func bin() string {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	if len(found) == 0 {
		return ""
	}
	return found[len(found)-1]
}

// startPostgres starts a server for one user, without a network address and without a durable disk. It
// must not be root.
func startPostgres() error {
	if bin() == "" {
		return errors.New("no Postgres in /usr/lib/postgresql: apt-get install postgresql")
	}
	var err error
	if server.dir, err = os.MkdirTemp("/tmp", "plumb-pg-"); err != nil {
		return err
	}
	attributes := &syscall.SysProcAttr{}
	if os.Getuid() == 0 {
		nobody, err := user.Lookup("nobody")
		if err != nil {
			return err
		}
		uid, _ := strconv.Atoi(nobody.Uid)
		gid, _ := strconv.Atoi(nobody.Gid)
		attributes.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		if err := os.Chown(server.dir, uid, gid); err != nil {
			return err
		}
	}
	data := filepath.Join(server.dir, "data")
	run := func(name string, args ...string) *exec.Cmd {
		cmd := exec.CommandContext(context.Background(), filepath.Join(bin(), name), args...)
		cmd.SysProcAttr, cmd.Dir = attributes, server.dir
		return cmd
	}
	out, err := run("initdb", "-D", data, "-U", "plumb", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync").CombinedOutput()
	if err != nil {
		return fmt.Errorf("initdb: %w: %s", err, out)
	}
	server.cmd = run("postgres", "-D", data, "-k", server.dir, "-c", "listen_addresses=", "-c", "fsync=off",
		"-c", "max_connections=200", "-c", "deadlock_timeout=100ms")
	if err := server.cmd.Start(); err != nil {
		return err
	}
	for range 200 {
		if run("pg_isready", "-h", server.dir, "-U", "plumb").Run() == nil {
			return nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	return errors.New("Postgres does not answer")
}
