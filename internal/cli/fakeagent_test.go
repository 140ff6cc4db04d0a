package cli_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// fakeCodex poses as the agent codex: what it does is in the prompt, one thing a line.
//
//	say TEXT           a final message           think TEXT       a thought
//	run COMMAND        run it, and report it     write FILE TEXT  make a file
//	steps N            N messages, slowly        flood MB         so much output of a command
//	garbage            what is no JSON           error TEXT       turn.failed
//	exit N             end at once               sleep SECONDS    wait
//	orphan             leave a process in a session of its own
//	hide DIR           leave one without environment, parents, session and files, that works in DIR
//	stubborn           ignore signals            env NAME         say a variable
//	counter FILE A B   say A the first time, B from then on
//	args               say the arguments, without the prompt
func fakeCodex() {
	args := os.Args[1:]
	if len(args) > 0 && args[len(args)-1] == "--version" {
		fmt.Println("codex-cli 0.169.0")
		return
	}
	out := bufio.NewWriterSize(os.Stdout, 1<<16)
	defer out.Flush()
	item := 0
	emit := func(record any) {
		data, err := json.Marshal(record)
		if err != nil {
			panic(err)
		}
		out.Write(append(data, '\n'))
		out.Flush()
	}
	type object = map[string]any
	completed := func(fields object) {
		item++
		fields["id"] = "item_" + strconv.Itoa(item)
		emit(object{"type": "item.completed", "item": fields})
	}
	fmt.Fprintln(os.Stderr, "Reading additional input from stdin...")
	prompt := args[len(args)-1]
	if strings.HasPrefix(prompt, "silent") {
		return
	}
	emit(object{"type": "thread.started", "thread_id": "01a1f818-4277-7c73-a07b-9d85487cbe10"})
	emit(object{"type": "turn.started"})
	for line := range strings.Lines(prompt) {
		what, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch what {
		case "say":
			completed(object{"type": "agent_message", "text": rest})
		case "think":
			completed(object{"type": "reasoning", "text": rest})
		case "run":
			cmd := exec.Command("sh", "-c", rest)
			text, err := cmd.CombinedOutput()
			code := 0
			if err != nil {
				code = cmd.ProcessState.ExitCode()
			}
			completed(object{
				"type": "command_execution", "command": "/bin/bash -lc '" + rest + "'", "aggregated_output": string(text), "exit_code": code,
				"status": map[bool]string{true: "completed", false: "failed"}[code == 0],
			})
		case "write":
			name, text, _ := strings.Cut(rest, " ")
			if err := os.WriteFile(name, []byte(text+"\n"), 0o600); err != nil {
				panic(err)
			}
			wd, _ := os.Getwd()
			completed(object{"type": "file_change", "changes": []object{{"path": filepath.Join(wd, name), "kind": "add"}}, "status": "completed"})
		case "steps":
			n, _ := strconv.Atoi(rest)
			for i := range n {
				completed(object{"type": "agent_message", "text": fmt.Sprint("step ", i+1)})
				time.Sleep(20 * time.Millisecond)
			}
		case "flood":
			mb, _ := strconv.Atoi(rest)
			chunk := strings.Repeat("all work and no play ", 1<<20/21)
			for range mb {
				completed(object{"type": "command_execution", "command": "/bin/bash -lc 'cat big'", "aggregated_output": chunk, "exit_code": 0, "status": "completed"})
			}
		case "garbage":
			out.Reset(os.Stdout)
			fmt.Println("\x00\x01 this is { no JSON")
			return
		case "error":
			emit(object{"type": "turn.failed", "error": object{"message": rest}})
			os.Exit(1) //nolint:gocritic // emit leaves nothing to flush
		case "exit":
			code, _ := strconv.Atoi(rest)
			fmt.Fprintln(os.Stderr, "panicked at main.rs")
			os.Exit(code)
		case "sleep":
			seconds, _ := strconv.ParseFloat(rest, 64)
			time.Sleep(time.Duration(seconds * float64(time.Second)))
		case "orphan":
			cmd := exec.Command("sleep", "300")
			ownSession(cmd)
			if err := cmd.Start(); err != nil {
				panic(err)
			}
			completed(object{"type": "agent_message", "text": "left " + strconv.Itoa(cmd.Process.Pid)})
		case "hide": // leave a process that drops all that tells where it comes from, and works in DIR: hide DIR
			file, _ := filepath.Abs("../../../../../../hidden") // in the directory of the script
			cmd := exec.Command("sh", "-c", `cd "$1" && env -i setsid sh -c 'echo $$ >"$1.new" && mv "$1.new" "$1" && exec sleep 300' - "$2" >/dev/null 2>&1 &`, "-", rest, file)
			if err := cmd.Run(); err != nil {
				panic(err)
			}
			for range 1000 {
				if _, err := os.Stat(file); err == nil {
					break
				}
				time.Sleep(5 * time.Millisecond)
			}
			completed(object{"type": "agent_message", "text": "hidden"})
		case "stubborn":
			signal.Ignore(syscall.SIGINT, syscall.SIGTERM)
		case "env":
			completed(object{"type": "agent_message", "text": rest + "=" + os.Getenv(rest)})
		case "args":
			completed(object{"type": "agent_message", "text": strings.Join(args[:len(args)-1], " ")})
		case "counter":
			words := strings.Fields(rest)
			say := words[2]
			if _, err := os.Stat(words[0]); err != nil {
				say = words[1]
				if err := os.WriteFile(words[0], nil, 0o600); err != nil {
					panic(err)
				}
			}
			completed(object{"type": "agent_message", "text": say})
		}
	}
	emit(object{"type": "turn.completed", "usage": object{
		"input_tokens": 1000, "cached_input_tokens": 400, "output_tokens": 50, "reasoning_output_tokens": 10,
	}})
}
