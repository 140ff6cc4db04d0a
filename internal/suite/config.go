package suite

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/doc"
)

// Config is a project's config file. The zero value of a field says that the file does not set it.
type Config struct {
	// Path is the file and Dir its directory, from which the relative paths in it start; see [Config.Resolve].
	Path, Dir string
	// Suites are the suites to run when the command line names none, as [Read] takes them.
	Suites []string
	// Runners are in the order of the file. ID is set, and exactly one of Model, Command, Replay and Agent. The paths of
	// agents are absolute.
	Runners  []plumb.RunnerConfig
	Judge    *Judge
	Embedder *Embedder
	// Prices are the user's own, and go before the built-in table.
	Prices []Price
	Run    RunConfig
	// Workspace says where sessions work when the suite does not; nil where the file does not say either. Cwd is where
	// they work without a workspace. The paths of both are absolute.
	Workspace *plumb.WorkspaceConfig
	Cwd       string
	// MaxSteps stops an agent that takes more steps; 0 is no limit.
	MaxSteps int
	// Snapshots are the token baselines to keep to; nil turns them off.
	Snapshots *Snapshots
	// Warnings are problems with which the file can be used all the same.
	Warnings []Problem
}

// Judge names the model that judges. Exactly one of Runner and Config is set.
type Judge struct {
	// Runner is the id of one of the config's runners.
	Runner string
	// Config describes a runner of its own.
	Config *plumb.RunnerConfig
	// Votes is how many answers are taken; 0 leaves it to the suite.
	Votes int
}

// Embedder names the model that turns texts into vectors.
type Embedder struct {
	// Model is "provider:model".
	Model string
	// BaseURL replaces the provider's own address; APIKeyEnv names the environment variable with the key.
	BaseURL, APIKeyEnv string
}

// Price is what a model costs, in US dollars for a million tokens. A nil field is not given.
type Price struct {
	// Model is "provider:model".
	Model                                string
	Input, Output, CacheRead, CacheWrite *float64
	// PerRequest is what a request costs whatever its length.
	PerRequest float64
}

// Snapshots says how token baselines are compared. A case that exceeds either of the two tolerances fails.
type Snapshots struct {
	// Path is the file of the baselines; it is absolute.
	Path string
	// Metric is the figure compared: "totalTokens", "inputTokens", "outputTokens", "reasoningTokens" or "cacheTokens".
	Metric string
	// Absolute is in tokens and Percent in hundredths of the baseline. One of them is set.
	Absolute, Percent *float64
}

// RunConfig holds the flags of plumb run. Durations are in milliseconds.
type RunConfig struct {
	Tier            string
	Model           []string
	Runner          []string
	Command, Replay string

	// What describes the models named here, and not the runners of the config.
	BaseURL, API, APIKeyEnv, ReasoningEffort string
	// Header holds "name=value".
	Header           []string
	RequestTimeoutMs int64

	// Judge, JudgeVotes and Embedder go before those of the top level.
	Judge      string
	JudgeVotes int
	Embedder   string

	Case, Tag, Category, Difficulty []string
	Limit                           int

	// Schedule is "serial", "parallel" or "isolated-by-runner".
	Schedule  string
	Parallel  int
	Repeat    int
	Retry     *int
	TimeoutMs int64

	// Workspaces is the directory in which workspaces are made; it is absolute. KeepWorkspaces keeps those of sessions that
	// went well, AllRepetitions makes all samples of an agent.
	Workspaces                     string
	KeepWorkspaces, AllRepetitions bool

	MaxFailures   int
	MaxCostUSD    *float64
	MaxTokens     int64
	MaxDurationMs int64
	// AllowUnmetered goes on where a budget cannot be held, since what is used is not known.
	AllowUnmetered bool

	// Temperature and Seed apply to runners that say nothing of them; NoTemperature and NoSeed leave them to the provider.
	Temperature           *float64
	Seed                  *int64
	NoTemperature, NoSeed bool
	MaxOutputTokens       int64

	// Cache is "off", "on" or "only".
	Cache string
	// Report holds "name" or "name:path".
	Report            []string
	Output, OutputDir string
	// Redact names environment variables whose values are removed from everything written, beside those that plumb
	// knows to be secret.
	Redact []string
}

// Runner returns the runner with the given id, or nil.
func (c *Config) Runner(id string) *plumb.RunnerConfig {
	for i := range c.Runners {
		if c.Runners[i].ID == id {
			return &c.Runners[i]
		}
	}
	return nil
}

// Resolve returns a path of the config file as it is to be used: a relative one starts from the file's directory.
func (c *Config) Resolve(path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(c.Dir, path)
}

// ConfigNames returns the names of the files that hold a project's config, of which a directory has one.
func ConfigNames() []string {
	names := []string{"plumb.yaml", "plumb.yml", "plumb.config.json"}
	for _, stem := range []string{"plumb", "skillgym"} {
		for _, ext := range codeExtensions() {
			names = append(names, stem+".config"+ext)
		}
	}
	return names
}

// FindConfig returns the path of the config file in dir or in the nearest directory above it, or "" when there is none.
// Two config files in one directory are an error that names them.
func FindConfig(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("find config: %w", err)
	}
	for {
		var found []string
		for _, name := range ConfigNames() {
			path := filepath.Join(abs, name)
			entry, err := os.Lstat(path)
			if err != nil || entry.IsDir() {
				continue
			}
			switch info, err := os.Stat(path); {
			case err != nil: // a link to nothing would be taken for no config
				return "", fmt.Errorf("find config: %s: %w", path, cause(err))
			case !info.IsDir():
				found = append(found, name)
			}
		}
		switch len(found) {
		case 0:
		case 1:
			return filepath.Join(abs, found[0]), nil
		default:
			return "", plumb.WithHint(&severalConfigs{abs, found},
				"a folder has one config file: remove all but one, or name one with --config")
		}
		parent := filepath.Dir(abs)
		if parent == abs {
			return "", nil
		}
		abs = parent
	}
}

// severalConfigs says that a directory has more than one config file.
type severalConfigs struct {
	dir   string
	names []string
}

func (e *severalConfigs) Error() string {
	last := len(e.names) - 1
	return fmt.Sprintf("find config: %s has %s and %s", e.dir, strings.Join(e.names[:last], ", "), e.names[last])
}

// FindConfigOf returns the config file of a suite that [Read] would read from a file or a directory: the nearest one from
// the suite's own directory upwards, else, as for a published suite, the nearest one from dir upwards. dir is where the
// relative path of the suite starts.
func FindConfigOf(suite, dir string) (string, error) {
	full := suite
	if !filepath.IsAbs(full) {
		full = filepath.Join(dir, suite)
	}
	if info, err := os.Stat(full); suite != "" && err == nil {
		if !info.IsDir() {
			full = filepath.Dir(full)
		}
		if found, err := FindConfig(full); found != "" || err != nil {
			return found, err
		}
	}
	return FindConfig(dir)
}

// ReadConfig is [ReadConfigIn] without limits or a world: a config in code sees no environment and prints nothing.
func ReadConfig(path string) (*Config, error) {
	return ReadConfigIn(context.Background(), path, Host{})
}

// ReadConfigIn reads a config file: one in TypeScript or JavaScript is executed, and its default export, or else the module
// itself, is the config; one whose name ends in .json is JSON, and any other YAML. All have the same keys. When the file
// does not make sense the error is [Problems], all of them.
func ReadConfigIn(ctx context.Context, path string, h Host) (*Config, error) {
	tree, problems, err := configTree(ctx, path, h)
	if err != nil {
		return nil, err
	}
	var c *Config
	if problems.err() == nil {
		var found Problems
		c, found = readConfigTree(path, tree, isCode(path))
		problems = append(problems, found...)
	}
	if err := problems.err(); err != nil {
		return nil, err
	}
	c.Warnings = problems.warnings()
	return c, nil
}

// configTree returns what a config file says, or what keeps it from saying anything.
func configTree(ctx context.Context, path string, h Host) (value, Problems, error) {
	if isCode(path) {
		tree, problems := configExport(ctx, path, h)
		return tree, problems, nil
	}
	data, err := doc.Read(path, doc.ConfigBytes)
	if err != nil {
		return value{}, nil, fmt.Errorf("read config %s: %w", path, cause(err))
	}
	tree, problem := parseTree(path, data, strings.EqualFold(filepath.Ext(path), ".json"))
	if problem != nil {
		return value{}, Problems{*problem}, nil
	}
	return tree, nil, nil
}

func parseConfig(path string, data []byte) (*Config, Problems) {
	tree, problem := parseTree(path, data, strings.EqualFold(filepath.Ext(path), ".json"))
	if problem != nil {
		return nil, Problems{*problem}
	}
	return readConfigTree(path, tree, false)
}

// readConfigTree reads the config that stands in the file at path. code says that the tree has no places, since the
// values came from code.
func readConfigTree(path string, tree value, code bool) (*Config, Problems) {
	dir, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return nil, Problems{{Pos: plumb.Position{File: path}, Message: "its directory cannot be found: " + err.Error()}}
	}
	c := &Config{Path: path, Dir: dir}
	r := &configReader{file: path, dir: dir, code: code}
	if tree.kind != kindNull {
		r.object(tree, "", r.topFields(c))
	}
	return c, r.problems.sorted()
}
