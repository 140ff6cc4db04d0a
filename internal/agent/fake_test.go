package agent

import (
	"bufio"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// fakeEnv makes the test binary pose as an agent.
const fakeEnv = "FAKE_AGENT"

func TestMain(m *testing.M) {
	if what := os.Getenv(fakeEnv); what != "" {
		os.Exit(fake(strings.Fields(what)))
	}
	os.Exit(tidy(m))
}

// tidy runs the tests with a directory for temporary files of their own, and checks that no session leaves anything there.
func tidy(m *testing.M) int {
	dir, err := os.MkdirTemp("", "agentcli-test-*")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	os.Setenv("TMPDIR", dir)
	code := m.Run()
	if left, err := filepath.Glob(filepath.Join(dir, "plumb-agent-*")); err != nil || len(left) > 0 {
		fmt.Println("FAIL: sessions have left", left, err)
		return 1
	}
	return code
}

const (
	codexBegin = `{"type":"thread.started","thread_id":"01a1f818-fake"}` + "\n" + `{"type":"turn.started"}`
	codexEnd   = `{"type":"turn.completed","usage":{"input_tokens":10,"cached_input_tokens":4,"output_tokens":5}}`
)

func codexMessage(id int, text string) string {
	return fmt.Sprintf(`{"type":"item.completed","item":{"id":"item_%d","type":"agent_message","text":%q}}`, id, text)
}

// fake is an agent that writes as Codex does, and does what words say.
func fake(words []string) int {
	if len(os.Args) > 1 && os.Args[1] == "--version" {
		fmt.Println("codex-cli 0.169.0")
		return 0
	}
	number := func(i int) int {
		n, _ := strconv.Atoi(words[i])
		return n
	}
	switch words[0] {
	case "mcp":
		return serveMCP()
	case "ok":
		fmt.Println(codexBegin)
		fmt.Println(codexMessage(0, "done"))
		fmt.Println(codexEnd)
	case "crash":
		fmt.Println(codexBegin)
		fmt.Fprintln(os.Stderr, "thread 'main' panicked at src/main.rs:1")
		return 101
	case "silent":
		return number(1)
	case "complain":
		fmt.Fprintln(os.Stderr, "error: the moon is full")
		return 2
	case "garbage":
		for i := range 100 {
			fmt.Printf("%c\x00 garbage {\"type\" %d\n", 'a'+i%26, i)
		}
	case "flood": // so many MiB of output of commands in a session that is fine otherwise
		out := bufio.NewWriterSize(os.Stdout, 1<<20)
		fmt.Fprintln(out, codexBegin)
		text := strings.Repeat("y", 100_000)
		for n := number(1) << 20; n > 0; n -= len(text) {
			fmt.Fprintf(out, `{"type":"item.completed","item":{"id":"item_%d","type":"command_execution","command":"/bin/bash -lc 'echo %d'","aggregated_output":"%s","exit_code":0,"status":"completed"}}`+"\n", n, n, text)
		}
		fmt.Fprintln(out, codexMessage(0, "done"))
		fmt.Fprintln(out, codexEnd)
		out.Flush()
	case "steps": // takes so many steps, and goes on until it is ended
		fmt.Println(codexBegin)
		for i := range number(1) {
			fmt.Println(codexMessage(i, "step "+strconv.Itoa(i+1)))
		}
		time.Sleep(time.Minute)
	case "hang": // begins, and never ends by itself; "deaf" also when it is asked to, "polite" with exit code 0
		switch {
		case slices.Contains(words, "deaf"):
			signal.Ignore(os.Interrupt, syscall.SIGTERM)
		case slices.Contains(words, "polite"):
			asked := make(chan os.Signal, 1)
			signal.Notify(asked, os.Interrupt)
			go func() { <-asked; os.Exit(0) }()
		}
		if slices.Contains(words, "tool") {
			startTool()
		}
		fmt.Println(codexBegin)
		fmt.Println(codexMessage(0, "I am at it."))
		if err := os.WriteFile(filepath.Join(os.Getenv("MARKS"), "..", "begun"), nil, 0o600); err != nil {
			panic(err)
		}
		time.Sleep(time.Minute)
	case "mute": // never says anything
		time.Sleep(time.Minute)
	case "linger": // says that it is done, and stays
		fmt.Println(codexBegin)
		fmt.Println(codexMessage(0, "done"))
		fmt.Println(codexEnd)
		time.Sleep(time.Minute)
	case "litter": // ends well, and leaves a tool behind that holds its stdout
		fmt.Println(codexBegin)
		startTool()
		fmt.Println(codexMessage(0, "done"))
		fmt.Println(codexEnd)
	case "tool":
		signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
		os.WriteFile(filepath.Join(os.Getenv("MARKS"), strconv.Itoa(os.Getpid())), nil, 0o600)
		time.Sleep(time.Minute)
	case "leak": // prints its key, and writes it into its state
		home := os.Getenv("CODEX_HOME")
		dir := filepath.Join(home, "sessions", "2026")
		os.MkdirAll(dir, 0o700)
		os.WriteFile(filepath.Join(dir, "rollout-x.jsonl"), []byte(`{"type":"x","text":"`+os.Getenv("MY_KEY")+"\"}\n"), 0o600)
		os.WriteFile(filepath.Join(dir, "binary"), []byte("\x00\x01"+os.Getenv("MY_KEY")), 0o600)
		os.WriteFile(filepath.Join(dir, "auth.json"), []byte("{}"), 0o600)
		os.MkdirAll(filepath.Join(dir, "in-"+os.Getenv("MY_KEY"), "empty-"+os.Getenv("MY_KEY")), 0o700)
		os.WriteFile(filepath.Join(dir, "in-"+os.Getenv("MY_KEY"), "a[1]-"+os.Getenv("MY_KEY")+".jsonl"), []byte("{}\n"), 0o600)
		os.Symlink("/nowhere/"+os.Getenv("MY_KEY"), filepath.Join(dir, "link"))
		fmt.Println(codexBegin)
		fmt.Println(codexMessage(0, "the key is "+os.Getenv("MY_KEY")))
		fmt.Println(codexEnd)
		fmt.Fprintln(os.Stderr, os.Getenv("MY_KEY"))
	case "renew": // replaces or rewrites its credentials
		auth := filepath.Join(os.Getenv("CODEX_HOME"), "auth.json")
		if words[1] == "replace" {
			os.WriteFile(auth+".new", []byte(`{"token":"renewed"}`), 0o600)
			os.Rename(auth+".new", auth)
		} else {
			os.WriteFile(auth, []byte(`{"token":"renewed"}`), 0o600)
		}
		return fake([]string{"ok"})
	case "remember": // answers with how often it was resumed, by a file of its state
		file := filepath.Join(os.Getenv("CODEX_HOME"), "sessions", "count")
		before, _ := os.ReadFile(file)
		os.MkdirAll(filepath.Dir(file), 0o700)
		os.WriteFile(file, append(before, 'x'), 0o600)
		fmt.Println(codexBegin)
		fmt.Println(codexMessage(0, fmt.Sprintf("%d before: %s", len(before), os.Args[len(os.Args)-1])))
		fmt.Println(codexEnd)
	case "dump":
		dump()
	}
	return 0
}

// startTool starts what agents start for their tools: a process in a session of its own.
func startTool() {
	tool := exec.Command(os.Args[0])
	tool.Env = append(os.Environ(), fakeEnv+"=tool")
	tool.Stdout, tool.Stderr = os.Stdout, os.Stderr
	ownSession(tool)
	if err := tool.Start(); err != nil {
		panic(err)
	}
	for {
		if found, _ := os.ReadDir(os.Getenv("MARKS")); len(found) > 0 {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// dump writes all that the agent was given to a file.
func dump() {
	var b strings.Builder
	fmt.Fprintln(&b, "arguments:")
	for _, arg := range os.Args[1:] {
		fmt.Fprintf(&b, "  %s\n", short(arg))
	}
	dir, _ := os.Getwd()
	fmt.Fprintf(&b, "directory: %s\n", dir)
	stdin, _ := io.ReadAll(os.Stdin)
	fmt.Fprintf(&b, "stdin: %q\n", short(string(stdin)))
	fmt.Fprintln(&b, "environment:")
	for _, v := range slices.Sorted(slices.Values(os.Environ())) {
		fmt.Fprintf(&b, "  %s\n", v)
	}
	fmt.Fprintln(&b, "home:")
	list := func(root string, content bool) {
		filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return nil //nolint:nilerr // what is not there is not shown
			}
			rel, _ := filepath.Rel(root, name)
			info, _ := d.Info()
			fmt.Fprintf(&b, "  %s %s\n", info.Mode(), filepath.ToSlash(rel))
			if data, err := os.ReadFile(name); err == nil && content {
				for line := range strings.Lines(string(data)) {
					fmt.Fprintf(&b, "    | %s\n", strings.TrimRight(line, "\n"))
				}
			}
			return nil
		})
	}
	list(filepath.Join(os.Getenv("TMPDIR"), "..", "home"), true)
	fmt.Fprintln(&b, "workspace:")
	list(dir, false)
	if err := os.WriteFile(os.Getenv("DUMP"), []byte(b.String()), 0o600); err != nil {
		panic(err)
	}
}

func short(s string) string {
	if len(s) > 2000 {
		return fmt.Sprintf("%s… (%d bytes)", s[:20], len(s))
	}
	return s
}
