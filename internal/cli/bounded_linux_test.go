package cli_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/plumb-eval/plumb/internal/fakemodel"
)

// specials make things that are no regular files at a path.
func specials(t *testing.T) map[string]func(path string) error {
	t.Helper()
	linked := func(to string) func(string) error { return func(path string) error { return os.Symlink(to, path) } }
	short, err := os.MkdirTemp("", "p") //nolint:usetesting // the path of a socket is at most 107 bytes long
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(short) })
	socket := filepath.Join(short, "s")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	return map[string]func(string) error{
		"pipe":          func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"endless":       linked("/dev/zero"),
		"full":          linked("/dev/full"),
		"directory":     func(path string) error { return os.Mkdir(path, 0o700) },
		"socket":        linked(socket),
		"missing":       func(string) error { return nil },
		"unreadable":    func(path string) error { return os.WriteFile(path, nil, 0) },
		"dangling link": linked("nowhere"),
		"link loop":     func(path string) error { return os.Symlink(filepath.Base(path), path) },
	}
}

// A boundedPlace is a place in a project where Plumb opens a path.
type boundedPlace struct {
	// path is the special file; RUN is the directory of the project's run. It replaces what is there.
	path string
	// files are written first.
	files map[string]string
	// args is the command; it ends with exit code 2 and names the path, except for the kinds in other.
	args []string
	// other lists, by kind or "" for each, the exit codes that are documented instead; with 0 no message
	// needs to name the path.
	other map[string][]int
	env   map[string]string
	// named is what a message may name instead of the path.
	named string
}

// boundedPlaces are the places where a command reads or writes a path of the user.
func boundedPlaces() map[string]boundedPlace {
	const prompt = "cases: [{id: a, category: c, vars: {x: hi}, assertion: {type: contains, value: hi}}]\n"
	const target = "target"
	echo := []string{"--command", "cat"}
	run := func(suite string, more ...string) []string {
		return append(append([]string{"run", suite}, echo...), more...)
	}
	at := func(kinds ...string) map[string][]int {
		m := map[string][]int{}
		for _, kind := range kinds {
			m[kind] = []int{0, 1, 3}
		}
		return m
	}
	written := at("missing", "unreadable", "dangling link", "full", "endless")
	optional := at("missing", "dangling link", "unreadable", "directory", "full", "endless", "pipe", "link loop", "socket")
	return map[string]boundedPlace{
		"suite":           {path: "target.jsonl", args: run("target.jsonl")},
		"suite yaml":      {path: "target.yaml", args: run("target.yaml")},
		"suite code":      {path: "target.ts", args: run("target.ts")},
		"import":          {path: "target.ts", files: map[string]string{"s.ts": `import "./target.ts"; export default []`}, args: run("s.ts"), named: "s.ts:1:8"},
		"manifest":        {path: "v/manifest.toml", files: map[string]string{"v/x": ""}, args: run("v")},
		"validate":        {path: "target.jsonl", args: []string{"validate", "target.jsonl"}},
		"list":            {path: "target.jsonl", args: []string{"list", "target.jsonl"}},
		"hash":            {path: "target.jsonl", args: []string{"suite", "hash", "target.jsonl"}},
		"data":            {path: "target.csv", files: map[string]string{"s.yaml": "prompts: 'a {{ x }}'\ndata: target.csv\n"}, args: run("s.yaml")},
		"prompt file":     {path: "target.txt", files: map[string]string{"s.yaml": "prompts: target.txt\n" + prompt}, args: run("s.yaml")},
		"prompt URL":      {path: "target.txt", files: map[string]string{"s.yaml": "prompts: file://target.txt\n" + prompt}, args: run("s.yaml")},
		"config":          {path: "target.yaml", args: run("s.jsonl", "--config", "target.yaml")},
		"config code":     {path: "target.ts", args: run("s.jsonl", "--config", "target.ts")},
		"config found":    {path: "plumb.yaml", args: run("s.jsonl"), other: at("missing", "directory", "dangling link")},
		"config doctor":   {path: "target.yaml", args: []string{"doctor", "--config", "target.yaml"}, other: map[string][]int{"": {0, 3}}},
		".env":            {path: ".env", args: run("s.jsonl"), other: at("missing", "directory", "dangling link")},
		"template":        {path: "t/target", files: map[string]string{"t/x": ""}, args: run("s.jsonl", "--template", "t"), other: map[string][]int{"": {0, 1, 2, 3}}},
		"template dir":    {path: target, args: run("s.jsonl", "--template", target), other: map[string][]int{"directory": {0}}},
		"drift":           {path: target, args: []string{"drift", "--from", target}},
		"gold":            {path: target, args: []string{"judge", "calibrate", target, "--judge", "openai:gpt-5"}},
		"convert":         {path: "target.yaml", args: []string{"convert", "target.yaml", "-o", "out"}},
		"convert prompt":  {path: "target.txt", files: map[string]string{"pf.yaml": "prompts: [file://target.txt]\nproviders: [openai:gpt-5]\ntests: [{vars: {x: hi}}]\n"}, args: []string{"convert", "pf.yaml", "-o", "out"}, other: map[string][]int{"": {1, 2}}},
		"convert into":    {path: "out/suite.yaml", files: map[string]string{"out/x": "", "q.csv": "input,__expected\na,b\n"}, args: []string{"convert", "q.csv", "--force", "-o", "out"}, other: written},
		"compare file":    {path: "target.json", args: []string{"compare", "target.json", "last"}},
		"baseline":        {path: "plumb.baselines/no-run-0.jsonl", files: map[string]string{"plumb.baselines/x": ""}, args: []string{"compare", "no-run-0", "last"}, named: `"no-run-0"`},
		"baseline set":    {path: "plumb.baselines/m.jsonl", files: map[string]string{"plumb.baselines/x": ""}, args: []string{"baseline", "set", "m", "last"}, other: written},
		"snapshots":       {path: "target.json", files: map[string]string{"plumb.yaml": "snapshots: {tolerance: {percent: 10}}\n"}, args: run("s.jsonl", "--snapshots", "target.json"), other: at("missing", "dangling link"), named: "Snapshot verification"},
		"spec":            {path: "RUN/run.json", args: []string{"resume", "RUN"}, named: "no run"},
		"log":             {path: "RUN/events.jsonl", args: []string{"show", "RUN"}},
		"log compared":    {path: "RUN/events.jsonl", args: []string{"compare", "last", "RUN"}},
		"log page":        {path: "RUN/events.jsonl", args: []string{"report", "RUN", "--report", "markdown"}},
		"lock":            {path: "RUN/lock", args: []string{"resume", "RUN", "--trust"}, other: map[string][]int{"": {0, 1, 2, 3}}},
		"bundle":          {path: "RUN/bundle/suite.jsonl", args: []string{"score", "RUN", "--trust"}},
		"bundle facts":    {path: "RUN/bundle/bundle.json", args: []string{"resume", "RUN", "--trust"}},
		"results":         {path: "RUN/results.json", args: []string{"resume", "RUN", "--trust"}, other: map[string][]int{"": {0, 1, 2, 3}}},
		"page":            {path: "RUN/report.html", args: []string{"view", "RUN"}, other: map[string][]int{"": {0}}},
		"stdout":          {path: target, args: []string{"normalize", "--agent", "codex", "--stdout", target}, other: map[string][]int{"": {2, 3}}},
		"prompt of agent": {path: target, files: map[string]string{"o": ""}, args: []string{"normalize", "--agent", "codex", "--stdout", "o", "--prompt-file", target}},
		"exec":            {path: "target.ts", args: []string{"exec", "target.ts"}, other: map[string][]int{"": {1, 2}}},
		"sessions":        {path: "d/a.json", files: map[string]string{"d/x": ""}, args: []string{"score", "s.jsonl", "--sessions", "d"}, other: map[string][]int{"": {0, 1, 2, 3}}},
		"init":            {path: "data.csv", args: []string{"init"}, other: map[string][]int{"": {0, 1, 2, 3}}},
		"init skill":      {path: "k/SKILL.md", files: map[string]string{"k/x": ""}, args: []string{"init"}, other: map[string][]int{"": {0, 1, 2, 3}}},
		"init types":      {path: "plumb.d.ts", args: []string{"init", "--types", "--force"}, other: map[string][]int{"": {0, 2}}},
		"junit":           {path: target, args: run("s.jsonl", "--report", "junit:"+target), other: written},
		"html":            {path: target, args: run("s.jsonl", "--report", "html:"+target), other: written},
		"output":          {path: target, args: run("s.jsonl", "--output", target), other: written},
		"compare report":  {path: target, args: []string{"compare", "last", "last", "--report", "html:" + target}, other: map[string][]int{"": {0, 2, 3}}},
		"summary": {
			path: target, args: run("s.jsonl", "--report", "github-actions"), other: optional,
			env: map[string]string{"GITHUB_STEP_SUMMARY": target, "GITHUB_ACTIONS": "true"},
		},
	}
}

// TestBounded: whatever a command opens by a path is a regular file, or the command ends after a
// stated time, with exit code 2 and the path.
//
//nolint:tparallel // beside others, its 10 seconds of waiting for pipes would become more
func TestBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: a pipe has 10 seconds")
	}
	const suite = `{"id":"a","category":"c","input":"hi","ideal":"hi","assertion":{"type":"contains"}}` + "\n"
	base := newWorld(t)
	base.write("s.jsonl", suite)
	base.must(0, "run", "s.jsonl", "--command", "cat")
	kinds := specials(t)
	for name, place := range boundedPlaces() {
		for kind, create := range kinds {
			if kind == "unreadable" && os.Getuid() == 0 {
				continue // the superuser can read it
			}
			t.Run(name+"/"+kind, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				if err := os.CopyFS(w.dir, os.DirFS(base.dir)); err != nil {
					t.Fatal(err)
				}
				if strings.HasPrefix(place.path, "RUN/") { // a run from elsewhere
					if err := os.CopyFS(filepath.Join(w.dir, "RUN"), os.DirFS(base.runDir())); err != nil {
						t.Fatal(err)
					}
				}
				for file, text := range place.files {
					w.write(file, text)
				}
				for key, value := range place.env {
					w.env[key] = strings.ReplaceAll(value, "target", filepath.Join(w.dir, "target"))
				}
				w.env["OPENAI_API_KEY"] = "sk-test-0123456789abcdef"
				w.env["OPENAI_BASE_URL"] = "http://127.0.0.1:9"
				path := filepath.Join(w.dir, place.path)
				if err := os.RemoveAll(path); err != nil {
					t.Fatal(err)
				}
				if err := create(path); err != nil {
					t.Fatal(err)
				}
				args := slices.Clone(place.args)
				for i := range args {
					if args[i] == "RUN" {
						args[i] = filepath.Join(w.dir, "RUN")
					}
				}
				type ended struct {
					code           int
					stdout, stderr string
				}
				end := make(chan ended, 1)
				go func() {
					var e ended
					e.code, e.stdout, e.stderr = w.plumb(args...)
					end <- e
				}()
				select {
				case e := <-end:
					want := append([]int{2}, place.other[kind]...)
					want = append(want, place.other[""]...)
					all := e.stdout + e.stderr
					named := strings.Contains(all, filepath.Base(place.path)) ||
						place.named != "" && strings.Contains(all, place.named)
					if !slices.Contains(want, e.code) || e.code != 0 && place.other[""] == nil && !named {
						t.Errorf("plumb %s: exit code %d, want %v\n%.2000s", strings.Join(place.args, " "), e.code, want, all)
					}
				case <-time.After(40 * time.Second):
					t.Errorf("plumb %s does not end", strings.Join(place.args, " "))
				}
			})
		}
	}
}

// TestF22_CacheEntries: an entry of the cache that is no regular file is asked again.
func TestF22_CacheEntries(t *testing.T) {
	for kind, create := range specials(t) {
		t.Run(kind, func(t *testing.T) {
			w := newWorld(t)
			asked := 0
			w.serve(fakemodel.Behavior{Answer: func(fakemodel.Ask) string { asked++; return "hi" }})
			w.write("s.jsonl", `{"id":"a","category":"c","input":"hi","ideal":"hi","assertion":{"type":"contains"}}`+"\n")
			args := []string{"run", "s.jsonl", "--model", "openai:gpt-4o", "--cache", "on"}
			w.must(0, args...)
			entries, err := filepath.Glob(filepath.Join(w.dir, ".plumb/cache/??/*.json"))
			if err != nil || len(entries) != 1 {
				t.Fatal(fmt.Sprint(entries, err))
			}
			if err := os.Remove(entries[0]); err != nil {
				t.Fatal(err)
			}
			if err := create(entries[0]); err != nil {
				t.Fatal(err)
			}
			w.must(0, args...)
			if asked != 2 {
				t.Errorf("asked %d times, want 2", asked)
			}
		})
	}
}
