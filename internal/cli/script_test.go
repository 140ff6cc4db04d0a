package cli_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/plumb-eval/plumb/internal/fakemodel"
	"github.com/plumb-eval/plumb/internal/proc"
	"github.com/plumb-eval/plumb/internal/runlog"
)

// scriptCommands are the commands that scripts have beside those of testscript. Files named stdout
// and stderr are the output of the command before.
func scriptCommands() map[string]func(*testscript.TestScript, bool, []string) {
	return map[string]func(*testscript.TestScript, bool, []string){
		"serve":     startFakeModel,
		"code":      exitCode,
		"signalled": signalled,
		"wait-for":  waitFor,
		"asked":     asked,
		"normalize": normalize,
		"json":      jsonDocument,
		"private":   private,
		"plain":     plain,
		"absent":    absent,
		"same-json": sameJSON,
		"alone":     alone,
		"living":    living,
		"exclusive": exclusive,
		"records":   records,
		"history":   history,
		"hub":       controlHub,
		"received":  received,
	}
}

// scriptEnvironment is the environment of scripts: nothing of the user's, and no server that
// happens to run here.
func scriptEnvironment(env *testscript.Env) error {
	env.Values[serverKey{}] = &server{}
	env.Values[hubKey{}] = &hub{logs: map[string][]byte{}}
	plumb, err := exec.LookPath("plumb")
	if err != nil {
		return err
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		return err
	}
	for name, value := range goCaches() {
		env.Setenv(name, value)
	}
	for name, value := range map[string]string{
		"HOME": env.WorkDir, "LANG": "C.UTF-8", "TERM": "dumb",
		"BIN": filepath.Dir(plumb), "REPO": root, "NOBODY": "http://127.0.0.1:1",
		"OLLAMA_HOST": "http://127.0.0.1:1", "VLLM_BASE_URL": "http://127.0.0.1:1/v1",
		"LMSTUDIO_BASE_URL": "http://127.0.0.1:1/v1", "LLAMACPP_BASE_URL": "http://127.0.0.1:1/v1",
	} {
		env.Setenv(name, value)
	}
	return nil
}

// goCaches are the caches of Go, which the HOME of a script hides.
func goCaches() map[string]string {
	cache, _ := os.UserCacheDir()
	home, _ := os.UserHomeDir()
	return map[string]string{
		"GOCACHE":    cmp.Or(os.Getenv("GOCACHE"), filepath.Join(cache, "go-build")),
		"GOMODCACHE": cmp.Or(os.Getenv("GOMODCACHE"), filepath.Join(cmp.Or(os.Getenv("GOPATH"), filepath.Join(home, "go")), "pkg", "mod")),
	}
}

// signalled runs a command, sends it a signal once a file that matches a pattern contains a text,
// and checks its exit code: signalled INT 130 '.plumb/runs/*/events.jsonl' text plumb run ... With
// the pattern "requests" the server must have got at least as many requests as the text says. A signal named
// twice, as INT,INT, is sent twice.
func signalled(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 5 {
		ts.Fatalf("usage: signalled SIGNAL CODE pattern text command args...")
	}
	known := map[string]os.Signal{"INT": os.Interrupt, "TERM": syscall.SIGTERM, "KILL": os.Kill}
	cmd := exec.Command(mustLook(ts, args[4]), args[5:]...)
	cmd.Dir, cmd.Env = ts.MkAbs("."), scriptEnv(ts)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	ts.Check(cmd.Start())
	ts.Defer(func() { _ = cmd.Process.Kill() })
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for i, name := range strings.Split(args[0], ",") {
		switch {
		case i == 0 && args[2] == "requests":
			want, err := strconv.ParseInt(args[3], 10, 64)
			ts.Check(err)
			for deadline := time.Now().Add(30 * time.Second); total(ts) < want; time.Sleep(5 * time.Millisecond) {
				if time.Now().After(deadline) {
					ts.Fatalf("the server never had %s requests", args[3])
				}
			}
		case i == 0:
			waitFor(ts, false, args[2:4])
		default:
			time.Sleep(200 * time.Millisecond)
		}
		if known[name] == nil {
			ts.Fatalf("unknown signal %s", name)
		}
		ts.Check(cmd.Process.Signal(known[name]))
	}
	select {
	case <-ended:
	case <-time.After(30 * time.Second):
		ts.Fatalf("the command did not end after the signal\n%s%s", stdout.String(), stderr.String())
	}
	ts.Logf("[stdout]\n%s[stderr]\n%s", stdout.String(), stderr.String())
	_, err := io.Copy(ts.Stdout(), &stdout)
	ts.Check(err)
	_, err = io.Copy(ts.Stderr(), &stderr)
	ts.Check(err)
	if got := strconv.Itoa(cmd.ProcessState.ExitCode()); got != args[1] {
		ts.Fatalf("exit code %s, want %s", got, args[1])
	}
}

// scriptEnv is the environment that a script's commands get.
func scriptEnv(ts *testscript.TestScript) []string {
	var env []string
	for _, name := range []string{
		"PATH", "HOME", "TMPDIR", "WORK", "LANG", "TERM", "SYSTEMROOT", "OPENAI_BASE_URL", "OPENAI_API_KEY", "ANTHROPIC_BASE_URL",
		"ANTHROPIC_API_KEY", "OLLAMA_HOST",
	} {
		if v := ts.Getenv(name); v != "" {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// asked checks how many requests the fake model server got: asked 3, or asked 3 'openai chat' for
// those to one endpoint.
func asked(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 || len(args) > 2 {
		ts.Fatalf("usage: asked N [endpoint]")
	}
	stats := figures(ts)
	got := stats.Total()
	if len(args) == 2 {
		got = stats.Requests[args[1]]
	}
	if strconv.FormatInt(got, 10) != args[0] {
		ts.Fatalf("the server got %d requests, want %s: %v", got, args[0], stats.Requests)
	}
}

// figures are those of the fake model server, total its requests.
func figures(ts *testscript.TestScript) (stats fakemodel.Stats) {
	resp, err := http.Get(ts.Getenv("FAKEMODEL_URL") + "/fakemodel/stats")
	ts.Check(err)
	defer resp.Body.Close()
	ts.Check(json.NewDecoder(resp.Body).Decode(&stats))
	return stats
}

func total(ts *testscript.TestScript) int64 {
	stats := figures(ts)
	return stats.Total()
}

// jsonDocument checks that files are one JSON document each: json stdout. With a pattern, what the
// document has as one line without spaces must match: json stdout '"outcome":"fail"'. The negation
// wants no match.
func jsonDocument(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) == 0 || neg && len(args) < 2 {
		ts.Fatalf("usage: json file [patterns...]")
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, []byte(ts.ReadFile(args[0]))); err != nil {
		ts.Fatalf("%s is not a JSON document: %v", args[0], err)
	}
	for _, p := range args[1:] {
		if regexp.MustCompile(p).Match(compact.Bytes()) == neg {
			ts.Fatalf("match of %s in %s: %v\n%s", p, args[0], !neg, compact.Bytes())
		}
	}
}

// sameJSON checks that two JSON documents differ in nothing but the members that are named.
func sameJSON(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: same-json file1 file2 [members...]")
	}
	var texts []string
	for _, name := range args[:2] {
		var doc map[string]any
		ts.Check(json.Unmarshal([]byte(ts.ReadFile(name)), &doc))
		for _, member := range args[2:] {
			delete(doc, member)
		}
		data, err := json.Marshal(doc)
		ts.Check(err)
		texts = append(texts, string(data))
	}
	if texts[0] != texts[1] {
		ts.Fatalf("%s and %s differ:\n%s\n%s", args[0], args[1], texts[0], texts[1])
	}
}

// private checks that only their owner can read the files, and all below the directories, that are
// named.
func private(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: private files...")
	}
	if runtime.GOOS == "windows" {
		return // it has no such permissions
	}
	for _, name := range args {
		files := 0
		ts.Check(filepath.WalkDir(ts.MkAbs(name), func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			files++
			want := fs.FileMode(0o600)
			if d.IsDir() {
				want = 0o700
			}
			if got := info.Mode().Perm(); got != want {
				ts.Fatalf("%s has the mode %o, want %o", path, got, want)
			}
			return nil
		}))
		if files == 0 {
			ts.Fatalf("there is no %s", name)
		}
	}
}

// plain checks that files hold nothing that a terminal would obey: no control characters, no marks
// that turn the direction of writing.
func plain(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: plain files...")
	}
	for _, name := range args {
		for i, r := range ts.ReadFile(name) {
			if r != '\n' && r != '\t' && unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == unicode.ReplacementChar {
				text := ts.ReadFile(name)
				ts.Fatalf("%s has the character %U: %q", name, r, text[max(0, i-20):min(len(text), i+20)])
			}
		}
	}
}

// absent checks that no file in the directories that are named has a text: absent secret .plumb.
func absent(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: absent text dirs...")
	}
	found := false
	for _, dir := range args[1:] {
		files := 0
		ts.Check(filepath.WalkDir(ts.MkAbs(dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			files++
			data, err := os.ReadFile(path)
			if bytes.Contains(data, []byte(args[0])) {
				if found = true; !neg {
					ts.Fatalf("%s has %q", path, args[0])
				}
			}
			return err
		}))
		if files == 0 {
			ts.Fatalf("there is nothing in %s", dir)
		}
	}
	if neg && !found {
		ts.Fatalf("no file has %q", args[0])
	}
}

// alone checks that no process of an agent that this script started is left.
func alone(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 0 {
		ts.Fatalf("usage: alone")
	}
	marks := map[string]bool{}
	ts.Check(filepath.WalkDir(ts.Getenv("WORK"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != runlog.EventsFile {
			return nil //nolint:nilerr // what is gone by now has no marks
		}
		data, err := os.ReadFile(path)
		for _, found := range regexp.MustCompile(`"marker":"([^"]+)"`).FindAllSubmatch(data, -1) {
			marks[string(found[1])] = true
		}
		return err
	}))
	if len(marks) == 0 {
		ts.Fatalf("no session of an agent has been")
	}
	left, err := proc.Find(func(t proc.Trace) bool { return marks[t.Marker] })
	ts.Check(err)
	if (len(left) > 0) != neg {
		ts.Fatalf("left running: %+v", left)
	}
}

// living checks that the process runs of which the file says the id.
func living(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: living file")
	}
	stat, err := os.ReadFile(filepath.Join("/proc", strings.TrimSpace(ts.ReadFile(args[0])), "stat"))
	_, state, _ := strings.Cut(string(stat), ") ")
	if there := err == nil && !strings.HasPrefix(state, "Z"); there == neg {
		ts.Fatalf("process %s: %q, %v", ts.ReadFile(args[0]), stat, err)
	}
	if neg {
		ts.Check(os.Remove(ts.MkAbs(args[0]))) // for the next one
	}
}

// exclusive waits until no other script is after its own exclusive. It is for scripts that look for
// processes of killed runs, because plumb gc ends those of all scripts.
func exclusive(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: exclusive")
	}
	collecting.Lock()
	ts.Defer(collecting.Unlock)
}

var collecting sync.Mutex

// normalize replaces what differs from run to run in files: run ids, hashes, times, paths. Lines
// about the slowest cases go, since that is a matter of luck.
func normalize(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: normalize files...")
	}
	for _, name := range args {
		text := strings.ReplaceAll(ts.ReadFile(name), ts.Getenv("WORK"), "$WORK")
		for _, r := range varying() {
			text = r.pattern.ReplaceAllString(text, r.with)
		}
		path := ts.MkAbs(name)
		if name == "stdout" || name == "stderr" {
			_, err := io.WriteString(map[string]io.Writer{"stdout": ts.Stdout(), "stderr": ts.Stderr()}[name], text)
			ts.Check(err)
			continue
		}
		ts.Check(os.WriteFile(path, []byte(text), 0o600))
	}
}

// exitCode runs a command and checks its exit code: code 3 plumb run ... Its output is left for
// stdout and stderr.
func exitCode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N command args...")
	}
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if fmt.Sprint(got) != args[0] {
		ts.Fatalf("exit code %d, want %s", got, args[0])
	}
}

// waitFor waits until a file that matches a pattern contains a text: wait-for
// '.plumb/runs/*/events.jsonl' text.
func waitFor(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: wait-for pattern text")
	}
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		files, err := filepath.Glob(ts.MkAbs(args[0]))
		ts.Check(err)
		for _, f := range files {
			if data, err := os.ReadFile(f); err == nil && strings.Contains(string(data), args[1]) {
				return
			}
		}
	}
	ts.Fatalf("no file %s contains %q", args[0], args[1])
}

// serverKey is where a script keeps its server.
type serverKey struct{}

type server struct{ stop func() }

// startFakeModel starts a fake model server in the background of a script, and points the
// providers' variables at it: serve [flags of the fake model server...]. It takes the place, and
// the address, of the one that was started before.
func startFakeModel(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("usage: serve [flags]")
	}
	urlFile := filepath.Join(ts.Getenv("WORK"), ".tmp", "fakemodel-url")
	_ = os.Remove(urlFile)
	addr := "127.0.0.1:0"
	if before, _ := ts.Value(serverKey{}).(*server); before.stop != nil {
		before.stop()
		addr = strings.TrimPrefix(ts.Getenv("FAKEMODEL_URL"), "http://")
	}
	cmd := exec.Command(mustLook(ts, "fakemodel"), append([]string{"-addr", addr, "-url-file", urlFile, "-life", "5m"}, args...)...)
	cmd.Dir, cmd.Stderr = ts.MkAbs("."), os.Stderr
	ts.Check(cmd.Start())
	stop := sync.OnceFunc(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	ts.Value(serverKey{}).(*server).stop = stop
	ts.Defer(stop)
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		data, err := os.ReadFile(urlFile)
		url := strings.TrimSpace(string(data))
		if err != nil || url == "" {
			continue
		}
		for name, value := range map[string]string{
			"FAKEMODEL_URL": url, "OPENAI_BASE_URL": url + "/v1", "ANTHROPIC_BASE_URL": url, "GOOGLE_GEMINI_BASE_URL": url,
			"OLLAMA_HOST": url, "OPENAI_API_KEY": "sk-script-0123456789", "ANTHROPIC_API_KEY": "sk-ant-script-0123456789",
			"GEMINI_API_KEY": "gm-script-0123456789",
		} {
			ts.Setenv(name, value)
		}
		return
	}
	ts.Fatalf("the fake model server did not start")
}

func mustLook(ts *testscript.TestScript, program string) string {
	for _, dir := range filepath.SplitList(ts.Getenv("PATH")) {
		if path, err := exec.LookPath(filepath.Join(dir, program)); err == nil {
			return path
		}
	}
	ts.Fatalf("no %s on the PATH", program)
	return ""
}
