package agent

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/agent/transcript"
)

func TestOpencodeTorn(t *testing.T) {
	neverMoreThanRecorded(t, "opencode", "opencode", func(stdout []byte, r recording) bool {
		return r.t.Session != "" || hasRecord(stdout, "part.reason", "stop") // the export knows the end too
	})
}

// openExport is an exported session with the given messages.
func openExport(id, parent, messages string) string {
	return fmt.Sprintf(`{"info":{"id":%q,"parentID":%q,"directory":"/ws","version":"1"},"messages":[%s]}`, id, parent, messages)
}

func TestOpencodeVector(t *testing.T) {
	for _, v := range vectors(t).Normalize {
		if v.AgentType != "opencode" {
			continue
		}
		tr := written(t, "STDOUT-TEXT", "", map[string]string{"session.export.json": string(v.Input.RawSession)})
		tr.Cwd, tr.Prompt = v.Input.Cwd, v.Input.Prompt
		report, err := Normalize("opencode", tr)
		if err != nil {
			t.Fatal(err)
		}
		want := v.Expected
		// Reasoning is output, what was written to the cache is input.
		usage := want["usage"].(map[string]any)
		usage["inputTokens"], usage["outputTokens"], usage["totalTokens"], usage["cacheWriteTokens"] = 118.0, 8.0, 26.0, 7.0
		events := want["events"].([]any)
		// A tool call is from when it began, as far as that is known, and not from when the message did.
		for _, i := range []int{3, 4} {
			events[i].(map[string]any)["at"] = "2026-01-01T00:00:02.000Z"
		}
		// A result without output is a result.
		want["events"] = insert(events, 10, map[string]any{"type": "toolResult", "tool": "bash", "at": "2026-01-01T00:00:01.000Z"})
		if diff := cmp.Diff(want, documented(t, report)); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
}

// TestOpencodeTokens: whether reasoning is part of the output is told by the total.
func TestOpencodeTokens(t *testing.T) {
	for tokens, want := range map[string][3]int64{ // in, out, reasoning
		`{"total":1050,"input":800,"output":40,"reasoning":10,"cache":{"read":200,"write":0}}`:   {1000, 50, 10},
		`{"total":1050,"input":700,"output":50,"reasoning":10,"cache":{"read":200,"write":100}}`: {1000, 50, 10},
		`{"input":700,"output":40,"reasoning":10,"cache":{"read":200,"write":100}}`:              {1000, 50, 10},
		`{"total":5,"input":700,"output":40,"reasoning":10}`:                                     {700, 50, 10},
		`{"input":7,"output":1}`: {7, 1, 0},
	} {
		stdout := `{"type":"step_finish","sessionID":"ses_1","part":{"type":"step-finish","id":"p","reason":"stop","tokens":` + tokens + `}}`
		u := normalised(t, "opencode", written(t, stdout, "", nil)).Report.Usage
		if got := [3]int64{*u.InputTokens, *u.OutputTokens, *u.ReasoningTokens}; got != want {
			t.Errorf("%s: in, out, reasoning %v, want %v", tokens, got, want)
		}
	}
}

// TestOpencodeErrors: errors come in two shapes, and what the stream hides is in the log.
func TestOpencodeErrors(t *testing.T) {
	const server = `{"type":"error","sessionID":"ses_1","error":{"name":"UnknownError","data":{"message":"Unexpected server error. Check server logs for details.","ref":"err_1"}}}`
	for _, c := range []struct {
		name, stdout, stderr, log string
		origin                    plumb.Origin
		class, begins             string
	}{
		{
			"current shape", `{"type":"error","sessionID":"ses_1","error":{"name":"APIError","data":{"message":"over","statusCode":402}}}`, "", "",
			plumb.OriginRunner, "quota", "over",
		},
		{
			"older shape", `{"type":"error","sessionID":"ses_1","error":{"message":"Model not found: a/b"}}`, "", "",
			plumb.OriginModelRejected, "model-rejected", "Model not found: a/b",
		},
		{
			"body of the reply", `{"type":"error","sessionID":"s","error":{"name":"APIError","data":{"message":"Too much","statusCode":429,"responseBody":"{\"code\":\"insufficient_quota\"}"}}}`,
			"", "", plumb.OriginRunner, "quota", "Too much",
		},
		{
			"no key", `{"type":"error","sessionID":"s","error":{"name":"ProviderAuthError","data":{"providerID":"x","message":"key missing"}}}`,
			"", "", plumb.OriginRunner, "authentication", "key missing",
		},
		{
			"by the log", server, "", "timestamp=1 level=ERROR message=failed ref=err_1 error=\"ProviderModelNotFoundError: Model not found: a/b.\"\nlevel=ERROR message=later",
			plumb.OriginModelRejected, "model-rejected", "Unexpected server error. Check server logs for details.\nProviderModelNotFoundError",
		},
		{
			"by the last error of the log", server, "", "ERROR 2026 service=server error=ModelNotFound: unknown model\nINFO 2026 bye",
			plumb.OriginModelRejected, "model-rejected", "Unexpected server error",
		},
		{
			"by stderr", server, "\x1b[31mtimestamp=1 level=ERROR ref=err_1 error=\"unauthorized\"\x1b[0m", "",
			plumb.OriginRunner, "authentication", "Unexpected server error. Check server logs for details.\nunauthorized",
		},
		{"without a log", server, "", "", plumb.OriginModelRejected, "model-rejected", "Unexpected server error"},
		{"in the middle of its work", `{"type":"step_start","sessionID":"ses_1","part":{"type":"step-start"}}` + "\n" + server, "", "", plumb.OriginRunner, "runner-crash", "Unexpected server error"},
		{"where the log does not say", server, "INFO all is well", "", plumb.OriginRunner, "runner-crash", "Unexpected server error"},
		{
			"interrupted", `{"type":"error","sessionID":"s","error":{"name":"MessageAbortedError","data":{"message":"The operation was aborted."}}}`,
			"", "", plumb.OriginRunner, "runner-crash", "The operation was aborted.",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			session := map[string]string(nil)
			if c.log != "" {
				session = map[string]string{"data/opencode/log/opencode.log": c.log}
			}
			f := normalised(t, "opencode", written(t, c.stdout, c.stderr, session)).Error
			if f == nil || f.Origin != c.origin || f.Class.ID != c.class || !strings.HasPrefix(f.Message, c.begins) {
				t.Errorf("got %+v, want origin %s, class %s, message %q", f, c.origin, c.class, c.begins)
			}
			if f != nil && f.Hint == "" {
				t.Error("no hint")
			}
		})
	}
}

// TestOpencodeUnknownSession: what OpenCode says on standard error is coloured whatever it is told.
func TestOpencodeUnknownSession(t *testing.T) {
	f := normalised(t, "opencode", written(t, "", "\x1b[91m\x1b[1mError: \x1b[0mSession not found: ses_1\n", nil)).Error
	if f == nil || !strings.HasPrefix(f.Message, "Error: Session not found: ses_1\n") {
		t.Errorf("got %+v", f)
	}
}

// TestOpencodeResumed: an export holds the earlier turns of its session, which are not of this one.
func TestOpencodeResumed(t *testing.T) {
	message := func(id, parent, role, part string) string {
		return fmt.Sprintf(`{"info":{"id":%q,"parentID":%q,"role":%q,"finish":"stop","tokens":{"input":1,"output":1}},"parts":[%s]}`, id, parent, role, part)
	}
	tool := func(id, command string) string {
		return fmt.Sprintf(`{"id":%q,"type":"tool","tool":"bash","callID":%q,"state":{"status":"completed","input":{"command":%q},"output":""}}`, id, "c"+id, command)
	}
	text := func(id, text string) string { return fmt.Sprintf(`{"id":%q,"type":"text","text":%q}`, id, text) }
	export := openExport("ses_1", "", strings.Join([]string{
		message("u1", "", "user", text("p1", "first")),
		message("a1", "u1", "assistant", tool("p2", "first command")),
		message("u2", "", "user", text("p3", "second")),
		message("a2", "u2", "assistant", tool("p4", "second command")),
		message("a3", "u2", "assistant", text("p5", "answer")),
	}, ","))
	for name, c := range map[string]struct {
		stdout  string
		resumed bool
		want    string
	}{
		"no stream":               {"", false, "first|first command|second|second command|answer|in 3"},
		"no stream, resumed":      {"", true, "second|second command|answer|in 2"},
		"second turn":             {`{"type":"tool_use","sessionID":"ses_1","part":` + strings.Replace(tool("p4", "second command"), "{", `{"messageID":"a2",`, 1) + `}`, false, "second|second command|answer|in 2"},
		"first turn":              {`{"type":"tool_use","sessionID":"ses_1","part":` + strings.Replace(tool("p2", "first command"), "{", `{"messageID":"a1",`, 1) + `}`, false, "first|first command|second|second command|answer|in 3"},
		"a turn it has not":       {`{"type":"tool_use","sessionID":"ses_1","part":` + strings.Replace(tool("p9", "third command"), "{", `{"messageID":"a9",`, 1) + `}`, false, "third command"},
		"the export of another":   {`{"type":"tool_use","sessionID":"ses_2","part":` + strings.Replace(tool("p9", "third command"), "{", `{"messageID":"a9",`, 1) + `}`, false, "third command"},
		"the same, with an error": {`{"type":"error","sessionID":"ses_1","error":{"data":{"message":"x"}}}`, true, "second|second command|answer|in 2"},
	} {
		t.Run(name, func(t *testing.T) {
			tr := written(t, c.stdout, "", map[string]string{"session/export.json": export})
			tr.Resumed = c.resumed
			report := normalised(t, "opencode", tr).Report
			var got []string
			for _, e := range report.Events {
				if e.Type == plumb.SessionMessage || e.Type == plumb.SessionCommand {
					got = append(got, e.Text+e.Command)
				}
			}
			if n := report.Usage.InputTokens; n != nil {
				got = append(got, fmt.Sprintf("in %d", *n))
			}
			if text := strings.Join(got, "|"); text != c.want {
				t.Errorf("got %s, want %s", text, c.want)
			}
		})
	}
}

// TestOpencodeParts: what the parts of a message become.
func TestOpencodeParts(t *testing.T) {
	const head = `{"type":"tool_use","sessionID":"ses_1","part":{"type":"tool","id":"%d","callID":"c%d","tool":%q,"state":{"status":%q,"input":%s,"output":"out","error":%q,"metadata":%s}}}` + "\n"
	var stdout strings.Builder
	for i, p := range [][5]string{
		{"write", "completed", `{"filePath":"new.txt"}`, "", `{"exists":false}`},
		{"write", "completed", `{"filePath":"old.txt"}`, "", `{"exists":true}`},
		{"edit", "completed", `{"filePath":"made.txt","oldString":""}`, "", `{}`},
		{"edit", "error", `{"filePath":"not.txt","oldString":"x"}`, "no match", `{}`},
		{"apply_patch", "completed", `{"patchText":"*** Begin Patch\n*** Add File: p.txt\n+x\n*** Delete File: q.txt\n*** End Patch"}`, "", `{}`},
		{"read", "completed", `{"filePath":"dir"}`, "", `{"display":{"type":"directory"}}`},
		{"read", "completed", `{"filePath":"r.txt"}`, "", `{"display":{"type":"file"},"loaded":["/ws/AGENTS.md"]}`},
		{"read", "error", `{"filePath":"missing.txt"}`, "not found", `{}`},
		{"skill", "error", `{"name":"none"}`, "not found", `{}`},
		{"skill", "completed", `{"name":"demo"}`, "", `{"dir":"/ws/skills/demo"}`},
		{"bash", "completed", `{"command":"make","workdir":"sub"}`, "", `{"exit":2}`},
		{"bash", "error", `{"command":"rm x"}`, "The user rejected permission to use this specific tool call.", `{}`},
		{"my_mcp_tool", "completed", `{"command":"not a command"}`, "", `{}`},
	} {
		fmt.Fprintf(&stdout, head, i, i, p[0], p[1], p[2], p[3], p[4])
	}
	stdout.WriteString(`{"type":"step_finish","sessionID":"ses_1","part":{"type":"step-finish","id":"e","reason":"stop"}}`)
	o := normalised(t, "opencode", written(t, stdout.String(), "", nil))
	if o.Error != nil {
		t.Fatal(o.Error)
	}
	var got []string
	for _, e := range o.Report.Events {
		switch e.Type {
		case plumb.SessionToolCall, plumb.SessionToolResult:
		case plumb.SessionCommand:
			code := "?"
			if e.ExitCode != nil {
				code = fmt.Sprint(*e.ExitCode)
			}
			got = append(got, fmt.Sprintf("command %s %s %v", e.Command, code, e.IsError))
		default:
			got = append(got, strings.TrimSpace(fmt.Sprintf("%s %s%s %s", e.Type, e.Path, e.Skill, e.Change)))
		}
	}
	want := []string{
		"fileChange /ws/new.txt add", "fileChange /ws/old.txt update", "fileChange /ws/made.txt add", "fileChange /ws/p.txt add",
		"fileChange /ws/q.txt delete", "fileRead /ws/r.txt", "skillSignal demo", "command make 2 false", "command rm x ? true", "permissionDenied",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if len(o.Report.PermissionDenials) != 1 || o.Report.PermissionDenials[0].Tool != "bash" {
		t.Errorf("denials %+v", o.Report.PermissionDenials)
	}
	offered := []plumb.Offer{
		{Kind: plumb.OfferInstructions, Name: "AGENTS.md", Path: "/ws/AGENTS.md"}, {Kind: plumb.OfferSkill, Name: "demo", Path: "/ws/skills/demo/SKILL.md"},
	}
	if diff := cmp.Diff(offered, o.Report.Offered); diff != "" {
		t.Errorf("offered -want +got:\n%s", diff)
	}
}

// TestOpencodeFinal: the answer is all that was said in the last step, and nothing else.
func TestOpencodeFinal(t *testing.T) {
	text := func(id, s string) string {
		return fmt.Sprintf(`{"type":"text","sessionID":"s","part":{"type":"text","id":%q,"text":%q}}`, id, s)
	}
	finish := func(id, reason string) string {
		return fmt.Sprintf(`{"type":"step_finish","sessionID":"s","part":{"type":"step-finish","id":%q,"reason":%q}}`, id, reason)
	}
	const thought = `{"type":"reasoning","sessionID":"s","part":{"type":"reasoning","id":"r","text":"hm"}}`
	for _, c := range []struct {
		name  string
		lines []string
		final string
		ended plumb.FinishReason
	}{
		{"two parts", []string{text("1", "I'm on it"), finish("2", "tool-calls"), text("3", "one"), text("4", "two"), thought, finish("5", "stop")}, "one\ntwo", plumb.FinishStop},
		{"nothing said", []string{text("1", "early"), finish("2", "tool-calls"), thought, finish("5", "stop")}, "", plumb.FinishStop},
		{"truncated", []string{text("1", "cut of"), finish("2", "length")}, "cut of", plumb.FinishTruncated},
		{"blocked", []string{finish("2", "content-filter")}, "", plumb.FinishRefused},
		{"an older version, which gives no reason", []string{text("1", "done"), finish("2", "")}, "done", plumb.FinishStop},
		{"an error that was overcome", []string{`{"type":"error","sessionID":"s","error":{"message":"x"}}`, text("1", "done"), finish("2", "stop")}, "done", plumb.FinishStop},
		{"unfinished", []string{text("1", "half"), finish("2", "unknown")}, "", ""},
		{"an error after the end", []string{text("1", "done"), finish("2", "stop"), `{"type":"error","sessionID":"s","error":{"message":"x"}}`}, "done", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := normalised(t, "opencode", written(t, strings.Join(c.lines, "\n"), "", nil))
			if o.Report.FinalOutput != c.final || o.Report.FinishReason != c.ended || (o.Error == nil) != (c.ended != "") {
				t.Errorf("final output %q, finish reason %q, error %v; want %q, %q", o.Report.FinalOutput, o.Report.FinishReason, o.Error, c.final, c.ended)
			}
		})
	}
}

// TestEachValue: a document is taken apart, whatever its size and however it is written.
func TestEachValue(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "doc.json")
	read := func(doc string) (got []string, err error) {
		if err := os.WriteFile(path, []byte(doc), 0o666); err != nil {
			t.Fatal(err)
		}
		err = transcript.EachValue(path, []string{"", "messages", "messages[]", "messages[].parts"}, func(at string, value []byte) error {
			got = append(got, at+"="+string(value))
			return nil
		})
		return got, err
	}
	long := strings.Repeat(`\"x`, transcript.MaxString)
	doc := `noise {"info": {"a":[1,{"b":"}]\\"}]} ,"n":-1.5e3,"t":true,"z":null,
		"messages":[ {"info":{},"parts":[{"text":"a"},"b",7]}, {"parts":[],"info":{"x":"` + long + `"}} , []],"end":"x"} trailing`
	got, err := read(doc)
	if err != nil {
		t.Fatal(err)
	}
	for i, g := range got {
		if at, value, _ := strings.Cut(g, "="); !gjson.Valid(value) {
			t.Errorf("%s is not JSON: %.100q", at, value)
		} else if len(value) > 1000 {
			got[i] = at + "=long"
		}
	}
	want := []string{
		`info={"a":[1,{"b":"}]\\"}]}`, "n=-1.5e3", "t=true", "z=null", "messages[].info={}", `messages[].parts[]={"text":"a"}`,
		`messages[].parts[]="b"`, "messages[].parts[]=7", "messages[].info=long", `end="x"`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for i := range len(doc) - len(" trailing") {
		if i > 200 && i < len(doc)-100 && i%200_003 != 0 {
			continue
		}
		if _, err := read(doc[:i]); err == nil {
			t.Fatalf("cut at %d: no error", i)
		}
	}
}

func FuzzOpencode(f *testing.F) {
	for _, r := range recordings(f, "opencode", "opencode") {
		stdout, _ := os.ReadFile(r.t.Stdout)
		export, _ := os.ReadFile(filepath.Join(r.dir, "session", "export.json"))
		f.Add(stdout, export, false)
	}
	f.Add([]byte(`{"type":"text","sessionID":"s","part":{"type":"text","text":1}}`), []byte(`{"messages":[{"parts":[{}],"info":[]}]}`), true)
	f.Fuzz(func(t *testing.T, stdout, export []byte, resumed bool) {
		fuzzOne(t, "opencode", stdout, "export.json", export, resumed)
	})
}

// fuzzOne checks what holds of any transcript: a report or a failure, and JSON.
func fuzzOne(t *testing.T, agent string, stdout []byte, name string, state []byte, resumed bool) {
	t.Helper()
	dir := t.TempDir()
	tr := transcript.Transcript{Stdout: filepath.Join(dir, "stdout"), Session: filepath.Join(dir, "session"), Resumed: resumed}
	path := filepath.Join(tr.Session, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(tr.Stdout, stdout, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, state, 0o666); err != nil {
		t.Fatal(err)
	}
	report, err := Normalize(agent, tr)
	if report == nil && err == nil {
		t.Fatal("neither a report nor an error")
	}
	if report == nil {
		return
	}
	if _, err := json.Marshal(report); err != nil {
		t.Fatal(err)
	}
	for _, u := range []*int64{report.Usage.InputTokens, report.Usage.OutputTokens, report.Usage.CacheTokens} {
		if u != nil && *u < 0 {
			t.Fatalf("%d tokens", *u)
		}
	}
}

// TestOpencodeOlderExport: what the user said is there where an export does not say whose answer a message is.
func TestOpencodeOlderExport(t *testing.T) {
	r := readRecording(t, "opencode", "testdata/opencode/ok")
	whole, err := Normalize("opencode", r.t)
	if err != nil {
		t.Fatal(err)
	}
	parent := regexp.MustCompile(`"parentID": ?"[^"]*",?`)
	older := r.changed(t, func(name string, data []byte) []byte {
		if strings.HasSuffix(name, ".json") {
			data = parent.ReplaceAll(data, nil)
		}
		return data
	})
	report, err := Normalize("opencode", older.t)
	wantFailure(t, err, "", 0)
	if diff := cmp.Diff(brief(whole), brief(report)); diff != "" || !strings.HasPrefix(brief(report), "user : ") {
		t.Errorf("events: -newer +older:\n%s", diff)
	}
}
