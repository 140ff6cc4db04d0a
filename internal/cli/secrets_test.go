package cli_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/plumb-eval/plumb/internal/fakemodel"
)

// canaries returns secrets for each way in which a run can get one.
func canaries() map[string]string {
	return map[string]string{
		"OPENAI_API_KEY":    `sk-canary/key+"quoted"=Zq81`,
		"TEAM_TOKEN":        "team-canary-token-5580-äö",
		"FROM_DOTENV_KEY":   "dotenv-canary-9d3f&x=1",
		"UNRELATED_SECRET":  "unrelated canary secret 77",
		"NAMED_IN_CONFIG":   "configured-canary-4711",
		"ANTHROPIC_API_KEY": "sk-ant-canary-0042",
		"DB_PASSWORD":       "bootstrap-canary-31337",
		"URL_USER":          "user-canary-2718281",
		"URL_TOKEN":         "query-canary-3141592",
	}
}

// forms returns the encodings of a secret.
func forms(secret string) map[string]string {
	quoted, _ := json.Marshal(secret)
	inner := strings.Trim(string(quoted), `"`)
	twice, _ := json.Marshal(inner)
	return map[string]string{
		"raw": secret, "json": inner, "json in json": strings.Trim(string(twice), `"`),
		"base64": base64.StdEncoding.EncodeToString([]byte(secret)), "base64url": base64.RawURLEncoding.EncodeToString([]byte(secret)),
		"base64 within": base64.StdEncoding.EncodeToString([]byte("user:" + secret + " and more")),
		"query":         url.QueryEscape(secret), "path": url.PathEscape(secret), "hex": hex.EncodeToString([]byte(secret)),
		"go": strings.Trim(fmt.Sprintf("%q", secret), `"`),
	}
}

// TestSecretsReachNoArtifact plants secrets in keys, headers, the environment and .env, has models
// and programs repeat them in every encoding, and looks for them in all that plumb wrote and
// printed.
func TestSecretsReachNoArtifact(t *testing.T) {
	secrets := canaries()
	if runtime.GOOS == "windows" {
		t.Skip("the programs of this test are shell commands")
	}
	var leak strings.Builder
	for name, secret := range secrets {
		for form, text := range forms(secret) {
			fmt.Fprintf(&leak, "%s as %s: [%s]\n", name, form, text)
		}
	}
	w := newWorld(t)
	w.serve(fakemodel.Behavior{Answer: func(a fakemodel.Ask) string {
		if a.Judge {
			return "YES, and I saw " + leak.String()
		}
		return leak.String()
	}})
	for name, secret := range secrets {
		switch name {
		case "FROM_DOTENV_KEY", "DB_PASSWORD", "URL_USER", "URL_TOKEN": // these are in files
		default:
			w.env[name] = secret
		}
	}
	w.write(".env", "FROM_DOTENV_KEY='"+secrets["FROM_DOTENV_KEY"]+"'\n")
	w.write("leak.txt", leak.String())
	w.write("plumb.yaml", `
runners:
  model:
    model: openai:gpt-4o
    headers: {X-Team: "Bearer ${TEAM_TOKEN}"}
  program:
    command: [sh, -c, "cat leak.txt; cat leak.txt >&2"]
  broken:
    command: [sh, -c, "cat leak.txt >&2; exit 3"]
  rejected:
    model: anthropic:claude-opus-4-6
  gateway:
    model: openai:gpt-4o
    baseURL: "http://`+secrets["URL_USER"]+`:pw@127.0.0.1:9/v1?api_key=`+secrets["URL_TOKEN"]+`"
run:
  redact: [NAMED_IN_CONFIG]
  workspace:
    mode: isolated
    bootstrap:
      command: sh
      args: [-c, 'echo "$DB_PASSWORD" | tee greeting.txt']
      env: {DB_PASSWORD: `+secrets["DB_PASSWORD"]+`}
`)
	w.write("suite.jsonl", `{"id":"a","category":"factual","input":"Say it.","ideal":"nothing like that","assertion":{"type":"exact_match"}}
{"id":"b","category":"creative","input":"Say it again.","assertion":{"type":"llm_judge","judge_prompt":"Is it said?"}}
`)
	var printed strings.Builder
	plumb := func(args ...string) {
		code, stdout, stderr := w.plumb(args...)
		fmt.Fprintf(&printed, "%s\n%s\n", stdout, stderr)
		if code == 2 {
			t.Fatalf("plumb %v: exit code %d\n%s", args, code, stderr)
		}
	}
	plumb("run", "suite.jsonl", "--judge", "openai:gpt-4o", "--cache", "on", "--output", "block.json", "--report", "terminal",
		"--report", "json:full.json", "--report", "json-summary:summary.json", "--report", "junit:junit.xml", "--report", "markdown:report.md")
	for _, args := range [][]string{
		{"show", "last"},
		{"show", "last", "a"},
		{"show", "last", "b", "--json"},
		{"report", "last", "--report", "json"},
		{"runs", "--json"},
		{"doctor"},
		{"resume", "--retry-errors"},
		{"score", "last", "--judge", "openai:gpt-4o"},
	} {
		plumb(args...)
	}
	written := map[string]string{"what was printed": printed.String()}
	if err := filepath.WalkDir(w.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := filepath.Base(path); d.IsDir() || name == ".env" || name == "leak.txt" || name == "plumb.yaml" {
			return nil
		}
		data, err := os.ReadFile(path)
		written[path] = string(data)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if len(written) < 15 {
		t.Errorf("only %d files were looked at", len(written))
	}
	marks := 0
	for path, text := range written {
		marks += strings.Count(text, "[redacted:")
		for name, secret := range secrets {
			for form, leaked := range forms(secret) {
				if strings.Contains(text, leaked) {
					t.Errorf("%s holds %s, %s", strings.TrimPrefix(path, w.dir), name, form)
				}
			}
		}
	}
	if marks < 100 {
		t.Errorf("only %d marks of something removed; the secrets were not repeated as meant", marks)
	}
}

// TestArtifactsAreTheOwnersOnly checks the modes of all that a run leaves behind.
func TestArtifactsAreTheOwnersOnly(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("files have no modes on Windows")
	}
	w := newWorld(t)
	w.serve(fakemodel.Behavior{Answer: func(fakemodel.Ask) string { return strings.Repeat("long ", 100_000) }})
	suite, _ := mixedSuite(3)
	w.write("suite.jsonl", suite)
	w.must(1, "run", "suite.jsonl", "--model", "openai:gpt-4o", "--cache", "on", "--output", ".plumb/block.json", "--report", "junit:.plumb/junit.xml")
	files := 0
	if err := filepath.WalkDir(filepath.Join(w.dir, ".plumb"), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		files++
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", strings.TrimPrefix(path, w.dir), info.Mode())
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if files < 12 {
		t.Errorf("only %d files and directories", files)
	}
}
