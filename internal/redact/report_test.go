package redact_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/redact"
)

func TestCleanDocument(t *testing.T) {
	r := redact.New([]redact.Secret{{"PIN", "12345678"}, {"T", "toker\"xy"}, {"FRAGMENT", `","pass":true,"x":"`}})
	type doc struct {
		Text json.RawMessage
		Own  json.RawMessage `redact:"values"`
	}
	for _, test := range []struct{ in, want, own string }{
		{
			`{"pin":12345678,"a":[-12345678.5,"x12345678",true,null]}`,
			`{"pin":"[redacted:PIN]","a":["-[redacted:PIN].5","x[redacted:PIN]",true,null]}`,
			`{"pin":12345678,"a":[-12345678.5,"x[redacted:PIN]",true,null]}`,
		},
		{`{"t":"toker\"xy"}`, `{"t":"[redacted:T]"}`, `{"t":"[redacted:T]"}`},
		{
			`{"toker\"xy":"{\"a\":\"toker\\\"xy\"}"}`, `{"[redacted:T]":"{\"a\":\"[redacted:T]\"}"}`,
			`{"toker\"xy":"{\"a\":\"[redacted:T]\"}"}`,
		},
		// the structure is not a text
		{`{"a":"b","pass":true,"x":"c"}`, `{"a":"b","pass":true,"x":"c"}`, `{"a":"b","pass":true,"x":"c"}`},
		{`{"ok": 1}`, `{"ok": 1}`, `{"ok": 1}`},
		{`12345678 and more`, `[redacted:PIN] and more`, `[redacted:PIN] and more`},
	} {
		got, names := redact.Clean(r, doc{json.RawMessage(test.in), json.RawMessage(test.in)})
		if string(got.Text) != test.want || string(got.Own) != test.own {
			t.Errorf("%s\ngot  %s\nand  %s\nwant %s\nand  %s", test.in, got.Text, got.Own, test.want, test.own)
		}
		if changed := test.in != test.want; changed != (names != nil) {
			t.Errorf("%s: names %q", test.in, names)
		}
	}
}

// TestCleanEveryField puts a secret into every text of the vocabulary, including fields that are
// added later. Text from outside must lose it, and structure must keep it.
func TestCleanEveryField(t *testing.T) {
	const value = "canary-0123456789"
	r := redact.New([]redact.Secret{{"CANARY", value}, {"OTHER", "not-in-there-at-all"}})
	for _, v := range []any{&plumb.Event{}, &plumb.RunnerConfig{}, &plumb.WorkspaceConfig{}} {
		kept := map[string]bool{}
		fill(t, reflect.ValueOf(v).Elem(), value, "", map[reflect.Type]bool{}, kept)
		before, _ := json.Marshal(v)
		clean, names := redact.Clean(r, v)
		if after, _ := json.Marshal(v); string(after) != string(before) {
			t.Fatalf("%T was changed in place", v)
		}
		if !slices.Equal(names, []string{"CANARY"}) {
			t.Errorf("%T: names %q", v, names)
		}
		var structure []string
		visit(reflect.ValueOf(clean).Elem(), "", func(path, s string) {
			if strings.Contains(s, value) {
				structure = append(structure, path)
			}
		})
		for _, path := range structure {
			if !kept[path] {
				t.Errorf("%T: %s is text from outside and still holds the secret", v, path)
			}
			delete(kept, path)
		}
		for path := range kept {
			t.Errorf("%T: %s is structure and was changed", v, path)
		}
	}
}

// TestStructureIsDeclared lists the fields that redaction never changes, so that a field cannot
// become structure unnoticed.
func TestStructureIsDeclared(t *testing.T) {
	var got []string
	seen := map[reflect.Type]bool{}
	var walk func(t reflect.Type)
	walk = func(t reflect.Type) {
		switch t.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map:
			walk(t.Elem())
		case reflect.Struct:
			if seen[t] {
				return
			}
			seen[t] = true
			for f := range t.Fields() {
				if tag := f.Tag.Get("redact"); tag != "" {
					got = append(got, t.Name()+"."+f.Name+" "+tag)
				}
				walk(f.Type)
			}
		default: // has no fields
		}
	}
	for _, v := range []any{plumb.Event{}, plumb.RunnerConfig{}, plumb.WorkspaceConfig{}} {
		walk(reflect.TypeOf(v))
	}
	want := []string{"Verdict.Details values"}
	for line := range strings.Lines(declared) {
		owner, fields, _ := strings.Cut(line, ":")
		for name := range strings.FieldsSeq(fields) {
			want = append(want, owner+"."+name+" -")
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the fields with a redact tag are others (-want +got):\n%s", diff)
	}
}

// fill puts value into every text that v can hold. It records in kept the paths of structure.
func fill(t *testing.T, v reflect.Value, value, path string, above map[reflect.Type]bool, kept map[string]bool) {
	t.Helper()
	switch v.Kind() {
	case reflect.String:
		v.SetString("<" + value + ">")
		if v.Type() != reflect.TypeFor[string]() {
			kept[path] = true
		}
	case reflect.Struct:
		if above[v.Type()] {
			return // types may hold themselves
		}
		above[v.Type()] = true
		defer delete(above, v.Type())
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if !f.IsExported() {
				continue
			}
			at := path + "." + f.Name
			fill(t, v.Field(i), value, at, above, kept)
			if f.Tag.Get("redact") == "-" {
				visit(v.Field(i), at, func(path, _ string) { kept[path] = true })
			}
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem(), value, path, above, kept)
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[json.RawMessage]() {
			v.SetBytes([]byte(`{"key":"x` + value + `","list":["` + value + `"]}`))
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			fill(t, v.Index(i), value, fmt.Sprintf("%s.%d", path, i), above, kept)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		member := reflect.New(v.Type().Elem()).Elem()
		fill(t, member, value, path+".name", above, kept)
		v.SetMapIndex(reflect.ValueOf("name"), member)
	case reflect.Bool, reflect.Int, reflect.Int32, reflect.Int64, reflect.Float64:
	default:
		t.Fatalf("package redact does not know about %s", v.Type())
	}
}

// visit calls fn with each text in v.
func visit(v reflect.Value, path string, fn func(path, s string)) {
	switch v.Kind() {
	case reflect.String:
		fn(path, v.String())
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				visit(v.Field(i), path+"."+f.Name, fn)
			}
		}
	case reflect.Pointer:
		if !v.IsNil() {
			visit(v.Elem(), path, fn)
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			fn(path, string(v.Bytes()))
			return
		}
		for i := range v.Len() {
			visit(v.Index(i), fmt.Sprintf("%s.%d", path, i), fn)
		}
	case reflect.Map:
		for at := v.MapRange(); at.Next(); {
			visit(at.Value(), path+"."+at.Key().String(), fn)
		}
	default: // holds no text
	}
}

// declared are the fields that hold structure, by type.
const declared = `
AgentConfig: APIKeyEnv Model Permissions Type Version Without
AgentInfo: Model Type
Asked: PromptHash
CaseInfo: Category ChecksHash Difficulty Hash ID Item Prompt PromptHash Tags
Content: Hash
Decision: BaselineRun Conclusion Fresh Gate Whole
Suspect: Case
Event: Blob Case Marker Runner
EvidenceFor: Conclusion
Failure: LogPath Provider
FileChange: Kind
Gate: Kind Metric Name Text
JudgeSetup: Config Question
Judged: Model Output Question
Note: Level
SnapshotCheck: Metric
Parameters: ReasoningEffort
Position: File
RawArtifacts: ExportPath SessionPath StderrPath StdoutPath TelemetryPath
RunInfo: ArtifactDir DeclaredTags Embedder ID Judge PlumbVersion Schedule ScoredFrom SelectedTags Share SuiteHash SuiteName SuitePath SuiteVersion Tier
RunnerConfig: API APIKeyEnv ID Model ReasoningEffort Replay
RunnerInfo: Config ID PathKey
RunnerSetup: API Permissions Program Version
SessionEvent: Change Phase Role
SessionReport: AnswerHash Incomplete Redacted Refused Workspace TakenFrom
Setup: Embedder Template
SkillDetection: Confidence
UsageSource: Input Output Reasoning
WorkspaceConfig: Cwd TemplateDir
`
