package cli_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// TestStormOfLargeReplies has eight replies of 30 MB come at once, and measures the memory of the
// process that reads, judges and writes them. Each has the answer twice in its record.
func TestStormOfLargeReplies(t *testing.T) {
	if os.Getenv("PLUMB_CI") == "" {
		t.Skip("it is long, and made with PLUMB_CI")
	}
	const most = 1400 << 10 // KiB; without bounds it was 2,700 MiB
	w := newWorld(t)
	reply := []byte(`{"id":"x","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"` +
		strings.Repeat("lorem ipsum ", 30<<20/12) + `"},"finish_reason":"stop"}]}`)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(reply)))
		_, _ = w.Write(reply)
	}))
	defer server.Close()
	w.point(server.URL)
	var suite strings.Builder
	for i := range 8 {
		fmt.Fprintf(&suite, `{"id":"factual-%03d","category":"factual","input":"Question %d","ideal":"ipsum","assertion":{"type":"contains"}}`+"\n", i, i)
	}
	w.write("suite.jsonl", suite.String())
	cmd := exec.Command("plumb", "run", "suite.jsonl", "--model", "openai:gpt-4o", "--parallel", "8")
	cmd.Dir, cmd.Env = w.dir, w.environ()
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "8/8 pass") {
		t.Fatalf("%v\n%s", err, out)
	}
	usage, _ := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	t.Logf("%d MiB at most", usage.Maxrss>>10)
	if usage.Maxrss > most {
		t.Errorf("the process took %d MiB, want %d at most", usage.Maxrss>>10, most>>10)
	}
}
