package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/golden"
	"github.com/plumb-eval/plumb/internal/run"
	"github.com/plumb-eval/plumb/internal/runner"
	"github.com/plumb-eval/plumb/internal/setting"
	"github.com/plumb-eval/plumb/internal/snapshot"
	"github.com/plumb-eval/plumb/internal/suite/lib"
	"github.com/plumb-eval/plumb/schema"
)

func configFiles(tb testing.TB) []string {
	tb.Helper()
	var files []string
	for _, pattern := range []string{"*.yaml", "*.json"} {
		found, err := filepath.Glob(filepath.Join("testdata", "config", pattern))
		if err != nil {
			tb.Fatal(err)
		}
		files = append(files, found...)
	}
	if len(files) < 5 {
		tb.Fatal("test data is missing")
	}
	return files
}

func TestConfigProblems(t *testing.T) {
	for _, file := range configFiles(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			_, problems := parsed(filepath.Base(file), read(t, file))
			golden.Equal(t, file+".problems", listing(problems))
		})
	}
}

func TestConfigValues(t *testing.T) {
	c, err := Read(t.Context(), filepath.Join("testdata", "config", "full.yaml"), lib.Host{})
	if err != nil {
		t.Fatal(err)
	}
	local := plumb.RunnerConfig{
		ID: "local", Model: "ollama:qwen3", BaseURL: "http://localhost:11434/v1",
		Headers:     map[string]string{"X-Team": "${TEAM}", "X-Number": "7"},
		Temperature: new(0.2), NoSeed: true, TopP: new(0.9), MaxOutputTokens: new(int64(2000)), TimeoutMs: 90_000, MaxParallel: 2,
	}
	hot := local
	hot.ID, hot.Temperature = "local-hot", new(1.0)
	want := &Config{
		Path: c.Path, Dir: c.Dir,
		Suites: []string{"suites/smoke.jsonl", "v1.0/cheap"},
		Runners: []plumb.RunnerConfig{
			{ID: "fast", Model: "openai:gpt-5-mini"},
			local, hot,
			{ID: "script", Command: []string{"python3", "answer.py"}, Env: map[string]string{"DEBUG": "true"}},
			{ID: "old", Replay: ".plumb/runs/20260101-abc"},
		},
		Judge: &plumb.RunnerConfig{
			Model: "anthropic:claude-opus-4-6", APIKeyEnv: "JUDGE_KEY", ReasoningEffort: new("low"),
		},
		JudgeVotes: 3,
		Embedder:   &plumb.RunnerConfig{Model: "openai:text-embedding-3-small", APIKeyEnv: "OPENAI_API_KEY"},
		Prices: map[string]runner.Price{
			"ollama:qwen3": {Input: &runner.Rate{}, Output: &runner.Rate{USD: 0.5}, PerRequest: 0.001},
		},
		Run: Settings{
			Settings: run.Settings{
				Filter: run.Filter{
					IDs: []string{"reasoning-001"}, Tags: []string{"math"}, Categories: []string{"reasoning", "coding"},
					Difficulties: []string{"hard"}, Limit: 10,
				},
				JudgeVotes: 5, Schedule: "isolated-by-runner", Parallel: 8, Repeat: 3, TimeoutMs: 60_000,
				MaxFailures: 5, MaxCostUSD: 1.5, MaxTokens: 1_000_000, MaxDurationMs: 600_000,
				Cache: "off", Output: filepath.Join(c.Dir, "results.json"),
			},
			Command: "cat", Replay: "last", BaseURL: "https://e.example", API: "chat", APIKeyEnv: "K",
			Headers: []string{"A=b"}, ReasoningEffort: "low", RequestTimeoutMs: 5000, Judge: "fast", Embedder: "e",
			Tier: "cheap", Models: []string{"opus"}, RunnerIDs: []string{"fast", "local"},
			Temperature: setting.Optional[float64]{None: true}, Seed: setting.Optional[int64]{Value: new(int64(-7))}, MaxOutputTokens: 4096,
			Reports:   []string{"terminal", "junit:" + filepath.Join(c.Dir, "out", "junit.xml")},
			OutputDir: filepath.Join(c.Dir, ".plumb"), Redact: []string{"MY_SECRET"},
		},
	}
	if diff := cmp.Diff(want, c); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got, want := c.Resolve("suites/smoke.jsonl"), filepath.Join(c.Dir, "suites", "smoke.jsonl"); got != want {
		t.Errorf("Resolve gives %s, want %s", got, want)
	}
	if !filepath.IsAbs(c.Dir) {
		t.Errorf("Dir %s is not absolute", c.Dir)
	}
}

func TestConfigJudge(t *testing.T) {
	for _, test := range []struct {
		text  string
		want  plumb.RunnerConfig
		votes int
	}{
		{"judge: openai:gpt-5", plumb.RunnerConfig{Model: "openai:gpt-5"}, 0},
		{"runners: {wise: opus}\njudge: wise", plumb.RunnerConfig{ID: "wise", Model: "opus"}, 0},
		{"runners: {wise: opus}\njudge: {runner: wise, votes: 5}", plumb.RunnerConfig{ID: "wise", Model: "opus"}, 5},
		{"judge: {command: [judge, -x]}", plumb.RunnerConfig{ID: "judge", Command: []string{"judge", "-x"}}, 0},
	} {
		c, problems := parsed("plumb.yaml", []byte(test.text))
		if len(problems) > 0 {
			t.Errorf("%s: %v", test.text, problems)
		} else if diff := cmp.Diff(&test.want, c.Judge); diff != "" || c.JudgeVotes != test.votes {
			t.Errorf("%s: %d votes (-want +got):\n%s", test.text, c.JudgeVotes, diff)
		}
	}
}

func TestFind(t *testing.T) {
	dir := t.TempDir()
	deep := filepath.Join(dir, "a", "b")
	if err := os.MkdirAll(deep, 0o755); err != nil {
		t.Fatal(err)
	}
	want := write(t, filepath.Join(dir, "plumb.yaml"), "suites: [a.jsonl]\n")
	got, err := Find(deep)
	if err != nil || got != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	near := write(t, filepath.Join(dir, "a", "plumb.config.json"), "{}")
	if got, err = Find(deep); err != nil || got != near {
		t.Errorf("got %q, %v, want the nearer %q", got, err, near)
	}
	write(t, filepath.Join(dir, "a", "plumb.yaml"), "")
	_, err = Find(deep)
	if err == nil || !strings.Contains(err.Error(), "plumb.yaml and plumb.config.json") {
		t.Errorf("got %v, want an error that names both files", err)
	}
}

func TestReadConfigMissing(t *testing.T) {
	_, err := Read(t.Context(), filepath.Join(t.TempDir(), "plumb.yaml"), lib.Host{})
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

// compiled returns a published schema, ready to use.
func compiled(tb testing.TB, text string) *jsonschema.Schema {
	tb.Helper()
	v, problem := doc.ParseJSON("schema", []byte(text))
	if problem != nil || len(v.Duplicates()) > 0 {
		tb.Fatalf("schema: %v, %v", problem, v.Duplicates())
	}
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		tb.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("s.json", document); err != nil {
		tb.Fatal(err)
	}
	s, err := c.Compile("s.json")
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// TestConfigSchemaKeys holds the keys that are read and those of the published schema together.
func TestConfigSchemaKeys(t *testing.T) {
	var document struct {
		Properties map[string]any
		Defs       map[string]struct{ Properties map[string]any } `json:"$defs"`
	}
	if err := json.Unmarshal([]byte(schema.Config()), &document); err != nil {
		t.Fatal(err)
	}
	r := newReader("", "")
	ofRunner := r.runnerFields(&plumb.RunnerConfig{})
	for _, section := range []struct {
		name   string
		schema map[string]any
		fields []setting.Field
	}{
		{"top level", document.Properties, r.topFields(&Config{})},
		{"agent", document.Defs["agent"].Properties, r.agentFields(&plumb.AgentConfig{})},
		{"mcpServer", document.Defs["mcpServer"].Properties, r.mcpFields(&plumb.MCPServer{})},
		{"workspace", document.Defs["workspace"].Properties, r.workspaceFields(&plumb.WorkspaceConfig{})},
		{"bootstrap", document.Defs["bootstrap"].Properties, r.bootstrapFields(&plumb.Bootstrap{})},
		{"snapshots", document.Defs["snapshots"].Properties, r.snapshotFields(&snapshot.Settings{})},
		{"runner", document.Defs["runner"].Properties, ofRunner},
		{"runnerKeys", document.Defs["runnerKeys"].Properties, r.judgeFields(&plumb.RunnerConfig{})},
		{"judge", document.Defs["judge"].Properties, append(r.judgeFields(&plumb.RunnerConfig{}), setting.Field{Name: "runner"}, setting.Field{Name: "votes"})},
		{"price", document.Defs["price"].Properties, r.priceFields(&runner.Price{})},
		{"server", document.Defs["server"].Properties, r.serverFields(&Server{})},
		{"embedder", document.Defs["embedder"].Properties, r.embedderFields(&plumb.RunnerConfig{})},
	} {
		var read []string
		for _, f := range section.fields {
			read = append(read, f.Name)
		}
		slices.Sort(read)
		if diff := cmp.Diff(slices.Sorted(maps.Keys(section.schema)), read); diff != "" {
			t.Errorf("%s: -schema +read:\n%s", section.name, diff)
		}
	}
}

// TestConfigSchemaAgrees feeds many small configs to the reader and to the published schema; they must agree on which
// are valid.
func TestConfigSchemaAgrees(t *testing.T) {
	s := compiled(t, schema.Config())
	texts := []string{
		"suites: a.jsonl", "suites: []", "suites: ['']", "suites: {}", "suites: [1]",
		"runners: {}", "runners: {a: openai:x}", "runners: {a: ''}", "runners: {'': x}", "runners: {a: {}}", "runners: {a: 1}",
		"runners: {a: {model: x, baseURL: 'https://x/v1'}}", "runners: {a: {model: x, baseURL: 'x'}}",
		"runners: {a: {model: x, baseURL: '${HOST}/v1'}}", "runners: {a: {model: x, baseURL: 'ftp://x'}}",
		"runners: {a: {model: x, api: chat}}", "runners: {a: {model: x, api: foo}}", "runners: {a: {model: x, temperature: null}}",
		"runners: {a: {model: x, temperature: 0.5}}", "runners: {a: {model: x, temperature: -1}}", "runners: {a: {model: x, temperature: hot}}",
		"runners: {a: {model: x, seed: 1.5}}", "runners: {a: {model: x, seed: 12}}", "runners: {a: {model: x, topP: 1.5}}",
		"runners: {a: {model: x, maxOutputTokens: 0}}", "runners: {a: {model: x, maxOutputTokens: 100}}",
		"runners: {a: {model: x, timeoutMs: 1s}}", "runners: {a: {model: x, timeoutMs: 5}}", "runners: {a: {model: x, timeoutMs: soon}}",
		"runners: {a: {model: x, maxParallel: 1}}", "runners: {a: {model: x, maxParallel: 0}}", "runners: {a: {model: x, apiKeyEnv: A_B}}",
		"runners: {a: {model: x, apiKeyEnv: a-b}}", "runners: {a: {model: x, headers: {A: b}}}", "runners: {a: {model: x, headers: {A: [b]}}}",
		"runners: {a: {model: x, env: {A: b}}}", "runners: {a: {command: [x], env: {A: b}}}", "runners: {a: {command: []}}",
		"runners: {a: {command: x}}", "runners: {a: {command: [x], api: chat}}", "runners: {a: {command: [x], temperature: 1}}",
		"runners: {a: {replay: x}}", "runners: {a: {replay: x, seed: 1}}", "runners: {a: {replay: x, timeoutMs: 1}}",
		"runners: {a: {model: x, replay: y}}", "runners: {a: {model: x, unknown: 1}}", "runners: {a: {model: x, reasoningEffort: high}}",
		"server: https://x", "server: ''", "server: x", "server: {url: 'https://x', share: answers}", "server: {share: scores}",
		"server: {url: 'https://x', share: all}", "server: {url: 'https://x', project: p}", "server: {url: '${HUB}'}", "server: 1", "server: [x]",
		"judge: x", "judge: ''", "judge: {model: x}", "judge: {votes: 3}", "judge: {model: x, votes: 0}", "judge: {model: x, api: chat}",
		"judge: {command: [x], votes: 3}", "judge: 3", "runners: {r: x}\njudge: {runner: r}", "runners: {r: x}\njudge: {runner: r, model: x}",
		"embedder: x", "embedder: {model: x}", "embedder: {baseURL: 'http://x'}", "embedder: {model: x, nope: 1}", "embedder: [x]",
		"run: {}", "run: {tier: cheap}", "run: {tier: 1}", "run: {category: maths}", "run: {category: coding}", "run: {category: [coding]}",
		"run: {category: [coding, x]}", "run: {category: []}", "run: {limit: 0}", "run: {limit: 1}", "run: {limit: 1.0}", "run: {schedule: serial}",
		"run: {schedule: x}", "run: {parallel: 3000000000}", "run: {retry: 0}", "run: {retry: -1}", "run: {maxCostUSD: 0}", "run: {maxCostUSD: -1}",
		"run: {maxTokens: 3000000000}", "run: {maxTokens: 1}", "run: {maxDurationMs: 1h30m}", "run: {maxDurationMs: 1}", "run: {temperature: null}",
		"run: {seed: null}", "run: {repeat: null}", "run: {cache: off}", "run: {cache: 'on'}", "run: {cache: maybe}", "run: {report: [json]}",
		"run: {report: 3}", "run: {output: ''}", "run: {outputDir: x}", "run: {redact: [A]}", "run: {redact: ['1']}", "run: {redact: A}",
		"judge: {model: x, votes: 2}", "run: {judgeVotes: 3}", "run: {judgeVotes: 2}", "run: {difficulty: easy}", "run: {difficulty: [ez]}",
		"run: {command: x}", "run: {command: [x]}", "run: {header: [a=b]}", "run: {requestTimeoutMs: 5s}", "run: {judge: x, embedder: y}",
		"run: {maxCostUSD: 0.01}", "prices: {}", "prices: {'openai:x': {input: 1, output: 2.5}}", "prices: {a: {}}", "prices: {a: 1}",
		"prices: {a: {inputs: 1}}", "prices: {a: {input: -1}}", "prices: {'': {input: 1}}", "prices: {a: {perRequest: 0.01, cacheRead: 0, cacheWrite: 1}}",
		"runners: {a: {agent: {type: codex, model: x}}}", "runners: {a: {agent: {type: codex}}}", "runners: {a: {agent: {model: x}}}",
		"runners: {a: {agent: {type: claude, model: x}}}", "runners: {a: {agent: {type: codex, model: x}, model: y}}", "runners: {a: {agent: 1}}",
		"runners: {a: {agent: {type: codex, model: x}, env: {A: b}}}", "runners: {a: {agent: {type: codex, model: x, env: {A: ''}}}}",
		"runners: {a: {agent: {type: codex, model: x}, timeoutMs: 5, maxParallel: 1}}", "runners: {a: {agent: {type: codex, model: ' '}}}",
		"runners: {a: {agent: {type: codex, model: x, command: ./c, commandArgs: [a], args: [], version: '2.1', permissions: default}}}",
		"runners: {a: {agent: {type: codex, model: x, commandArgs: ['']}}}", "runners: {a: {agent: {type: codex, model: x, version: 2.1}}}",
		"runners: {a: {agent: {type: codex, model: x, permissions: yolo}}}", "runners: {a: {agent: {type: codex, model: x, inheritConfig: true}}}",
		"runners: {a: {agent: {type: codex, model: x, inheritConfig: 'yes'}}}", "runners: {a: {agent: {type: codex, model: x, skills: [./s], baseURL: 'http://x', apiKeyEnv: K}}}",
		"runners: {a: {agent: {type: qwen, model: x, mcpServers: {s: {command: x, args: [a], env: {A: b}}, t: {url: 'http://x', headers: {A: b}}}}}}",
		"runners: {a: {agent: {type: qwen, model: x, mcpServers: {s: {}}}}}", "runners: {a: {agent: {type: qwen, model: x, mcpServers: {s: {command: x, url: 'http://x'}}}}}",
		"runners: {a: {agent: {type: qwen, model: x, mcpServers: {s: {url: 'http://x', args: [a]}}}}}", "judge: {agent: {type: codex, model: x}}",
		"run: {cwd: x, maxSteps: 3}", "run: {maxSteps: 0}", "run: {parallel: 2, maxParallel: 2}", "run: {maxParallel: 2}", "run: {retry: 1, retryFailed: 1}",
		"run: {repeatFailure: 1, retryFailed: 2}", "run: {retry: 1, repeatFailure: 0}", "run: {tag: a, tags: b}", "run: {tags: [a]}", "run: {report: json, reporter: json}",
		"run: {reporter: standard}", "run: {reporter: ./r.ts}", "run: {timeoutMs: 1}", "defaults: {timeoutMs: 1}", "defaults: {timeoutMs: 0}", "defaults: {}",
		"defaults: {timeoutMs: 5}\nrun: {timeoutMs: 6}", "defaults: {timeoutMs: 5}\nrun: {repeat: 2}", "defaults: {timeout: 5}",
		"run: {workspace: {mode: none, cwd: x}}", "run: {workspace: {mode: none, templateDir: x}}", "run: {workspace: {mode: none, bootstrap: {command: x}}}",
		"run: {workspace: {mode: shared, cwd: x, templateDir: y, bootstrap: {command: ./x, args: [a, ./b], timeoutMs: 1, env: {A: ''}}}}",
		"run: {workspace: {mode: isolated, cwd: x}}", "run: {workspace: {mode: isolated, templateDir: x}}", "run: {workspace: {}}", "run: {workspace: {mode: own}}",
		"run: {workspace: {mode: isolated, bootstrap: {}}}", "run: {workspace: {mode: isolated, dir: x}}", "run: {workspace: none}",
		"snapshots: {tolerance: {percent: 10}}", "snapshots: {}", "snapshots: {tolerance: {}}", "snapshots: {tolerance: {absolute: -1}}",
		"snapshots: {tolerance: auto}", "snapshots: {tolerance: automatic}", "snapshots: {tolerance: [auto]}",
		"snapshots: {metric: latencyMs, tolerance: auto}", "snapshots: {metric: costUsd, tolerance: {percent: 10}}",
		"snapshots: {path: x.json, metric: inputTokens, tolerance: {absolute: 10, percent: 0}}", "snapshots: {metric: tokens, tolerance: {percent: 1}}",
		"nope: 1", "'$schema': x", "'$schema': 1", "run: 1", "[]", "run: {model: [a, b], runner: a, case: [x], tag: t}",
	}
	valid := 0
	for _, text := range texts {
		_, problems := parsed("plumb.yaml", []byte(text))
		var v any
		if err := yaml.Unmarshal([]byte(text), &v); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		instance, err := jsonschema.UnmarshalJSON(strings.NewReader(string(data)))
		if err != nil {
			t.Fatal(err)
		}
		schemaErr, readErr := s.Validate(instance), problems.Err()
		if (schemaErr == nil) != (readErr == nil) {
			t.Errorf("%s (%s):\nschema: %v\nreader: %v", text, data, schemaErr, readErr)
		}
		if schemaErr == nil {
			valid++
		}
	}
	if valid < 60 || valid > len(texts)-60 {
		t.Errorf("%d of %d configs are valid: the test has lost its point", valid, len(texts))
	}
}

func FuzzConfig(f *testing.F) {
	for _, file := range configFiles(f) {
		f.Add(read(f, file), strings.HasSuffix(file, ".json"))
	}
	f.Fuzz(func(t *testing.T, data []byte, isJSON bool) {
		name := "plumb.yaml"
		if isJSON {
			name = "plumb.config.json"
		}
		_, problems := parsed(name, data)
		checkPositions(t, data, problems)
	})
}

// checkPositions fails unless every problem has a place within the file, or right behind it.
func checkPositions(t *testing.T, data []byte, problems []doc.Problem) {
	t.Helper()
	lines := bytes.Count(data, []byte("\n")) + bytes.Count(data, []byte("\r")) + 1
	for _, p := range problems {
		if p.Pos.Line < 1 || p.Pos.Line > lines || p.Pos.Column < 1 || p.Message == "" {
			t.Errorf("%d lines, but a problem at %v", lines, p)
		}
	}
}

// TestDocs: every key is in the manual.
func TestDocs(t *testing.T) {
	manual := string(read(t, "../../docs/configuration.md"))
	r := newReader("", "")
	var keys []string
	for _, fields := range [][]setting.Field{
		r.topFields(nil), r.runnerFields(nil), r.priceFields(nil), r.agentFields(nil), r.mcpFields(nil),
		r.workspaceFields(nil), r.bootstrapFields(nil), r.snapshotFields(nil), r.toleranceFields(nil),
	} {
		for _, f := range fields {
			keys = append(keys, f.Name)
		}
	}
	for _, key := range keys {
		if !strings.Contains(manual, "`"+key+"`") {
			t.Errorf("docs/configuration.md does not mention %s", key)
		}
	}
}
