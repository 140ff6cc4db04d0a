package lib

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// tsc returns the TypeScript compiler that third_party/script-packages pins. Without it the test is skipped, in CI it is
// installed.
func tsc(t *testing.T) string {
	t.Helper()
	const packages = "../../../third_party/script-packages"
	bin, err := filepath.Abs(packages + "/node_modules/.bin/tsc")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(bin); err == nil {
		return bin
	}
	if os.Getenv("PLUMB_CI") == "" {
		t.Skip("there is no TypeScript compiler: run npm ci in third_party/script-packages")
	}
	dir := t.TempDir()
	for _, name := range []string{"package.json", "package-lock.json"} {
		data, err := os.ReadFile(filepath.Join(packages, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	install := exec.CommandContext(t.Context(), "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	install.Dir = dir
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("npm ci: %v\n%s", err, out)
	}
	return filepath.Join(dir, "node_modules/.bin/tsc")
}

func typeCheck(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), tsc(t), args...).CombinedOutput(); err != nil {
		t.Errorf("tsc: %v\n%s", err, out)
	}
}

// A suite type-checks with the file that `plumb init --types` writes and nothing else.
func TestSuitesTypeCheck(t *testing.T) {
	args := []string{"--ignoreConfig", "--noEmit", "--strict", "../plumb.d.ts"}
	for _, pattern := range []string{"/*.ts", "/*/*/*.ts"} {
		files, err := filepath.Glob(suites + pattern)
		if err != nil {
			t.Fatal(err)
		}
		args = append(args, files...)
	}
	typeCheck(t, args...)
}

// What the types refuse. Each line with an error is marked, so that a type that became looser is found.
func TestTypesRefuse(t *testing.T) {
	typeCheck(t, "--ignoreConfig", "--noEmit", "--strict", "../plumb.d.ts", "testdata/refused.ts", "testdata/agree.ts")
}

// TestTypesOfAssertions checks that the types accept the assertions of the manual.
func TestTypesOfAssertions(t *testing.T) {
	manual, err := os.ReadFile("../../../docs/assertions.md")
	if err != nil {
		t.Fatal(err)
	}
	examples := regexp.MustCompile(`(?m)^\{"type".*\}$`).FindAllString(string(manual), -1)
	text := "import type { DeclarativeAssertion } from \"plumb\";\n[\n" + strings.Join(examples, ",\n") +
		"\n] satisfies DeclarativeAssertion[];\n"
	file := filepath.Join(t.TempDir(), "assertions.ts")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	typeCheck(t, "--ignoreConfig", "--noEmit", "--strict", "../plumb.d.ts", file)
}

func TestSourcesTypeCheck(t *testing.T) { typeCheck(t, "-p", ".") }

// The types know the keys of the published schema of configs, and no others.
func TestTypesKnowTheKeysOfConfigs(t *testing.T) {
	data, err := os.ReadFile("../../../schema/plumb.config.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	type object struct {
		Properties map[string]any `json:"properties"`
	}
	var schema struct {
		object
		Defs map[string]object `json:"$defs"`
	}
	if err := json.Unmarshal(data, &schema); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString(`import type { AgentConfig, McpServerConfig, ModelRunnerConfig, Price, RunnerConfig, SkillgymConfig } from "plumb";
type Keys<T> = T extends unknown ? keyof T : never;
type Same<A, B> = [A, B] extends [B, A] ? true : [Exclude<A, B>, Exclude<B, A>];
`)
	for _, c := range []struct {
		of string
		object
	}{
		{"SkillgymConfig", schema.object},
		{`NonNullable<SkillgymConfig["run"]>`, schema.Defs["run"]},
		{"RunnerConfig", schema.Defs["runner"]},
		{"AgentConfig", schema.Defs["agent"]},
		{"McpServerConfig", schema.Defs["mcpServer"]},
		{"Price", schema.Defs["price"]},
		{`NonNullable<SkillgymConfig["snapshots"]>`, schema.Defs["snapshots"]},
		{`NonNullable<NonNullable<SkillgymConfig["run"]>["workspace"]>`, schema.Defs["workspace"]},
		{`Exclude<NonNullable<SkillgymConfig["judge"]>, string>`, schema.Defs["judge"]},
	} {
		var keys []string
		for _, key := range slices.Sorted(maps.Keys(c.Properties)) {
			keys = append(keys, strconv.Quote(key))
		}
		fmt.Fprintf(&b, "true satisfies Same<Keys<%s>, %s>;\n", c.of, strings.Join(keys, " | "))
	}
	file := filepath.Join(t.TempDir(), "keys.ts")
	if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	typeCheck(t, "--ignoreConfig", "--noEmit", "--strict", "../plumb.d.ts", file)
}
