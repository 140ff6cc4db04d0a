package cli_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// scriptedCodex replaces Codex: it calls the model in its configuration, and runs the tools that
// the model calls. SCRIPTED_CODEX is how it reports them: "honest" like Codex, "blind" without the
// commands, "eager" also with commands and skills that the model only mentioned; "deaf" does not
// call the model.
func scriptedCodex() {
	if slices.Contains(os.Args, "--version") {
		fmt.Println("codex-cli 1.2.3")
		return
	}
	type object = map[string]any
	mode, items := os.Getenv("SCRIPTED_CODEX"), 0
	emit := func(record object) {
		if item, ok := record["item"].(object); ok {
			items++
			item["id"] = fmt.Sprint("item_", items)
		}
		data, err := json.Marshal(record)
		if err != nil {
			panic(err)
		}
		fmt.Printf("%s\n", data)
	}
	ran := func(command, output string) {
		emit(object{"type": "item.completed", "item": object{
			"type": "command_execution", "command": "/bin/bash -lc '" + command + "'", "aggregated_output": output, "exit_code": 0, "status": "completed",
		}})
	}
	said := func(text string) {
		emit(object{"type": "item.completed", "item": object{"type": "agent_message", "text": text}})
	}
	emit(object{"type": "thread.started", "thread_id": "01a1f818-4277-7c73-a07b-9d85487cbe10"})
	emit(object{"type": "turn.started"})
	done := object{"type": "turn.completed", "usage": object{"input_tokens": 10, "output_tokens": 5}}
	if mode == "deaf" {
		said("I ask nobody.")
		emit(done)
		return
	}
	config, err := os.ReadFile(filepath.Join(os.Getenv("CODEX_HOME"), "config.toml"))
	if err != nil {
		panic(err)
	}
	address := regexp.MustCompile(`base_url = "(.*)"`).FindStringSubmatch(string(config))[1]
	wd, err := os.Getwd()
	if err != nil {
		panic(err)
	}
	skills, err := filepath.Glob(filepath.Join(wd, ".agents/skills/*/SKILL.md"))
	if err != nil {
		panic(err)
	}
	input := []any{
		object{"role": "developer", "content": "<cwd>" + wd + "</cwd> skills: " + strings.Join(skills, " ")},
		object{"role": "user", "content": os.Args[len(os.Args)-1]},
	}
	for working := true; working; {
		body, err := json.Marshal(object{"model": "m", "input": input, "tools": []any{object{
			"type": "function", "name": "exec_command", "parameters": object{"type": "object", "properties": object{"cmd": object{"type": "string"}}},
		}}})
		if err != nil {
			panic(err)
		}
		resp, err := http.Post(address+"/responses", "application/json", bytes.NewReader(body))
		if err != nil {
			panic(err)
		}
		var answer struct {
			Output []struct {
				Type, Name, Arguments string
				CallID                string `json:"call_id"`
				Content               []struct{ Text string }
			}
		}
		err = json.NewDecoder(resp.Body).Decode(&answer)
		resp.Body.Close()
		if err != nil {
			panic(err)
		}
		working = false
		for _, item := range answer.Output {
			switch item.Type {
			case "message":
				for _, part := range item.Content {
					if word := regexp.MustCompile("`(.*)`").FindStringSubmatch(part.Text); word != nil && mode == "eager" {
						ran(word[1], "")
						text, err := os.ReadFile(skills[0])
						if err != nil {
							panic(err)
						}
						ran("cat "+skills[0], string(text))
					}
					said(part.Text)
				}
			case "function_call":
				var args struct{ Cmd string }
				if err := json.Unmarshal([]byte(item.Arguments), &args); err != nil {
					panic(err)
				}
				output, err := exec.Command("sh", "-c", args.Cmd).CombinedOutput()
				if err != nil {
					panic(err)
				}
				if mode != "blind" {
					ran(args.Cmd, string(output))
				}
				input = append(input, object{"type": "function_call", "call_id": item.CallID, "name": item.Name, "arguments": item.Arguments},
					object{"type": "function_call_output", "call_id": item.CallID, "output": string(output)})
				working = true
			}
		}
	}
	emit(done)
}

// proven is what doctor --agents --json says of one agent.
type proven struct {
	Name, Version, Error string
	OK                   bool
	Detects              []struct {
		What    string
		Yes, No bool
	}
}

func TestDoctorAgents(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the agent here runs commands with sh")
	}
	type detects map[string][2]bool // in the session with the action, and without it
	seen := detects{"command": {true, true}, "file read": {true, true}, "skill": {true, true}}
	tests := []struct {
		mode, version string
		ok            bool
		want          detects
		message       string
	}{
		{"honest", "1.2.3", true, seen, ""},
		{"blind", "1", false, detects{"command": {false, true}, "file read": {false, true}, "skill": {false, true}}, "the report misses a command that happened"},
		{"eager", "1.2", false, detects{"command": {true, false}, "file read": {true, false}, "skill": {true, false}}, "the report has a skill that did not happen"},
		{"deaf", "1", false, nil, "did not call the scripted model"},
		{"honest", "9.9", false, nil, "9.9"},
	}
	for _, tt := range tests {
		t.Run(tt.mode+" "+tt.version, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			program, err := exec.LookPath("scriptedcodex")
			if err != nil {
				t.Fatal(err)
			}
			w.env["PATH"] = filepath.Dir(program) + ":/bin" // without the agents of this machine
			w.env["OPENAI_BASE_URL"] = "http://127.0.0.1:1" // any request to it fails
			w.write("plumb.yaml", fmt.Sprintf("runners:\n  mine: {agent: {type: codex, model: gpt-5, command: scriptedcodex, version: %q, env: {SCRIPTED_CODEX: %q, OPENAI_API_KEY: x}}}\n", tt.version, tt.mode))
			code, out, errs := w.plumb("doctor", "--agents", "--json")
			var proofs []proven
			if err := json.Unmarshal([]byte(out), &proofs); err != nil {
				t.Fatalf("%v\n%s\n%s", err, out, errs)
			}
			i := slices.IndexFunc(proofs, func(p proven) bool { return p.Name == "mine" })
			if i < 0 {
				t.Fatalf("the runner is not among %s", out)
			}
			p := proofs[i]
			var got detects
			for _, d := range p.Detects {
				if got == nil {
					got = detects{}
				}
				got[d.What] = [2]bool{d.Yes, d.No}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" || p.OK != tt.ok || !strings.Contains(p.Error, tt.message) {
				t.Errorf("%+v\n%s", p, diff)
			}
			if !tt.ok && code != 1 {
				t.Errorf("exit code %d", code)
			}
			_, text, _ := w.plumb("doctor", "--agents")
			word := map[string]string{"honest": "ok", "blind": "missed", "eager": "false positive", "deaf": "not measured"}[tt.mode]
			if tt.version != "9.9" && !strings.Contains(text, word) {
				t.Errorf("the table does not say %q:\n%s", word, text)
			}
		})
	}
}

// TestDistrust checks that runs do not measure an agent that plumb doctor --agents found wrong,
// until it finds the agent right.
func TestDistrust(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the agent here runs commands with sh")
	}
	w := newWorld(t)
	program, err := exec.LookPath("scriptedcodex")
	if err != nil {
		t.Fatal(err)
	}
	w.env["PATH"], w.env["HOME"] = filepath.Dir(program)+":/bin", filepath.Join(w.dir, "home")
	w.write("suite.jsonl", `{"id":"a","category":"coding","input":"Begin.","ideal":"x","assertion":{"type":"contains"}}`+"\n")
	config := func(mode string) {
		w.write("plumb.yaml", fmt.Sprintf("runners:\n  mine: {agent: {type: codex, model: gpt-5, command: scriptedcodex, env: {SCRIPTED_CODEX: %s}}}\n", mode))
	}
	said := func(code int, want string, present bool) {
		t.Helper()
		if err := os.RemoveAll(filepath.Join(w.dir, ".plumb")); err != nil {
			t.Fatal(err)
		}
		got, out, errs := w.plumb("run", "suite.jsonl")
		if got != code || strings.Contains(out+errs, want) != present {
			t.Errorf("exit code %d, want %d, with %q: %t\n%s\n%s", got, code, want, present, out, errs)
		}
		spec, err := os.ReadFile(filepath.Join(w.runDir(), "run.json"))
		if err != nil || strings.Contains(string(spec), `"distrusted"`) != present {
			t.Errorf("%v, distrusted in run.json: %t, want %t\n%s", err, !present, present, spec)
		}
		if noted := strings.Contains(out, "runner mine is not measured: Plumb misreads codex"); noted != present {
			t.Errorf("a note about the agent: %t, want %t\n%s", noted, present, out)
		}
	}
	const verdict = "plumb doctor --agents found"
	config("deaf")
	said(1, verdict, false) // unknown to the doctor, and without output
	config("blind")
	w.must(1, "doctor", "--agents")
	said(3, verdict, true)
	config("honest")
	w.must(0, "doctor", "--agents")
	config("deaf")
	said(1, verdict, false)
	w.must(1, "doctor", "--agents") // it does not call the model: not an error of the adapter
	said(1, verdict, false)
}
