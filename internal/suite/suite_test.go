package suite

import (
	"bytes"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/digest"
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/suite/lib"
)

func TestYAMLSuite(t *testing.T) {
	b, err := Read(t.Context(), "cases/testdata/suite/good.yaml", ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	suite, warnings, err := b.Suite(t.Context(), lib.Host{})
	if err != nil || len(warnings) > 0 || b.Code() {
		t.Fatal(warnings, err)
	}
	dir, err := filepath.Abs("cases/testdata/suite")
	if err != nil {
		t.Fatal(err)
	}
	lines := `{"id":"coding-001","category":"coding","input":"Say hello.\nTwice.\n","ideal":"hello","assertion":{"type":"contains","case_sensitive":false},"metadata":{"tags":["smoke"]}}
{"id":"coding-002","category":"coding","input":[{"role":"user","content":"Grüße?"}],"ideal":"hallo","assertions":[{"type":"contains","case_sensitive":false},{"type":"max_tokens","max":20}],"max_steps":4,"timeout_ms":1500}`
	hash, err := digest.Suite([]byte(lines))
	if err != nil {
		t.Fatal(err)
	}
	same := load(t, lines)
	want := &plumb.Suite{
		Name: "good", Path: "cases/testdata/suite/good.yaml", Hash: hash,
		Workspace: &plumb.WorkspaceConfig{
			Mode:      plumb.WorkspaceIsolated,
			Bootstrap: &plumb.Bootstrap{Command: filepath.Join(dir, "setup.sh"), Args: []string{filepath.Join(dir, "data"), "--fast"}},
		},
		Cases: []plumb.Case{
			{
				ID: "coding-001", Hash: same.Cases[0].Hash, Category: "coding", Tags: []string{"smoke"},
				Messages: []plumb.Message{{Role: "user", Content: "Say hello.\nTwice.\n"}},
				Source:   plumb.Position{File: "cases/testdata/suite/good.yaml", Line: 6, Column: 5},
			},
			{
				ID: "coding-002", Hash: same.Cases[1].Hash, Category: "coding", Messages: []plumb.Message{{Role: "user", Content: "Grüße?"}},
				Timeout: 1500 * time.Millisecond, MaxSteps: 4, Source: plumb.Position{File: "cases/testdata/suite/good.yaml", Line: 15, Column: 5},
			},
		},
	}
	ignored := cmpopts.IgnoreFields(plumb.Case{}, "Assertions", "PromptHash", "ChecksHash")
	if diff := cmp.Diff(want, suite, ignored); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if len(suite.Cases[0].Assertions) != 1 || len(suite.Cases[1].Assertions) != 2 {
		t.Error("checks are missing")
	}
	if found, err := b.Hash(t.Context()); err != nil || found != hash {
		t.Errorf("hash %s, %v", found, err)
	}

	to := filepath.Join(t.TempDir(), "bundle")
	if err := b.Write(t.Context(), to); err != nil {
		t.Fatal(err)
	}
	opened, err := Open(to)
	if err != nil {
		t.Fatal(err)
	}
	again, _, err := opened.Suite(t.Context(), lib.Host{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(suite, again, cmpopts.IgnoreFields(plumb.Case{}, "Assertions")); diff != "" {
		t.Errorf("-written +opened:\n%s", diff)
	}
}

// TestStream: a file that stays on disk gives the same as one that is in memory.
func TestStream(t *testing.T) {
	data := []byte(manyCases(40_000)) // several chunks
	unsorted := append(bytes.Clone(data), line("a-1", "")...)
	for name, text := range map[string][]byte{
		"sorted": data, "unsorted": unsorted, "empty": nil, "invalid": []byte("{}"),
	} {
		file := write(t, filepath.Join(t.TempDir(), "suite.jsonl"), string(text))
		streamed, err := Read(t.Context(), file, ReadOptions{Stream: true})
		if err != nil {
			t.Fatal(err)
		}
		got, found := streamed.Validate(t.Context(), lib.Host{})
		want, problems := NewBundle("suite", file, text).Validate(t.Context(), lib.Host{})
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
		if diff := cmp.Diff(listing(problems), listing(found)); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
		if hash, err := streamed.Hash(t.Context()); got.Hash != "" && (err != nil || hash != got.Hash) {
			t.Errorf("%s: Hash gives %s, %v", name, hash, err)
		}
	}
}

// TestSuiteAndValidate: making a suite finds what validating finds: warnings, and an error if there are others.
func TestSuiteAndValidate(t *testing.T) {
	for name, text := range map[string]string{
		"a.jsonl": line("a", "") + "\n" + line("A", `, "nope": 1`), "b.jsonl": "", "c.jsonl": line("a", ""), "d.yaml": "cases: [{id: a}]\nskills: nowhere",
		"e.yaml": "[", "f.yaml": "[]", "g.yaml": "- {id: a, input: '', ideal: x, assertion: {type: contains}}", "h.yaml": "cases: []\nskills: nowhere",
	} {
		_, problems := NewBundle("test", name, []byte(text)).Validate(t.Context(), lib.Host{})
		suite, warnings, err := NewBundle("test", name, []byte(text)).Suite(t.Context(), lib.Host{})
		again := doc.Problems(warnings)
		if found, ok := errors.AsType[doc.Problems](err); ok {
			again = append(again, found...)
		}
		if diff := cmp.Diff(problems, []doc.Problem(again.Sorted()), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: -validate +suite:\n%s", name, diff)
		}
		if (suite == nil) != (err != nil) {
			t.Errorf("%s: suite %v, error %v", name, suite, err)
		}
	}
}
