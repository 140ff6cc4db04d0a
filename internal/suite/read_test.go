package suite

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/suite/lib"
)

const (
	hashA     = "sha256:d28eb7a04e7b1cdd21f7e4aa6bc0d2f2a3ea0c1a3f2d1c64ae2fbd8a9c9a4a5e" // of nothing in particular
	blankText = "\n"
)

// version writes a suite version of two tiers and returns its directory.
func version(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "v1.0")
	write(t, filepath.Join(dir, "cheap.jsonl"), line("coding-001", `, "metadata": {"tokens_est": 40}`)+"\n")
	write(t, filepath.Join(dir, "moderate.jsonl"),
		line("coding-001", `, "metadata": {"tokens_est": 40}`)+"\n"+line("coding-002", `, "metadata": {"tokens_est": 50}, "system": "s"`)+"\n")
	write(t, filepath.Join(dir, "README.md"), "about\n")
	write(t, filepath.Join(dir, manifestName), `# mine
[suite]
version = "v1.0"
created = "2026-11-20"

[tiers.cheap] # small
file = "cheap.jsonl"
test_count = 1
estimated_tokens = 40 # sum
description = "smoke"

[tiers.moderate]
file = "moderate.jsonl"
estimated_cost_usd = 0.5

[metadata]
categories = ["coding"]
assertion_types = ["contains"]
`)
	return dir
}

func edit(t *testing.T, file, old, with string) {
	t.Helper()
	text := string(read(t, file))
	if !strings.Contains(text, old) {
		t.Fatalf("%s does not hold %q", file, old)
	}
	write(t, file, strings.Replace(text, old, with, 1))
}

func TestRead(t *testing.T) {
	dir := version(t)
	if _, _, err := Lock(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	plain := write(t, filepath.Join(dir, "..", "mine.suite.jsonl"), line("a", ""))
	write(t, filepath.Join(dir, "..", "one", manifestName), "[suite]\nversion = \"one\"\n[tiers.only]\nfile = \"a.jsonl\"\n")
	write(t, filepath.Join(dir, "..", "one", "a.jsonl"), line("a", ""))
	write(t, filepath.Join(dir, "..", "bare", "b.jsonl"), line("a", ""))
	write(t, filepath.Join(dir, "..", "plumb.yaml"), "")
	parent := filepath.Dir(dir)

	published := fstest.MapFS{}
	for _, v := range []string{"v1.0", "v1.2", "v1.10"} {
		published[v+"/manifest.toml"] = &fstest.MapFile{Data: []byte(strings.ReplaceAll(string(read(t, filepath.Join(dir, manifestName))), `"v1.0"`, `"`+v+`"`))}
		for _, tier := range []string{"cheap.jsonl", "moderate.jsonl"} {
			published[v+"/"+tier] = &fstest.MapFile{Data: read(t, filepath.Join(dir, tier))}
		}
	}

	for _, test := range []struct {
		ref, tier           string
		name, version, gotT string
		err, hint           string
	}{
		{ref: plain, name: "mine.suite"},
		{ref: "mine.suite.jsonl", name: "mine.suite"},
		{ref: "./v1.0", tier: "cheap", name: "v1.0-cheap", version: "v1.0", gotT: "cheap"},
		{ref: "v1.0/cheap.jsonl", name: "v1.0-cheap", version: "v1.0", gotT: "cheap"},
		{ref: "v1.0/moderate.jsonl", tier: "moderate", name: "v1.0-moderate", version: "v1.0", gotT: "moderate"},
		{ref: "one", name: "one-only", version: "one", gotT: "only"},
		{ref: "", tier: "cheap", name: "v1.10-cheap", version: "v1.10", gotT: "cheap"},
		{ref: "v1.2/cheap", name: "v1.2-cheap", version: "v1.2", gotT: "cheap"},
		{ref: "v1.2-moderate", name: "v1.2-moderate", version: "v1.2", gotT: "moderate"},
		{ref: "v1.2", tier: "cheap", name: "v1.2-cheap", version: "v1.2", gotT: "cheap"},

		{ref: "", err: "several tiers", hint: "cheap, moderate"},
		{ref: "", tier: "chep", err: `no tier "chep"`, hint: `did you mean "cheap"?`},
		{ref: "v1.0", err: "several tiers", hint: "--tier cheap"},
		{ref: "v1.2/cheap", tier: "moderate", err: "names tier cheap"},
		{ref: "v1.0/cheap.jsonl", tier: "moderate", err: "it is tier cheap of v1.0, not moderate"},
		{ref: "mine.suite.jsonl", tier: "cheap", err: "no tier"},
		{ref: "cheap", err: "no such file", hint: "--tier cheap"},
		{ref: "mine.suit.jsonl", err: "no such file", hint: "mine.suite.jsonl"},
		{ref: "nothing/like/this", err: "no such file", hint: "v1.0, v1.2, v1.10"},
		{ref: "bare", err: "no manifest.toml", hint: "b.jsonl"},
		{ref: "plumb.yaml", err: "not a suite", hint: "--config"},
		{ref: "mine.suite.jsonl/x", err: "no such file"},
	} {
		t.Run(test.ref+" "+test.tier, func(t *testing.T) {
			b, err := Read(t.Context(), test.ref, ReadOptions{Tier: test.tier, Dir: parent, Published: published})
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) || !strings.Contains(plumb.Hint(err), test.hint) {
					t.Fatalf("got %v, hint %q", err, plumb.Hint(err))
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if b.Name != test.name || b.Version != test.version || b.Tier != test.gotT || len(b.Data()) == 0 {
				t.Errorf("got %s %s %s", b.Name, b.Version, b.Tier)
			}
		})
	}
}

func TestReadImmutable(t *testing.T) {
	dir := version(t)
	if _, _, err := Lock(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "moderate.jsonl")
	edit(t, file, "coding-002", "coding-003")
	for _, ref := range []string{file, dir} {
		_, err := Read(t.Context(), ref, ReadOptions{Tier: "moderate"})
		if err == nil {
			t.Fatalf("%s was read although it has changed", ref)
		}
		text := err.Error()
		if !strings.Contains(text, "tier moderate of v1.0 has changed") || strings.Count(text, "sha256:") != 2 ||
			!strings.Contains(plumb.Hint(err), "new version") {
			t.Errorf("%s, hint %s", text, plumb.Hint(err))
		}
	}
	if _, err := Read(t.Context(), dir, ReadOptions{Tier: "cheap"}); err != nil {
		t.Errorf("the other tier: %v", err)
	}
	write(t, file, "{broken")
	if _, err := Read(t.Context(), file, ReadOptions{}); err == nil || !strings.Contains(err.Error(), "cannot be hashed") {
		t.Errorf("broken: %v", err)
	}
	edit(t, filepath.Join(dir, manifestName), "[suite]", "[suit]")
	_, err := Read(t.Context(), filepath.Join(dir, "cheap.jsonl"), ReadOptions{})
	if found, ok := errors.AsType[doc.Problems](err); !ok || len(found) == 0 {
		t.Errorf("a suite beside a broken manifest was read: %v", err)
	}
}

func TestBundleRoundTrip(t *testing.T) {
	dir := version(t)
	b, err := Read(t.Context(), dir, ReadOptions{Tier: "moderate"})
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), "run", "bundle")
	if err := b.Write(t.Context(), to); err != nil {
		t.Fatal(err)
	}
	again, err := Open(to)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := again.Hash(t.Context()); err != nil { // writing has computed that of b
		t.Fatal(err)
	}
	if diff := cmp.Diff(b, again, cmp.AllowUnexported(Bundle{}), cmpopts.IgnoreFields(Bundle{}, "opened")); diff != "" {
		t.Errorf("-written +opened:\n%s", diff)
	}
	for _, name := range []string{"", "suite.jsonl", bundleFile} {
		info, err := os.Stat(filepath.Join(to, name))
		if err != nil {
			t.Fatal(err)
		}
		if filepath.Separator == '/' && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%q has mode %v", name, info.Mode())
		}
	}
	edit(t, filepath.Join(to, "suite.jsonl"), "coding-001", "coding-009")
	if _, err := Open(to); err == nil || !strings.Contains(err.Error(), "has changed") {
		t.Errorf("a changed bundle opens: %v", err)
	}
	edit(t, filepath.Join(to, bundleFile), `"format": 1`, `"format": 9`)
	if _, err := Open(to); err == nil || !strings.Contains(err.Error(), "format 9") {
		t.Errorf("got %v", err)
	}
	if _, err := Open(t.TempDir()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func TestLock(t *testing.T) {
	dir := version(t)
	file := filepath.Join(dir, manifestName)
	before := string(read(t, file))
	m, changed, err := Lock(t.Context(), dir)
	if err != nil || !changed {
		t.Fatalf("changed %v, %v", changed, err)
	}
	cheap, moderate := m.Tiers[0], m.Tiers[1]
	want := strings.NewReplacer(
		"description = \"smoke\"\n", "description = \"smoke\"\nhash = \""+cheap.Hash+"\"\n",
		"estimated_cost_usd = 0.5\n", "estimated_cost_usd = 0.5\ntest_count = 2\nestimated_tokens = 90\nhash = \""+moderate.Hash+"\"\n",
	).Replace(before)
	if diff := cmp.Diff(want, string(read(t, file))); diff != "" {
		t.Errorf("manifest (-want +got):\n%s", diff)
	}
	if problems, err := Verify(t.Context(), dir); err != nil || len(problems) > 0 {
		t.Errorf("verify: %v, %v", problems, err)
	}
	if _, changed, err = Lock(t.Context(), dir); err != nil || changed {
		t.Errorf("again: changed %v, %v", changed, err)
	}

	// Spelling may change, content may not.
	edit(t, filepath.Join(dir, "cheap.jsonl"), `"id": "coding-001"`, `"id":"coding-001"`)
	if _, changed, err = Lock(t.Context(), dir); err != nil || changed {
		t.Errorf("after a change of spelling: changed %v, %v", changed, err)
	}
	edit(t, filepath.Join(dir, "cheap.jsonl"), `"hi"`, `"ho"`)
	locked := string(read(t, file))
	_, _, err = Lock(t.Context(), dir)
	if err == nil || !strings.Contains(err.Error(), "tier cheap of v1.0 has changed") || !strings.Contains(plumb.Hint(err), "new version") {
		t.Errorf("lock of a changed version: %v, hint %q", err, plumb.Hint(err))
	}
	if string(read(t, file)) != locked {
		t.Error("the manifest was changed all the same")
	}
}

func TestLockRefuses(t *testing.T) {
	dir := version(t)
	edit(t, filepath.Join(dir, "cheap.jsonl"), `"contains"`, `"contain"`)
	_, _, err := Lock(t.Context(), dir)
	if found, ok := errors.AsType[doc.Problems](err); !ok || len(found) != 1 || !strings.Contains(found[0].Message, `"contain"`) {
		t.Errorf("got %v", err)
	}
	write(t, filepath.Join(dir, "cheap.jsonl"), blankText)
	if _, _, err := Lock(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "no cases") {
		t.Errorf("got %v", err)
	}
}

func TestVerify(t *testing.T) {
	dir := version(t)
	file := filepath.Join(dir, manifestName)
	edit(t, file, "test_count = 1", "test_count = 3\nhash = \""+hashA+"\"")
	edit(t, file, "estimated_tokens = 40", "estimated_tokens = 41")
	edit(t, file, `["coding"]`, `["factual"]`)
	edit(t, file, `["contains"]`, `["contains", "regex"]`)
	edit(t, file, `version = "v1.0"`, `version = "v1.1"`)
	edit(t, filepath.Join(dir, "moderate.jsonl"), `"hi"`, `"ho"`)
	write(t, filepath.Join(dir, "extra.jsonl"), "")
	problems, err := Verify(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	got := strings.ReplaceAll(listing(problems), dir+string(filepath.Separator), "")
	got = strings.ReplaceAll(got, "v1.0-", "")
	want := `manifest.toml:3:1: warning: the version is v1.1, but its directory is v1.0
manifest.toml:8:1: test_count is 3, but cheap.jsonl has 1 case
manifest.toml:9:1: tier cheap pins ` + hashA + `, but cheap.jsonl has HASH (published suite versions are immutable: new cases belong in a new version; plumb suite diff OLD NEW lists the cases that differ)
manifest.toml:10:1: estimated_tokens is 41, but those of the cases in cheap.jsonl add up to 40
manifest.toml:6:1: warning: no tier names the file extra.jsonl
manifest.toml:13:1: test_count is 0, but moderate.jsonl has 2 cases
manifest.toml:13:1: estimated_tokens is 0, but those of the cases in moderate.jsonl add up to 90
manifest.toml:13:1: warning: no hash is pinned for tier moderate (plumb suite lock pins it)
manifest.toml:13:1: 1 case is not the same in cheap and moderate: coding-001 (an id must name the same case in all tiers)
manifest.toml:18:1: categories does not list "coding", which is in use
manifest.toml:18:1: warning: categories lists "factual", which no case uses
manifest.toml:19:1: warning: assertion_types lists "regex", which no case uses
`
	b, err := onDisk(dir, dir).open(&Manifest{Version: "x"}, Tier{Name: "cheap", File: "cheap.jsonl"})
	if err != nil {
		t.Fatal(err)
	}
	hash, err := b.Hash(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got = strings.ReplaceAll(got, hash, "HASH")
	if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n"), cmpopts.SortSlices(strings.Compare)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}

	if err := os.Remove(filepath.Join(dir, "cheap.jsonl")); err != nil {
		t.Fatal(err)
	}
	if problems, err = Verify(t.Context(), dir); err != nil || !strings.Contains(listing(problems), "cheap.jsonl: no such file") && !strings.Contains(listing(problems), "cannot find") {
		t.Errorf("%v, %v", listing(problems), err)
	}
	write(t, file, "x =")
	if problems, err = Verify(t.Context(), dir); err != nil || len(problems) != 1 {
		t.Errorf("%v, %v", problems, err)
	}
	if _, err = Verify(t.Context(), t.TempDir()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

// TestVerifyCode: the checks of a version may have code.
func TestVerifyCode(t *testing.T) {
	dir := version(t)
	edit(t, filepath.Join(dir, "cheap.jsonl"), `{"type": "contains"}`, `{"type": "js", "expr": "output === vars."}`)
	problems, err := Verify(t.Context(), dir)
	if err != nil || !strings.Contains(listing(problems), "cheap.jsonl:1:109: not JavaScript: ") {
		t.Errorf("%s, %v", listing(problems), err)
	}
	edit(t, filepath.Join(dir, "cheap.jsonl"), `vars.`, `1`)
	if problems, err = Verify(t.Context(), dir); err != nil || strings.Contains(listing(problems), "cheap.jsonl:") {
		t.Errorf("%s, %v", listing(problems), err)
	}
}

func TestNewVersion(t *testing.T) {
	dir := version(t)
	if _, _, err := Lock(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	made, err := NewVersion(t.Context(), dir, "")
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(filepath.Dir(dir), "v1.1"); made != want {
		t.Errorf("made %s, want %s", made, want)
	}
	m, err := onDisk(made, "m").manifest()
	if err != nil {
		t.Fatal(err)
	}
	if m.Version != "v1.1" || m.Created != "" || m.Tiers[0].Hash != "" || m.Tiers[1].Hash != "" {
		t.Errorf("got %+v", m)
	}
	if string(read(t, filepath.Join(made, "README.md"))) != "about\n" || !strings.HasPrefix(string(read(t, filepath.Join(made, manifestName))), "# mine\n") {
		t.Error("the copy is not complete")
	}
	write(t, filepath.Join(made, "cheap.jsonl"), line("coding-001", `, "metadata": {"tokens_est": 40}`)+"\n"+line("coding-009", ""))
	if _, changed, err := Lock(t.Context(), made); err != nil || !changed {
		t.Errorf("lock of the new version: %v", err)
	}

	if _, err := NewVersion(t.Context(), dir, ""); err == nil || !strings.Contains(err.Error(), "exists") {
		t.Errorf("got %v", err)
	}
	if made, err = NewVersion(t.Context(), dir, "v2.0"); err != nil || filepath.Base(made) != "v2.0" {
		t.Errorf("%s, %v", made, err)
	}
	for _, name := range []string{"../v9", "a/b", "con"} {
		if _, err := NewVersion(t.Context(), dir, name); err == nil {
			t.Errorf("version %q was made", name)
		}
	}
	left, err := filepath.Glob(filepath.Join(filepath.Dir(dir), ".plumb-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestPublished: what is built in is sound, and every tier loads.
func TestPublished(t *testing.T) {
	manifests, err := Published()
	if err != nil {
		t.Fatal(err)
	}
	if len(manifests) == 0 {
		t.Fatal("nothing is published")
	}
	for _, m := range manifests {
		for _, tier := range m.Tiers {
			b, err := Read(t.Context(), m.Version+"/"+tier.Name, ReadOptions{})
			if err != nil {
				t.Error(err)
				continue
			}
			suite, _, err := b.Suite(t.Context(), lib.Host{})
			if err != nil {
				t.Error(err)
			} else if suite.Hash != tier.Hash || len(suite.Cases) != tier.TestCount {
				t.Errorf("%s: %d cases, hash %s", suite.Name, len(suite.Cases), suite.Hash)
			}
		}
	}
}
