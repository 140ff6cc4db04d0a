package suite

import (
	"errors"
	"io/fs"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/golden"
)

func manifestFiles(tb testing.TB) []string {
	tb.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "manifest", "*.toml"))
	if err != nil || len(files) < 5 {
		tb.Fatalf("test data is missing: %v", err)
	}
	return files
}

func TestManifestProblems(t *testing.T) {
	for _, file := range manifestFiles(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			_, problems := parseManifest(filepath.Base(file), read(t, file))
			golden.Equal(t, file+".problems", listing(problems))
		})
	}
}

func TestManifestValues(t *testing.T) {
	m, problems := parseManifest("manifest.toml", read(t, "testdata/manifest/good.toml"))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	want := &Manifest{
		Path: "manifest.toml", Version: "v1.0", Created: "2026-11-20", Description: "Several\n[lines]\n",
		Tiers: []Tier{
			{
				Name: "cheap", File: "cheap.jsonl", TestCount: 2, EstimatedCostUSD: 0.05, EstimatedTokens: 80,
				Description: `smoke = "test"`, Pos: plumb.Position{File: "manifest.toml", Line: 10, Column: 1},
			},
			{
				Name: "moderate", File: "moderate.jsonl", TestCount: 3, EstimatedCostUSD: 1, EstimatedTokens: 120,
				Pos: plumb.Position{File: "manifest.toml", Line: 17, Column: 3},
			},
		},
		Categories: []string{"reasoning", "coding"}, AssertionTypes: []string{"contains"},
	}
	if diff := cmp.Diff(want, m); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestReadManifestMissing(t *testing.T) {
	_, err := onDisk(t.TempDir(), "x").manifest()
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func TestTOMLEdit(t *testing.T) {
	const text = "[a]\nx = 1 # one\n\n[b.c] # table\n  y = [\n    \"]\", # tricky = 1\n  ]\n  z = '''\n[a]\n'''\n# end\n"
	for _, test := range []struct {
		name, text, want string
		key              []string
		value            string
	}{
		{"replace", text, "[a]\nx = 22 # one\n" + text[len("[a]\nx = 1 # one\n"):], []string{"a", "x"}, "22"},
		{"insert", text, "[a]\nx = 1 # one\nw = true\n" + text[len("[a]\nx = 1 # one\n"):], []string{"a", "w"}, "true"},
		{"insert at the end", text, text[:len(text)-len("# end\n")] + "  w = 3\n# end\n", []string{"b", "c", "w"}, "3"},
		{"no newline", "[a]\nx = 1", "[a]\nx = 1\ny = 2", []string{"a", "y"}, "2"},
		{"empty table", "[a]\n[b]\n", "[a]\ny = 2\n[b]\n", []string{"a", "y"}, "2"},
		{"crlf", "[a]\r\nx = 1\r\n", "[a]\r\nx = 1\r\ny = 2\r\n", []string{"a", "y"}, "2"},
		{"crlf replace", "[a]\r\nx = 1\r\n", "[a]\r\nx = 2\r\n", []string{"a", "x"}, "2"},
		{"dotted", "a.x = 1\n", "a.x = 2\n", []string{"a", "x"}, "2"},
		{"quoted", "[\"a b\"]\n'x y' = 1\n", "[\"a b\"]\n'x y' = 2\n", []string{"a b", "x y"}, "2"},
	} {
		t.Run(test.name, func(t *testing.T) {
			lines := indexTOML([]byte(test.text))
			got, err := lines.set(test.key, test.value)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, string(got)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
	lines := indexTOML([]byte("a = {x = 1}\n"))
	if _, err := lines.set([]string{"a", "y"}, "1"); err == nil {
		t.Error("no error for a key of an inline table")
	}
	lines = indexTOML([]byte(text))
	if got := string(lines.remove([]string{"b", "c", "y"})); got != "[a]\nx = 1 # one\n\n[b.c] # table\n  z = '''\n[a]\n'''\n# end\n" {
		t.Errorf("remove leaves %q", got)
	}
}

func TestCompareVersions(t *testing.T) {
	ordered := []string{"2025", "v1", "v1.0", "v1.0-rc", "v1.2", "v1.10", "v2.0", "v10.0"}
	for i, a := range ordered {
		for j, b := range ordered {
			if got := compareVersions(a, b); (got < 0) != (i < j) || (got == 0) != (i == j) {
				t.Errorf("%s and %s compare as %d", a, b, got)
			}
		}
	}
}

func TestNextVersion(t *testing.T) {
	for version, want := range map[string]string{"v1.0": "v1.1", "v1.9": "v1.10", "2026": "2027", "beta": "", "v1.0-rc": ""} {
		if got := nextVersion(version); got != want {
			t.Errorf("after %s comes %q, want %q", version, got, want)
		}
	}
}

func FuzzManifest(f *testing.F) {
	for _, file := range manifestFiles(f) {
		f.Add(read(f, file))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, problems := parseManifest("manifest.toml", data)
		checkPositions(t, data, problems)
		if problems.Err() != nil {
			return
		}
		// What is set by editing reads back, and nothing else changes.
		for i, tier := range m.Tiers {
			lines := indexTOML(data)
			edited, err := lines.set([]string{"tiers", tier.Name, "test_count"}, "77")
			if err != nil {
				continue
			}
			again, problems := parseManifest("manifest.toml", edited)
			if problems.Err() != nil {
				t.Fatalf("edited manifest is broken: %v\n%s", problems, edited)
			}
			want := *m
			want.Tiers = append([]Tier(nil), m.Tiers...)
			want.Tiers[i].TestCount = 77
			if diff := cmp.Diff(&want, again, cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".Pos" }, cmp.Ignore())); diff != "" {
				t.Fatalf("-want +got:\n%s", diff)
			}
		}
	})
}
