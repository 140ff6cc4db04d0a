package fakemodel_test

import (
	"bufio"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/plumb-eval/plumb/internal/fakemodel"
)

// pose returns this test binary as the process form of the server.
func pose(tb testing.TB, args ...string) *exec.Cmd {
	tb.Helper()
	exe, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	cmd := exec.CommandContext(tb.Context(), exe, args...)
	cmd.Env = append(os.Environ(), "FAKEMODEL_TEST_POSE=1")
	return cmd
}

func TestProcess(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no SIGTERM")
	}
	dir := t.TempDir()
	answers, urlFile := filepath.Join(dir, "answers"), filepath.Join(dir, "url")
	if err := os.WriteFile(answers, []byte(`{"prompt":"p","answer":"a"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	scripts := filepath.Join(dir, "scripts")
	if err := os.WriteFile(scripts,
		[]byte(`{"name":"a","scenes":[{"turns":[{"calls":[{"run":"ls"}]},{"text":"ready"}]}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := pose(t, "-answers", answers, "-agent-scripts", scripts, "-url-file", urlFile, "-key", "k", "-life", "1m",
		"-model", "m;refuses=seed;reasoning=5", "-fault-kinds", "hang,reset", "-seed", "3")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	url := strings.TrimSpace(strings.TrimPrefix(line, "listening "))
	if written, err := os.ReadFile(urlFile); err != nil || strings.TrimSpace(string(written)) != url ||
		!strings.HasPrefix(url, "http://127.0.0.1:") {
		t.Errorf("printed %q, wrote %q, %v", line, written, err)
	}
	header := http.Header{"Authorization": {"Bearer k"}}
	if status, body := post(t, url+"/v1/chat/completions", chatBody("m", "p"), header); status != 400 ||
		!strings.Contains(body, "'seed' is not supported") {
		t.Errorf("a refused parameter gave %d %s", status, body)
	}
	body := `{"model":"m","messages":[{"role":"user","content":"p"}]}`
	if status, reply := post(t, url+"/v1/chat/completions", body, header); status != 200 || said(t, reply) != "a" ||
		!strings.Contains(reply, `"reasoning_tokens": 5`) {
		t.Errorf("the question gave %d %s", status, reply)
	}
	if status, reply := post(t, url+"/s/a/v1/chat/completions", talk("go"), header); status != 200 ||
		!strings.Contains(reply, `{\"command\":\"ls\"}`) {
		t.Errorf("the script gave %d %s", status, reply)
	}
	resp, err := http.Get(url + "/fakemodel/stats")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var got fakemodel.Stats
	if err := json.NewDecoder(resp.Body).Decode(&got); err != nil || got.Total() != 2 || got.Answered != 1 {
		t.Errorf("stats = %+v, %v", got, err)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("the process ended with %v", err)
	}
}

func TestProcessUsage(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	for _, c := range []struct{ args, want string }{
		{"-nonsense", "not defined: -nonsense"},
		{"extra", `unexpected argument "extra"`},
		{"-model m;nice=1", `unknown property "nice" of a model`},
		{"-fault-kinds quake", `unknown fault "quake"`},
		{"-agent-scripts " + missing, "open " + missing},
		{"-answers " + missing, "read answers: open " + missing},
		{"-addr 256.0.0.1:0", "listen tcp"},
	} {
		out, err := pose(t, strings.SplitN(c.args, " ", 2)...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), c.want) {
			t.Errorf("%s: %v, %s; want %q", c.args, err, out, c.want)
		}
	}
}
