//go:build unix

package proc

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// poseEnv makes the test binary act as a program of a test.
const poseEnv = "PROC_TEST_POSE"

func TestMain(m *testing.M) {
	if what := os.Getenv(poseEnv); what != "" {
		os.Exit(pose(strings.Fields(what)))
	}
	os.Exit(m.Run())
}

// pose performs the actions that words name.
func pose(words []string) int {
	arg := func(i int) string {
		if i < len(words) {
			return words[i]
		}
		return ""
	}
	number := func() int {
		n, _ := strconv.Atoi(arg(1))
		return n
	}
	switch words[0] {
	case "exit":
		return number()
	case "suicide":
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
		time.Sleep(time.Minute)
	case "stdin":
		n := 0
		for in := bufio.NewScanner(os.Stdin); in.Scan(); n++ {
			fmt.Println("in:", in.Text())
		}
		fmt.Println("lines:", n)
	case "say":
		fmt.Print(strings.NewReplacer("_", " ", "|", "\n", "^", "\r").Replace(arg(1)))
	case "long": // one line of this many bytes, and another one
		fmt.Printf("%s\nshort\n", strings.Repeat("x", number()))
	case "flood": // this many MiB in lines of 1000 bytes
		out := bufio.NewWriterSize(os.Stdout, 1<<20)
		line := `{"type":"x","text":"` + strings.Repeat("y", 977) + "\"}\n"
		for n := number() << 20; n > 0; n -= len(line) {
			out.WriteString(line)
		}
		out.Flush()
	case "polite": // ends with 0 at the first signal
		asked := make(chan os.Signal, 1)
		signal.Notify(asked, syscall.SIGINT, syscall.SIGTERM)
		fmt.Println("ready")
		fmt.Println("asked", <-asked)
	case "stubborn": // ends only by SIGKILL
		signal.Ignore(syscall.SIGINT, syscall.SIGTERM)
		fmt.Println("ready")
		time.Sleep(time.Minute)
	case "sleep":
		mark()
		time.Sleep(time.Minute)
	case "deaf": // sleeps, and ends only by SIGKILL
		signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
		mark()
		time.Sleep(time.Minute)
	case "hidden": // sleeps without any trace of its origin
		if os.Getppid() == number() {
			for os.Getppid() == number() { // until its parent has ended
				time.Sleep(time.Millisecond)
			}
		}
		mark()
		time.Sleep(time.Minute)
	case "escape": // leaves a hidden process: no environment, a new session, in /, an orphan, with closed files
		cmd := exec.Command(os.Args[0], os.Getenv("MARKS"))
		cmd.Dir, cmd.Env = "/", []string{poseEnv + "=hidden " + strconv.Itoa(os.Getpid())}
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := cmd.Start(); err != nil {
			panic(err)
		}
	case "escapes": // a child leaves a hidden process; then ends or sleeps
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), poseEnv+"=escape")
		if err := cmd.Run(); err != nil {
			panic(err)
		}
		await(os.Getenv("MARKS"))
		fmt.Println("ready")
		if arg(1) == "sleep" {
			time.Sleep(time.Minute)
		}
	case "litter": // leaves a child behind, as the words describe, and ends
		return litter(words[1:], false)
	case "parent": // the same, and waits
		return litter(words[1:], true)
	case "supervise": // runs a program with this package; prints the memory used
		supervise(strings.Join(words[1:], " "))
	}
	return 0
}

// litter starts a child: "setsid" in a new session, "bare" without an environment, "double" through
// a child that ends at once. The last word is the action of the child.
func litter(words []string, wait bool) int {
	what := words[len(words)-1]
	cmd := exec.Command(os.Args[0], os.Getenv("MARKS"))
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr // the child keeps them open
	cmd.Env = append(os.Environ(), poseEnv+"="+what)
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	for _, w := range words[:len(words)-1] {
		switch w {
		case "setsid":
			cmd.SysProcAttr.Setsid = true
		case "bare":
			cmd.Env = []string{poseEnv + "=" + what}
		case "double":
			cmd.Env = append(os.Environ(), poseEnv+"=litter setsid "+what)
		}
	}
	if err := cmd.Start(); err != nil {
		fmt.Println(err)
		return 9
	}
	if strings.Contains(what, "sleep") || strings.Contains(what, "deaf") {
		await(os.Getenv("MARKS"))
	}
	fmt.Println("ready")
	if wait {
		time.Sleep(time.Minute)
	}
	return 0
}

// await waits until a process has left a file in the directory of the test.
func await(marks string) {
	for {
		if found, _ := filepath.Glob(filepath.Join(marks, "[0-9]*")); len(found) > 0 {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// mark leaves a file with the name of this process in the directory of the test.
func mark() {
	dir := os.Getenv("MARKS")
	if len(os.Args) > 1 {
		dir = os.Args[1]
	}
	if err := os.WriteFile(filepath.Join(dir, strconv.Itoa(os.Getpid())), nil, 0o600); err != nil {
		panic(err)
	}
}

func supervise(what string) {
	dir := os.Getenv("MARKS")
	n := 0
	c := Command{
		Path: os.Args[0], Dir: dir, Stdout: filepath.Join(dir, "stdout"), Observe: func([]byte) error {
			n++
			return nil
		},
		Env: append(os.Environ(), poseEnv+"="+what, markerEnv+"=supervised/1", oldRunDirEnv+"="+dir),
	}
	if !strings.HasPrefix(what, "flood") {
		c.Observe = nil
	}
	if _, err := c.Run(context.Background()); err != nil {
		panic(err)
	}
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	fmt.Printf("lines %d maxrss %d\n", n, usage.Maxrss)
}
