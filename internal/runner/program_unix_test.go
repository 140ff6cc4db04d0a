//go:build unix

package runner

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
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

// fakeVariable makes the test binary pose as a program that a command runner starts.
const fakeVariable = "PLUMB_TEST_PROGRAM"

func TestMain(m *testing.M) {
	if name := os.Getenv(fakeVariable); name != "" {
		os.Exit(pose(name, os.Args[1:]))
	}
	os.Exit(m.Run())
}

// pose is the program that the tests call name.
func pose(name string, args []string) int {
	switch name {
	case "echo": // answers with the prompt
		var prompt struct{ Prompt string }
		if err := json.NewDecoder(os.Stdin).Decode(&prompt); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 9
		}
		fmt.Println(prompt.Prompt)
	case "stdin": // answers with all that it reads
		if _, err := io.Copy(os.Stdout, os.Stdin); err != nil {
			return 9
		}
	case "say":
		fmt.Print(strings.Join(args, " "))
	case "deaf": // answers without reading
		os.Stdin.Close()
		fmt.Print("I did not listen")
	case "fail":
		code, _ := strconv.Atoi(args[0])
		fmt.Print(args[1])
		fmt.Fprint(os.Stderr, args[2])
		return code
	case "chatter": // much on stderr
		for i := range 2000 {
			fmt.Fprintf(os.Stderr, "line %d\n", i)
		}
		return 1
	case "flood":
		out := bufio.NewWriter(os.Stdout)
		for {
			if _, err := out.Write(bytes.Repeat([]byte("x"), 1<<16)); err != nil {
				return 1
			}
		}
	case "suicide":
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case "where":
		dir, _ := os.Getwd()
		fmt.Printf("%s|%s|%s", dir, os.Getenv("PWD"), os.Getenv("GIVEN"))
	case "polite": // ends when asked to, with a last word
		asked := make(chan os.Signal, 1)
		signal.Notify(asked, syscall.SIGTERM)
		fmt.Println("begun")
		mark("ready")
		<-asked
		mark("asked")
		return 0
	case "linger": // takes its time, and complains when it is not alone
		lock := filepath.Join(os.Getenv("MARKS"), "lock")
		if err := os.Mkdir(lock, 0o700); err != nil {
			fmt.Print("not alone")
			return 0
		}
		time.Sleep(100 * time.Millisecond)
		os.Remove(lock)
		fmt.Print("alone")
	case "tree": // three generations that end for nothing but SIGKILL
		signal.Ignore(syscall.SIGTERM)
		depth, _ := strconv.Atoi(args[0])
		mark("pid-" + strconv.Itoa(os.Getpid()))
		if depth > 0 {
			child := exec.Command(os.Args[0], strconv.Itoa(depth-1))
			child.Stdout, child.Stderr = os.Stdout, os.Stderr
			if err := child.Start(); err != nil {
				return 9
			}
		}
		time.Sleep(time.Minute)
	case "litter": // answers, and leaves a child behind that holds stdout open
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), fakeVariable+"=sleeper")
		child.Stdout, child.Stderr = os.Stdout, os.Stderr
		if err := child.Start(); err != nil {
			return 9
		}
		fmt.Print("done")
	case "sleeper":
		mark("pid-" + strconv.Itoa(os.Getpid()))
		time.Sleep(time.Minute)
	}
	return 0
}

// mark makes a file that the test can see.
func mark(name string) {
	if err := os.WriteFile(filepath.Join(os.Getenv("MARKS"), name), nil, 0o600); err != nil {
		panic(err)
	}
}
