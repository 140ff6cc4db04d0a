package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/agent/transcript"
	"github.com/plumb-eval/plumb/internal/golden"
)

// recording is a session of a real agent, recorded against a scripted model server.
type recording struct {
	agent, dir string
	t          transcript.Transcript
}

// recordings returns those of an agent; dir is below testdata.
func recordings(tb testing.TB, agent, dir string) []recording {
	tb.Helper()
	dirs, err := filepath.Glob(filepath.Join("testdata", dir, "*", "stdout"))
	if err != nil || len(dirs) == 0 {
		tb.Fatalf("no recordings of %s: %v", agent, err)
	}
	var all []recording
	for _, path := range dirs {
		all = append(all, readRecording(tb, agent, filepath.Dir(path)))
	}
	return all
}

func readRecording(tb testing.TB, agent, dir string) recording {
	tb.Helper()
	var meta struct {
		Cmd  []string
		Cwd  string
		Exit *int
	}
	data, err := os.ReadFile(filepath.Join(dir, "meta.json"))
	if err == nil {
		err = json.Unmarshal(data, &meta)
	}
	if err != nil {
		tb.Fatal(err)
	}
	r := recording{agent: agent, dir: dir}
	r.t = transcript.Transcript{
		Stdout: filepath.Join(dir, "stdout"), Stderr: filepath.Join(dir, "stderr"), Session: filepath.Join(dir, "session"),
		Cwd:     meta.Cwd,
		Resumed: slices.Contains([]string{"resume", "resume-tool"}, filepath.Base(dir)),
	}
	if meta.Exit != nil && *meta.Exit >= 0 {
		r.t.ExitCode = meta.Exit
	}
	for i, arg := range meta.Cmd {
		if arg == "-C" || arg == "--workspace" {
			r.t.Cwd = meta.Cmd[i+1]
		}
		if arg == "-p" && i+1 < len(meta.Cmd) && !strings.HasPrefix(meta.Cmd[i+1], "-") || i == len(meta.Cmd)-1 && r.t.Prompt == "" {
			r.t.Prompt = meta.Cmd[min(i+1, len(meta.Cmd)-1)]
		}
	}
	if _, err := os.Stat(r.t.Session); err != nil {
		r.t.Session = ""
	}
	return r
}

// outcome is what a golden file holds.
type outcome struct {
	Error  *plumb.Failure       `json:"error"`
	Report *plumb.SessionReport `json:"report"`
}

func normalised(tb testing.TB, agent string, t transcript.Transcript) outcome {
	tb.Helper()
	report, err := Normalize(agent, t)
	o := outcome{Report: report}
	if err != nil {
		var ok bool
		if o.Error, ok = errors.AsType[*plumb.Failure](err); !ok {
			tb.Fatalf("the error is no failure: %v", err)
		}
	}
	return o
}

// text is the outcome as the golden files have it.
func (o outcome) text(tb testing.TB) string {
	tb.Helper()
	data, err := json.MarshalIndent(o, "", "  ")
	if err != nil {
		tb.Fatal(err)
	}
	return filepath.ToSlash(string(data)) + "\n"
}

// sameAsRecorded compares what the recordings of an agent become with their golden files; UPDATE=1 rewrites those. What
// the agent wrote may come with other line ends, or with records that nobody knows, without any difference.
func sameAsRecorded(t *testing.T, agent, dir string) {
	t.Helper()
	for _, r := range recordings(t, agent, dir) {
		t.Run(filepath.Base(r.dir), func(t *testing.T) {
			got := normalised(t, agent, r.t).text(t)
			golden.Equal(t, filepath.Join(r.dir, "report.golden.json"), got)
			crlf := r.changed(t, func(_ string, data []byte) []byte {
				return bytes.ReplaceAll(data, []byte("\n"), []byte("\r\n"))
			})
			if diff := cmp.Diff(got, r.back(normalised(t, agent, crlf.t).text(t), crlf)); diff != "" {
				t.Errorf("with CRLF the report is another:\n%s", diff)
			}
		})
	}
}

// changed returns a copy of the recording whose files went through change.
func (r recording) changed(tb testing.TB, change func(name string, data []byte) []byte) recording {
	tb.Helper()
	c := recording{agent: r.agent, dir: tb.TempDir(), t: r.t}
	err := filepath.WalkDir(r.dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(r.dir, path)
		to := filepath.Join(c.dir, name)
		if d.IsDir() {
			return os.MkdirAll(to, 0o777)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(to, change(filepath.ToSlash(name), data), 0o666)
	})
	if err != nil {
		tb.Fatal(err)
	}
	for _, p := range []*string{&c.t.Stdout, &c.t.Stderr, &c.t.Session} {
		if *p != "" {
			*p = filepath.Join(c.dir, strings.TrimPrefix(*p, r.dir))
		}
	}
	return c
}

// back gives the outcome of a changed recording the paths of the original.
func (r recording) back(text string, changed recording) string {
	return strings.ReplaceAll(text, filepath.ToSlash(changed.dir), filepath.ToSlash(r.dir))
}

// neverMoreThanRecorded cuts, drops and shuffles what the agent wrote: the normaliser must not panic, must not call a
// session a success whose terminal record is cut off, and must not report commands or reads that the whole recording does
// not have. Whole says whether the rest of a torn stream still holds the end.
func neverMoreThanRecorded(t *testing.T, agent, dir string, whole func(stdout []byte, r recording) bool) {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	for _, r := range recordings(t, agent, dir) {
		t.Run(filepath.Base(r.dir), func(t *testing.T) {
			stdout, err := os.ReadFile(r.t.Stdout)
			if err != nil {
				t.Fatal(err)
			}
			complete := normalised(t, agent, r.t)
			var cuts []int
			for i, b := range stdout {
				if b == '\n' {
					cuts = append(cuts, i)
				}
			}
			for range 50 {
				cuts = append(cuts, random.IntN(len(stdout)+1))
			}
			if os.Getenv("PLUMB_CI") == "" { // CI makes all cuts
				random.Shuffle(len(cuts), func(i, j int) { cuts[i], cuts[j] = cuts[j], cuts[i] })
				few := 10
				if testing.Short() {
					few = 3
				}
				cuts = cuts[:min(few, len(cuts))]
			}
			torn := filepath.Join(t.TempDir(), "stdout")
			for _, session := range []string{r.t.Session, ""} {
				for _, cut := range cuts {
					tr := r.t
					tr.Stdout, tr.Session = torn, session
					if err := os.WriteFile(torn, stdout[:cut], 0o666); err != nil {
						t.Fatal(err)
					}
					got := normalised(t, agent, tr)
					if got.Error == nil && !whole(stdout[:cut], recording{r.agent, r.dir, tr}) {
						t.Fatalf("cut at %d of %d, session %q: a success", cut, len(stdout), session)
					}
					if got.Error == nil && complete.Error != nil {
						t.Fatalf("cut at %d: a success, but the whole is a failure: %v", cut, complete.Error)
					}
					noMoreThan(t, got.Report, complete.Report, fmt.Sprintf("cut at %d, session %q", cut, session))
				}
			}
			for range 10 {
				changed := r.changed(t, func(name string, data []byte) []byte {
					if filepath.Ext(name) == ".json" {
						return data[:random.IntN(len(data)+1)]
					}
					lines := bytes.SplitAfter(data, []byte("\n"))
					random.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
					return bytes.Join(lines[:random.IntN(len(lines)+1)], nil)
				})
				if got := normalised(t, agent, changed.t); !r.t.Resumed { // where an earlier turn ends is a matter of order
					noMoreThan(t, got.Report, complete.Report, "shuffled")
				}
			}
		})
	}
}

// noMoreThan checks that a report has no more commands, reads and subagents than another.
func noMoreThan(t *testing.T, got, whole *plumb.SessionReport, when string) {
	t.Helper()
	if got == nil {
		return
	}
	if whole == nil {
		t.Fatalf("%s: a report out of nothing", when)
	}
	for _, kind := range []plumb.SessionEventType{
		plumb.SessionCommand, plumb.SessionFileRead, plumb.SessionToolCall, plumb.SessionFileChange, plumb.SessionSkill,
	} {
		if g, w := things(got, kind), things(whole, kind); !subset(g, w) {
			t.Fatalf("%s: %s %q, but in the whole %q", when, kind, g, w)
		}
	}
}

// things returns what the events of one type are about, sorted.
func things(r *plumb.SessionReport, kind plumb.SessionEventType) []string {
	var all []string
	for _, e := range r.Events {
		if e.Type == kind {
			all = append(all, e.Command+e.Path+e.Tool+e.Skill)
		}
	}
	slices.Sort(all)
	return all
}

// subset reports whether each of a is in b, as often. Both are sorted.
func subset(a, b []string) bool {
	for _, s := range a {
		i, ok := slices.BinarySearch(b, s)
		if !ok {
			return false
		}
		b = slices.Delete(slices.Clone(b), i, i+1)
	}
	return true
}

// hasRecord reports whether data has a whole line whose value at path is want.
func hasRecord(data []byte, path, want string) bool {
	for line := range bytes.Lines(data) {
		line = bytes.TrimSpace(line)
		if gjson.ValidBytes(line) && gjson.GetBytes(line, path).String() == want {
			return true
		}
	}
	return false
}

// written writes a transcript from texts and returns it.
func written(tb testing.TB, stdout, stderr string, session map[string]string) transcript.Transcript {
	tb.Helper()
	dir := tb.TempDir()
	t := transcript.Transcript{Stdout: filepath.Join(dir, "stdout"), Stderr: filepath.Join(dir, "stderr"), Cwd: "/ws", Prompt: "PROMPT"}
	files := map[string]string{"stdout": stdout, "stderr": stderr}
	for name, text := range session {
		t.Session = filepath.Join(dir, "session")
		files["session/"+name] = text
	}
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			tb.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			tb.Fatal(err)
		}
	}
	return t
}
