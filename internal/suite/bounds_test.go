package suite

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/plumb-eval/plumb/internal/config"
	"github.com/plumb-eval/plumb/internal/suite/lib"
	"github.com/plumb-eval/plumb/internal/text"
)

// TestDocumentsAreBounded gives each parser what would take all of the memory: kilobytes that stand for gigabytes. Each
// ends in an error that names the bound, and takes little before that.
func TestDocumentsAreBounded(t *testing.T) {
	const manifest = "[suite]\nversion = \"v1\"\n"
	repeat := strings.Repeat
	doubling := "A0=xxxxxxxx\n"
	for i := range 60 {
		doubling += fmt.Sprintf("A%d=\"${A%d}$A%d\"\n", i+1, i, i)
	}
	onOneLine := "A0=\"xxxxxxxx\""
	for i := range 60 {
		onOneLine += fmt.Sprintf(" A%d=\"$A%d$A%d\"", i+1, i, i)
	}
	for name, test := range map[string]struct{ file, text, want string }{
		"dotted key":         {"manifest.toml", manifest + repeat("a.", 30_000) + "a = 1", "manifest.toml:3:17: a key of more than 8 parts"},
		"quoted parts":       {"manifest.toml", manifest + repeat(`"a".`, 15_000) + "a = 1", "a key of more than 8 parts"},
		"table":              {"manifest.toml", manifest + "[" + repeat("a.", 7_000) + "a]\n" + repeat("k=1\n", 5_000), "a key of more than 8 parts"},
		"key in a table":     {"manifest.toml", manifest + "x = { " + repeat("a.", 30_000) + "a = 1 }", "a key of more than 8 parts"},
		"lists":              {"manifest.toml", manifest + "x = " + repeat("[", 60_000), "nested more than the maximum"},
		"nine lists":         {"manifest.toml", manifest + "x = " + repeat("[", 9) + repeat("]", 9), "manifest.toml:3:2: lists and tables more than 8 deep"},
		"tables in tables":   {"manifest.toml", manifest + "x = " + repeat("{a=", 20_000), "nested more than the maximum"},
		"many keys":          {"manifest.toml", manifest + repeat("k=1\n", 20_000), "more than 10000 keys"},
		"large manifest":     {"manifest.toml", manifest + repeat("#", 300_000), "it has 293 KiB, more than the limit of 256 KiB"},
		"YAML lists":         {"plumb.yaml", "a: " + repeat("[", 60_000) + repeat("]", 60_000), "nested more than 100 deep"},
		"YAML dashes":        {"plumb.yaml", repeat("- ", 60_000) + "a", "nested more than 100 deep"},
		"YAML questions":     {"plumb.yaml", repeat("? ", 60_000) + "a", "nested more than 100 deep"},
		"YAML tags":          {"plumb.yaml", "a: " + repeat("!!x ", 30_000), "nested more than 100 deep"},
		"YAML mappings":      {"plumb.yaml", nested(600), "nested more than 100 deep"},
		"YAML marks":         {"suite.yaml", "a: " + repeat("[", 3_000_000), "more than 500000 values"},
		"YAML aliases":       {"plumb.yaml", laughs(9), "more than 100000 values"},
		"YAML text by alias": {"suite.yaml", "- &a " + repeat("y", 2<<20) + "\n" + repeat("- *a\n", 20_000), "more than 500000 values"},
		"large YAML":         {"plumb.yaml", repeat("# comment\n", 30_000), "more than the limit of 256 KiB"},
		"JSON lists":         {"plumb.config.json", `{"a":` + repeat("[", 9000) + repeat("]", 9000) + "}", "plumb.config.json:1:105: lists and mappings are nested more than 100 deep"},
		"deep case":          {"suite.jsonl", "{}\n" + `{"a":"[[\"[[","b":` + repeat(`[`, 5000) + repeat("]", 5000) + "}", "suite.jsonl:2:118: lists and mappings are nested more than 100 deep"},
		"case of values":     {"suite.jsonl", `{"assertions":[` + repeat("1,", 5_000_000) + "1]}", "the case holds more than 100000 values"},
		"long case":          {"suite.jsonl", `{"input":"` + repeat("x", 17<<20) + `"}`, "the case has 17 MiB, more than the limit of 16 MiB"},
		"variables":          {".env", doubling, "the values of the file are larger than 1 MiB from this line on"},
		"on one line":        {".env", onOneLine, "the values of the file are larger than 1 MiB from this line on"},
		"large .env":         {".env", repeat("A=1\n", 50_000), "more than the limit of 64 KiB"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, test.file)
			if err := os.WriteFile(file, []byte(test.text), 0o600); err != nil {
				t.Fatal(err)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err := readDocument(t.Context(), file)
			runtime.ReadMemStats(&after)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error is %.300v, want %q", err, test.want)
			}
			// The whole of what was allocated, whether or not it was given back.
			if took, most := after.TotalAlloc-before.TotalAlloc, uint64(256<<20); took > most {
				t.Errorf("it took %s", text.Size(int64(took)))
			}
		})
	}
}

func nested(depth int) string {
	var b strings.Builder
	for i := range depth {
		b.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	return b.String()
}

func laughs(levels int) string {
	text := "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n"
	for i := 1; i <= levels; i++ {
		text += fmt.Sprintf("a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i-1), 10), ","))
	}
	return text
}

// readDocument reads a file as plumb does that finds it.
func readDocument(ctx context.Context, file string) error {
	switch name := filepath.Base(file); {
	case name == ".env":
		_, err := config.DotEnv(filepath.Dir(file), func(string) string { return "" })
		return err
	case name == manifestName:
		_, err := Read(ctx, filepath.Dir(file), ReadOptions{})
		return err
	case strings.HasPrefix(name, "plumb."):
		_, err := config.Read(ctx, file, lib.Host{})
		return err
	}
	b, err := Read(ctx, file, ReadOptions{})
	if err != nil {
		return err
	}
	_, _, err = b.Suite(ctx, lib.Host{})
	return err
}

// TestBoundsLeaveRoom loads what is large and harmless.
func TestBoundsLeaveRoom(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"many.jsonl": manyCases(20_000),
		"long.jsonl": `{"id":"a","category":"factual","input":"` + strings.Repeat("[{,:", 2<<20) + `","ideal":"x","assertion":{"type":"contains"}}`,
		"text.yaml":  "- id: a\n  category: factual\n  ideal: x\n  assertion: {type: contains}\n  input: |\n" + strings.Repeat("    [[[[ - - - {{{{ a: b\n", 10_000),
		".env":       "A=1\nB=\"${A}\n${A}\" C='$A$A$A'\n# \"$A\nexport D=$B$C\n",
	} {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := readDocument(t.Context(), file); err != nil {
			t.Errorf("%s: %.300v", name, err)
		}
	}
}

func manyCases(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `{"id":"c%05d","category":"factual","input":"q","ideal":"x","assertion":{"type":"contains"}}`+"\n", i)
	}
	return b.String()
}
